"""Expected disagreement D_e: the mean distance between two answers to any tasks.

Its computation depends on the distance.

**Squared distances** need no pairs. If labels are vectors f and their distance is |f - g|^2, or half of it, D_e follows
from the number n of answers, the sum q of squared lengths and the sum t of vectors:

    D_e = factor (q/n - |t/n|^2) n/(n - 1).

Numbers and vectors are used directly (factor 2), relative to their mean to preserve precision. Levels have coordinates
(factor 2). A class is a one-hot vector (factor 1). Only the 64 most frequent classes have a coordinate. Answers with
other classes are treated as if all were different, and the factor corrects for this.

**Other distances** compare pairs of answers to different tasks: all pairs if there are at most 20,000, otherwise a
random sample of 20,000. With the sum S of the distances within tasks, and the mean b of M pairs between tasks,

    D_e = (S + M b) / (n (n - 1)).

The reported standard error is that of b. If labels of different tasks cannot be compared, D_e is unknown (NaN).

Both formulas are linear in sums over tasks. Therefore D_e without a worker is computed by subtraction, and D_e of a
bootstrap sample by weighting the tasks.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike.engines.sample import sample_tasks
from allalike.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Kernels
    from allalike.engines.memory import MemoryRun

    Places = npt.NDArray[np.intp]

MAX_COORDINATES = 64
MAX_PAIRS = 20_000
_MAX_LISTED_PAIRS = 100 * MAX_PAIRS
_DRAWN_PAIRS = 4 * MAX_PAIRS  # before pairs within a task are excluded
_MIN_TASKS = 100
_PAIRS_PER_CHUNK = 2000
_RESAMPLES_PER_CHUNK = 100
_ROUNDING = 1e-13  # relative difference below which numbers are equal


@dataclass(frozen=True)
class Pairable:
    """The pairable answers and their tasks.

    Per answer: worker, task, sum of its distances to the others, and their number. Per task: number of answers, and the
    same two sums. ``rows`` are the answers in each block.
    """

    rows: Sequence[Places]
    worker: Places
    task: Places
    distance: Floats
    peers: Floats
    task_hash: npt.NDArray[np.uint64]
    size: Floats
    total: Floats
    known: Floats

    @property
    def mean(self) -> Floats:
        """The mean distance of two answers to each task."""
        return self.total / self.known


def pick_pairable(blocks: Sequence[Block], kernels: Kernels) -> Pairable:
    """Compare all answers to the same task."""
    places, of_answers, of_tasks = [], [], []
    for block in blocks:
        distance, peers = kernels.peer_distances(block, np.ones(block.n_workers))
        total, known = block.per_task(distance), block.per_task(peers)
        paired = known > 0
        rows = np.flatnonzero(block.to_answers(paired))
        worker = block.worker[rows] if isinstance(block.workers, slice) else block.workers[block.worker[rows]]
        places.append(rows)
        of_answers.append([worker, distance[rows], peers[rows]])
        of_tasks.append([each[paired] for each in (block.task_hash, block.sizes, total, known)])
    (worker, distance, peers), (task_hash, sizes, total, known) = (
        map(np.concatenate, zip(*parts, strict=True)) for parts in (of_answers, of_tasks)
    )
    task = np.repeat(np.arange(len(sizes)), sizes)
    return Pairable(places, worker, task, distance, peers, task_hash, sizes.astype(np.float64), total, known)


@dataclass(frozen=True)
class LabelTotals:
    """Expected disagreement from sums of label vectors, one per answer or per code."""

    vectors: Floats
    lengths: Floats
    factor: float
    code: Places | None = None

    error = 0.0
    source = "label totals"

    def add(self, place: Places, size: int, rows: Places | None = None) -> dict[str, Floats]:
        """Sum the vectors of answers, or of these rows, and their squared lengths by place."""
        if self.code is None:
            vectors, lengths = (each if rows is None else each[rows] for each in (self.vectors, self.lengths))
            sums = np.stack([sum_by(place, coordinate, size) for coordinate in vectors.T], axis=1)
            return {"square": sum_by(place, lengths, size), "vector": sums}
        code, n = self.code if rows is None else self.code[rows], len(self.vectors)
        counts = np.bincount(place * n + code, minlength=size * n).reshape(size, n)
        return {"square": counts @ self.lengths, "vector": counts @ self.vectors}

    def compute(self, sums: Mapping[str, Array]) -> Floats:
        """Compute D_e for each row of sums; NaN for fewer than two answers."""
        enough = sums["answers"] > 1
        n = np.where(enough, sums["answers"], 2.0)
        length, mean = sums["square"] / n, sums["vector"] / n[..., None]
        spread = length - np.einsum("...i,...i->...", mean, mean)
        spread = np.where(spread <= _ROUNDING * length, 0.0, spread)
        return np.where(enough, self.factor * spread * (n / (n - 1)), np.nan)

    def compute_without(self, total: Mapping[str, Array], lost: Mapping[str, Array]) -> Floats:
        """Compute D_e without each worker."""
        return self.compute({name: total[name] - lost[name] for name in ("answers", "square", "vector")})

    def compute_resampled(self, groups: Mapping[str, Array], weights: Floats) -> Floats:
        """Compute D_e in each bootstrap sample of groups of tasks."""
        return self.compute({name: weights @ groups[name] for name in ("answers", "square", "vector")})


def find_vectors(run: MemoryRun, paired: Pairable, label_counts: Floats | None) -> LabelTotals | None:
    """Return D_e from sums of label vectors, if labels have vectors; ``label_counts`` are those of classes."""
    coordinates, noise = run.encoding.coordinates, run.encoding.noise
    if label_counts is not None:
        column, factor = _choose_classes(label_counts)
        kept = int(column.max())
        return LabelTotals(np.eye(kept + 1, kept), np.ones(kept + 1), factor, column[_join_labels(run, paired)])
    if coordinates is not None:
        lengths, codes = np.square(coordinates).sum(axis=1), _join_labels(run, paired)
        return None if len(coordinates) > MAX_COORDINATES else LabelTotals(coordinates, lengths, 2.0, codes)
    if noise.weighting != "inverse" or not noise.estimates_fault:  # squared distances are variances that add up
        return None
    centre = _find_centres(run.blocks[0], run.kernels).mean(axis=0)
    vectors = np.concatenate(
        [
            (block.label.reshape(len(block.label), -1) + block.to_answers(_find_centres(block, run.kernels) - centre))[
                rows
            ]
            for block, rows in zip(run.blocks, paired.rows, strict=True)
        ]
    ).astype(np.float64)
    return LabelTotals(vectors, np.einsum("ij,ij->i", vectors, vectors), 2.0)


def _join_labels(run: MemoryRun, paired: Pairable) -> Places:
    return np.concatenate([block.label[rows] for block, rows in zip(run.blocks, paired.rows, strict=True)])


def _choose_classes(counts: Floats) -> tuple[Places, float]:
    """Return the coordinate of each class, and the factor; infrequent classes share the last one, a zero vector."""
    n, kept = len(counts), min(len(counts), MAX_COORDINATES)
    column = np.full(n + 1, kept)
    column[np.argsort(-counts, kind="stable")[:kept]] = np.arange(kept)
    if n == kept:
        return column, 1.0
    share = counts / max(counts.sum(), 1.0)
    known = 1 - np.square(share[column[:n] < kept]).sum()
    return column, float((1 - np.square(share).sum()) / known) if known > 0 else 1.0


def _find_centres(block: Block, kernels: Kernels) -> Floats:
    """Return the centre that is subtracted from the labels of each task, or 0.

    A code may begin with a group id, which is not compared.
    """
    nothing = np.zeros((block.n_tasks, *block.label.shape[1:]))
    restored = np.asarray(kernels.restore(block, nothing), np.float64).reshape(block.n_tasks, -1)
    return restored[:, restored.shape[1] - nothing[0].size :]


@dataclass(frozen=True)
class PairedDistances:
    """Expected disagreement from pairs of answers to different tasks.

    ``left`` and ``right`` are the groups of tasks of each pair; ``needed`` are the workers that it needs, or -1.
    """

    distance: Floats
    left: Places
    right: Places
    needed: Places
    complete: bool

    def add(self, place: Places, size: int, rows: Places | None = None) -> dict[str, Floats]:
        """Return no sums, because pairs need none."""
        return {}

    @property
    def error(self) -> float:
        """The standard error of the mean distance between tasks."""
        if self.complete or len(self.distance) < 2:
            return 0.0
        return float(self.distance.std(ddof=1) / np.sqrt(len(self.distance)))

    @property
    def source(self) -> str:
        """The source of D_e."""
        return f"{'all' if self.complete else 'a sample of'} {len(self.distance):,} pairs"

    def compute(self, sums: Mapping[str, Array]) -> Floats:
        """Compute D_e."""
        mean = self.distance.mean() if len(self.distance) else np.nan
        return _mix(sums["answers"], sums["within"], sums["pairs"], np.asarray(mean))

    def compute_without(self, total: Mapping[str, Array], lost: Mapping[str, Array]) -> Floats:
        """Compute D_e without each worker."""
        n_workers = len(lost["answers"])
        pair, place = np.nonzero(self.needed >= 0)
        worker = self.needed[pair, place]
        count = len(self.distance) - np.bincount(worker, minlength=n_workers)
        distance = self.distance.sum() - np.bincount(worker, self.distance[pair], n_workers)
        mean = np.where(count > 0, distance, np.nan) / np.maximum(count, 1)
        answers, within, pairs = (total[name] - lost[name] for name in ("answers", "within", "pairs"))
        return _mix(answers, within, pairs, mean)

    def compute_resampled(self, groups: Mapping[str, Array], weights: Floats) -> Floats:
        """Compute D_e in each bootstrap sample; a task that is drawn twice is also compared with itself."""
        answers, squares = weights @ groups["answers"], np.square(weights)
        same = squares @ (groups["pairs"] + groups["answers"]) - answers
        means = []
        for part in np.array_split(weights, 1 + len(weights) // _RESAMPLES_PER_CHUNK):
            weight = part[:, self.left] * part[:, self.right]
            total = weight.sum(axis=1)
            means.append(np.where(total > 0, weight @ self.distance, np.nan) / np.where(total > 0, total, 1.0))
        return _mix(answers, squares @ groups["within"], same, np.concatenate(means))


def _mix(answers: Array, within: Array, pairs: Array, mean: Floats) -> Floats:
    """Return the mean distance of all pairs, from the sum within tasks and the mean between tasks."""
    enough = answers > 1
    everything = np.where(enough, answers * (answers - 1), 1.0)
    between = everything - pairs
    distance = within + np.where(between > 0.5, between * mean, 0.0)
    return np.where(enough, distance / everything, np.nan)


def compare_pairs(run: MemoryRun, n_paired: float, number: Callable[[Array], Places]) -> PairedDistances:
    """Compare answers to different tasks, for all pairs or a sample; ``n_paired`` answers are pairable."""
    complete = n_paired * (n_paired - 1) / 2 <= MAX_PAIRS
    n_answers = float(run.answer_counts.sum())
    wanted = n_answers if complete else max(MAX_PAIRS, _MIN_TASKS * n_answers / run.n_tasks)
    label, worker, task, task_hash = _draw_answers(run, int(wanted))
    complete = complete and len(label) * (len(label) - 1) / 2 <= _MAX_LISTED_PAIRS  # many distances may be unknown
    if complete:
        left, right = np.triu_indices(len(label), 1)
    else:
        left, right = np.random.default_rng(0).integers(0, max(len(label), 1), (2, _DRAWN_PAIRS if len(label) else 0))
    different = np.flatnonzero(task[left] != task[right])[:MAX_PAIRS]
    left, right = left[different], right[different]
    distance = _compare(label, left, right, run.kernels)
    if complete:  # distances of guesses may be asymmetric
        distance = (distance + _compare(label, right, left, run.kernels)) / 2
    known = np.flatnonzero(~np.isnan(distance))
    left, right, group = left[known], right[known], number(task_hash)[task]
    needed = _find_needed(worker, task)
    needed = np.sort(np.concatenate([needed[left], needed[right]], axis=1), axis=1)
    needed[:, 1:][needed[:, 1:] == needed[:, :-1]] = -1
    return PairedDistances(distance[known], group[left], group[right], needed, complete)


def _draw_answers(run: MemoryRun, number: int) -> tuple[Array, Array, Array, Array]:
    """Return label, worker and task of the pairable answers to a sample of tasks, and the task hashes."""
    blocks = sample_tasks(run, number, with_gold=False).blocks
    label, worker, sizes, task_hash = (
        np.concatenate([getattr(block, name) for block in blocks]) for name in ("label", "worker", "sizes", "task_hash")
    )
    task = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((worker, task))
    rows = order[sizes[task[order]] > 1]
    return label[rows], worker[rows], task[rows], task_hash


def _compare(label: Array, left: Places, right: Places, kernels: Kernels) -> Floats:
    """Return distances, in chunks because labels may be large; NaN if tasks cannot be compared."""
    distance = np.full(len(left), np.nan)
    with suppress(LabelError):  # raised by custom distances
        for part in np.array_split(np.arange(len(left)), 1 + len(left) // _PAIRS_PER_CHUNK):
            distance[part] = kernels.guess_distances(label[left[part]], label[right[part]])
    return distance


def _find_needed(worker: Places, task: Array) -> Places:
    """Return, per answer, the workers without whom it is not pairable: its own, and the other one if there are two.

    >>> _find_needed(np.array([0, 1, 0, 1, 2]), np.array([0, 0, 1, 1, 1])).tolist()
    [[0, 1], [1, 0], [0, -1], [1, -1], [2, -1]]
    """
    sizes = np.bincount(task)
    first = (np.cumsum(sizes) - sizes)[task]
    other = 2 * first + 1 - np.arange(len(task))
    pair = sizes[task] == 2
    return np.stack([worker, np.where(pair, worker[np.where(pair, other, 0)], -1)], axis=1)
