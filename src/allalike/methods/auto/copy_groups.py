"""Copy groups: workers who give the same answers because one copies the other.

This module compares classes and levels; `copies.likeness` compares all other labels. Accurate workers agree because
they are right, so agreement is not evidence of copying.

**Exact copies** have at least twenty common tasks, differ on at most one in 500, and use more than one label. The
probability of their agreement must be below 1e-6 over all pairs, given the agreement with the closest other worker.

**Near copies.** Let d_ij be the share of common tasks on which i and j disagree, and u_i the median of d_ij over j.
Workers are similar if

    d_ij <= min(u_i, u_j) / 2,    and P[disagreements <= observed | probability min(u_i, u_j)] < 0.01 / pairs.

Similar pairs are joined, the closest first, if half of the pairs between their groups are similar. Joint errors then
show whether the members of a group copy.

A task is **clear** for a group if at least two members answered it and the most frequent label of all other workers
leads by a margin that is improbable by chance: lead >= 2 and lead >= 4/3 sqrt(votes). On a clear task, h members
answered, and C_l of them gave a label l that differs from this label. Then

    departs = sum_t sum_l C_l / h,        joint = sum_t sum_l C_l (C_l - 1) / (h (h - 1))

count the departures of a member, and joint errors: departures of two members with the same label (Dong and others
2009). Workers are copies if joint is at least 0.8 departs, 2 % of the clear tasks and five, and if, in addition,

- they are identical: members agree on at least 97 % of the tasks that two of them answered; or
- counting the group once predicts all other workers clearly better. An answer scores 1 if its label wins among the
  remaining answers. y_t is the score with the group counted once minus the score with each member counted, summed over
  the answers to task t. Prediction is clearly better if sum y >= 2.576 sqrt(sum y^2).

A group counts once: it is **collapsed** into one worker, with the label of most members, before any estimation. The
number of copies therefore does not change the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import (
    AnswerWeights,
    Array,
    Block,
    Floats,
    find_answer_weights,
    number_within_tasks,
    sort_within,
    sum_by,
)
from allalike._core.blocks.pairs import AnswerHashes, list_entries
from allalike.domains import Encoding, Kernels
from allalike.engines import Run
from allalike.engines.ranges import count_met, find_parts, fit_ranges, iter_ranges, number_parts
from allalike.methods.fit import CopyGroup, CopyGroups
from allalike.methods.steps.vote_matrix import count_labels

Workers = npt.NDArray[np.intp]
_MIN_COMMON = 5  # common tasks of a pair that is compared
_CLOSE = 0.5  # share of the usual disagreement
_CHANCE = 0.01  # probability that any pair of independent workers is called similar
_JOINED = 0.5  # share of the pairs between two groups that must be similar
_SUMS, _MAX_SHARE = 3, 0.5  # arrays per pair, with temporary ones, and share of the free memory
_EXACT_COMMON, _EXACT_DIFFER, _EXACT_CHANCE = 20, 0.002, 1e-6
_MOST_ONE_LABEL, _MAX_LABELS = 0.9, 50  # share of one label among the answers of exact copies, with up to 50 labels
_CLEAR_LEAD, _CLEAR_SQUARE = 2.0, 16 / 9  # in votes, and its square as a multiple of all votes
_JOINT = 0.8  # share of the departures
_OFTEN, _FEWEST = 0.02, 5.0  # joint errors: minimum share of the clear tasks, and minimum number
_IDENTICAL = 0.97
_CLEARLY = 2.576  # standard errors (p = 0.01)
_EPS = 1e-9
_MIN_COUNTED = 3  # workers to compare
_MIN_ANSWERS = 2.0  # per task, to detect joint errors
_TYPICAL_ANSWERS = 2.0  # prior answers at the crowd's error rate
_LEAST_ERROR = 0.01  # minimum distance of an error rate from 0 and 1


def find_copies(run: Run, sample: Run | None = None) -> CopyGroups | None:
    """Detect copy groups among classes or levels, by default on all answers; None if pairs do not fit in memory."""
    sample = run if sample is None else sample
    n, encoding = len(run.workers), run.encoding
    alone = np.arange(n)
    if n < _MIN_COUNTED or encoding.n_labels < 2:
        return CopyGroups.independent(n)
    pairs = _compare_pairs(sample)
    if pairs is None:
        return None
    exact = _join_exact(pairs, alone)
    collapsed = sample
    if (exact != alone).any():
        collapsed = collapse(sample, CopyGroups(exact))
        pairs = _compare_pairs(collapsed)
        assert pairs is not None
    enough = collapsed.answer_counts.sum() >= _MIN_ANSWERS * collapsed.n_tasks
    number = _find_near(collapsed, pairs)[exact] if enough else exact
    return CopyGroups(number, _describe(run, number, pairs), _find_parts(run, sample))


def _find_parts(run: Run, sample: Run) -> Workers | None:
    """Return the component of each worker: that in the sample, unless tasks outside the sample connect components."""
    parts = find_parts(sample)
    if sample is not run and parts is not None:
        crossings = run.sum(_count_crossings, parts.astype(np.float64))["crossing"]
        parts = find_parts(run) if crossings.any() else parts
    return parts


def _count_crossings(block: Block, part: Floats) -> dict[str, Floats]:
    """Count the answers of each worker to tasks that workers of another part answered."""
    own = part.take(block.worker)
    return {"crossing": block.per_worker((own != block.to_answers(own[block.starts])).astype(np.float64))}


def _describe(run: Run, number: Workers, pairs: _Pairs) -> tuple[CopyGroup, ...]:
    groups = []
    for first, joint in _count_joint_errors(run, number).items():
        members = np.flatnonzero(number == first)
        inside = np.isin(pairs.left, members) & np.isin(pairs.right, members)
        p_value = float(pairs.chance[inside].min(initial=_EXACT_CHANCE))
        fidelity = joint.joint / joint.departs if joint.departs > 0 else float("nan")
        shared = round(joint.shared), round(joint.joint)
        groups.append(CopyGroup(tuple(members.tolist()), True, *shared, fidelity, p_value))
    return tuple(groups)


# Pairs ----------------------------------------------------------------------------------------------------------------


class _Pairs(NamedTuple):
    """Pairs of close workers, and the usual disagreement and highest agreement rate of each worker.

    ``chance`` is the probability of at most this many disagreements, times the number of pairs. It is a bound for exact
    copies.
    """

    left: Workers
    right: Workers
    common: Floats
    differ: Floats
    chance: Floats
    exact: npt.NDArray[np.bool_]
    usual: Floats
    closest: Floats


def _compare_pairs(run: Run) -> _Pairs | None:
    """Compare all pairs, in ranges of workers that fit in the free memory."""
    ranges = fit_ranges(run, count_met(run), _SUMS, share=_MAX_SHARE)
    if ranges is None:
        return None
    n = len(run.workers)
    share = np.zeros(n)  # share of each worker's most frequent label
    if run.encoding.n_labels <= _MAX_LABELS:
        counts = run.sum(partial(count_labels, k=run.encoding.n_labels))["counts"]
        share = counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1.0)
    found = list(iter_ranges(run, run.kernels.pair_sums, ranges, partial(_keep_close, varied=share <= _MOST_ONE_LABEL)))
    usual, closest = (np.concatenate([part[place] for part in found]) for place in (0, 1))
    n_pairs = sum(part[2] for part in found) / 2
    left, right, common, differ, exact = map(np.concatenate, zip(*(part[3] for part in found), strict=True))
    expected = np.minimum(usual[left], usual[right])
    several = (share < 1)[left] & (share < 1)[right]  # workers with one label agree with all who use it
    kept = (left < right) & (exact | (several & (differ <= _CLOSE * expected)))
    left, right, common, differ, exact, expected = (
        column[kept] for column in (left, right, common, differ, exact, expected)
    )
    differing = np.round(differ * common)
    chance = n_pairs * _least_chance(differing, common, expected)
    rare = chance < _CHANCE
    if rare.any():  # scipy is slow to import, and rarely needed
        from scipy.special import bdtr

        chance[rare] = n_pairs * bdtr(differing[rare], common[rare].astype(np.int64), expected[rare])
    return _Pairs(left, right, common, differ, chance, exact, usual, closest)


def _least_chance(differing: Floats, common: Floats, expected: Floats) -> Floats:
    """Return a lower bound of the binomial tail probability (Ash, Information Theory, 1965, p. 115)."""
    common = np.maximum(common, 1.0)
    share = differing / common
    with np.errstate(divide="ignore", invalid="ignore"):
        differ = np.where(share > 0, share * np.log(share / expected), 0.0)
        agree = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - expected)), 0.0)
        inner = np.exp(-common * (differ + agree)) / np.sqrt(np.maximum(8 * common * share * (1 - share), 1.0))
    return np.where(differing < common * expected, inner, 0.0)


def _keep_close(
    rows: range, sums: dict[str, Any], *, varied: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats, int, tuple[Array, ...]]:
    """Return usual disagreement and highest agreement rate per worker, the number of pairs, and the close pairs."""
    row, right, common = list_entries(sums["common"])
    several = (common >= _MIN_COMMON) & (rows.start + row != right)
    row, right, common = row[several], right[several], common[several]
    distance = sums["distance"] if isinstance(sums["distance"], np.ndarray) else sums["distance"].tocsr()
    differ = np.asarray(distance[row, right]).ravel() / common if len(row) else common
    order = sort_within(row, differ, len(rows))
    ends = np.searchsorted(row[order], np.arange(len(rows) + 1))
    middle = np.append(differ[order], 0.0)[(ends[1:] + ends[:-1]) // 2]
    usual = np.where(ends[1:] > ends[:-1], middle, 0.0)
    left, often = rows.start + row, common >= _EXACT_COMMON
    exact = often & (differ <= _EXACT_DIFFER) & varied[left] & varied[right]
    closest, other = np.zeros(len(rows)), often & ~exact
    np.maximum.at(closest, row[other], ((common * (1 - differ) + 2) / (common + 2))[other])
    close = exact | (differ <= _CLOSE * usual[row])
    return usual, closest, len(row), (left[close], right[close], common[close], differ[close], exact[close])


def _join_exact(pairs: _Pairs, alone: Workers) -> Workers:
    """Return, per worker, the first worker of their group of exact copies."""
    closest = np.where(pairs.closest > 0, pairs.closest, 1.0)
    rate = np.minimum(closest[pairs.left], closest[pairs.right])
    improbable = pairs.common * np.log(np.maximum(rate, _EPS)) < np.log(_EXACT_CHANCE / len(alone) ** 2)
    copies = pairs.exact & improbable
    part = number_parts(len(alone), pairs.left[copies], pairs.right[copies])
    return np.unique(part, return_index=True)[1][part]


def _find_near(run: Run, pairs: _Pairs) -> Workers:
    """Return, per worker, the first worker of their group of near copies, given a run without exact copies."""
    expected = np.minimum(pairs.usual[pairs.left], pairs.usual[pairs.right])
    similar = np.flatnonzero((pairs.chance < _CHANCE) & (pairs.differ <= _CLOSE * expected))
    closeness = pairs.differ[similar] / np.maximum(expected[similar], _EPS)
    order = similar[np.lexsort((pairs.right[similar], pairs.left[similar], closeness))]
    number = _join_similar(pairs.left[order].tolist(), pairs.right[order].tolist(), len(run.workers))
    copies = np.arange(len(number))
    for group, joint in _count_joint_errors(run, number).items():
        if joint.show_copies():
            copies[number == group] = group
    return copies


def _join_similar(lefts: list[int], rights: list[int], n: int) -> Workers:
    """Join pairs, the closest first; return, per worker, the first worker of their group."""
    beside: dict[int, set[int]] = {}
    for left, right in zip(lefts, rights, strict=True):
        beside.setdefault(left, set()).add(right)
        beside.setdefault(right, set()).add(left)
    members = {each: [each] for each in beside}
    group = {each: each for each in beside}
    for left, right in zip(lefts, rights, strict=True):
        one, other = sorted((group[left], group[right]))
        if one == other:
            continue
        similar = sum(len(beside[each].intersection(members[other])) for each in members[one])
        if similar >= _JOINED * len(members[one]) * len(members[other]):
            group.update(dict.fromkeys(members[other], one))
            members[one] += members.pop(other)
    number = np.arange(n)
    for first, all_members in members.items():
        number[all_members] = first
    return number


# Joint errors ---------------------------------------------------------------------------------------------------------


class JointErrors(NamedTuple):
    """Sums over tasks of the departures and joint errors of a group."""

    clear: float
    departs: float
    joint: float
    shared: float
    same: float
    gain: float
    squares: float

    def show_copies(self) -> bool:
        """Return whether the members copy, rather than agree because they are accurate."""
        if self.joint < max(_JOINT * self.departs, _OFTEN * self.clear, _FEWEST):
            return False
        identical = self.same >= _IDENTICAL * self.shared
        return bool(identical or (self.squares > 0 and self.gain >= _CLEARLY * np.sqrt(self.squares)))


def _count_joint_errors(run: Run, number: Workers) -> dict[int, JointErrors]:
    """Return the joint errors of each group of at least two workers, by its first worker."""
    groups = np.flatnonzero(np.bincount(number, minlength=len(number)) > 1)
    if not len(groups):
        return {}
    member = np.where(np.isin(number, groups), number, -1.0)
    rows = run.sum(joint_error_sums, member)["sums"]
    sums = np.zeros_like(rows)
    np.add.at(sums, number, rows)
    return {int(group): JointErrors(*sums[group].tolist()) for group in groups}


def joint_error_sums(block: Block, member: Floats) -> dict[str, Floats]:
    """Sum the joint errors of each group, in the row of a member; ``member`` is -1 outside groups."""
    sums = np.zeros((block.n_workers, 7))
    several = block.per_task((member >= 0).astype(np.float64).take(block.worker)) > 1
    if not several.any():
        return {"sums": sums}
    block = block.pick(np.flatnonzero(several), np.flatnonzero(block.to_answers(several)))
    slot, labels = number_within_tasks(block)
    width, task = int(labels.max()), block.task
    votes = sum_by(task * width + slot, np.ones(len(slot)), block.n_tasks * width).reshape(-1, width)
    group = member.take(block.worker).astype(np.int64)
    mine = np.flatnonzero(group >= 0)
    n = int(group.max()) + 1
    cell, first, place = np.unique(task[mine] * n + group[mine], return_index=True, return_inverse=True)
    own = sum_by(place * width + slot[mine], np.ones(len(mine)), len(cell) * width).reshape(-1, width)
    size = own.sum(axis=1)
    two = size > 1
    own, size, at, who = own[two], size[two], cell[two] // n, block.worker[mine[first[two]]]
    rest = votes[at] - own
    same = (own * (own - 1)).sum(axis=1) / (size * (size - 1))
    gain = _gain_if_once(block, own, size, rest, (at, slot, cell[two] % n, group))
    columns = [*_depart(own, size, rest), np.ones(len(size)), same, gain, gain**2]
    np.add.at(sums, who, np.column_stack(columns))
    return {"sums": sums}


def _depart(own: Floats, size: Floats, rest: Floats) -> tuple[Floats, Floats, Floats]:
    """Return, per task of a group, whether it is clear, and its departures and joint errors."""
    each = np.arange(len(rest))
    winner = rest.argmax(axis=1)
    others = rest.copy()
    others[each, winner] = -1.0
    lead = rest[each, winner] - np.maximum(others.max(axis=1, initial=-1.0), 0.0)
    clear = (lead >= _CLEAR_LEAD) & (lead**2 >= _CLEAR_SQUARE * rest.sum(axis=1))
    away = own.copy()
    away[each, winner] = 0.0
    departs = away.sum(axis=1) / size
    joint = (away * (away - 1)).sum(axis=1) / (size * (size - 1))
    return clear.astype(np.float64), np.where(clear, departs, 0.0), np.where(clear, joint, 0.0)


def _gain_if_once(block: Block, own: Floats, size: Floats, rest: Floats, places: tuple[Array, ...]) -> Floats:
    """Return y: per task of a group, the gain in predicted answers of other workers if the group counts once."""
    at, slot, mine, group = places
    counts = block.sizes[at]
    cell = np.repeat(np.arange(len(at)), counts)
    answer = np.arange(counts.sum()) + np.repeat(block.starts[at] - (np.cumsum(counts) - counts), counts)
    other = group[answer] != mine[cell]
    cell, answer = cell[other], answer[other]
    gain = np.zeros(len(cell))
    for sign, table in ((1.0, rest + own / size[:, None]), (-1.0, rest + own)):
        votes = table[cell]
        votes[np.arange(len(cell)), slot[answer]] -= 1.0
        wins = votes >= (votes.max(axis=1, initial=-1.0) - _EPS)[:, None]
        gain += sign * wins[np.arange(len(cell)), slot[answer]] / wins.sum(axis=1)
    return sum_by(cell, gain, len(at))


# Collapsing -----------------------------------------------------------------------------------------------------------


def collapse(run: Run, groups: CopyGroups) -> Run:
    """Return a run in which each group answers once per task, as its first worker."""
    if not groups.has_copies:
        return run
    changed = run.map(partial(_collapse_and_prepare, number=groups.number, encoding=run.encoding))
    return replace(changed, answer_counts=changed.sum(_count_answers)["answers"].astype(np.int64))


def _count_answers(block: Block) -> dict[str, Floats]:
    return {"answers": block.per_worker(np.ones(len(block.worker)))}


def _collapse_and_prepare(block: Block, *, number: Workers, encoding: Encoding) -> Block:
    """Return a block with one label per group and task, prepared for the kernels."""
    if encoding.nominal or encoding.n_classes is not None:
        return encoding.prepare(collapse_block(block, number))
    kernels = encoding.kernels
    label = kernels.restore_answers(block, np.arange(len(block.label)))
    codes = block[AnswerHashes].hashes if AnswerHashes in block else label
    codes = np.unique(codes, axis=0 if codes.ndim > 1 else None, return_inverse=True)[1].reshape(len(codes))
    plain = replace(block, label=label, gold_label=kernels.restore_gold(block), prepared={})
    return encoding.prepare(collapse_block(plain, number, codes))


def decide_collapsed(
    block: Block, *params: Floats, number: Workers, encoding: Encoding, decide: Callable[..., dict[str, Array]]
) -> dict[str, Array]:
    """Estimate labels from collapsed answers."""
    if not isinstance(block.workers, slice):
        first = np.unique(number[block.workers], return_index=True)[1]
        params = tuple(each[first] for each in params)
    return decide(_collapse_and_prepare(block, number=number, encoding=encoding), *params)


def collapse_block(block: Block, number: Workers, codes: Array | None = None) -> Block:
    """Return a block with one label per group and task: that of most members, the first if labels tie.

    ``codes`` are integers that are equal for equal labels; by default the labels themselves.

    >>> from allalike._core.blocks.block import Block
    >>> block = collapse_block(Block.of([[0], [1], [1], [0]]), np.array([0, 0, 0, 3]))
    >>> block.worker, block.label
    (array([0, 3]), array([1, 0]))
    """
    workers, n_workers, codes = block.workers, block.n_workers, block.label if codes is None else codes
    worker = number[workers].astype(np.intp)[block.worker]
    if not isinstance(workers, slice):
        workers, worker = np.unique(np.append(worker, number[workers]), return_inverse=True)
        worker, n_workers = worker[: len(block.worker)], len(workers)
    key = block.task * (int(worker.max(initial=0)) + 1) + worker
    order = np.lexsort((codes, key))
    pair = np.flatnonzero(np.append(True, (np.diff(key[order]) != 0) | (np.diff(codes[order]) != 0)))
    count = np.diff(np.append(pair, len(order)))
    best = np.lexsort((-count, key[order[pair]]))  # stable: the first of tied labels
    rows = order[pair[best[np.unique(key[order[pair[best]]], return_index=True)[1]]]]
    sizes = np.bincount(block.task[rows], minlength=block.n_tasks)
    return replace(
        block,
        starts=np.cumsum(sizes) - sizes,
        sizes=sizes,
        worker=worker[rows],
        label=block.label[rows],
        workers=workers,
        n_workers=n_workers,
        prepared={},
    )


def with_voices(block: Block, *, groups: CopyGroups) -> Block:
    """Return the block with the weight of each answer within its copy group."""
    if not groups.has_copies:
        return block
    number, task = groups.number[block.workers].take(block.worker), block.task
    order = np.lexsort((number, task))
    new = np.concatenate([[True], (np.diff(task[order]) != 0) | (np.diff(number[order]) != 0)])
    group = np.empty(len(order), np.intp)
    group[order] = np.cumsum(new) - 1
    return block.keeping(AnswerWeights(1.0 / np.bincount(group)[group], group))


# Correlation of errors: with mean correlation rho between the errors of two answers to a task, estimated from gold
# labels beyond the error rates of their workers, the effective number of answers is n / (1 + (n - 1) rho) (the design
# effect; Kish: Survey Sampling. 1965).


def count_effective_voices(block: Block, correlation: float) -> Floats:
    """Return the effective number of answers per task, given the mean correlation of errors.

    >>> from allalike._core.blocks.block import Block
    >>> count_effective_voices(Block.of([[0], [1], [1], [0]]), 1 / 3)
    array([2.])
    """
    n = block.per_task(find_answer_weights(block).weight)
    return np.maximum(n / (1 + np.maximum(n - 1, 0.0) * correlation), 1.0)


def find_error_correlation(run: Run) -> float | None:
    """Return the mean error correlation of two answers to a task with gold; None without such pairs."""
    sums = run.sum(run.kernels.gold_sums)
    errors, answers = sums["distance"], sums["answers"]
    total = answers.sum()
    mean = errors.sum() / total if total else 0.0
    rate = np.clip((errors + _TYPICAL_ANSWERS * mean) / (answers + _TYPICAL_ANSWERS), _LEAST_ERROR, 1 - _LEAST_ERROR)
    pairs = run.sum(partial(_error_products, kernels=run.kernels), rate)
    number = float(pairs["pairs"].sum())
    return float(np.clip(pairs["products"].sum() / number, 0.0, 1.0)) if number else None


def _error_products(block: Block, rate: Floats, *, kernels: Kernels) -> dict[str, Floats]:
    """Sum the products of standardised errors of each task with gold, in the row of its first worker."""
    if not len(block.gold_task):
        nothing = np.zeros(block.n_workers)
        return {"products": nothing, "pairs": nothing}
    truth = np.zeros(block.n_tasks, block.gold_label.dtype)
    truth[block.gold_task] = block.gold_label
    known = np.zeros(block.n_tasks)
    known[block.gold_task] = 1.0
    own = rate.take(block.worker)
    residual = (kernels.distance_to(block, truth) - own) / np.sqrt(own * (1 - own))
    products = block.per_task(residual) ** 2 - block.per_task(residual**2)
    pairs = block.sizes * (block.sizes - 1.0)
    first = block.first_worker
    return {
        "products": sum_by(first, known * products, block.n_workers),
        "pairs": sum_by(first, known * pairs, block.n_workers),
    }
