"""Losses: how far a worker is from interim answers, the one thing that CRH and CATD need."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import Block, Floats, Kernel, known_sums
from allalike.methods.steps.peers import Peers

if TYPE_CHECKING:
    from allalike._core.blocks.problems import Problems
    from allalike._core.blocks.ties import Ties
    from allalike.domains import Kernels
    from allalike.engines import Run

__all__ = ["Losses", "loss_sums", "smooth"]

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
