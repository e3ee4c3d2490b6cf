"""The machine: how much memory it has to give."""

from __future__ import annotations

import os
import re
from pathlib import Path

from allalike.errors import OptionError

__all__ = ["free_memory", "parse_size"]

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


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


def parse_size(size: str | float, option: str) -> int:
    """Return how many bytes are meant.

    >>> parse_size("2GB", "memory"), parse_size("1.5 mb", "memory"), parse_size(1e6, "memory")
    (2000000000, 1500000, 1000000)
    >>> parse_size("much", "memory")
    Traceback (most recent call last):
    allalike.errors.OptionError: memory is 'much'. Write a size such as '2GB' or '500MB'.
    """
    parts = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?(?:e[0-9]+)?)\s*([A-Za-z]*)\s*", str(size))
    unit = _UNITS.get(parts[2].upper().replace("IB", "B")) if parts else None
    if parts is None or unit is None or float(parts[1]) * unit < 1:
        raise OptionError(f"{option} is {size!r}. Write a size such as '2GB' or '500MB'.")
    return int(float(parts[1]) * unit)
