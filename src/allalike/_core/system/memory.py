"""Free and used memory, and sizes in bytes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from allalike.errors import OptionError, TooLargeError

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_LITTLE = 1 << 26  # bytes up to which the free memory is not measured


def free_memory(root: Path = Path("/")) -> int:
    """Return the bytes that are free without swapping, within the limits of machine, container and process.

    On Linux, reading a file is faster than importing psutil.
    """
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
        free = int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) << 10
    except (OSError, StopIteration):
        import psutil

        free = int(psutil.virtual_memory().available)
    return min([free, *_free_in_groups(root), *_free_of_process()])


def _free_of_process() -> Iterator[int]:
    """Yield the bytes left by the limit of this process (``ulimit -v``), if there is one."""
    if sys.platform != "win32":
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            import psutil

            yield max(0, limit - psutil.Process().memory_info().vms)


def _free_in_groups(root: Path) -> Iterator[int]:
    """Yield the bytes left by the limit of each control group of this process, its own and those above."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:  # there are no control groups
        return
    place = next((line[3:] for line in lines if line.startswith("0::")), None)  # of version 2
    top = root / "sys/fs/cgroup"
    group = top / (place or "").lstrip("/")
    for each in (group, *group.parents[: len(group.parts) - len(top.parts)]) if place is not None else ():
        with suppress(OSError, ValueError):  # "max" means no limit; a container lacks folders of the host
            limit, used, facts = ((each / f"memory.{name}").read_text("ascii") for name in ("max", "current", "stat"))
            cached = dict(line.split() for line in facts.splitlines()).get("inactive_file", 0)
            yield max(0, int(limit) - int(used) + int(cached))


def used_memory() -> int:
    """Return the bytes that this process and its children use; shared memory counts for each of them.

    Unused memory of this process is returned to the system first, if possible.
    """
    import ctypes

    import psutil

    with suppress(OSError, TypeError, AttributeError):  # not Linux, or another C library
        ctypes.CDLL(None).malloc_trim(0)
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    own, used = psutil.Process(), 0
    for each in (own, *own.children(recursive=True)):
        with suppress(psutil.Error):  # it has ended in the meantime
            used += each.memory_info().rss
    return used


def check_memory(needed: float, what: str, instead: str) -> None:
    """Raise an error with an alternative if a computation would need more bytes than are free.

    >>> check_memory(1e6, "A small table", "Write less.")
    >>> check_memory(1e18, "A large table", "Write less.")
    Traceback (most recent call last):
    allalike.errors.TooLargeError: A large table would need about 1,000,000,000.0 GB of memory, and ... GB are free.
    Write less.
    """
    if needed > _LITTLE and needed > (free := free_memory()):
        sizes = f"{needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free"
        raise TooLargeError(f"{what} would need about {sizes}. {instead}")


def parse_size(size: str | float, option: str) -> int:
    """Parse a size such as ``"2GB"`` and return the number of bytes.

    >>> parse_size("2GB", "memory"), parse_size("1.5 mb", "memory"), parse_size(1e6, "memory")
    (2000000000, 1500000, 1000000)
    >>> parse_size("much", "memory")
    Traceback (most recent call last):
    allalike.errors.OptionError: memory is 'much'. Write a size such as '2GB' or '500MB'.
    """
    parts = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?(?:e[0-9]+)?)\s*([A-Za-z]*)\s*", str(size))
    unit = _UNITS.get(parts[2].upper().replace("IB", "B")) if parts else None
    if parts is None or unit is None or not 1 <= float(parts[1]) * unit < 2**63:
        raise OptionError(f"{option} is {size!r}. Write a size such as '2GB' or '500MB'.")
    return int(float(parts[1]) * unit)
