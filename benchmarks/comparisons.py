"""Measure comparisons and ratings against others: ratios of CPU time, taken in one run.

A million comparisons of a thousand items, by a thousand workers, are read, and the strengths of Bradley and Terry are
fitted to them: by this package, which begins with answers and ends with scores and their standard errors; by evalica,
which begins with lists of names; and by crowd-kit's NoisyBradleyTerry, which is ended once it has taken as long as its
bar says. Then ten rounds over ten million ratings, as levels in an order and as mere classes. The program ends with an
error if a bar is missed.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

import allalike
from allalike import Memory, Ranking
from allalike._core.blocks.block import Ties
from limited import Limited
from measuring import cpu

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMPARISONS, _ITEMS, _WORKERS = 1_000_000, 1000, 1000
_TASKS, _PER_TASK, _ROUNDS = 1_000_000, 10, 10
_READING, _EVALICA, _CROWD_KIT, _ORDINAL = 5.0, 2.0, 20.0, 2.0


def compare() -> pd.DataFrame:
    """Draw comparisons, of which the stronger item wins more often."""
    rng = np.random.default_rng(0)
    strength = rng.normal(size=_ITEMS)
    a = rng.integers(0, _ITEMS, _COMPARISONS)
    b = (a + rng.integers(1, _ITEMS, _COMPARISONS)) % _ITEMS
    first = rng.random(_COMPARISONS) < 1 / (1 + np.exp(strength[b] - strength[a]))
    items, workers = (np.array([f"{kind}{k}" for k in range(1000)]) for kind in ("item", "w"))
    winner = items[np.where(first, a, b)]
    worker = workers[rng.integers(0, _WORKERS, _COMPARISONS)]
    return pd.DataFrame({"worker": worker, "left": items[a], "right": items[b], "winner": winner})


def fit(answers: Any) -> None:
    """Fit strengths to answers, all workers alike."""
    run = Memory().load(answers)
    equal = np.ones(len(run.workers))
    run.find(partial(run.kernels.aggregate, ties=Ties()), equal, equal)


def fit_by_evalica(table: pd.DataFrame) -> float:
    """Return the CPU seconds of evalica."""
    import evalica

    left, right = table["left"].tolist(), table["right"].tolist()
    first = (table["left"] == table["winner"]).tolist()
    winners = [evalica.Winner.X if wins else evalica.Winner.Y for wins in first]
    return cpu(lambda: evalica.bradley_terry(left, right, winners), 3)


def fit_by_crowd_kit(table: pd.DataFrame) -> None:
    """Fit strengths and skills of workers."""
    from crowdkit.aggregation import NoisyBradleyTerry

    NoisyBradleyTerry().fit(table.rename(columns={"winner": "label"}))


def count_times(table: pd.DataFrame, own: float) -> float:
    """Return how many times as long crowd-kit takes, or the bar if it was ended then."""
    with Limited() as process:
        process.call(_load, seconds=100)  # before the clock starts
        try:
            return float(process.call(cpu, partial(fit_by_crowd_kit, table), seconds=_CROWD_KIT * own)) / own
        except TimeoutError:
            return _CROWD_KIT


def _load() -> None:
    import_module("crowdkit.aggregation")


def rate() -> pa.Table:
    """Draw ratings from 1 to 5."""
    rng = np.random.default_rng(0)
    worker = (rng.integers(0, _WORKERS, _TASKS)[:, None] + 97 * np.arange(_PER_TASK)) % _WORKERS
    truth = rng.integers(1, 6, _TASKS)[:, None]
    label = np.clip(truth + np.rint(rng.normal(0, 1, worker.shape)).astype(int), 1, 5)
    columns = {"worker": worker, "task": np.repeat(np.arange(_TASKS), _PER_TASK), "label": label}
    return pa.table({name: column.ravel() for name, column in columns.items()})


def run_rounds(table: pa.Table, domain: str) -> float:
    """Return the CPU seconds of so many rounds."""
    run = Memory().load(allalike.read(table, domain=domain))
    weights = np.random.default_rng(1).random(len(run.workers))
    return cpu(lambda: [run.sum(run.kernels.peer_sums, weights) for _ in range(_ROUNDS)], 3)


def figures() -> Iterator[tuple[str, float, float]]:
    """Yield what is measured, its figure, and its bar, which is the most that it may be."""
    table = compare()
    yield "seconds to read a million comparisons", cpu(lambda: allalike.read(table), 2), _READING
    answers = allalike.read(table, domain=Ranking(rule="bradley terry"))
    own = cpu(partial(fit, answers), 3)
    yield "strengths / evalica", own / fit_by_evalica(table), _EVALICA
    yield "strengths / NoisyBradleyTerry", 1 / count_times(table, own), 1 / _CROWD_KIT
    ratings = rate()
    ordinal, classes = (run_rounds(ratings, name) for name in ("ordinal", "categorical"))
    yield "ten rounds of ten million ratings / as classes", ordinal / classes, _ORDINAL


def main() -> None:
    """Measure, print and judge."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # or CPU time would count how long threads wait for each other
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    missed = 0
    print("comparisons and ratings, CPU")
    for name, figure, bar in figures():
        missed += figure > bar
        print(f"  {'missed' if figure > bar else 'kept  '}  {name:50s} {figure:8.3f}  (at most {bar:.3f})", flush=True)
    sys.exit(f"{missed} bars missed" if missed else 0)


if __name__ == "__main__":
    main()
