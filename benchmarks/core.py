"""Measure the core against its bars: ratios of CPU time, wall time and memory, all taken in one run.

Every figure is a ratio to something that others wrote and that runs beside it on the same machine and the same
answers. The program ends with an error if a bar is missed. ``make bench`` runs it with a million answers;
``--answers 10000000`` measures ten million, where crowd-kit alone takes several minutes.
"""

from __future__ import annotations

import argparse
import compileall
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import allalike
from measuring import measure
from programs import ROUND

LIMITS = {  # what: (the largest ratio allowed with a million answers, and with ten million)
    "discover / crowd-kit DawidSkene, CPU": (1 / 15, 1 / 35),
    "discover / crowd-kit MajorityVote, CPU": (1.0, 1.0),
    "whole command / pandas read and factorize, wall": (2.5, 1.2),
    "one round / one numpy.bincount": (8.0, 8.0),
    "peak memory above 0.4 GB, bytes an answer": (60.0, 60.0),
    "import allalike / import numpy, wall": (1.6, 1.6),
}
BASE_MEMORY = 0.4e9

DISCOVER = """
import allalike.discover, pyarrow.compute, pyarrow.csv, pyarrow.parquet
start = time.process_time()
allalike.discover(path, method="iP-TD(max_iter=10, tol=0)").save(path + ".out")
report(cpu=time.process_time() - start)
"""
PANDAS = """
import pandas, pyarrow.parquet
start = time.perf_counter()
frame = pandas.read_parquet(path)
for column in ("worker", "task", "label"):
    pandas.factorize(frame[column])
report(wall=time.perf_counter() - start)
"""
CROWD_KIT = """
import pandas
from crowdkit.aggregation import DawidSkene, MajorityVote
frame = pandas.read_parquet(path)
taken = {}
for method in (MajorityVote(), DawidSkene(n_iter=10, tol=0)):
    start = time.process_time()
    method.fit_predict(frame)
    taken[type(method).__name__] = time.process_time() - start
report(**taken)
"""


def wall(command: list[str], *, times: int) -> float:
    """Return the shortest wall time of a command."""
    code = (
        "import subprocess, sys, time\nstart = time.perf_counter()\nsubprocess.run(sys.argv[1:], check=True)\n"
        "print(time.perf_counter() - start)"
    )
    return min(
        float(subprocess.run([sys.executable, "-c", code, *command], stdout=subprocess.PIPE, check=True).stdout)
        for _ in range(times)
    )


def write_answers(path: Path, n_answers: int, *, real: bool) -> None:
    """Write shuffled one-coin answers on four classes, or numbers with Gaussian errors: ten a task, 2,000 workers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    n_tasks, n_workers = n_answers // 10, 2000
    steps = rng.integers(1, n_workers // 10, (n_tasks, 10)).cumsum(axis=1)  # ten different workers for each task
    worker = ((rng.integers(0, n_workers, (n_tasks, 1)) + steps) % n_workers).ravel()
    task = np.repeat(np.arange(n_tasks), 10)
    fault, truth = np.clip(rng.normal(0.4, 0.2, n_workers), 0.02, 0.95), rng.integers(0, 4, n_tasks)
    label: Any
    if real:
        label = truth[task] + np.sqrt(fault[worker]) * rng.standard_normal(n_answers)
    else:
        errs = rng.random(n_answers) < fault[worker]
        label = np.array(["ant", "bee", "cow", "dog"])[(truth[task] + errs * rng.integers(1, 4, n_answers)) % 4]
    order = rng.permutation(n_answers)
    workers = np.array([f"worker-{number:05d}" for number in range(n_workers)])
    tasks = np.array([f"task-{number:08d}" for number in range(n_tasks)])
    columns = {"worker": workers[worker[order]], "task": tasks[task[order]], "label": label[order]}
    pq.write_table(pa.table({name: pa.array(column) for name, column in columns.items()}), path)


def find_ratios(path: Path, n_answers: int, *, real: bool) -> dict[str, float]:
    """Return the ratios of this machine, now."""
    times = 5 if n_answers <= 1_000_000 else 2
    pandas_wall = min(measure(PANDAS, path).figures["wall"] for _ in range(times))
    found = [measure(DISCOVER, path) for _ in range(times)]
    ours, peak = min(one.figures["cpu"] for one in found), max(one.peak for one in found)
    program = str(Path(sys.executable).with_name("allalike"))
    command = wall([program, "discover", str(path), "--method", "iP-TD", "-q", "-o", f"{path}.out"], times=times)
    rounds = measure(ROUND, path).figures
    imports = [wall([sys.executable, "-c", f"import {name}"], times=10) for name in ("allalike", "numpy")]
    ratios = {
        "whole command / pandas read and factorize, wall": command / pandas_wall,
        "one round / one numpy.bincount": rounds["round"] / rounds["bincount"],
        "peak memory above 0.4 GB, bytes an answer": max(0.0, (peak - BASE_MEMORY) / n_answers),
        "import allalike / import numpy, wall": imports[0] / imports[1],
    }
    print(
        f"  discover {ours:.2f} s CPU, {ours / n_answers * 1e9:.0f} ns an answer, peak {peak / 1e6:.0f} MB; command"
        f" {command:.2f} s; pandas {pandas_wall:.2f} s; one round / bincount without weights"
        f" {rounds['round'] / rounds['unweighted']:.1f}"
    )
    if not real:
        vote, dawid_skene = measure(CROWD_KIT, path).figures.values()
        ratios["discover / crowd-kit DawidSkene, CPU"] = ours / dawid_skene
        ratios["discover / crowd-kit MajorityVote, CPU"] = ours / vote
        print(f"  crowd-kit: MajorityVote {vote:.2f} s CPU, DawidSkene with 10 rounds {dawid_skene:.1f} s CPU")
    return ratios


def main() -> None:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=1_000_000)
    n_answers = parser.parse_args().answers
    large = n_answers > 1_000_000
    compileall.compile_dir(Path(allalike.__file__).parent, quiet=1)  # as pip does when it installs a package
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("categorical", "real"):
            print(f"{n_answers:,} {kind} answers")
            path = Path(folder) / f"{kind}.parquet"
            write_answers(path, n_answers, real=kind == "real")
            for name, ratio in find_ratios(path, n_answers, real=kind == "real").items():
                limit = LIMITS[name][large]
                missed += ratio > limit
                print(f"  {'missed' if ratio > limit else 'kept  '}  {name:50s} {ratio:8.3f}  (at most {limit:.3f})")
    sys.exit(f"{missed} bars missed" if missed else 0)


if __name__ == "__main__":
    main()
