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

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.groups import sort_within
from allalike._core.blocks.matrices import list_entries
from allalike.engines.ranges import count_met, find_parts, fit_ranges, look_through
from allalike.methods.auto.copies.chance import find_lower_tail
from allalike.methods.auto.copies.departures import find_departures
from allalike.methods.auto.voices.groups import with_voices
from allalike.methods.insight import Group, VoiceGroups

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike.engines import Run

__all__ = ["find_copies"]

_MIN_COMMON = 5  # tasks of a pair that tells something
_TIGHT = 0.5  # of the usual disagreement
_CHANCE = 0.01  # that any pair of honest workers is taken for alike
_JOINED = 0.5  # of the pairs between two groups, which must be alike
_SUMS, _MAX_SHARE = 3, 0.5  # of each pair, with what is at work, and of the free memory, for what nobody asked for

Workers = npt.NDArray[np.intp]


@dataclass(frozen=True)
class _Pairs:
    """Pairs of workers.

    Parameters
    ----------
    left, right
        Their numbers.
    common, differ
        How many tasks they have in common, and on what share of these they disagree.
    chance
        How probably some pair of so many would disagree as rarely.
    """

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
