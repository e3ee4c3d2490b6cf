"""Parquet, Arrow and tables with columns of all types, names and values: each gives a result or a clear error."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import allalike
from allalike.errors import AllalikeError
from files.arrow_schemas import tables
from files.mutations import often, repeat
from files.plain_rows import as_arrow, as_it_is, as_parquet

DOMAINS = st.sampled_from(["categorical", None, "real", "date", "text", "set", "vector", "record", "ordinal"])
ENGINES = st.sampled_from(["memory", "disk"])


def is_solved(write: Callable[[Any, Path], Any], table: Any, folder: Path, domain: str | None, engine: str) -> bool:
    """Write a table in some form, if it has one there, find truths in it and save them."""
    try:
        source = write(table, folder)
    except (pa.ArrowException, OSError):  # which Arrow does not write
        return False
    try:
        allalike.discover(source, domain=domain, engine=engine, method="UA").save(folder / "out")
    except AllalikeError as error:
        assert str(error).strip()
        return False
    return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("schemas")


FORMS = [as_parquet, as_arrow, as_it_is]


@often(15, 800)
@pytest.mark.parametrize("write", FORMS)
def test_tables_of_all_types_are_solved_or_refused(
    write: Callable[[Any, Path], Any], folder: Path, examples: int
) -> None:
    def check(table: Any, domain: str | None, engine: str) -> None:
        is_solved(write, table, folder, domain, engine)

    repeat(examples, check, table=tables(), domain=DOMAINS, engine=ENGINES)


def test_some_tables_of_odd_types_are_solved(folder: Path) -> None:
    ids, task = pa.array(["ada", "bob", "eve"]), pa.array([1, 1, 1])
    uuids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes([n]) * 16 for n in range(3)], pa.binary(16)))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["x", "y"]))
    truths = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 1, 0], pa.int8()))
    for worker, label in (
        (uuids, ["x", "x", "y"]),
        (ids, runs),
        (ids, truths),
        (ids.cast(pa.string_view()), pa.array(["x", "x", "y"], pa.string_view())),
        (pa.array([1, 2, 3], pa.decimal128(5)), pa.array(np.array([1.5, 1.5, 2.0], np.float16))),
        (ids.dictionary_encode(), pa.array([b"x", b"x", b"y"], pa.binary(1))),
        (pa.array([0, 1, 2], pa.date32()), pa.array([[1], [1], [2]], pa.list_view(pa.int8()))),
    ):
        table = pa.table({"worker": worker, "task": task, "label": label})
        for write in (as_arrow, as_it_is):
            domain = "vector" if pa.types.is_list_view(table["label"].type) else "categorical"
            assert is_solved(write, table, folder, domain, "memory"), table.schema
