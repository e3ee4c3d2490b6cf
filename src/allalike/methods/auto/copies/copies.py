"""Copies: groups of workers who say the same because one follows the other, found in classes and other equal labels.

Good workers agree because they are right, so agreement is no evidence. Workers are **alike** if they disagree clearly
less often than each of them does with most of those she met, and at most half as often. With d_ij the share of their
common tasks on which i and j disagree, and u_i the median of d_ij over the others, it is asked of each pair

    d_ij <= min(u_i, u_j) / 2,    and P[so few disagreements, if each had the chance min(u_i, u_j)] < 0.01 / pairs.

Such pairs are joined, the tightest first, where half of the pairs between two groups are alike. Whether a group of them
copies, or is only good, is for what its members say where all others say something else (`departures`).

Pairs are counted for some workers at a time, as the memory that is free allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import number_within_tasks, sort_within, sum_by
from allalike._core.blocks.matrices import list_entries
from allalike.engines.ranges import count_met, find_parts, fit_ranges, look_through
from allalike.methods.auto.voices import with_voices
from allalike.methods.insight import Group, VoiceGroups

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.engines import Run


# Chance: how probably so few of some tasks go one way.


_LEAST = 1e-16  # a probability between which and 1 all are, and the share of a sum that is lost in it


def find_lower_tail(most: Array, of: Array, chance: Floats) -> Floats:
    """Return how probably at most so many of several things happen, if each does by this chance (a binomial tail).

    It is asked of no more than are expected, so that the last term is the largest: terms are added from there on, and
    the one before the m-th is m (1 - p) / ((n - m + 1) p) times as large.

    >>> find_lower_tail(np.array([0, 1]), np.array([2, 2]), np.array([0.5, 0.5])).round(9)
    array([0.25, 0.75])
    """
    p = np.clip(chance, _LEAST, 1 - _LEAST)
    m, n = np.asarray(most, np.float64), np.asarray(of, np.float64)
    ways = _log_factorial(n) - _log_factorial(m) - _log_factorial(n - m)
    total = term = np.exp(ways + m * np.log(p) + (n - m) * np.log1p(-p))
    while np.any(term > _LEAST * total):
        term = term * m * (1 - p) / ((n - m + 1) * p)
        m = np.maximum(m - 1, 0)
        total = total + term
    return np.asarray(np.minimum(total, 1.0))


def _log_factorial(number: Floats) -> Floats:
    values, place = np.unique(number, return_inverse=True)
    return np.array([math.lgamma(value + 1) for value in values.tolist()])[place]


# Departures: what workers who are alike say where all others say something else.
#
# Experts depart from a clear vote of the others rarely, or each alone; copies depart together. A task is **clear**
# for a group if two of its members answered it and the most frequent label of all others leads by so many votes that
# chance hardly does it: lead >= 2 and lead >= 4/3 sqrt(votes), as two of two are and four of five. On such tasks,
# with C_l the members who say l, which is not the label of the others, and h the members who answered,
#
#     departs = sum_t sum_l C_l / h,        joint = sum_t sum_l C_l (C_l - 1) / (h (h - 1))
#
# are how often a member departs, and how often two do so with the same label. Workers are **copies** if joint is at
# least 0.8 departs, 2 % of the clear tasks, and five; and if, besides,
#
# - they are identical: two members say the same on 97 % of the tasks that two of them answered; or
# - all others are clearly better foretold if the group has one voice: for each answer of another worker it is asked
#   whether her label wins among the rest with one voice for the group, less whether it wins with a voice for each;
#   with y_t the sum over the answers to a task, sum y >= 2.576 sqrt(sum y^2).
#
# Of two classes only the first counts, for whoever departs there says the same as all who do. The second is strict on
# purpose: what foretells the others better in likelihood alone are also the few experts of a
# crowd that is mostly wrong, and panels of which some are related, where nothing but known truths tells who is right.


_CLEAR_LEAD, _CLEAR_SQUARE = 2.0, 16 / 9  # by how many votes, and the square of it as a multiple of all votes
_TOGETHER, _OFTEN, _FEWEST = 0.8, 0.02, 5.0  # of the departures, of the clear tasks, and of all
_IDENTICAL = 0.97
_CLEARLY = 2.576  # standard errors, which chance reaches in one of a hundred cases
_EPS = 1e-9


@dataclass(frozen=True)
class Departures:
    """What the answers of a group say, as sums over tasks."""

    clear: float
    departs: float
    joint: float
    shared: float
    same: float
    gain: float
    squares: float

    @property
    def fidelity(self) -> float:
        """How often a member who departs does so with another one."""
        return self.joint / self.departs if self.departs > 0 else float("nan")

    def shows_copies(self, n_classes: int) -> bool:
        """Return whether the members copy, and are not only good.

        >>> Departures(clear=100, departs=10, joint=9, shared=100, same=99, gain=0, squares=0).shows_copies(2)
        True
        >>> Departures(clear=100, departs=10, joint=2, shared=100, same=99, gain=0, squares=0).shows_copies(2)
        False
        """
        if self.joint < max(_TOGETHER * self.departs, _OFTEN * self.clear, _FEWEST):
            return False
        identical = self.same >= _IDENTICAL * self.shared
        foretold = n_classes > 2 and self.squares > 0
        return bool(identical or (foretold and self.gain >= _CLEARLY * np.sqrt(self.squares)))


def find_departures(run: Run, number: npt.NDArray[np.intp], silent: npt.NDArray[np.bool_]) -> dict[int, Departures]:
    """Return what is known of each group of two workers and more, by its number."""
    groups = np.flatnonzero(np.bincount(number, minlength=len(number)) > 1)
    if not len(groups):
        return {}
    member = np.where(np.isin(number, groups), number, -1.0)
    rows = run.sum(departure_sums, member, silent.astype(np.float64))["sums"]
    sums = np.zeros_like(rows)
    np.add.at(sums, number, rows)
    return {int(group): Departures(*sums[group].tolist()) for group in groups}


def departure_sums(block: Block, member: Floats, silent: Floats) -> dict[str, Floats]:
    """Add up what is to be known of each group, in the row of one of its members.

    >>> from allalike._core.blocks.block import Block
    >>> said = np.array([[0, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 1], [0, 0, 1]])
    >>> departure_sums(Block.of(said), np.array([0.0, 0, -1, -1, -1]), np.zeros(5))["sums"][0, :5]
    array([3., 1., 1., 3., 3.])
    """
    sums = np.zeros((block.n_workers, 7))
    several = block.per_task(((member >= 0) & (silent == 0)).astype(np.float64).take(block.worker)) > 1
    if not several.any():
        return {"sums": sums}
    block = block.pick(np.flatnonzero(several), np.flatnonzero(block.to_answers(several)))
    heard = silent.take(block.worker) == 0
    slot, labels = number_within_tasks(block)
    width = int(labels.max())
    task = block.task
    votes = sum_by(task * width + slot, heard.astype(np.float64), block.n_tasks * width).reshape(-1, width)
    group = member.take(block.worker).astype(np.int64)
    mine = np.flatnonzero((group >= 0) & heard)
    n = int(group.max()) + 1
    cell, first, place = np.unique(task[mine] * n + group[mine], return_index=True, return_inverse=True)
    own = sum_by(place * width + slot[mine], np.ones(len(mine)), len(cell) * width).reshape(-1, width)
    size = own.sum(axis=1)
    two = size > 1
    own, size, at, who = own[two], size[two], cell[two] // n, block.worker[mine[first[two]]]
    rest = votes[at] - own
    columns = np.column_stack(
        [*_depart(own, size, rest), np.ones(len(size)), (own * (own - 1)).sum(axis=1) / (size * (size - 1))]
    )
    foretold = _foretell(block, own, size, rest, at, slot, (cell[two] % n, group, heard))
    np.add.at(sums, who, np.column_stack([columns, foretold, foretold**2]))
    return {"sums": sums}


def _depart(own: Floats, size: Floats, rest: Floats) -> tuple[Floats, Floats, Floats]:
    """Return of each task of a group: whether it is clear, and how often members depart there, alone and together."""
    each = np.arange(len(rest))
    winner = rest.argmax(axis=1)
    others = rest.copy()
    others[each, winner] = -1.0
    second = np.maximum(others.max(axis=1, initial=-1.0), 0.0)
    lead = rest[each, winner] - second
    clear = (lead >= _CLEAR_LEAD) & (lead**2 >= _CLEAR_SQUARE * rest.sum(axis=1))
    away = own.copy()
    away[each, winner] = 0.0
    departs = away.sum(axis=1) / size
    joint = (away * (away - 1)).sum(axis=1) / (size * (size - 1))
    return clear.astype(np.float64), np.where(clear, departs, 0.0), np.where(clear, joint, 0.0)


def _foretell(
    block: Block,
    own: Floats,
    size: Floats,
    rest: Floats,
    at: Array,
    slot: Array,
    said: tuple[Array, Array, npt.NDArray[np.bool_]],
) -> Floats:
    """Return of each task of a group by how many answers of others more are foretold if the group has one voice."""
    mine, group, heard = said
    counts = block.sizes[at]
    cell = np.repeat(np.arange(len(at)), counts)
    answer = np.arange(counts.sum()) + np.repeat(block.starts[at] - (np.cumsum(counts) - counts), counts)
    other = heard[answer] & (group[answer] != mine[cell])
    cell, answer = cell[other], answer[other]
    gain = np.zeros(len(cell))
    for sign, table in ((1.0, rest + own / size[:, None]), (-1.0, rest + own)):
        votes = table[cell]
        votes[np.arange(len(cell)), slot[answer]] -= 1.0
        top = votes.max(axis=1, initial=-1.0)
        wins = votes >= (top - _EPS)[:, None]
        gain += sign * wins[np.arange(len(cell)), slot[answer]] / wins.sum(axis=1)
    return sum_by(cell, gain, len(at))


_MIN_COMMON = 5  # tasks of a pair that tells something
_TIGHT = 0.5  # of the usual disagreement
_CHANCE = 0.01  # that any pair of honest workers is taken for alike
_JOINED = 0.5  # of the pairs between two groups, which must be alike
_SUMS, _MAX_SHARE = 3, 0.5  # of each pair, with what is at work, and of the free memory, for what nobody asked for
Workers = npt.NDArray[np.intp]


@dataclass(frozen=True)
class _Pairs:
    """Pairs of workers."""

    left: Workers
    right: Workers
    common: Floats
    differ: Floats
    chance: Floats

    def take(self, places: Any) -> _Pairs:
        """Return some of the pairs."""
        return _Pairs(*(column[places] for column in vars(self).values()))

    @classmethod
    def join(cls, parts: list[_Pairs]) -> _Pairs:
        """Put pairs one behind the other."""
        return cls(*(np.concatenate(columns) for columns in zip(*(vars(part).values() for part in parts), strict=True)))


def find_copies(run: Run, silent: npt.NDArray[np.bool_]) -> VoiceGroups | None:
    """Find the groups of copies among those who are not silent, and those who are only alike.

    Return None where the pairs of workers are too many to look at.

    >>> import allalike
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(4, size=100)
    >>> said = np.where(rng.random((8, 100)) < 0.6, truth, rng.integers(4, size=(8, 100)))
    >>> said[7] = np.where(rng.random(100) < 0.95, said[6], said[7])
    >>> rows = [(worker, task, int(label)) for (worker, task), label in np.ndenumerate(said)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="categorical"))
    >>> [group.members for group in find_copies(run, np.zeros(8, bool)).found if group.copies]
    [(6, 7)]
    """
    n = run.problems.n_workers
    if len(run.problems.sizes) > 1 or n < 3 or run.encoding.n_labels < 2:
        return VoiceGroups(np.arange(n), silent)
    ranges = fit_ranges(run, count_met(run), _SUMS, share=_MAX_SHARE)
    if ranges is None:
        return None
    near = _find_alike(run, ranges, silent)
    number, copies, found = _join(near, n), np.arange(n), []
    for group, seen in find_departures(run, number, silent).items():
        members = np.flatnonzero(number == group)
        inside = (number[near.left] == group) & (number[near.right] == group)
        chance = float(near.chance[inside].min(initial=1.0))
        who = tuple(members.tolist())
        copied = seen.shows_copies(run.encoding.n_labels)
        found.append(Group(who, copied, round(seen.shared), round(seen.joint), seen.fidelity, chance))
        if copied:
            copies[members] = group
    heard = run.map(partial(with_voices, groups=VoiceGroups(np.arange(n), silent)))
    return VoiceGroups(copies, silent, tuple(found), find_parts(heard))


def _find_alike(run: Run, ranges: list[range], silent: npt.NDArray[np.bool_]) -> _Pairs:
    """Return the pairs who are alike, each once, the tightest first."""
    looked = list(look_through(run, run.kernels.pair_sums, ranges, partial(_look, silent=silent)))
    usual = np.concatenate([each.usual for each in looked])
    n_pairs = sum(each.n_pairs for each in looked) / 2
    near = _Pairs.join([each.tight for each in looked])
    expected = np.minimum(usual[near.left], usual[near.right])
    tight = (near.left < near.right) & (near.differ <= _TIGHT * expected)
    near, expected = near.take(tight), expected[tight]
    differing, common = np.round(near.differ * near.common), near.common.astype(np.int64)
    near = replace(near, chance=n_pairs * find_lower_tail(differing, common, expected))
    order = np.lexsort((near.right, near.left, near.differ / np.maximum(expected, 1e-9)))
    return near.take(order[near.chance[order] < _CHANCE])


class _Looked(NamedTuple):
    """What is kept of the pairs of some workers: what is usual for each, how many tell anything, and the tight ones."""

    usual: Floats
    n_pairs: int
    tight: _Pairs


def _look(rows: range, sums: dict[str, Any], *, silent: npt.NDArray[np.bool_]) -> _Looked:
    """Find on what share of common tasks each of some workers disagrees with the middle one of those she met."""
    row, right, common = list_entries(sums["common"])
    tells = (common >= _MIN_COMMON) & (rows.start + row != right) & ~silent[rows.start + row] & ~silent[right]
    row, right, common = row[tells], right[tells], common[tells]
    distance = sums["distance"] if isinstance(sums["distance"], np.ndarray) else sums["distance"].tocsr()
    differ = np.asarray(distance[row, right]).ravel() / common if len(row) else common
    order = sort_within(row, differ, len(rows))
    ends = np.searchsorted(row[order], np.arange(len(rows) + 1))
    middle = np.append(differ[order], 0.0)[(ends[1:] + ends[:-1]) // 2]
    usual = np.where(ends[1:] > ends[:-1], middle, 0.0)
    pairs = _Pairs(rows.start + row, right, common, differ, np.ones(len(row)))
    return _Looked(usual, len(row), pairs.take(differ <= _TIGHT * usual[row]))


def _join(near: _Pairs, n: int) -> Workers:
    """Join pairs, which come in order, into groups; return of each worker the number of her group's first member."""
    beside: dict[int, set[int]] = {}
    for left, right in zip(near.left.tolist(), near.right.tolist(), strict=True):
        beside.setdefault(left, set()).add(right)
        beside.setdefault(right, set()).add(left)
    members = {each: [each] for each in beside}
    group = {each: each for each in beside}
    for left, right in zip(near.left.tolist(), near.right.tolist(), strict=True):
        one, other = sorted((group[left], group[right]))
        if one == other:
            continue
        alike = sum(len(beside[each].intersection(members[other])) for each in members[one])
        if alike >= _JOINED * len(members[one]) * len(members[other]):
            group.update(dict.fromkeys(members[other], one))
            members[one] += members.pop(other)
    number = np.arange(n)
    for first, all_members in members.items():
        number[all_members] = first
    return number
