"""Groups: which workers speak with one voice, and whose answers say nothing about the tasks.

Copies of a worker are no further evidence, so a group of copiers has one voice on every task: each of its g members
who answered counts 1/g, and nobody is compared with her own group. Who carries no signal has no voice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike.blocks.block import sum_by
from allalike.blocks.voices import Voices
from allalike.trust.peers import find_within

if TYPE_CHECKING:
    from allalike.blocks.block import Block
    from allalike.domains import Encoding
    from allalike.engines import Run

__all__ = ["Group", "Groups", "give_voices", "voices_of", "with_voices"]


@dataclass(frozen=True)
class Group:
    """Workers who are more alike than chance and skill explain.

    Parameters
    ----------
    members
        Their numbers in the run, in order.
    copies
        Whether they are copies of each other; else they are only alike, as the best workers are, and count each.
    common
        How many tasks two or more of them answered.
    rare
        How often two of them gave the same answer where few others gave it.
    fidelity
        How often one answers as another does, beyond what skill explains.
    chance
        How probably some pair of so many would look like this by chance.
    """

    members: tuple[int, ...]
    copies: bool
    common: int
    rare: int
    fidelity: float
    chance: float


@dataclass(frozen=True)
class Groups:
    """The groups of a run's workers.

    Parameters
    ----------
    number
        Of each worker: the number of her group, which is that of its first member; alone, she is her own.
    silent
        Of each worker: whether her answers carry no signal, so that she has no voice.
    found
        The groups of two workers and more, also of those who are only alike.
    part
        Of each worker: the number of the part of the answers she is in, where it is known; parts have no task in
        common, so that their workers cannot be compared.
    """

    number: npt.NDArray[np.intp]
    silent: npt.NDArray[np.bool_]
    found: tuple[Group, ...] = ()
    part: npt.NDArray[np.intp] | None = None

    @classmethod
    def everyone(cls, n_workers: int) -> Groups:
        """Let everybody speak for herself."""
        return cls(np.arange(n_workers), np.zeros(n_workers, bool))

    @property
    def apart(self) -> Groups:
        """Nobody in a group; who is silent stays so."""
        return Groups(np.arange(len(self.number)), self.silent)

    def take(self, order: npt.NDArray[np.intp]) -> Groups:
        """Return the groups of the same workers in another order.

        >>> Groups(np.array([0, 1, 0]), np.zeros(3, bool)).take(np.array([2, 0, 1])).number
        array([0, 0, 2])
        """
        first = np.full(len(order), len(order))
        np.minimum.at(first, self.number[order], np.arange(len(order)))
        return Groups(first[self.number[order]], self.silent[order])

    @property
    def has_copies(self) -> bool:
        """Whether some speak with one voice."""
        return bool((self.number != np.arange(len(self.number))).any())

    @property
    def everyone_counts(self) -> bool:
        """Whether nobody copies and nobody is silent."""
        return not self.silent.any() and not self.has_copies

    @property
    def n_parts(self) -> int:
        """How many parts without common tasks the answers have; who is silent is in none, and 1 where nobody knows."""
        return 1 if self.part is None else max(len(np.unique(self.part[~self.silent])), 1)

    @property
    def speaks(self) -> npt.NDArray[np.bool_]:
        """Of each worker: whether she speaks, for herself or first of her group."""
        speaks: npt.NDArray[np.bool_] = (self.number == np.arange(len(self.number))) & ~self.silent
        return speaks


def give_voices(run: Run, groups: Groups) -> Any:
    """Return the run with the voices of its answers.

    >>> import allalike
    >>> from allalike.blocks.ties import Ties
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]), Ties())
    >>> groups = Groups(np.array([0, 0, 2]), np.zeros(3, bool))
    >>> give_voices(run, groups).blocks[0][Voices]
    Voices(voice=array([0.5, 0.5, 1. ]), group=array([0, 0, 1]))
    """
    if groups.everyone_counts:
        return run
    return run.map(partial(_hear, groups=groups, encoding=run.encoding))


def _hear(block: Block, *, groups: Groups, encoding: Encoding) -> Block:
    heard = with_voices(block, groups=groups)
    return heard.keeping(find_within(block, heard[Voices], encoding))


def with_voices(block: Block, *, groups: Groups) -> Block:
    """Return the block with the voices of its answers, if these are not all the same."""
    if groups.everyone_counts:
        return block
    columns = (groups.number, groups.silent)
    number, silent = (np.append(column[block.workers], column[:1]).take(block.worker) for column in columns)
    return block.keeping(voices_of(block, number, silent))


def voices_of(block: Block, number: npt.NDArray[np.intp], silent: npt.NDArray[np.bool_]) -> Voices:
    """Return the voices of a block's answers, from the group of each and whether it is silent.

    Where nobody else answered a task, those who are silent have their voices.
    """
    task = block.to_answers(np.arange(block.n_tasks))
    nobody = block.per_task(np.where(silent, 0.0, 1.0)) == 0
    silent = silent & ~block.to_answers(nobody)
    order = np.lexsort((number, task))
    new = np.concatenate([[True], (np.diff(task[order]) != 0) | (np.diff(number[order]) != 0)])
    group = np.empty(len(order), np.intp)
    group[order] = np.cumsum(new) - 1
    members = sum_by(group, np.where(silent, 0.0, 1.0), int(new.sum()))
    return Voices(np.where(silent, 0.0, 1.0 / np.maximum(members[group], 1.0)), group)
