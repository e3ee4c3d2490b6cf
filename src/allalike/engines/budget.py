"""Memory budget: the division of a memory limit among processes, shards and blocks.

Each process needs memory for Python and its libraries. The rest determines the numbers of processes and blocks.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from allalike._core.system.memory import free_memory, used_memory

MIN_MEMORY = 500_000_000  # in bytes, for Python itself and a batch of rows
_PYTHON_BYTES = 190_000_000  # memory of an idle process with all libraries
_PROCESS_BYTES = 250_000_000  # minimum for a working process
_MIN_WORK_BYTES = 1 << 26  # minimum for a process's data
_LITTLE_BYTES = 1 << 24  # always allowed
_MAX_SHARD_BYTES = 1 << 25  # of rows per shard
_MEMORY_PER_SHARD_BYTE = 24  # memory for making a shard, per byte of its rows
_ANSWER_BYTES = 64  # memory for comparing an answer with a label
_MIN_BLOCK_ANSWERS, _MAX_LABELS = 1 << 12, 50  # labels that are compared with each answer


@dataclass(frozen=True)
class MemoryBudget:
    """The memory limit of a run: in total, and for the data of each process.

    >>> budget = MemoryBudget.of(500_000_000, None)
    >>> budget.processes, budget.shard_bytes, budget.block_answers(n_labels=50)
    (1, 12916666, 96875)
    """

    most: int
    processes: int
    work: int

    @classmethod
    def of(cls, memory: int | None, processes: int | None) -> MemoryBudget:
        """Divide a memory limit, by default half of the free memory, among processes."""
        given = max(MIN_MEMORY, free_memory() // 2) if memory is None else memory
        number = processes or max(1, min(os.cpu_count() or 1, given // _PROCESS_BYTES - 1))
        work = max(_MIN_WORK_BYTES, given // (number + (number > 1)) - _PYTHON_BYTES)
        return cls(given + max(0, used_memory() - _PYTHON_BYTES), number, work)

    @property
    def free(self) -> int:
        """The remaining bytes, but at least a minimum."""
        return max(_LITTLE_BYTES, self.most - used_memory())

    @property
    def shard_bytes(self) -> int:
        """The bytes of rows per shard."""
        return min(_MAX_SHARD_BYTES, self.work // _MEMORY_PER_SHARD_BYTE)

    def block_answers(self, n_labels: int) -> int:
        """Return the number of answers per block, given the number of distinct labels."""
        return max(_MIN_BLOCK_ANSWERS, self.work // (_ANSWER_BYTES * max(1, min(n_labels, _MAX_LABELS))))
