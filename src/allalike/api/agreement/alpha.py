"""Agreement: Krippendorff's alpha, for any kind of label that has a distance, and what each worker does to it.

    alpha = 1 - D_o / D_e

compares the distance of answers to the same task (D_o, `allalike.api.agreement.alpha`) with that of answers to
any tasks (D_e, from `allalike.api.agreement.label_pairs` or `allalike.api.agreement.label_pairs`). It is 1 if all who
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
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike.api.agreement.label_pairs import (
    Features,
    LabelTotals,
    draw_pairs,
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


# Comparisons: how far the answers to each task are apart, and what becomes of that when a worker leaves.
#
# Krippendorff calls an answer pairable if somebody else answered its task. With n_u answers to task u and the mean
# distance p_u of its pairs, every one of its answers counts once:
#
#     D_o = sum_u n_u p_u / sum_u n_u,    over the tasks with two or more answers.
#
# A task contributes to such sums alone, so they are added over blocks on any engine. If a worker leaves, each of her
# tasks loses one answer and its distances, both of which are known from the sum S_u of its distances and hers, d:
#
#     p_u = S_u / (n_u (n_u - 1))    becomes    (S_u - 2 d) / ((n_u - 1)(n_u - 2)),
#
# and the last two answers to a task go together, for none of them is pairable alone. Pairs whose distance is unknown do
# not count in the mean, and a task without a known one is not pairable.


Flags = npt.NDArray[np.bool_]


class Compared(NamedTuple):
    """The distances within tasks."""

    distance: Floats
    peers: Floats
    total: Floats
    known: Floats
    paired: Flags
    mean: Floats


def compare_tasks(block: Block, kernels: Kernels) -> Compared:
    """Compare the answers to each task with each other; tasks that do not count are not paired.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "x")]
    >>> run = allalike.Memory().load(allalike.read(rows))
    >>> found = compare_tasks(run.blocks[0], run.kernels)
    >>> found.paired, found.mean.round(2)
    (array([ True, False]), array([0.67, 0.  ]))
    """
    distance, peers = kernels.peer_distances(block, np.ones(block.n_workers))
    total, known = block.per_task(distance), block.per_task(peers)
    paired = known > 0 if block.live is None else (known > 0) & block.live
    mean = np.where(paired, total, 0.0) / np.where(paired, known, 1.0)
    return Compared(distance, peers, total, known, paired, mean)


def find_paired(block: Block, *, kernels: Kernels) -> dict[str, Array]:
    """Name the tasks of a block by their hashes, and tell which of them are paired."""
    return {"hash": block.task_hash, "paired": compare_tasks(block, kernels).paired}


class Leaving(NamedTuple):
    """What goes if the worker of an answer leaves, for all pairable answers."""

    rows: npt.NDArray[np.intp] | slice
    answers: Floats
    observed: Floats
    before: Floats
    stays: Flags


def find_leaving(block: Block, kernels: Kernels) -> Leaving:
    """Find what goes with each answer.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "x"), ("bob", 2, "y")]
    >>> run = allalike.Memory().load(allalike.read(rows))
    >>> found = find_leaving(run.blocks[0], run.kernels)
    >>> found.answers, found.observed
    (array([1., 1., 1., 2., 2.]), array([0., 0., 2., 2., 2.]))
    """
    found = compare_tasks(block, kernels)
    rows = slice(None) if found.paired.all() else np.flatnonzero(block.to_answers(found.paired))
    size = block.sizes.astype(np.float64)
    left, total, known, before = size - 1, found.total, found.known, size * found.mean
    peers = left
    unknown = bool((known < size * left).any())
    if unknown:  # what goes is not the same for all answers to a task, but for their distances
        left, total, known, before = (block.to_answers(each) for each in (left, total, known, before))
        peers = found.peers
    stays = known > 2 * peers
    factor = np.divide(left, known - 2 * peers, out=np.zeros(len(left)), where=stays)
    answers, base, slope = np.where(stays, 1.0, left + 1), before - total * factor, 2 * factor
    if not unknown:
        stays, answers, base, slope = (block.to_answers(each) for each in (stays, answers, base, slope))
    observed = base + slope * found.distance
    return Leaving(rows, answers[rows], observed[rows], size * found.mean, stays[rows])


def count_within(block: Block, found: Leaving) -> dict[str, Floats]:
    """Return by how much less the distances of answers to the same task sum up to, and how many such pairs there are.

    >>> from allalike._core.blocks.block import Block
    >>> two, three = np.full(2, 2.0), np.full(2, 3.0)
    >>> count_within(Block.of([[0], [1]]), Leaving(slice(None), two, three, three[:1], np.array([False, False])))
    {'within': array([3., 3.]), 'pairs': array([2., 2.])}
    """
    left = block.to_answers(block.sizes - 1.0)[found.rows]
    others = np.where(found.stays, left - 1, 0.0)
    before = block.to_answers(found.before)[found.rows]
    within = left * before - others * (before - found.observed)
    return {"within": within, "pairs": left * (left + 1 - others)}


def go_together(block: Block, found: Leaving) -> tuple[Array, Array | slice]:
    """Return pairs of a worker and an answer that goes with her: her own, and those that are not pairable without it.

    >>> from allalike._core.blocks.block import Block
    >>> block = Block.of([[0, 0], [1, 1]])
    >>> go_together(block, Leaving(slice(None), *np.ones((3, 4)), np.array([True, True, False, False])))
    (array([0, 1, 0, 0, 1, 1]), array([0, 1, 2, 3, 2, 3]))
    """
    if found.stays.all():
        return block.worker[found.rows], found.rows
    rows = np.arange(len(block.worker))[found.rows]
    own, last = rows[found.stays], rows[~found.stays]
    task = np.searchsorted(block.starts, last, side="right") - 1
    sizes = block.sizes[task]
    others = np.arange(sizes.sum()) + np.repeat(block.starts[task] - (np.cumsum(sizes) - sizes), sizes)
    return np.concatenate([block.worker[own], np.repeat(block.worker[last], sizes)]), np.concatenate([own, others])


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha, and what it is made of; NaN is what cannot be known."""

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
