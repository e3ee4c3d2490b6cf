"""Files of strangers: code in them is never run, and a few bytes do not become millions of rows."""

import ast
import io
import pickle
import re
import struct
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import allalike
import allalike.readers.formats.compression as sizes
from allalike.domains import DOMAINS
from allalike.errors import AllalikeError, InputError, TooLargeError
from allalike.readers.formats.arrow import measure_arrow, open_arrow, open_parquet
from allalike.readers.tools import marks
from files.plain_rows import rows

SOURCE = Path(allalike.__file__).parent
EVALUATING = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "marshal.loads", "yaml.load"}
UNPICKLING = {f"{kind}.{name}" for kind in ("pickle", "cloudpickle") for name in ("load", "loads", "Unpickler")}
UNPICKLING |= {"pd.read_pickle", "joblib.load", "dill.loads", "shelve.open"}
PICKLING = {  # what was packed by the same run, in its processes or its work folder, or right before
    "engines/spark/on_executors.py",
    "engines/routing.py",
    "_core/system/processes.py",
    "testing.py",
}
CELLS = [["worker", "task", "label"], ["ada", 1, "x"], ["bob", 1, "x"], ["eve", 1, "=1+1"]]


class Touch:
    """What makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[Path]:
    """Return the path of a file that would tell that code was run."""
    path = tmp_path / "mark"
    yield path
    assert not path.exists()
    pickle.loads(pickle.dumps(Touch(path))).close()
    assert path.exists()  # so it would have told


def test_no_file_is_unpickled_whatever_it_is_called(tmp_path: Path, mark: Path) -> None:
    data = pickle.dumps([Touch(mark)])
    for name in ("a.pkl", "a.pickle", "a.csv", "a.json", "a.jsonl", "a.parquet", "a.npy", "a.npz", "a.xlsx", "a.mat"):
        path = tmp_path / name
        path.write_bytes(data)
        for wide in (None, "tasks"):
            with pytest.raises(AllalikeError):
                allalike.read(path, wide=wide)


def test_arrays_of_objects_are_not_read_neither_as_matrices_nor_as_masks(tmp_path: Path, mark: Path) -> None:
    array = np.array([[Touch(mark)]], dtype=object)
    for ending in ("npy", "npz"):
        for worker in ("ada", "bob"):
            path = tmp_path / ending / "t1" / f"{worker}.{ending}"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, array, allow_pickle=True) if ending == "npy" else np.savez(path, array)
        with pytest.raises(InputError):
            allalike.read(path, wide="tasks")
        with pytest.raises(InputError):
            allalike.discover(tmp_path / ending, domain="bitmap")


def test_types_that_arrow_keeps_as_pickles_are_not_made(tmp_path: Path, mark: Path) -> None:
    named = {
        "ARROW:extension:name": "arrow.py_extension_type",
        "ARROW:extension:metadata": pickle.dumps(Touch(mark)),
    }
    fields = [pa.field(name, pa.string(), metadata=named) for name in ("worker", "task", "label")]
    table = pa.table({"worker": ["ada", "bob"], "task": ["1", "1"], "label": ["x", "x"]}, pa.schema(fields))
    pq.write_table(table, tmp_path / "a.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "a.feather")
    for name in ("a.parquet", "a.feather"):
        assert allalike.read(tmp_path / name).n_answers == 2


def test_text_that_is_code_is_a_text(tmp_path: Path, mark: Path) -> None:
    code = f"open({str(mark)!r}, 'w')"
    for spec in (code, f"({code})", f"[{code}]", f"__import__('os').mkdir({str(mark)!r})"):
        for domain in DOMAINS:
            try:
                allalike.discover([("ada", spec, spec), ("bob", spec, spec), (spec, spec, spec)], domain=domain)
            except AllalikeError:
                continue
        for known in ("P-TD", "real", "disk"):
            for written in (spec, f"{known}({spec})", f"{known}(x={spec})"):
                for chosen in ({"method": written}, {"domain": written}, {"engine": written}):
                    with pytest.raises(AllalikeError):
                        allalike.discover([("ada", 1, "x"), ("bob", 1, "x")], **chosen)  # type: ignore[arg-type]


def book(path: Path, sheet: dict[bytes, bytes]) -> Path:
    """Write a file of Excel, and change the text of its sheet."""
    made, written = openpyxl.Workbook(), io.BytesIO()
    for row in CELLS:
        made.active.append(row)
    made.save(written)
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name == "xl/worksheets/sheet1.xml":
                for old, new in sheet.items():
                    assert old in data
                    data = data.replace(old, new, 1)
            target.writestr(name, data)
    return path


def test_a_sheet_gives_the_values_of_its_formulas(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", {b"<f>1+1</f><v />": b"<f>1+1</f><v>7</v>"})
    assert rows(path, domain="categorical")[-1] == ("eve", 1, "7")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "xlsx"])
def test_xml_that_declares_entities_is_refused_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "annotations.xml"
    declared = '<!DOCTYPE a [<!ENTITY x "boom">]>'
    if encoding == "xlsx":
        path = book(tmp_path / "a.xlsx", {b"<worksheet": declared.encode() + b"<worksheet", b"<t>x</t>": b"<t>&x;</t>"})
    else:
        prolog = f'<?xml version="1.0" encoding="{encoding}"?><!-- -->{declared}'
        path.write_bytes(f"{prolog}<annotations>&x;</annotations>".encode(encoding))
    with pytest.raises(InputError, match="entities"):
        allalike.read(path) if encoding == "xlsx" else marks.parse_annotations(path)


def list_calls(path: Path) -> set[str]:
    """Name the functions that a module calls, each with the name before its dot."""
    calls = (node.func for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call))
    return {ast.unparse(call) for call in calls if isinstance(call, ast.Name | ast.Attribute)}


def test_pickles_are_read_only_where_parts_of_one_run_meet_and_nothing_is_evaluated() -> None:
    word = re.compile(rb"pickle|joblib|dill|shelve|marshal|yaml|\b(eval|exec|compile|__import__|system|popen)\(")
    suspects = [path for path in SOURCE.rglob("*.py") if word.search(path.read_bytes())]
    calls = {path.relative_to(SOURCE).as_posix(): list_calls(path) for path in suspects}
    assert {name for name, called in calls.items() if called & UNPICKLING} == PICKLING
    assert not {(name, call) for name, called in calls.items() for call in called & EVALUATING}


REFUSED = "unpacks to more than .*200 times its size"
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
    pq.write_table(make_rows(1000), tmp_path / "honest.parquet")
    assert allalike.read(tmp_path / "honest.parquet", duplicates="first").n_answers == 4
    path = write_parquet(tmp_path / "a.parquet", 10)
    assert path.stat().st_size < PART
    with pytest.raises(InputError, match=REFUSED):
        allalike.discover(path, engine=engine)
    (tmp_path / "parts").mkdir()
    for number in range(3):
        write_parquet(tmp_path / "parts" / f"{number}.parquet", 5)
    with pytest.raises(InputError, match=REFUSED):
        allalike.discover(tmp_path / "parts", engine=engine)


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


BOMBS = {
    "a cell far away": '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
    "a text shared by many cells": "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(9, 999)),
    "a long row of cells without places": "<row><c><v>1</v></c></row>" * 999 + f"<row>{'<c><v>1</v></c>' * 999}</row>",
}


@pytest.mark.parametrize("rows", BOMBS.values(), ids=BOMBS)
def test_a_workbook_is_measured_before_its_cells_are_made(tmp_path: Path, rows: str) -> None:
    path = book(tmp_path / "a.xlsx", {b"</sheetData>": f"{rows}</sheetData>".encode()})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", f"<sst><si><t>{TEXT}</t></si></sst>")
    with pytest.raises(InputError, match=REFUSED):
        allalike.read(path)


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_an_arrow_file_is_measured_before_it_is_unpacked(tmp_path: Path, compression: str) -> None:
    honest = write_arrow(tmp_path / "a.arrow", make_rows(1000), compression=compression)
    assert allalike.read(honest, duplicates="first").n_answers == 4
    zeros = pa.array(np.zeros(PART, np.int64))
    path = write_arrow(tmp_path / "b.arrow", pa.table({"label": zeros}), compression=compression)
    assert path.stat().st_size < measure_arrow(path) == 8 * PART
    table = pa.concat_tables([pa.table({"worker": zeros, "task": zeros, "label": zeros})] * 20).combine_chunks()
    with pytest.raises(InputError, match=REFUSED):
        allalike.read(write_arrow(tmp_path / "c.arrow", table, compression=compression))


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


def test_what_does_not_fit_in_memory_goes_to_disk_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(make_rows(10_000).set_column(1, "task", pa.array(np.arange(10_000) % 50)), path)
    free = 4 * path.stat().st_size
    monkeypatch.setattr(import_module("allalike.discover"), "free_memory", lambda: free)
    assert allalike.discover(path, duplicates="first").summary["guessed"]["engine"] == "disk"
    monkeypatch.setattr("allalike._core.system.memory.free_memory", lambda: free)
    monkeypatch.setattr("allalike._core.system.memory._LITTLE", 0)
    with pytest.raises(TooLargeError, match=r"GB of memory, .*engine='disk'"):
        allalike.discover(path, engine="memory")


@pytest.mark.parametrize("place", [-1, -9, -10, -200, -400, 200])
def test_a_damaged_footer_is_one_message(tmp_path: Path, place: int) -> None:
    content = bytearray(write_arrow(tmp_path / "a.arrow", make_rows(8)).read_bytes())
    for value in (0, 127, 255):
        content[place] = value
        (tmp_path / "b.arrow").write_bytes(content)
        try:
            allalike.read(tmp_path / "b.arrow", duplicates="first")
        except (InputError, TooLargeError) as error:
            assert "b.arrow" in str(error)
