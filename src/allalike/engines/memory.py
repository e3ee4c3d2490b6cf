"""The memory engine: all blocks in one process.

A round is a loop over cache-sized blocks without copies. The engine is the default, and works for up to a hundred
million answers in 5 GB. It fails if the answers do not fit in memory. For files larger than half of the free memory,
the disk engine is the default.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.blocks.block import DRAWN, Ties
from allalike._core.options import Options, whole
from allalike._core.system.memory import check_memory
from allalike._core.system.progress import report
from allalike.engines.base import Engine, Run
from allalike.engines.shards import (
    Shard,
    count_threads,
    describe,
    find_piece,
    in_order,
    in_threads,
    of_answers,
    sum_up,
)
from allalike.engines.sums import PairSums, Piece, Sums, TaskTable, select_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from allalike._core.blocks.block import Block, Floats, Kernel
    from allalike.answers import Answers
    from allalike.answers.gold import Gold
    from allalike.readers import Scan

_MIN_SHARDED_BYTES = 1 << 29  # file size from which files are read in parts
_SHARD_BYTES = 1 << 25  # bytes of rows per shard of such a file
_MAX_PARTS = 32  # parts of the blocks, each with its own sums
_WORTH_THREADS = 1 << 17  # number of answers from which threads save time
_SMALL_SUMS = 1 << 28  # bytes of the sums of all threads up to which the free memory is not checked
_MAX_SHARE = 0.25  # share of the free memory for larger sums


@dataclass(frozen=True, kw_only=True)
class Memory(Options, Engine):
    """The engine that keeps all answers in memory.

    Parameters
    ----------
    block_answers
        Approximate number of answers per block; by default as many as fit in the cache. It does not change results.
        threads
        Number of threads; by default the environment variable ``ALLALIKE_THREADS``, or the number of cores. Results
        are identical for any number of threads.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y")]
    >>> allalike.discover(rows, engine=Memory(block_answers=2)).truth["label"].tolist()
    ['x', 'y']
    """

    name: ClassVar[str] = "memory"
    block_answers: int | None = whole(None, least=1)
    threads: int | None = whole(None, least=1)

    def load(self, answers: Answers, ties: Ties = DRAWN) -> MemoryRun:
        """Divide the answers into prepared blocks."""
        shard, _ = of_answers(answers, self.block_answers, partial(report, "preparing"))
        return MemoryRun([shard], **describe(answers, ties), block_answers=self.block_answers, threads=self.threads)

    def reads(self, source: Scan) -> bool:
        """Return whether the files are so large that reading them in parts saves time and memory."""
        return source.size > _MIN_SHARDED_BYTES

    def open(self, source: Scan, gold: Gold | None, ties: Ties) -> MemoryRun:
        """Route rows to partitions, and make a shard from each partition."""
        from allalike.engines.ingest import route

        stream = source.stream()
        check_memory(stream.size, "The table of answers", "Keep the answers on disk with engine='disk'.")
        routed = route(stream, None, stream.size // _SHARD_BYTES)
        shards, _, known = routed.make_shards(lambda number, answers: of_answers(answers), gold, ties)
        return MemoryRun(shards, **known, threads=self.threads)


@dataclass(frozen=True)
class MemoryTable(TaskTable):
    """A task table in memory."""

    piece: Piece

    def sums(self, name: str) -> list[tuple[float, int]]:
        """Return the sum and count of an array."""
        return [sum_up(self.piece.found[name])]

    def pieces(self) -> Iterator[Piece]:
        """Yield all tasks as one piece."""
        yield self.piece


@dataclass(frozen=True, eq=False)
class MemoryRun(Run):
    """Shards of prepared blocks in memory; sums are added in the order of blocks.

    There is one shard, or several if large files were read in parts.
    """

    shards: list[Shard]

    @property
    def blocks(self) -> list[Block]:
        """All blocks, in order."""
        return [block for shard in self.shards for block in shard.blocks]

    def sum(self, kernel: Kernel, *params: Floats) -> dict[str, Floats]:
        """Add up the results of the kernel."""
        add_up = partial(Sums.of, n_workers=len(self.answer_counts), kernel=kernel, params=params)
        first, *others = self._parts or [[]]
        sums = add_up(first)
        if others:
            for more in in_threads(add_up, others, self._fitting_threads(sums)):
                sums.merge(more)
        return sums.arrays

    @cached_property
    def _parts(self) -> list[list[Block]]:
        """Consecutive blocks, in parts with their own sums."""
        blocks = self.blocks
        step = max(1, -(-len(blocks) // _MAX_PARTS))
        return [blocks[first : first + step] for first in range(0, len(blocks), step)]

    @cached_property
    def _n_threads(self) -> int:
        """The number of threads: one for little work, unless more are requested."""
        threads = count_threads(self.threads)
        return threads if self.threads is not None or self.answer_counts.sum() >= _WORTH_THREADS else 1

    def _fitting_threads(self, sums: Sums) -> int:
        """Return the number of threads whose sums fit in memory together."""
        size, threads = sum(array.nbytes for array in sums.arrays.values()), self._n_threads
        if size * threads < _SMALL_SUMS:
            return threads
        return max(1, min(threads, int(_MAX_SHARE * self.free_memory) // size))

    def total(self, kernel: Kernel) -> dict[str, Floats]:
        """Add up the results of the kernel unchanged."""
        return Sums.of(self.blocks, None, kernel).arrays

    def pairs(self, kernel: Kernel, rows: range | None = None) -> dict[str, Any]:
        """Add up the matrices of the kernel."""
        sums = PairSums(len(self.answer_counts), rows)
        parts = in_threads(partial(sums.find, kernel=kernel), self.blocks, self._n_threads)
        for block, part in zip(self.blocks, parts, strict=True):
            sums.add_found(block, part)
        return sums.result()

    def find(self, kernel: Kernel, *params: Floats) -> MemoryTable:
        """Join the results of the kernel."""
        pieces = [find_piece(shard, kernel, params, self._n_threads) for shard in self.shards]
        return MemoryTable(pieces[0] if len(pieces) == 1 else in_order(pieces))

    def gather(self, kernel: Callable[..., Block], *params: Floats) -> list[Block]:
        """Apply a kernel to all blocks."""
        return [kernel(block, *select_workers(block, params)) for block in self.blocks]

    def map(self, change: Callable[[Block], Block]) -> MemoryRun:
        """Change all blocks immediately."""
        return replace(self, shards=[replace(shard, blocks=list(map(change, shard.blocks))) for shard in self.shards])

    def each_shard(self) -> Iterator[Shard]:
        """Yield the shards."""
        yield from self.shards
