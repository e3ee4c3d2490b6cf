"""Answers as a sparse matrix; votes, posteriors and counts are products with it.

The matrix B has one row per task and one column per **cell**, a pair of worker and label. An entry is the weight of an
answer. Let a table have one row per cell and one column per state s. Its product with B adds up the rows of each task's
answers. The product with the transpose of B adds up, for each cell, the rows of the tasks with this answer:

    votes_ts = sum_i w_i [l_i = s], log P_ts = sum_i log C_(w_i, l_i, s), N_wls = sum of q_ts over their answers l.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from allalike._core.blocks.block import (
    TOLERANCE,
    AnswerWeights,
    Array,
    Block,
    Floats,
    Ties,
    find_answer_weights,
    sum_by,
)
from allalike._core.columns.hashes import mix
from allalike._core.lazy_imports import sparse
from allalike.rules.base import unknown
from allalike.rules.vote import pick

_FEW_ANSWERS = 1 << 14  # below this, importing scipy takes longer than it saves


@dataclass(frozen=True)
class Cells:
    """Answers of a block as a sparse matrix, with one row per task and one column per worker and label.

    Answers are sorted by task; the last element of ``starts`` is their number.
    """

    starts: Array
    cell: Array
    weight: Floats
    n_workers: int
    k: int

    @cached_property
    def task(self) -> Array | None:
        """Task of each answer, or None for many answers; few answers are added up without importing scipy."""
        if len(self.cell) >= _FEW_ANSWERS or "csr_array" in vars(sparse):
            return None
        sizes = np.diff(self.starts)
        return np.repeat(np.arange(len(sizes)), sizes)

    @cached_property
    def matrix(self) -> Any:
        """The scipy matrix."""
        return sparse.csr_array((self.weight, self.cell, self.starts), (len(self.starts) - 1, self.n_workers * self.k))


def cells_of(block: Block, k: int) -> Cells:
    """Return the cells of a block with k labels, stored or computed.

    >>> cells_of(Block.of([[0, 1], [1, 1]]), 2).matrix.toarray()
    array([[1., 0., 0., 1.],
           [0., 1., 0., 1.]])
    """
    if Cells in block:
        return block[Cells]
    number = np.int32 if max(block.n_workers * k, len(block.label)) < 1 << 31 else np.int64
    cell: Any = block.worker.astype(number)
    cell *= k
    cell += block.label.astype(number, copy=False)
    starts = np.append(block.starts, len(block.label)).astype(number, copy=False)
    return Cells(starts, cell, find_answer_weights(block).weight, block.n_workers, k)


def keep_cells(block: Block, *, k: int) -> Block:
    """Store the cells in the block, for later rounds."""
    return block if Cells in block else block.keeping(cells_of(block, k))


def add_up(cells: Cells, table: Floats) -> Floats:
    """Add up the rows of each task's answers in a table with one row per worker and label."""
    table = table.reshape(cells.n_workers * cells.k, -1)
    if cells.task is None:
        return np.asarray(cells.matrix @ table)
    return _add_columns(cells.task, cells.weight, table, cells.cell, len(cells.starts) - 1)


def _add_columns(row: Array, weight: Floats, table: Floats, taken: Array, n: int) -> Floats:
    """Add up the weighted rows that are taken from a table."""
    width = table.shape[1]
    place = row[:, None] * width + np.arange(width)
    values = weight[:, None] * table.take(taken, axis=0)
    return sum_by(place.ravel(), values.ravel(), n * width).reshape(n, width)


def count(cells: Cells, shares: Floats, into: Floats | None = None) -> Floats:
    """Add up, for each worker and label, the rows of the tasks with this answer, in place if ``into`` is given.

    >>> count(cells_of(Block.of([[0], [1]]), 2), np.array([[0.25, 0.75]]))[:, :, 0]
    array([[0.25, 0.  ],
           [0.  , 0.25]])
    """
    if cells.task is None:
        counts: Floats = cells.matrix.T @ shares
    else:
        counts = _add_columns(cells.cell, cells.weight, shares, cells.task, cells.n_workers * cells.k)
    counts = counts.reshape(cells.n_workers, cells.k, -1)
    if into is None:
        return counts
    into += counts
    return into


def count_votes(block: Block, weights: Floats, *, k: int) -> Floats:
    """Count weighted votes by task and label."""
    votes = weights.take(block.worker)
    if AnswerWeights in block:
        votes = votes * block[AnswerWeights].weight
    return sum_by(block.task * k + block.label, votes, block.n_tasks * k).reshape(-1, k)


def vote_shares(block: Block, weights: Floats, *, k: int) -> Floats:
    """Return each label's share of the weighted votes on a task; equal shares if all weights are 0.

    >>> from allalike._core.blocks.block import Block
    >>> vote_shares(Block.of([[0, 1], [1, 1]]), np.array([3.0, 1.0]), k=2)
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    votes = count_votes(block, weights, k=k)
    total = row_sums(votes)[:, None]
    shares: Floats = np.where(total > 0, votes, 1 / k) / np.where(total > 0, total, 1.0)
    return shares


def softmax(score: Floats) -> tuple[Floats, Floats]:
    """Return the softmax of each row, and the logarithm of the row's sum of exp(score).

    >>> softmax(np.log([[1.0, 3.0]]))
    (array([[0.25, 0.75]]), array([1.38629436]))
    """
    top = row_peaks(score)
    share = score - top[:, None]
    np.exp(share, out=share)
    total = row_sums(share)
    share /= total[:, None]
    return share, top + np.log(total)


def row_sums(table: Floats) -> Floats:
    """Add up rows; for short rows this is faster than np.sum, and a matrix product would start threads."""
    sums: Floats = np.einsum("rc->r", table)
    return sums


def row_peaks(table: Floats) -> Floats:
    """Return the maximum of each row; for short rows, a loop over columns is faster than np.max."""
    peaks = table[:, 0].copy()
    for column in table.T[1:]:
        np.maximum(peaks, column, out=peaks)
    return peaks


def count_ballots(block: Block, shares: Floats, *, k: int, into: Mapping[str, Floats]) -> dict[str, Floats]:
    """Count each worker's answers by label and state, and tasks by state."""
    return {"counts": count(cells_of(block, k), shares, into.get("counts")), "shares": sum_tasks(block, shares)}


def sum_tasks(block: Block, values: Array) -> Floats:
    """Add up the values of all tasks in the row of the block's first worker."""
    sums = np.zeros((block.n_workers, *values.shape[1:]))
    sums[0] = values.sum(axis=0)
    return sums


def take_most_probable(block: Block, probability: Floats, ties: Ties) -> dict[str, Array]:
    """Return the most probable class of each task, with its probability as confidence.

    >>> from allalike._core.blocks.block import Block
    >>> from allalike._core.blocks.block import Ties
    >>> take_most_probable(Block.of([[0, 1], [1, 1]]), np.array([[0.6, 0.4], [0.2, 0.8]]), Ties())["label"]
    array([0, 1], dtype=int32)
    """
    best = row_peaks(probability)
    task, label = np.nonzero(probability >= best[:, None] * (1 - TOLERANCE))
    chosen, tied = pick(block, task, label, ties)
    return {"label": label[chosen].astype(np.int32), "confidence": best, "error": unknown(block.n_tasks), "tied": tied}


class ClassModel(ABC):
    """A model that computes class probabilities from parameters with one row per worker."""

    @abstractmethod
    def decide(
        self, block: Block, weights: Floats, faults: Floats, *parameters: Floats, ties: Ties
    ) -> dict[str, Array]:
        """Return the most probable class of each task."""

    @abstractmethod
    def probabilities(self, block: Block, weights: Floats, faults: Floats, *parameters: Floats) -> dict[str, Array]:
        """Return posteriors, with one row per task and one column per class."""


class PosteriorModel(ClassModel):
    """A model of the posteriors of all classes."""

    @abstractmethod
    def find_posterior(self, block: Block, *parameters: Floats) -> Floats:
        """Return posteriors, with one row per task and one column per class."""

    def decide(
        self, block: Block, weights: Floats, faults: Floats, *parameters: Floats, ties: Ties
    ) -> dict[str, Array]:
        """Return the most probable class of each task."""
        return take_most_probable(block, self.find_posterior(block, *parameters), ties)

    def probabilities(self, block: Block, weights: Floats, faults: Floats, *parameters: Floats) -> dict[str, Array]:
        """Return posteriors, with one row per task and one column per class."""
        return {"probability": self.find_posterior(block, *parameters)}


# Random numbers depend only on ids and seeds, so they are the same on every engine and for every order of rows.

_HASH_STEPS = 2.0**53  # number of different values between 0 and 1


def draw_evenly(ids: Array, seed: tuple[int, int], size: int) -> Floats:
    """Sample uniform numbers between 0 and 1 for each id, determined by its hash, the seed and the start.

    >>> draw_evenly(np.array([5, 6], np.uint64), (0, 1), 3).round(2).tolist()
    [[0.28, 0.0, 0.63], [0.93, 0.63, 0.0]]
    """
    salt = mix(np.array([seed[0] % (1 << 64)], np.uint64))
    cells = mix(np.arange(size, dtype=np.uint64) + np.uint64(1 + seed[1] * size))
    bits = mix(mix(ids ^ salt)[:, None] ^ cells) >> np.uint64(11)
    return np.asarray((bits + 0.5) / _HASH_STEPS, np.float64)


def draw_subtypes(task_hash: Array, seed: tuple[int, int], shape: tuple[int, int]) -> Floats:
    """Sample from Dirichlet(1, ..., 1) for each task and class, determined by the task's hash, the seed and the start.

    >>> draw_subtypes(np.array([5, 6], np.uint64), (0, 1), (1, 3)).round(2).tolist()
    [[[0.03, 0.96, 0.01]], [[0.0, 0.01, 0.99]]]
    """
    drawn = -np.log(draw_evenly(task_hash, seed, shape[0] * shape[1])).reshape(-1, *shape)
    shares: Floats = drawn / drawn.sum(axis=2, keepdims=True)
    return shares


def count_labels(block: Block, *, k: int) -> dict[str, Floats]:
    """Count the answers by worker and label."""
    counts = np.bincount(block.worker * k + block.label, minlength=block.n_workers * k).astype(np.float64)
    return {"counts": counts.reshape(-1, k)}
