"""Measure what the default costs on classes: beside Dawid-Skene on few answers, and beside iP-TD on many.

CPU seconds of weighing answers that are in memory: six readings of them, and of four pairs of halves of the workers. It
should cost a few times Dawid-Skene on few answers, and some seconds more than iP-TD on many, which are sampled. The
program ends with an error if a bar is missed.
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
from allalike._core.blocks.ties import Ties
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
for name, method in (("proximity", IPTD()), ("dawid_skene", DS(max_iter=50, tol=0)), ("auto", Auto(plain=True))):
    start = time.process_time()
    method.weigh(run)
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
    sys.exit(f"{missed} bars missed" if missed else 0)


if __name__ == "__main__":
    main()
