"""What ended the program without a word, or with a traceback: each is one line that says what to do."""

import json
import os
import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import allalike
from allalike._core.limits import MAX_DEPTH
from allalike._core.registry import make
from allalike._core.system.json_text import parse_json
from allalike.errors import AllalikeError, InputError, OptionError
from allalike.methods import METHODS
from running.program import call

GOOD = "worker,task,label\nada,1,x\nbob,1,x\neve,1,y\nada,2,y\nbob,2,y\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.csv").write_text(GOOD)
    return tmp_path


@pytest.mark.parametrize("opening", ["[", '{"a\\"[": '])
def test_json_may_be_nested_as_deeply_as_the_limit_and_no_deeper(opening: str) -> None:
    closing = {"[": "]", "{": "}"}[opening[0]]
    for text in ('"[[{"', f"[{'[],' * 200}[]]"):  # brackets in a text and side by side do not nest
        inner = MAX_DEPTH - 2
        parse_json(opening * inner + text + closing * inner)
        with pytest.raises(json.JSONDecodeError, match=f"more than {MAX_DEPTH} levels"):
            parse_json(opening * (inner + 3) + text + closing * (inner + 3))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 101, "[" + "7" * 5000 + "]", "[1,"])
def test_whatever_is_wrong_with_json_is_one_error(text: str) -> None:
    for given in (text, text.encode(), text.encode("utf-16")):
        with pytest.raises(json.JSONDecodeError):
            parse_json(given)


@pytest.mark.parametrize(
    "domain", ["boxes", "spans", "points", "set", "ranking", "interval", "vector", "record", "bitmap"]
)
def test_labels_that_are_nested_deeply_are_refused(domain: str) -> None:
    for mark in ("[", '{"a":'):
        with pytest.raises(InputError):
            allalike.read([("ada", 1, mark * 5000), ("bob", 1, mark * 5000)], domain=domain)


@pytest.mark.parametrize("spec", [" " * 5000 + ")", "P-TD(" + "-" * 5000 + "1)", "P-TD(a=1" + "+1" * 5000 + ")"])
def test_options_that_nobody_means_are_refused_at_once(spec: str, folder: Path) -> None:
    with pytest.raises(OptionError, match="characters. The maximum is 1,000"):
        make(spec, METHODS, "method")
    with pytest.raises(AllalikeError):
        make(spec[-1000:], METHODS, "method")
    for flag in ("--method", "--domain", "--gold", "--include", "--memory", "-o"):
        done = call("discover", "good.csv", flag, spec, folder=folder)
        assert done.returncode == 2
        assert done.stderr.startswith("allalike: --"), done.stderr
        assert "The maximum is 1,000" in done.stderr


@pytest.mark.parametrize(
    "ending", ["csv", "json", "jsonl", "parquet", "feather", "xlsx", "soc", "toi", "npy", "xml", "zip"]
)
def test_a_pipe_is_not_waited_for(ending: str, folder: Path) -> None:
    path = folder / f"pipe.{ending}"
    os.mkfifo(path)
    cases: tuple[dict[str, Any], ...] = ({}, {"tool": "label-studio"}, {"tool": "cvat"})
    for options in cases:
        with pytest.raises(InputError, match=rf"pipe.{ending} is a pipe, not a file"):
            allalike.read(path, **options)


def test_pipes_devices_and_sockets_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(folder / "pipe.csv")
    monkeypatch.chdir(folder)  # for the name of a socket has to be short
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind("unix.csv")
    for name, kind in (("pipe.csv", "a pipe"), ("unix.csv", "a socket"), ("/dev/zero", "a device")):
        for flag in ("--gold", "--history", "--label-map"):
            done = call("discover", "good.csv", flag, name, folder=folder)
            assert (done.returncode, done.stdout) == (2, "")
            assert f"{name} is {kind}, not a file" in done.stderr
    done = call("discover", "good.csv", "--history", ".", folder=folder)
    assert (done.returncode, "a folder without a result: it contains no workers.csv" in done.stderr) == (2, True)


def test_a_pipe_in_the_place_of_a_summary_is_not_waited_for(folder: Path) -> None:
    (folder / "out").mkdir()
    os.mkfifo(folder / "out" / "summary.json")
    done = call("discover", "good.csv", "-o", "out", folder=folder)
    assert (done.returncode, "summary.json is a device or a pipe" in done.stderr) == (2, True)
    assert call("explain", "out", "task", "1", folder=folder).returncode == 2


def test_bytes_that_are_no_text_are_refused_with_their_row(folder: Path, engine: Any) -> None:
    for name in ("worker", "label"):
        columns: dict[str, Any] = {"worker": ["a", "b"], "task": [1, 1], "label": ["x", "y"], name: [b"x", b"\xff"]}
        pq.write_table(pa.table(columns), folder / "a.parquet")
        with pytest.raises(InputError, match=f"the '{name}' in row 2 is invalid UTF8"):
            allalike.discover(folder / "a.parquet", domain="categorical", engine=engine)
    pq.write_table(pa.table({"worker": ["a", "b"], "task": [1, 1], "label": [b"x", b"y"]}), folder / "a.parquet")
    with pytest.raises(InputError, match="The labels are bytes, such as b'x'"):
        allalike.read(folder / "a.parquet")


@pytest.mark.parametrize("values", [["ada", "bob"], [5, 6]])
def test_a_dictionary_of_dictionaries_is_refused(values: list[Any], folder: Path, engine: Any) -> None:
    inner = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), pa.array(values))
    worker = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), inner)
    table = pa.table({"worker": worker, "task": [1, 1, 2], "label": ["x", "x", "y"]})
    assert allalike.read(table, domain="categorical").workers.tolist() == values
    with pa.ipc.new_file(str(folder / "a.arrow"), table.schema) as file:
        file.write_table(table)
    for _ in range(20):  # for its scanner crashes now and then
        with pytest.raises(InputError, match=r"a\.arrow.* (cannot be read|is damaged): "):
            allalike.discover(folder / "a.arrow", engine=engine)


def test_out_of_memory_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        np.empty(1 << 60, np.int8)

    monkeypatch.setattr(import_module("allalike.discover"), "check_answers", fail)
    done = call("discover", "good.csv", folder=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Not enough memory. Use --engine disk" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("streams", "code", "told"),
    [
        ("> /dev/full", 1, "allalike: Standard output cannot be written: No space left on device.\n"),
        ("2> /dev/full", 0, ""),
        ("2>&-", 0, ""),
        (">&-", 0, ""),
        ("<&- >&- 2>&-", 0, ""),
    ],
)
def test_streams_that_are_full_or_closed_are_no_traceback(streams: str, code: int, told: str, folder: Path) -> None:
    program = f'"{sys.executable}" -c "from allalike.cli import main; main()"'
    command = f"{program} discover good.csv --domain categorical --no-report -o out {streams}"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, told)
    assert (folder / "out" / "truth.csv").read_text().startswith('"task","label"')
    help_ = subprocess.run(f"{program} --help {streams}", shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in help_.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a process ends at once there")
def test_a_signal_that_comes_when_all_is_done_says_nothing() -> None:
    program = (
        "import atexit, os, signal, threading; from allalike.cli import main;"
        "late = lambda: os.kill(os.getpid(), signal.SIGTERM); atexit.register(late);"
        "threading._register_atexit(late); main(['list', 'rules'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
