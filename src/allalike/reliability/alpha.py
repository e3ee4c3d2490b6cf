"""Krippendorff's alpha for any label type with a distance, and the effect of each worker on it.

    alpha = 1 - D_o / D_e

compares the observed disagreement D_o within tasks with the expected disagreement D_e between any tasks
(`allalike.reliability.expected`). It is 1 if all answers to each task are equal, 0 if answers to the same task are no
closer than answers to any two tasks, and negative if they are farther apart (Krippendorff: Content Analysis. 1980;
Hayes, Krippendorff: Answering the call for a standard reliability measure for coding data. 2007).

An answer is pairable if its task has another one. With n_u answers to task u and the mean distance p_u of its pairs,

    D_o = sum_u n_u p_u / sum_u n_u,    over the tasks with two or more answers.

**Alpha without a worker** is computed by subtraction. A task whose distances have the sum S_u loses one answer, whose
distances have the sum d:

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

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.columns.hashes import mix
from allalike.distances.euclidean import check_digits
from allalike.errors import UnsupportedError
from allalike.reliability.expected import compare_pairs, find_vectors, pick_pairable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike.engines.memory import MemoryRun
    from allalike.reliability.expected import LabelTotals, Pairable, PairedDistances, Places

MAX_GROUPS = RESAMPLES = 1000
_MAX_UNKNOWN = 0.05  # largest share of undefined resamples for an interval


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
    by_group = _sum_groups(paired, number(paired.task_hash), n_groups, expected)
    lost = _sum_lost(paired, len(run.workers), expected)
    total = {name: np.asarray(sums.sum(axis=0)) for name, sums in by_group.items()}
    if run.domain.power == 2:
        check_digits(total["observed"][None])
    n, n_tasks = float(total["answers"]), len(paired.size)
    survey = run.domain.record is not None and run.domain.record.one  # its scales have different expected disagreement
    disagreement = np.asarray(np.nan) if survey else expected.compute(total)
    low, high = np.nan, np.nan
    if n_tasks > 1 and not survey:
        weights = draw_weights(n_groups)
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
        distance=float(paired.mean.mean()) if n else np.nan,
        without=_divide(left, expected.compute_without(total, lost)),
    )


def _divide(sums: Mapping[str, Array], expected: Floats) -> Floats:
    """Return 1 - D_o/D_e; NaN if all answers are equal or none is pairable."""
    known = (sums["answers"] > 0.5) & (expected > 0)
    observed = np.where(known, sums["observed"], np.nan) / np.where(known, sums["answers"], 1.0)
    return np.asarray(1 - observed / np.where(known, expected, 1.0))


def _sum_groups(
    paired: Pairable, group: Places, n_groups: int, expected: LabelTotals | PairedDistances
) -> dict[str, Floats]:
    """Return sums per group of tasks."""
    size, mean = paired.size, paired.mean
    values = {"answers": size, "observed": size * mean, "pairs": size * (size - 1), "within": size * (size - 1) * mean}
    sums = {name: sum_by(group, value, n_groups) for name, value in values.items()}
    return sums | expected.add(group[paired.task], n_groups)


def _sum_lost(paired: Pairable, n_workers: int, expected: LabelTotals | PairedDistances) -> dict[str, Floats]:
    """Sum the losses without each worker: the worker's answers, and those that are then not pairable."""
    task, place = paired.task, paired.worker
    size, total, known, mean = (each[task] for each in (paired.size, paired.total, paired.known, paired.mean))
    before, stays = size * mean, known > 2 * paired.peers
    factor = np.divide(size - 1, known - 2 * paired.peers, out=np.zeros(len(size)), where=stays)
    observed = before - total * factor + 2 * factor * paired.distance
    others = np.where(stays, size - 2, 0.0)
    values = {
        "answers": np.where(stays, 1.0, size),
        "observed": observed,
        "pairs": (size - 1) * (size - others),
        "within": (size - 1) * before - others * (before - observed),
    }
    sums = {name: sum_by(place, value, n_workers) for name, value in values.items()}
    row = np.arange(len(task))
    if not stays.all():  # each worker of such a task removes all its answers
        last = row[~stays]
        sizes = size[last].astype(np.intp)
        first = np.searchsorted(task, task[last])
        together = np.arange(sizes.sum()) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
        place = np.concatenate([place[stays], np.repeat(place[last], sizes)])
        row = np.concatenate([row[stays], together])
    return sums | expected.add(place, n_workers, row)


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
