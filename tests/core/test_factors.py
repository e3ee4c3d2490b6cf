"""Columns of any kind become codes in the order of their values."""

import io
import os
import subprocess
import sys
import textwrap
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allalike._core.columns import factors
from allalike._core.columns.factors import factorize, group_by_hash
from allalike._core.columns.hashes import hash_objects, hash_strings


@pytest.fixture
def hash_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Group even short columns by hashing, as long ones are."""
    monkeypatch.setattr(factors, "_has_many", lambda _: True)
    monkeypatch.setattr(factors, "_MIN_STRINGS_AS_NUMBERS", 0)


def check(values: list[Any], column: pa.ChunkedArray) -> None:
    codes, distinct = factorize(column)
    assert distinct.tolist() == sorted(set(values), key=lambda v: v.encode() if isinstance(v, str) else v)
    assert distinct.take(codes).tolist() == values


texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=30) | st.text("ab\0", max_size=3)


@pytest.mark.usefixtures("hash_everything")
@settings(max_examples=300)
@given(values=st.lists(texts, min_size=1, max_size=40), cut=st.integers(0, 40), large=st.booleans())
def test_strings_of_any_kind_are_grouped_and_ordered_by_hashing(values: list[str], cut: int, large: bool) -> None:
    kind = pa.large_string() if large else pa.string()
    whole = pa.array(["skipped", *values], kind)[1:]  # a slice, whose buffers begin elsewhere
    check(values, pa.chunked_array([whole[:cut], whole[cut:]], kind))


@pytest.mark.usefixtures("hash_everything")
@pytest.mark.parametrize("values", [["", "/"], ["/a/b", "/a/c", "b"], ["a/x", "a/xy", "a"], ["same", "same"]])
def test_ids_that_look_like_paths_are_strings(values: list[str]) -> None:
    check(values, pa.chunked_array([values]))


@pytest.mark.usefixtures("hash_everything")
@given(values=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), min_size=1, max_size=40))
def test_whole_numbers_are_grouped_and_ordered_by_hashing(values: list[int]) -> None:
    check(values, pa.chunked_array([pa.array(values, pa.int64())]))


@pytest.mark.usefixtures("hash_everything")
def test_long_strings_and_bytes_are_hashed_too() -> None:
    values = ["x" * 5000 + end for end in "abcab"] + ["y" * 256, "y" * 257, "y" * 255]
    check(values, pa.chunked_array([values]))
    raw = [value.encode() for value in values]
    check(raw, pa.chunked_array([pa.array(raw, pa.binary())]))


def test_a_long_column_agrees_with_pandas() -> None:
    rng = np.random.default_rng(0)
    values = [f"task-{number}" for number in rng.integers(0, 50_000, 200_000)]
    codes, distinct = factorize(pa.chunked_array([values[:1000], values[1000:]]))
    expected, uniques = pd.factorize(np.array(values, dtype=object), sort=True)
    np.testing.assert_array_equal(codes, expected)
    assert distinct.tolist() == list(uniques)


def test_values_that_share_the_sorted_part_of_their_hash_are_told_apart() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 50, 4000)
    first = (values % 7).astype(np.uint64) << np.uint64(60)  # seven or eight values share every hash
    second = values.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    rows, code, begins = group_by_hash(first, second)
    assert sorted(rows) == list(range(4000))
    assert len(begins) == 50
    assert (values[begins][code] == values[rows]).all()


def test_hashes_are_the_same_on_every_machine() -> None:
    first, second = hash_strings(pa.array(["", "a", "worker-007", "ä" * 200]))
    assert first.tolist() == [0, 10405215944175211011, 1818811677051702358, 5245329656984838775]
    assert len(set(second.tolist())) == 4


def test_the_hash_of_a_string_does_not_depend_on_its_neighbours() -> None:
    texts = ["", "a", "eight888", "nine99999", "a string of more than sixteen bytes", "z" * 300]
    together = np.array(hash_strings(pa.array(texts)))
    alone = np.array([hash_strings(pa.array([text])) for text in texts])[:, :, 0].T
    np.testing.assert_array_equal(together, alone)


def test_unused_categories_are_no_values() -> None:
    column = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([2, 0], pa.int8()), ["c", "unused", "a"])])
    codes, distinct = factorize(column)
    assert (codes.tolist(), distinct.tolist()) == ([0, 1], ["a", "c"])


@pytest.mark.long
def test_sets_as_ids_give_the_same_in_every_run_and_order() -> None:
    code = """
        import allalike
        rows = [(w, frozenset(s), l) for s in ("abcd", "efgh", "abc", "mnop") for w, l in (("a", "x"), ("b", "y"))]
        for given in (rows, rows[::-1]):
            truth = allalike.discover(given).truth
            print([sorted(task) for task in truth["task"]], truth["label"].tolist())
    """
    with redirect_stdout(io.StringIO()) as here:
        exec(textwrap.dedent(code), {})  # in this process, where sets have an order of their own
    runs = [
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for seed in "12"
    ]
    assert len({line for run in (here.getvalue().splitlines(), *runs) for line in run}) == 1


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (("t", 8), ("t", 8.0)),
        (("t", 8), ("t", np.int64(8))),
        (Decimal("1.0"), Decimal("1.00")),
        (frozenset([0, 8]), frozenset([8, 0])),
        (datetime(2020, 1, 1, 12, tzinfo=UTC), datetime(2020, 1, 1, 13, tzinfo=timezone(timedelta(hours=1)))),
    ],
)
def test_equal_objects_have_the_same_hash(left: Any, right: Any) -> None:
    assert left == right
    assert hash_objects([left]) == hash_objects([right])
