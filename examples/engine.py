"""A custom engine: blocks in memory, and kernels that run in several threads.

Results are added up in the order of blocks, whichever thread is done first, so two runs give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, TypeVar

from allalike.answers import Answers
from allalike.engines import Engine, Run, TaskTable
from allalike.engines.memory import MemoryTable
from allalike.engines.shards import Shard, describe, find_piece, of_answers
from allalike.engines.sums import PairSums, Sums, select_workers
from allalike.extending import DRAWN, Block, Floats, Kernel, Options, Ties, whole

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Threads(Options, Engine):
    """Threads in one process."""

    name: ClassVar[str] = "threads"
    number: int = whole(2, least=1)
    block_answers: int | None = whole(None, least=1)

    def load(self, answers: Answers, ties: Ties = DRAWN) -> ThreadsRun:
        """Cut the answers into blocks, and prepare these."""
        shard, _ = of_answers(answers, self.block_answers)
        return ThreadsRun(shard=shard, number=self.number, **describe(answers, ties))


@dataclass(frozen=True, eq=False, kw_only=True)
class ThreadsRun(Run):
    """Blocks to which threads apply kernels, with the seven methods of a run."""

    shard: Shard
    number: int

    def each(self, work: Callable[[Block], T]) -> list[T]:
        """Apply a function to all blocks, and return the results in the order of blocks."""
        with ThreadPoolExecutor(self.number) as pool:
            return list(pool.map(work, self.shard.blocks))

    def sum(self, kernel: Kernel, *params: Floats) -> dict[str, Floats]:
        """Add up arrays that have a row for each worker."""
        parts = self.each(lambda block: Sums.of([block], len(self.workers), kernel, params))
        return reduce(Sums.merge, parts).arrays

    def total(self, kernel: Kernel) -> dict[str, Floats]:
        """Add up arrays that belong to no worker."""
        return reduce(Sums.merge, self.each(lambda block: Sums.of([block], None, kernel))).arrays

    def pairs(self, kernel: Kernel, rows: range | None = None) -> dict[str, Any]:
        """Add up matrices that have a row for each of some workers, and a column for each of all."""
        sums = PairSums(len(self.workers), rows)
        for block, found in zip(self.shard.blocks, self.each(lambda block: sums.find(block, kernel)), strict=True):
            sums.add_found(block, found)
        return sums.result()

    def find(self, kernel: Kernel, *params: Floats) -> TaskTable:
        """Return what a kernel finds for each task."""
        return MemoryTable(find_piece(self.shard, kernel, params))

    def gather(self, kernel: Callable[..., Block], *params: Floats) -> list[Block]:
        """Return what a kernel makes of each block."""
        return self.each(lambda block: kernel(block, *select_workers(block, params)))

    def map(self, change: Callable[[Block], Block]) -> ThreadsRun:
        """Return a run over changed blocks."""
        return replace(self, shard=replace(self.shard, blocks=self.each(change)))

    def each_shard(self) -> Iterator[Shard]:
        """Yield all there is."""
        yield self.shard
