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

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike.engines.sample import sample_tasks
from allalike.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike.api.agreement.resamples import TaskGroups
    from allalike.domains import Kernels
    from allalike.engines import Run

    Places = npt.NDArray[np.intp]

__all__ = ["LabelPairs", "draw_pairs"]

MAX_PAIRS = 20_000
_MOST_LISTED = 100 * MAX_PAIRS
_DRAWS = 4 * MAX_PAIRS  # of which those within a task are dropped
_MIN_TASKS = 100
_PAIRS_PER_CHUNK = 2000
_RESAMPLES_PER_CHUNK = 100


@dataclass(frozen=True)
class LabelPairs:
    """The expected distance from pairs of answers to different tasks.

    Parameters
    ----------
    distance
        Of each pair: its distance, which is known.
    left, right
        Of each pair: the groups of its tasks.
    leaving
        Of each pair: the workers without whom it is not there, at most four, and -1 for nobody.
    complete
        Whether these are all pairs.
    """

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
