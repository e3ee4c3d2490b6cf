"""Halves: two crowds made of one, which answer the same tasks and have no worker in common.

What both of them find out, each for herself, is no accident of who happened to answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import Block, sum_by
from allalike._core.blocks.problems import Problems
from allalike._core.columns.hashes import mix
from allalike.answers.history import History
from allalike.engines.shards import Shard

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array
    from allalike.engines.memory import MemoryRun

__all__ = ["draw_halves", "halve"]


def draw_halves(run: MemoryRun, group: Array, seed: int) -> npt.NDArray[np.intp]:
    """Draw of each worker in which half she is: of two groups with about as many answers, one goes into each.

    Each group has the number of one of its members, and stays together.

    >>> import allalike
    >>> from allalike.engines.sample import sample_tasks
    >>> rows = [(worker, task, "x") for worker in "abcd" for task in range(9)]
    >>> run = sample_tasks(allalike.Memory().load(allalike.read(rows)), 100)
    >>> half = draw_halves(run, np.array([0, 0, 2, 3]), 0)
    >>> int(half[0]) == int(half[1]), int(half.sum()) in (1, 2, 3)
    (True, True)
    """
    n = len(group)
    drawn = mix(run.workers.hashes() ^ mix(np.array([seed], np.uint64)))
    answers = sum_by(group, run.answer_counts.astype(np.float64), n)
    first = np.flatnonzero(group == np.arange(n))
    problem = np.repeat(np.arange(len(run.problems.sizes)), run.problems.sizes)
    order = first[np.lexsort((drawn[first], -answers[first], problem[first]))]
    rank = np.arange(len(order)) - np.searchsorted(problem[order], problem[order])
    leader = order[np.arange(len(order)) - rank % 2]  # of the pair, whose draw decides for both
    half = np.zeros(n, np.intp)
    half[order] = (mix(drawn[leader]) + rank.astype(np.uint64)) % np.uint64(2)
    return half[group]


def halve(run: MemoryRun, half: npt.NDArray[np.intp]) -> tuple[MemoryRun, npt.NDArray[np.intp]]:
    """Make two problems of each: that of the workers of the first half, and that of the others; and order workers so.

    A task stands in both, with the same hash, where workers of both have answered it. Known truths are left out.

    >>> import allalike
    >>> from allalike.engines.sample import sample_tasks
    >>> rows = [(worker, task, "x") for worker in "abc" for task in range(9)]
    >>> run, order = halve(sample_tasks(allalike.Memory().load(allalike.read(rows)), 100), np.array([0, 1, 0]))
    >>> run.problems.sizes, run.n_tasks, order
    (array([2, 1]), 18, array([0, 2, 1]))
    """
    problem = np.repeat(np.arange(len(run.problems.sizes)), run.problems.sizes)
    order = np.lexsort((half, problem))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    blocks = [_halve(block, half, place) for block in run.blocks]
    sizes = np.concatenate([block.sizes for block in blocks])
    tasks = run.shards[0].tasks
    halved = replace(
        run,
        shards=[Shard(blocks, tasks, sizes)],
        workers=run.workers.take(order),
        answer_counts=run.answer_counts[order],
        n_tasks=len(sizes),
        n_gold=0,
        problems=Problems(np.bincount(2 * problem + half, minlength=2 * len(run.problems.sizes))),
        worker_task=None,
        history=None if run.history is None else History(run.history.answers[order], run.history.fault[order]),
    )
    return halved, order


def _halve(block: Block, half: npt.NDArray[np.intp], place: npt.NDArray[np.intp]) -> Block:
    part = 2 * block.task + half[block.worker]
    rows = np.argsort(part, kind="stable")
    sizes = np.bincount(part, minlength=2 * block.n_tasks)
    there = np.flatnonzero(sizes)
    return replace(
        block,
        starts=np.cumsum(sizes[there]) - sizes[there],
        sizes=sizes[there],
        worker=place[block.worker[rows]],
        label=block.label[rows],
        task_hash=block.task_hash[there // 2],
        gold_task=block.gold_task[:0],
        gold_label=block.gold_label[:0],
        prepared={},
    )
