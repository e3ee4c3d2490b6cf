"""Measure agreement against its bar: at 1 million answers at most 2 times one P-TD run, both from the same loaded run.

Ratios are of CPU time, taken in one run. P-TD weighs the workers and decides all tasks, with weights and without, as
`discover` has it. The program ends with an error if the bar is missed. It also counts in how many drawn crowds the
limits of 95 % hold what alpha is with very many tasks; ``limits`` behind its name does only that.

    python benchmarks/agreement.py [limits]
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import allalike
from allalike import METHODS, Memory
from allalike.reliability.agreement import measure_agreement
from allalike.result.summaries import find_truths

if TYPE_CHECKING:
    from collections.abc import Callable

WORKERS, TASKS, PER_TASK = 1000, 100_000, 10
BAR = 2.0
TIMES = 5
CROWDS = 400
SETTINGS = ((20, 5), (20, 12), (20, 20), (5, 20), (5, 100), (5, 3000))  # workers and tasks of crowds with limits


def draw(kind: str) -> pa.Table:
    """Draw answers of workers who err each with a probability of her own, or with a variance."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(TASKS), PER_TASK)
    first = rng.integers(0, WORKERS, TASKS)
    worker = ((first[:, None] + rng.integers(1, 97, TASKS)[:, None] * np.arange(PER_TASK)) % WORKERS).ravel()
    fault, truth = rng.uniform(0.05, 0.6, WORKERS)[worker], rng.integers(0, 4, TASKS)[task]
    if kind == "real":
        label = pa.array(truth + fault * rng.normal(size=len(task)))
    else:
        said = np.where(rng.random(len(task)) < fault, rng.integers(0, 4, len(task)), truth)
        label = pa.array(["cat", "dog", "fox", "owl"]).take(pa.array(said))
    return pa.table({"worker": worker, "task": task, "label": label})


def cpu(work: Callable[[], object]) -> float:
    """Return CPU seconds."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def ratio(kind: str) -> tuple[float, float, float]:
    """Return the least CPU seconds of P-TD and of agreement on a loaded run, and their ratio."""
    answers, table = allalike.read(draw(kind), domain=kind), []
    for _ in range(TIMES):
        run = Memory().load(answers)

        def solve(run: Any = run) -> object:
            return find_truths(run, METHODS["P-TD"]().fit(run), unweighted=True)

        def measure(run: Any = run) -> object:
            return measure_agreement(run)

        table.append((cpu(solve), cpu(measure)))
    solving, measuring = np.array(table).min(axis=0).tolist()
    return solving, measuring, measuring / solving


def draw_small(kind: str, n_workers: int, n_tasks: int, rng: np.random.Generator) -> pa.Table:
    """Draw the answers of some workers to all of some tasks with three truths."""
    fault, truth = np.linspace(0.1, 0.5, n_workers)[:, None], rng.integers(0, 3, n_tasks)
    if kind == "real":
        said = truth + rng.normal(size=(n_workers, n_tasks)) * np.sqrt(fault)
    else:
        drawn = rng.integers(0, 3, (n_workers, n_tasks))
        said = np.where(rng.random((n_workers, n_tasks)) < fault, drawn, truth)
    worker, task = np.divmod(np.arange(said.size), n_tasks)
    return pa.table({"worker": worker, "task": task, "label": said.ravel()})


def coverage(kind: str, n_workers: int, n_tasks: int) -> tuple[float, float]:
    """Return in which share of crowds the limits hold, and how far apart they are."""
    rng = np.random.default_rng(0)
    truth = allalike.agreement(draw_small(kind, n_workers, 1_500_000 // n_workers, rng), domain=kind).alpha
    found = [allalike.agreement(draw_small(kind, n_workers, n_tasks, rng), domain=kind) for _ in range(CROWDS)]
    low, high = np.array([[each.ci_low, each.ci_high] for each in found]).T
    return float(((low <= truth) & (truth <= high)).mean()), float(np.median(high - low))


def measure_times() -> int:
    """Measure, print and judge times; return how many bars are missed."""
    missed = 0
    for kind in ("categorical", "real"):
        solving, measuring, times = ratio(kind)
        missed += times > BAR
        print(
            f"  {'missed' if times > BAR else 'kept  '}  {kind:12s} P-TD {solving:.3f} s, agreement {measuring:.3f} s:"
            f" {times:.2f} times (at most {BAR:g})"
        )
    return missed


def main() -> None:
    """Measure, print and judge."""
    missed = 0 if sys.argv[1:] == ["limits"] else measure_times()
    for kind in ("categorical", "real"):
        for n_workers, n_tasks in SETTINGS:
            share, apart = coverage(kind, n_workers, n_tasks)
            print(
                f"  {kind:12s} {n_workers:2} workers, {n_tasks:5,} tasks: the limits, {apart:.2f} apart, hold in"
                f" {100 * share:.0f} %",
                flush=True,
            )
    sys.exit(f"{missed} bars missed" if missed else 0)


if __name__ == "__main__":
    main()
