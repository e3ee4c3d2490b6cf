"""The memory engine: all blocks in one process."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike.engines.base import Engine, Run
from allalike.progress import report
from allalike.registry import check_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike.answers import Answers
    from allalike.blocks import Array, Block, Floats, Kernel
    from allalike.ties import Ties

__all__ = ["Memory"]

_SMALLEST, _LARGEST = 1 << 16, 1 << 18  # answers in a block
_PER_WORKER = 10  # answers in a block for each worker, so that sums per worker cost little beside the block


@dataclass(frozen=True, kw_only=True)
class Memory(Engine):
    """Keep all answers in memory.

    Parameters
    ----------
    block_answers
        How many answers a block holds, about; by default as many as fit in the cache. It does not change results.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y")]
    >>> allalike.discover(rows, engine=Memory(block_answers=2)).truth["label"].tolist()
    ['x', 'y']
    """

    name: ClassVar[str] = "memory"
    block_answers: int | None = None

    def __post_init__(self) -> None:
        if self.block_answers is not None:
            check_number(self.block_answers, "block_answers", least=1, whole=True)

    def load(self, answers: Answers, ties: Ties) -> MemoryRun:
        """Cut the answers into blocks, and prepare these."""
        fitting = min(max(_SMALLEST, _PER_WORKER * len(answers.workers)), _LARGEST)
        return MemoryRun(answers, ties, self.block_answers or fitting)


class _Sum:
    """Add up sparse matrices as a binary counter does, small ones with small ones.

    Each is copied as often as there are doublings; added one by one, the sum itself would be copied every time.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[int, Any]] = []

    def add(self, matrix: Any) -> None:
        level = 0
        while self._parts and self._parts[-1][0] == level:
            matrix = self._parts.pop()[1] + matrix
            level += 1
        self._parts.append((level, matrix))

    def result(self) -> Any:
        _, total = self._parts.pop()
        while self._parts:
            total = self._parts.pop()[1] + total
        return total


class MemoryRun(Run):
    """Hold prepared blocks; sums are added in the order of blocks."""

    _blocks: list[Block]

    def __init__(self, answers: Answers, ties: Ties, block_answers: int) -> None:
        self.workers = answers.workers
        self.domain = answers.domain
        self.crowds = answers.crowds
        self.ties = ties
        self._blocks = []
        done = 0
        for block in answers.blocks(block_answers):
            report("preparing", done, answers.n_answers)
            self._blocks.append(self.domain.prepare(block))
            done += len(block.label)

    def sum(self, kernel: Kernel, *params: Floats) -> dict[str, Floats]:
        """Add up what the kernel returns for each block, in place."""
        sums: dict[str, Floats] = {}
        for block in self._blocks:
            for name, part in kernel(block, *(param[block.workers] for param in params)).items():
                if name not in sums:
                    sums[name] = np.zeros((len(self.workers), *part.shape[1:]))
                sums[name][block.workers] += part
        return sums

    def pairs(self, kernel: Kernel) -> dict[str, Any]:
        """Add up sparse matrices, at the places of the block's workers."""
        from scipy import sparse

        everyone = np.arange(len(self.workers))
        sums: dict[str, _Sum] = {}
        for block in self._blocks:
            who = everyone[block.workers]
            for name, part in kernel(block).items():
                local = part.tocoo()
                place = who[local.row], who[local.col]
                matrix = sparse.csr_array((local.data, place), shape=(len(everyone), len(everyone)))
                sums.setdefault(name, _Sum()).add(matrix)
        return {name: total.result() for name, total in sums.items()}

    def collect(self, kernel: Kernel, *params: Floats) -> dict[str, Array]:
        """Join what the kernel returns for each block."""
        parts = [kernel(block, *(param[block.workers] for param in params)) for block in self._blocks]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def map(self, change: Callable[[Block], Block]) -> MemoryRun:
        """Change all blocks now."""
        changed = copy(self)
        changed._blocks = [change(block) for block in self._blocks]
        return changed
