"""Absence: what the truths would be without a worker.

Her answers are taken out, the others are weighed again by the same method, and all tasks are decided again. Tasks that
only she answered have no truth then. The distance between both truths, on average over all other tasks, is how far she
moves them; of classes it is the share of truths that are others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.problems import Problems
from allalike._core.columns.values import Values
from allalike.answers.history import History
from allalike.engines.sample import sample_tasks
from allalike.engines.shards import Shard

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from allalike._core.blocks.block import Block
    from allalike.domains import Encoding
    from allalike.engines import Run, TaskTable
    from allalike.engines.memory import MemoryRun

__all__ = ["MAX_ANSWERS", "Absence", "find_absence"]

MAX_ANSWERS = 1_000_000  # for more, all of it would take as long as the result itself


@dataclass(frozen=True)
class Absence:
    """What is otherwise without a worker.

    Parameters
    ----------
    changed
        How many truths are others.
    tasks
        How many tasks still have answers.
    only
        How many tasks only she answered.
    shift
        How far both truths are apart, on average.

    >>> Absence(changed=2, tasks=10, only=0, shift=0.2).changed
    2
    """

    changed: int
    tasks: int
    only: int
    shift: float


def find_absence(run: Run, found: TaskTable, again: Callable[[Run], TaskTable], worker: int) -> Absence | None:
    """Find the truths again without a worker, and compare; None where nobody else answered.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "y"), ("eve", 2, "y")], method="UA")
    >>> find_absence(result.run, result.found, result.again, 2).only
    1
    """
    rest = _leave_out(run, worker)
    if rest is None:
        return None
    label = again(rest).joined().found["label"]
    hashes = rest.shards[0].task_hash
    scatter = np.concatenate([run.kernels.scatter(block) for block in rest.blocks])
    changed, shift, compared = 0, 0.0, 0
    for piece in found.pieces():
        own = piece.tasks.hashes()
        place = np.minimum(np.searchsorted(hashes, own), len(hashes) - 1)
        here = np.flatnonzero(hashes[place] == own)
        before, after = piece.found["label"][here], label[place[here]]
        changed += int(np.count_nonzero(run.kernels.differs(before, after, scatter[place[here]])))
        shift += float(np.nansum(run.kernels.distance_between(before, after))) if len(here) else 0.0
        compared += len(here)
    return Absence(changed, compared, run.n_tasks - compared, shift / compared)


def _leave_out(run: Run, worker: int) -> MemoryRun | None:
    """Return a run in memory without the answers of a worker, and without her."""
    whole = sample_tasks(run, 2 * int(run.answer_counts.sum()))
    blocks = [_without(block, worker, run.encoding) for block in whole.blocks]
    blocks = [block for block in blocks if block.n_tasks]
    if not blocks:
        return None
    others = np.delete(np.arange(len(run.workers)), worker)
    past = run.history
    return replace(
        whole,
        shards=[Shard(blocks, *_name_tasks(blocks))],
        workers=run.workers.take(others),
        answer_counts=run.answer_counts[others],
        problems=Problems.single(len(others)),
        n_tasks=sum(block.n_tasks for block in blocks),
        n_gold=sum(len(block.gold_task) for block in blocks),
        history=None if past is None else History(past.answers[others], past.fault[others]),
    )


def _name_tasks(blocks: list[Block]) -> tuple[Values, npt.NDArray[np.int64]]:
    return Values(np.concatenate([block.task_hash for block in blocks])), np.concatenate([b.sizes for b in blocks])


def _without(block: Block, worker: int, encoding: Encoding) -> Block:
    """Return a block without the answers of a worker; those after her have the number before theirs."""
    stays = block.worker != worker
    sizes = np.add.reduceat(stays.astype(np.int64), block.starts)
    left = sizes > 0
    place = np.cumsum(left) - 1
    known = left[block.gold_task]
    rows = np.flatnonzero(stays)
    rest = replace(
        block,
        starts=np.cumsum(sizes[left]) - sizes[left],
        sizes=sizes[left],
        worker=block.worker[rows] - (block.worker[rows] > worker),
        label=block.label[rows],
        n_workers=block.n_workers - 1,
        task_hash=block.task_hash[left],
        gold_task=place[block.gold_task[known]],
        gold_label=block.gold_label[known],
        prepared={},
    )
    return encoding.prepare(rest) if rest.n_tasks else rest
