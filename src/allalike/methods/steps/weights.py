"""Weights: from faults to weights, and the one place where weights are cleaned."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import Block, Floats, Kernel, known_sums
from allalike.errors import OptionError
from allalike.methods.steps.peers import Peers
from allalike.noise.models import without_dust

if TYPE_CHECKING:
    from allalike._core.blocks.block import Ties
    from allalike._core.blocks.problems import Problems
    from allalike.domains import Kernels
    from allalike.engines import Run
    from allalike.noise import Noise

_LEAST_VARIANCE = 1e-24  # of the largest: the square of a distance that is rounding


def normalise(weights: Floats, problems: Problems) -> Floats:
    """Make weights that are never negative and sum to 1 in each problem.

    An infinite weight leaves nothing for the others, nor does one for those below 1e-12 of it: a task that only they
    answered would be decided by rounding. Where nobody has any weight, all count the same.

    >>> from allalike._core.blocks.problems import Problems
    >>> one = Problems.single(3)
    >>> normalise(np.array([3.0, -1.0, 1.0]), one)
    array([0.75, 0.  , 0.25])
    >>> normalise(np.array([np.inf, 5.0, np.inf]), one)
    array([0.5, 0. , 0.5])
    >>> normalise(np.array([1.0, 1e-13, 2e-13]), one)
    array([1., 0., 0.])
    >>> normalise(np.array([np.nan, -1.0]), Problems.single(2))
    array([0.5, 0.5])
    """
    weights = np.nan_to_num(weights, nan=0.0, posinf=np.inf, neginf=0.0)
    infinite = np.isinf(weights)
    if infinite.any():
        weights = np.where(problems.total(infinite) > 0, infinite, weights).astype(np.float64)
    weights = np.maximum(weights, 0.0)
    weights = without_dust(weights, problems.peak(weights))
    weights = np.where(problems.total(weights) > 0, weights, 1.0)
    return weights / problems.total(weights)


def equal_weights(problems: Problems) -> Floats:
    """Give everyone the same weight.

    >>> from allalike._core.blocks.problems import Problems
    >>> equal_weights(Problems.single(4))
    array([0.25, 0.25, 0.25, 0.25])
    """
    return normalise(np.ones(problems.n_workers), problems)


def below_worst(fault: Floats, problems: Problems, model: Noise) -> Floats:
    """Weigh by the distance to the worst worker; rounding noise between equals is no difference.

    >>> from allalike._core.blocks.problems import Problems
    >>> from allalike.noise import Noise
    >>> below_worst(np.array([1.0, 3.0, 2.0]), Problems.single(3), Noise())
    array([2., 0., 1.])
    """
    worst = problems.peak(fault)
    return without_dust(worst - fault, worst)


def inverse(fault: Floats, problems: Problems, model: Noise) -> Floats:
    """Weigh by the inverse; who differs from the others by rounding only has no fault, and an infinite weight.

    >>> from allalike._core.blocks.problems import Problems
    >>> from allalike.noise import Noise
    >>> inverse(np.array([1.0, 4.0]), Problems.single(2), Noise())
    array([1.  , 0.25])
    """
    with np.errstate(divide="ignore", over="ignore"):
        return 1.0 / np.where(np.abs(fault) <= _LEAST_VARIANCE * problems.peak(fault), 0.0, fault)


def below_chance(fault: Floats, problems: Problems, model: Noise) -> Floats:
    """Weigh by the distance to a worker who guesses; who is worse than that has no weight.

    For similarities it is the average similarity.

    >>> from allalike._core.blocks.problems import Problems
    >>> from allalike.noise import OneCoin
    >>> below_chance(np.array([0.25, 0.5]), Problems.single(2), OneCoin(classes=2))
    array([0.25, 0.  ])
    """
    if model.chance is None:
        raise OptionError("weighting is 'chance', but these labels have no chance level. Choose max or inverse.")
    return without_dust(model.chance - fault, model.chance)


WEIGHTINGS = {"max": below_worst, "inverse": inverse, "chance": below_chance, "printed": below_worst}


def weigh_faults(fault: Floats, weighting: str | None, problems: Problems, model: Noise) -> Floats:
    """Turn faults into weights that sum to 1, by this weighting or by that of the model.

    >>> from allalike._core.blocks.problems import Problems
    >>> from allalike.noise import Noise
    >>> weigh_faults(np.array([1.0, 3.0, 2.0]), "max", Problems.single(3), Noise())
    array([0.66666667, 0.        , 0.33333333])
    """
    return normalise(WEIGHTINGS[weighting or model.weighting](fault, problems, model), problems)


# Losses: how far a worker is from interim answers, the one thing that CRH and CATD need.


_MIN_LOSS, _MAX_LOSS = 1e-8, 1e8  # what the paper's code clips losses to


def smooth(loss: Floats, answers: Floats, problems: Problems) -> Floats:
    """Return mean losses per answer in which an exact zero is smoothed by half an answer of the crowd's mean loss.

    A worker who was never off has not shown that she never will be.

    >>> import numpy as np
    >>> from allalike._core.blocks.problems import Problems
    >>> smooth(np.array([0.0, 3.0]), np.array([1.0, 2.0]), Problems.single(2))
    array([0.66666667, 3.        ])
    """
    mean = problems.total(loss * answers) / problems.total(answers)
    return np.where(loss <= 1e-12 * mean, mean / 2 / (answers + 0.5), loss)


def loss_sums(block: Block, weights: Floats, *, kernels: Kernels, ties: Ties) -> dict[str, Floats]:
    """Add up, per worker, the distance to the task's own weighted aggregate, where it is known, and her answers there.

    >>> import allalike
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 2.0), ("bob", 1, 4.0)], domain="real"))
    >>> run.sum(partial(loss_sums, kernels=run.kernels, ties=run.ties), np.ones(2))["distance"]
    array([1., 1.])
    """
    found = kernels.decide(block, weights, np.zeros(block.n_workers), ties)
    return known_sums(block, kernels.distance_to(block, found.label))


class Losses:
    """The mean losses per answer against the answers that weights lead to."""

    def __init__(self, run: Run, *, zero: str, kernel: Kernel | None = None) -> None:
        self.run = run
        self.peers = Peers(run)
        self._zero = zero
        self._kernel = kernel or partial(loss_sums, kernels=run.kernels, ties=run.ties)

    def __call__(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return each worker's mean loss, made positive, and how many answers it is the mean of."""
        sums = self.run.sum(self._kernel, weights)
        loss = self.peers.comparable(sums["distance"] / sums["answers"])
        return self._positive(loss, sums["answers"]), sums["answers"]

    def _positive(self, loss: Floats, answers: Floats) -> Floats:
        """Lift losses of zero, whose inverse and logarithm are infinite."""
        if self._zero == "clip":
            return np.clip(loss * answers, _MIN_LOSS, _MAX_LOSS) / answers
        if self.run.encoding.numeric:
            return np.maximum(loss, _MIN_LOSS * self.run.problems.mean(loss))
        return smooth(loss, answers, self.run.problems)
