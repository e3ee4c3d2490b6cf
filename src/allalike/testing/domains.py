"""Laws of domains: what any kind of label promises to methods and engines."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.ties import Ties
from allalike._core.columns.column import Column
from allalike.answers import Answers
from allalike.engines import Disk, Engine, Memory
from allalike.testing.crowds import Row, as_rows, same_results, shuffled, solve, sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike._core.blocks.block import Block, Floats
    from allalike.domains import Domain

__all__ = ["check_domain"]

_MAX_COMPARED_LABELS = 50
_ANSWERS_PER_BLOCK = 7  # so that even small crowds have several blocks


def check_domain(domain: Domain, answers: Sequence[Row], *, engines: Sequence[Engine] | None = None) -> None:
    """Check that a domain keeps the laws of domains, on answers that have such labels.

    Parameters
    ----------
    domain
        The domain.
    answers
        Rows of (worker, task, label) of three workers or more, who answered some common tasks differently.
    engines
        Engines that must find the same as the memory engine; by default the disk engine in three parts.

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
            law = f"The {engine.name} engine finds what is found in memory"
            same_results(law, first, solve(crowd, domain, "iP-TD", engine))


def _read(rows: Sequence[Row], domain: Domain) -> Answers:
    worker, task, label = (list(column) for column in zip(*rows, strict=True))
    columns = Column.of_objects("worker", worker), Column.of_objects("task", task), _labels(label)
    return Answers.of_columns(*columns, domain, repeats="first")


def _labels(labels: list[Any]) -> Column:
    plain = all(isinstance(label, str | int | float) for label in labels)
    return Column.of_objects("label", labels) if plain else Column("label", labels)


def _check_codes(domain: Domain, answers: Answers, rows: list[Row]) -> None:
    """Labels survive encoding and decoding, and everything can be sent elsewhere."""
    encoding = answers.encoding
    again = encoding.encode(_labels(encoding.decode(answers.label).tolist()))
    fitted = encoding.fit_tasks(again, np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts)), answers.tasks)
    distance = np.nan_to_num(encoding.kernels.distance_between(answers.label, fitted))
    _require(bool((distance <= 1e-12).all()), "A label that is decoded and encoded again is the same")
    for thing in (domain, encoding, encoding.kernels):
        again = pickle.loads(pickle.dumps(thing))  # nosec B301 # pickled right here
        _require(again is not None, "A domain, its encoding and its kernels can be pickled")
    _require(encoding.describe()["name"] == domain.name, "An encoding describes its domain by name")
    _require(replace(domain) is not domain, "A domain is made of its options")


def _check_distance(answers: Answers) -> None:
    """A distance is 0 to oneself, symmetric, and never negative; NaN means that it is unknown."""
    task = np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))[:_MAX_COMPARED_LABELS]
    left, right = (answers.label[side] for side in np.nonzero(task[:, None] == task))
    between = answers.encoding.kernels.distance_between
    there, back, own = between(left, right), between(right, left), between(left, left)
    _require(bool((np.nan_to_num(own) <= 1e-12).all()), "The distance of a label to itself is 0")
    _require(bool((np.nan_to_num(there) >= 0).all()), "A distance is never negative")
    _require(np.allclose(there, back, rtol=1e-9, atol=1e-12, equal_nan=True), "A distance is symmetric")


def _check_sums(answers: Answers) -> None:
    """The sums of a block are what plain loops over its answers say."""
    encoding, weights = answers.encoding, np.random.default_rng(0).uniform(0.1, 1.0, len(answers.workers))
    task = np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))
    [block] = (encoding.prepare(block) for block in answers.blocks(answers.n_answers))
    rows = np.arange(len(block.label))
    restored = np.nan_to_num(
        encoding.kernels.distance_between(encoding.kernels.restore_answers(block, rows), answers.label)
    )
    _require(bool((restored <= 1e-12).all()), "Answers that were prepared can be restored")
    left, right = np.nonzero((task[:, None] == task) & (rows[:, None] != rows))
    distance = encoding.kernels.distance_between(answers.label[left], answers.label[right])
    fields = encoding.fields
    shared = 1.0 if fields is None else fields.shared(answers.label[left], answers.label[right])
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
    """What is learned from parts, in any order, is what is learned from all labels."""
    parts = [domain.learn(_labels([label for _, _, label in rows[start::3]])) for start in range(3)]
    label = _labels([label for _, _, label in rows])
    for first, *others in (parts, parts[::-1]):
        merged = first.merge(others)
        _require(
            merged.describe() == answers.encoding.describe(), "Encodings of parts are merged into that of all labels"
        )
        _require(merged.vocabulary == answers.encoding.vocabulary, "The order of parts does not matter")
        distance = answers.encoding.kernels.distance_between
        codes = merged.encode(label), answers.encoding.encode(label)
        if not hasattr(answers.encoding, "matrices"):
            _require(bool((np.nan_to_num(distance(*codes)) <= 1e-12).all()), "Codes of all parts mean the same")


def _check_unanimity(domain: Domain, rows: list[Row]) -> None:
    """Where all say the same, that is the truth, whatever the weights."""
    first = {task: label for _, task, label in reversed(rows)}
    answers = _read([(worker, task, label) for worker in range(4) for task, label in first.items()], domain)
    kernels, weights = answers.encoding.kernels, np.array([0.1, 0.2, 0.3, 0.4])
    for block in map(answers.encoding.prepare, answers.blocks(_ANSWERS_PER_BLOCK)):
        for scale in (1.0, 1e-6):
            found = kernels.aggregate(block, scale * weights[block.workers], np.zeros(block.n_workers), ties=Ties())
            told = kernels.restore_answers(block, block.starts)
            distance = np.nan_to_num(kernels.distance_between(found["label"], told))
            _require(bool((distance <= 1e-9).all()), "Where all say the same, that is the truth")
            _require(not found["tied"].any(), "Where all say the same, nothing is drawn")


def _require(holds: bool, law: str) -> None:
    if not holds:
        raise AssertionError(f"{law}: this does not hold.")
