"""Pair squares: how far each two judges are apart, in parts of the tasks, of which each can be left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.engines.sample import pick_tasks

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Floats
    from allalike.api.judges.scores import Scores

__all__ = ["PairSquares", "add_coordinates", "add_squares", "jackknife"]

_PARTS = 20


@dataclass(frozen=True)
class PairSquares:
    """Sums over the tasks of each part: squared distances of two judges, how many they are, and their difference.

    All have a row for each part, a row for each judge, and a column for each; known truths come last, if they are
    there. Differences have one more axis, for coordinates, and are 0 where labels have none.
    """

    square: Floats
    common: Floats
    difference: Floats

    def means(self) -> Floats:
        """Return the mean squared distance of all tasks, and behind it those without each part."""
        square, common, difference = (
            np.concatenate([each.sum(axis=0, keepdims=True), each.sum(axis=0) - each])
            for each in (self.square, self.common, self.difference)
        )
        safe = np.maximum(common, 1.0)
        lost = safe / np.maximum(safe - 1.0, 1.0) if self.difference.any() else 1.0
        return np.asarray((square / safe - np.square(difference / safe[..., None]).sum(axis=-1)) * lost)


def add_squares(scores: Scores) -> PairSquares:
    """Add up the squared distances of each two judges, in 20 parts of the tasks; known truths come last, if enough."""
    block, kernels = scores.block, scores.run.kernels
    part = (block.task_hash % np.uint64(_PARTS)).astype(np.intp)
    gold = scores.by_gold
    parts = []
    for number in np.unique(part):
        some = scores.run.encoding.prepare(pick_tasks(scores.run, block.task_hash[part == number]))
        sums = kernels.pair_sums(some, slice(0, some.n_workers))
        square, common = (_dense(sums[name]) for name in ("distance", "common"))
        if gold:
            known = kernels.gold_sums(some)
            square, common = (_border(*pair) for pair in ((square, known["distance"]), (common, known["answers"])))
        parts.append((square, common, np.zeros((*square.shape, 1))))
    return PairSquares(*(np.stack(column) for column in zip(*parts, strict=True)))


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, np.float64)


def _border(matrix: Floats, edge: Floats) -> Floats:
    """Return a matrix with one row and column more."""
    return np.block([[matrix, edge[:, None]], [edge[None], np.zeros((1, 1))]])


def add_coordinates(table: Floats, truth: Floats | None, task_hash: npt.NDArray[np.uint64]) -> PairSquares:
    """Add up the same of labels with coordinates, whose differences are known, too; truths are NaN where not known."""
    table = table if truth is None else np.concatenate([table, truth[:, None]], axis=1)
    seen = np.asarray(~np.isnan(table).any(axis=2))
    level = np.where(seen[:, :, None], table - np.nanmean(table, axis=(0, 1)), 0.0)
    part = (task_hash % np.uint64(_PARTS)).astype(np.intp)
    parts = []
    for number in np.unique(part):
        x, there = level[part == number], seen[part == number].astype(np.float64)
        sums, squares = np.einsum("tix,tk->ikx", x, there), np.square(x).sum(axis=2).T @ there
        both = np.einsum("tix,tkx->ik", x, x)
        parts.append((squares + squares.T - 2 * both, there.T @ there, sums - sums.transpose(1, 0, 2)))
    return PairSquares(*(np.stack(column) for column in zip(*parts, strict=True)))


def jackknife(found: Floats) -> Floats:
    """Return the standard error of what all tasks say (the first row), given what they say without each part.

    >>> jackknife(np.array([[2.0], [1.5], [2.0], [2.5]]))  # the mean of 1, 2 and 3
    array([0.57735027])
    """
    left_out = found[1:]
    freedom = len(left_out) - 1
    return np.asarray(np.sqrt(np.square(left_out - left_out.mean(axis=0)).sum(axis=0) * freedom / (freedom + 1)))
