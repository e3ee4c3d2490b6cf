"""Measure the methods for classes on crowds that the default was not made on, and on those that it was.

python benchmarks/unseen.py --methods auto --families panels,weak    # prints a table, and writes nothing
python benchmarks/unseen.py --write                                  # all of it: docs/evidence/unseen.csv, UNSEEN.md
python benchmarks/unseen_page.py                                     # the page again, from the figures

A run that takes more CPU seconds than the limit is ended, and has no figure. ``make unseen`` measures everything, which
takes hours; `auto` alone takes minutes.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

import allalike
from allalike import AllalikeError, Memory, Method
from allalike._core.blocks.block import sum_by
from allalike._core.registry import make
from allalike.methods.auto.voices import find_error_correlation
from allalike.methods.composed import serves
from league_figures import OURS
from limited import Limited
from public_data import use_data_beside_the_clone
from unseen_crowds import FAMILIES, Crowd, blind, crowd_folder, find_crowds
from unseen_figures import ENOUGH, VOTE, Figure, Figures, read_figures, write_figures
from unseen_page import FIGURES, PAGE, write_page
from unseen_scores import find_calibration, hold_limits, share_ties
from unseen_table import write_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from allalike import Result
    from allalike.answers import Answers

__all__ = ["choose_methods", "judge", "measure", "play"]

LIMIT = 60.0  # seconds of CPU
_ORACLE = "OA"  # it knows the truth


def choose_methods(names: str) -> dict[str, Method]:
    """Return these methods by name, or all that do not know the truth; `auto --plain` is a name, too."""
    if not names:
        return {name: method for name, method in OURS.items() if name != _ORACLE}
    return {name: OURS.get(name) or make(name, allalike.METHODS, "method") for name in _split(names)}


def _split(names: str) -> list[str]:
    """Split a list at its commas, but not within brackets.

    >>> _split("auto, DS(smoothing=0, tol=1e-3)")
    ['auto', 'DS(smoothing=0, tol=1e-3)']
    """
    found: list[str] = []
    for part in names.split(","):
        if found and found[-1].count("(") > found[-1].count(")"):
            found[-1] += f",{part}"
        else:
            found.append(part)
    return [name.strip() for name in found if name.strip()]


def play(method: Method, answers: Answers) -> dict[str, Any]:
    """Let a method find the truths without knowing any, and judge what it found."""
    warnings.simplefilter("ignore")
    begin = time.process_time()
    result = allalike.discover(blind(answers), method=method)
    found = judge(result, answers)
    if method.name == VOTE:
        found["right"] = share_ties(answers)
    return {**found, "seconds": time.process_time() - begin}


def judge(result: Result, answers: Answers) -> dict[str, Any]:
    """Compare truths, confidences and limits of workers with what is known."""
    tasks = answers.tasks.take(answers.gold_task).tolist()
    table = result.truth.set_index("task").loc[tasks]
    given = answers.gold_label < answers.encoding.n_labels  # a truth that nobody ever gave has no label here
    gold = np.array(answers.encoding.decode(np.where(given, answers.gold_label, 0)).tolist(), object)
    right, vote = (given & (table[name].to_numpy(object) == gold).astype(bool) for name in ("label", "unweighted"))
    found = {"right": float(right.mean()), "better": int((right & ~vote).sum()), "worse": int((vote & ~right).sum())}
    if "confidence" in table:
        found["calibration"] = find_calibration(table["confidence"].to_numpy(np.float64), right)
    return {**found, **_judge_limits(result, answers)}


def _judge_limits(result: Result, answers: Answers) -> dict[str, int]:
    """Count the workers with limits and answers enough, and those of whom the limits hold."""
    if "low" not in result.workers:
        return {}
    wrong, given = count_errors(answers)
    table = result.workers.set_index("worker").loc[answers.workers.tolist()]
    low, high = (table[name].to_numpy(np.float64) for name in ("low", "high"))
    judged = (given >= ENOUGH) & ~np.isnan(low + high)
    held = hold_limits(low[judged], high[judged], wrong[judged], given[judged])
    within, allowed, above = (int(which.sum()) for which in held)
    return {"judged": int(judged.sum()), "within": within, "allowed": allowed, "above": above}


def count_errors(answers: Answers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Count, per worker, her wrong answers to tasks whose truth is known, and all of her answers to these."""
    truth = np.full(len(answers.tasks), -1, np.int64)
    truth[answers.gold_task] = answers.gold_label
    asked = np.repeat(truth, np.diff(answers.starts))
    known, size = asked >= 0, len(answers.workers)
    missed = (answers.label[known] != asked[known]).astype(np.float64)
    given = np.ones(len(missed))
    worker = answers.worker[known].astype(np.intp)
    return sum_by(worker, missed, size), sum_by(worker, given, size)


def measure(
    crowd: Crowd, methods: dict[str, Method], process: Limited, *, version: str, limit: float = LIMIT
) -> Iterator[Figure]:
    """Play the methods that serve a crowd, one after the other, in another process."""
    answers = crowd.read()
    described: dict[str, Any] = {
        "crowd": crowd.name,
        "family": crowd.family,
        "tasks": len(answers.tasks),
        "workers": len(answers.workers),
        "answers": answers.n_answers,
        "classes": answers.encoding.n_labels,
        "gold": len(answers.gold_task),
        "correlation": find_error_correlation(Memory().load(answers)),
    }
    for name, method in methods.items():
        if serves(method, answers.encoding):
            found = _try(partial(play, method, answers), process, limit)
            yield Figure(**described, method=name, version=version, **found)


def _try(playing: partial[dict[str, Any]], process: Limited, limit: float) -> dict[str, Any]:
    try:
        found: dict[str, Any] = process.call(playing, seconds=limit)
    except (AllalikeError, TimeoutError, RuntimeError, MemoryError) as reason:
        return {"failure": " ".join(str(reason).split()) or type(reason).__name__}
    return found


def find_version() -> str:
    """Return the version of the program, and the commit that changed it last; a + behind it means that more was."""

    def ask(*words: str) -> str:
        command = ["git", "-C", str(Path(__file__).parents[1]), *words, "--", "src"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    changed = "+" if ask("status", "--porcelain") else ""
    return f"{allalike.__version__} {ask('log', '-1', '--format=%h')}{changed}".strip()


def main() -> None:
    """Measure, and print a table or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="", help="names, separated by commas; the vote is always measured")
    parser.add_argument("--families", default="", help=f"some of {', '.join(FAMILIES)}")
    parser.add_argument("--crowds", default="*", help="names or patterns of crowds, separated by commas")
    parser.add_argument("--limit", type=float, default=LIMIT, help="CPU seconds that a method may take on a crowd")
    parser.add_argument("--write", action="store_true", help=f"keep figures in {FIGURES.name}, and write {PAGE.name}")
    parser.add_argument("--missing", action="store_true", help="measure only what has no figure yet")
    given = parser.parse_args()
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # or CPU time would count how long threads wait for each other
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    use_data_beside_the_clone()
    unknown = {*_split(given.families)} - {*FAMILIES}
    if unknown:
        parser.error(f"no family is called {', '.join(sorted(unknown))}. Known are {', '.join(FAMILIES)}")
    crowds = find_crowds(_split(given.families), _split(given.crowds))
    n_files = len([*crowd_folder().glob("*.npz")])
    if not crowds:
        parser.error(f"no such crowd is here: {crowd_folder()} has {n_files} files")
    if not n_files:
        print(f"{crowd_folder()} has no crowds: only the catalogue is measured.", file=sys.stderr)
    try:
        methods = {VOTE: OURS[VOTE], **choose_methods(given.methods)}
    except AllalikeError as reason:
        parser.error(str(reason))
    most = psutil.virtual_memory().total // 2
    resource.setrlimit(resource.RLIMIT_AS, (most, most))  # so that what needs too much memory fails alone
    kept = read_figures(FIGURES) if given.write else Figures([])
    found: list[Figure] = []
    version = find_version()
    with Limited() as process:
        for crowd in crowds:
            new = {n: m for n, m in methods.items() if not (given.missing and (crowd.name, n) in kept.by_name)}
            found += _tell(measure(crowd, new, process, version=version, limit=given.limit))
            if given.write:
                write_figures(FIGURES, kept.merged(found))
    if given.write:
        PAGE.write_text(write_page(kept.merged(found)), encoding="utf-8")
    else:
        print(write_table(Figures(found)))


def _tell(figures: Iterator[Figure]) -> Iterator[Figure]:
    for figure in figures:
        shown = figure.failure or f"{100 * (figure.right or 0.0):.1f} %, {figure.seconds:.1f} s"
        print(f"{figure.crowd}: {figure.method}: {shown}", file=sys.stderr, flush=True)
        yield figure


if __name__ == "__main__":
    main()
