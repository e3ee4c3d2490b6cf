"""Measure the whole default beside reading its file, iP-TD and crowd-kit's Dawid-Skene, on a million answers and ten.

R is what it takes to read the columns: a process in which pyarrow reads the file. CPU seconds of whole programs and
what they take at most of memory, in turns; wall beside. The program ends with an error if a
bar is missed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from crowd_file import write_crowd

READ = "import sys, pyarrow.csv; pyarrow.csv.read_csv(sys.argv[1])"
DAWID_SKENE = """
import sys, pandas
from crowdkit.aggregation import DawidSkene
answers = pandas.read_csv(sys.argv[1])[["task", "worker", "label"]]
DawidSkene(n_iter=10, tol=0).fit_predict(answers)
"""
WORKERS = {1_000_000: 1_000, 10_000_000: 10_000}
MOST_READINGS = {1_000_000: 5.0, 10_000_000: 10.0}  # R, of the default
MOST_PROXIMITY, MOST_DAWID_SKENE, MOST_MEMORY = 3.0, 0.45, 1.2
TIMES = 3


@dataclass(frozen=True)
class Taken:
    """What a program took: CPU and wall seconds, and GB at most."""

    cpu: float
    wall: float
    memory: float


def run(command: list[str]) -> Taken:
    """Run a program, and wait for it and all that it started."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}.")
    return Taken(used.ru_utime + used.ru_stime, time.perf_counter() - begun, used.ru_maxrss / 1e6)


def measure(path: Path, *, rival: bool) -> dict[str, Taken]:
    """Return what each program takes on a file, the median of some turns after one that does not count."""
    program = [sys.executable, str(Path(sys.executable).with_name("allalike")), "discover", str(path)]
    ours = [*program, "-q", "--no-report", "--force", "-o", f"{path}.out"]
    commands = {
        "reading": [sys.executable, "-c", READ, str(path)],
        "iP-TD": [*ours, "--method", "iP-TD"],
        "auto": ours,
    }
    if rival:
        commands["Dawid-Skene of crowd-kit"] = [sys.executable, "-c", DAWID_SKENE, str(path)]
    turns = [{name: run(words) for name, words in commands.items()} for _ in range(TIMES + 1)][1:]
    return {
        name: Taken(*(median(getattr(turn[name], each) for turn in turns) for each in ("cpu", "wall", "memory")))
        for name in commands
    }


def main() -> None:
    """Measure, print and judge."""
    missed = 0
    for answers, workers in WORKERS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "crowd.csv"
            write_crowd(path, answers, workers)
            taken = measure(path, rival=answers == min(WORKERS))
        print(f"{answers:,} answers")
        for name, each in taken.items():
            print(f"  {name:25s} {each.cpu:7.2f} s CPU  {each.wall:7.2f} s wall  {each.memory:5.2f} GB")
        auto, read = taken["auto"], taken["reading"].cpu
        bars = {
            "auto / reading": (auto.cpu / read, MOST_READINGS[answers]),
            "auto / iP-TD": (auto.cpu / taken["iP-TD"].cpu, MOST_PROXIMITY),
            "auto, GB": (auto.memory, MOST_MEMORY),
        }
        if rival := taken.get("Dawid-Skene of crowd-kit"):
            bars["auto / Dawid-Skene of crowd-kit"] = auto.cpu / rival.cpu, MOST_DAWID_SKENE
        for name, (found, most) in bars.items():
            missed += found > most
            print(f"  {'missed' if found > most else 'kept  '}  {name:35s} {found:6.2f}  (at most {most:g})")
    sys.exit(f"{missed} bars missed" if missed else 0)


if __name__ == "__main__":
    main()
