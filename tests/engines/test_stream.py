"""Files are read some rows at a time, with the same values and the same errors as at once."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import allalike
from allalike.answers.stream import Stream
from allalike.errors import InputError
from allalike.readers import scan
from allalike.readers.formats import delimited, parquet, tables

NAMES = ("worker", "task", "label")
TABLE = pa.table(
    {
        "extra": list(range(100)),
        "label": ["x", "yes, sir", 'a "quoted"', "two\nlines", "ä"] * 20,
        "worker": [f"w{number % 7}" for number in range(100)],
        "task": [f"{number % 13:03d}" for number in range(100)],
    }
)


def write(folder: Path, kind: str, table: pa.Table = TABLE) -> Path:
    """Write a table to a file of some kind."""
    path = folder / f"answers{len(list(folder.iterdir()))}.{kind}"
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=30)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif kind == "json":
        path.write_text(json.dumps(table.to_pylist()))
    else:
        frame = table.to_pandas()
        frame.to_csv(path, index=False, sep="\t" if "tsv" in kind else ",")
    return path


def values(stream: Stream) -> dict[str, list[Any]]:
    """Put the batches of a stream one behind the other."""
    batches = list(stream.batches())
    return {
        name: [value for batch in batches for value in pa.chunked_array(batch[name].data).to_pylist()] for name in NAMES
    }


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read a few rows at a time."""
    monkeypatch.setattr(parquet, "_BATCH_ROWS", 8)
    monkeypatch.setattr(delimited, "MAX_FIELD_BYTES", 200)
    monkeypatch.setattr(tables, "_SLICE_ROWS", 8)
    monkeypatch.setattr(tables, "_SLICE_OBJECTS", 8)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "parquet", "jsonl", "json"])
def test_every_kind_of_file_comes_in_batches_with_all_its_rows(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, kind)
    stream = scan(path).stream()
    assert len(list(stream.batches())) > 5
    expected = {name: TABLE[name].to_pylist() for name in NAMES}
    assert values(stream) == expected
    assert values(stream) == expected  # it starts anew on every call
    assert (stream.size > 0) == (kind not in ("jsonl", "json"))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kinds", [("csv", "tsv"), ("csv", "parquet"), ("csv", "jsonl"), ("parquet", "parquet")])
def test_several_files_come_one_behind_the_other(kinds: tuple[str, str], tmp_path: Path) -> None:
    other = TABLE.select(["task", "label", "worker"]).slice(20)  # columns are found by their names
    paths = [write(tmp_path, kinds[0]), write(tmp_path, kinds[1], other)]
    expected = {name: TABLE[name].to_pylist() + other[name].to_pylist() for name in NAMES}
    assert values(scan(paths).stream()) == expected
    assert values(scan(tmp_path / "answers*").stream()) == expected
    sizes = [scan(path).stream().size for path in paths]
    assert scan(paths).stream().size == (0 if "jsonl" in kinds else sum(sizes))


@pytest.mark.parametrize(
    "source",
    [
        TABLE,
        TABLE.to_pandas(),
        pl.from_arrow(TABLE),
        TABLE.to_pylist(),
        TABLE.to_pydict(),
        list(zip(*(TABLE[name].to_pylist() for name in NAMES), strict=True)),
    ],
    ids=["arrow", "pandas", "polars", "records", "mapping", "rows"],
)
@pytest.mark.usefixtures("small")
def test_what_is_in_memory_comes_in_slices(source: Any) -> None:
    stream = scan(source).stream()
    assert len(list(stream.batches())) == 13
    assert values(stream) == {name: TABLE[name].to_pylist() for name in NAMES}
    assert stream.size == 0


def test_files_whose_columns_differ_in_type_are_refused(tmp_path: Path) -> None:
    paths = [write(tmp_path, "parquet"), write(tmp_path, "parquet", TABLE.set_column(3, "task", [list(range(100))]))]
    for read in (allalike.read, lambda paths: values(scan(paths).stream())):
        with pytest.raises(InputError, match="'task' has different types in different files: int64, string"):
            read(paths)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"a,1,x,y\n", r"row 5,001 \(line 5,002\) has 4 fields"),
        ("a,1,é\n".encode() * 9 + b"a,1,\xff\n", "row 5010 is invalid UTF8"),
        (b'a,1,"' + b"x" * 500 + b"\n", "begins with a quote that is not closed"),
    ],
)
def test_a_broken_row_in_a_later_batch_is_a_clear_error(line: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"worker,task,label\n" + b"a,1,x\n" * 5000 + line + b"a,1,x\n" * 200)
    with pytest.raises(InputError, match=message):
        values(scan(path).stream())


def test_a_file_that_ends_too_early_is_a_clear_error(tmp_path: Path) -> None:
    packed = gzip.compress(b"worker,task,label\n" + b"".join(b"a,%d,x\n" % n for n in range(100_000)))
    (tmp_path / "a.csv.gz").write_bytes(packed[:-1000])
    path = write(tmp_path, "parquet")
    for read in (allalike.read, lambda path: values(scan(path).stream())):
        with pytest.raises(InputError, match="a.csv.gz cannot be unpacked .gzip.: Truncated"):
            read(tmp_path / "a.csv.gz")
    whole = path.read_bytes()
    stream = scan(path).stream()
    path.write_bytes(whole[:100])
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        values(stream)


@pytest.mark.long
def test_long_labels_make_short_batches(tmp_path: Path) -> None:
    table = pa.table({"worker": ["a", "b"] * 50, "task": [1] * 100, "label": ["x" * 5_000_000] * 100})
    assert [len(batch["label"]) for batch in scan(table).stream().batches()] == [13] * 7 + [9]
    distinct = pa.array([chr(65 + number % 26) * 3_000_000 for number in range(100)])
    pq.write_table(table.set_column(2, "label", distinct), tmp_path / "a.parquet", use_dictionary=False)
    sizes = [len(batch["label"]) for batch in scan(tmp_path / "a.parquet").stream().batches()]
    assert sum(sizes) == 100
    assert max(sizes) <= 22
