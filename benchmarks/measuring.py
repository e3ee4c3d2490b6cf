"""Run programs in turns, and measure CPU time, wall time and memory over all their processes."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

_PAUSE = 0.05


@dataclass(frozen=True)
class Taken:
    """CPU seconds, wall seconds, and peak memory (GB) over all processes."""

    cpu: float
    wall: float
    memory: float


def program(code: str, *args: Path | str) -> list[str]:
    """Return the command of a Python program."""
    return [sys.executable, "-c", code, *map(str, args)]


def command(name: str, path: Path, *options: str) -> list[str]:
    """Return an allalike command that writes its output beside the file."""
    ours = str(Path(sys.executable).with_name("allalike"))
    return [sys.executable, ours, name, str(path), "-q", "-o", f"{path}.out", *options]


def measure(commands: list[list[str]], *, turns: int) -> list[Taken]:
    """Return the medians over turns of each command; with several turns, a warm-up turn is excluded."""
    first = 1 if turns > 1 else 0
    taken = [[_run(words) for words in commands] for _ in range(turns + first)][first:]
    return [
        Taken(*(median(getattr(each, name) for each in column) for name in ("cpu", "wall", "memory")))
        for column in zip(*taken, strict=True)
    ]


def machine() -> str:
    """Return the size of this machine."""
    memory = psutil.virtual_memory().total / 1e9
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GB of memory, Python {platform.python_version()}"
    )


def _run(words: list[str]) -> Taken:
    begin, seconds, peak = time.perf_counter(), {}, 0.0
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    process = psutil.Popen(words, stdout=subprocess.DEVNULL, env=environment)
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        memory = 0.0
        for member in [process, *_children(process)]:
            try:
                times, used = member.cpu_times(), member.memory_info().rss
            except psutil.Error:  # it has ended
                continue
            seconds[member.pid] = times.user + times.system
            memory += used
        peak = max(peak, memory)
        time.sleep(_PAUSE)
    wall = time.perf_counter() - begin
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"{words} ended with {os.waitstatus_to_exitcode(status)}.")
    cpu = max(usage.ru_utime + usage.ru_stime, sum(seconds.values()))
    return Taken(cpu, wall, max(peak, usage.ru_maxrss * 1024) / 1e9)


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        children: list[psutil.Process] = process.children(recursive=True)
    except psutil.Error:
        return []
    return children
