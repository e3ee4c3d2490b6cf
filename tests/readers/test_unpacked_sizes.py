"""Parquet and Arrow files are bounded by their metadata, before a few bytes become millions of rows."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import allalike
import allalike.readers.formats.unpacked_sizes as sizes
from allalike._core.columns.hashes import make_plain
from allalike.errors import InputError, TooLargeError
from allalike.readers.formats.parquet import open_arrow, open_parquet

REFUSED = r"has [\d,]+ bytes and unpacks to about [\d,]+\. The limit is 200 times its size"
TEXT = "x" * 1_000_000
PART = 1 << 16
FREE = 1 << 19  # bytes, so that files are small


@pytest.fixture(autouse=True)
def _low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "FREE_BYTES", FREE)


def make_rows(n_rows: int) -> pa.Table:
    """Return rows of which long runs are the same."""
    runs = np.arange(n_rows) // (n_rows // 4)
    names = pa.DictionaryArray.from_arrays(pa.array(runs, pa.int8()), ["ada", "bob", "eve", "kim"])
    return pa.table({"worker": names.cast(pa.string()), "task": pa.array(runs * 0), "label": names})


def write_parquet(path: Path, n_parts: int) -> Path:
    rows = make_rows(PART)
    with pq.ParquetWriter(path, rows.schema, compression="zstd") as writer:
        for _ in range(n_parts):
            writer.write_table(rows)
    return path


def write_arrow(path: Path, table: pa.Table, **options: Any) -> Path:
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return path


def share_views(n_rows: int) -> pa.Array:
    views = struct.pack("<i4sii", len(TEXT), b"xxxx", 0, 0) * n_rows
    return pa.Array.from_buffers(pa.string_view(), n_rows, [None, pa.py_buffer(views), pa.py_buffer(TEXT.encode())])


def share_lists(n_rows: int) -> pa.Array:
    zeros, sizes = np.zeros(n_rows, np.int32), np.full(n_rows, n_rows, np.int32)
    return pa.ListViewArray.from_arrays(pa.array(zeros), pa.array(sizes), pa.array(range(n_rows)))


@pytest.mark.parametrize("engine", [None, "memory", "disk"])
def test_a_parquet_file_of_millions_of_equal_rows_is_refused(tmp_path: Path, engine: str | None) -> None:
    path = write_parquet(tmp_path / "a.parquet", 10)
    assert path.stat().st_size < PART
    with pytest.raises(InputError, match=REFUSED):
        allalike.discover(path, engine=engine)
    (tmp_path / "parts").mkdir()
    for number in range(3):
        write_parquet(tmp_path / "parts" / f"{number}.parquet", 5)
    with pytest.raises(InputError, match=REFUSED):
        allalike.discover(tmp_path / "parts", engine=engine)


def test_a_parquet_file_within_the_limits_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(make_rows(1000), path)
    assert allalike.read(path, repeats="first").n_answers == 4


def test_a_long_text_of_a_dictionary_is_not_written_out_for_each_row(tmp_path: Path) -> None:
    labels = pa.DictionaryArray.from_arrays(pa.array(np.arange(1000) % 2, pa.int8()), [TEXT, "y"])
    rows = {"worker": [f"w{n % 10}" for n in range(1000)], "task": [n // 10 for n in range(1000)]}
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({**rows, "label": labels.cast(pa.string())}), path, store_schema=False)
    assert pa.types.is_dictionary(open_parquet(path).load(["label"])["label"].type)
    lists = pa.FixedSizeListArray.from_arrays(labels.cast(pa.string()), 2).cast(pa.list_(pa.string()))
    pq.write_table(pa.table({"task": range(500), "label": lists}), path, store_schema=False)
    with pytest.raises(InputError, match=REFUSED):
        open_parquet(path).load(["label"])


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_an_arrow_file_is_measured_before_it_is_unpacked(tmp_path: Path, compression: str) -> None:
    zeros = pa.table({"label": pa.array(np.zeros(PART), pa.float64())})
    path = write_arrow(tmp_path / "a.arrow", zeros, compression=compression)
    assert path.stat().st_size < sizes.measure_arrow(path) == 8 * PART


def test_an_arrow_file_of_millions_of_equal_rows_is_refused(tmp_path: Path) -> None:
    honest = write_arrow(tmp_path / "a.arrow", make_rows(1000), compression="zstd")
    assert allalike.read(honest, repeats="first").n_answers == 4
    zeros = pa.array(np.zeros(20 * PART, np.int64))
    rows = pa.table({"worker": zeros, "task": zeros, "label": zeros})
    with pytest.raises(InputError, match=REFUSED):
        allalike.read(write_arrow(tmp_path / "b.arrow", rows, compression="zstd"))


@pytest.mark.parametrize(
    "column",
    [
        pa.nulls(10**6),
        share_views(300),
        share_lists(1000),
        pa.RunEndEncodedArray.from_arrays(pa.array([10**6], pa.int32()), pa.array(["x"])),
        pa.StructArray.from_arrays([share_views(300)], ["text"]),
    ],
    ids=["nulls", "views", "list views", "runs", "views in records"],
)
def test_rows_that_share_what_they_hold_are_counted(tmp_path: Path, column: Any) -> None:
    path = tmp_path / "a.arrow"
    schema = pa.schema([("label", column.type)])
    with pa.ipc.new_file(path, schema) as writer:
        writer.write_batch(pa.record_batch([column], schema=schema))
    with pytest.raises(InputError, match=REFUSED):
        open_arrow(path).load(["label"])


def test_a_dictionary_with_repeats_stays_one() -> None:
    values = pa.chunked_array([pa.DictionaryArray.from_arrays([0, 1, 2, None, 3], ["a", "a", None, "b"])])
    plain = make_plain(values)
    assert pa.types.is_dictionary(plain.type)
    assert plain.to_pylist() == values.to_pylist() == ["a", "a", None, None, "b"]


def test_what_does_not_fit_in_memory_goes_to_disk_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(make_rows(10_000).set_column(1, "task", pa.array(np.arange(10_000) % 50)), path)
    free = 4 * path.stat().st_size
    monkeypatch.setattr("allalike.api.discover.free_memory", lambda: free)
    assert allalike.discover(path, repeats="first").summary["guessed"]["engine"] == "disk"
    monkeypatch.setattr("allalike._core.system.memory.free_memory", lambda: free)
    monkeypatch.setattr("allalike._core.system.memory._LITTLE", 0)
    with pytest.raises(TooLargeError, match=r"GB of memory, and there are .*engine='disk'"):
        allalike.discover(path, engine="memory")


@pytest.mark.parametrize("place", [-1, -9, -10, -200, -400, 200])
def test_a_damaged_footer_is_one_message(tmp_path: Path, place: int) -> None:
    content = bytearray(write_arrow(tmp_path / "a.arrow", make_rows(8)).read_bytes())
    for value in (0, 127, 255):
        content[place] = value
        (tmp_path / "b.arrow").write_bytes(content)
        try:
            allalike.read(tmp_path / "b.arrow", repeats="first")
        except (InputError, TooLargeError) as error:
            assert "b.arrow" in str(error)
