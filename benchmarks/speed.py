"""Measure speed and memory against bars, and write `docs/evidence/BENCHMARKS.md`.

    python benchmarks/speed.py                  # measure rows missing in docs/evidence/speed.csv, and write the page
    python benchmarks/speed.py --again disk     # measure rows with this word in their name again
    python benchmarks/speed.py --most 10000000  # exclude rows that need more answers

Ratios compare two programs that ran in turns on the same machine and the same answers. CPU seconds and peak memory
include all processes of a program. The disk engine with 100 million answers needs 4 GB of disk and ten minutes.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crowd_file import write_crowd, write_verdicts
from measuring import Taken, command, machine, measure, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[1]
TABLE, PAGE = ROOT / "docs" / "evidence" / "speed.csv", ROOT / "docs" / "evidence" / "BENCHMARKS.md"
MILLION = 1_000_000
READ = "import sys, pyarrow.csv; pyarrow.csv.read_csv(sys.argv[1])"
PANDAS = "import pandas"
CROWD_KIT = """
import sys, pandas
from crowdkit.aggregation import {name}
{name}({options}).fit_predict(pandas.read_csv(sys.argv[1])[["task", "worker", "label"]])
"""
ROUNDS = """
import sys, numpy, pandas
frame = pandas.read_csv(sys.argv[1])
weight = pandas.Series(1.0, frame["worker"].unique())
for _ in range(10):
    own = frame["worker"].map(weight)
    total = own.groupby(frame["task"]).transform("sum")
    same = own.groupby([frame["task"], frame["label"]]).transform("sum")
    sums = pandas.DataFrame({"distance": total - same, "peers": total - own}).groupby(frame["worker"]).sum()
    fault = sums["distance"] / sums["peers"]
    weight = (fault.max() - fault) / (fault.max() - fault).sum()
votes = frame["worker"].map(weight).groupby([frame["task"], frame["label"]]).sum().reset_index(name="weight")
votes.loc[votes.groupby("task")["weight"].idxmax()].to_csv(sys.argv[1] + ".pandas.csv")
"""


@dataclass(frozen=True)
class Row:
    """A figure, the two measurements behind it, and its bar (the largest figure allowed)."""

    name: str
    ours: str
    theirs: str
    figure: float
    bar: float | None


@dataclass(frozen=True)
class Part:
    """Rows that are measured together; their names begin with `name`."""

    name: str
    answers: int
    rows: Callable[[Path], Iterator[Row]]


def ratio(name: str, ours: Taken, theirs: Taken, bar: float | None, what: str = "cpu") -> Row:
    """Return the ratio of two programs' CPU or wall seconds."""
    mine, other = getattr(ours, what), getattr(theirs, what)
    return Row(f"{name}, {what if what == 'wall' else 'CPU'}", f"{mine:.2f} s", f"{other:.2f} s", mine / other, bar)


def start_up(folder: Path) -> Iterator[Row]:
    """Compare a small file with importing pandas."""
    path = write_crowd(folder / "small.csv", 1000, 30)
    pandas, plain, report = measure(
        [program(PANDAS), command("discover", path, "--no-report"), command("discover", path)], turns=9
    )
    yield ratio("1,000 answers / import pandas", plain, pandas, 1.0)
    yield ratio("1,000 answers with the report / import pandas", report, pandas, 1.3)


def panel(folder: Path) -> Iterator[Row]:
    """Measure a panel of six judges."""
    path = write_verdicts(folder / "verdicts.csv", judges=6, items=2000)
    (taken,) = measure([command("jury", path)], turns=3)
    yield Row("jury, 6 judges, 2,000 items, CPU seconds", f"{taken.cpu:.2f} s", "", taken.cpu, 1.5)


def default(folder: Path, answers: int, bar: float) -> Iterator[Row]:
    """Compare the default and iP-TD with reading the columns."""
    path = write_crowd(folder / f"{answers}.csv", answers)
    quick = ("--no-report", "--force")
    reading, auto, proximity = measure(
        [
            program(READ, path),
            command("discover", path, *quick),
            command("discover", path, *quick, "--method", "iP-TD"),
        ],
        turns=3,
    )
    name = f"{answers // MILLION} million answers"
    yield ratio(f"{name}: auto / reading the columns with pyarrow", auto, reading, bar)
    yield ratio(f"{name}: auto / iP-TD", auto, proximity, 2.5)
    yield ratio(
        f"{name}: iP-TD / reading the columns with pyarrow", proximity, reading, 2.5 if answers > MILLION else None
    )
    yield Row(
        f"{name}: auto, memory, bytes per answer above 0.4 GB",
        f"{auto.memory:.2f} GB",
        "",
        max(auto.memory - 0.4, 0) * 1e9 / answers,
        None,
    )


def others(folder: Path) -> Iterator[Row]:
    """Compare methods with those of crowd-kit, and iP-TD with ten lines of pandas."""
    path = write_crowd(folder / "1000000.csv", MILLION)
    for method, name, options, bar in (
        ("UA", "MajorityVote", "", 1.0),
        ("DS(max_iter=11, tol=0)", "DawidSkene", "n_iter=10, tol=0", 1.0),
        ("DS-1(max_iter=11, tol=0)", "OneCoinDawidSkene", "n_iter=10, tol=0", 1.0),
        ("auto", "DawidSkene", "n_iter=10, tol=0", 0.2),
    ):
        rival = program(CROWD_KIT.format(name=name, options=options), path)
        ours, theirs = measure(
            [command("discover", path, "--no-report", "--force", "--method", method), rival], turns=1
        )
        yield ratio(f"{method.partition('(')[0]} / crowd-kit's {name}, 1 million answers", ours, theirs, bar)
    iterated = command("discover", path, "--no-report", "--force", "--method", "iP-TD(max_iter=10, tol=0)")
    ours, theirs = measure([iterated, program(ROUNDS, path)], turns=1)
    yield ratio("iP-TD / iP-TD in pandas, 1 million answers", ours, theirs, 1.0)


def disk(folder: Path) -> Iterator[Row]:
    """Measure the disk engine with 2 GB."""
    path = write_crowd(folder / "100000000.csv", 100 * MILLION)
    limited = command("discover", path, "--no-report", "--force", "--engine", "disk", "--memory", "2GB")
    (taken,) = measure([limited], turns=1)
    yield Row(
        "disk, 100 million answers, --memory 2GB, GB of all processes",
        f"{taken.memory:.2f} GB, {taken.cpu:.0f} s CPU",
        "",
        taken.memory,
        2.0,
    )


def bound(folder: Path) -> Iterator[Row]:
    """Measure the memory bound with many workers who share tasks with nearly all others."""
    path = write_crowd(folder / "mixed.csv", 5 * MILLION, 50_000, mixed=True)
    limited = command("discover", path, "--no-report", "--force", "--engine", "disk", "--memory", "500MB")
    (taken,) = measure([limited], turns=1)
    yield Row(
        "disk, 5 million answers, 50,000 workers, --memory 500MB, GB of all processes",
        f"{taken.memory:.2f} GB, {taken.cpu:.0f} s CPU",
        "",
        taken.memory,
        0.7,
    )


def spark(folder: Path) -> Iterator[Row]:
    """Compare Spark with the memory engine."""
    path = write_crowd(folder / "10000000.csv", 10 * MILLION)
    quick = ("--no-report", "--force")
    ours, memory = measure(
        [command("discover", path, *quick, "--engine", "spark"), command("discover", path, *quick)], turns=1
    )
    yield ratio("spark (local) / the memory engine, auto, 10 million answers", ours, memory, 1.6, "wall")


PARTS = (
    Part("1,000 answers", 1000, start_up),
    Part("jury", 12_000, panel),
    Part("1 million answers", MILLION, lambda folder: default(folder, MILLION, 6.0)),
    Part("crowd-kit", MILLION, others),
    Part("10 million answers", 10 * MILLION, lambda folder: default(folder, 10 * MILLION, 9.0)),
    Part("--memory 500MB", 5 * MILLION, bound),
    Part("spark", 10 * MILLION, spark),
    Part("--memory 2GB", 100 * MILLION, disk),
)
_FIELDS = ("name", "ours", "theirs", "figure", "bar")
_TEXT = """# Speed

`python benchmarks/speed.py` measures what `speed.csv` beside this page does not contain, and writes this page. Every
ratio compares two programs that ran in turns on the same machine and the same answers. CPU seconds and memory count all
processes. The answers are shuffled rows with string ids, ten per task, four classes, one worker per thousand answers.

Measured on {machine}. *missed* marks figures above their bar.

| figure | ours | theirs | value | bar |
| --- | --- | --- | ---: | ---: |
{rows}

## On a cluster

An iteration on Spark broadcasts one number per worker to every executor, and each partition returns two sums per
worker. An iteration therefore shuffles workers x partitions x 16 bytes, whatever the number of answers: with 1,000
partitions 1.6 GB for 100,000 workers, and 16 GB for a million workers. A partition contains a million answers, and at
least ten per worker. Blocks take about 13 bytes per answer.
"""


def read_table() -> dict[str, Row]:
    """Return the rows that were measured."""
    if not TABLE.exists():
        return {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {
            row["name"]: Row(row["name"], row["ours"], row["theirs"], float(row["figure"]), float(row["bar"] or "nan"))
            for row in csv.DictReader(file)
        }


def write_table(rows: dict[str, Row]) -> None:
    """Write the rows in the order of the parts."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_FIELDS)
        for row in rows.values():
            bar = "" if row.bar is None or row.bar != row.bar else row.bar
            writer.writerow([row.name, row.ours, row.theirs, f"{row.figure:.4g}", bar])


def write_page(rows: dict[str, Row]) -> None:
    """Write the page from the rows."""
    lines = []
    for row in rows.values():
        bar = "" if row.bar is None or row.bar != row.bar else f"{row.bar:g}"
        missed = ", missed" if bar and row.figure > float(bar) else ""
        lines.append(f"| {row.name} | {row.ours} | {row.theirs} | {row.figure:.3g} | {bar}{missed} |")
    PAGE.write_text(_TEXT.format(machine=machine(), rows="\n".join(lines)), encoding="utf-8")


def main() -> None:
    """Measure, print, write table and page, and exit with an error if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--again", help="measure again the parts with this word in their name")
    parser.add_argument("--most", type=int, default=100 * MILLION, help="largest number of answers")
    parser.add_argument("--folder", help="folder for temporary files")
    options = parser.parse_args()
    rows = read_table()
    for part in PARTS:
        present = any(part.name in name for name in rows)
        if part.answers > options.most or (present and not (options.again and options.again in part.name)):
            continue
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            for row in part.rows(Path(folder)):
                print(f"{row.name}: {row.figure:.3g} ({row.ours} {row.theirs}; bar {row.bar})", flush=True)
                rows[row.name] = row
        write_table(rows)
    write_page(rows)
    missed = [row.name for row in rows.values() if row.bar is not None and row.figure > row.bar]
    sys.exit(f"missed: {', '.join(missed)}" if missed else 0)


if __name__ == "__main__":
    main()
