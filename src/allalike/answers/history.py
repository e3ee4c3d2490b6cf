"""History: what is known of workers from earlier answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import sum_by

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["History"]

_MAX_ANSWERS = 1e12  # as many as nobody ever gave

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class History:
    """What earlier answers say of each worker.

    Parameters
    ----------
    answers
        How many earlier answers it stands on; 0 for workers who are new.
    fault
        Her mean distance to the truth in them: for classes her error rate, for numbers her mean squared error.

    >>> History.of(["eve", "ada"], [10, 5], [0.1, 0.2]).of_workers(["ada", "bob"])
    History(answers=array([5., 0.]), fault=array([0.2, 0. ]), workers=())
    """

    answers: Floats
    fault: Floats
    workers: tuple[Any, ...] = ()

    @classmethod
    def of(cls, workers: Sequence[Any], answers: Any, fault: Any) -> History:
        """Keep what is known of some workers; what is not known of them counts nothing."""
        number, mean = np.asarray(answers, np.float64), np.asarray(fault, np.float64)
        known = np.isfinite(number) & np.isfinite(mean) & (number > 0)
        counted = np.minimum(np.where(known, number, 0.0), _MAX_ANSWERS)
        return cls(counted, np.where(known, mean, 0.0), tuple(workers))

    def of_workers(self, workers: Sequence[Any], *, most: float = np.inf) -> History:
        """Return what is known of these workers, in their order; ids are the same if they are written the same.

        What is told of a worker several times, as where tables were put together, is added up. No fault is larger than
        ``most``, which is what labels of this kind can be apart.
        """
        place = {str(worker): number for number, worker in enumerate(workers)}
        known = np.array([place.get(str(worker), -1) for worker in self.workers], np.intp)
        here, size = known >= 0, len(workers)
        answers = sum_by(known[here], self.answers[here], size)
        total = sum_by(known[here], (self.answers * self.fault)[here], size)
        fault = np.minimum(total / np.where(answers > 0, answers, 1.0), most)
        every = np.array([place[str(worker)] for worker in workers], np.intp)  # a worker may come once for each task
        return History(answers[every], fault[every])

    @property
    def spread(self) -> tuple[float, float]:
        """The mean fault, and the variance of workers around it that chance in so many answers does not explain.

        An answer varies by fault (1 - fault) for classes, which is the least that a distance up to 1 can do.
        """
        total = self.answers.sum()
        if total <= 0:
            return 0.0, 0.0
        mean = float((self.answers * self.fault).sum() / total)
        between = float((self.answers * (self.fault - mean) ** 2).sum() / total)
        chance = max(mean * (1 - mean), 0.0) * float((self.answers > 0).sum()) / float(total)
        return mean, max(between - chance, 0.0)
