"""Measure how long it takes until the default begins: on a thousand rows, beside an import of pandas.

A small table is solved in a moment, and what the program loads before is most of what a person waits for. CPU seconds
of whole commands, in turns with the import, from compiled files as an installed package has them; and what a report
adds with a million answers. The program ends with an error if a bar is missed.
"""

from __future__ import annotations

import compileall
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import allalike
from crowd_file import write_crowd

IMPORT = [sys.executable, "-c", "import pandas"]
BARS = {
    "discover, 1,000 rows, without a report": 1.2,
    "discover, 1,000 rows, with its report": 1.5,
}  # imports
MOST_SECONDS = 1.0  # that a report adds with a million answers
TIMES = 9


def discover(path: Path, *options: str) -> list[str]:
    """Return the command."""
    program = str(Path(sys.executable).with_name("allalike"))
    return [sys.executable, program, "discover", str(path), "-q", "-o", f"{path}.out", *options]


def in_turns(commands: list[list[str]], times: int) -> list[float]:
    """Return the median CPU seconds of each command, after a first run of each that does not count."""
    taken = [[_cpu(command) for command in commands] for _ in range(times + 1)]
    return [median(column) for column in zip(*taken[1:], strict=True)]


def _cpu(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure, print and judge."""
    compileall.compile_dir(Path(allalike.__file__).parent, quiet=1)
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small.csv", Path(folder) / "large.csv"
        write_crowd(small, 1_000, 30)
        imported, *taken = in_turns([IMPORT, discover(small, "--no-report"), discover(small)], TIMES)
        print(f"the beginning, beside an import of pandas: {imported:.2f} s CPU")
        for (name, most), seconds in zip(BARS.items(), taken, strict=True):
            ratio = seconds / imported
            missed += ratio > most
            kept = "missed" if ratio > most else "kept  "
            print(f"  {kept}  {name:40s} {ratio:5.2f} times  (at most {most:.1f}; {seconds:.2f} s)")
        write_crowd(large, 1_000_000, 1_000)
        tables, report = in_turns([discover(large, "--no-report"), discover(large)], 3)
        missed += report - tables > MOST_SECONDS
        kept = "missed" if report - tables > MOST_SECONDS else "kept  "
        print(f"  {kept}  a report, 1,000,000 answers               {report - tables:5.2f} s      (at most 1 s)")
    sys.exit(f"{missed} bars missed" if missed else 0)


if __name__ == "__main__":
    main()
