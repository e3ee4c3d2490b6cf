"""Measure the engines against their bars, and write docs/evidence/BENCHMARKS.md.

Every ratio is of two programs that ran one after the other on the same machine and the same answers: shuffled rows
with string ids, ten answers a task, four classes, a worker for every thousand answers. The program ends with an error
if a bar is missed. ``make bench`` runs it with a hundred million answers, which takes half an hour and 12 GB of disk.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from crowd_file import write_crowd
from engines_page import Bar, write_page
from measuring import Measured, measure
from programs import DISCOVER, JOINS, LIMITED, PAIRS, PANDAS, READ, RIVALS, ROUND, SPARK_ROUNDS

if TYPE_CHECKING:
    from collections.abc import Callable

BASE_MEMORY = 0.4e9
MEMORY, DISK, SPARK = "Memory()", "Disk(memory='2GB')", "allalike.Spark()"
TEN_ROUNDS = "iP-TD(max_iter=10, tol=0)"


def millions(answers: int) -> str:
    """Say how many answers there are.

    >>> millions(10_000_000)
    '10 million answers'
    """
    return f"{answers / 1e6:g} million answers"


def in_memory(folder: Path, answers: int, most: float) -> list[Bar]:
    """Measure the memory engine from file to file against reading the file."""
    path = write_crowd(folder / f"{answers}.parquet", answers)
    reading, whole = measure(READ, path), measure(DISCOVER.format(engine=MEMORY), path)
    above = max(whole.peak - BASE_MEMORY, 0.0) / answers
    return [
        Bar(
            f"memory: {millions(answers)}, Parquet to Parquet, 10 rounds / reading the columns with pyarrow, CPU",
            seconds(whole),
            seconds(reading),
            whole.figures["cpu"] / reading.figures["cpu"],
            most,
        ),
        Bar(
            f"memory: peak above 0.4 GB, bytes per answer, {millions(answers)}",
            gigabytes(whole),
            "",
            above,
            60,
        ),
    ]


def growth_in_memory(folder: Path, few: int, many: int) -> list[Bar]:
    """Measure how much more an answer costs the memory engine where there are many, which it reads part by part."""
    short, long = (measure(DISCOVER.format(engine=MEMORY), folder / f"{n}.parquet") for n in (few, many))
    return [growth("memory", short, long, few, many)]


def one_round(folder: Path, answers: int) -> list[Bar]:
    """Measure a round of the memory engine against one sum over the same answers."""
    found = measure(ROUND, folder / f"{answers}.parquet").figures
    name = f"memory: one round / one numpy.bincount with weights, {millions(answers)}, CPU"
    ours, theirs = (f"{1000 * found[key]:.0f} ms" for key in ("round", "bincount"))
    return [Bar(name, ours, theirs, found["round"] / found["bincount"], 8)]


def on_disk(folder: Path, few: int, many: int) -> list[Bar]:
    """Measure the disk engine on CSV, with 2 GB, against the memory engine, and against fewer answers."""
    small, large = (write_crowd(folder / f"{answers}.csv", answers) for answers in (few, many))
    short, long = (measure(DISCOVER.format(engine=DISK), path) for path in (small, large))
    memory = measure(DISCOVER.format(engine=MEMORY), large)
    if (memory.figures["tasks"], memory.figures["changed"]) != (long.figures["tasks"], long.figures["changed"]):
        raise RuntimeError("the disk engine found something else than the memory engine")
    name, fewer = millions(many), millions(few)
    return [
        Bar(f"disk: {name} of CSV / the memory engine, CPU", seconds(long), seconds(memory), ratio(long, memory), 1.6),
        Bar(f"disk: peak of all processes, {name}, with --memory 2GB, in GB", gigabytes(long), "", long.peak / 1e9, 2),
        growth("disk", short, long, few, many),
        Bar(
            f"disk: wall time per answer, {name} / {fewer}",
            f"{long.wall:.0f} s",
            f"{short.wall:.0f} s",
            long.wall / short.wall * few / many,
            1.5,
        ),
    ]


def by_default(folder: Path, few: int, many: int) -> list[Bar]:
    """Measure the default from file to file: the disk engine on more answers, and Spark against the memory engine."""
    small, large = (folder / f"{answers}.csv" for answers in (few, many))
    short, long = (measure(by_auto(DISK), path) for path in (small, large))
    memory, spark = (measure(by_auto(engine), small) for engine in (MEMORY, SPARK))
    if len({(each.figures["tasks"], each.figures["changed"]) for each in (short, memory, spark)}) > 1:
        raise RuntimeError("the engines did not find the same")
    name = f"auto, {millions(many)}, with --memory 2GB"
    return [
        growth("disk: auto", short, long, few, many),
        Bar(f"disk: {name}, peak of all processes, in GB", gigabytes(long), "", long.peak / 1e9, 2),
        Bar(
            f"spark (local): auto, {millions(few)}, from start to end / the memory engine, wall time",
            f"{spark.wall:.0f} s",
            f"{memory.wall:.0f} s",
            spark.wall / memory.wall,
            4,
        ),
    ]


def by_auto(engine: str) -> str:
    """Return the program that finds truths by the default."""
    return DISCOVER.format(engine=engine).replace(TEN_ROUNDS, "auto")


def within_limit(folder: Path, answers: int) -> list[Bar]:
    """Measure what the program takes with 500 MB, of which Python and its libraries need a part in any case."""
    bars = []
    for number, workers in ((1000, 50), *((answers, workers) for workers in (500, 5000, 50_000))):
        path = write_crowd(folder / f"{workers}-mixed.csv", number, workers, mixed=True)
        found = measure(LIMITED, path)
        if found.figures["failed"]:
            raise RuntimeError(f"the program failed with {workers} workers")
        name = (
            f"disk: all that auto takes at once, {millions(number)} of {workers:,} workers who are mixed, 500 MB, in GB"
        )
        most = None if number < answers else 0.55
        bars.append(Bar(name, f"{found.together / 1e9:.2f} GB", "", found.together / 1e9, most))
    return bars


def on_spark(folder: Path, answers: int) -> list[Bar]:
    """Measure rounds on Spark against those of the memory engine, and against joins of data frames."""
    path = folder / f"{answers}.parquet"
    ours, memory, joins = (
        measure(SPARK_ROUNDS, path).figures,
        measure(ROUND, path).figures,
        measure(JOINS, path).figures,
    )
    name = f"spark (local): a round, {millions(answers)}"
    return [
        Bar(
            f"{name} / the memory engine, CPU",
            f"{ours['round']:.2f} s",
            f"{memory['round']:.2f} s",
            ours["round"] / memory["round"],
            12,
        ),
        Bar(
            f"{name} / the same round as joins of Spark's data frames, CPU",
            f"{ours['round']:.2f} s",
            f"{joins['round']:.0f} s",
            ours["round"] / joins["round"],
            1 / 20,
        ),
        Bar("spark (local): starting it, CPU seconds", f"{ours['start']:.1f} s", "", ours["start"], None),
        Bar("spark (local): reading answers into blocks, CPU seconds", f"{ours['open']:.1f} s", "", ours["open"], None),
    ]


def against_others(folder: Path, answers: int) -> list[Bar]:
    """Measure what a user would pick instead: crowd-kit, and the same method in pandas."""
    path = write_crowd(folder / f"{answers}.parquet", answers)
    bars = []
    theirs = {**measure(RIVALS, path).figures, **measure(PANDAS, path).figures}
    for rival, taken in theirs.items():
        method = {"DawidSkene": "DS(max_iter=10, tol=0)", "OneCoinDawidSkene": "DS-1(max_iter=10, tol=0)"}
        spec = method.get(rival, "UA" if rival == "MajorityVote" else TEN_ROUNDS)
        ours = measure(DISCOVER.format(engine=MEMORY).replace(TEN_ROUNDS, spec), path)
        who = "iP-TD in pandas" if rival == "pandas" else f"crowd-kit's {rival}"
        name = f"{spec.partition('(')[0]}, file to file / {who}, {millions(answers)}, CPU"
        bars.append(Bar(name, seconds(ours), f"{taken:.1f} s", ours.figures["cpu"] / taken, 1))
    return bars


def worker_pairs(folder: Path, workers: int) -> list[Bar]:
    """Measure methods that compare every worker with every other, where all of them met."""
    bars = []
    for method in ("P-TD(per_pair=True)", "EVD", "EXP", "TOP2"):
        found = measure(PAIRS.format(workers=workers, method=method), folder)
        name = f"pairs: {method}, {workers:,} workers who all met, peak in GB"
        bars.append(Bar(name, f"{gigabytes(found)}, {seconds(found)} CPU", "", found.peak / 1e9, 24))
    return bars


def growth(engine: str, short: Measured, long: Measured, few: int, many: int) -> Bar:
    """Compare the CPU time of one answer among many answers and among few."""
    name = f"{engine}: CPU per answer, {millions(many)} / {millions(few)}"
    return Bar(name, nanoseconds(long, many), nanoseconds(short, few), ratio(long, short) * few / many, 1.5)


def seconds(measured: Measured) -> str:
    """Write CPU seconds."""
    return f"{measured.figures['cpu']:.1f} s"


def gigabytes(measured: Measured) -> str:
    """Write peak memory."""
    return f"{measured.peak / 1e9:.2f} GB"


def nanoseconds(measured: Measured, answers: int) -> str:
    """Write the CPU time of one answer."""
    return f"{1e9 * measured.figures['cpu'] / answers:.0f} ns"


def ratio(ours: Measured, theirs: Measured) -> float:
    """Divide CPU seconds."""
    return ours.figures["cpu"] / theirs.figures["cpu"]


def main() -> None:
    """Measure, print, write the page and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--few", type=int, default=10_000_000)
    parser.add_argument("--many", type=int, default=100_000_000)
    parser.add_argument("--limited", type=int, default=5_000_000)
    parser.add_argument("--rivals", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=20_000)
    parser.add_argument("--folder", help="where the answers are written; by default a temporary folder")
    parser.add_argument("-o", "--output", type=Path, help="the page to write")
    given = parser.parse_args()
    bars: list[Bar] = []
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        parts: list[Callable[[Path], list[Bar]]] = [
            partial(in_memory, answers=given.few, most=7),
            partial(one_round, answers=given.few),
            partial(on_spark, answers=given.few),
            partial(in_memory, answers=given.many, most=9),
            partial(growth_in_memory, few=given.few, many=given.many),
            partial(on_disk, few=given.few, many=given.many),
            partial(by_default, few=given.few, many=given.many),
            partial(within_limit, answers=given.limited),
            partial(against_others, answers=given.rivals),
            partial(worker_pairs, workers=given.workers),
        ]
        for part in parts:
            for bar in part(folder):
                print(bar.line(), flush=True)
                bars.append(bar)
    if given.output:
        write_page(given.output, bars)
    missed = sum(not bar.kept for bar in bars)
    sys.exit(f"{missed} bars missed" if missed else 0)


if __name__ == "__main__":
    main()
