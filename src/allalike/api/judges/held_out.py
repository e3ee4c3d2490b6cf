"""Held out: what a panel that knows some truths says of tasks whose truths it does not know.

How often a panel is right on truths that it has learned from says little, and how often it is right without them says
too little. So the known truths are cut into five parts, by the hashes of their tasks: the panel learns from four of
them, and decides the tasks of the fifth as if nobody knew it (cross-validation). Judges are few, and their verdicts on
some whole tasks tell enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from allalike.engines.sample import sample_tasks

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.engines import Run
    from allalike.engines.memory import MemoryRun
    from allalike.methods import Weighing

__all__ = ["HeldOut", "decide_held_out", "fold_of"]

FOLDS = 5


def fold_of(task_hash: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the part that each task is in."""
    return task_hash % np.uint64(FOLDS)


@dataclass(frozen=True)
class HeldOut:
    """Tasks whose truths are known, as a panel decides them that knows those of other tasks.

    Parameters
    ----------
    task_hash
        The hashes of their ids.
    label, sure
        What the panel says, as a code, and how sure it is.
    wrong
        1 where it is wrong, 0 where it is right.
    """

    task_hash: npt.NDArray[np.uint64]
    label: Array
    sure: Floats
    wrong: Floats


def decide_held_out(run: Run, n_answers: int, weigh: Callable[[Run], Weighing]) -> HeldOut:
    """Let a panel decide tasks whose truths are known, each as if this one were not.

    Parameters
    ----------
    run, n_answers
        The answers, and how many of them are looked at, at most.
    weigh
        What weighs the judges by their answers, and by the truths that are known.

    >>> import allalike
    >>> said = {"ada": "xxyyxyxyxy", "bob": "xxyyxyxyxx", "eve": "xxyyxyxxxy"}
    >>> rows = [(judge, task, label) for judge, labels in said.items() for task, label in enumerate(labels)]
    >>> gold = dict(enumerate("xxyyxyxyxx"))
    >>> run = allalike.discover(rows, gold=gold).run
    >>> decide_held_out(run, 100, allalike.Auto().weigh).wrong.mean()
    np.float64(0.1)
    """
    sample = sample_tasks(run, n_answers)
    ready = [run.encoding.prepare(block) for block in sample.blocks]
    sample = replace(sample, shards=[replace(sample.shards[0], blocks=ready)])
    parts = [_decide(sample, fold, weigh) for fold in range(FOLDS)]
    return HeldOut(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _decide(run: MemoryRun, fold: int, weigh: Callable[[Run], Weighing]) -> tuple[Array, Array, Floats, Floats]:
    """Return hashes, labels, sureness and errors of the tasks of one part."""
    blocks = [_forget(block, fold) for block in run.blocks]
    shard = replace(run.shards[0], blocks=blocks)
    weighing = weigh(replace(run, shards=[shard], n_gold=sum(len(block.gold_task) for block in blocks)))
    decide = weighing.decide_on(run)
    parts = [_compare(block, decide(block, *weighing.arguments), fold) for block in run.blocks]
    hashes, label, sure, wrong = (np.concatenate(column) for column in zip(*parts, strict=True))
    return hashes, label, sure, wrong


def _compare(block: Block, found: dict[str, Array], fold: int) -> tuple[Array, Array, Floats, Floats]:
    """Return the same of one block."""
    mine = fold_of(block.task_hash[block.gold_task]) == fold
    task, gold = block.gold_task[mine], block.gold_label[mine]
    label = found["label"][task]
    return block.task_hash[task], label, found["confidence"][task], (label != gold).astype(np.float64)


def _forget(block: Block, fold: int) -> Block:
    """Return a block that does not know the truths of one part."""
    kept = fold_of(block.task_hash[block.gold_task]) != fold
    return replace(block, gold_task=block.gold_task[kept], gold_label=block.gold_label[kept])
