"""Crowds for laws: whole, sparse, of one worker, of equals."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.api.discover import discover
from allalike.errors import ConvergenceWarning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike.api.result import Result
    from allalike.domains import Domain
    from allalike.engines import Engine
    from allalike.methods import Method

__all__ = ["Row", "as_rows", "same_results", "shuffled", "solve", "sparse"]

Row = tuple[Any, Any, Any]


def as_rows(answers: Sequence[Row]) -> list[Row]:
    """Return answers as a list of rows, of which laws need some: three workers who answered three common tasks.

    >>> as_rows([("ada", 1, "x")])
    Traceback (most recent call last):
    ValueError: Laws need answers of three workers to three tasks or more. Give more answers.
    """
    rows = [(worker, task, label) for worker, task, label in answers]
    if min(len({worker for worker, _, _ in rows}), len({task for _, task, _ in rows})) < 3:
        raise ValueError("Laws need answers of three workers to three tasks or more. Give more answers.")
    return rows


def sparse(rows: list[Row], seed: int) -> list[Row]:
    """Keep one to three answers to each task: crowds in which little is known of anybody.

    >>> [task for _, task, _ in sparse([(w, t, 0) for t in range(4) for w in range(9)], seed=0)]
    [0, 0, 1, 1, 2, 3, 3]
    """
    rng = np.random.default_rng(seed)
    kept: list[Row] = []
    for task in dict.fromkeys(task for _, task, _ in rows):
        own = [row for row in rows if row[1] == task]
        kept += [own[place] for place in rng.permutation(len(own))[: rng.integers(1, 4)]]
    return kept


def shuffled(rows: list[Row], seed: int) -> list[Row]:
    """Return the rows in another order."""
    return [rows[place] for place in np.random.default_rng(seed).permutation(len(rows))]


def solve(rows: list[Row], domain: Domain, method: str | Method, engine: Engine | None = None) -> Result:
    """Discover, with the first answer to each task as known truth, so that an oracle can work too."""
    gold = {task: label for _, task, label in sorted(rows, key=lambda row: str(row[:2]), reverse=True)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return discover(rows, domain=domain, method=method, engine=engine, gold=list(gold.items()))


def same_results(law: str, left: Result, right: Result) -> None:
    """Refuse results that differ by more than rounding."""
    for column in ("disparity", "fault", "weight"):
        one, other = left.workers[column].to_numpy(), right.workers[column].to_numpy()
        if not np.allclose(one, other, rtol=1e-7, atol=1e-10, equal_nan=True):
            raise AssertionError(f"{law}, but {column} is {one.tolist()} and {other.tolist()}.")
    kernels, scatter = left.run.kernels, np.zeros(len(left.truth))
    codes = [result.found.joined().found["label"] for result in (left, right)]
    vocabulary = [result.run.encoding for result in (left, right)]
    other = vocabulary[0].remap(codes[1], vocabulary[1])
    differs = kernels.differs(codes[0], other, scatter)
    close = np.nan_to_num(kernels.distance_between(codes[0], other)) <= 1e-12
    if (differs & ~close).any():
        task = int(np.argmax(differs & ~close))
        raise AssertionError(
            f"{law}, but the truth of task {left.truth['task'][task]!r} is {left.truth['label'][task]!r} and"
            f" {right.truth['label'][task]!r}."
        )
