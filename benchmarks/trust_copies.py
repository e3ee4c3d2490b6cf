"""Measure how copies and workers without signal among classes are found, and what they cost.

Crowds of seven honest workers, right in 70 %, four classes. The program ends with an error if a bar is missed. Two
rings at once and loose pairs have no bar: they are shown as alike and keep their voices, by the same strictness that
keeps experts and related models from being merged.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import allalike
from allalike.methods.auto.copy_groups import find_class_copies

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from crowds.copiers import answer, attack, loaded, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable

Table = npt.NDArray[np.int64]
CROWDS, CLEAN_CROWDS = 200, 800


@dataclass(frozen=True)
class Bar:
    """What is measured on a crowd of this seed, over how many, and between which limits the mean must be."""

    name: str
    measure: Callable[[int], float]
    crowds: int = CROWDS
    least: float = 0.0
    most: float = 1.0


def found(said: Table) -> list[tuple[int, ...]]:
    """Return the groups of copies."""
    groups = find_class_copies(loaded(said))
    assert groups is not None
    return [group.members for group in groups.groups if group.copies]


def error(truth: Table, said: Table) -> float:
    """Return the share of wrong truths."""
    labels = allalike.discover(rows_of(said)).truth["label"].to_numpy()
    return float(np.mean(labels != np.array(list("abcd"))[truth]))


def honest(seed: int, n: int, tasks: int, *, decoys: float = 0.0, difficulty: float = 0.0) -> Table:
    """Draw honest workers; some of their errors are on one decoy, or tasks are of different difficulty."""
    rng = np.random.default_rng([seed, n, tasks])
    truth = rng.integers(0, 4, tasks)
    odds = np.log(0.7 / 0.3) + difficulty * rng.standard_normal(tasks)
    wrong = (truth + rng.integers(1, 4, (n, tasks))) % 4
    wrong = np.where(rng.random((n, tasks)) < decoys, (truth + rng.integers(1, 4, tasks)) % 4, wrong)
    return np.where(rng.random((n, tasks)) < 1 / (1 + np.exp(-odds)), truth, wrong)


def rare_recall(seed: int) -> float:
    """Find a class of 10 % among six workers who are right in 85 % and four who never name it."""
    rng = np.random.default_rng([seed, 90])
    truth = (rng.random(1000) < 0.1).astype(np.int64)
    said = np.concatenate([answer(rng, truth, 0.85, 6, k=2), np.zeros((4, 1000), np.int64)])
    labels = allalike.discover(rows_of(said)).truth["label"].to_numpy()
    return float(np.mean(labels[truth == 1] == "b"))


BARS = (
    Bar("error with a ring of 1 + 3", lambda seed: error(*attack(seed)), most=0.06),
    Bar("error with a ring of 1 + 6", lambda seed: error(*attack(seed, rings=(6,))), most=0.08),
    *(
        Bar(f"false alarms, {n} workers, {tasks} tasks, {name}", partial_alarm, CLEAN_CROWDS, most=most)
        for name, options, most in (
            ("clean", {}, 0.01),
            ("decoys", {"decoys": 0.6}, 0.02),
            ("difficulty", {"difficulty": 1.0}, 0.02),
        )
        for n in (7, 11)
        for tasks in (100, 30)
        for partial_alarm in [
            lambda seed, n=n, tasks=tasks, options=options: bool(found(honest(seed, n, tasks, **options)))
        ]
    ),
    Bar("recall of a rare class among constants", rare_recall, 50, least=0.95),
)


def main() -> None:
    """Measure, print and judge."""
    missed = False
    for bar in BARS:
        start = time.process_time()
        mean = float(np.mean([bar.measure(seed) for seed in range(bar.crowds)]))
        kept = bar.least <= mean <= bar.most
        missed |= not kept
        each = (time.process_time() - start) / bar.crowds
        print(
            f"{bar.name:50} {mean:.4f}  ({bar.least:g} to {bar.most:g}; {1000 * each:.0f} ms)"
            f"{'' if kept else '  MISSED'}",
            flush=True,
        )
    sys.exit(missed)


if __name__ == "__main__":
    main()
