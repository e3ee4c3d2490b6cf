"""The program as a person at a terminal uses it: files, lists, demo, progress and gates."""

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
import pytest

import allalike
from allalike import DOMAINS, METHODS, RULES
from allalike._core.system.outlook import Outlook
from allalike._core.system.progress import report
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
    assert "--columns worker=annotator,task=item,label=vote" in done.stderr
    assert "--domain categorical" in done.stderr
    assert "Written: allalike-out/truth.csv" in done.stdout
    truth = pd.read_csv(answers / "allalike-out" / "truth.csv")
    assert list(truth) == ["task", "label", "confidence", "error", "answers", "tied", "unweighted", "changed"]
    summary = json.loads((answers / "allalike-out" / "summary.json").read_text())
    roles = {"worker": "annotator", "task": "item", "label": "vote"}
    assert summary["guessed"] == {"columns": roles, "domain": "categorical"}
    assert summary["versions"]["allalike"] == allalike.__version__
    done = call("discover", "answers.csv", "--quiet", "--format", "parquet", "-o", "out", folder=answers)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert pd.read_parquet(answers / "out" / "truth.parquet")["label"].tolist() == ["x", "y"]


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


class Told(Outlook):
    """An outlook that says what it is told to say."""

    def __init__(self, left: float, step: tuple[int, int] | None = None) -> None:
        super().__init__(clock=lambda: 0.0)
        self._left, self._step = left, step

    @property
    def step(self) -> tuple[int, int] | None:
        return self._step

    @property
    def is_measured(self) -> bool:
        return True

    def left(self) -> float | None:
        return self._left


@pytest.mark.parametrize(
    ("event", "step", "said"),
    [
        (("signal", 0, 0), (3, 9), "step 3 of 9, about 40 seconds left"),
        (("round", 2, 15), (3, 5), "2 of at most 15, about 40 seconds left"),
        (("comparing methods: DS", 1_000, 2_000), None, "1,000 of 2,000, about 40 seconds left"),
    ],
)
def test_a_line_says_what_is_done_of_how_much_and_how_long_it_takes(
    event: tuple[str, int, int],
    step: tuple[int, int] | None,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(console, "_SECONDS_WITHOUT_LINE", 0.01)
    monkeypatch.setattr(console, "Outlook", lambda: Told(40.0, step))
    printed: list[str] = []
    with console.bar_after_a_second(quiet=False, faster="Faster: nothing."):
        report(*event)
        while not printed:  # until the line is there
            printed = capsys.readouterr().err.splitlines()
    assert f": {said} (" in printed[0]
    assert "Faster" not in printed[0]


@pytest.mark.parametrize(
    ("line", "lines", "words"),
    [
        ("agreement a.csv --fail-under 0.1", 0, ""),
        ("agreement a.csv --fail-under 0.95", 1, "alpha is 0.562, below 0.95"),
        ("agreement a.csv --by topic --fail-under 0.99", 2, "alpha of a"),
        ("discover a.csv --gold gold.csv --gold-map same --fail-over 0.5", 0, ""),
        ("discover a.csv --gold gold.csv --gold-map same --fail-over 0.1", 1, "error is 0.125, above 0.1"),
        ("jury a.csv --gold gold.csv --gold-map same --good x --fail-under 0.99", 1, "below 0.99"),
    ],
)
def test_a_gate_ends_with_code_3_after_all_is_written(line: str, lines: int, words: str, tmp_path: Path) -> None:
    said = {"ada": "xyxyxyxxyyxy", "bob": "xyxyxyxxyxxy", "eve": "xxxyxyyxxyxy"}
    rows = [(who, f"t{task}", x, "ab"[task % 2]) for who, labels in said.items() for task, x in enumerate(labels)]
    pd.DataFrame(rows, columns=["worker", "task", "label", "topic"]).to_csv(tmp_path / "a.csv", index=False)
    gold = {"task": [f"t{task}" for task in range(8)], "label": list("xyxyyyxx")}
    pd.DataFrame(gold).to_csv(tmp_path / "gold.csv", index=False)
    out = [] if line.startswith("agreement") else ["-o", "out"]
    done = call(*line.split(), *out, "-q", "--force", folder=tmp_path)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (3 if lines else 0, "", lines)
    assert words in done.stderr
    assert (tmp_path / "out" / "truth.csv").exists() == bool(out)
