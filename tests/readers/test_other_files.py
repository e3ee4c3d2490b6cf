"""Sheets, folders, matrices and pipes, as people have them."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import allalike
from allalike.cli import main
from allalike.errors import AllalikeError, InputError
from allalike.readers import Scan, scan
from files.plain_rows import HEADER, TEXT, rows, write


def book(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, cells in sheets.items():
        sheet = made.create_sheet(name)
        for row in cells:
            sheet.append(row)
    made.save(path)
    return path


def test_a_sheet_of_excel_is_read_like_text(tmp_path: Path) -> None:
    cells: list[list[Any]] = [["worker", "task", "label", None], ["ada", 7.0, "x"], [], ["bob", 7, True]]
    path = book(tmp_path / "a.xlsx", {"answers": cells, "empty": []})
    assert rows(path) == [("ada", 7, "x"), ("bob", 7, "TRUE")]
    assert rows(path.rename(tmp_path / "a.csv"))[0] == ("ada", 7, "x")


def test_several_sheets_are_a_question(tmp_path: Path) -> None:
    cells = [list(HEADER), ["ada", "t1", "x"], ["bob", "t1", "x"]]
    path = book(tmp_path / "a.xlsx", {"first": cells, "other": cells})
    with pytest.raises(InputError, match=r"has 2 sheets: 'first', 'other'.(?s:.*)tag='first'"):
        allalike.read(path)
    assert len(rows(path, tag="other")) == 2
    with pytest.raises(InputError, match="no sheet 'third'"):
        allalike.read(path, tag="third")


@pytest.mark.parametrize("name", ["a.xls", "a.ods"])
def test_other_sheets_are_refused_with_advice(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Save it as \.xlsx or \.csv"):
        allalike.read(write(tmp_path, name, b"\xd0\xcf\x11\xe0\xa1\xb1"))


@pytest.mark.parametrize("cut", [30, 300, 3000])
def test_a_damaged_sheet_is_a_clear_error(cut: int, tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", {"first": [list(HEADER), ["ada", "t1", "x"]]})
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match="a.xlsx cannot be"):
        allalike.read(path)


def test_folders_of_parquet_have_columns_in_their_names(tmp_path: Path) -> None:
    for task in ("007", "08"):
        (tmp_path / f"task={task}").mkdir()
        pq.write_table(
            pa.table({"worker": ["ada", "bob"], "label": ["x", "y"]}), tmp_path / f"task={task}" / "p.parquet"
        )
    (tmp_path / "_SUCCESS").touch()
    pq.write_table(pa.table({"odd": [1]}), tmp_path / "_metadata.parquet")
    assert rows(tmp_path) == [("ada", "007", "x"), ("ada", "08", "x"), ("bob", "007", "y"), ("bob", "08", "y")]


def test_a_folder_of_files_is_read_as_one(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "worker,task,label\nada,t1,x\n")
    write(tmp_path, "b.csv", "worker,task,label\nbob,t1,x\n")
    assert rows(tmp_path) == [("ada", "t1", "x"), ("bob", "t1", "x")]


def test_arrow_and_parquet_are_known_by_their_first_bytes(tmp_path: Path) -> None:
    table = pa.table({"worker": ["ada", "bob"], "task": [1, 1], "label": ["x", "x"]})
    pyarrow.feather.write_feather(table, tmp_path / "a.feather")
    pq.write_table(table, tmp_path / "a.csv")
    for name in ("a.feather", "a.csv"):
        assert rows(tmp_path / name) == [("ada", 1, "x"), ("bob", 1, "x")]


def test_matrices_of_numpy_and_scipy_are_read(tmp_path: Path) -> None:
    matrix = scipy.sparse.coo_array(([2, 0, 1], ([0, 0, 1], [0, 1, 1])), shape=(3, 2))
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    assert rows(tmp_path / "a.npz", wide="tasks") == [(0, 0, 2), (1, 0, 0), (1, 1, 1)]
    np.save(tmp_path / "a.npy", np.array([[1, np.nan], [2, 3]]))
    assert rows(tmp_path / "a.npy", wide="workers") == [(0, 0, 1), (1, 0, 2), (1, 1, 3)]
    with pytest.raises(InputError, match=r"is a matrix.(?s:.*)wide='tasks'"):
        allalike.read(tmp_path / "a.npz")
    np.save(tmp_path / "b.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "b.npz", np.eye(2), np.eye(3))
    np.savez(tmp_path / "c.npz", np.array([[print]], dtype=object))
    for name, message in (("b.npy", "cannot be read"), ("b.npz", "has 2 arrays"), ("c.npz", "cannot be read")):
        with pytest.raises(InputError, match=message):
            allalike.read(tmp_path / name, wide="tasks")


def zipped(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return packed.getvalue()


def array(shape: Any, kind: str = "<f8", size: int = 96) -> bytes:
    header = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(size)


def damaged() -> list[bytes]:
    """Return files of numpy and scipy that are cut, changed, or hold what no matrix is."""
    matrix, whole = np.arange(12.0).reshape(4, 3), io.BytesIO()
    scipy.sparse.save_npz(whole, scipy.sparse.csr_array(matrix))
    stored = [array((4, 3)), zipped(x=array((4, 3))), whole.getvalue()]
    cuts = [data[: len(data) * part // 8] for data in stored for part in range(8)]
    rng = np.random.default_rng(0)
    places = [(data, int(rng.integers(len(data)))) for data in stored for _ in range(60)]
    changed = [data[:place] + bytes([data[place] ^ 85]) + data[place + 1 :] for data, place in places]
    shapes: list[Any] = [(-1, 3), (-4, -3), (2**62, 2), (4,), (), "x", (4.5, 3)]
    heads = [*(array(shape) for shape in shapes), *(array((4, 3), kind) for kind in ("|O", "V8", "zz")), b"text", b""]
    parts: dict[str, Any] = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2, 2, 2], "shape": [4, 3]}
    wrong: dict[str, Any] = {"data": ["a", "b"], "indices": [-1, 99], "indptr": [0, 2, 1, 2, 2], "shape": [-4, 3]}
    sparse = [{**parts, name: value} for name, value in wrong.items()]
    return [*cuts, *changed, *heads, *(zipped(x=head) for head in heads), *map(sparse_file, sparse)]


def sparse_file(parts: dict[str, Any]) -> bytes:
    stored = io.BytesIO()
    np.savez(stored, allow_pickle=False, format=b"csr", **{name: np.array(value) for name, value in parts.items()})
    return stored.getvalue()


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_a_damaged_array_is_one_message_of_our_own(tmp_path: Path) -> None:
    refused = 0
    for number, data in enumerate(damaged()):
        mask = tmp_path / str(number) / "t1" / ("ada.npz" if data.startswith(b"PK") else "ada.npy")
        mask.parent.mkdir(parents=True)
        mask.write_bytes(data)
        for source, how in ((mask, {"wide": "tasks"}), (mask.parent.parent, {"layout": "tasks/workers"})):
            try:
                allalike.read(source, **how)  # type: ignore[arg-type]
            except AllalikeError as error:
                said, refused = str(error).partition("\nSay it")[0], refused + 1
                assert len(said.splitlines()) == 1, (number, said)
                assert not [
                    raw for raw in ("allow_pickle", "CRC", " at 0x", "header", "Errno", "buffer") if raw in said
                ]
    assert refused > 300


class Piped(io.TextIOWrapper):
    """Standard input that is no terminal."""


def run(arguments: list[str], sent: bytes, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.stdin", Piped(io.BytesIO(sent)))
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(str(stop.value.code))


def test_answers_and_gold_come_through_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    method = ["--method", "UA", "--force"]
    assert run(["discover", "-", *method, "-q"], gzip.compress(TEXT.encode("cp1252")), monkeypatch) == 0
    assert "café" in Path("allalike-out/truth.csv").read_text(encoding="utf-8")
    path = str(write(tmp_path, "a.csv", TEXT))
    assert run(["discover", path, "--gold", "-", "--json", *method], b"task,label\nt2,th\xc3\xa9\n", monkeypatch) == 0
    assert '"gold": {' in capfd.readouterr().out
    assert run(["compare", "-", "-"], b"", monkeypatch) == 2
    assert "is named twice" in capfd.readouterr().err
    assert run(["discover", "-"], b"[1", monkeypatch) == 2
    assert capfd.readouterr().err.startswith("allalike: standard input cannot be read as JSON")


@pytest.mark.parametrize("more", [[], ["--per-task"]])
def test_answers_and_gold_that_came_through_a_pipe_are_kept_with_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], more: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    method = ["--method", "UA", "--force", "--no-report", "-q"]
    assert run(["discover", "-", *method, *more], TEXT.encode(), monkeypatch) == 0
    assert json.loads(Path("allalike-out/summary.json").read_text(encoding="utf-8"))["inputs"] == ["standard input"]
    assert run(["explain", "allalike-out", "task", "t1"], b"", monkeypatch) == 0
    path = str(write(tmp_path, "a.csv", TEXT))
    assert run(["discover", path, "--gold", "-", *method], b"task,label\nt2,th\xc3\xa9\n", monkeypatch) == 0
    assert run(["explain", "allalike-out", "task", "t1"], b"", monkeypatch) == 0
    assert "Task t1: " in capfd.readouterr().out


def test_what_is_more_than_lines_is_not_read_on_executors(tmp_path: Path) -> None:
    plain = write(tmp_path, "a.csv", TEXT)
    assert scan(plain).table().delimiter == ","
    for content in (TEXT.encode("cp1252"), lzma.compress(TEXT.encode()), TEXT.replace(",", " ").encode()):
        assert Scan(source=write(tmp_path, "b.csv", content)).table().delimiter == ""
