"""Small crowds for tests."""

from __future__ import annotations

import zlib
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike import DOMAINS, METHODS, Categorical, Custom, Memory, Method, Points, Real, Record
from allalike._core.columns.column import Column
from allalike._core.columns.values import Values, arrow_of
from allalike.answers import Answers
from allalike.rules.fusion import NUMBERS
from crowds import label_types

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike import Domain
    from allalike.methods import Fit

Row = tuple[Any, Any, Any]

RUNNING_EXAMPLE = np.array(
    [[81, 6, 41, -14], [89, -6, 35, 4], [105, -18, 39, -5], [68, 9, 62, -10], [67, 20, 58, -20]], dtype=np.float64
)
RUNNING_TRUTH = np.array([80.0, 0.0, 40.0, -10.0])
BINARY = np.array([list(map(int, row)) for row in ("10110100", "10110101", "10100110", "01110000", "11001101")])
KINDS = [*DOMAINS, "binary"]  # of labels that there are crowds of
THREE_CLASSES = np.array([list(map(int, row)) for row in ("012012", "012010", "012112", "202001")])


def rows(matrix: npt.ArrayLike, *, present: npt.NDArray[np.bool_] | None = None) -> list[Row]:
    """List the answers of a matrix with one row per worker."""
    table = np.asarray(matrix)
    here = np.ones(table.shape, np.bool_) if present is None else present
    return [(f"w{i:03d}", f"t{j:04d}", table[i, j].item()) for i, j in np.argwhere(here)]


def crowd(domain: str, *, seed: int, n: int = 8, m: int = 30, missing: float = 0.0) -> list[Row]:
    """Draw answers of a crowd with good and bad workers; every task has two answers at least."""
    answers: list[Row] = getattr(label_types, f"draw_{domain}")(seed, n, m, missing)
    return answers


def flattened(label: Any) -> Any:
    """Return where the objects of a list are, and what each is, as numbers, so of mappings; others as they are."""
    if isinstance(label, dict):
        return flattened(tuple(label.items()))
    if not isinstance(label, list | tuple) or not all(isinstance(thing, dict | tuple) for thing in label):
        return label
    things = [[v for k, v in t.items() if k not in NUMBERS] if isinstance(t, dict) else t for t in label]
    values = [value for thing in things for value in thing]
    return [value if isinstance(value, int | float) else zlib.crc32(repr(value).encode()) for value in values]


def sparse_crowd(domain: str, *, seed: int) -> list[Row]:
    """Draw few answers: one to three to a task, of labels that recur, by workers of whom some give one only."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(3, 7), rng.integers(2, 7)
    drawn: dict[str, list[Any]] = {}
    for _, task, label in crowd(domain, seed=seed, n=4, m=int(m)):
        drawn.setdefault(task, []).append(_coarse(label))
    return [
        (f"w{worker}", task, labels[rng.integers(3)])
        for task, labels in drawn.items()
        for worker in rng.permutation(n)[: rng.integers(1, 4)]
    ]


def _coarse(label: Any) -> Any:
    """Round numbers and vectors, so that they recur, and their distances are tied."""
    if isinstance(label, float):
        return round(label)
    return (
        [round(number) for number in label]
        if isinstance(label, list) and label and isinstance(label[0], float)
        else label
    )


def kind(domain: str) -> Domain:
    """Return a domain for the labels of such a crowd."""
    if domain == "binary":
        return Categorical(classes=2)
    if domain == "points":
        return Points(radius=6)
    if domain == "record":
        return Record(label_types.RECORD_FIELDS)
    return Custom(distance=label_types.distance) if domain == "custom" else DOMAINS[domain]()


def answers_of(matrix: npt.NDArray[Any], classes: int | None = None) -> Answers:
    """Return the answers of a complete matrix, with a row per worker and a column per task; classes or numbers."""
    n, m = matrix.shape
    domain: Domain = Real() if classes is None else Categorical(classes=classes)
    return Answers(
        workers=Values(arrow_of(np.arange(n))),
        tasks=Values(arrow_of(np.arange(m))),
        encoding=domain.learn(Column.of_objects("label", list(range(classes or 0)))),
        starts=np.arange(0, m * n + 1, n),
        worker=np.tile(np.arange(n, dtype=np.int32), m),
        label=matrix.T.ravel(),
    )


def fit_all(matrices: npt.NDArray[Any], method: Method, classes: int | None = None) -> list[Fit]:
    """Fit the workers of each of several crowds."""
    return [method.fit(Memory().load(answers_of(matrix, classes))) for matrix in matrices]


def weights_of(matrices: npt.NDArray[Any], method: Method, classes: int | None = None) -> npt.NDArray[Any]:
    """Return the weights of the workers of several crowds, with a row per crowd."""
    return np.array([fit.weight for fit in fit_all(matrices, method, classes)])


@cache
def pair_up() -> list[tuple[str, str]]:
    """Give each method a kind of label that it serves, and iP-TD those kinds that are left, so that each is there.

    What an engine adds is that both get to where its blocks are; their product is in the laws.
    """
    served = {name: [one for one in KINDS if method().serves(kind(one))] for name, method in METHODS.items()}
    chosen: dict[str, str] = {}
    for method in sorted(served, key=lambda name: len(served[name])):  # those with little choice first
        chosen[method] = min(served[method], key=list(chosen.values()).count)
    left = [("iP-TD", one) for one in KINDS if one not in chosen.values()]  # there are more kinds than methods for them
    return [*chosen.items(), *left]
