"""Shards: the answers to some of the tasks, under a domain that knows what all shards share, give the same numbers."""

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import allalike
from allalike import (
    DOMAINS,
    Bitmap,
    Categorical,
    Custom,
    Disk,
    Interval,
    Probability,
    Ranking,
    Real,
    Record,
    Set,
    Text,
    Vector,
)
from allalike._core.columns.column import Column
from allalike.domains import Domain
from allalike.domains.categorical import ClassEncoding
from allalike.errors import LabelError
from crowds.samples import Row, crowd, kind
from golden.record import differences, facts, plain

N_SHARDS = 4


def rows_of_matrices(seed: int) -> list[Row]:
    """Let workers name rows of matrices; a task has as many rows as its number says."""
    rng = np.random.default_rng(seed)
    return [(f"w{i:03d}", f"t{j:04d}", int(rng.integers(2 + j % 4))) for j in range(20) for i in range(6)]


def distances(size: int, seed: int) -> Any:
    points = np.random.default_rng(seed).normal(size=(size, 2))
    return np.linalg.norm(points[:, None] - points, axis=2)


DOMAIN_CASES = {name: kind(name) for name in (*DOMAINS, "binary")}
OTHER_CASES: dict[str, Domain] = {
    **{f"real {rule.name}": Real(rule=rule.name) for rule in Real.rules},
    **{f"ranking {rule.name}": Ranking(rule=rule.name) for rule in Ranking.rules},
    "ranking footrule": Ranking(distance="footrule"),
    **{f"text {way}": Text(distance=way, lower=way == "edit", rule="best worker") for way in Text.distances},
    **{f"bitmap {rule.name}": Bitmap(rule=rule.name, distance="dice") for rule in Bitmap.rules},
    **{f"set {rule.name}": Set(rule=rule.name) for rule in Set.rules},
    **{f"interval {rule.name}": Interval(rule=rule.name) for rule in Interval.rules},
    **{
        f"vector {rule.name} {way}": Vector(rule=rule.name, distance=way)
        for rule in Vector.rules
        for way in Vector.distances
    },
    **{f"record {rule.name}": replace(kind("record"), rule=rule.name) for rule in Record.rules[1:]},
    **{f"probability {rule.name}": Probability(rule=rule.name) for rule in Probability.rules},
    "custom matrix": Custom(distance=distances(5, 1), rule="best worker"),
}
CASES = DOMAIN_CASES | OTHER_CASES


def rows_of(case: str, seed: int = 1) -> list[Row]:
    name = case.split()[0]
    return rows_of_matrices(seed) if "matri" in case else crowd(name, seed=seed, n=6, m=20, missing=0.3)


def gold_of(rows: list[Row]) -> dict[Any, Any]:
    """Take the first worker's answers to every other task for known truths."""
    return {task: label for worker, task, label in rows if worker == "w000" and int(task[1:]) % 2}


def cut(rows: list[Row]) -> list[list[Row]]:
    """Cut rows into shards by task, none of which is a range of ids."""
    return [[row for row in rows if int(row[1][1:]) % N_SHARDS == number] for number in range(N_SHARDS)]


def labels(rows: list[Row]) -> Column:
    return Column.of_objects("label", [label for _, _, label in rows])


def merged(parts: Sequence[Any]) -> Any:
    """Return the encoding of all labels."""
    return parts[0].merge(parts[1:])


# Of three methods each has sums of its own: of pairs, of distances to gold, and of losses of truths.
METHODS = ("P-TD(per_pair=True)", "OA", "D-TD")


def describe(result: allalike.Result) -> Any:
    told = {name: facts(result.summary[name]) for name in ("gold", "domain")}
    return plain({"truth": result.truth, "workers": result.workers, **told})


@pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")
@pytest.mark.parametrize(
    ("case", "method"),
    [
        pytest.param(case, method, marks=pytest.mark.long if (place + turn) % 3 else ())
        for place, case in enumerate(CASES)
        for turn, method in enumerate(METHODS)
    ],
)
def test_shards_give_what_all_answers_give(case: str, method: str) -> None:
    rows = rows_of(case)
    how: dict[str, Any] = {"domain": CASES[case], "gold": gold_of(rows), "method": method}
    shards, whole = (allalike.discover(rows, **how, engine=engine) for engine in (Disk(partitions=N_SHARDS), "memory"))
    assert not [*differences(describe(whole), describe(shards), 1e-9)]


@pytest.mark.parametrize("case", CASES)
def test_the_order_of_shards_does_not_matter(case: str) -> None:
    rows, domain = rows_of(case), CASES[case]
    column = labels(rows)
    parts = [domain.learn(labels(part)) for part in cut(rows)]
    once, again = merged(parts), merged(parts[::-1])
    whole = domain.learn(column)
    for joined in (once, again):
        assert joined.describe() == whole.describe()
        np.testing.assert_array_equal(joined.encode(column), whole.encode(column))
        assert pickle.dumps(joined) == pickle.dumps(once)


@pytest.mark.parametrize(
    ("domain", "one", "other"),
    [
        (Vector(), [[1.0, 2.0]], [[1.0]]),
        (Probability(), [0.5], [[0.5, 0.5]]),
        (Set(), [["a"]], [[1]]),
        (Categorical(classes=2), ["a", "b"], ["c"]),
    ],
)
def test_labels_of_two_shards_that_do_not_go_together_are_refused(
    domain: Domain, one: list[Any], other: list[Any]
) -> None:
    parts = [domain.learn(Column("label", values)) for values in (one, other)]
    for order in (parts, parts[::-1]):
        with pytest.raises(LabelError):
            merged(order)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([["2", "10"], ["3", "2"]], [2, 3, 10]),
        ([["2", "10"], ["x"]], ["10", "2", "x"]),
        ([["2", "10"], ["007"]], ["007", "10", "2"]),
        ([["x"], ["y", "x"]], ["x", "y"]),
    ],
)
def test_labels_of_a_text_file_are_numbers_if_all_are(parts: list[list[str]], expected: list[Any]) -> None:
    columns = [Column("label", pa.chunked_array([part]), text=True) for part in parts]
    encoding = merged([Categorical().learn(column) for column in columns])
    everything = Column("label", pa.chunked_array(parts), text=True)
    whole = Categorical().learn(everything)
    assert isinstance(encoding, ClassEncoding)
    assert encoding.labels.tolist() == whole.labels.tolist() == expected
    codes = np.concatenate([encoding.encode(column) for column in columns])
    np.testing.assert_array_equal(codes, whole.encode(everything))
    np.testing.assert_array_equal(encoding.label_hash, whole.label_hash)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([[("b", 1)], [("a", 2), ("b", 1)]], [("a", 2), ("b", 1)]),
        ([[1 << 70], [5]], [5, 1 << 70]),
        ([[True], [False, True]], [False, True]),
        ([[1.5], [2]], [1.5, 2.0]),
    ],
)
def test_classes_of_any_type_are_joined(parts: list[list[Any]], expected: list[Any]) -> None:
    columns = [Column.of_objects("label", part) for part in parts]
    encoding = merged([Categorical().learn(column) for column in columns])
    decoded = [encoding.decode(encoding.encode(column)).tolist() for column in columns]
    assert decoded == parts
    assert encoding.decode(np.arange(len(expected))).tolist() == expected
