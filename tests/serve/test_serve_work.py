"""What is done behind the served page, in a process of its own, and the program that serves it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from allalike.serve.work import perform
from crowds import samples
from running.program import call

ROWS = b"worker,task,label\nada,1,x\nbob,1,x\neve,1,y\nada,2,y\nbob,2,y\neve,2,x\n"
ENDLESS = "import sys, time; sys.stdin.readline(); time.sleep(600)"


def test_work_ends_with_whoever_ordered_it() -> None:
    code = (
        "import time, allalike.serve.work as work; work._ORDERS['preview'] = lambda order: (work.report('reading'),"
        " time.sleep(600)); work.main()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write('{"do": "preview"}\n')
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["progress"]["stage"] == "reading answers"
            child.stdin.close()
            assert child.wait(30) == 0
        finally:
            child.kill()


def ordered(do: str, *files: Path, choices: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return perform({"do": do, "files": [str(file) for file in files], "gold": None, "choices": choices or {}, **more})


def test_a_look_shows_what_was_read_guessed_and_doubted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("annotator;item;vote\nada;1;x\nbob;1;x\neve;1;y\nada;2;y\nbob;2;y\n")
    found = ordered("preview", path)
    assert found["picked"] == {"worker": "annotator", "task": "item", "label": "vote"}
    assert found["facts"] == ["5 answers", "3 workers", "2 tasks", "categorical labels of 2 classes"]
    assert (found["columns"], found["rows"][2]) == (["annotator", "item", "vote"], ["eve", "1", "y"])
    assert found["notes"][0] == "Recognised: 'annotator' is the worker, 'item' is the task, 'vote' is the label."
    assert found["rules"] == ["plurality"]
    assert "GTM" not in found["methods"]
    gold = tmp_path / "gold.csv"
    gold.write_text("task,label\n1,x\n")
    known = perform({"do": "preview", "files": [str(path)], "gold": str(gold), "choices": {}})
    assert known["facts"][-1] == "1 known truth"
    other = ordered("preview", path, choices={"columns": {"worker": "item", "task": "annotator"}})
    assert other["facts"][1:3] == ["2 workers", "3 tasks"]


@pytest.mark.parametrize(
    ("name", "content", "said", "settles"),
    [
        ("a.csv", b"", "a.csv", {}),
        ("a.csv", b"\x00\xff\x00\x01", "a.csv", {}),
        ("a.xlsx", b"PK no sheet", "a.xlsx", {}),
        ("a.json", b"[1, ", "a.json", {}),
        ("a.csv", b"worker,task,label\nada,1,[1]\nbob,1,[2]\n", "look like lists", {"domain": "set"}),
        ("a.csv", b"worker,task,label\nada,1,x\nbob,1,\n", "label", {}),
        ("a.csv", b"worker,task,label\n" + b"ada,1,x\nbob,1,x\n" * 9 + b"eve,1,\n", "label", {"missing": "drop"}),
    ],
)
def test_a_bad_file_gives_the_message_of_the_library(
    tmp_path: Path, name: str, content: bytes, said: str, settles: dict[str, Any]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    question = ordered("preview", path)["question"]
    assert said in question["what"]
    assert "unexpected" not in question["what"]
    assert [each["settles"] for each in question["proposals"]][:1] == ([settles] if settles else [])
    assert ordered("run", path, folder=str(tmp_path / "out"))["error"]["what"] == question["what"]
    assert not (tmp_path / "out").exists()


def test_doubts_stop_a_run_unless_the_person_knows(tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "out"
    path.write_text("worker,task,label\nada,1,x\nada,2,y\nada,3,y\n")
    assert ordered("preview", path)["stops"][0].startswith("All 3 answers are by one worker")
    stopped = ordered("run", path, folder=str(out))["error"]
    assert [each["settles"] for each in stopped["proposals"]] == [{"force": True}]
    done = ordered("run", path, choices={"force": True, "method": "UA"}, folder=str(out))
    assert done["notes"][0].startswith("All 3 answers are by one worker"), "what was overridden stays visible"
    assert (out / "truth.csv").exists()


def test_a_run_is_that_of_the_program(tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "out"
    rows = samples.crowd("categorical", seed=1, n=5, m=20)
    path.write_text("worker,task,label,known\n" + "".join(f"{w},{t},{label},{rows[0][2]}\n" for w, t, label in rows))
    choices = {"method": "iP-TD(max_iter=1)", "domain": "categorical", "gold": "known"}
    done = ordered("run", path, choices=choices, folder=str(out))
    assert "stopped at its limit of 1 rounds" in done["notes"][0]
    call("discover", "a.csv", "--method", "iP-TD(max_iter=1)", "--gold", "column:known", "-o", "own", folder=tmp_path)
    for name in ("truth.csv", "workers.csv"):
        assert (out / name).read_bytes() == (tmp_path / "own" / name).read_bytes()
    assert (out / "report.html").exists()


@pytest.mark.parametrize("how", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_the_program_ends_when_it_is_told_to_and_leaves_nothing(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "answers.csv").write_bytes(ROWS)
    (tmp_path / "temporary").mkdir()
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        f"import allalike.serve.desk as jobs; jobs._WORK = {ENDLESS!r};"
        "from allalike.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "serve", "answers.csv", "--no-browser"]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            address = program.stdout.readline().split()[-1]
            assert address.startswith("http://127.0.0.1:")
            (folder,) = (tmp_path / "temporary").iterdir()
            assert folder.stat().st_mode & 0o777 == 0o700
            program.send_signal(how)
            assert program.wait(30) == 0
        finally:
            program.kill()
    assert not list((tmp_path / "temporary").iterdir())
    assert (tmp_path / "answers.csv").read_bytes() == ROWS
