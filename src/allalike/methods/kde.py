"""KDE: weights from a kernel density of all answers; the label is the highest mode of the density.

This is KDEm (Wan et al., 2016). Each answer is represented by a kernel function K((y - x_a) / h_j) around it
(`allalike.rules.modes`). The weighted sum of a task's functions is its density, and the loss of an answer is the
squared distance between its function and the density, in the Hilbert space of the kernel:

    N_ja = G_aa - 2 (G w)_a + w' G w,   G_ab = K((x_a - x_b) / h_j).

A worker's score is c_a = -log(f_a / J). Here f_a is the worker's mean of N_ja / n_j, where task j has n_j answers, and
J is the sum of N_ja / n_j over all answers. The scores are the weights w of the next round.

The loss of an outlier is bounded, so KDE works with outliers and with answers that form several groups. For Gaussian
errors, it fails to use all information, because a mode depends on few answers, and the mean is better.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, Ties
from allalike._core.options import number, whole
from allalike.domains import Domain, Encoding, Kernels
from allalike.engines import Run
from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.methods.proximity import LastRound, Peers, normalise, smooth
from allalike.rules.modes import PEAK, Measured, densities, measure, mode


@dataclass(frozen=True, kw_only=True)
class KDE(Method):
    """Weights from the distance to a kernel density of all answers; the label is its highest mode.

    The fault is the mean loss f_a, which does not depend on the unit of the numbers.

    Parameters
    ----------
    max_iter, tol
        Maximum number of rounds, and relative change of the sum of losses J below which they end.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("cy", 1, 22.0), ("eve", 1, 40.0)]
    >>> result = allalike.discover(rows, domain="real", method=KDE())
    >>> result.truth["label"].round(2).tolist(), result.workers["weight"].round(2).tolist()
    ([21.0], [0.24, 0.36, 0.24, 0.15])
    """

    name: ClassVar[str] = "KDE"
    summary: ClassVar[str] = (
        "kernel density: weights from the distance to the density of all answers; the label is its mode"
    )
    needs: ClassVar[str] = "numbers"
    max_iter: int = whole(99, least=1)
    tol: float = number(1e-5, least=0)

    def serves(self, labels: Domain | Encoding) -> bool:
        """Return whether labels are numbers."""
        return labels.numeric

    def fit(self, run: Run) -> Fit:
        """Compute weights, round by round."""
        peers = Peers(run)
        rounds = self._repeat(run.map(_prepare), peers)
        return rounds.fit(peers, decide=partial(_decide, kernels=run.kernels, ties=run.ties))

    def _repeat(self, run: Run, peers: Peers) -> LastRound:
        """Update the scores until J no longer changes."""
        score, total = np.ones(len(run.workers)), np.nan
        for iterations in run.rounds(self.max_iter):
            sums = run.sum(_losses, score)
            before, total = total, float(sums["loss"].sum())
            fault = peers.comparable(sums["loss"] / np.maximum(sums["answers"], 1.0))
            score = _scores(fault, sums["answers"], total)
            if abs(total - before) <= self.tol * before:
                return LastRound(score, fault, iterations)
        return LastRound(score, fault, self.max_iter, converged=False)


def _prepare(block: Block) -> Block:
    return block.keeping(measure(block))


def _losses(block: Block, scores: Floats) -> dict[str, Floats]:
    """Add up N_ja / n_j per worker, and count answers to tasks that others also answered."""
    weight, total = block.answer_weights(scores)
    weight = weight / block.to_answers(total)
    density = densities(block, block[Measured].points, weight)
    around = block.to_answers(block.per_task(weight * density))
    loss = np.where(block.to_answers(block[Measured].width) > 0, np.maximum(PEAK - 2 * density + around, 0.0), 0.0)
    size = block.to_answers(block.sizes)
    return {"loss": block.per_worker(loss / size), "answers": block.per_worker((size > 1).astype(np.float64))}


def _scores(fault: Floats, answers: Floats, total: float) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return normalise(-np.log(smooth(fault, answers) / total))


def _decide(block: Block, weights: Floats, faults: Floats, *, kernels: Kernels, ties: Ties) -> dict[str, Array]:
    decision = mode(block, weights, faults, ties)
    label = kernels.restore(block, decision.label)
    return {"label": label, "confidence": decision.confidence, "error": decision.error, "tied": decision.tied}
