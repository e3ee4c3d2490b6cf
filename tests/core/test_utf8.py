"""Text that is no UTF-8 is refused, whichever file it comes from."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import allalike
from allalike import Disk, Memory
from allalike.engines import Engine
from allalike.errors import InputError


@pytest.mark.parametrize("engine", [Memory(), Disk(partitions=2)], ids=["memory", "disk"])
@pytest.mark.parametrize("role", ["worker", "task", "label"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "json", "parquet"])
def test_text_that_is_no_utf8_is_refused_with_file_and_row(
    role: str, ending: str, engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / f"answers.{ending}"
    write_with_broken_text(path, role)
    with pytest.raises(InputError, match=rf"answers\.{ending}: the '{role}' in row 4 is invalid UTF8: b'caf\\xe9'"):
        allalike.discover(path, domain="categorical", engine=engine)


def write_with_broken_text(path: Path, role: str) -> None:
    """Write three good rows in UTF-8, and one with a text in Latin-1."""
    good, names = ["ada", "t1", "x"], ["worker", "task", "label"]
    records = [
        [f"é{row}" if name == role else value for name, value in zip(names, good, strict=True)] for row in range(3)
    ]
    records += [["café" if name == role else value for name, value in zip(names, good, strict=True)]]
    if path.suffix == ".parquet":
        raw = {name: pa.array([encode(row, r[i]) for row, r in enumerate(records)]) for i, name in enumerate(names)}
        texts = [pa.StringArray.from_buffers(4, *column.buffers()[1:]) for column in raw.values()]
        pq.write_table(pa.table(texts, names=names), path)
        return
    if ".csv" in path.suffixes:
        lines = [",".join(record) for record in [names, *records]]
    else:
        lines = [json.dumps(dict(zip(names, record, strict=True)), ensure_ascii=False) for record in records]
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wb") as file:
        file.write(b"\n".join(encode(len(records) - len(lines) + row, line) for row, line in enumerate(lines)))


def encode(row: int, text: str) -> bytes:
    return text.encode("latin-1" if row == 3 else "utf-8")


@pytest.mark.parametrize(
    "content", [b'{"w\xe9rker": "ada", "task": 1, "label": "x"}', b"w\xe9rker,task,label\nada,1,x"]
)
def test_names_of_columns_that_are_no_utf8_are_decoded_too(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / ("a.csv" if b"{" not in content else "a.jsonl")
    path.write_bytes(content)
    assert allalike.read(path, columns={"worker": "wérker"}, domain="categorical").n_answers == 1


def test_a_table_with_text_that_is_no_utf8_is_refused_too() -> None:
    column = pa.array([b"x", b"\xff"])
    labels = pa.StringArray.from_buffers(2, *column.buffers()[1:])
    table = pa.table({"worker": ["ada", "bob"], "task": [1, 1], "label": labels})
    with pytest.raises(InputError, match="The table: the 'label' in row 2 is invalid UTF8"):
        allalike.read(table)
