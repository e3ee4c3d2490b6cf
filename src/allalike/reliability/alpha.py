"""Krippendorff's alpha, for any label type that has a distance, and the effect of each worker on it.

    alpha = 1 - D_o / D_e

compares the observed disagreement D_o within tasks with the expected disagreement D_e between any tasks
(`allalike.reliability.expected`). It is 1 if all answers to each task are the same, 0 if answers to the same task are
no closer than answers to any, and negative if they are farther apart (Krippendorff: Content Analysis. 1980; Hayes,
Krippendorff: Answering the call for a standard reliability measure for coding data. 2007).

An answer is pairable if its task has another one. With n_u answers to task u and the mean distance p_u of its pairs,

    D_o = sum_u n_u p_u / sum_u n_u,    over the tasks with two or more answers.

**Without a worker** alpha is found by subtraction: each task loses an answer and its distances d, both known from the
sum S_u of the distances of the task:

    p_u = S_u / (n_u (n_u - 1))    becomes    (S_u - 2 d) / ((n_u - 1)(n_u - 2)).

The last two answers to a task leave together, for neither of them is pairable alone. Pairs whose distance is unknown do
not count, and a task without a known distance is not pairable.

Alpha is unknown (NaN) if all answers are the same, or if no task has two. It describes a crowd as a whole: a few bad
workers among many good ones hardly change it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike.distances.euclidean import check_digits
from allalike.errors import UnsupportedError
from allalike.reliability.bootstrap import TaskGroups, compute_interval, draw_weights, group_tasks
from allalike.reliability.expected import SquaredDistances, compare_pairs, find_squared_distances

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from allalike.domains import Kernels
    from allalike.engines.memory import MemoryRun


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha and what it is computed from; unknown is NaN."""

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


@dataclass(frozen=True)
class TaskDistances:
    """Distances within the pairable tasks of a block: rows of the block, and arrays per such row or per task."""

    block: Block
    rows: npt.NDArray[np.intp]
    worker: npt.NDArray[np.intp]
    task: npt.NDArray[np.intp]
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


def compare_within_tasks(block: Block, kernels: Kernels) -> TaskDistances:
    """Compare the answers to each task with each other."""
    distance, peers = kernels.peer_distances(block, np.ones(block.n_workers))
    total, known = block.per_task(distance), block.per_task(peers)
    paired = known > 0
    rows = np.flatnonzero(block.to_answers(paired))
    sizes = block.sizes[paired]
    return TaskDistances(
        block=block,
        rows=rows,
        worker=block.worker[rows] if isinstance(block.workers, slice) else block.workers[block.worker[rows]],
        task=np.repeat(np.arange(len(sizes)), sizes),
        distance=distance[rows],
        peers=peers[rows],
        task_hash=block.task_hash[paired],
        size=sizes.astype(np.float64),
        total=total[paired],
        known=known[paired],
    )


def compute_alpha(run: MemoryRun, label_counts: Floats | None = None) -> Alpha:
    """Compute Krippendorff's alpha; for classes, given how many pairable answers each has.

    >>> import allalike
    >>> labels = {"ada": [1, 2, 3, 3, 2, 1], "bob": [1, 2, 3, 3, 2, 2], "eve": [2, 3, 3, 3, 2, 3]}
    >>> rows = [(worker, task, float(x)) for worker, numbers in labels.items() for task, x in enumerate(numbers)]
    >>> alpha = compute_alpha(allalike.Memory().load(allalike.read(rows, domain="real")))
    >>> round(alpha.value, 3), alpha.without.round(3), alpha.source
    (0.509, array([0.441, 0.175, 0.867]), 'label totals')
    """
    if run.worker_task is not None:
        raise UnsupportedError(
            f"Agreement is that of one crowd, but these answers are {run.n_tasks:,} problems, each with"
            " workers of its own. Leave per_task() out."
        )
    tasks = [compare_within_tasks(block, run.kernels) for block in run.blocks]
    groups = group_tasks(np.concatenate([each.task_hash for each in tasks]), run.n_tasks)
    squared = find_squared_distances(run, label_counts)
    by_group, lost = _sum_up(tasks, groups, squared, len(run.workers))
    total = {name: np.asarray(sums.sum(axis=0)) for name, sums in by_group.items()}
    if run.domain.power == 2:
        check_digits(total["observed"][None])
    n, n_tasks = float(total["answers"]), int(total["tasks"])
    expected = squared or compare_pairs(run, n, groups)
    survey = run.domain.record is not None and run.domain.record.one  # its scales have no common expectation
    disagreement = np.asarray(np.nan) if survey else expected.compute(total)
    low, high = np.nan, np.nan
    if n_tasks > 1 and not survey:
        weights = draw_weights(groups.n_groups)
        drawn = {name: weights @ by_group[name] for name in ("answers", "observed")}
        low, high = compute_interval(_divide(drawn, expected.compute_resampled(by_group, weights)))
    left = {name: total[name] - lost[name] for name in ("answers", "observed")}
    return Alpha(
        value=float(_divide(total, disagreement)),
        low=low,
        high=high,
        observed=float(total["observed"]) / n if n else np.nan,
        expected=float(disagreement),
        error=expected.error,
        source=expected.source,
        answers=int(n),
        tasks=n_tasks,
        distance=float(total["mean"] / total["tasks"]) if n else np.nan,
        without=_divide(left, expected.compute_without(total, lost)),
    )


def _divide(sums: Mapping[str, Array], expected: Floats) -> Floats:
    """Return 1 - D_o/D_e, and NaN where all answers are the same or none is pairable."""
    known = (sums["answers"] > 0.5) & (expected > 0)
    observed = np.where(known, sums["observed"], np.nan) / np.where(known, sums["answers"], 1.0)
    return np.asarray(1 - observed / np.where(known, expected, 1.0))


def _sum_up(
    tasks: list[TaskDistances], groups: TaskGroups, squared: SquaredDistances | None, n_workers: int
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return the sums of each group of tasks, and what these sums lose without each worker."""
    by_group: dict[str, Floats] = {}
    lost: dict[str, Floats] = {}
    for each in tasks:
        for sums, more in (
            (by_group, _sum_groups(each, groups, squared)),
            (lost, _sum_lost(each, n_workers, squared)),
        ):
            for name, values in more.items():
                sums[name] = sums[name] + values if name in sums else values
    return by_group, lost


def _sum_groups(tasks: TaskDistances, groups: TaskGroups, squared: SquaredDistances | None) -> dict[str, Floats]:
    group, size, mean = groups.number(tasks.task_hash), tasks.size, tasks.mean
    values = {"answers": size, "observed": size * mean, "tasks": np.ones(len(size)), "mean": mean}
    if squared is None:
        values |= {"pairs": size * (size - 1), "within": size * (size - 1) * mean}
    sums = {name: sum_by(group, value, groups.n_groups) for name, value in values.items()}
    if squared is not None:
        sums |= squared.add_vectors(tasks.block, group[tasks.task], tasks.rows, groups.n_groups)
    return sums


def _sum_lost(tasks: TaskDistances, n_workers: int, squared: SquaredDistances | None) -> dict[str, Floats]:
    """Sum what goes with each worker: the worker's answers, and those that are not pairable without them."""
    size, total, known, before = (
        values[tasks.task] for values in (tasks.size, tasks.total, tasks.known, tasks.size * tasks.mean)
    )
    stays = known > 2 * tasks.peers
    factor = np.divide(size - 1, known - 2 * tasks.peers, out=np.zeros(len(size)), where=stays)
    observed = before - total * factor + 2 * factor * tasks.distance
    values = {"answers": np.where(stays, 1.0, size), "observed": observed}
    if squared is None:
        others = np.where(stays, size - 2, 0.0)
        values |= {"within": (size - 1) * before - others * (before - observed), "pairs": (size - 1) * (size - others)}
    sums = {name: sum_by(tasks.worker, value, n_workers) for name, value in values.items()}
    if squared is None:
        return sums
    place, row = tasks.worker, np.arange(len(tasks.rows))
    if not stays.all():  # all answers to such a task go with each of its workers
        last = row[~stays]
        sizes = size[last].astype(np.intp)
        first = np.searchsorted(tasks.task, tasks.task[last])
        others = np.arange(sizes.sum()) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
        place = np.concatenate([place[stays], np.repeat(place[last], sizes)])
        row = np.concatenate([row[stays], others])
    return sums | squared.add_vectors(tasks.block, place, tasks.rows[row], n_workers)
