"""The machine: how much memory it has to give."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["free_memory"]


def free_memory() -> int:
    """Return how many bytes can be had without swapping; where the system does not say, half of all memory.

    >>> free_memory() > 0
    True
    """
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
