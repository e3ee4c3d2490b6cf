"""Measure programs with all their processes: wall seconds, peak memory, and what they report themselves."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Measured", "cpu", "machine", "measure", "tree_cpu"]

_PAUSE = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")

PRELUDE = """
import json, os, sys, time, warnings
from measuring import tree_cpu
warnings.simplefilter("ignore")
path = sys.argv[1]
def report(**figures):
    print(json.dumps(figures))
"""


@dataclass(frozen=True)
class Measured:
    """Hold what a program took, and what it reported itself.

    The peak is the sum of the most that each process had, and ``together`` the most that all had at one time.
    """

    wall: float
    peak: float
    figures: dict[str, float]
    together: float


def measure(code: str, path: Path | str) -> Measured:
    """Run a program that reports named figures, and watch it and all its children."""
    here = str(Path(__file__).parent)
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])},
    )
    watch = _Watch(process.pid)
    watch.start()
    output, _ = process.communicate()
    wall = time.perf_counter() - start
    watch.stop()
    if process.returncode:
        raise RuntimeError(f"a measured program failed:\n{code}")
    return Measured(wall, watch.peak, json.loads(output.splitlines()[-1]), watch.together)


def cpu(action: Callable[[], object], times: int = 1) -> float:
    """Return the least CPU seconds of an action, of so many times."""
    seconds = []
    for _ in range(times):
        start = time.process_time()
        action()
        seconds.append(time.process_time() - start)
    return min(seconds)


def tree_cpu() -> float:
    """Return the CPU seconds of this process and all its living children."""
    total = 0.0
    for member in _tree(os.getpid()):
        fields = _read(Path(f"/proc/{member}/stat")).rpartition(")")[2].split()
        total += sum(map(int, fields[11:15])) / _TICKS if fields else 0.0
    return total


def machine() -> str:
    """Say how large this machine is."""
    import platform

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    size = f"{os.cpu_count()} cores ({platform.machine()}), {memory / 1e9:.0f} GB of memory"
    return f"{size}, Python {platform.python_version()}"


class _Watch(threading.Thread):
    """Look at a process and its children again and again."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.peak = self.together = 0.0
        self._pid, self._over = pid, threading.Event()

    def run(self) -> None:
        while not self._over.wait(_PAUSE):
            members = [_memory(pid) for pid in _tree(self._pid)]
            self.peak = max(self.peak, sum(highest for highest, _ in members))
            self.together = max(self.together, sum(now for _, now in members))

    def stop(self) -> None:
        self._over.set()
        self.join()


def _tree(pid: int) -> list[int]:
    members = [pid]
    for member in members:
        for task in _threads(member):
            members += map(int, _read(task / "children").split())
    return members


def _threads(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def _memory(pid: int) -> tuple[float, float]:
    """Return the most memory that a process had so far, and what it has now."""
    status = _read(Path(f"/proc/{pid}/status"))
    found = [re.search(rf"{name}:\s+(\d+)", status) for name in ("VmHWM", "VmRSS")]
    highest, now = (1024.0 * int(each[1]) if each else 0.0 for each in found)
    return highest, now


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended
        return ""
