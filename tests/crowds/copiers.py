"""Crowds in which some copy a leader."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import allalike
from allalike import Memory, Result
from allalike.engines.memory import MemoryRun

Table = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
HONEST, TRIALS = 7, 30


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
    crowd = [answer(rng, truth, 0.7, HONEST)]
    for copiers in rings:
        leader = answer(rng, truth, skill)
        own = answer(rng, truth, 0.25, copiers)
        crowd += [leader, np.where(rng.random(own.shape) < fidelity, leader, own)]
    return truth, np.concatenate(crowd)


def attacks_on_numbers(seed: int, *sizes: int, tasks: int = 100, fidelity: float = 0.8) -> tuple[Numbers, Numbers]:
    """Draw crowds of honest workers and of rings whose leader errs twice as much; return their truths and answers."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 3, (TRIALS, 1, tasks))
    said = [truth + rng.normal(size=(TRIALS, HONEST, tasks))]
    for size in sizes:
        own = truth + 2 * rng.normal(size=(TRIALS, size, tasks))
        copied = rng.random(own.shape) < fidelity
        said.append(np.where(copied, own[:, :1], own))
    return truth[:, 0], np.concatenate(said, axis=1)


def rows_of(said: Table) -> list[tuple[str, str, str]]:
    """Return a table of answers as rows, with names; -1 is a missing one."""
    return [
        (f"w{who:03}", f"t{task:04}", "abcdefgh"[label]) for (who, task), label in np.ndenumerate(said) if label >= 0
    ]


def loaded(said: Table, **options: Any) -> MemoryRun:
    """Load a table of answers into memory."""
    return Memory(**options).load(allalike.read(rows_of(said), domain="categorical"))


def scattered(domain: str) -> list[tuple[str, str, Any]]:
    """Draw 60 workers, most of whom share few of 200 tasks; three copy a bad one, and two always say the same."""
    rng = np.random.default_rng(5)
    if domain == "real":
        said = rng.normal(0, 3, 200) + rng.normal(size=(60, 200)) * np.where(np.arange(60) < 4, 3.0, 1.0)[:, None]
    else:
        truth = rng.integers(0, 4, 200)
        said = np.concatenate([answer(rng, truth, 0.3, 4), answer(rng, truth, 0.75, 56)])
    said[1:4] = np.where(rng.random((3, 200)) < 0.95, said[0], said[1:4])
    said[58:] = said[58, 0]
    there = rng.random(said.shape) < np.where(np.arange(60) < 4, 0.4, 0.15)[:, None]
    return [(f"w{worker:03}", f"t{task:04}", said[worker, task].item()) for worker, task in np.argwhere(there)]


def check_alike(found: Result, whole: Result) -> None:
    """Check that copies, signal and truths are the same, and that there are copies, and workers without signal."""
    assert whole.groups["members"].tolist() == ["w000; w001; w002; w003"]
    assert whole.workers["uninformative"].sum() == 2
    for name in ("groups", "workers", "truth"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(whole, name), rtol=1e-9, atol=1e-12)
