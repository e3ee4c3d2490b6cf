"""Tables go out in the kind of frame that came in."""

from collections.abc import Callable
from typing import Any, ClassVar

import datasets
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import allalike
from allalike.errors import InputError

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
    tables = [result.truth, result.workers, result.groups, result.probabilities, result.next(2), result.curve()]
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
        assert as_records(second.workers)[0]["earlier"] == 8


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
