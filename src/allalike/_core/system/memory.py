"""Memory: how much of it can be had, and how sizes are written."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from allalike.errors import OptionError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}

_LITTLE = 1 << 26  # bytes, for which nobody looks

# Of version 2 and version 1 of control groups: the folder of their files, the file of the limit, that of what is used,
# and what of that can be given back at once, as memory.stat calls it.
_GROUP_FILES = (
    (".", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def free_memory(root: Path = Path("/")) -> int:
    """Return how many bytes can be had without swapping, of what the machine, a container and this process may have.

    Examples
    --------
    >>> free_memory() > 0
    True
    """
    return min([_free_of_machine(root), *_free_in_groups(root), *_free_of_process()])


def used_memory() -> int:
    """Return how many bytes this process and all that it started have, with what they share counted for each.

    What this process does not use any more is given back to the system before, where that is possible.

    Examples
    --------
    >>> used_memory() > 0
    True
    """
    import psutil

    give_back()
    own, used = psutil.Process(), 0
    for each in (own, *own.children(recursive=True)):
        with suppress(psutil.Error):  # it has ended meanwhile
            used += each.memory_info().rss
    return used


def give_back() -> None:
    """Give back to the system what this process does not use any more, where that is possible.

    >>> give_back()
    """
    import ctypes

    with suppress(OSError, TypeError, AttributeError):  # other systems than Linux, or another library of C
        ctypes.CDLL(None).malloc_trim(0)
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()


def _free_of_machine(root: Path) -> int:
    """Return what the machine has left; Linux says so in a file that is read faster than psutil is imported."""
    with suppress(OSError, StopIteration):
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) << 10
    import psutil

    return int(psutil.virtual_memory().available)


def _free_of_process() -> Iterator[int]:
    """Yield what the limit of this process leaves (``ulimit -v``), if it has one."""
    if sys.platform != "win32":
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            import psutil

            yield max(0, limit - psutil.Process().memory_info().vms)


def check_memory(needed: float, what: str, instead: str) -> None:
    """Refuse what would need more bytes than can be had, before it is begun, and say what to do instead.

    >>> check_memory(1e6, "A small table", "Write less.")
    >>> check_memory(1e18, "A large table", "Write less.")
    Traceback (most recent call last):
    allalike.errors.TooLargeError: A large table would need about 1,000,000,000.0 GB of memory, and there are ... GB.
    Write less.
    """
    if needed <= _LITTLE:
        return
    free = free_memory()
    if needed > free:
        raise TooLargeError(
            f"{what} would need about {needed / 1e9:,.1f} GB of memory, and there are {free / 1e9:,.1f} GB. {instead}"
        )


def _free_in_groups(root: Path) -> Iterator[int]:
    """Yield what the limit of each control group leaves that this process is in: its own, and those above."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:  # there are no control groups
        return
    fields = (line.split(":", 2) for line in lines)
    own = {controller: place for _, controllers, place in fields for controller in controllers.split(",")}
    for (folder, *names), place in zip(_GROUP_FILES, (own.get(""), own.get("memory")), strict=True):
        if place is not None:
            top = root / "sys/fs/cgroup" / folder
            group = top / place.lstrip("/")
            for each in (group, *group.parents[: len(group.parts) - len(top.parts)]):
                yield from _free_in_group(each, *names)


def _free_in_group(group: Path, limit: str, used: str, cached: str) -> Iterator[int]:
    """Yield what the limit of a control group leaves, if it has one that can be read."""
    try:
        most, now, facts = ((group / name).read_text(encoding="ascii") for name in (limit, used, "memory.stat"))
        back = dict(line.split() for line in facts.splitlines()).get(cached, 0)
        yield max(0, int(most) - int(now) + int(back))
    except (OSError, ValueError):  # "max" is no limit; within a container, folders of the host are not there
        return


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
    if parts is None or unit is None or not 1 <= float(parts[1]) * unit < 2**63:
        raise OptionError(f"{option} is {size!r}. Write a size such as '2GB' or '500MB'.")
    return int(float(parts[1]) * unit)
