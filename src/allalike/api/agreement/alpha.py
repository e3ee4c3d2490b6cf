"""Agreement: Krippendorff's alpha, for any kind of label that has a distance, and what each worker does to it.

    alpha = 1 - D_o / D_e

compares the distance of answers to the same task (D_o, `allalike.api.agreement.comparisons`) with that of answers to
any tasks (D_e, from `allalike.api.agreement.label_totals` or `allalike.api.agreement.label_pairs`). It is 1 if all who
answer a task say the same, 0 if answers to the same task are no closer than answers to any, and negative if they are
farther apart. Tasks with one answer say nothing about agreement, and do not count. Krippendorff: Content Analysis.
1980; with the definitions of Hayes, Krippendorff: Answering the call for a standard reliability measure for coding
data. Communication Methods and Measures 2007.

**Limits** of 95 % come from a bootstrap over tasks (`allalike.api.agreement.resamples`), in which both D_o and D_e are
those of the tasks drawn. **Without a worker** alpha is what it would be had she never answered, found from sums,
exactly.

It is unknown (NaN) where all answers are the same, for then nobody knows whether workers could tell tasks apart, and
where no task has two answers. It is about a crowd as a whole: a few bad workers among many good ones hardly show.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike.api.agreement.comparisons import compare_tasks, count_within, find_leaving, find_paired, go_together
from allalike.api.agreement.label_pairs import draw_pairs
from allalike.api.agreement.label_totals import (
    Features,
    LabelTotals,
    find_class_totals,
    find_level_totals,
    find_number_totals,
)
from allalike.api.agreement.resamples import MAX_GROUPS, TaskGroups, draw_weights, find_limits
from allalike.distances.euclidean import check_digits
from allalike.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike.domains import Kernels
    from allalike.engines import Run

__all__ = ["Alpha", "find_mean_distances", "measure_alpha"]


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha, and what it is made of; NaN is what cannot be known.

    Parameters
    ----------
    value, low, high
        Alpha and its limits of 95 %.
    observed, expected, error
        The mean distance of answers to the same task, that of answers to any tasks, and the standard error of the
        latter where it is known from a sample of pairs.
    source
        What the expected distance is known from.
    answers, tasks
        How many answers are pairable, and how many tasks they are about.
    distance
        The mean over these tasks of the mean distance of two answers.
    without
        Of each worker: alpha without her.
    """

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


def measure_alpha(run: Run, label_counts: Floats | None = None) -> Alpha:
    """Measure how much the answers of a crowd agree; for classes, given how many pairable answers each has.

    >>> import allalike
    >>> said = {"ada": [1, 2, 3, 3, 2, 1], "bob": [1, 2, 3, 3, 2, 2], "eve": [2, 3, 3, 3, 2, 3]}
    >>> rows = [(worker, task, float(x)) for worker, numbers in said.items() for task, x in enumerate(numbers)]
    >>> found = measure_alpha(allalike.Memory().load(allalike.read(rows, domain="real")))
    >>> round(found.value, 3), found.without.round(3), found.source
    (0.509, array([0.441, 0.175, 0.867]), 'label totals')
    """
    if len(run.problems.sizes) > 1:
        raise UnsupportedError(
            f"Agreement is that of one crowd, but these answers are {len(run.problems.sizes):,} problems, each with"
            " workers of its own. Leave per_task() out."
        )
    groups, totals = _find_groups(run), _find_totals(run, label_counts)
    features = None if totals is None else totals.features
    by_group = run.total(partial(_group_sums, kernels=run.kernels, groups=groups, features=features))
    leaving = run.sum(partial(_leaving_sums, kernels=run.kernels, features=features))
    total = {name: np.asarray(sums.sum(axis=0)) for name, sums in by_group.items()}
    if run.domain.power == 2:
        check_digits(total["observed"][None])
    expected = totals or draw_pairs(run, float(total["answers"]), groups)
    weights = draw_weights(groups.count)
    drawn = {name: weights @ by_group[name] for name in ("answers", "observed")}
    n, distance = float(total["answers"]), expected.expect(total)
    low, high = find_limits(_alpha(drawn, expected.expect_resampled(by_group, weights)))
    enough = total["tasks"] > 1
    if run.domain.record is not None and run.domain.record.one:  # what some scales expect says nothing of the others
        distance, enough = np.full_like(distance, np.nan), np.zeros_like(enough)
    return Alpha(
        value=float(_alpha(total, distance)),
        low=low if enough else np.nan,
        high=high if enough else np.nan,
        observed=float(total["observed"]) / n if n else np.nan,
        expected=float(distance),
        error=expected.error,
        source=expected.source,
        answers=int(n),
        tasks=int(total["tasks"]),
        distance=float(total["mean"] / total["tasks"]) if n else np.nan,
        without=_alpha(
            {name: total[name] - leaving[name] for name in ("answers", "observed")},
            expected.expect_without(total, leaving),
        ),
    )


def _alpha(sums: Mapping[str, Array], expected: Floats) -> Floats:
    """Return 1 - D_o/D_e, and NaN where all answers are the same or none is pairable."""
    known = (sums["answers"] > 0.5) & (expected > 0)
    observed = np.where(known, sums["observed"], np.nan) / np.where(known, sums["answers"], 1.0)
    return np.asarray(1 - observed / np.where(known, expected, 1.0))


def _find_groups(run: Run) -> TaskGroups:
    if run.n_tasks > MAX_GROUPS:
        return TaskGroups(MAX_GROUPS)
    found = run.collect(partial(find_paired, kernels=run.kernels))
    return TaskGroups.of_tasks(found["hash"][found["paired"]])


def _find_totals(run: Run, label_counts: Floats | None) -> LabelTotals | None:
    """Return the expected distance from label totals, where the distance of labels comes from their sums."""
    if label_counts is not None:
        return find_class_totals(label_counts)
    coordinates = run.encoding.coordinates
    if coordinates is not None:
        return find_level_totals(coordinates)
    noise = run.encoding.noise  # squares are variances that add up
    return find_number_totals(run) if noise.weighting == "inverse" and noise.estimates_fault else None


def _group_sums(block: Block, *, kernels: Kernels, groups: TaskGroups, features: Features | None) -> dict[str, Floats]:
    found = compare_tasks(block, kernels)
    group, counts = groups.number(block.task_hash), found.paired.astype(np.float64)
    size = block.sizes * counts
    each = {"answers": size, "observed": size * found.mean, "tasks": counts, "mean": found.mean}
    if features is None:
        pairs = size * np.maximum(size - 1, 0.0)
        each |= {"pairs": pairs, "within": pairs * found.mean}
    sums = {name: sum_by(group, values, groups.count) for name, values in each.items()}
    if features is not None:
        sums |= features.add_tasks(block, kernels, group, found.paired, groups.count)
    return sums


def _leaving_sums(block: Block, *, kernels: Kernels, features: Features | None) -> dict[str, Floats]:
    found = find_leaving(block, kernels)
    worker = block.worker[found.rows]
    each = {"answers": found.answers, "observed": found.observed}
    if features is not None:
        sums = features.add(block, kernels, *go_together(block, found), block.n_workers)
    else:
        sums = {}
        each |= count_within(block, found)
    return sums | {name: sum_by(worker, values, block.n_workers) for name, values in each.items()}


def find_mean_distances(run: Run) -> Floats:
    """Return the mean distance of each two workers on their common tasks, NaN where they have none.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "x"), ("bob", 2, "y"), ("eve", 3, "y")]
    >>> find_mean_distances(allalike.Memory().load(allalike.read(rows)))
    array([[0. , 0.5, nan],
           [0.5, 0. , nan],
           [nan, nan, 0. ]])
    """
    sums = run.pairs(run.kernels.pair_sums)
    distance, common = (np.asarray(sums[name], np.float64) for name in ("distance", "common"))
    mean = np.where(common > 0, distance, np.nan) / np.maximum(common, 1.0)
    np.fill_diagonal(mean, 0.0)
    return np.asarray(mean)
