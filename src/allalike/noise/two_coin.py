"""Two-coin noise on two classes: a worker errs more often where the truth is one class than where it is the other.

She answers 1 to a task of class 0 with probability a (a false alarm), and 0 to a task of class 1 with probability
b (a miss). Where both are known and both classes are as likely, the answer 1 counts log((1 - b) / a) for class 1,
and the answer 0 counts log((1 - a) / b) for class 0 (Dawid and Skene 1979, for two classes). The mean of the two is
her weight; their difference is the same for all answers that she could give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike.errors import OptionError
from allalike.noise.base import Noise, check_within

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.blocks.problems import Problems

__all__ = ["TwoCoin"]

_MIN_PROBABILITY = 0.001  # a probability closer to 0 or 1 than this would weigh too much


@dataclass(frozen=True, kw_only=True)
class TwoCoin(Noise):
    """False alarms and misses; a worker's fault is the pair of their probabilities.

    >>> import numpy as np
    >>> TwoCoin().sample(np.array([0, 1, 1]), np.array([[0.0, 0.0], [0.0, 1.0]]))
    array([[0, 1, 1],
           [0, 0, 0]])
    """

    name: ClassVar[str] = "two-coin"

    @property
    def chance(self) -> float:
        """How often a guess is wrong."""
        return 0.5

    def weight(self, fault: Floats, problems: Problems) -> Floats:
        """Weigh by the mean of what the two answers say.

        >>> import numpy as np
        >>> from allalike._core.blocks.problems import Problems
        >>> TwoCoin().weight(np.array([[0.2, 0.2], [0.1, 0.6], [0.5, 0.5]]), Problems.single(3)).round(3)
        array([1.386, 0.896, 0.   ])
        """
        alarm, miss = np.clip(fault, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY).T
        weight: Floats = (np.log((1 - miss) / alarm) + np.log((1 - alarm) / miss)) / 2
        return weight

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Err with the probability that belongs to the true class."""
        faults = check_within(faults, 1, "A probability of error")
        if faults.ndim == 0 or faults.shape[-1] != 2:
            raise OptionError("Two-coin faults are pairs: the probability of a false alarm, and that of a miss.")
        errs = np.where(np.asarray(truth) == 1, faults[..., 1], faults[..., 0])
        wrong = rng.random(errs.shape) < errs
        answers: npt.NDArray[np.int64] = np.where(wrong, 1 - np.asarray(truth), truth)
        return answers
