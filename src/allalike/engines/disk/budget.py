"""Budget: what the disk engine does with the memory that it is given.

Each process takes some of it for Python and its libraries, before it does anything. So there are no more processes than
leave each of them enough to work with, and shards and blocks are as small as that asks for.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from allalike._core.system.memory import free_memory, used_memory
from allalike.engines.shards import fitting_answers

__all__ = ["MIN_MEMORY", "MemoryBudget"]

MIN_MEMORY = 500_000_000  # in bytes, for Python itself and a batch of rows
_PYTHON_BYTES = 190_000_000  # of a process that has loaded all libraries, and does nothing
_PROCESS_BYTES = 250_000_000  # of one that works, at least
_MIN_WORK_BYTES = 1 << 26  # of one beside Python
_LITTLE_BYTES = 1 << 24  # which are there in any case
_MAX_SHARD_BYTES = 1 << 25  # of rows that make a shard
_MEMORY_PER_SHARD_BYTE = 24  # so many times its size a shard needs while it is made, in each process
_ANSWER_BYTES = 64  # of an answer and a label, while those of a block are compared
_MIN_BLOCK_ANSWERS, _MAX_LABELS = 1 << 12, 50  # labels that are compared with each answer


@dataclass(frozen=True)
class MemoryBudget:
    """The memory of a run.

    Parameters
    ----------
    most
        How many bytes all processes may have together, with what this one had before.
    processes
        How many processes there are.
    work
        How many bytes each of them may use beside Python.

    >>> budget = MemoryBudget.of(500_000_000, None)
    >>> budget.processes, budget.shard_bytes, budget.block_answers(50_000, n_labels=50)
    (1, 12916666, 96875)
    """

    most: int
    processes: int
    work: int

    @classmethod
    def of(cls, memory: int | None, processes: int | None) -> MemoryBudget:
        """Divide so much memory, by default half of what is free, among processes, by default as many as it serves."""
        given = max(MIN_MEMORY, free_memory() // 2) if memory is None else memory
        number = processes or max(1, min(os.cpu_count() or 1, given // _PROCESS_BYTES - 1))
        work = max(_MIN_WORK_BYTES, given // (number + (number > 1)) - _PYTHON_BYTES)
        return cls(given + max(0, used_memory() - _PYTHON_BYTES), number, work)

    @property
    def free(self) -> int:
        """How many bytes are left, or a little."""
        return max(_LITTLE_BYTES, self.most - used_memory())

    @property
    def shard_bytes(self) -> int:
        """How many bytes of rows make a shard."""
        return min(_MAX_SHARD_BYTES, self.work // _MEMORY_PER_SHARD_BYTE)

    def block_answers(self, n_workers: int, n_labels: int) -> int:
        """Return how many answers a block holds, where so many labels are told apart."""
        most = self.work // (_ANSWER_BYTES * max(1, min(n_labels, _MAX_LABELS)))
        return max(_MIN_BLOCK_ANSWERS, min(most, fitting_answers(n_workers)))
