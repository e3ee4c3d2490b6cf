"""Whatever hands over Arrow is read."""

from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pytest

import allalike
from allalike.engines import Engine
from running.elsewhere import ROWS

TABLE = pa.table(dict(zip(("worker", "task", "label"), map(list, zip(*ROWS, strict=True)), strict=True)))


class Capsule:
    """An object of which nothing is known but that it hands over Arrow, once."""

    def __init__(self, table: Any) -> None:
        self._reader = table.to_reader(max_chunksize=7)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._reader.__arrow_c_stream__(requested_schema)


def make_source(kind: str, folder: Path) -> Any:
    if kind == "capsule":
        return Capsule(TABLE)
    if kind == "reader":
        return TABLE.to_reader(max_chunksize=7)
    if kind == "relation":
        return duckdb.from_arrow(TABLE)
    if kind == "lazy":
        return pl.from_arrow(TABLE).lazy()  # type: ignore[union-attr]
    if kind == "lazy categories":
        return pl.from_arrow(TABLE).lazy().cast({"label": pl.Categorical})  # type: ignore[union-attr]
    if kind == "categories":
        columns = [TABLE["worker"].dictionary_encode(), TABLE["task"], TABLE["label"].dictionary_encode()]
        return Capsule(pa.table(columns, names=TABLE.column_names))
    deltalake.write_deltalake(folder / "delta", TABLE)
    made = deltalake.DeltaTable(folder / "delta")
    return deltalake.QueryBuilder().register("answers", made).execute("SELECT * FROM answers")


@pytest.mark.parametrize("kind", ["capsule", "reader", "relation", "lazy", "lazy categories", "categories", "delta"])
def test_a_stream_is_read(kind: str, engine: Engine, truths: list[str], tmp_path: Path) -> None:
    result = allalike.discover(make_source(kind, tmp_path), engine=engine)
    assert result.tables_as("pandas").truth["label"].tolist() == truths
