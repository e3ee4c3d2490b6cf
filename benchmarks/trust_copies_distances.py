"""Copies among numbers and texts: how many are found, how many honest workers are taken for copies, and what it costs.

``python benchmarks/trust_copies_distances.py`` prints the whole table; ``--crowds`` says how many crowds each line has.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import TYPE_CHECKING

import numpy as np

import allalike
from allalike import Auto, Memory
from allalike._core.columns.column import Column
from allalike._core.columns.values import Values, arrow_of
from allalike.answers import Answers
from allalike.domains import Real
from allalike.result.summaries import find_truths
from crowd_data import load
from public_data import use_data_beside_the_clone

if TYPE_CHECKING:
    import numpy.typing as npt

    Table = npt.NDArray[np.float64]

HONEST = 7
NOISES = ("normal", "heavy tails", "task scales", "common bias", "sd 0.2 to 3")


def draw_rings(rng: np.random.Generator, crowds: int, tasks: int, sizes: tuple[int, ...]) -> tuple[Table, Table]:
    """Draw honest workers, and rings whose leaders err twice as much and are copied with fidelity 0.8."""
    truth = rng.normal(0, 3, (crowds, 1, tasks))
    said = [truth + rng.normal(size=(crowds, HONEST, tasks))]
    for size in sizes:
        own = truth + 2 * rng.normal(size=(crowds, size, tasks))
        said.append(np.where(rng.random(own.shape) < 0.8, own[:, :1], own))
    return truth[:, 0], np.concatenate(said, axis=1)


def draw_honest(rng: np.random.Generator, crowds: int, tasks: int, noise: str) -> tuple[Table, Table]:
    """Draw eleven honest workers."""
    shape = (crowds, 11, tasks)
    error = rng.standard_t(2.5, shape) if noise == "heavy tails" else rng.normal(size=shape)
    factor = {
        "task scales": np.exp(rng.normal(0, 0.7, (crowds, 1, tasks))),
        "sd 0.2 to 3": np.exp(rng.uniform(np.log(0.2), np.log(3), (crowds, 11, 1))),
    }
    shift = rng.normal(size=(crowds, 1, tasks)) if noise == "common bias" else 0.0
    truth = rng.normal(0, 3, (crowds, 1, tasks))
    return truth[:, 0], truth + shift + error * factor.get(noise, 1.0)


def answers_of(said: Table, present: npt.NDArray[np.bool_]) -> Answers:
    """Return the answers of a crowd."""
    n, tasks = said.shape
    here = present.T
    worker = np.broadcast_to(np.arange(n, dtype=np.int32), here.shape)
    return Answers(
        workers=Values(arrow_of(np.arange(n))),
        tasks=Values(arrow_of(np.arange(tasks))),
        encoding=Real().learn(Column.of_objects("label", [0.0])),
        starts=np.concatenate([[0], np.cumsum(here.sum(axis=1))]),
        worker=worker[here],
        label=said.T[here],
    )


def play(name: str, truth: Table, said: Table, sizes: tuple[int, ...] = (), missing: float = 0.0) -> None:
    """Print recall of pairs of copies, crowds with a false alarm, and mean squared errors."""
    crowds, n, _ = said.shape
    present = np.random.default_rng(1).random(said.shape) >= missing
    present[:, :2] = True
    number, errors = np.empty((crowds, n), np.intp), np.empty((2, crowds))
    for crowd in range(crowds):
        run = Memory().load(answers_of(said[crowd], present[crowd]))
        found = Auto().fit(run)
        assert found.copy_groups is not None
        number[crowd] = found.copy_groups.number
        for way, fit in enumerate((found, Auto(screening=False).fit(run))):
            errors[way, crowd] = np.mean((find_truths(run, fit).joined().found["label"] - truth[crowd]) ** 2)
    own = np.concatenate([np.arange(n - sum(sizes)), *(np.full(size, n + k) for k, size in enumerate(sizes))])
    i, j = np.triu_indices(n, 1)
    together, copies = number[:, i] == number[:, j], own[i] == own[j]
    recall = f"{together[:, copies].mean():.3f}" if sizes else "-"
    false = together[:, ~copies].any(axis=1).sum()
    print(f"{name:34} {recall:>7} {false:>5}/{crowds} {errors[0].mean():9.3f} {errors[1].mean():9.3f}", flush=True)


def measure_cost(answers_per_task: int) -> None:
    """Print the CPU seconds of 5,000 workers with 50 answers each, and the memory at its peak."""
    rng = np.random.default_rng(0)
    worker = np.concatenate([rng.permutation(5000) for _ in range(50)])
    task = np.arange(250_000) // answers_per_task
    label = rng.normal(0, 3, task.max() + 1)[task] + rng.normal(size=250_000)
    rows = {"worker": worker, "task": task, "label": label}
    import pandas as pd

    run = Memory().load(allalike.read(pd.DataFrame(rows).drop_duplicates(["worker", "task"]), domain="real"))
    begin = time.process_time()
    Auto().fit(run)
    seconds, peak = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"5,000 workers, {answers_per_task} answers per task: {seconds:.1f} s CPU, {peak:.1f} GB", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crowds", type=int, default=200, help="how many crowds each line has")
    crowds = parser.parse_args().crowds
    print(f"{'':34} {'recall':>7} {'false alarms':>9} {'auto mse':>9} {'plain mse':>9}")
    for tasks in (100, 30):
        for sizes in ((4,), (7,), (3, 3)):
            truth, said = draw_rings(np.random.default_rng(len(sizes)), crowds, tasks, sizes)
            play(f"rings {sizes}, {tasks} tasks", truth, said, sizes)
            play(f"rings {sizes}, {tasks} tasks, half missing", truth, said, sizes, missing=0.5)
        for noise in NOISES:
            play(f"{noise}, {tasks} tasks", *draw_honest(np.random.default_rng(9), crowds, tasks, noise))
    use_data_beside_the_clone()
    for name in ("TRANSL", "crowdwsa2019/T1", "crowdwsa2019/T2", "crowdwsa2019/J1"):
        print(name, allalike.discover(load(name).answers).groups["members"].tolist())
    for answers_per_task in (10, 40, 200):
        measure_cost(answers_per_task)


if __name__ == "__main__":
    main()
