"""Groups: which workers speak with one voice, and whose answers say nothing about the tasks.

Copies of a worker are no further evidence, so a group of copiers has one voice on every task: each of its g members
who answered counts 1/g, and nobody is compared with her own group. Who carries no signal has no voice.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import sum_by
from allalike._core.blocks.voices import Voices
from allalike.methods.auto.voices.peers import find_within

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block
    from allalike.domains import Encoding
    from allalike.engines import Run
    from allalike.methods.insight import VoiceGroups

__all__ = ["give_voices", "voices_of", "with_voices"]


def give_voices(run: Run, groups: VoiceGroups) -> Any:
    """Return the run with the voices of its answers.

    >>> import allalike
    >>> from allalike.methods.insight import VoiceGroups
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]))
    >>> groups = VoiceGroups(np.array([0, 0, 2]), np.zeros(3, bool))
    >>> give_voices(run, groups).blocks[0][Voices]
    Voices(voice=array([0.5, 0.5, 1. ]), group=array([0, 0, 1]))
    """
    if groups.everyone_counts:
        return run
    return run.map(partial(_hear, groups=groups, encoding=run.encoding))


def _hear(block: Block, *, groups: VoiceGroups, encoding: Encoding) -> Block:
    heard = with_voices(block, groups=groups)
    return heard.keeping(find_within(block, heard[Voices], encoding))


def with_voices(block: Block, *, groups: VoiceGroups) -> Block:
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
    task = block.task
    nobody = block.per_task(np.where(silent, 0.0, 1.0)) == 0
    silent = silent & ~block.to_answers(nobody)
    order = np.lexsort((number, task))
    new = np.concatenate([[True], (np.diff(task[order]) != 0) | (np.diff(number[order]) != 0)])
    group = np.empty(len(order), np.intp)
    group[order] = np.cumsum(new) - 1
    members = sum_by(group, np.where(silent, 0.0, 1.0), int(new.sum()))
    return Voices(np.where(silent, 0.0, 1.0 / np.maximum(members[group], 1.0)), group)
