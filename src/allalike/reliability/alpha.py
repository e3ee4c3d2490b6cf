"""Krippendorff's alpha for any label type with a distance, and the effect of each worker on it.

    alpha = 1 - D_o / D_e

compares the observed disagreement D_o within tasks with the expected disagreement D_e, the mean distance between two
answers to any tasks. It is 1 if all answers to each task are equal, 0 if answers to the same task are no closer than
answers to any two tasks, and negative if they are farther apart (Krippendorff: Content Analysis. 1980; Hayes,
Krippendorff: Answering the call for a standard reliability measure for coding data. 2007).

An answer is pairable if its task has another one. With n_u answers to task u and the mean distance p_u of its pairs,

    D_o = sum_u n_u p_u / sum_u n_u,    over the tasks with two or more answers.

**Squared distances** need no pairs for D_e. If labels are vectors f and their distance is |f - g|^2, or half of it, D_e
follows from the number n of answers, the sum q of squared lengths and the sum t of vectors:

    D_e = factor (q/n - |t/n|^2) n/(n - 1).

Numbers and vectors are used directly (factor 2), relative to their mean to preserve precision. Levels have coordinates
(factor 2). A class is a one-hot vector (factor 1). Only the 64 most frequent classes have a coordinate. Answers with
other classes are treated as if all were different, and the factor corrects for this.

**Other distances** compare pairs of answers to different tasks: all pairs if there are at most 20,000, otherwise a
random sample of 20,000. With the sum S of the distances within tasks, and the mean b of M pairs between tasks,

    D_e = (S + M b) / (n (n - 1)).

The reported standard error is that of b. If labels of different tasks cannot be compared, D_e is unknown (NaN).

**Alpha without a worker** is computed by subtraction, because D_o and D_e are functions of sums over tasks. A task
whose distances have the sum S_u loses one answer, whose distances have the sum d:

    p_u = S_u / (n_u (n_u - 1))    becomes    (S_u - 2 d) / ((n_u - 1)(n_u - 2)).

If a task has two answers, both are removed, because a single answer is not pairable. Pairs with unknown distance are
ignored, and a task without a known distance is not pairable.

**The confidence interval** comes from a bootstrap over tasks with 1,000 resamples (Efron: Bootstrap methods: another
look at the jackknife. 1979). Beyond 1,000 tasks, tasks form 1,000 groups by a hash of their ids, and groups are
resampled; the interval then has an error of 2 %. Seed and order are fixed, so every engine gives the same interval.
With few tasks it is too narrow, because rare disagreements may be missing from the data.

Alpha is unknown (NaN) if all answers are equal, or if no task has two answers. It describes the crowd as a whole: a few
bad workers among many good ones hardly change it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike._core.columns.hashes import mix
from allalike.distances.euclidean import check_digits
from allalike.domains import Kernels
from allalike.engines.memory import MemoryRun
from allalike.engines.sample import sample_tasks
from allalike.errors import LabelError, UnsupportedError

Places = npt.NDArray[np.intp]

MAX_GROUPS = RESAMPLES = 1000
MAX_COORDINATES = 64
MAX_PAIRS = 20_000
_MAX_LISTED_PAIRS = 100 * MAX_PAIRS
_DRAWN_PAIRS = 4 * MAX_PAIRS  # before pairs within a task are excluded
_MIN_TASKS = 100
_PER_CHUNK = 100  # resamples
_PAIRS_PER_CHUNK = 2000
_ROUNDING = 1e-13  # relative difference below which numbers are equal
_MAX_UNKNOWN = 0.05  # largest share of undefined resamples for an interval

# Columns of sums over tasks: pairable answers, n_u p_u, ordered pairs and the sum of their distances. Label totals add
# the sum of squared lengths and of each coordinate.
ANSWERS, OBSERVED, PAIRS, WITHIN, LENGTHS = range(5)


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha and its components; NaN if unknown."""

    value: float
    low: float
    high: float
    observed: float
    expected: float
    error: float
    source: str
    answers: int
    tasks: int
    distance: float
    without: Floats


def compute_alpha(run: MemoryRun, label_counts: Floats | None = None) -> Alpha:
    """Compute Krippendorff's alpha; ``label_counts`` are the numbers of pairable answers per class.

    >>> import allalike
    >>> labels = {"ada": [1, 2, 3, 3, 2, 1], "bob": [1, 2, 3, 3, 2, 2], "eve": [2, 3, 3, 3, 2, 3]}
    >>> rows = [(worker, task, float(x)) for worker, numbers in labels.items() for task, x in enumerate(numbers)]
    >>> alpha = compute_alpha(allalike.Memory().load(allalike.read(rows, domain="real")))
    >>> round(alpha.value, 3), alpha.without.round(3), alpha.source
    (0.509, array([0.441, 0.175, 0.867]), 'label totals')
    """
    if run.worker_task is not None:
        raise UnsupportedError(
            f"Agreement needs one crowd, but these answers are {run.n_tasks:,} problems, each with its own workers."
            " Remove per_task()."
        )
    paired = pick_pairable(run.blocks, run.kernels)
    n_groups, number = group_tasks(paired.task_hash, run.n_tasks)
    expected = find_vectors(run, paired, label_counts) or compare_pairs(run, float(paired.size.sum()), number)
    groups = _sum_groups(paired, number(paired.task_hash), n_groups, expected)
    total = groups.sum(axis=0)
    left = total - _sum_lost(paired, len(run.workers), expected)
    if run.domain.power == 2:
        check_digits(total[OBSERVED, None])
    n, n_tasks = float(total[ANSWERS]), len(paired.size)
    survey = run.domain.record is not None and run.domain.record.one  # its scales have different expected disagreement
    disagreement = np.asarray(np.nan) if survey else expected.compute(total)
    low, high = np.nan, np.nan
    if n_tasks > 1 and not survey:
        weights = draw_weights(n_groups)
        low, high = compute_interval(_divide(weights @ groups, expected.compute_resampled(groups, weights)))
    return Alpha(
        value=float(_divide(total, disagreement)),
        low=low,
        high=high,
        observed=float(total[OBSERVED]) / n if n else np.nan,
        expected=float(disagreement),
        error=expected.error,
        source=expected.source,
        answers=int(n),
        tasks=n_tasks,
        distance=float(paired.mean.mean()) if n else np.nan,
        without=_divide(left, expected.compute_without(left)),
    )


def _divide(sums: Floats, expected: Floats) -> Floats:
    """Return 1 - D_o/D_e; NaN if all answers are equal or none is pairable."""
    known = (sums[..., ANSWERS] > 0.5) & (expected > 0)
    observed = np.where(known, sums[..., OBSERVED], np.nan) / np.where(known, sums[..., ANSWERS], 1.0)
    return np.asarray(1 - observed / np.where(known, expected, 1.0))


# Observed disagreement.


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


def _sum_groups(paired: Pairable, group: Places, n_groups: int, expected: LabelTotals | PairedDistances) -> Floats:
    """Return sums per group of tasks."""
    size, mean = paired.size, paired.mean
    values = size, size * mean, size * (size - 1), size * (size - 1) * mean
    sums = [sum_by(group, value, n_groups) for value in values]
    return np.column_stack([*sums, expected.add(group[paired.task], n_groups, np.arange(len(paired.task)))])


def _sum_lost(paired: Pairable, n_workers: int, expected: LabelTotals | PairedDistances) -> Floats:
    """Sum the losses without each worker: the worker's answers, and those that are then not pairable."""
    task, worker, row = paired.task, paired.worker, np.arange(len(paired.task))
    size, total, known, mean = (each[task] for each in (paired.size, paired.total, paired.known, paired.mean))
    before, stays = size * mean, known > 2 * paired.peers
    factor = np.divide(size - 1, known - 2 * paired.peers, out=np.zeros(len(size)), where=stays)
    observed = before - total * factor + 2 * factor * paired.distance
    others = np.where(stays, size - 2, 0.0)
    pairs, within = (size - 1) * (size - others), (size - 1) * before - others * (before - observed)
    sums = [sum_by(worker, value, n_workers) for value in (np.where(stays, 1.0, size), observed, pairs, within)]
    last = row[~stays]  # each worker of such a task removes all its answers
    sizes = size[last].astype(np.intp)
    first = np.searchsorted(task, task[last]) - (np.cumsum(sizes) - sizes)
    place = np.concatenate([worker[stays], np.repeat(worker[last], sizes)])
    row = np.concatenate([row[stays], np.arange(sizes.sum()) + np.repeat(first, sizes)])
    return np.column_stack([*sums, expected.add(place, n_workers, row)])


# Expected disagreement.


@dataclass(frozen=True)
class LabelTotals:
    """Expected disagreement from sums of label vectors: squared length and coordinates, per answer or per code."""

    vectors: Floats
    factor: float
    code: Places | None = None

    error = 0.0
    source = "label totals"

    @classmethod
    def of(
        cls, vectors: Floats, factor: float, code: Places | None = None, lengths: Floats | None = None
    ) -> LabelTotals:
        """Add the squared lengths to vectors."""
        lengths = np.einsum("ij,ij->i", vectors, vectors) if lengths is None else lengths
        return cls(np.column_stack([lengths, vectors]), factor, code)

    def add(self, place: Places, size: int, row: Places) -> Floats:
        """Sum the vectors of these answers by place."""
        if self.code is None:
            return np.column_stack([sum_by(place, coordinate[row], size) for coordinate in self.vectors.T])
        n = len(self.vectors)
        counts = np.bincount(place * n + self.code[row], minlength=size * n).reshape(size, n)
        return np.asarray(counts @ self.vectors)

    def compute(self, sums: Floats) -> Floats:
        """Compute D_e for each row of sums; NaN for fewer than two answers."""
        enough = sums[..., ANSWERS] > 1
        n = np.where(enough, sums[..., ANSWERS], 2.0)
        length, mean = sums[..., LENGTHS] / n, sums[..., LENGTHS + 1 :] / n[..., None]
        spread = length - np.einsum("...i,...i->...", mean, mean)
        spread = np.where(spread <= _ROUNDING * length, 0.0, spread)
        return np.where(enough, self.factor * spread * (n / (n - 1)), np.nan)

    def compute_without(self, left: Floats) -> Floats:
        """Compute D_e without each worker, from the sums that are left."""
        return self.compute(left)

    def compute_resampled(self, groups: Floats, weights: Floats) -> Floats:
        """Compute D_e in each bootstrap sample of groups of tasks."""
        return self.compute(weights @ groups)


def find_vectors(run: MemoryRun, paired: Pairable, label_counts: Floats | None) -> LabelTotals | None:
    """Return D_e from sums of label vectors, if labels have vectors; ``label_counts`` are those of classes."""
    coordinates, noise = run.encoding.coordinates, run.encoding.noise
    has_codes = label_counts is not None or coordinates is not None
    if not has_codes and (noise.weighting != "inverse" or not noise.estimates_fault):  # variances that add up
        return None
    if coordinates is not None and len(coordinates) > MAX_COORDINATES:
        return None
    parts = zip(run.blocks, paired.rows, strict=True)
    label = np.concatenate([run.kernels.restore_answers(block, rows) for block, rows in parts])
    if label_counts is not None:
        column, factor = _choose_classes(label_counts)
        kept = int(column.max())
        return LabelTotals.of(np.eye(kept + 1, kept), factor, column[label], np.ones(kept + 1))
    if coordinates is not None:
        return LabelTotals.of(coordinates, 2.0, label)
    size = run.blocks[0].label[:1].size  # without a group id at the beginning, which is not compared
    vectors = label.reshape(len(label), int(np.prod(label.shape[1:])))[:, -size:].astype(np.float64)
    return LabelTotals.of(vectors - vectors.mean(axis=0) if len(vectors) else vectors, 2.0)


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

    def add(self, place: Places, size: int, row: Places) -> Floats:
        """Return no sums, because pairs need none."""
        return np.empty((size, 0))

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

    def compute(self, sums: Floats) -> Floats:
        """Compute D_e."""
        return _mix(sums, np.asarray(self.distance.mean() if len(self.distance) else np.nan))

    def compute_without(self, left: Floats) -> Floats:
        """Compute D_e without each worker, from the sums that are left."""
        pair, place = np.nonzero(self.needed >= 0)
        worker = self.needed[pair, place]
        count = len(self.distance) - np.bincount(worker, minlength=len(left))
        distance = self.distance.sum() - np.bincount(worker, self.distance[pair], len(left))
        return _mix(left, np.where(count > 0, distance, np.nan) / np.maximum(count, 1))

    def compute_resampled(self, groups: Floats, weights: Floats) -> Floats:
        """Compute D_e in each bootstrap sample; a task that is drawn twice is also compared with itself."""
        drawn, squares, means = weights @ groups, np.square(weights), []
        drawn[:, WITHIN] = squares @ groups[:, WITHIN]
        drawn[:, PAIRS] = squares @ (groups[:, PAIRS] + groups[:, ANSWERS]) - drawn[:, ANSWERS]
        for part in np.array_split(weights, 1 + len(weights) // _PER_CHUNK):
            weight = part[:, self.left] * part[:, self.right]
            total = weight.sum(axis=1)
            means.append(np.where(total > 0, weight @ self.distance, np.nan) / np.where(total > 0, total, 1.0))
        return _mix(drawn, np.concatenate(means))


def _mix(sums: Floats, mean: Floats) -> Floats:
    """Return the mean distance of all pairs, from the sum within tasks and the mean between tasks."""
    answers = sums[..., ANSWERS]
    enough = answers > 1
    everything = np.where(enough, answers * (answers - 1), 1.0)
    between = everything - sums[..., PAIRS]
    distance = sums[..., WITHIN] + np.where(between > 0.5, between * mean, 0.0)
    return np.where(enough, distance / everything, np.nan)


def compare_pairs(run: MemoryRun, n_paired: float, number: Callable[[Array], Places]) -> PairedDistances:
    """Compare answers to different tasks, for all pairs or a sample; ``n_paired`` answers are pairable."""
    complete = n_paired * (n_paired - 1) / 2 <= MAX_PAIRS
    n_answers = float(run.answer_counts.sum())
    wanted = n_answers if complete else max(MAX_PAIRS, _MIN_TASKS * n_answers / run.n_tasks)
    blocks = sample_tasks(run, int(wanted), with_gold=False).blocks
    label, worker, sizes, task_hash = (
        np.concatenate([getattr(block, name) for block in blocks]) for name in ("label", "worker", "sizes", "task_hash")
    )
    task = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((worker, task))
    rows = order[sizes[task[order]] > 1]
    label, worker, task = label[rows], worker[rows], task[rows]
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
    pair = sizes[task] == 2
    other = np.where(pair, 2 * first + 1 - np.arange(len(task)), 0)
    return np.stack([worker, np.where(pair, worker[other], -1)], axis=1)


# Bootstrap.


def group_tasks(paired: npt.NDArray[np.uint64], n_tasks: int) -> tuple[int, Callable[[npt.NDArray[np.uint64]], Places]]:
    """Return the number of bootstrap groups, and a function from task hashes to groups; one per task if there are few.

    >>> group_tasks(np.array([9, 5], np.uint64), 3)[1](np.array([9, 5, 7], np.uint64))
    array([1, 0, 1])
    """
    if n_tasks > MAX_GROUPS:
        return MAX_GROUPS, lambda hashes: (mix(hashes) % np.uint64(MAX_GROUPS)).astype(np.intp)
    known = np.unique(paired)
    last = max(len(known) - 1, 0)
    return last + 1, lambda hashes: np.minimum(np.searchsorted(known, hashes), last).astype(np.intp)


def draw_weights(n_groups: int) -> Floats:
    """Return the number of draws of each group (column) in each resample (row)."""
    drawn = np.random.default_rng(0).integers(0, n_groups, (RESAMPLES, n_groups), np.int32)
    drawn += np.arange(RESAMPLES, dtype=np.int32)[:, None] * n_groups
    counts = np.bincount(drawn.ravel(), minlength=RESAMPLES * n_groups)
    return counts.reshape(RESAMPLES, n_groups).astype(np.float64)


def compute_interval(values: Floats) -> tuple[float, float]:
    """Return the 95 % interval of the resampled values; NaN if too many are unknown."""
    known = values[~np.isnan(values)]
    if not len(known) or len(known) < (1 - _MAX_UNKNOWN) * len(values):
        return np.nan, np.nan
    low, high = np.quantile(known, (0.025, 0.975)).tolist()
    return low, high
