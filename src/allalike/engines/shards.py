"""Shards: groups of whole tasks, for engines that store the answers in parts.

A shard uses the worker numbers and the encoding of all answers, so that the sums of its shards add up to those of all
answers. The functions here process one shard; an engine stores shards and adds up their results.
"""

from __future__ import annotations

import contextvars
import itertools
import os
from bisect import bisect_left
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from allalike._core.columns.factors import order_of
from allalike._core.columns.values import Values
from allalike.answers import Answers
from allalike.engines.sums import Piece, select_workers
from allalike.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats, Kernel, Ties
    from allalike._core.columns.column import Column
    from allalike.answers.gold import Gold, Truths
    from allalike.domains import Encoding


# Threads. Parts depend only on the data, and their results are added in order. The sums are therefore identical for any
# number of threads.


Part = TypeVar("Part")
Found = TypeVar("Found")
_SWITCH = "ALLALIKE_THREADS"


def count_threads(asked: int | None = None) -> int:
    """Return the number of threads: as requested, as in the environment, or the number of cores.

    >>> count_threads(3)
    3
    """
    setting = os.environ.get(_SWITCH)
    if asked is None and setting:
        if not setting.isdecimal() or not int(setting):
            raise OptionError(f"{_SWITCH} is {setting!r}. It must be a whole number, at least 1.")
        return int(setting)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return asked or cores


def in_threads(work: Callable[[Part], Found], parts: Sequence[Part], n_threads: int) -> Iterator[Found]:
    """Yield the result of each part in order, with at most ``n_threads`` parts in progress.

    >>> list(in_threads(len, ["a", "bcd", ""], 2))
    [1, 3, 0]
    """
    if n_threads < 2 or len(parts) < 2:
        yield from map(work, parts)
        return
    pool = ThreadPoolExecutor(min(n_threads, len(parts)))
    waiting: deque[Future[Found]] = deque()
    try:
        for part in parts:
            waiting.append(pool.submit(contextvars.copy_context().run, work, part))
            if len(waiting) >= n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


REPEATS = ("duplicates_removed", "duplicates_added")  # notes on duplicate answers
_MIN_BLOCK_ANSWERS, _MAX_BLOCK_ANSWERS = 1 << 16, 1 << 18
_BLOCK_ANSWERS_PER_WORKER = 25  # answers per worker in a block, so that sums per worker take little time
_N_SAMPLE_TASKS = 256  # tasks of each shard for choosing the cuts


@dataclass(frozen=True)
class Tally:
    """Counts of a shard, and a sample of its tasks, evenly spaced."""

    n_tasks: int
    n_single: int
    only_number: float | None
    n_gold: int
    repeats: dict[str, int]
    sample_tasks: Values


def describe(answers: Answers, ties: Ties) -> dict[str, Any]:
    """Return the fields of a run for answers in memory."""
    return {
        "workers": answers.workers,
        "answer_counts": answers.answer_counts,
        "n_tasks": len(answers.tasks),
        "n_single": answers.n_single,
        "only_number": answers.only_number,
        "n_gold": len(answers.gold_task),
        "encoding": answers.encoding,
        "ties": ties,
        "notes": answers.notes,
        "worker_task": answers.worker_task,
        "sample_tasks": answers.tasks,
    }


def count_up(
    tallies: list[Tally], answer_counts: npt.NDArray[np.int64], gold: Gold | None, notes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields of a run that are known when all shards are made: counts and notes."""
    n_gold = sum(tally.n_gold for tally in tallies)
    counts = {name: sum(tally.repeats.get(name, 0) for tally in tallies) for name in REPEATS}
    numbers = {tally.only_number for tally in tallies}
    notes = {**{name: count for name, count in counts.items() if count}, **notes}
    if gold is not None:
        firsts = Values.join([tally.sample_tasks.take(np.zeros(1, np.int64)) for tally in tallies])
        notes["gold"] = gold.count(n_gold, firsts[int(order_of(firsts)[0])])
    return {
        "answer_counts": answer_counts,
        "n_tasks": sum(tally.n_tasks for tally in tallies),
        "n_single": sum(tally.n_single for tally in tallies),
        "only_number": numbers.pop() if len(numbers) == 1 else None,
        "n_gold": n_gold,
        "notes": notes,
        "sample_tasks": tallies[0].sample_tasks,
    }


@dataclass(frozen=True)
class Shard:
    """Prepared blocks of whole tasks, and these tasks with their numbers of answers."""

    blocks: list[Block]
    tasks: Values
    sizes: npt.NDArray[np.int64]

    @property
    def task_hash(self) -> npt.NDArray[np.uint64]:
        """The hash of each task."""
        return np.concatenate([block.task_hash for block in self.blocks])


def fitting_answers(n_workers: int) -> int:
    """Return the number of answers per block: as many as fit in the cache, more if there are many workers.

    >>> fitting_answers(10), fitting_answers(1_000_000)
    (65536, 262144)
    """
    return min(max(_MIN_BLOCK_ANSWERS, _BLOCK_ANSWERS_PER_WORKER * n_workers), _MAX_BLOCK_ANSWERS)


def encode(
    worker: Column, task: Column, label: Column, encoding: Encoding, truths: Truths | None, duplicates: str | None
) -> Answers:
    """Convert three columns to the answers of a shard."""
    answers = Answers.of_shard(worker, task, label, encoding, duplicates=duplicates)
    return answers if truths is None else answers.with_truths(truths)


def of_answers(
    answers: Answers, block_answers: int | None = None, notify: Callable[[int, int], None] = lambda done, total: None
) -> tuple[Shard, Tally]:
    """Divide answers into prepared blocks, by default of a suitable size, and report the progress."""
    blocks, done = [], 0
    for block in answers.blocks(block_answers or fitting_answers(len(answers.workers))):
        notify(done, answers.n_answers)
        blocks.append(answers.encoding.prepare(block))
        done += len(block.label)
    places = np.array(sorted(set(np.linspace(0, len(answers.tasks) - 1, _N_SAMPLE_TASKS).astype(np.int64).tolist())))
    tally = Tally(
        n_tasks=len(answers.tasks),
        n_single=answers.n_single,
        only_number=answers.only_number,
        n_gold=len(answers.gold_task),
        repeats={name: answers.notes[name] for name in REPEATS if name in answers.notes},
        sample_tasks=answers.tasks.take(places),
    )
    return Shard(blocks, answers.tasks, np.diff(answers.starts)), tally


def find_piece(shard: Shard, kernel: Kernel, params: tuple[Floats, ...], n_threads: int = 1) -> Piece:
    """Return a kernel's results for the tasks of a shard, in order."""
    parts = list(in_threads(lambda block: kernel(block, *select_workers(block, params)), shard.blocks, n_threads))
    found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Piece(shard.tasks, shard.sizes, found)


def sum_up(array: Array) -> tuple[float, int]:
    """Return the sum and count of the values that are not NaN; labels have no sum.

    >>> sum_up(np.array([0.5, np.nan, 1.0]))
    (1.5, 2)
    """
    if array.ndim != 1 or array.dtype.kind not in "bf":
        return np.nan, 0
    return float(np.nansum(array)), int(np.count_nonzero(~np.isnan(array)))


@dataclass(frozen=True)
class Cuts:
    """The tasks that divide all shards into ranges, so that tasks are sorted range by range."""

    tasks: list[Any]

    def __call__(self, piece: Piece) -> list[Piece]:
        """Divide a piece into ranges."""
        places = [bisect_left(range(len(piece.tasks)), task, key=piece.tasks.__getitem__) for task in self.tasks]
        bounds = [0, *places, len(piece.tasks)]
        return [piece.take(np.arange(begin, end)) for begin, end in itertools.pairwise(bounds)]


def sample_cuts(tallies: list[Tally], tasks_at_once: int) -> Cuts:
    """Return cuts with about this many tasks between them; tasks that are Python objects have no cuts."""
    n_tasks = sum(tally.n_tasks for tally in tallies)
    some = Values.join([tally.sample_tasks for tally in tallies])
    n_ranges = -(-n_tasks // tasks_at_once)
    if n_ranges == 1 or isinstance(some.data, list):
        return Cuts([])
    weight = np.concatenate(
        [np.full(len(tally.sample_tasks), tally.n_tasks / len(tally.sample_tasks)) for tally in tallies]
    )
    order = order_of(some)
    marks = np.arange(1, n_ranges) * (n_tasks / n_ranges)
    places = np.searchsorted(np.cumsum(weight[order]), marks)
    return Cuts([some[int(order[place])] for place in np.unique(places)])


def in_order(pieces: list[Piece]) -> Piece:
    """Join pieces of many shards, and sort their tasks."""
    joined = Piece.join(pieces)
    return joined.take(order_of(joined.tasks))
