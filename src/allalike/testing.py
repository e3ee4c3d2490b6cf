"""Laws that label types and methods must satisfy, for testing new ones.

`check_domain` and `check_method` raise an AssertionError that names the broken law.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from allalike._core.blocks.block import Block, Floats, Ties
from allalike._core.columns.column import Column
from allalike.answers import Answers
from allalike.discover import discover
from allalike.domains import Categorical, Domain, Real
from allalike.engines import Disk, Engine, Memory
from allalike.errors import ConvergenceWarning, UnsupportedError
from allalike.methods import Method
from allalike.result.result import Result

__all__ = ["check_domain", "check_method"]


# Crowds for laws: complete, sparse, and of equal workers.

Row = tuple[Any, Any, Any]


def as_rows(answers: Sequence[Row]) -> list[Row]:
    """Return answers as a list of rows, after checking that there are three workers and three tasks.

    >>> as_rows([("ada", 1, "x")])
    Traceback (most recent call last):
    ValueError: Laws need answers by three workers to three tasks or more. Add answers.
    """
    rows = [(worker, task, label) for worker, task, label in answers]
    if min(len({worker for worker, _, _ in rows}), len({task for _, task, _ in rows})) < 3:
        raise ValueError("Laws need answers by three workers to three tasks or more. Add answers.")
    return rows


def sparse(rows: list[Row], seed: int) -> list[Row]:
    """Keep one to three answers per task, so that each worker has few answers."""
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
    """Run a method, with the first answer to each task as gold, which oracles need."""
    gold = {task: label for _, task, label in sorted(rows, key=lambda row: str(row[:2]), reverse=True)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return discover(rows, domain=domain, method=method, engine=engine, gold=list(gold.items()))


def same_results(law: str, left: Result, right: Result) -> None:
    """Raise an AssertionError if results differ by more than rounding errors."""
    for column in ("disparity", "fault", "weight"):
        one, other = (getattr(result.weighing, column) for result in (left, right))
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
            f"{law}, but the label of task {left.truth['task'][task]!r} is {left.truth['label'][task]!r} and"
            f" {right.truth['label'][task]!r}."
        )


# Laws of methods: properties of every method on every label type that it accepts.

_ANSWERS_PER_BLOCK = 7  # so that even small crowds have several blocks


def check_method(
    method: Method,
    crowds: Iterable[tuple[Domain, Sequence[Row]]] | None = None,
    *,
    engines: Sequence[Engine] | None = None,
) -> None:
    """Check that a method satisfies the laws of methods, on crowds of every label type that it accepts.

    >>> from allalike import PTD
    >>> check_method(PTD())
    """
    served = [(domain, as_rows(rows)) for domain, rows in crowds or _crowds() if method.serves(domain)]
    if not served:
        raise UnsupportedError(f"{method.name} accepts none of these labels. It needs {method.needs}.")
    if pickle.loads(pickle.dumps(method)) != method:  # nosec B301 # pickled right here
        raise AssertionError("A method can be pickled and is equal to itself. This does not hold.")
    for domain, rows in served:
        for crowd in (rows, sparse(rows, seed=3)):
            _check_crowd(method, domain, crowd, engines or [Disk(partitions=3)])
        _check_equals(method, domain, rows)


def _crowds() -> list[tuple[Domain, list[Row]]]:
    """Simulate crowds of workers, from good to bad."""
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
    """Check that weights sum to 1, and that the order of rows and the engine do not change results."""
    first = solve(rows, domain, method)
    _check_weights(first)
    same_results("The order of rows does not matter", first, solve(shuffled(rows, seed=4), domain, method))
    for engine in (Memory(block_answers=_ANSWERS_PER_BLOCK), *engines):
        law = f"The {engine.name} engine and memory give equal results"
        same_results(law, first, solve(rows, domain, method, engine))


def _check_weights(result: Result) -> None:
    weight = result.workers["weight"].to_numpy()
    if not np.isfinite(weight).all() or (weight < 0).any() or abs(weight.sum() - 1) > 1e-9:
        raise AssertionError(f"Weights are never negative and sum to 1, but they are {weight.tolist()}.")


def _check_equals(method: Method, domain: Domain, rows: list[Row]) -> None:
    """Check that workers with equal answers have equal weights, and that the label is their answer."""
    first = {task: label for _, task, label in reversed(rows)}
    result = solve([(worker, task, label) for worker in range(4) for task, label in first.items()], domain, method)
    weight = result.workers["weight"].to_numpy()
    if not np.allclose(weight, 0.25):
        raise AssertionError(f"Workers with equal answers have equal weights, but these are {weight.tolist()}.")
    if result.truth["changed"].any():
        raise AssertionError("A unanimous answer is the label. This does not hold.")


# Laws of label types: properties that methods and engines rely on.

_MAX_COMPARED_LABELS = 50


def check_domain(domain: Domain, answers: Sequence[Row], *, engines: Sequence[Engine] | None = None) -> None:
    """Check that a label type satisfies the laws of label types, on answers with such labels.

    >>> from allalike import Categorical
    >>> check_domain(Categorical(), [(worker, task, worker * task % 3) for worker in range(5) for task in range(6)])
    """
    rows = as_rows(answers)
    read = _read(rows, domain)
    _check_codes(domain, read, rows)
    _check_distance(read)
    _check_sums(read)
    _check_parts(domain, read, rows)
    _check_unanimity(domain, rows)
    for crowd in (rows, sparse(rows, seed=1)):
        first = solve(crowd, domain, "iP-TD")
        same_results("The order of rows does not matter", first, solve(shuffled(crowd, seed=2), domain, "iP-TD"))
        for engine in (Memory(block_answers=_ANSWERS_PER_BLOCK), *(engines or [Disk(partitions=3)])):
            law = f"The {engine.name} engine and memory give equal results"
            same_results(law, first, solve(crowd, domain, "iP-TD", engine))


def _read(rows: Sequence[Row], domain: Domain) -> Answers:
    worker, task, label = (list(column) for column in zip(*rows, strict=True))
    columns = Column.of_objects("worker", worker), Column.of_objects("task", task), _labels(label)
    return Answers.of_columns(*columns, domain, duplicates="first")


def _labels(labels: list[Any]) -> Column:
    plain = all(isinstance(label, str | int | float) for label in labels)
    return Column.of_objects("label", labels) if plain else Column("label", labels)


def _check_codes(domain: Domain, answers: Answers, rows: list[Row]) -> None:
    """Check that labels survive encoding and decoding, and that all parts can be pickled."""
    encoding = answers.encoding
    again = encoding.encode(_labels(encoding.decode(answers.label).tolist()))
    distance = np.nan_to_num(encoding.kernels.distance_between(answers.label, again))
    _require(bool((distance <= 1e-12).all()), "A label that is decoded and encoded again is the same")
    for thing in (domain, encoding, encoding.kernels):
        again = pickle.loads(pickle.dumps(thing))  # nosec B301 # pickled right here
        _require(again is not None, "A domain, its encoding and its kernels can be pickled")
    _require(encoding.describe()["name"] == domain.name, "An encoding describes its domain by name")
    _require(replace(domain) is not domain, "A domain can be copied with its options")


def _check_distance(answers: Answers) -> None:
    """Check that distances are symmetric, never negative, and 0 from a label to itself; NaN means unknown."""
    task = np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))[:_MAX_COMPARED_LABELS]
    left, right = (answers.label[side] for side in np.nonzero(task[:, None] == task))
    between = answers.encoding.kernels.distance_between
    there, back, own = between(left, right), between(right, left), between(left, left)
    _require(bool((np.nan_to_num(own) <= 1e-12).all()), "The distance of a label to itself is 0")
    _require(bool((np.nan_to_num(there) >= 0).all()), "A distance is never negative")
    _require(np.allclose(there, back, rtol=1e-9, atol=1e-12, equal_nan=True), "A distance is symmetric")


def _check_sums(answers: Answers) -> None:
    """Compare the sums of a block with the results of plain loops over its answers."""
    encoding, weights = answers.encoding, np.random.default_rng(0).uniform(0.1, 1.0, len(answers.workers))
    task = np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))
    [block] = (encoding.prepare(block) for block in answers.blocks(answers.n_answers))
    rows = np.arange(len(block.label))
    label = encoding.kernels.restore_answers(block, rows)
    restored = np.nan_to_num(encoding.kernels.distance_between(label, answers.label))
    _require(bool((restored <= 1e-12).all()), "Answers that were prepared can be restored")
    left, right = np.nonzero((task[:, None] == task) & (rows[:, None] != rows))
    distance, fields = encoding.kernels.distance_between(label[left], label[right]), encoding.fields
    shared = 1.0 if fields is None else fields.kernels.shared(label[left], label[right])
    counts = np.where(np.isnan(distance), 0.0, shared) * weights[answers.worker[right]]
    total = _add(answers.worker[left], np.nan_to_num(distance) * counts, len(weights))
    weight = _add(answers.worker[left], counts, len(weights))
    sums = _by_worker(block, encoding.kernels.peer_sums(block, weights[block.workers]), len(weights))
    _require(np.allclose(sums["distance"], total), "Sums of distances to peers are those of all pairs")
    _require(np.allclose(sums["weight"], weight), "The weight of peers is that of all pairs whose distance is known")
    pairs = {name: _dense(matrix) for name, matrix in encoding.kernels.pair_sums(block).items()}
    together = _by_worker(block, {name: matrix.sum(axis=1) for name, matrix in pairs.items()}, len(weights))
    plain = _by_worker(block, encoding.kernels.peer_sums(block, np.ones(block.n_workers)), len(weights))
    _require(
        np.allclose(together["distance"], plain["distance"]), "Sums per pair of workers add up to those per worker"
    )
    _require(np.allclose(together["common"], plain["weight"]), "Common tasks of pairs add up to those per worker")


def _add(worker: Any, values: Floats, n_workers: int) -> Floats:
    return np.bincount(worker, values, n_workers).astype(np.float64)


def _dense(matrix: Any) -> Floats:
    dense: Floats = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    return dense


def _by_worker(block: Block, sums: dict[str, Floats], n_workers: int) -> dict[str, Floats]:
    found = {name: np.zeros(n_workers) for name in sums}
    for name, values in sums.items():
        found[name][block.workers] += values[: len(found[name][block.workers])]
    return found


def _check_parts(domain: Domain, answers: Answers, rows: list[Row]) -> None:
    """Check that encodings learned from parts, in any order, equal the encoding learned from all labels."""
    parts = [domain.learn(_labels([label for _, _, label in rows[start::3]])) for start in range(3)]
    label = _labels([label for _, _, label in rows])
    for first, *others in (parts, parts[::-1]):
        merged = first.merge(others)
        _require(
            merged.describe() == answers.encoding.describe(), "Encodings of parts merge into the encoding of all labels"
        )
        _require(merged.vocabulary == answers.encoding.vocabulary, "The order of parts does not matter")
        distance = answers.encoding.kernels.distance_between
        codes = merged.encode(label), answers.encoding.encode(label)
        if not hasattr(answers.encoding, "matrices"):
            _require(bool((np.nan_to_num(distance(*codes)) <= 1e-12).all()), "Codes have the same meaning in all parts")


def _check_unanimity(domain: Domain, rows: list[Row]) -> None:
    """Check that a unanimous answer is the label for any weights."""
    first = {task: label for _, task, label in reversed(rows)}
    answers = _read([(worker, task, label) for worker in range(4) for task, label in first.items()], domain)
    kernels, weights = answers.encoding.kernels, np.array([0.1, 0.2, 0.3, 0.4])
    for block in map(answers.encoding.prepare, answers.blocks(_ANSWERS_PER_BLOCK)):
        for scale in (1.0, 1e-6):
            found = kernels.aggregate(block, scale * weights[block.workers], np.zeros(block.n_workers), ties=Ties())
            told = kernels.restore_answers(block, block.starts)
            distance = np.nan_to_num(kernels.distance_between(found["label"], told))
            _require(bool((distance <= 1e-9).all()), "A unanimous answer is the label")
            _require(not found["tied"].any(), "A unanimous answer is not a tie")


def _require(holds: bool, law: str) -> None:
    if not holds:
        raise AssertionError(f"{law}. This does not hold.")
