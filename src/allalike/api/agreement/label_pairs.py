"""Label pairs: how far two answers to any tasks are apart on average, from some pairs of them.

Where the distance of labels does not come from their sums, answers to different tasks are compared: all pairs if there
are no more than 20,000, and else as many of them, drawn among some tasks that the hashes of their ids choose. With the
sum S of the distances within tasks, which is known, and the mean b of those between tasks, of which there are M pairs,

    D_e = (S + M b) / (n (n - 1)).

Its standard error is that of b, sd/sqrt(20,000): where distances vary as much as they are large, 0.7 % of D_e. Without
a worker, the pairs with one of her answers are left out; in a resample each pair counts by the product of the weights
of its tasks, and a task that is drawn twice is compared with itself.

Where labels of different tasks cannot be compared (rankings of other items), b is the distance of two guesses; where
nobody knows that either (a function of the user's that says NaN, or refuses), D_e is unknown.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike.engines.sample import sample_tasks
from allalike.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from allalike.api.agreement.resamples import TaskGroups
    from allalike.domains import Kernels
    from allalike.engines import Run

    Places = npt.NDArray[np.intp]
    Some = Places | slice  # of the answers, or all

MAX_PAIRS = 20_000
_MOST_LISTED = 100 * MAX_PAIRS
_DRAWS = 4 * MAX_PAIRS  # of which those within a task are dropped
_MIN_TASKS = 100
_PAIRS_PER_CHUNK = 2000
_RESAMPLES_PER_CHUNK = 100


@dataclass(frozen=True)
class LabelPairs:
    """The expected distance from pairs of answers to different tasks."""

    distance: Floats
    left: Places
    right: Places
    leaving: Places
    complete: bool

    @property
    def error(self) -> float:
        """The standard error of the mean distance of pairs of answers to different tasks."""
        if self.complete or len(self.distance) < 2:
            return 0.0
        return float(self.distance.std(ddof=1) / np.sqrt(len(self.distance)))

    @property
    def source(self) -> str:
        """What the expected distance is known from."""
        return f"{'all' if self.complete else 'a sample of'} {len(self.distance):,} pairs"

    def expect(self, sums: Mapping[str, Array]) -> Floats:
        """Return the mean distance of two answers to any tasks."""
        mean = self.distance.mean() if len(self.distance) else np.nan
        return _join(sums["answers"], sums["within"], sums["pairs"], np.asarray(mean))

    def expect_without(self, total: Mapping[str, Array], leaving: Mapping[str, Array]) -> Floats:
        """Return what is expected without each worker."""
        n_workers = len(leaving["answers"])
        pair, place = np.nonzero(self.leaving >= 0)
        who = self.leaving[pair, place]
        number = len(self.distance) - np.bincount(who, minlength=n_workers)
        distance = self.distance.sum() - np.bincount(who, self.distance[pair], n_workers)
        mean = np.where(number > 0, distance, np.nan) / np.maximum(number, 1)
        answers, within, pairs = (total[name] - leaving[name] for name in ("answers", "within", "pairs"))
        return _join(answers, within, pairs, mean)

    def expect_resampled(self, groups: Mapping[str, Array], weights: Floats) -> Floats:
        """Return what is expected in each resample of groups of tasks."""
        answers, squares = weights @ groups["answers"], np.square(weights)
        same = squares @ (groups["pairs"] + groups["answers"]) - answers  # two draws of an answer are a pair, too
        means = [self._mean(part) for part in np.array_split(weights, 1 + len(weights) // _RESAMPLES_PER_CHUNK)]
        return _join(answers, squares @ groups["within"], same, np.concatenate(means))

    def _mean(self, weights: Floats) -> Floats:
        weight = weights[:, self.left] * weights[:, self.right]
        total = weight.sum(axis=1)
        return np.asarray(np.where(total > 0, weight @ self.distance, np.nan) / np.where(total > 0, total, 1.0))


def _join(answers: Array, within: Array, pairs: Array, mean: Floats) -> Floats:
    """Return the mean distance of all pairs: of those within tasks, and of all others, whose mean distance is given."""
    enough = answers > 1
    everything = np.where(enough, answers * (answers - 1), 1.0)
    between = everything - pairs
    distance = within + np.where(between > 0.5, between * mean, 0.0)
    return np.where(enough, distance / everything, np.nan)


def draw_pairs(run: Run, n_paired: float, groups: TaskGroups) -> LabelPairs:
    """Draw pairs of answers to different tasks, and compare them; ``n_paired`` answers are pairable.

    >>> import allalike
    >>> from allalike.api.agreement.resamples import TaskGroups
    >>> rows = [(worker, task, f"word {worker if task else 'one'}") for worker in "ab" for task in (0, 1)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="text"))
    >>> pairs = draw_pairs(run, 4, TaskGroups(10))
    >>> pairs.source, pairs.distance.round(2)
    ('all 4 pairs', array([0.67, 0.67, 0.67, 0.67]))
    """
    complete = n_paired * (n_paired - 1) / 2 <= MAX_PAIRS
    whole = float(run.answer_counts.sum())
    wanted = whole if complete else max(MAX_PAIRS, _MIN_TASKS * whole / run.n_tasks)
    label, worker, task, task_hash = _take_answers(run, int(wanted))
    complete = complete and len(label) * (len(label) - 1) / 2 <= _MOST_LISTED  # of which many may be unknown
    left, right = np.triu_indices(len(label), 1) if complete else _draw(len(label))
    different = np.flatnonzero(task[left] != task[right])[:MAX_PAIRS]
    left, right = left[different], right[different]
    distance = _compare(label, left, right, run.kernels)
    if complete:  # a guess may depend on which of both labels it stands for
        distance = (distance + _compare(label, right, left, run.kernels)) / 2
    known = np.flatnonzero(~np.isnan(distance))
    left, right, group = left[known], right[known], groups.number(task_hash)[task]
    gone = _find_gone(worker, task)
    leaving = np.sort(np.concatenate([gone[left], gone[right]], axis=1), axis=1)
    leaving[:, 1:][leaving[:, 1:] == leaving[:, :-1]] = -1
    return LabelPairs(distance[known], group[left], group[right], leaving, complete)


def _draw(n_answers: int) -> tuple[Places, Places]:
    """Draw pairs of answers, which may be to the same task."""
    left, right = np.random.default_rng(0).integers(0, max(n_answers, 1), (2, _DRAWS if n_answers else 0))
    return left, right


def _take_answers(run: Run, number: int) -> tuple[Array, Array, Array, Array]:
    """Bring the pairable answers of some tasks into memory: label, worker, number of the task; and hashes of tasks."""
    blocks = sample_tasks(run, number, with_gold=False).blocks
    label, worker, sizes, task_hash = (
        np.concatenate([getattr(block, name) for block in blocks]) for name in ("label", "worker", "sizes", "task_hash")
    )
    task = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((worker, task))
    rows = order[sizes[task[order]] > 1]
    return label[rows], worker[rows], task[rows], task_hash


def _compare(label: Array, left: Places, right: Places, kernels: Kernels) -> Floats:
    """Measure distances, some at a time, for labels may be large; those of different tasks may be unknown."""
    distance = np.full(len(left), np.nan)
    with suppress(LabelError):  # of a user's own function that cannot compare labels of different tasks
        for part in np.array_split(np.arange(len(left)), 1 + len(left) // _PAIRS_PER_CHUNK):
            distance[part] = kernels.guess_distances(label[left[part]], label[right[part]])
    return distance


def _find_gone(worker: Places, task: Array) -> Places:
    """Return, per answer, the workers without whom it is not pairable: its own, and of a pair the other one.

    >>> _find_gone(np.array([0, 1, 0, 1, 2]), np.array([0, 0, 1, 1, 1])).tolist()
    [[0, 1], [1, 0], [0, -1], [1, -1], [2, -1]]
    """
    sizes = np.bincount(task)
    first = (np.cumsum(sizes) - sizes)[task]
    other = 2 * first + 1 - np.arange(len(task))
    pair = sizes[task] == 2
    return np.stack([worker, np.where(pair, worker[np.where(pair, other, 0)], -1)], axis=1)


# Label totals: how far two answers to any tasks are apart on average, without looking at pairs.
#
# Where a label is a vector f and the distance of two of them is |f - g|^2, or half of it, the mean distance of n
# answers needs their number, the sum q of their squared lengths, and their sum t:
#
#     D_e = factor (q/n - |t/n|^2) n/(n - 1).
#
# Numbers and vectors under the squared distance are such vectors themselves (factor 2), and the levels of a scale
# have vectors. Classes are vectors with a single 1 (factor 1, since two different ones have the squared distance 2):
# q/n is 1, and t/n is the share of each class. It makes no difference how many different numbers there are. Numbers
# are taken relative to their mean, because q/n and |t/n|^2 have no digits left for their difference where numbers are
# large and close to each other.
#
# The total of all classes is exact. What is kept per worker and per group of tasks knows the 64 most frequent classes
# only; the answers of the others are taken to be all different there, and the factor makes up for it on average.


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
    """The expected distance from sums of labels."""

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
