"""Answers from files and frames of every kind, with ids and labels as they came."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import allalike
from allalike.readers.formats import parquet
from allalike.readers.sources import open_table

WORKERS = ["007", "bob", "7", "åsa", "bob", "007"]
TASKS = [1, 1, 1, 1, 2, 10]
LABELS = ["cat", "cat", "dog", "=1+1", "dog", "cat"]
FRAME = pd.DataFrame({"worker": WORKERS, "task": TASKS, "label": LABELS})
ROWS = list(zip(WORKERS, TASKS, LABELS, strict=True))


def write(folder: Path, kind: str) -> Any:
    path = folder / f"answers.{kind}"
    if kind == "csv":
        FRAME.to_csv(path, index=False)
    elif kind == "tsv":
        FRAME.to_csv(path, index=False, sep="\t")
    elif kind == "jsonl":
        FRAME.to_json(path, orient="records", lines=True)
    elif kind == "json":
        FRAME.to_json(path, orient="records")
    elif kind == "csv.gz":
        FRAME.to_csv(path, index=False, compression="gzip")
    elif kind == "parquet":
        FRAME.to_parquet(path)
    return path


def sources(folder: Path) -> dict[str, Any]:
    made = {kind: write(folder, kind) for kind in ("csv", "tsv", "jsonl", "json", "csv.gz", "parquet")}
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    views = table.set_column(2, "label", table["label"].cast(pa.string_view()))
    return {
        **made,
        "string": str(made["csv"]),
        "rows": ROWS,
        "generator": (row for row in ROWS),
        "mapping": {"worker": WORKERS, "task": TASKS, "label": LABELS},
        "records": FRAME.to_dict("records"),
        "pandas": FRAME,
        "pandas objects": FRAME.astype(object),
        "pandas categories": FRAME.astype({"label": "category", "worker": "category"}),
        "polars": pl.from_pandas(FRAME),
        "polars categories": pl.from_pandas(FRAME).with_columns(pl.col("label").cast(pl.Categorical)),
        "pyarrow": table,
        "pyarrow views": views,
        "batches": table.to_batches()[0],
    }


def test_every_source_gives_the_same_answers(tmp_path: Path) -> None:
    expected = allalike.discover(ROWS)
    assert expected.truth["task"].tolist() == [1, 2, 10]
    assert expected.workers["worker"].tolist() == ["007", "7", "bob", "åsa"]
    for name, source in sources(tmp_path).items():
        result = allalike.discover(source).tables_as("pandas")
        assert result.truth.equals(expected.truth), name
        assert result.workers["worker"].tolist() == expected.workers["worker"].tolist(), name
        assert result.truth["task"].dtype == np.int64, name
        np.testing.assert_array_equal(result.workers["weight"], expected.workers["weight"])


def test_files_that_differ_in_how_they_keep_a_column_are_joined(tmp_path: Path) -> None:
    few = pa.table({"worker": ["w"] * 50_000, "task": np.arange(50_000), "label": ["x"] * 50_000})
    many = pa.table({"worker": [f"w{i}" for i in range(50_000)], "task": np.arange(50_000), "label": ["x"] * 50_000})
    pq.write_table(few, tmp_path / "1.parquet")
    pq.write_table(many, tmp_path / "2.parquet", use_dictionary=False)
    assert allalike.read(str(tmp_path / "*.parquet")).n_answers == 100_000


def test_preflib_files_are_joined(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.soc").write_text("# ALTERNATIVE NAME 1: tea\n# ALTERNATIVE NAME 2: ale\n2: 2,1\n1: 1,2\n")
    answers = allalike.read(str(tmp_path / "*.soc"))
    assert (answers.domain.name, answers.n_answers, answers.tasks.tolist()) == ("ranking", 6, ["one", "two"])


def test_several_files_and_patterns_are_read_as_one(tmp_path: Path) -> None:
    FRAME[:3].to_csv(tmp_path / "part1.csv", index=False)
    FRAME[3:].to_csv(tmp_path / "part2.csv", index=False)
    FRAME[:3].to_parquet(tmp_path / "part1.parquet")
    FRAME[3:].to_parquet(tmp_path / "part2.parquet")
    expected = allalike.discover(ROWS).truth
    for source in (
        [tmp_path / "part1.csv", tmp_path / "part2.csv"],
        str(tmp_path / "part*.csv"),
        tmp_path / "part?.parquet",
        [str(tmp_path / "part2.csv"), tmp_path / "part1.csv"],
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
    answers = allalike.read(tmp_path / "answers.csv", domain="categorical", repeats="first")
    found = {"worker": answers.workers, "task": answers.tasks}.get(role) or answers.encoding.labels  # type: ignore[attr-defined]
    assert found.tolist() == expected
    result = allalike.discover(answers)
    paths = result.save(tmp_path / "out")
    written = pd.read_csv(paths[1] if role == "worker" else paths[0], dtype=str, keep_default_na=False)[role]
    assert sorted(set(written)) == sorted(set(values))


def test_ids_and_labels_of_any_hashable_type_survive() -> None:
    rows = [((1, "a"), ("t", 1), frozenset("ab")), ((2, "b"), ("t", 1), frozenset("ab")), ((1, "a"), ("t", 0), ())]
    rows[2] = (*rows[2][:2], frozenset())
    result = allalike.discover(rows, domain="categorical")
    assert result.workers["worker"].tolist() == [(1, "a"), (2, "b")]
    assert result.truth["task"].tolist() == [("t", 0), ("t", 1)]
    assert result.truth["label"].tolist() == [frozenset(), frozenset("ab")]


def test_large_integers_survive(tmp_path: Path) -> None:
    rows = [(2**70, 1, True), (5, 1, True), (2**70, 2, False)]
    result = allalike.discover(rows)
    assert result.workers["worker"].tolist() == [5, 2**70]
    assert result.truth["label"].tolist() == [True, False]
    assert result.save(tmp_path / "out")[1].read_text().splitlines()[2].startswith(f'"{2**70}",')


@pytest.mark.parametrize(
    ("names", "roles"),
    [
        (["annotator", "item", "label"], ["annotator", "item", "label"]),
        (["WorkerId", "HITId", "Answer"], ["WorkerId", "HITId", "Answer"]),
        (["USER", "Question", "Response"], ["USER", "Question", "Response"]),
        (["rater", "example_id", "vote"], ["rater", "example_id", "vote"]),
        (["source", "document", "value"], ["source", "document", "value"]),
        (["performer", "id", "annotation"], ["performer", "id", "annotation"]),
        (["model", "task", "label", "value"], ["model", "task", "label"]),
        (["!amt_annotation_ids", "!amt_worker_ids", "orig_id", "response", "gold"], None),
    ],
)
def test_columns_are_recognised_by_name(names: list[str], roles: list[str] | None) -> None:
    roles = roles or ["!amt_worker_ids", "orig_id", "response"]
    table = {name: ["x", "y", "x", "y"] for name in names}
    table[roles[1]] = ["1", "1", "2", "2"]
    guessed = allalike.read(table).notes["guessed"].get("columns", {})
    assert guessed == {r: n for r, n in zip(("worker", "task", "label"), roles, strict=True) if r != n}


def test_given_columns_come_before_guessed_ones() -> None:
    table = {"worker": ["a", "b"], "other": ["c", "d"], "task": [1, 1], "label": ["x", "x"]}
    answers = allalike.read(table, columns={"worker": "other"})
    assert answers.workers.tolist() == ["c", "d"]
    assert "columns" not in answers.notes["guessed"]


@pytest.mark.parametrize(
    ("labels", "domain"),
    [
        ([0, 1] * 20, "categorical"),
        (list(range(20)) * 2, "categorical"),
        (list(range(21)) * 2, "real"),
        ([True, False] * 4, "categorical"),
        ([0.0, 1.0] * 4, "categorical"),
        (["yes", "no"] * 4, "categorical"),
        ([1, 2.5] * 4, "categorical"),
        ([0.5, 1.5, 2.5, 3.0], "real"),
    ],
)
def test_the_kind_of_labels_is_guessed(labels: list[Any], domain: str, tmp_path: Path) -> None:
    table = {"worker": ["w"] * len(labels), "task": list(range(len(labels))), "label": labels}
    assert allalike.read(table).domain.name == domain
    pd.DataFrame(table).to_csv(tmp_path / "answers.csv", index=False)
    answers = allalike.read(tmp_path / "answers.csv")
    assert answers.domain.name == domain
    assert answers.notes["guessed"]["domain"] == domain


def test_many_different_whole_numbers_are_real_even_if_the_first_rows_have_few() -> None:
    labels = np.concatenate([np.arange(70_000) % 3, np.arange(100)])
    table = pa.table({"worker": np.zeros(70_100, int), "task": np.arange(70_100), "label": labels})
    answers = allalike.read(table)
    assert answers.domain.name == "real"
    assert answers.label[-1] == 99


def test_wide_tables_of_both_directions(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text("question,ada,bob,007\nq1,x,x,y\nq2,,y,y\n10,y,,\n")
    by_task = allalike.read(tmp_path / "tasks.csv", wide="tasks")
    assert by_task.tasks.tolist() == ["10", "q1", "q2"]
    assert by_task.workers.tolist() == ["007", "ada", "bob"]
    assert by_task.n_answers == 6
    pd.read_csv(tmp_path / "tasks.csv", dtype=str).set_index("question").T.to_csv(
        tmp_path / "workers.csv", index_label="who"
    )
    by_worker = allalike.read(tmp_path / "workers.csv", wide="workers")
    frame = pd.read_csv(tmp_path / "tasks.csv", dtype=str)
    expected = allalike.discover(by_task).truth
    assert allalike.discover(by_worker).truth.equals(expected)
    assert allalike.discover(allalike.read(frame, wide="tasks", columns={"task": "question"})).truth.equals(expected)
    by_polars = allalike.discover(allalike.read(pl.from_pandas(frame), wide="tasks"))
    assert by_polars.tables_as("pandas").truth.equals(expected)


def test_a_matrix_of_numpy_is_a_wide_table() -> None:
    matrix = np.array([[1.5, np.nan, 3], [2.5, 4, 5]])
    answers = allalike.read(matrix, wide="workers")
    assert answers.n_answers == 5
    assert answers.workers.tolist() == [0, 1]
    assert answers.tasks.tolist() == [0, 1, 2]
    assert allalike.read(matrix.T, wide="tasks").label.tolist() == answers.label.tolist()


def test_empty_cells_do_not_turn_classes_into_numbers() -> None:
    frame = pd.DataFrame({"task": ["a", "b"], "w1": [1, 2], "w2": [np.nan, 2]})
    answers = allalike.read(frame, wide="tasks")
    assert answers.domain.name == "categorical"
    assert answers.encoding.decode(answers.label).tolist() == [1, 2, 2]
    halves = pd.DataFrame({"task": ["a", "b"], "w1": [1, 2], "w2": [np.nan, 2.5]})
    assert allalike.read(halves, wide="tasks").domain.name == "real"


@pytest.mark.parametrize(("whole", "other"), [(1, 2.0**63), (1 << 60, 0.5)])
def test_numbers_of_a_wide_table_that_are_not_all_whole_or_do_not_fit_are_floats(whole: int, other: float) -> None:
    frame = pd.DataFrame({"task": [1, 2], "ada": [whole, whole], "bob": [other, other]})
    assert sorted(set(allalike.read(frame, wide="tasks", domain="real").label.tolist())) == sorted([whole, other])


def test_a_worker_may_be_called_like_a_number_in_a_wide_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("task,1,10,9\na,x,x,y\nb,x,y,y\n")
    assert allalike.read(tmp_path / "a.csv", wide="tasks").workers.tolist() == [1, 9, 10]


def test_repeated_answers_are_set_aside(tmp_path: Path) -> None:
    rows = [("ada", 1, "x"), ("bob", 1, "y"), ("ada", 1, "z"), ("ada", 1, "y")]
    first, last = allalike.read(rows), allalike.read(rows, repeats="last")
    assert allalike.discover(first).truth["answers"].tolist() == [2]
    labels = [answers.encoding.decode(answers.label).tolist() for answers in (first, last)]
    assert labels == [["x", "y"], ["y", "y"]]
    assert first.notes["repeats_set_aside"] == 2


def test_missing_labels_are_dropped_when_asked() -> None:
    frame = pd.DataFrame({"worker": ["a", "b", "c"], "task": [1, 1, 1], "label": [1.5, np.nan, 2.5]})
    answers = allalike.read(frame, missing="drop")
    assert (answers.n_answers, answers.notes["missing_dropped"]) == (2, 1)


def test_missing_values_of_pandas_are_missing_labels() -> None:
    for missing in (None, np.nan, pd.NA, pd.NaT):
        frame = pd.DataFrame(
            {"worker": ["a", "b", "c"], "task": 1, "label": pd.Series(["x", missing, "x"], dtype=object)}
        )
        assert allalike.read(frame, missing="drop").n_answers == 2


def test_semicolons_byte_order_marks_and_windows_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("\ufeffworker;task;label\r\na;1;x\r\nb;1;x\r\n".encode())
    assert allalike.read(tmp_path / "a.csv").workers.tolist() == ["a", "b"]
    (tmp_path / "tabs.csv").write_text("worker\ttask\tlabel\na\t1\tx\nb\t1\tx\n")
    assert allalike.read(tmp_path / "tabs.csv").n_answers == 2
    (tmp_path / "a.jsonl").write_text('{"worker": "a", "task": "2020-01-01", "label": "x"}\n' * 2)
    assert allalike.read(tmp_path / "a.jsonl").tasks.tolist() == ["2020-01-01"]


@pytest.mark.parametrize("at_once", [1 << 26, 0])
def test_a_compact_parquet_column_is_read_as_a_dictionary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(parquet, "_BATCH_BYTES", at_once)
    table = pa.table({"worker": ["w1", "w2"] * 50_000, "task": [f"task {i}" for i in range(100_000)]})
    table = table.append_column("label", pa.array(["x"] * 100_000))
    pq.write_table(table, tmp_path / "a.parquet", dictionary_pagesize_limit=1000)
    opened = open_table([tmp_path / "a.parquet"])
    kinds = {role: column.data.type for role, column in opened.columns({"worker": "worker", "task": "task"}).items()}
    assert pa.types.is_dictionary(kinds["worker"])
    assert not pa.types.is_dictionary(kinds["task"])
    assert allalike.read(tmp_path / "a.parquet").n_answers == 100_000


def test_gold_from_every_source(tmp_path: Path) -> None:
    rows = [("a", "007", "x"), ("b", "007", "x"), ("a", "8", "y"), ("b", "8", "x")]
    (tmp_path / "gold.csv").write_text("task,gold\n007,x\n8,x\nunasked,y\n")
    (tmp_path / "gold.jsonl").write_text(json.dumps({"item": "007", "truth": "x"}) + "\n")
    for gold, tasks, unanswered in (
        (tmp_path / "gold.csv", 2, 1),
        (tmp_path / "gold.jsonl", 1, 0),
        ({"007": "x", "8": "never answered"}, 2, 0),
        ([("8", "y"), ("007", "x")], 2, 0),
        (pd.Series({"8": "y"}), 1, 0),
        (pd.DataFrame({"task": ["8"], "label": ["y"]}), 1, 0),
    ):
        found = allalike.discover(rows, gold=gold).summary["gold"]
        assert (found["tasks"], found["without_answers"]) == (tasks, unanswered)
    errors = allalike.discover(rows, gold={"007": "x", "8": "never answered"}, ties="first").summary["gold"]
    assert errors["error"] == errors["unweighted_error"] == 0.5


def test_gold_ids_of_another_type_match_by_their_text(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("task,label\n1,x\n2,y\n")
    rows = [("a", "1", "x"), ("b", "2", "y"), ("b", "1", "x")]
    assert allalike.discover(rows, gold=tmp_path / "gold.csv").summary["gold"]["error"] == 0


def test_compressed_text_is_read(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.tsv.gz", "wt") as file:
        file.write("worker\ttask\tlabel\na\t1\tx\nb\t1\tx\n")
    assert allalike.read(tmp_path / "a.tsv.gz").n_answers == 2


@pytest.mark.parametrize(
    ("labels", "domain"),
    [
        (["a>b>c", "b>a>c"] * 2, "ranking"),
        (['["x", "y"]', '["y", "x"]'] * 2, "ranking"),
        (["[2, 1]", "[1, 2]"] * 2, "ranking"),
        ([">50K", "<=50K"] * 2, "categorical"),
        (["the cat sat", "a cat sat there", "the cat sits", "one cat sat"], "text"),
    ],
)
def test_kinds_of_text_are_recognised(labels: list[str], domain: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"worker": ["a", "b", "c", "d"], "task": "t", "label": labels})
    table.to_csv(tmp_path / "a.csv", index=False)
    assert allalike.read(tmp_path / "a.csv").domain.name == domain
    assert allalike.read(table).domain.name == domain


def test_objects_are_recognised_by_their_type() -> None:
    for label, domain in (
        ({"x", "y"}, "set"),
        (np.eye(3), "bitmap"),
        ({"size": [2, 2], "counts": [1, 3]}, "bitmap"),
        (np.ones(3), "vector"),
        (["x", "y"], "ranking"),
    ):
        assert allalike.read([("a", 1, label), ("b", 1, label)]).domain.name == domain


@pytest.mark.parametrize(
    "labels", [['["x"]', '["y"]'], ["[[1, 2]]", "[[1, 3]]"], ["[0.5, 1.5]", "[0.5, 2.5]"], ["a>b", "a>c"]]
)
def test_lists_that_may_be_several_things_are_asked_for(labels: list[str], tmp_path: Path) -> None:
    pd.DataFrame({"worker": ["a", "b"], "task": "t", "label": labels}).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(allalike.AllalikeError, match="do not order the same items"):
        allalike.read(tmp_path / "a.csv")
