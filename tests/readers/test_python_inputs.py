"""Answers that are in Python already: frames of all kinds, mappings, and what is gone once it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

import allalike
from allalike.errors import InputError

FRAME = pd.DataFrame(
    {
        "extra": range(12),
        "label": [*"xxyxyyxxyxxy"],
        "worker": ["ada", "bob", "eve"] * 4,
        "task": [task for task in (7, 8, 9, 10) for _ in range(3)],
    }
)


def relation() -> Any:
    return duckdb.from_arrow(pa.table(FRAME))


SOURCES: dict[str, Callable[[], Any]] = {
    "lazy": lambda: pl.from_pandas(FRAME).lazy(),
    "dataset": lambda: pads.dataset(pa.table(FRAME)),
    "scanner": lambda: pads.dataset(pa.table(FRAME)).scanner(),
    "reader": lambda: pa.table(FRAME).to_reader(),
    "batch": lambda: pa.table(FRAME).to_batches()[0],
    "duckdb": relation,
    "iterator": lambda: iter(FRAME[["worker", "task", "label"]].itertuples(index=False, name=None)),
    "nested": lambda: {
        task: dict(zip(part["worker"], part["label"], strict=True)) for task, part in FRAME.groupby("task")
    },
    "index": lambda: FRAME.set_index("task"),
    "two indexes": lambda: FRAME.set_index(["task", "worker"]),
    "series": lambda: FRAME.set_index(["task", "worker"])["label"],
    "structured": lambda: FRAME.to_records(index=False),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_input_gives_the_same_answers(name: str) -> None:
    expected = allalike.read(FRAME)
    answers = allalike.read(SOURCES[name]())
    assert answers.workers.tolist() == expected.workers.tolist()
    assert answers.tasks.tolist() == [7, 8, 9, 10]
    assert answers.worker.tolist() == expected.worker.tolist()
    assert answers.encoding.decode(answers.label).tolist() == FRAME["label"].tolist()


@pytest.mark.parametrize("name", SOURCES)
def test_every_input_is_read_in_a_stream(name: str) -> None:
    batches = allalike.scan(SOURCES[name]()).stream().batches()
    rows = [
        row for batch in batches for row in zip(*(column.data.to_pylist() for column in batch.values()), strict=True)
    ]
    expected = FRAME[["worker", "task", "label"]].itertuples(index=False, name=None)
    assert sorted(rows) == sorted(expected)


def test_of_a_lazy_frame_only_three_columns_are_collected() -> None:
    collected: list[str] = []

    def note(series: pl.Series) -> pl.Series:
        collected.append(series.name)
        return series

    lazy = pl.from_pandas(FRAME).lazy().with_columns(pl.col("extra").map_batches(note, return_dtype=pl.Int64))
    assert allalike.read(lazy, columns={"worker": "worker", "task": "task", "label": "label"}).n_answers == 12
    assert not collected


def test_odd_names_of_a_relation_are_quoted() -> None:
    odd = FRAME.rename(columns={"label": 'the "label", x'})
    columns = {"label": 'the "label", x'}
    assert allalike.read(duckdb.from_arrow(pa.table(odd)), columns=columns).n_answers == 12


def test_a_reader_that_was_read_can_be_used_again() -> None:
    source = allalike.scan(pa.table(FRAME).to_reader())
    assert source.read().n_answers == source.read().n_answers == 12


def test_nothing_is_no_answer_in_a_nested_mapping() -> None:
    answers = allalike.read(
        {"t1": {"ada": "x", "bob": None}, "t2": {"ada": None}, "t3": {"bob": "y"}}, domain="categorical"
    )
    assert answers.tasks.tolist() == ["t1", "t3"]
    assert answers.notes["remarks"] == ["1 tasks have no answers and are left out."]
    assert allalike.read({1: {"ada": 1.5, "bob": np.nan}, 2: {"bob": 2.5}}).n_answers == 2


def test_a_wide_frame_with_a_named_index() -> None:
    wide = FRAME.pivot(index="task", columns="worker", values="label")
    expected = allalike.read(FRAME)
    for answers in (allalike.read(wide, wide="tasks"), allalike.read(wide.T, wide="workers")):
        assert answers.tasks.tolist() == expected.tasks.tolist()
        assert answers.worker.tolist() == expected.worker.tolist()
        assert answers.label.tolist() == expected.label.tolist()


def test_an_index_without_a_name_is_no_column_of_a_long_frame() -> None:
    assert allalike.read(FRAME[FRAME["extra"] > 2]).n_answers == 9


def test_the_message_names_what_can_be_read() -> None:
    with pytest.raises(
        InputError, match=r"from int\. Give a path, a pandas, polars, pyarrow or DuckDB table, a matrix"
    ):
        allalike.read(5)
