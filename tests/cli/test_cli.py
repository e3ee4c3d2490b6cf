"""The program, as a person at a terminal uses it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import allalike
from allalike import DOMAINS, METHODS, RULES
from allalike.cli import console, main
from running.program import call

PROGRAM = Path(sys.executable).with_name("allalike")


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y"), ("eve", 2, "z")]
    pd.DataFrame(rows, columns=["annotator", "item", "vote"]).to_csv(tmp_path / "answers.csv", index=False)
    return tmp_path


def test_discover_writes_its_files_and_says_what_it_guessed(answers: Path) -> None:
    done = call("discover", "answers.csv", folder=answers)
    assert done.returncode == 0
    assert "'annotator' is the worker" in done.stderr
    assert "--columns worker=annotator,task=item,label=vote" in done.stderr
    assert "--domain categorical" in done.stderr
    assert "6 answers of 3 workers to 2 tasks" in done.stdout
    assert "Written: allalike-out/truth.csv" in done.stdout
    truth = pd.read_csv(answers / "allalike-out" / "truth.csv")
    assert list(truth) == ["task", "label", "confidence", "error", "answers", "tied", "unweighted", "changed"]
    assert truth["label"].tolist() == ["x", "y"]
    workers = pd.read_csv(answers / "allalike-out" / "workers.csv")
    known = ["fault", "error_rate", "low", "high", "few", "weight"]
    assert list(workers)[:10] == ["worker", "answers", "shared", "disparity", *known]
    summary = json.loads((answers / "allalike-out" / "summary.json").read_text())
    assert summary["guessed"] == {
        "columns": {"worker": "annotator", "task": "item", "label": "vote"},
        "domain": "categorical",
    }
    assert summary["method"]["name"] == "auto"
    assert "auto: majority vote, because" in done.stdout
    assert summary["versions"]["allalike"] == allalike.__version__


def test_json_prints_one_object_and_nothing_else(answers: Path) -> None:
    done = call("discover", "answers.csv", "--json", "-o", "out", folder=answers)
    printed = json.loads(done.stdout)
    assert printed["answers"] == 6
    assert printed["files"] == [
        "out/truth.csv",
        "out/workers.csv",
        "out/groups.csv",
        "out/next.csv",
        "out/quality.csv",
        "out/confusion.csv",
        "out/report.html",
        "out/summary.json",
    ]
    assert "Recognised" in done.stderr


def test_quiet_prints_nothing(answers: Path) -> None:
    done = call("discover", "answers.csv", "--quiet", folder=answers)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (answers / "allalike-out" / "truth.csv").exists()


def test_the_tables_can_be_parquet(answers: Path) -> None:
    assert call("discover", "answers.csv", "--format", "parquet", folder=answers).returncode == 0
    assert pq.read_table(answers / "allalike-out" / "truth.parquet")["label"].to_pylist() == ["x", "y"]


def test_options_reach_the_method_and_the_domain(answers: Path) -> None:
    arguments = [
        "--method",
        "P-TD-AK(mu='exact')",
        "--domain",
        "categorical(classes=5)",
        "--ties",
        "first",
        "--seed",
        "7",
    ]
    summary = json.loads(call("discover", "answers.csv", "--json", *arguments, folder=answers).stdout)
    assert summary["method"]["options"]["mu"] == "exact"
    assert (summary["domain"]["classes"], summary["domain"]["classes_from"]) == (5, "given")
    assert (summary["ties"], summary["seed"]) == ("first", 7)


def test_gold_and_rule(answers: Path) -> None:
    (answers / "numbers.csv").write_text("worker,task,label\na,1,1.5\nb,1,2.5\nc,1,9.5\na,2,1.5\nb,2,3.5\n")
    (answers / "gold.csv").write_text("task,truth\n1,2.5\n")
    done = call("discover", "numbers.csv", "--rule", "median", "--gold", "gold.csv", "--method", "UA", folder=answers)
    assert "Error against the gold of 1 task: 0; unweighted 0." in done.stdout


def test_a_wide_file(answers: Path) -> None:
    (answers / "wide.csv").write_text("question,ada,bob,eve\nq1,x,x,y\nq2,y,,y\n")
    summary = json.loads(call("discover", "wide.csv", "--wide", "tasks", "--json", folder=answers).stdout)
    assert (summary["answers"], summary["workers"], summary["tasks"]) == (5, 3, 2)


def test_one_worker_repeats_and_dropped_rows_are_noted(answers: Path) -> None:
    (answers / "one.csv").write_text("worker,task,label\na,1,x\na,1,y\na,2,x\na,3,\n")
    done = call("discover", "one.csv", "--missing", "drop", "--force", folder=answers)
    assert done.returncode == 0
    assert "Note: All 2 answers are by one worker, 'a'" in done.stderr
    assert "Set aside 1 repeated" in done.stderr
    assert "Dropped 1 row without a label" in done.stderr


def test_a_run_that_did_not_converge_is_noted(answers: Path) -> None:
    done = call("discover", "answers.csv", "--method", "iP-TD(max_iter=1)", folder=answers)
    assert "stopped at its limit of 1 rounds" in done.stderr


def test_the_lists_name_everything(tmp_path: Path) -> None:
    for command, names in (("methods", METHODS), ("domains", DOMAINS)):
        lines = call(command, folder=tmp_path).stdout.splitlines()
        assert [line.split("  ")[0] for line in lines] == list(names)
    rules = call("rules", folder=tmp_path).stdout
    assert all(name in rules for name in RULES)
    assert all(rule.summary in rules for domains in RULES.values() for rule in domains.values())


def test_the_demo_finds_the_good_workers_and_lowers_the_error(tmp_path: Path) -> None:
    done = call("demo", folder=tmp_path)
    assert done.returncode == 0
    names = re.findall(r"^ +((?:good|bad|same|copy)-\d+)", done.stdout, flags=re.MULTILINE)
    assert [name[:4] for name in names[:6]] == ["good"] * 6
    assert len(names) == 13
    assert re.search(r"^ +same-11 .*no signal, always cat$", done.stdout, flags=re.MULTILINE)
    assert pd.read_csv(tmp_path / "allalike-demo" / "groups.csv")["members"][0] == "copy-12; copy-13"
    (asked,) = re.findall(r"help most on ([^.]*)\.", done.stdout)
    assert sum(task >= "392" for task in re.findall(r"task-(\d+)", asked)) >= 3
    before, after = map(float, re.findall(r"vote errs in ([\d.]+) %.*allalike in ([\d.]+) %", done.stdout)[0])
    assert after < before / 2
    assert re.search(r"\d+ of 400 labels differ from the majority vote", done.stdout)
    written = sorted(path.name for path in (tmp_path / "allalike-demo").iterdir())
    tables = ["confusion.csv", "groups.csv", "next.csv", "quality.csv"]
    assert written == [*tables, "report.html", "state", "summary.json", "truth.csv", "workers.csv"]
    assert done.stdout.endswith(f"The report: {tmp_path / 'allalike-demo' / 'report.html'}\n")


def test_help_and_version(tmp_path: Path) -> None:
    assert "discover" in call("--help", folder=tmp_path).stdout
    for flag in ("--output", "--domain", "--rule", "--method", "--columns", "--engine", "--gold", "--seed", "--json"):
        assert flag in call("discover", "--help", folder=tmp_path).stdout
    number, passes = call("--version", folder=tmp_path).stdout.splitlines()
    assert number == allalike.__version__
    assert passes.startswith(("compiled passes", "passes in numpy"))
    printed = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    assert printed.splitlines() == [number, passes]


def test_a_wrong_flag_is_exit_code_two(answers: Path) -> None:
    done = call("discover", "answers.csv", "--methd", "UA", folder=answers)
    assert done.returncode == 2
    assert "--method" in done.stderr
    assert call("discover", "answers.csv", "--seed", "x", folder=answers).returncode == 2
    assert call("discoverr", folder=answers).returncode == 2


def test_an_unexpected_error_is_one_line_and_exit_code_one(
    answers: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("allalike.api.discover.discover", fail)
    with pytest.raises(SystemExit) as stop:
        main(["discover", str(answers / "answers.csv")])
    assert stop.value.code == 1
    assert "ZeroDivisionError: oops" in capsys.readouterr().err
    assert not (answers / "allalike-out").exists()


@contextmanager
def terminal() -> Iterator[bytearray]:
    """Make standard error a terminal, and collect what it shows."""
    ours, theirs = pty.openpty()
    shown = bytearray()

    def read() -> None:
        with suppress(OSError):  # which a terminal gives when nobody writes to it any more
            while part := os.read(ours, 4096):
                shown.extend(part)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(theirs, "w") as screen, redirect_stderr(screen):
        yield shown
    reader.join()
    os.close(ours)


def test_a_long_run_shows_a_bar_on_a_terminal(answers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is so long that the bar is seen: it waits for that."""
    monkeypatch.setattr(console, "_SECONDS_WITHOUT_BAR", 0.0)
    tell = console.Bar.__call__
    with terminal() as shown:

        def tell_and_wait(bar: console.Bar, stage: str, done: int, total: int) -> None:
            tell(bar, stage, done, total)
            while stage == "round" and b"of at most 150" not in shown:
                time.sleep(0.01)

        monkeypatch.setattr(console.Bar, "__call__", tell_and_wait)
        done = call("discover", "answers.csv", "--method", "iP-TD(max_iter=150, tol=0)", folder=answers, terminal=True)
    assert done.returncode == 0
    assert b"weighing workers" in shown


def test_a_short_run_shows_no_bar(answers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_SECONDS_WITHOUT_BAR", 3600.0)
    with terminal() as shown:
        assert call("discover", "answers.csv", folder=answers, terminal=True).returncode == 0
    assert b"'annotator' is the worker" in shown
    assert b"weighing" not in shown


def test_the_bar_shows_the_stage_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_SECONDS_WITHOUT_BAR", 0.0)
    bar = console.Bar()
    bar.start()
    bar("round", 3, 15)
    time.sleep(0.3)
    bar.stop()
    assert (bar.stage, bar.done, bar.total) == ("round", 3, 15)
