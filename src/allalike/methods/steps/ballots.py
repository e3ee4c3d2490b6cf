"""Ballots: the answers as a sparse matrix, so that votes, posteriors and counts are products with it.

A row is a task, a column a **cell**, a worker together with a label, and an entry the weight of an answer. For a table
with a row per cell and a column per state s, the product with the matrix B adds up, for each task, the rows of its
answers; the product with its transpose adds up, for each cell, the rows of the tasks with this answer:

    votes_ts = sum_i w_i [l_i = s], log P_ts = sum_i log C_(w_i, l_i, s), N_wls = sum of q_ts over their answers l.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

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
from allalike._core.late import sparse
from allalike.rules.base import unknown
from allalike.rules.vote import pick

if TYPE_CHECKING:
    from collections.abc import Mapping

_FEW_ANSWERS = 1 << 14  # which scipy adds up no faster than it is imported


@dataclass(frozen=True)
class Cells:
    """The answers of a block as a sparse matrix with a row per task and a column per worker and label.

    ``starts`` ends with the number of answers, which are sorted by task.
    """

    starts: Array
    cell: Array
    weight: Floats
    n_workers: int
    k: int

    @cached_property
    def task(self) -> Array | None:
        """The task of each answer, if they are few: they are added up without scipy, which is slow to import."""
        sizes = np.diff(self.starts)
        return np.repeat(np.arange(len(sizes)), sizes) if len(self.cell) < _FEW_ANSWERS else None

    @cached_property
    def matrix(self) -> Any:
        """The matrix for scipy."""
        return sparse.csr_array((self.weight, self.cell, self.starts), (len(self.starts) - 1, self.n_workers * self.k))


def cells_of(block: Block, k: int) -> Cells:
    """Return the cells of a block with k labels: those that it keeps, or new ones.

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
    """Return the block with its cells, for later rounds."""
    return block if Cells in block else block.keeping(cells_of(block, k))


def add_up(cells: Cells, table: Floats) -> Floats:
    """Add up, per task, the rows of its answers; the table has a row per worker and label."""
    table = table.reshape(cells.n_workers * cells.k, -1)
    if cells.task is None:
        return np.asarray(cells.matrix @ table)
    return _add_columns(cells.task, cells.weight, table, cells.cell, len(cells.starts) - 1)


def _add_columns(row: Array, weight: Floats, table: Floats, taken: Array, n: int) -> Floats:
    """Add up, in each of n rows and for each column, the weighted entries that are taken from a table."""
    return np.stack([np.bincount(row, weight * column.take(taken), n) for column in table.T], axis=1)


def count(cells: Cells, shares: Floats, into: Floats | None = None) -> Floats:
    """Add up, per worker and label, the rows of the tasks with this answer, to ``into`` if it is given.

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
    """Count the votes for each label of each task, weighted by worker."""
    votes = weights.take(block.worker)
    if AnswerWeights in block:
        votes = votes * block[AnswerWeights].weight
    return sum_by(block.task * k + block.label, votes, block.n_tasks * k).reshape(-1, k)


def vote_shares(block: Block, weights: Floats, *, k: int) -> Floats:
    """Return each label's share of the weighted votes of a task; equal shares without weights.

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
    """Return the shares of exp(score) in each row, and the logarithm of the row's sum.

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
    """Add up rows: for short ones this takes a fraction of the time of a sum, and a product would wake up threads."""
    sums: Floats = np.einsum("rc->r", table)
    return sums


def row_peaks(table: Floats) -> Floats:
    """Find the largest number of each row: column by column, which for short rows is faster too."""
    peaks = table[:, 0].copy()
    for column in table.T[1:]:
        np.maximum(peaks, column, out=peaks)
    return peaks


def count_ballots(block: Block, shares: Floats, *, k: int, into: Mapping[str, Floats]) -> dict[str, Floats]:
    """Count, per worker, answers by label and state, and how often each state was asked."""
    return {"counts": count(cells_of(block, k), shares, into.get("counts")), "shares": sum_tasks(block, shares)}


def sum_tasks(block: Block, values: Array) -> Floats:
    """Add numbers of tasks to the row of the task's first worker, so that the rows add up to the sum."""
    if values.ndim == 1:
        return sum_by(block.first_worker, values, block.n_workers)
    cells = Cells(np.arange(block.n_tasks + 1), block.first_worker, np.ones(block.n_tasks), block.n_workers, 1)
    return count(cells, values)[:, 0]


def take_most_probable(block: Block, probability: Floats, ties: Ties) -> dict[str, Array]:
    """Take the most probable class, from a row per task and a column per class; its probability is the confidence.

    >>> from allalike._core.blocks.block import Block
    >>> from allalike._core.blocks.block import Ties
    >>> take_most_probable(Block.of([[0, 1], [1, 1]]), np.array([[0.6, 0.4], [0.2, 0.8]]), Ties())["label"]
    array([0, 1], dtype=int32)
    """
    best = row_peaks(probability)
    task, label = np.nonzero(probability >= best[:, None] * (1 - TOLERANCE))
    chosen, tied = pick(block, task, label, ties)
    return {"label": label[chosen].astype(np.int32), "confidence": best, "error": unknown(block.n_tasks), "tied": tied}


# Random numbers that depend only on ids and seeds: equal on every engine, for every order of rows.

_HASH_STEPS = 2.0**53  # different numbers between 0 and 1 that are made of a hash


def draw_evenly(ids: Array, seed: tuple[int, int], size: int) -> Floats:
    """Draw this many numbers between 0 and 1 for each hash of an id, by the seed and the number of the start.

    >>> draw_evenly(np.array([5, 6], np.uint64), (0, 1), 3).round(2).tolist()
    [[0.28, 0.0, 0.63], [0.93, 0.63, 0.0]]
    """
    salt = mix(np.array([seed[0] % (1 << 64)], np.uint64))
    cells = mix(np.arange(size, dtype=np.uint64) + np.uint64(1 + seed[1] * size))
    bits = mix(mix(ids ^ salt)[:, None] ^ cells) >> np.uint64(11)
    return np.asarray((bits + 0.5) / _HASH_STEPS, np.float64)


def draw_subtypes(task_hash: Array, seed: tuple[int, int], shape: tuple[int, int]) -> Floats:
    """Draw from Dirichlet(1, ..., 1), for each task and class, by hashes of the task, the seed and the start.

    >>> draw_subtypes(np.array([5, 6], np.uint64), (0, 1), (1, 3)).round(2).tolist()
    [[[0.03, 0.96, 0.01]], [[0.0, 0.01, 0.99]]]
    """
    drawn = -np.log(draw_evenly(task_hash, seed, shape[0] * shape[1])).reshape(-1, *shape)
    shares: Floats = drawn / drawn.sum(axis=2, keepdims=True)
    return shares


def count_labels(block: Block, *, k: int) -> dict[str, Floats]:
    """Count how often each worker gave each of k labels."""
    counts = np.bincount(block.worker * k + block.label, minlength=block.n_workers * k).astype(np.float64)
    return {"counts": counts.reshape(-1, k)}
