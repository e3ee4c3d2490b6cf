"""Measure how often the limits of workers and of numeric truths hold, in drawn crowds whose faults are known.

At least 2,000 workers a setting, of whom those with 5 shared answers and more count. The bar is 93 to 98 %. The program
prints a table and ends with an error if a bar is missed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import allalike
from allalike.methods import Auto

if TYPE_CHECKING:
    from collections.abc import Iterator

BAR = (93.0, 98.0)
N_WORKERS = 2000

Floats = npt.NDArray[np.float64]
SHARES = {
    "equal": "fixed(values=0.3)",
    "uniform": "uniform(low=0.05, high=0.6)",
    "hammers and spammers": "hammer-spammer(good=0.1, bad=0.5, share=0.6)",
}
PHIS = {"equal": "fixed(values=0.5)", "uniform": "uniform(low=0.2, high=0.9)"}
DEVIATIONS = {
    "equal": "fixed(values=1)",
    "uniform": "uniform(low=0.3, high=2)",
    "hammers and spammers": "hammer-spammer(good=0.5, bad=2, share=0.6)",
}


@dataclass(frozen=True)
class Setting:
    """A kind of crowd, how many tasks it has and how many of its workers answer each."""

    model: str
    population: str
    tasks: int
    each: int
    workers: int

    def crowds(self) -> Iterator[allalike.simulation.Simulated]:
        """Draw as many crowds as have the workers that are wanted."""
        for seed in range(1 + N_WORKERS // self.workers):
            yield allalike.simulate(
                self.model, workers=self.workers, tasks=self.tasks, answers_per_task=self.each, seed=seed
            )

    def __str__(self) -> str:
        model, answers = self.model.partition(", pop")[0] + ")", self.tasks * self.each // self.workers
        return f"{model:<20} {self.population:<21} {self.workers:>3} {self.each:>3} {answers:>3}"


def settings() -> Iterator[Setting]:
    """Return all settings of workers: 12 and 5 answers a task, few and many of a worker, and a small crowd."""
    families = [(f"one-coin(classes={k}, population=%r)", SHARES) for k in (2, 4)]
    families += [(f"mallows(items={items}, population=%r)", PHIS) for items in (4, 6, 10)]
    families += [("gaussian(spread=2, population=%r)", DEVIATIONS)]
    for model, populations in families:
        for name, population in populations.items():
            for tasks, each, workers in ((40, 12, 40), (200, 12, 40), (80, 5, 40), (320, 5, 40), (60, 5, 15)):
                yield Setting(model % population, name, tasks, each, workers)


def cover_workers(setting: Setting) -> tuple[float, float]:
    """Return the share of workers whose fault is within the limits, and of those with fewest answers, in percent."""
    inside, shared = [], []
    for crowd in setting.crowds():
        found = Auto().fit(allalike.Memory().load(crowd.answers)).uncertainty
        assert found is not None
        faults = crowd.drawn.faults
        inside.append((found.low <= faults) & (faults <= found.high))
        shared.append(found.shared)
    holds, answers = np.concatenate(inside), np.concatenate(shared)
    counts = answers >= 5
    fewest = counts & (answers <= np.quantile(answers[counts], 0.25))
    return 100 * float(holds[counts].mean()), 100 * float(holds[fewest].mean())


def cover_truths(shape: str, population: str, each: int, *, crowds: int = 20) -> float:
    """Return the share of tasks whose truth is within the limits, in percent."""
    inside = []
    for seed in range(crowds):
        rows, truth = draw_numbers(shape, population, each, np.random.default_rng(seed))
        found = allalike.discover(rows, domain="real").tables_as("pandas").truth
        inside.append((found["low"] <= truth) & (truth <= found["high"]))
    return 100 * float(np.concatenate(inside).mean())


def draw_numbers(shape: str, population: str, each: int, rng: np.random.Generator) -> tuple[Any, Floats]:
    """Draw answers of 40 workers to 200 tasks, with tails or scales that the model does not know."""
    n_tasks, n_workers = 200, 40
    deviation = allalike.simulation.populations.as_population(population).draw(n_workers, rng)
    truth = 10 * rng.standard_normal(n_tasks)
    worker = np.argsort(rng.random((n_tasks, n_workers)), axis=1)[:, :each]
    errors = rng.standard_normal(worker.shape)
    if shape == "heavy tails":
        errors = rng.standard_t(4, worker.shape) / np.sqrt(2)
    if shape == "hard tasks":
        errors *= np.exp(0.7 * rng.standard_normal((n_tasks, 1)) - 0.49)
    label = truth[:, None] + deviation[worker] * errors
    task = np.repeat(np.arange(n_tasks), each)
    return pa.table({"worker": worker.ravel(), "task": task, "label": label.ravel()}), truth


def main() -> None:
    """Measure, print and judge."""
    missed = 0
    print(
        "Workers: crowd, population, workers, answers a task and a worker; held in %, and of those with fewest answers"
    )
    for setting in settings():
        held, few = cover_workers(setting)
        missed += report(str(setting), held, f"{few:5.1f}")
    print("Truths of numbers: errors, population, answers a task; held in % of tasks")
    for shape in ("gaussian", "heavy tails", "hard tasks"):
        for name, population in DEVIATIONS.items():
            for each in (3, 5, 10):
                missed += report(f"{shape:<12} {name:<21} {each:>3}", cover_truths(shape, population, each), "")
    sys.exit(f"{missed} bars missed" if missed else 0)


def report(what: str, held: float, more: str) -> bool:
    """Print a line, and tell whether the bar was missed."""
    low, high = BAR
    keeps = low <= held <= high
    print(f"  {'kept  ' if keeps else 'missed'}  {what}  {held:5.1f} {more}", flush=True)
    return not keeps


if __name__ == "__main__":
    main()
