"""Crowds in which some copy a leader."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import allalike
from allalike import Memory
from allalike.engines.memory import MemoryRun

__all__ = ["answer", "attack", "loaded", "rows_of"]

Table = npt.NDArray[np.int64]


def answer(rng: np.random.Generator, truth: Table, skill: float, n_workers: int = 1, k: int = 4) -> Table:
    """Let workers answer, each right with the same probability, and else any other class."""
    shape = (n_workers, len(truth))
    wrong = (truth + rng.integers(1, k, shape)) % k
    return np.where(rng.random(shape) < skill, truth, wrong)


def attack(
    seed: int, *, tasks: int = 100, rings: tuple[int, ...] = (3,), skill: float = 0.35, fidelity: float = 0.95
) -> tuple[Table, Table]:
    """Draw seven honest workers, and for each ring a bad leader with so many copiers; return truths and answers."""
    rng = np.random.default_rng([seed, 14])
    truth = rng.integers(0, 4, tasks)
    crowd = [answer(rng, truth, 0.7, 7)]
    for copiers in rings:
        leader = answer(rng, truth, skill)
        own = answer(rng, truth, 0.25, copiers)
        crowd += [leader, np.where(rng.random(own.shape) < fidelity, leader, own)]
    return truth, np.concatenate(crowd)


def rows_of(said: Table) -> list[tuple[str, str, str]]:
    """Return a table of answers as rows, with names."""
    return [(f"w{worker:03}", f"t{task:04}", "abcdefgh"[label]) for (worker, task), label in np.ndenumerate(said)]


def loaded(said: Table, **options: Any) -> MemoryRun:
    """Load a table of answers into memory."""
    return Memory(**options).load(allalike.read(rows_of(said), domain="categorical"))
