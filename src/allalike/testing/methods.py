"""Laws of methods: what any method promises, on any kind of label that it serves."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import numpy as np

from allalike.domains import Categorical, Domain, Real
from allalike.engines import Disk, Engine, Memory
from allalike.errors import UnsupportedError
from allalike.testing.crowds import Row, as_rows, same_results, shuffled, solve, sparse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allalike.api.result import Result
    from allalike.methods import Method

__all__ = ["check_method"]

_ANSWERS_PER_BLOCK = 7  # so that even small crowds have several blocks


def check_method(
    method: Method,
    crowds: Iterable[tuple[Domain, Sequence[Row]]] | None = None,
    *,
    engines: Sequence[Engine] | None = None,
) -> None:
    """Check that a method keeps the laws of methods, on crowds of every kind of label that it serves.

    Parameters
    ----------
    method
        The method.
    crowds
        Pairs of a domain and answers with such labels; by default crowds of two classes, of three, and of numbers.
    engines
        Engines that must find the same as the memory engine; by default the disk engine in three parts.

    >>> from allalike import PTD
    >>> check_method(PTD())
    """
    served = [(domain, as_rows(rows)) for domain, rows in crowds or _crowds() if method.serves(domain)]
    if not served:
        raise UnsupportedError(f"{method.name} serves none of these labels: it needs {method.needs}.")
    if pickle.loads(pickle.dumps(method)) != method:  # nosec B301 # pickled right here
        raise AssertionError("A method can be pickled and is equal to itself: this does not hold.")
    for domain, rows in served:
        for crowd in (rows, sparse(rows, seed=3)):
            _check_crowd(method, domain, crowd, engines or [Disk(partitions=3)])
        _check_equals(method, domain, rows)


def _crowds() -> list[tuple[Domain, list[Row]]]:
    """Draw crowds of workers from good to bad."""
    rng = np.random.default_rng(5)
    crowds: list[tuple[Domain, list[Row]]] = []
    for k in (2, 3):
        wrong = rng.random((6, 20)) < np.linspace(0.1, 0.6, 6)[:, None]
        label = (rng.integers(k, size=20) + wrong * rng.integers(1, k, (6, 20))) % k
        crowds.append((Categorical(classes=k), _rows(label)))
    crowds.append((Real(), _rows(rng.normal(size=20) + rng.normal(size=(6, 20)) * np.linspace(0.2, 2, 6)[:, None])))
    return crowds


def _rows(table: np.ndarray[tuple[int, int], np.dtype[np.generic]]) -> list[Row]:
    return [(f"w{i}", j, table[i, j].item()) for i, j in np.ndindex(*table.shape)]


def _check_crowd(method: Method, domain: Domain, rows: list[Row], engines: Sequence[Engine]) -> None:
    """Weights are shares, and neither the order of rows nor the engine matters."""
    first = solve(rows, domain, method)
    _check_weights(first)
    same_results("The order of rows does not matter", first, solve(shuffled(rows, seed=4), domain, method))
    for engine in (Memory(block_answers=_ANSWERS_PER_BLOCK), *engines):
        law = f"The {engine.name} engine finds what is found in memory"
        same_results(law, first, solve(rows, domain, method, engine))


def _check_weights(result: Result) -> None:
    weight = result.workers["weight"].to_numpy()
    if not np.isfinite(weight).all() or (weight < 0).any() or abs(weight.sum() - 1) > 1e-9:
        raise AssertionError(f"Weights are never negative and sum to 1, but they are {weight.tolist()}.")


def _check_equals(method: Method, domain: Domain, rows: list[Row]) -> None:
    """Workers who say the same everywhere count the same, and are believed."""
    first = {task: label for _, task, label in reversed(rows)}
    result = solve([(worker, task, label) for worker in range(4) for task, label in first.items()], domain, method)
    weight = result.workers["weight"].to_numpy()
    if not np.allclose(weight, 0.25):
        raise AssertionError(f"Workers who say the same count the same, but they weigh {weight.tolist()}.")
    if result.truth["changed"].any():
        raise AssertionError("Where all say the same, that is the truth: this does not hold.")
