"""The program as a person at a terminal uses it: files, lists, demo, progress and gates."""

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
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import DOMAINS, METHODS, RULES
from allalike.cli import console
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
    assert "--worker annotator --task item --label vote" in done.stderr
    assert "--domain categorical" in done.stderr
    assert "Saved in allalike-out." in done.stdout
    truth = pd.read_csv(answers / "allalike-out" / "truth.csv")
    assert list(truth) == ["task", "label", "confidence", "standard_error", "answers", "tied", "unweighted", "changed"]
    summary = json.loads((answers / "allalike-out" / "summary.json").read_text())
    roles = {"worker": "annotator", "task": "item", "label": "vote"}
    assert summary["guessed"] == {"columns": roles, "domain": "categorical"}
    assert summary["versions"]["allalike"] == allalike.__version__
    done = call("discover", "answers.csv", "--quiet", "--format", "parquet", "-o", "out", folder=answers)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert pd.read_parquet(answers / "out" / "truth.parquet")["label"].tolist() == ["x", "y"]


def test_the_lists_name_everything(tmp_path: Path) -> None:
    for command, names in (("methods", METHODS), ("domains", DOMAINS)):
        lines = call("list", command, folder=tmp_path).stdout.splitlines()
        assert [line.split("  ")[0] for line in lines] == list(names)
    rules = call("list", "rules", folder=tmp_path).stdout
    assert all(name in rules for name in RULES)
    assert all(rule.summary in rules for domains in RULES.values() for rule in domains.values())


def test_the_demo_finds_the_good_workers_and_lowers_the_error(tmp_path: Path) -> None:
    done = call("demo", folder=tmp_path)
    assert done.returncode == 0
    workers = pd.read_csv(tmp_path / "allalike-demo" / "workers.csv").sort_values("weight", ascending=False)
    assert workers["worker"].str[:4].tolist()[:6] == ["good"] * 6
    assert pd.read_csv(tmp_path / "allalike-demo" / "details" / "groups.csv")["members"][0] == "copy-12; copy-13"
    before, after = map(float, re.findall(r"([\d.]+) % by majority vote, ([\d.]+) % by allalike", done.stdout)[0])
    assert after < before / 2
    assert {"report.html", "details", "summary.json"} <= {path.name for path in (tmp_path / "allalike-demo").iterdir()}


def test_help_and_version(tmp_path: Path) -> None:
    assert "discover" in call("--help", folder=tmp_path).stdout
    assert call("--version", folder=tmp_path).stdout == f"{allalike.__version__}\n"
    printed = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    assert printed == f"{allalike.__version__}\n"


def test_an_unexpected_error_is_one_line_and_exit_code_one(answers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(import_module("allalike.discover"), "discover", fail)
    done = call("discover", "answers.csv", folder=answers)
    assert (done.returncode, "ZeroDivisionError: oops" in done.stderr, done.stdout) == (1, True, "")
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


def test_a_long_run_shows_its_progress_on_a_terminal(answers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize(
    ("line", "lines", "words"),
    [
        ("agreement a.csv --fail-under 0.1", 0, ""),
        ("agreement a.csv --fail-under 0.95", 1, "alpha is 0.562, below 0.95"),
        ("agreement a.csv --by topic --fail-under 0.99", 2, "alpha of a"),
        ("discover a.csv --gold gold.csv --gold-map same --fail-above 0.5", 0, ""),
        ("discover a.csv --gold gold.csv --gold-map same --fail-above 0.1", 1, "error is 0.125, above 0.1"),
        ("jury a.csv --gold gold.csv --gold-map same --positive x --fail-under 0.99", 1, "below 0.99"),
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


PAIRS = [(worker, f"t{task}") for task in range(6) for worker in ("ada", "bob", "eve")]
MOODS = ["sad", "glad", "glad"] * 6


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    table = pd.DataFrame(PAIRS, columns=["WorkerId", "HITId"])
    table["Answer.mood"] = MOODS
    table["Answer.is it/new?"] = ["yes", "yes", "no"] * 6
    table["Answer.code"] = [f"x{row}" for row in range(18)]
    table["Input.text"] = "Once upon a time."
    table.to_csv(tmp_path / "batch.csv", index=False)
    return tmp_path


def test_a_pattern_gives_a_result_for_each_column_in_a_folder_of_its_name(batch: Path) -> None:
    done = call("discover", "batch.csv", "--label", "Answer.moo?", "--label", "Answer.is*", "-o", "out", folder=batch)
    assert done.returncode == 0
    assert {path.name for path in (batch / "out").iterdir()} == {"Answer.mood", "Answer.is it_new"}
    truth = pd.read_csv(batch / "out" / "Answer.mood" / "truth.csv")
    assert truth["label"].tolist() == ["glad"] * 6
    assert pd.read_csv(batch / "out" / "Answer.is it_new" / "truth.csv")["label"].tolist() == ["yes"] * 6
    assert "Answer.mood\n-----------\n18 answers" in done.stdout
    assert "Answer.is it/new?:\nDetected" in done.stderr
    again = call("discover", "batch.csv", "--label", "Answer.moo?", "--label", "Answer.is*", "-o", "out", folder=batch)
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_json_has_a_summary_for_each_column_and_why_one_has_none(batch: Path) -> None:
    done = call("discover", "batch.csv", "--label", "Answer.*", "--json", "--quiet", folder=batch)
    printed = json.loads(done.stdout)
    assert done.returncode == 2
    assert list(printed["results"]) == ["Answer.mood", "Answer.is it/new?"]
    assert printed["results"]["Answer.mood"]["answers"] == 18
    assert printed["results"]["Answer.mood"]["files"][0] == "allalike-out/Answer.mood/truth.csv"
    assert "18 answers have 18 different ones" in printed["failed"]["Answer.code"]
    assert "no result for label column 'Answer.code'. The labels look like ids" in done.stderr
    assert not (batch / "allalike-out" / "Answer.code").exists()


@pytest.mark.parametrize("names", [("fail", "pass"), ("B", "A")])
def test_a_panel_proposes_the_good_verdict_and_fails_if_a_judge_changed(names: tuple[str, str], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(300) < 0.6
    for harsh, code in ((False, 0), (False, 0), (True, 3)):
        said = np.where(rng.random((4, 300)) < 0.85, truth, ~truth)
        said[3] &= (rng.random(300) < 0.5) | (not harsh)
        rows = [(f"j{judge}", f"t{task}", names[int(good)]) for (judge, task), good in np.ndenumerate(said)]
        pd.DataFrame(rows, columns=["worker", "task", "label"]).to_csv(tmp_path / "a.csv", index=False)
        since = ["--baseline", "out", "--fail-if-drift"] if (tmp_path / "out").exists() else []
        done, report = call("jury", "a.csv", "-o", "out", *since, folder=tmp_path), tmp_path / "out" / "report.html"
        assert (done.returncode, "j3 changed" in done.stderr, report.exists()) == (code, harsh, True)
        assert f"--gold gold.csv --positive {names[1]}" in " ".join(done.stdout.split())
