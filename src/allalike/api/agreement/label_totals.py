"""Label totals: how far two answers to any tasks are apart on average, without looking at pairs.

Where a label is a vector f and the distance of two of them is |f - g|^2, or half of it, the mean distance of n answers
needs their number, the sum q of their squared lengths, and their sum t:

    D_e = factor (q/n - |t/n|^2) n/(n - 1).

Numbers and vectors under the squared distance are such vectors themselves (factor 2), and the levels of a scale have
vectors. Classes are vectors with a single 1 (factor 1, since two different ones have the squared distance 2): q/n is 1,
and t/n is the share of each class. It makes no difference how many different numbers there are. Numbers are taken
relative to their mean, because q/n and |t/n|^2 have no digits left for their difference where numbers are large and
close to each other.

The total of all classes is exact. What is kept per worker and per group of tasks knows the 64 most frequent classes
only; the answers of the others are taken to be all different there, and the factor makes up for it on average.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, sum_by

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from allalike.domains import Kernels
    from allalike.engines import Run

    Places = npt.NDArray[np.intp]
    Some = Places | slice  # of the answers, or all

__all__ = ["Features", "LabelTotals", "count_labels", "find_class_totals", "find_level_totals", "find_number_totals"]

MAX_SLOTS = 64
_ROUNDING = 1e-13  # relative: less is what equal numbers differ by


class Features(ABC):
    """Labels as vectors, whose sums are added up at given places."""

    @abstractmethod
    def add(self, block: Block, kernels: Kernels, place: Places, answer: Some, size: int) -> dict[str, Floats]:
        """Add up the squared length (``square``) and the vector (``vector``) of some answers, at their places."""

    def add_tasks(self, block: Block, kernels: Kernels, place: Places, paired: Array, size: int) -> dict[str, Floats]:
        """Add up those of all answers to paired tasks, at the places of their tasks."""
        answer = slice(None) if paired.all() else np.flatnonzero(block.to_answers(paired))
        return self.add(block, kernels, block.to_answers(place)[answer], answer, size)


@dataclass(frozen=True)
class Classes(Features):
    """Classes; each of the frequent ones has a slot, and all others have the last, which does not count."""

    slot: npt.NDArray[np.intp]
    n_slots: int

    def add(self, block: Block, kernels: Kernels, place: Places, answer: Some, size: int) -> dict[str, Floats]:
        """Count classes."""
        width = self.n_slots + 1
        cell = place * width
        cell += self.slot[block.label[answer]]
        counts = np.bincount(cell, minlength=size * width).reshape(size, width).astype(np.float64)
        return {"square": counts.sum(axis=1), "vector": counts[:, :-1]}


@dataclass(frozen=True)
class Levels(Features):
    """Labels of which each has a vector, in a row of a table."""

    coordinates: Floats

    def add(self, block: Block, kernels: Kernels, place: Places, answer: Some, size: int) -> dict[str, Floats]:
        """Count labels, and add up their vectors."""
        width = len(self.coordinates)
        counts = np.bincount(place * width + block.label[answer], minlength=size * width).reshape(size, width)
        return {"square": counts @ np.square(self.coordinates).sum(axis=1), "vector": counts @ self.coordinates}


@dataclass(frozen=True)
class Numbers(Features):
    """Numbers or vectors, relative to their mean."""

    mean: Floats

    def add(self, block: Block, kernels: Kernels, place: Places, answer: Some, size: int) -> dict[str, Floats]:
        """Add up numbers, each coordinate for itself."""
        found = _numbers(block, kernels, self.mean)[answer]
        return _add_rows(place, found, np.einsum("ij,ij->i", found, found), size)

    def add_tasks(self, block: Block, kernels: Kernels, place: Places, paired: Array, size: int) -> dict[str, Floats]:
        """Add up numbers per task first, because tasks are fewer than answers."""
        found = _numbers(block, kernels, self.mean)
        square = block.per_task(np.einsum("ij,ij->i", found, found))
        return _add_rows(place[paired], block.per_task(found)[paired], square[paired], size)


def _add_rows(place: Places, vectors: Floats, square: Floats, size: int) -> dict[str, Floats]:
    vector = np.stack([sum_by(place, column, size) for column in vectors.T], axis=1)
    return {"square": sum_by(place, square, size), "vector": vector}


def _numbers(block: Block, kernels: Kernels, mean: Floats) -> Floats:
    """Return all numbers of a block relative to a mean, one row each."""
    label = block.label.reshape(len(block.label), -1)
    return np.asarray(label + block.to_answers(_centres(block, kernels) - mean), np.float64)


def _centres(block: Block, kernels: Kernels) -> Floats:
    """Return what the labels of each task are relative to, as one row: its centre, or 0 where they are kept whole.

    A code may begin with what its numbers belong to, which is no number to compare.
    """
    nothing = np.zeros((block.n_tasks, *block.label.shape[1:]))
    restored = np.asarray(kernels.restore(block, nothing), np.float64).reshape(block.n_tasks, -1)
    return restored[:, restored.shape[1] - nothing[0].size :]


@dataclass(frozen=True)
class LabelTotals:
    """The expected distance from sums of labels.

    Parameters
    ----------
    features
        What is summed.
    factor
        What the spread of labels is multiplied by.
    """

    features: Features
    factor: float

    error = 0.0
    source = "label totals"

    def expect(self, sums: Mapping[str, Array]) -> Floats:
        """Return the mean distance of two answers, of each row of sums; NaN for less than two answers."""
        answers = sums["answers"]
        enough = answers > 1
        n = np.where(enough, answers, 2.0)
        length, mean = sums["square"] / n, sums["vector"] / n[..., None]
        spread = length - np.einsum("...i,...i->...", mean, mean)
        spread = np.where(spread <= _ROUNDING * length, 0.0, spread)
        return np.where(enough, self.factor * spread * (n / (n - 1)), np.nan)

    def expect_without(self, total: Mapping[str, Array], leaving: Mapping[str, Array]) -> Floats:
        """Return what is expected without each worker."""
        return self.expect({name: total[name] - leaving[name] for name in ("answers", "square", "vector")})

    def expect_resampled(self, groups: Mapping[str, Array], weights: Floats) -> Floats:
        """Return what is expected in each resample of groups of tasks."""
        return self.expect({name: weights @ groups[name] for name in ("answers", "square", "vector")})


def count_labels(block: Block, *, n_labels: int) -> dict[str, Floats]:
    """Count the answers of each class to tasks with several answers, and add up its share in the answers to each task.

    >>> from allalike._core.blocks.block import Block
    >>> count_labels(Block.of([[0, 1, 1], [0, 0, 1]]), n_labels=2)
    {'paired': array([3., 3.]), 'share': array([1.5, 1.5])}
    """
    if block.same_size and block.live is None:
        counts = np.bincount(block.label, minlength=n_labels).astype(np.float64)
        return {"paired": counts * (block.same_size > 1), "share": counts / block.same_size}
    lives = np.ones(block.n_tasks) if block.live is None else block.live.astype(np.float64)
    each = {"paired": lives * (block.sizes > 1), "share": lives / block.sizes}
    return {name: sum_by(block.label, block.to_answers(value), n_labels) for name, value in each.items()}


def find_class_totals(counts: Floats) -> LabelTotals:
    """Give slots to the most frequent classes, given how many answers each has.

    >>> find_class_totals(np.array([2.0, 2.0])).factor, round(find_class_totals(np.ones(1000)).factor, 4)
    (1.0, 0.9991)
    """
    if len(counts) <= MAX_SLOTS:
        return LabelTotals(Classes(np.arange(len(counts)), len(counts)), 1.0)
    slot = np.full(len(counts), MAX_SLOTS)
    slot[np.argsort(-counts, kind="stable")[:MAX_SLOTS]] = np.arange(MAX_SLOTS)
    share = counts / max(counts.sum(), 1.0)
    known = 1 - np.square(share[slot < MAX_SLOTS]).sum()
    factor = (1 - np.square(share).sum()) / known if known > 0 else 1.0
    return LabelTotals(Classes(slot, MAX_SLOTS), float(factor))


def find_level_totals(coordinates: Floats) -> LabelTotals | None:
    """Take labels for vectors, unless there are too many of them to be counted for every worker.

    >>> totals = find_level_totals(np.array([[0.0], [0.5], [1.0]]))
    >>> totals is None, find_level_totals(np.zeros((100, 1))) is None
    (False, True)
    """
    return LabelTotals(Levels(coordinates), 2.0) if len(coordinates) <= MAX_SLOTS else None


def find_number_totals(run: Run) -> LabelTotals:
    """Find the mean of all numbers, to which all sums are relative.

    >>> import allalike
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 2.5), ("bob", 1, 4.5)]))
    >>> find_number_totals(run).features
    Numbers(mean=array([3.5]))
    """
    sums = run.total(partial(_add_numbers, kernels=run.kernels))
    mean = sums["vector"] / max(float(sums["answers"]), 1.0)
    return LabelTotals(Numbers(mean), 2.0)


def _add_numbers(block: Block, *, kernels: Kernels) -> dict[str, Floats]:
    sizes = block.sizes * (block.sizes > 1.0)
    counts = sizes if block.live is None else sizes * block.live
    mean = block.per_task(block.label.reshape(len(block.label), -1)) / block.sizes[:, None]
    return {"answers": counts.sum(), "vector": counts @ (mean + _centres(block, kernels))}
