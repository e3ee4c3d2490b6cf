"""Measure what the default costs: on classes beside Dawid-Skene and iP-TD, on all other kinds of label beside iP-TD.

CPU seconds of weighing classes that are in memory: six readings of them, and of four pairs of halves of the workers. It
should cost a few times Dawid-Skene on few answers, and some seconds more than iP-TD on many, which are sampled. Of
other kinds, all of `discover` on answers in memory is measured, as a multiple of iP-TD. The program ends with an error
if a bar is missed.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from crowd_file import write_crowd
from measuring import measure

WEIGH = """
import numpy as np, pyarrow as pa, scipy.sparse, scipy.special
import allalike
from allalike import DS, IPTD, Auto, Memory
from allalike._core.blocks.block import Ties
n_answers, k, n_workers, per_task = map(int, path.split(","))
rng = np.random.default_rng(0)
n_tasks = n_answers // per_task
steps = rng.integers(1, max(2, n_workers // per_task), (n_tasks, per_task)).cumsum(axis=1)
worker = ((rng.integers(0, n_workers, (n_tasks, 1)) + steps) % n_workers).ravel()
task = np.repeat(np.arange(n_tasks), per_task)
fault, truth = np.clip(rng.normal(0.4, 0.2, n_workers), 0.02, 0.95), rng.integers(0, k, n_tasks)
label = (truth[task] + (rng.random(len(task)) < fault[worker]) * rng.integers(1, k, len(task))) % k
answers = allalike.read(pa.table({"worker": worker, "task": task, "label": label}), domain="categorical")
run = Memory().load(answers)
taken = {}
for name, method in (("proximity", IPTD()), ("dawid_skene", DS(max_iter=50, tol=0)), ("auto", Auto(screening=False))):
    start = time.process_time()
    method.fit(run)
    taken[name] = time.process_time() - start
report(**taken)
"""

DISCOVER = """
import scipy.sparse, scipy.special
import allalike
taken = {}
for name, method in (("proximity", "iP-TD"), ("auto", "auto")):
    start = time.process_time()
    allalike.discover(path, method=method).save(os.path.join(os.path.dirname(path), name))
    taken[name] = time.process_time() - start
report(**taken)
"""
WHOLE = 4.0  # times iP-TD, with everything that is told of trust

KIND = """
import numpy as np, scipy.sparse, scipy.special
import allalike
kind, n_answers = path.split(",")
rng = np.random.default_rng(0)
n_tasks, n_workers, per_task = int(n_answers) // 8, 200, 8
steps = rng.integers(1, n_workers // per_task, (n_tasks, per_task)).cumsum(axis=1)
worker = ((rng.integers(0, n_workers, (n_tasks, 1)) + steps) % n_workers).ravel()
task = np.repeat(np.arange(n_tasks), per_task)
fault, n = rng.uniform(0.5, 3, n_workers)[worker], len(task)
def near(scale, *shape):
    truth, wrong = scale * rng.normal(size=(n_tasks, *shape)), rng.normal(size=(n, *shape))
    return truth[task] + (fault * wrong.T).T
def draw():
    if kind == "ordinal":
        return np.clip(np.round(near(2.0) + 3), 1, 5).astype(int).tolist()
    if kind == "vector":
        return list(near(5.0, 5))
    if kind == "ranking":
        return np.argsort(near(4.0, 6), axis=1).tolist()
    if kind == "set":
        return [frozenset(np.flatnonzero(row).tolist()) for row in near(5.0, 10) > 3]
    if kind == "interval":
        return [[[begin, begin + 50.0]] for begin in near(90.0).round(1).tolist()]
    if kind == "text":
        wrong = rng.random((n, 12)) < 0.1 * fault[:, None]
        words = np.where(wrong, rng.integers(200, size=(n, 12)), rng.integers(200, size=(n_tasks, 12))[task])
        return [" ".join(row) for row in np.char.mod("w%d", words)]
    if kind == "boxes":
        corner = near(90.0, 3, 2)
        return np.concatenate([corner, corner + 60], axis=2).tolist()
    return near(10.0).tolist()
answers = allalike.read({"worker": worker.tolist(), "task": task.tolist(), "label": draw()}, domain=kind)
taken = {"iP-TD": [], "auto": []}
for _ in range(3):
    for method, seconds in taken.items():
        start = time.process_time()
        allalike.discover(answers, method=method).truth
        seconds.append(time.process_time() - start)
report(proximity=min(taken["iP-TD"]), auto=min(taken["auto"]))
"""
KINDS = (  # kind, answers, and at most how many times iP-TD, with some room; docs/science/HOW_IT_WORKS.md has reasons
    ("real", 1_000_000, 6.0),
    ("ordinal", 1_000_000, 8.0),
    ("circular", 400_000, 6.0),
    ("vector", 200_000, 8.0),
    ("ranking", 200_000, 4.0),
    ("set", 200_000, 4.0),
    ("interval", 200_000, 4.0),
    ("text", 50_000, 8.0),  # where copies are suspected
    ("boxes", 50_000, 6.0),
)


@dataclass(frozen=True)
class Bar:
    """A crowd, and what weighing it may cost: times Dawid-Skene of 50 rounds, or seconds more than iP-TD."""

    answers: int
    classes: int
    workers: int
    per_task: int
    ratio: float = float("inf")
    seconds: float = float("inf")


BARS = (
    Bar(50_000, 4, 100, 10, ratio=10),
    Bar(200_000, 4, 500, 10, ratio=10),
    Bar(200_000, 2, 500, 5, ratio=10),
    Bar(215_000, 4, 37_000, 5, seconds=30),
    Bar(1_000_000, 4, 1_000, 10, seconds=6),
    Bar(10_000_000, 4, 10_000, 10, seconds=25),
)


def main() -> None:
    """Measure, print and judge."""
    missed = 0
    print("auto on classes, CPU seconds")
    for bar in BARS:
        crowd = f"{bar.answers},{bar.classes},{bar.workers},{bar.per_task}"
        taken = measure(WEIGH, crowd).figures
        ratio, more = taken["auto"] / taken["dawid_skene"], taken["auto"] - taken["proximity"]
        keeps = ratio <= bar.ratio and more <= bar.seconds
        missed += not keeps
        print(
            f"  {'kept  ' if keeps else 'missed'}  {bar.answers:>10,} answers, {bar.classes} classes, {bar.workers:>6,}"
            f" workers: {taken['auto']:6.2f} s; {ratio:5.1f} times DS (at most {bar.ratio:g}), {more:6.2f} s more than"
            f" iP-TD (at most {bar.seconds:g})"
        )
    with tempfile.TemporaryDirectory() as folder:
        taken = measure(DISCOVER, write_crowd(Path(folder) / "crowd.csv", 1_000_000)).figures
    ratio = taken["auto"] / taken["proximity"]
    missed += ratio > WHOLE
    print(
        f"  {'kept  ' if ratio <= WHOLE else 'missed'}   1,000,000 answers from file to files, with all that is told of"
        f" trust: {taken['auto']:.2f} s; {ratio:.1f} times iP-TD (at most {WHOLE:g})"
    )
    missed += measure_kinds()
    sys.exit(f"{missed} bars missed" if missed else 0)


def measure_kinds() -> int:
    """Measure and print kinds of label other than classes; return how many bars are missed."""
    missed = 0
    print("auto on other kinds, CPU seconds of discover")
    for kind, answers, bar in KINDS:
        taken = measure(KIND, f"{kind},{answers}").figures
        ratio = taken["auto"] / taken["proximity"]
        missed += ratio > bar
        print(
            f"  {'kept  ' if ratio <= bar else 'missed'}  {answers:>10,} answers, {kind}: {taken['auto']:6.2f} s;"
            f" {ratio:4.1f} times iP-TD (at most {bar:g})"
        )
    return missed


if __name__ == "__main__":
    main()
