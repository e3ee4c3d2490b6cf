"""Answers from files and Python objects of every kind, with ids and labels as they came."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

import allalike
from allalike.readers.formats import arrow
from allalike.readers.sources import open_table

WORKERS = ["007", "bob", "7", "åsa", "bob", "007"]
TASKS = [1, 1, 1, 1, 2, 10]
LABELS = ["cat", "cat", "dog", "=1+1", "dog", "cat"]
FRAME = pd.DataFrame({"extra": range(6), "label": LABELS, "worker": WORKERS, "task": TASKS})
ROWS = list(zip(WORKERS, TASKS, LABELS, strict=True))
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)


class Capsule:
    """An object of which nothing is known but that it hands over Arrow, once."""

    def __init__(self, table: Any) -> None:
        self._reader = table.to_reader(max_chunksize=4)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._reader.__arrow_c_stream__(requested_schema)


def query_delta(folder: Path) -> Any:
    deltalake.write_deltalake(folder / "delta", TABLE, mode="overwrite")
    made = deltalake.DeltaTable(folder / "delta")
    return deltalake.QueryBuilder().register("answers", made).execute("SELECT * FROM answers")


FILES: dict[str, Callable[[Path], Any]] = {
    "csv": lambda path: FRAME.to_csv(path, index=False),
    "tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    "jsonl": lambda path: FRAME.to_json(path, orient="records", lines=True),
    "json": lambda path: FRAME.to_json(path, orient="records"),
    "csv.gz": lambda path: FRAME.to_csv(path, index=False, compression="gzip"),
    "parquet": FRAME.to_parquet,
}
SOURCES: dict[str, Callable[[], Any]] = {
    "rows": lambda: ROWS,
    "generator": lambda: iter(ROWS),
    "mapping": lambda: FRAME.to_dict("list"),
    "records": lambda: FRAME.to_dict("records"),
    "nested": lambda: {t: dict(zip(part["worker"], part["label"], strict=True)) for t, part in FRAME.groupby("task")},
    "pandas": lambda: FRAME,
    "pandas objects": lambda: FRAME.astype(object),
    "pandas categories": lambda: FRAME.astype({"label": "category", "worker": "category"}),
    "pandas, an index": lambda: FRAME.set_index("task"),
    "pandas, two indexes": lambda: FRAME.set_index(["task", "worker"]),
    "series": lambda: FRAME.set_index(["task", "worker"])["label"],
    "structured": lambda: FRAME.to_records(index=False),
    "polars": lambda: pl.from_pandas(FRAME),
    "polars categories": lambda: pl.from_pandas(FRAME).with_columns(pl.col("label").cast(pl.Categorical)),
    "lazy": lambda: pl.from_pandas(FRAME).lazy(),
    "pyarrow": lambda: TABLE,
    "pyarrow views": lambda: TABLE.set_column(1, "label", TABLE["label"].cast(pa.string_view())),
    "dataset": lambda: pads.dataset(TABLE),
    "scanner": lambda: pads.dataset(TABLE).scanner(),
    "reader": TABLE.to_reader,
    "batch": lambda: TABLE.to_batches()[0],
    "duckdb": lambda: duckdb.from_arrow(TABLE),
    "capsule": lambda: Capsule(TABLE),
    "capsule of dictionaries": lambda: Capsule(TABLE.set_column(1, "label", TABLE["label"].dictionary_encode())),
}


def source_of(name: str, folder: Path) -> Any:
    if name in SOURCES:
        return SOURCES[name]()
    if name == "delta":
        return query_delta(folder)
    FILES[name](folder / f"a.{name}")
    return folder / f"a.{name}"


@pytest.mark.parametrize("name", [*FILES, *SOURCES, "delta"])
def test_every_source_gives_the_same_answers_at_once_and_in_a_stream(name: str, tmp_path: Path) -> None:
    expected = allalike.discover(ROWS)
    result = allalike.discover(source_of(name, tmp_path)).tables_as("pandas")
    assert result.truth.equals(expected.truth)
    assert result.workers["worker"].tolist() == ["007", "7", "bob", "åsa"]
    assert result.truth["task"].dtype == np.int64
    np.testing.assert_array_equal(result.workers["weight"], expected.workers["weight"])
    streamed: list[Any] = []
    for batch in allalike.scan(source_of(name, tmp_path)).stream().batches():
        streamed += zip(*(map(str, column.data.to_pylist()) for column in batch.values()), strict=True)
    assert sorted(streamed) == sorted(tuple(map(str, row)) for row in ROWS)


def test_odd_names_are_quoted_and_a_reader_is_used_again() -> None:
    odd = FRAME.rename(columns={"label": 'the "label", x'})
    assert allalike.read(duckdb.from_arrow(pa.table(odd)), columns={"label": 'the "label", x'}).n_answers == 6
    source = allalike.scan(TABLE.to_reader())
    assert source.read().n_answers == source.read().n_answers == 6


def test_files_that_differ_in_how_they_keep_a_column_are_joined(tmp_path: Path) -> None:
    few = pa.table({"worker": ["w"] * 50_000, "task": np.arange(50_000), "label": ["x"] * 50_000})
    many = few.set_column(0, "worker", [[f"w{number}" for number in range(50_000)]])
    pq.write_table(few, tmp_path / "1.parquet")
    pq.write_table(many, tmp_path / "2.parquet", use_dictionary=False)
    assert allalike.read(str(tmp_path / "*.parquet")).n_answers == 100_000


def test_several_files_patterns_and_folders_are_read_as_one(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for number, part in enumerate((FRAME[:3], FRAME[3:]), start=1):
        part.to_csv(tmp_path / "parts" / f"part{number}.csv", index=False)
        part.to_parquet(tmp_path / f"part{number}.parquet")
    first, second = (tmp_path / "parts" / f"part{number}.csv" for number in (1, 2))
    expected = allalike.discover(ROWS).truth
    for source in (
        *([first, second], [str(second), first], str(tmp_path / "parts" / "part*.csv")),
        *(tmp_path / "part?.parquet", tmp_path / "parts"),
    ):
        assert allalike.discover(source).truth.equals(expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["007", "7"], ["007", "7"]),
        (["10", "9", "-3"], [-3, 9, 10]),
        (["9", "10", "x"], ["10", "9", "x"]),
        (["1.0", "1"], ["1", "1.0"]),
        (["12345678901234567890", "1"], ["1", "12345678901234567890"]),
        (["2020-01-01", "true", "Nothing"], ["2020-01-01", "Nothing", "true"]),
        (["a\nb", 'c"d', "e,f", "=1+1"], ["=1+1", "a\nb", 'c"d', "e,f"]),
    ],
)
@pytest.mark.parametrize("role", ["worker", "task", "label"])
def test_values_of_a_text_file_come_back_as_they_were(
    values: list[str], expected: list[Any], role: str, tmp_path: Path
) -> None:
    table = pd.DataFrame({"worker": "w", "task": "t", "label": "l"}, index=range(2 * len(values)))
    if role == "label":
        table["task"] = range(len(table))
    table[role] = values * 2
    table.to_csv(tmp_path / "answers.csv", index=False)
    answers = allalike.read(tmp_path / "answers.csv", domain="categorical", duplicates="first")
    found = {"worker": answers.workers, "task": answers.tasks}.get(role) or answers.encoding.labels  # type: ignore[attr-defined]
    assert found.tolist() == expected
    paths = allalike.discover(answers).save(tmp_path / "out")
    written = pd.read_csv(paths[1] if role == "worker" else paths[0], dtype=str, keep_default_na=False)[role]
    assert sorted(set(written)) == sorted(set(values))


def test_ids_and_labels_of_any_hashable_type_survive(tmp_path: Path) -> None:
    ab, none = frozenset("ab"), frozenset[str]()
    rows = [((1, "a"), ("t", 1), ab), ((2, "b"), ("t", 1), ab), ((1, "a"), ("t", 0), none)]
    result = allalike.discover(rows, domain="categorical")
    assert result.workers["worker"].tolist() == [(1, "a"), (2, "b")]
    assert result.truth["task"].tolist() == [("t", 0), ("t", 1)]
    assert result.truth["label"].tolist() == [none, ab]
    result = allalike.discover([(2**70, 1, True), (5, 1, True), (2**70, 2, False)])
    assert result.workers["worker"].tolist() == [5, 2**70]
    assert result.truth["label"].tolist() == [True, False]
    assert result.save(tmp_path / "out")[1].read_text().splitlines()[2].startswith(f'"{2**70}",')


def test_given_columns_come_before_guessed_ones() -> None:
    table = {"worker": ["a", "b"], "other": ["c", "d"], "task": [1, 1], "label": ["x", "x"]}
    answers = allalike.read(table, columns={"worker": "other"})
    assert (answers.workers.tolist(), answers.notes["guessed"].get("columns")) == (["c", "d"], None)


EYE, RUNS = np.eye(3), {"size": [2, 2], "counts": [1, 3]}


@pytest.mark.parametrize(
    ("labels", "domain"),
    [
        ([0, 1] * 20, "categorical"),
        (list(range(20)) * 2, "categorical"),
        (list(range(21)) * 2, "real"),
        ([True, False] * 4, "categorical"),
        ([0.0, 1.0] * 4, "categorical"),
        ([1, 2.5] * 4, "categorical"),
        ([0.5, 1.5, 2.5, 3.0], "real"),
        (['["x", "y"]', '["y", "x"]'] * 2, "ranking"),
        (["[2, 1]", "[1, 2]"] * 2, "ranking"),
        ([">50K", "<=50K"] * 2, "categorical"),
        (["the cat sat", "a cat sat there", "the cat sits", "one cat sat"], "text"),
        ([{"x", "y"}] * 2, "set"),
        ([EYE] * 2, "bitmap"),
        ([RUNS] * 2, "bitmap"),
        ([np.ones(3)] * 2, "vector"),
        ([["x", "y"]] * 2, "ranking"),
        ([[{"x": 1, "y": 2, "width": 3, "height": 4}], []], "boxes"),
        (['[{"bbox": [1, 2, 3, 4]}]', "[]"], "boxes"),
    ],
)
def test_the_label_type_is_inferred(labels: list[Any], domain: str, tmp_path: Path) -> None:
    workers, tasks = [f"w{number}" for number in range(len(labels))], [number // 4 for number in range(len(labels))]
    rows = list(zip(workers, tasks, labels, strict=True))
    assert allalike.read(rows).domain.name == domain
    if isinstance(labels[0], str | float | int):
        pd.DataFrame(rows, columns=["worker", "task", "label"]).to_csv(tmp_path / "answers.csv", index=False)
        assert allalike.read(tmp_path / "answers.csv").domain.name == domain


def test_many_different_whole_numbers_are_real_even_if_the_first_rows_have_few() -> None:
    labels = np.concatenate([np.arange(70_000) % 3, np.arange(100)])
    answers = allalike.read(pa.table({"worker": np.zeros(70_100, int), "task": np.arange(70_100), "label": labels}))
    assert (answers.domain.name, answers.label[-1]) == ("real", 99)


def test_repeated_answers_are_set_aside() -> None:
    rows = [("ada", 1, "x"), ("bob", 1, "y"), ("ada", 1, "z"), ("ada", 1, "y")]
    for repeats, expected in (("first", ["x", "y"]), ("last", ["y", "y"])):
        answers = allalike.read(rows, duplicates=repeats)
        assert answers.encoding.decode(answers.label).tolist() == expected
        assert answers.notes["duplicates_removed"] == 2


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_labels_are_dropped_when_asked(missing: Any) -> None:
    labels = pd.Series(["x", missing, "x"], dtype=object)
    answers = allalike.read(pd.DataFrame({"worker": [*"abc"], "task": 1, "label": labels}), missing="drop")
    assert (answers.n_answers, answers.notes["missing_dropped"]) == (2, 1)


@pytest.mark.parametrize("at_once", [1 << 26, 0])
def test_a_compact_parquet_column_is_read_as_a_dictionary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(arrow, "_BATCH_BYTES", at_once)
    table = pa.table({"worker": ["w1", "w2"] * 50_000, "task": [f"task {i}" for i in range(100_000)]})
    table = table.append_column("label", pa.array(["x"] * 100_000))
    pq.write_table(table, tmp_path / "a.parquet", dictionary_pagesize_limit=1000)
    opened = open_table([tmp_path / "a.parquet"])
    kinds = {role: column.data.type for role, column in opened.columns({"worker": "worker", "task": "task"}).items()}
    assert pa.types.is_dictionary(kinds["worker"])
    assert not pa.types.is_dictionary(kinds["task"])
    assert allalike.read(tmp_path / "a.parquet").n_answers == 100_000
