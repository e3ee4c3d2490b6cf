"""Measure methods on all crowds with gold labels, and write `docs/evidence/leaderboard.csv` and its page.

python benchmarks/leaderboard.py                                   # measure rows missing in the table
python benchmarks/leaderboard.py --methods auto,UA --again         # measure these methods again
python benchmarks/leaderboard.py --function mymodule:aggregate     # a function from a data frame to a label per task

The function receives the columns worker, task and label. The limit is 120 CPU seconds per method and crowd. An
interrupted run resumes where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

import allalike
from allalike import AllalikeError
from allalike._core.registry import make
from allalike.methods.composed import serves
from allalike.readers import read_gold
from gold_crowds import FAMILIES, Crowd, blind, find_crowds
from limited import Limited
from public_data import use_data_beside_the_clone
from rivals import frame_of, rivals_of
from scores import find_calibration, share_ties

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike.answers import Answers

TABLE = Path(__file__).parents[1] / "docs" / "evidence" / "leaderboard.csv"
COLUMNS = (
    *("crowd", "family", "labels", "classes", "workers", "tasks", "answers", "gold"),
    *("method", "package", "version", "error", "better", "worse", "calibration", "failure"),
)
LIMIT = 120.0  # CPU seconds
CLASSES = ("auto", "UA", "MACE", "DS", "DS-1", "GLAD", "LA", "EBCC", "IBCC", "BWA", "iP-TD", "P-TD")
_OTHERS = ("auto", "UA", "P-TD", "P-TD-AK", "iP-TD", "D-TD", "CRH", "CATD", "MAS", "TOP2")

Row = dict[str, Any]
Solve = Callable[[Any], Mapping[Any, Any]]


def score_method(method: str, answers: Answers) -> Row:
    """Return the mean distance of labels to gold; for classes also wins and losses against the majority vote."""
    result = allalike.discover(blind(answers), method=make(method, allalike.METHODS, "method"))
    table = result.truth.set_index("task").loc[answers.tasks.take(answers.gold_task).tolist()]
    if answers.domain.name != "categorical":
        measured = allalike.discover(answers, method=make(method, allalike.METHODS, "method"), use_gold=False)
        return {"error": measured.summary["gold"]["error"]}
    given = answers.gold_label < answers.encoding.n_labels  # other gold labels occur in no answer
    gold = np.array(answers.encoding.decode(np.where(given, answers.gold_label, 0)).tolist(), object)
    right, vote = (given & (table[name].to_numpy(object) == gold).astype(bool) for name in ("label", "unweighted"))
    row = {"error": float(1 - right.mean()), "better": int((right & ~vote).sum()), "worse": int((vote & ~right).sum())}
    if method == "UA":
        row["error"] = 1 - share_ties(answers)
    if "confidence" in table:
        row["calibration"] = find_calibration(table["confidence"].to_numpy(np.float64), right)
    return row


def score_rival(solve: Solve, answers: Answers) -> Row:
    """Return the mean distance to gold of labels by another package, which gets integer worker and task ids."""
    labels = solve(frame_of(answers))
    on = getattr(answers.domain, "on", None)  # value of the pixels of a mask
    ids = answers.tasks.tolist()
    known = {ids[task]: labels[task] if on is None else labels[task] == bool(on) for task in answers.gold_task.tolist()}
    found = read_gold(known, answers)
    return {"error": float(found.encoding.kernels.distance_between(found.gold_label, answers.gold_label).mean())}


def list_methods(answers: Answers) -> list[str]:
    """Return the names of the methods that are scored on this label type."""
    names = CLASSES if answers.domain.name == "categorical" else _OTHERS
    return [name for name in names if serves(make(name, allalike.METHODS, "method"), answers.encoding)]


def measure(crowd: Crowd, wanted: Callable[[str], bool], function: str, process: Limited) -> Iterator[Row]:
    """Yield a row per requested method, measured in another process."""
    answers = crowd.read()
    described: Row = {
        "crowd": crowd.name,
        "family": crowd.family,
        "labels": answers.domain.name,
        "classes": answers.encoding.n_classes,
        "workers": len(answers.workers),
        "tasks": len(answers.tasks),
        "answers": answers.n_answers,
        "gold": len(answers.gold_task),
    }
    ours: dict[str, Any] = {name: partial(score_method, name, answers) for name in list_methods(answers)}
    theirs = {name: partial(score_rival, solve, answers) for name, solve in rivals_of(answers).items()}
    if function:
        module, _, name = function.partition(":")
        ours, theirs = {}, {function: partial(score_rival, getattr(importlib.import_module(module), name), answers)}
    for method, score in {**ours, **theirs}.items():
        if wanted(method):
            row = {**described, "method": method, "package": "allalike" if method in ours else "other"}
            try:
                row |= {"version": allalike.__version__, **process.call(score, seconds=LIMIT)}
            except (AllalikeError, TimeoutError) as reason:
                row["failure"] = str(reason)
            except Exception as reason:  # an error of another package is recorded
                row["failure"] = f"{type(reason).__name__}: {reason}"
            yield row


def read_table(path: Path = TABLE) -> dict[tuple[str, str], Row]:
    """Return the rows of the table by crowd and method."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {(row["crowd"], row["method"]): row for row in csv.DictReader(file)}


def write_table(rows: Mapping[tuple[str, str], Row], path: Path = TABLE) -> None:
    """Write the table atomically."""
    beside = path.with_suffix(".part")
    with beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, **_round(row)} for _, row in sorted(rows.items()))
    beside.replace(path)


def _round(row: Row) -> Row:
    return {name: f"{row[name]:.6g}" for name in ("error", "calibration") if isinstance(row.get(name), float)}


def main() -> None:
    """Measure, and write the table after each crowd and the page at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="", help="names of methods, separated by commas (default: all)")
    parser.add_argument("--crowds", default="*", help="patterns of crowds, separated by commas (default: all)")
    parser.add_argument("--families", default=",".join(FAMILIES), help="families of crowds (default: all)")
    parser.add_argument("--function", default="", help="a function to measure, as MODULE:NAME")
    parser.add_argument("--again", action="store_true", help="also measure rows that the table contains")
    given = parser.parse_args()
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # waiting threads would count as CPU time
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    use_data_beside_the_clone()
    most = psutil.virtual_memory().total // 2
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    rows, names = read_table(), {*filter(None, given.methods.split(","))}

    def is_wanted(crowd: str, method: str) -> bool:
        return (not names or method in names) and (given.again or (crowd, method) not in rows)

    with Limited() as process:
        for crowd in find_crowds(given.families.split(","), given.crowds.split(",")):
            begin = time.perf_counter()
            for row in measure(crowd, partial(is_wanted, crowd.name), given.function, process):
                rows[crowd.name, row["method"]] = row
            write_table(rows)
            print(f"{crowd.name}: {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
    from leaderboard_page import PAGE, write_page

    PAGE.write_text(write_page(list(read_table().values())), encoding="utf-8")


if __name__ == "__main__":
    main()
