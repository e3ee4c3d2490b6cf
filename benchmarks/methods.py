"""Measure the rivals' methods against crowd-kit's and against iP-TD: a million answers of 2,000 workers, four classes.

All ratios are of CPU time, taken in one run; MAS is timed alone, on one core. The program ends with an error if a bar
is missed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from core import write_answers
from measuring import measure

LIMITS = {
    "discover with DS / crowd-kit DawidSkene": 1 / 20,
    "discover with DS-1 / crowd-kit OneCoinDawidSkene": 1 / 20,
    "CRH / iP-TD, classes": 3.0,
    "CATD / iP-TD, classes": 3.0,
    "CRH / iP-TD, numbers": 3.0,
    "CATD / iP-TD, numbers": 3.0,
    "MAS, 10 workers, seconds": 0.15,
    "MAS, 30 workers, seconds": 0.6,
}
ROUNDS = 10

OURS = """
import allalike.discover, pyarrow.compute, pyarrow.csv, pyarrow.parquet, scipy.special
taken = {}
for method in ("DS(max_iter={first}, tol=0)", "DS-1(max_iter={first}, tol=0)"):
    start = time.process_time()
    allalike.discover(path, method=method).save(path + ".out")
    taken[method.partition("(")[0]] = time.process_time() - start
report(**taken)
"""
THEIRS = """
import numpy, pandas
from crowdkit.aggregation import DawidSkene, OneCoinDawidSkene
frame = pandas.read_parquet(path)
taken = {}
for method in (DawidSkene(n_iter={rounds}, tol=-numpy.inf), OneCoinDawidSkene(n_iter={rounds}, tol=-numpy.inf)):
    start = time.process_time()
    method.fit_predict(frame)
    taken[type(method).__name__] = time.process_time() - start
report(**taken)
"""
WEIGH = """
import allalike, scipy.special
from allalike.methods import METHODS
from allalike._core.registry import make
from allalike._core.blocks.block import Ties
run = allalike.Memory().load(allalike.read(path))
taken = {}
for name in ("iP-TD(max_iter={rounds}, tol=0)", "CRH(max_iter={rounds}, tol=0)", "CATD(n_iter={rounds})"):
    method, best = make(name, METHODS, "method"), float("inf")
    for _ in range(3):
        start = time.process_time()
        weighing = method.fit(run)
        best = min(best, (time.process_time() - start) / weighing.iterations)
    taken[method.name] = best
report(**taken)
"""
MAS = """
import os
os.sched_setaffinity(0, {0})
import allalike, numpy as np
from allalike._core.blocks.block import Ties
taken = {}
for n_workers in (10, 30):
    rng = np.random.default_rng(0)
    truth, faults = rng.integers(0, 2, 15), rng.uniform(0.1, 0.5, n_workers)
    wrong = rng.random((n_workers, 15)) < faults[:, None]
    labels = np.where(wrong, 1 - truth, truth)
    rows = [(i, j, int(labels[i, j])) for i in range(n_workers) for j in range(15)]
    run = allalike.Memory().load(allalike.read(rows, domain="categorical"))
    allalike.MAS().fit(run)
    start = time.perf_counter()
    for _ in range(5):
        allalike.MAS().fit(run)
    taken[str(n_workers)] = (time.perf_counter() - start) / 5
report(**taken)
"""


def find_figures(folder: Path) -> dict[str, float]:
    """Return the figures of this machine, now."""
    figures = {}
    path = folder / "classes.parquet"
    write_answers(path, 1_000_000, real=False)
    rounds = {"{rounds}": str(ROUNDS), "{first}": str(ROUNDS + 1)}  # crowd-kit does not count its first M-step

    def filled(code: str) -> str:
        for name, value in rounds.items():
            code = code.replace(name, value)
        return code

    ours, theirs = (list(measure(filled(code), path).figures.values()) for code in (OURS, THEIRS))
    print(f"  DS {ours[0]:.2f} s, DS-1 {ours[1]:.2f} s; crowd-kit {theirs[0]:.1f} s, {theirs[1]:.1f} s CPU")
    figures["discover with DS / crowd-kit DawidSkene"] = ours[0] / theirs[0]
    figures["discover with DS-1 / crowd-kit OneCoinDawidSkene"] = ours[1] / theirs[1]
    for kind in ("classes", "numbers"):
        path = folder / f"{kind}.parquet"
        if kind == "numbers":
            write_answers(path, 1_000_000, real=True)
        proximity, crh, catd = measure(filled(WEIGH), path).figures.values()
        figures[f"CRH / iP-TD, {kind}"] = crh / proximity
        figures[f"CATD / iP-TD, {kind}"] = catd / proximity
    few, many = measure(MAS, path).figures.values()
    return {**figures, "MAS, 10 workers, seconds": few, "MAS, 30 workers, seconds": many}


def main() -> None:
    """Measure, print and judge."""
    missed = 0
    print("methods, 1,000,000 answers")
    with tempfile.TemporaryDirectory() as folder:
        for name, figure in find_figures(Path(folder)).items():
            missed += figure > LIMITS[name]
            verdict = "missed" if figure > LIMITS[name] else "kept  "
            print(f"  {verdict}  {name:50s} {figure:8.3f}  (at most {LIMITS[name]:.3f})")
    sys.exit(f"{missed} bars missed" if missed else 0)


if __name__ == "__main__":
    main()
