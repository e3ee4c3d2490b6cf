"""Samples: whole tasks of a run in memory, for computations that would take too long on all tasks.

Tasks are chosen and sorted by the hash of their ids, so that a sample is the same on every engine, for every order of
rows and every size of blocks.

For split-half tests, `draw_halves` divides the workers into two halves.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import Array, Block
from allalike._core.columns.hashes import mix
from allalike._core.columns.values import Values, arrow_of
from allalike.engines.memory import MemoryRun
from allalike.engines.shards import Shard, fitting_answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from allalike.domains import Kernels
    from allalike.engines.base import Run

_MAX_GOLD = 1000  # number of gold labels up to which all their tasks are taken
_HASHES = 2.0**64


def sample_tasks(run: Run, n_answers: int, *, with_gold: bool = True, again: bool = False) -> MemoryRun:
    """Load a sample of about ``n_answers`` answers into memory, or all answers if there are fewer.

    The labels of its blocks are codes, and the blocks are not prepared. Unless ``with_gold`` is false, all tasks with
    gold labels are included if they are few. A sample of a sample requires ``again``, which changes the hash.

    >>> import allalike
    >>> rows = [(worker, task, "x") for worker in "abc" for task in range(100)]
    >>> run = allalike.Memory().load(allalike.read(rows))
    >>> sample_tasks(run, 1000).n_tasks, 15 < sample_tasks(run, 90).n_tasks < 45
    (100, True)
    >>> 2 < sample_tasks(sample_tasks(run, 90), 30, again=True).n_tasks < 20
    True
    """
    share = min(n_answers / run.answer_counts.sum(), 1.0)
    gold = "all" if with_gold and run.n_gold <= _MAX_GOLD else "any"
    choose = partial(_choose, kernels=run.kernels, share=share, gold=gold, again=again)
    block = join_blocks(run.gather(choose), len(run.workers))
    blocks = list(cut_block(block, fitting_answers(len(run.workers))))
    return MemoryRun(
        [Shard(blocks, Values(arrow_of(block.task_hash)), block.sizes)],
        workers=run.workers,
        answer_counts=np.bincount(block.worker, minlength=block.n_workers),
        n_tasks=block.n_tasks,
        n_gold=len(block.gold_task),
        encoding=run.encoding,
        ties=run.ties,
        notes={},
        worker_task=run.worker_task,
        threads=run.threads,
        history=run.history,
        budget=run.budget,
    )


def pick_tasks(run: Run, wanted: npt.NDArray[np.uint64], *, share: float = 0.0) -> Block:
    """Load the tasks with these hashes into memory, and a share of the others, chosen by hash.

    The labels are codes, the block is not prepared, and workers keep their numbers in the run.

    >>> import allalike
    >>> rows = [(worker, task, "x") for worker in "abc" for task in range(100)]
    >>> answers = allalike.read(rows)
    >>> run = allalike.Memory().load(answers)
    >>> pick_tasks(run, answers.tasks.hashes()[:2]).n_tasks, pick_tasks(run, np.empty(0, np.uint64), share=1.0).n_tasks
    (2, 100)
    """
    picked = run.gather(partial(_choose, kernels=run.kernels, wanted=np.sort(wanted), share=share))
    return join_blocks(picked, len(run.workers))


def pick_known(run: Run, most: int) -> Block:
    """Load at most about this many tasks with gold labels into memory, chosen by hash.

    >>> import allalike
    >>> rows = [(worker, task, "xy"[task % 2]) for worker in "abc" for task in range(100)]
    >>> run = allalike.discover(rows, gold={1: "y", 4: "x"}).run
    >>> pick_known(run, 10).n_tasks
    2
    """
    share = min(1.0, most / max(run.n_gold, 1))
    picked = run.gather(partial(_choose, kernels=run.kernels, share=share, gold="only"))
    return join_blocks(picked, len(run.workers))


def thin_tasks(run: MemoryRun, n_answers: int, seed: int) -> MemoryRun:
    """Keep at most this many answers per task, chosen by a hash of seed, task and worker.

    >>> import allalike
    >>> rows = [(worker, task, "x") for worker in "abc" for task in range(9)]
    >>> run = sample_tasks(allalike.Memory().load(allalike.read(rows)), 100)
    >>> thin_tasks(run, 2, 0).answer_counts.sum()
    np.int64(18)
    """
    worker_hash = mix(run.workers.hashes() + np.uint64(seed))
    blocks = [_thin(block, n_answers, worker_hash) for block in run.blocks]
    counts = np.bincount(np.concatenate([block.worker for block in blocks]), minlength=len(worker_hash))
    tasks, sizes = run.shards[0].tasks, np.concatenate([block.sizes for block in blocks])
    return replace(run, shards=[Shard(blocks, tasks, sizes)], answer_counts=counts, n_gold=0)


def _thin(block: Block, n_answers: int, worker_hash: Array) -> Block:
    task = block.task
    order = np.lexsort((mix(block.task_hash[task] ^ worker_hash[block.worker]), task))
    sizes = np.minimum(block.sizes, n_answers)
    rank = np.arange(len(order)) - block.to_answers(block.starts)
    rows = np.sort(order[rank < block.to_answers(sizes)])
    picked = block.pick(np.arange(block.n_tasks), rows)
    return replace(picked, starts=np.cumsum(sizes) - sizes, sizes=sizes)


def _choose(
    block: Block,
    *,
    kernels: Kernels,
    share: float,
    gold: str = "any",
    wanted: npt.NDArray[np.uint64] | None = None,
    again: bool = False,
) -> Block:
    """Return a share of a block's tasks, with the wanted ones; workers keep their numbers in the run.

    Tasks with gold labels are all included, the only ones or not treated specially.
    """
    drawn = mix(block.task_hash) if again else block.task_hash
    chosen = drawn / _HASHES <= share
    if wanted is not None:
        chosen |= np.isin(block.task_hash, wanted)
    if gold != "any":
        known = np.zeros(block.n_tasks, np.bool_)
        known[block.gold_task] = True
        chosen = chosen | known if gold == "all" else chosen & known
    tasks = np.flatnonzero(chosen)
    rows = np.flatnonzero(block.to_answers(chosen))
    picked = block.pick(tasks, rows)
    place = np.cumsum(chosen) - 1
    known = chosen[block.gold_task]
    return replace(
        picked,
        worker=picked.worker if isinstance(block.workers, slice) else block.workers[picked.worker],
        label=kernels.restore_answers(block, rows),
        workers=slice(None),
        gold_task=place[block.gold_task[known]],
        gold_label=kernels.restore_gold(block)[known],
    )


def join_blocks(blocks: list[Block], n_workers: int) -> Block:
    """Join blocks, sorted by the hashes of their tasks."""
    sizes, hashes = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("sizes", "task_hash"))
    worker, label = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("worker", "label"))
    before = np.cumsum([0, *(block.n_tasks for block in blocks)])
    gold_task = np.concatenate([first + block.gold_task for first, block in zip(before, blocks, strict=False)])
    gold_label = np.concatenate([block.gold_label for block in blocks])
    order = np.lexsort((worker[np.cumsum(sizes) - sizes], hashes))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    rows = np.argsort(np.repeat(place, sizes), kind="stable")
    known = np.argsort(place[gold_task])
    return Block(
        starts=np.cumsum(sizes[order]) - sizes[order],
        sizes=sizes[order],
        worker=worker[rows].astype(np.intp),
        label=label[rows],
        workers=slice(None),
        n_workers=n_workers,
        task_hash=hashes[order],
        gold_task=place[gold_task][known],
        gold_label=gold_label[known],
    )


def cut_block(block: Block, n_answers: int) -> Iterator[Block]:
    """Divide a block into smaller ones of about this many answers."""
    marks = np.arange(n_answers, len(block.label), n_answers)
    bounds = sorted({0, *np.searchsorted(block.starts, marks).tolist(), block.n_tasks})
    for begin, end in itertools.pairwise(bounds):
        first = block.starts[begin]
        last = first + block.sizes[begin:end].sum()
        known = slice(*np.searchsorted(block.gold_task, [begin, end]))
        part = block.pick(np.arange(begin, end), np.arange(first, last))
        yield replace(part, gold_task=block.gold_task[known] - begin, gold_label=block.gold_label[known])


def draw_halves(run: MemoryRun, seed: int) -> npt.NDArray[np.intp]:
    """Draw each worker's half: pairs of workers with similar numbers of answers are split between the halves.

    >>> import allalike
    >>> rows = [(worker, task, "x") for worker in "abcd" for task in range(9)]
    >>> run = sample_tasks(allalike.Memory().load(allalike.read(rows)), 100)
    >>> int(draw_halves(run, 0).sum())
    2
    """
    drawn = mix(run.workers.hashes() ^ mix(np.array([seed], np.uint64)))
    order = np.lexsort((drawn, -run.answer_counts.astype(np.float64)))
    rank = np.arange(len(order))
    leader = order[rank - rank % 2]  # whose draw decides for the pair
    half = np.zeros(len(order), np.intp)
    half[order] = (mix(drawn[leader]) + rank.astype(np.uint64)) % np.uint64(2)
    return half
