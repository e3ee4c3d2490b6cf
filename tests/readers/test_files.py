"""Files as people have them: text, packed, without a header, sheets, folders, arrays, and what comes through a pipe."""

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
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
from allalike.readers import scan
from allalike.readers.formats import compression as packed
from files.plain_rows import ROWS, TEXT, rows, write

TWO = [("ada", "t1", "x"), ("bob", "t1", "x")]
TABLES: dict[str, tuple[str, str, dict[str, Any], list[tuple[Any, ...]]]] = {
    "tabs in .txt": ("a.txt", TEXT.replace(",", "\t"), {}, sorted(ROWS)),
    "bars and no ending": ("a", TEXT.replace(",", "|"), {}, sorted(ROWS)),
    "commas in .tsv": ("a.tsv", TEXT, {}, sorted(ROWS)),
    "plain, but called packed": ("a.csv.gz", TEXT, {}, sorted(ROWS)),
    "trailing commas": ("a.csv", "worker,task,label\nada,t1,x,\nbob,t1,x,\n", {}, TWO),
    "marks within quotes": (
        "a.csv",
        'worker|task|"label, or; what"\nada|t1|"a, b; c"\nbob|t1|"a, b; c"\n',
        {"columns": {"label": "label, or; what"}},
        [("ada", "t1", "a, b; c"), ("bob", "t1", "a, b; c")],
    ),
    "lines within quotes": (
        "a.csv",
        'worker,task,label\nada,t1,"Well, this, is\na text, with\nyes, no"\nbob,t1,"a, b, c\n"\n',
        {},
        [("ada", "t1", "Well, this, is\na text, with\nyes, no"), ("bob", "t1", "a, b, c")],
    ),
}


@pytest.mark.parametrize(("name", "text", "how", "expected"), TABLES.values(), ids=TABLES)
def test_text_is_read(name: str, text: str, how: dict[str, Any], expected: list[Any], tmp_path: Path) -> None:
    assert rows(write(tmp_path, name, text), **how) == expected


def zipped(content: bytes, *more: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner/answers.csv", content)
        for name in more:
            archive.writestr(name, "x")
    return buffer.getvalue()


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda content: bytes(pa.compress(content, codec="zstd", asbytes=True)),
    "zip": zipped,
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_packed_files_are_read_whatever_they_are_called(packing: str, tmp_path: Path) -> None:
    content = PACKINGS[packing](TEXT.encode("cp1252"))
    assert rows(write(tmp_path, "a.csv", content)) == sorted(ROWS)
    with pytest.raises(InputError, match=f"a.csv.{packing} cannot be unpacked"):
        allalike.read(write(tmp_path, f"a.csv.{packing}", content[: len(content) - 9]))


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_bomb_is_stopped_and_the_limits_are_said(
    packing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "FREE_BYTES", 10_000)
    monkeypatch.setattr(packed, "MAX_RATIO", 5)
    path = write(tmp_path, f"a.csv.{packing}", PACKINGS[packing](b"worker,task,label\n" + b"ada,t1,x\n" * 100_000))
    with pytest.raises(InputError, match="more than .* 5 times its size"):
        allalike.read(path)


def test_rows_that_end_early_now_and_then_are_filled_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("allalike.readers.formats.text._BLOCK_BYTES", 500)  # of a batch
    lines = [f"w{n % 9},t{n // 9},x,note\n" for n in range(300)]
    lines[200] = "w2,t22,x\n"
    path = write(tmp_path, "a.csv", 'worker,task,label,"a\nnote"\n' + "".join(lines))
    assert len(rows(path)) == 300
    table = scan(path).open()
    for load in (lambda: table.load(["label"]), lambda: list(table.stream(["label"]))):  # type: ignore[misc]
        load()
        [remark] = table.remarks
        assert all(words in remark for words in ("1 of 300 rows", "row 201 (line 203)"))
    both = scan([path, path]).open()
    both.load(["label"])
    assert len(both.remarks) == 2


@pytest.mark.parametrize("end", ["", "eve,t2,z\n", 'eve,t2,"z"\n'])
def test_a_quote_that_stays_open_is_an_error(end: str, tmp_path: Path) -> None:
    lines = 'worker,task,label\nada,t1,x\nbob,t1,"y\nada,t2,x\nbob,t2,x\n' + end
    other = "worker,note,task,label\nada,n,t1,x\n" + 'bob,"n,t1,y\nada,n,t2,x\nbob,n",t2,x\n'
    for column, text in (("label", lines), ("note", other)):
        with pytest.raises(InputError, match=f"'{column}' in row 2 begins with a quote"):
            allalike.read(write(tmp_path, "a.csv", text))


HEADLESS = [
    "ada,t1,x\nbob,t1,y\nada,t2,x\nbob,t2,x\n",
    "1,1,0\n2,1,1\n1,2,0\n2,2,1\n",
    "w1,t1,3.5\nw2,t1,2.5\nw1,t2,1.25\n",
    "t1,0,1,1\nt2,1,1,0\nt3,0,0,1\n",
    "1\t3\n2\t3\n1\t3\n3\t1\n",
]
WITH_HEADER = [
    "worker,task,label\nada,t1,x\nada,t2,x\n",
    "worker,task,label\nada,t1,x\nworker,task,label\nbob,t1,x\n",  # two files, one behind the other
    "task,1,2,3,4\nt1,0,1,3,3\nt2,1,2,2,4\n",
    ",w1,w2\nt1,0,1\nt2,1,1\n",
    "who,what,said\n1,1,1\n2,1,1\n",
    "label\nx\nx\n",
    "Start,Progress,Finished,Q1\nStart Date,Progress,Finished,Which?\nMay 1,half,no,a\nMay 2,half,yes,a\n",
]


@pytest.mark.parametrize(("text", "headless"), [(text, text in HEADLESS) for text in (*HEADLESS, *WITH_HEADER)])
def test_a_missing_header_is_recognised(text: str, headless: bool, tmp_path: Path) -> None:
    table = scan(write(tmp_path, "a.csv", text), tool="plain").open()
    assert any("has no header" in remark for remark in table.remarks) == headless
    if headless:
        assert table.names[:2] == ["column1", "column2"]
        assert len(table.load(["column1"])["column1"]) == len(text.splitlines())
    else:
        assert table.names == [name or "column1" for name in text.splitlines()[0].split(",")]


def test_a_sheet_without_a_header_keeps_its_first_row(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for line in HEADLESS[0].splitlines():
        book.active.append(line.split(","))
    book.save(tmp_path / "a.xlsx")
    table = scan(tmp_path / "a.xlsx").open()
    assert table.load(["column2"])["column2"].to_pylist() == ["t1", "t1", "t2", "t2"]


@pytest.mark.parametrize(
    "cut", ["worker,task,lab", "worker,t1,t100,t10,t1", "task\tt100\tt10\tt10", 'worker,"t1","t', "ada"]
)
def test_a_file_that_was_cut_in_its_header_is_refused(cut: str, tmp_path: Path) -> None:
    for wide in (None, "workers"):
        with pytest.raises(InputError, match="truncated"):
            allalike.read(write(tmp_path, "a.csv", cut), wide=wide)


@pytest.mark.parametrize("packing", ["", ".gz"])
def test_a_header_may_be_long(packing: str, tmp_path: Path) -> None:
    names = [f"{'what do you think of ' * 20}{number}" for number in range(300)]
    text = f"worker,{','.join(names)}\n" + "".join(f"{worker}{',1' * 150}{',0' * 150}\n" for worker in ("ada", "bob"))
    assert text.index("\n") > 1 << 16
    data = gzip.compress(text.encode()) if packing else text.encode()
    read = allalike.read(write(tmp_path, f"a.csv{packing}", data), wide="workers", domain="categorical")
    assert (read.n_answers, set(read.tasks.tolist())) == (600, set(names))


def test_a_header_without_an_end_is_not_read_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("SAMPLE_BYTES", "MAX_FIELD_BYTES"):
        monkeypatch.setattr(f"allalike.readers.formats.text.{limit}", 1 << 17)
    with pytest.raises(InputError, match="16 MB"):
        allalike.read(write(tmp_path, "a.csv", "worker," + "task," * (1 << 16) + "label\nada,1,x\n"))


@pytest.mark.parametrize("mark", [";", "\t"])
def test_decimal_commas_are_recognised_and_lists_are_none(mark: str, tmp_path: Path) -> None:
    text = f"worker{mark}task{mark}label\nada{mark}1,5{mark}3,5\nbob{mark}1,5{mark}4\neve{mark}1,5{mark}-1.234,25\n"
    path = write(tmp_path, "a.csv", text)
    assert scan(path).open().guessed == {"decimal": ","}
    assert rows(path, domain="real") == [("ada", "1,5", 3.5), ("bob", "1,5", 4.0), ("eve", "1,5", -1234.25)]
    assert scan(write(tmp_path, "b.csv", text.replace("3,5", "3,5,7"))).open().guessed == {}


def test_sheets_folders_and_matrices_are_read(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.create_sheet("empty")
    for row in (["worker", "task", "label", None], ["ada", 7.0, "x"], [], ["bob", 7, True]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    assert rows(tmp_path / "a.xlsx") == [("ada", 7, "x"), ("bob", 7, "TRUE")]
    assert rows((tmp_path / "a.xlsx").rename(tmp_path / "a.csv"))[0] == ("ada", 7, "x")
    table = pa.table({"worker": ["ada", "bob"], "task": [1, 1], "label": ["x", "y"]})
    pyarrow.feather.write_feather(table, tmp_path / "a.feather")
    pq.write_table(table, tmp_path / "b.csv")  # known by its first bytes
    assert rows(tmp_path / "a.feather") == rows(tmp_path / "b.csv") == [("ada", 1, "x"), ("bob", 1, "y")]
    for task in ("007", "08"):
        (tmp_path / "parts" / f"task={task}").mkdir(parents=True)
        pq.write_table(table.drop_columns("task"), tmp_path / "parts" / f"task={task}" / "p.parquet")
    (tmp_path / "parts" / "_SUCCESS").touch()
    pq.write_table(pa.table({"odd": [1]}), tmp_path / "parts" / "_metadata.parquet")
    said = {"ada": "x", "bob": "y"}
    assert rows(tmp_path / "parts") == [(who, task, said[who]) for who in said for task in ("007", "08")]
    mac = zipped(TEXT.encode(), "__MACOSX/._answers.csv", ".DS_Store")  # what a Mac adds does not count
    assert rows(write(tmp_path, "a.zip", mac)) == sorted(ROWS)
    matrix = scipy.sparse.coo_array(([2, 0, 1], ([0, 0, 1], [0, 1, 1])), shape=(3, 2))
    scipy.sparse.save_npz(tmp_path / "a.npz", matrix)
    assert rows(tmp_path / "a.npz", wide="tasks") == [(0, 0, 2), (1, 0, 0), (1, 1, 1)]
    np.save(tmp_path / "a.npy", np.array([[1, np.nan], [2, 3]]))
    assert rows(tmp_path / "a.npy", wide="workers") == [(0, 0, 1), (1, 0, 2), (1, 1, 3)]


def array(shape: Any, kind: str = "<f8", size: int = 96) -> bytes:
    header = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(size)


def archived(data: bytes) -> bytes:
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        archive.writestr("x.npy", data)
    return stored.getvalue()


def sparse_file(parts: dict[str, Any]) -> bytes:
    stored = io.BytesIO()
    np.savez(stored, allow_pickle=False, format=b"csr", **{name: np.array(value) for name, value in parts.items()})
    return stored.getvalue()


def damaged() -> list[bytes]:
    """Return files of numpy and scipy that are cut, changed, or hold what no matrix is."""
    matrix, whole = np.arange(12.0).reshape(4, 3), io.BytesIO()
    scipy.sparse.save_npz(whole, scipy.sparse.csr_array(matrix))
    stored = [array((4, 3)), archived(array((4, 3))), whole.getvalue()]
    cuts = [data[: len(data) * part // 8] for data in stored for part in range(8)]
    rng = np.random.default_rng(0)
    places = [(data, int(rng.integers(len(data)))) for data in stored for _ in range(60)]
    changed = [data[:place] + bytes([data[place] ^ 85]) + data[place + 1 :] for data, place in places]
    shapes: list[Any] = [(-1, 3), (-4, -3), (2**62, 2), (4,), (), "x", (4.5, 3)]
    heads = [*(array(shape) for shape in shapes), *(array((4, 3), kind) for kind in ("|O", "V8", "zz")), b"text", b""]
    parts: dict[str, Any] = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2, 2, 2], "shape": [4, 3]}
    wrong: dict[str, Any] = {"data": ["a", "b"], "indices": [-1, 99], "indptr": [0, 2, 1, 2, 2], "shape": [-4, 3]}
    sparse = [{**parts, name: value} for name, value in wrong.items()]
    return [*cuts, *changed, *heads, *map(archived, heads), *map(sparse_file, sparse)]


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


def test_answers_come_through_a_pipe_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["discover", "-", "--method", "UA", "-q"], gzip.compress(TEXT.encode("cp1252")), monkeypatch) == 0
    assert "café" in Path("allalike-out/truth.csv").read_text(encoding="utf-8")
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
