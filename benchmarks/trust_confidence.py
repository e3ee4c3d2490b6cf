"""Measure how far confidences are from how often labels are right, in drawn crowds of classes.

The expected calibration error over ten bins, pooled over crowds, with three to ten answers a task and with easy and
hard tasks; beside it that of the share of the vote. And by how much confidences are too high on average.

Confidences are believed as far as two halves of the workers agree. Halves are worse than the whole, so in crowds whose
workers err each for herself, as these do, confidences are too low: that is what safety against shared errors costs. So
the bar is for being too sure, which must not be, and the calibration error is told, and not judged. The program ends
with an error if a bar is missed.

    python benchmarks/trust_confidence.py [crowds]
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

import allalike
from allalike._core.blocks.block import sum_by
from allalike.panels.calibration import BINS, expected_calibration_error

BAR = 0.02  # by which confidences may be above the share of labels that are right, on average
SETTINGS = (
    (2, 3, 0.0),
    (2, 5, 0.0),
    (2, 10, 0.0),
    (3, 5, 0.0),
    (4, 5, 0.0),
    (2, 5, 1.0),
    (2, 10, 1.0),
    (3, 5, 1.0),
    (4, 10, 1.0),
)
TASKS, WORKERS = 400, 30


def draw(
    k: int, answers: int, difficulty: float, seed: int
) -> tuple[npt.NDArray[np.int64], list[tuple[int, int, int]]]:
    """Draw truths and rows of answers: workers are right in 55 to 95 %, less on hard tasks, where they guess."""
    rng = np.random.default_rng([k, answers, int(10 * difficulty), seed])
    truth = rng.integers(k, size=TASKS)
    skill = (k * rng.uniform(0.55, 0.95, WORKERS) - 1) / (k - 1)
    odds = np.log(skill / (1 - skill)) + difficulty * rng.standard_normal(TASKS)[:, None]
    right = rng.random((TASKS, WORKERS)) < 1 / k + (1 - 1 / k) / (1 + np.exp(-odds))
    said = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, k, (TASKS, WORKERS))) % k)
    asked = rng.random((TASKS, WORKERS)).argsort(axis=1)[:, :answers]
    return truth, [(int(worker), task, int(said[task, worker])) for task in range(TASKS) for worker in asked[task]]


def calibration_error(confidence: npt.NDArray[np.float64], hit: npt.NDArray[np.float64]) -> float:
    """Return the expected calibration error over ten bins."""
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    return expected_calibration_error(
        *(sum_by(bins, weights, BINS) for weights in (np.ones(len(hit)), confidence, hit))
    )


def main() -> None:
    """Measure, print and judge."""
    crowds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    missed = 0
    print("by how much confidences of auto are too high; expected calibration error, and that of the share of the vote")
    for k, answers, difficulty in SETTINGS:
        found: dict[str, list[npt.NDArray[np.float64]]] = {"auto": [], "UA": []}
        for seed in range(crowds):
            truth, rows = draw(k, answers, difficulty, seed)
            for method, parts in found.items():
                table = allalike.discover(rows, domain="categorical", method=method).truth
                parts.append(np.column_stack([table["confidence"], table["label"].to_numpy() == truth]))
        ours, votes = (calibration_error(*np.concatenate(parts).T) for parts in found.values())
        sure, hit = np.concatenate(found["auto"]).mean(axis=0)
        missed += sure - hit > BAR
        told = "kept  " if sure - hit <= BAR else "missed"
        print(
            f"  {told}  {k} classes, {answers:>2} answers, difficulty {difficulty:g}: {sure - hit:+.3f}"
            f" (at most {BAR:g}); {ours:.3f}, {votes:.3f}",
            flush=True,
        )
    sys.exit(f"{missed} bars missed" if missed else 0)


if __name__ == "__main__":
    main()
