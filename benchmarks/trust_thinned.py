"""How far the error rates of workers with few answers are from what they are, as they seem and as they are told.

Of each crowd of classes whose truths are known, a fifth of the workers with enough of these keep 1, 2, 5 or 10 of their
answers, and the others all of theirs. What her answers alone say of a worker is compared with the error rate that the
table of workers tells, which is pulled to that of the crowd, by the root of the mean squared difference to her error
rate on all tasks with known truths.

    python benchmarks/trust_thinned.py [families]
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import allalike
from gold_crowds import find_crowds

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.answers import Answers

    Floats = npt.NDArray[np.float64]

KEPT = (1, 2, 5, 10)
LEAST = 30  # answers to tasks with known truths, by which an error rate is known
SHARE = 0.2  # of these workers keep few answers
MOST = 100_000  # answers of a crowd that is tried


def find_error_rates(answers: Answers) -> Floats:
    """Return each worker's error rate on tasks with known truths; NaN if these are few."""
    truth = np.full(answers.n_tasks, -1)
    truth[answers.gold_task] = answers.gold_label
    meant, n_workers = np.repeat(truth, np.diff(answers.starts)), len(answers.workers)
    known = meant >= 0
    wrong = np.bincount(answers.worker[known], (answers.label != meant)[known], minlength=n_workers)
    given = np.bincount(answers.worker[known], minlength=n_workers)
    return np.where(given >= LEAST, wrong / np.maximum(given, 1), np.nan)


def thin(answers: Answers, few: npt.NDArray[np.int64], kept: int, rng: np.random.Generator) -> pa.Table:
    """Return the answers, of which some workers keep few."""
    order = rng.permutation(answers.n_answers)
    worker = answers.worker[order]
    rank = np.zeros(len(order), np.int64)
    for each in few:
        rank[worker == each] = np.arange(np.count_nonzero(worker == each))
    rows = order[rank < kept]
    task = np.repeat(np.arange(answers.n_tasks), np.diff(answers.starts))
    return pa.table({"worker": answers.worker[rows], "task": task[rows], "label": answers.label[rows]})


def miss(answers: Answers, kept: int) -> Floats:
    """Return the squares by which error rates of thinned workers are missed: as they seem, and as they are told."""
    rng = np.random.default_rng(kept)
    rates = find_error_rates(answers)
    able = np.flatnonzero(np.isfinite(rates))
    few = rng.permutation(able)[: int(SHARE * len(able))]
    result = allalike.discover(thin(answers, few, kept, rng), domain="categorical").tables_as("pandas")
    faults = result.weighing.uncertainty
    if faults is None or not len(few):
        return np.empty((0, 2))
    place = {worker: number for number, worker in enumerate(result.run.workers.tolist())}
    told = result.workers["error_rate"].to_numpy()
    there = [worker for worker in few.tolist() if worker in place and np.isfinite(faults.fault[place[worker]])]
    return np.array([[faults.fault[place[w]] - rates[w], told[place[w]] - rates[w]] for w in there]).reshape(-1, 2) ** 2


def main() -> None:
    """Print a line for each number of answers that are kept."""
    crowds = [crowd.read() for crowd in find_crowds(sys.argv[1:] or ["people", "public"])]
    crowds = [answers for answers in crowds if answers.n_answers <= MOST]
    for kept in KEPT:
        squares = [found for answers in crowds if len(found := miss(answers, kept))]
        workers = sum(map(len, squares))
        alone, told = np.sqrt(np.mean([found.mean(axis=0) for found in squares], axis=0))
        print(
            f"{kept:2} answers kept, {workers} workers of {len(squares)} crowds: root mean square {alone:.2f} alone,"
            f" {told:.2f} as told",
            flush=True,
        )


if __name__ == "__main__":
    main()
