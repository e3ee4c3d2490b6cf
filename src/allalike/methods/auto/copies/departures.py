"""Departures: what workers who are alike say where all others say something else.

Experts depart from a clear vote of the others rarely, or each alone; copies depart together. A task is **clear** for a
group if two of its members answered it and the most frequent label of all others leads by so many votes that chance
hardly does it: lead >= 2 and lead >= 4/3 sqrt(votes), as two of two are and four of five. On such tasks, with C_l the
members who say l, which is not the label of the others, and h the members who answered,

    departs = sum_t sum_l C_l / h,        joint = sum_t sum_l C_l (C_l - 1) / (h (h - 1))

are how often a member departs, and how often two do so with the same label. Workers are **copies** if joint is at least
0.8 departs, 2 % of the clear tasks, and five; and if, besides,

- they are identical: two members say the same on 97 % of the tasks that two of them answered; or
- all others are clearly better foretold if the group has one voice: for each answer of another worker it is asked
  whether her label wins among the rest with one voice for the group, less whether it wins with a voice for each of it;
  with y_t the sum over the answers to a task, sum y >= 2.576 sqrt(sum y^2).

Of two classes only the first counts, for whoever departs there says the same as all who do. The second is strict on
purpose: what foretells the others better in likelihood alone are also the few experts of a
crowd that is mostly wrong, and panels of which some are related, where nothing but known truths tells who is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import sum_by
from allalike._core.blocks.groups import number_within_tasks

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.engines import Run

__all__ = ["Departures", "departure_sums", "find_departures"]

_CLEAR_LEAD, _CLEAR_SQUARE = 2.0, 16 / 9  # by how many votes, and the square of it as a multiple of all votes
_TOGETHER, _OFTEN, _FEWEST = 0.8, 0.02, 5.0  # of the departures, of the clear tasks, and of all
_IDENTICAL = 0.97
_CLEARLY = 2.576  # standard errors, which chance reaches in one of a hundred cases
_EPS = 1e-9


@dataclass(frozen=True)
class Departures:
    """What the answers of a group say, as sums over tasks.

    Parameters
    ----------
    clear, departs, joint
        How many tasks are clear, and how often members depart there, one and two together.
    shared, same
        How many tasks two members answered, and the sum of the shares of pairs of members who say the same.
    gain, squares
        By how many answers of others one voice foretells more, and the squares of it by task.
    """

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
        """Tell whether the members copy, and are not only good.

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

    Parameters
    ----------
    block
        The answers.
    member, silent
        Of each worker: the number of her group, or -1, and whether she has no voice.

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
