"""Results: how they are saved, and that tables go out in the kind of frame that came in."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import allalike
from allalike.errors import InputError
from crowds.samples import crowd
from running.program import run


def test_numbers_that_differ_by_rounding_have_not_changed() -> None:
    truth = allalike.discover(crowd("real", seed=0), method="UA").truth
    assert not truth["changed"].any()
    around_zero = [(worker, task, (0.1, 0.2, -0.3)[worker] * 3**task) for worker in range(3) for task in range(20)]
    assert not allalike.discover(around_zero, domain="real", method="UA").truth["changed"].any()


def test_what_is_saved_reads_back_the_same(tmp_path: Path) -> None:
    result = allalike.discover(crowd("categorical", seed=0, missing=0.2), gold={"t0000": 1, "t0001": 2})
    result.save(tmp_path / "deep" / "out")
    truth = pd.read_csv(tmp_path / "deep" / "out" / "truth.csv")
    pd.testing.assert_frame_equal(truth, result.truth, check_dtype=False)
    kept = [f"details/state/{name}" for name in ("answers-1.parquet", "call.json", "gold-1.parquet")]
    tables = [f"details/{name}.csv" for name in ("confusion", "next_tasks", "quality")]
    files = [*tables, *kept, "details/workers.csv", "truth.csv", "workers.csv", "summary.json"]
    written = json.loads((tmp_path / "deep" / "out" / "summary.json").read_text())
    assert written == {"schema": "allalike/discover/2", **result.summary, "state": {"format": 4}, "files": files}
    result.save(tmp_path / "out", format="parquet")
    back = pd.read_parquet(tmp_path / "out" / "workers.parquet")
    saved = back.set_index("worker")["weight"]
    np.testing.assert_array_equal(saved[result.workers["worker"]], result.workers["weight"])


def test_a_class_called_task_leaves_the_tasks_alone() -> None:
    rows = [("a", 1, "task"), ("b", 1, "task"), ("c", 1, "y"), ("a", 2, "y"), ("b", 2, "y")]
    found = allalike.discover(rows, method="DS-1").probabilities
    assert found.columns.tolist() == ["task", "task", "y"]
    assert found.iloc[:, 0].tolist() == [1, 2]


def test_a_result_in_memory_can_be_pickled_and_updated_afterwards() -> None:
    result = allalike.discover([("a", 1, "x"), ("b", 1, "x"), ("c", 1, "y")])
    copied = pickle.loads(pickle.dumps(result))
    assert copied.truth.equals(result.truth)
    assert copied.update([("a", 2, "y")]).summary["tasks"] == 2


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_soft_labels_are_written_where_they_are_asked_for(form: str, tmp_path: Path, engine: Any) -> None:
    result = allalike.discover(ROWS, method="DS-1", engine=engine)
    assert "probabilities" not in " ".join(path.name for path in result.save(tmp_path / "plain", format=form))
    paths = result.save(tmp_path / "out", format=form, probabilities=True)
    assert f"probabilities.{form}" in [path.name for path in paths]
    path = tmp_path / "out" / "details" / f"probabilities.{form}"
    written = pd.read_csv(path) if form == "csv" else pd.read_parquet(path)
    pd.testing.assert_frame_equal(written, result.probabilities, check_dtype=False)
    again = result.save(tmp_path / "out", format=form)
    assert not path.exists()  # what an earlier result wrote makes way
    assert len(again) == len(paths) - 1


def test_the_program_writes_them_by_a_flag(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("worker,task,label\n" + "".join(f"{w},{t},{x}\n" for w, t, x in ROWS))
    run("discover", path, "-o", tmp_path / "out", "--method", "DS-1", "--probabilities", "--no-report")
    assert (tmp_path / "out" / "details" / "probabilities.csv").read_text().splitlines()[0] == '"task","x","y"'


SAID = {"ada": "xxyyxyxy", "bob": "xxyyxyxx", "eve": "xxyyxyyy", "kim": "yxxxyxxy", "lea": "xxyyxyxy"}
ROWS = [(worker, task, label) for worker, labels in SAID.items() for task, label in enumerate(labels)]
COLUMNS: dict[str, list[Any]] = {
    name: [row[place] for row in ROWS] for place, name in enumerate(("worker", "task", "label"))
}


class Capsule:
    """What knows nothing but to hand over a stream of Arrow, and the names of its columns."""

    columns: ClassVar = list(COLUMNS)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)


FRAMES: dict[str, tuple[Callable[[], Any], type[Any]]] = {
    "pandas": (lambda: pd.DataFrame(COLUMNS), pd.DataFrame),
    "rows": (lambda: ROWS, pd.DataFrame),
    "polars": (lambda: pl.DataFrame(COLUMNS), pl.DataFrame),
    "lazy polars": (lambda: pl.LazyFrame(COLUMNS), pl.DataFrame),
    "Arrow": (lambda: pa.table(COLUMNS), pa.Table),
    "a reader of Arrow": (lambda: pa.table(COLUMNS).to_reader(), pa.Table),
    "a capsule of Arrow": (Capsule, pa.Table),
    "DuckDB": (lambda: duckdb.from_arrow(pa.table(COLUMNS)), pa.Table),
    "Hugging Face": (lambda: datasets.Dataset.from_dict(COLUMNS), datasets.Dataset),
    "splits of Hugging Face": (lambda: datasets.DatasetDict(a=datasets.Dataset.from_dict(COLUMNS)), datasets.Dataset),
    "a stream of Hugging Face": (lambda: datasets.Dataset.from_dict(COLUMNS).to_iterable_dataset(), datasets.Dataset),
}


def as_records(table: Any) -> list[Any]:
    frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
    records: list[Any] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return records


@pytest.mark.parametrize("name", FRAMES)
def test_truths_go_out_in_the_kind_of_frame_that_came_in(name: str) -> None:
    make, kind = FRAMES[name]
    result = allalike.discover(make(), method="DS-1")
    assert type(result.truth) is kind
    assert as_records(result.truth) == as_records(allalike.discover(ROWS, method="DS-1").truth)


def test_every_table_of_a_result_is_of_that_kind(engine: Any) -> None:
    result: Any = allalike.discover(pl.DataFrame(COLUMNS), engine=engine)
    tables = [
        result.truth,
        result.workers,
        result.groups,
        result.probabilities,
        result.next_tasks(2),
        result.learning_curve(),
    ]
    tables += [result.confusion("kim"), result.agreement.workers, result.agreement.matrix]
    assert {type(table) for table in tables} == {pl.DataFrame}
    assert type(result.update([("kim", 99, "x")]).truth) is pl.DataFrame
    assert "5 workers" in repr(result)
    assert "<table" in result._repr_html_()


def test_comparisons_panels_and_agreements_have_the_frame_that_came_in() -> None:
    frame = pl.DataFrame({**COLUMNS, "half": ["a" if task < 4 else "b" for task in COLUMNS["task"]]})
    compared = allalike.compare(frame, methods="P-TD")
    panel = allalike.jury(frame)
    apart = allalike.agreement(frame, by="half")
    tables = [compared.table, compared.agreement, panel.truth, panel.judges, panel.pairs, apart.table]
    assert {type(table) for table in [*tables, apart["a"].workers]} == {pl.DataFrame}
    assert compared.agreement.columns == ["method", "same UA", "same P-TD", "distance UA", "distance P-TD"]
    assert isinstance(panel.tables_as("pandas").judges, pd.DataFrame)
    assert "P-TD" in repr(compared)


def test_a_table_that_went_out_can_be_history_and_gold_of_the_next_run() -> None:
    for frame in (pl.DataFrame(COLUMNS), pa.table(COLUMNS), datasets.Dataset.from_dict(COLUMNS)):
        first = allalike.discover(frame, method="DS-1")
        second = allalike.discover(frame, history=first.workers, gold=first.truth, use_gold=False)
        assert second.summary["gold"]["error"] == 0
        assert as_records(second.workers)[0]["prior_answers"] == 8


def test_classes_of_hugging_face_have_their_names_and_minus_one_is_no_answer(engine: Any) -> None:
    features = datasets.Features(
        {
            "worker": datasets.Value("string"),
            "task": datasets.Value("int64"),
            "label": datasets.ClassLabel(names=["cat", "dog"]),
        }
    )
    columns = {"worker": ["ada", "bob", "eve", "ada"], "task": [1, 1, 1, 2], "label": [1, 1, 0, -1]}
    source = datasets.Dataset.from_dict(columns, features=features).shuffle(seed=1)  # rows by an index of them
    result = allalike.discover(source, missing="drop", engine=engine)
    assert result.truth["label"] == ["dog"]
    with pytest.raises(InputError, match="no label"):
        allalike.discover(source, engine=engine)
