"""Columns that are not what they look like: numbers that are none, dictionaries with doubles, odd types."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import allalike
from allalike.errors import ColumnError, GoldError, InputError, LabelError, OptionError


@pytest.mark.parametrize("label", ["1_000", "\u0663", "\uff11"])
def test_numbers_that_only_python_reads_are_refused(label: str) -> None:
    with pytest.raises(LabelError, match="in row 2 is not a number"):
        allalike.discover([("a", 1, "1000"), ("b", 1, label), ("c", 1, "2000")], domain="real")


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_dictionaries_that_hold_a_value_twice_or_none_are_read_as_what_they_mean(engine: str) -> None:
    codes = pa.array([0, 1, 0, 2, 2, 0])
    tasks = pa.DictionaryArray.from_arrays(codes, pa.array(["x", "x", "y"]))
    table = pa.table({"worker": list("abcabc"), "task": tasks, "label": list("xxyxyy")})
    assert allalike.discover(table, engine=engine).tables_as("arrow").truth["task"].to_pylist() == ["x", "y"]
    labels = pa.DictionaryArray.from_arrays(codes, pa.array(["x", "z", None]))
    table = pa.table({"worker": list("abcabc"), "task": list("ttttuu"), "label": labels})
    with pytest.raises(InputError, match="Row 4 has no label"):
        allalike.discover(table, engine=engine)
    found = allalike.discover(allalike.scan(table, missing="drop", domain="categorical"), engine=engine)
    assert found.summary["missing_dropped"] == 2


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_columns_of_pandas_that_arrow_lacks_are_read_as_objects(engine: str) -> None:
    for ids in (pd.period_range("2020", periods=3, freq="D"), pd.interval_range(0, 3), np.array([1j, 2j, 3j])):
        frame = pd.DataFrame({"worker": list("aba"), "task": ids[[0, 0, 2]], "label": list("xxx")})
        assert allalike.discover(frame, domain="categorical", engine=engine).truth["task"].tolist() == [ids[0], ids[2]]
    half = pa.table({"worker": ["a", "b"], "task": [1, 1], "label": pa.array(np.array([1, 2], np.float16))})
    assert allalike.discover(half, engine=engine).tables_as("arrow").truth["label"].to_pylist() == [1.5]


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InputError, match="is no valid text"):
        allalike.read([("a\ud800", 1, "x"), ("b", 1, "x")])


def test_columns_that_cannot_be_meant_are_refused() -> None:
    table = {"a": [1], "b": [1], "c": ["x"]}
    with pytest.raises(ColumnError, match="Write it as"):
        allalike.read(table, columns=["a", "b", "c"])  # type: ignore[arg-type]
    with pytest.raises(ColumnError, match="columns names 'a' twice"):
        allalike.read(table, columns={"worker": "a", "task": "a", "label": "c"})
    with pytest.raises(InputError, match="The column 'worker' is 1. Give the values of all rows"):
        allalike.read({"worker": 1, "task": 2, "label": 3})


@pytest.mark.parametrize("option", ["method", "domain", "engine", "seed"])
def test_options_of_a_wrong_type_are_refused(option: str) -> None:
    with pytest.raises(OptionError):
        allalike.discover([("a", 1, "x"), ("b", 1, "x")], **{option: 1.5})  # type: ignore[arg-type]


def test_a_class_stands_for_what_it_makes() -> None:
    rows = [("a", 1, "x"), ("b", 1, "x"), ("c", 1, "y")]
    found = allalike.discover(rows, domain=allalike.Categorical, method=allalike.PTD, engine=allalike.Disk)  # type: ignore[arg-type]
    assert [found.summary[name] for name in ("engine",)] == ["disk"]
    assert found.summary["method"]["name"] == "P-TD"


def test_gold_that_does_not_fit_says_that_it_is_the_gold() -> None:
    with pytest.raises(GoldError, match="The gold does not fit. The label 'abc' in row 1 is not a number"):
        allalike.discover([("a", 1, 2.5), ("b", 1, 3.5)], gold={1: "abc"})
