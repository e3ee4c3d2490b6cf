"""Measure experiments on one core: the categorical block of the paper's main table, and the plain way to do the same.

The plain way is how such an experiment is usually written first: a frame with one row per worker and one column per
task, a loop over pairs of workers for their distances, and loops over tasks for the votes. It runs some of the methods
only; ours runs the same ones for the comparison. The program ends with an error if a bar is missed.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np
import pandas as pd

from allalike.experiments import Setting, run
from allalike.simulation import pool
from public_data import use_data_beside_the_clone

BINARY = ("binary SYN.HS", "binary SYN.N", "Pred.T1", "Pred.T2", "Pred.T3", "Pred.T4")
MORE_CLASSES = ("k=4 SYN", "Chinese", "English", "IT", "Medicine", "Pokemon", "Science")
METHODS = ("CRH(zero='clip')", "DS-1", "EXP", "TOP2(size=3)", "D-TD", "P-TD", "P-TD-AK", "iP-TD", "CATD", "DS", "OA")
PLAIN = ("UA", "P-TD", "P-TD-AK", "iP-TD", "CRH(zero='clip')")
MOST_SECONDS, LEAST_RATIO = 600.0, 10.0


def distances(frame: pd.DataFrame) -> np.ndarray:
    """Compare all pairs of workers, one after the other."""
    n = len(frame)
    apart = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            apart[i, j] = sum(a != b for a, b in zip(frame.iloc[i], frame.iloc[j], strict=True)) / frame.shape[1]
    return apart


def vote(frame: pd.DataFrame, weights: np.ndarray) -> list[int]:
    """Take the label with the largest weight of each task, one after the other."""
    found = []
    for task in frame.columns:
        score: dict[int, float] = {}
        for weight, label in zip(weights, frame[task], strict=True):
            score[label] = score.get(label, 0.0) + weight
        found.append(max(score, key=lambda label: score[label]))
    return found


def clean(weights: np.ndarray) -> np.ndarray:
    """Make weights that sum to 1."""
    weights = np.maximum(weights, 0.0)
    return weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))


def plain(frame: pd.DataFrame, truth: np.ndarray) -> dict[str, float]:
    """Solve one sample with each of the plain methods, and return their errors."""
    n = len(frame)
    apart = distances(frame)
    disparity = apart.sum(axis=1) / (n - 1)
    half = disparity.mean() / 2
    fault = np.clip((disparity - half) / (1 - 2 * half), 0.001, 0.999)
    weights = {
        "UA": np.ones(n),
        "P-TD": disparity.max() - disparity,
        "P-TD-AK": np.log((1 - fault) / fault),
        "iP-TD": proximity_rounds(apart),
        "CRH(zero='clip')": crh_rounds(frame),
    }
    found = {name: vote(frame, clean(weight)) for name, weight in weights.items()}
    return {name: float(np.mean(np.array(labels) != truth)) for name, labels in found.items()}


def proximity_rounds(apart: np.ndarray) -> np.ndarray:
    """Weigh by weighted distances, up to 15 times."""
    n = len(apart)
    omega = np.full(n, 1 / n)
    for _ in range(15):
        fault = np.array(
            [
                sum(omega[j] * apart[i, j] for j in range(n) if j != i) / max(sum(omega) - omega[i], 1e-12)
                for i in range(n)
            ]
        )
        old, omega = omega, clean(fault.max() - fault)
        if np.linalg.norm(omega - old) < 5e-5:
            break
    return omega


def crh_rounds(frame: pd.DataFrame) -> np.ndarray:
    """Weigh by losses against the vote, up to 15 times."""
    weights = clean(np.ones(len(frame)))
    for _ in range(15):
        answers = vote(frame, weights)
        loss = np.array([np.mean(frame.iloc[i].to_numpy() != answers) for i in range(len(frame))])
        old = weights
        weights = clean(np.array([1e6 if own < 5e-5 else math.log(loss.sum() / own) for own in loss]))
        if np.linalg.norm(weights - old) < 5e-5:
            break
    return weights


def plain_seconds(repetitions: int) -> float:
    """Return how long the plain way takes for one repetition."""
    crowd = pool("binary SYN.N", workers=300, tasks=300)
    frame = pd.DataFrame(crowd.labels)
    rng = np.random.default_rng(0)
    begin = time.process_time()
    for _ in range(repetitions):
        workers, tasks = rng.choice(300, 10, replace=False), rng.choice(300, 15, replace=False)
        plain(frame.iloc[workers, tasks], crowd.truth[tasks])
    return (time.process_time() - begin) / repetitions


def our_seconds(settings: list[Setting], repetitions: int) -> float:
    """Return how long our way takes for all repetitions, on one core."""
    begin = time.process_time()
    run(settings, repetitions=repetitions, jobs=1)
    return time.process_time() - begin


def main() -> None:
    """Measure, print and judge."""
    use_data_beside_the_clone()
    both = [
        Setting(source=name, workers=10, tasks=15, methods=(*METHODS, "IBP", "EVD") if name in BINARY else METHODS)
        for name in (*BINARY, *MORE_CLASSES)
    ]
    block = our_seconds(both, 1000)
    ours = our_seconds([Setting(source="binary SYN.N", workers=10, tasks=15, methods=PLAIN, pool=300)], 1000) / 1000
    theirs = plain_seconds(50)
    print("experiments, one core")
    print(
        f"  {len(both)} rows of the main table, {len(METHODS)} to {len(METHODS) + 2} methods, 1,000 repetitions each:"
    )
    missed = 0
    for name, figure, bar, kept in (
        ("CPU seconds of the categorical block", block, f"at most {MOST_SECONDS:.0f}", block <= MOST_SECONDS),
        (
            "plain way / ours, per repetition",
            theirs / ours,
            f"at least {LEAST_RATIO:.0f}",
            theirs >= LEAST_RATIO * ours,
        ),
    ):
        missed += not kept
        print(f"  {'kept  ' if kept else 'missed'}  {name:45s} {figure:8.1f}  ({bar})")
    print(f"  plain {1000 * theirs:.1f} ms, ours {1000 * ours:.2f} ms a repetition with {len(PLAIN)} methods")
    sys.exit(f"{missed} bars missed" if missed else 0)


if __name__ == "__main__":
    main()
