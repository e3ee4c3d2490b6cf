"""What is seen of a run that takes long."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from allalike._core.system.progress import report
from allalike.cli import console
from running.program import run


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (("signal", 0, 0), "looking for guesses ("),
        (("round", 2, 15), ": 2 of at most 15 ("),
        (("comparing methods: DS", 1_000, 2_000), ": 1,000 of 2,000 ("),
    ],
)
def test_a_line_says_what_is_done_of_how_much(
    event: tuple[str, int, int],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(console, "_SECONDS_WITHOUT_LINE", 0.01)
    printed: list[str] = []
    with console.bar_after_a_second(quiet=False, faster="Faster: nothing."):
        report(*event)
        while not printed:  # until the line is there
            printed = capsys.readouterr().err.splitlines()
    assert said in printed[0]
    assert "Faster" not in printed[0]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ([], "Faster, and less accurate: --method iP-TD."),
        (["--method", "DS"], "Faster, and less accurate: --method iP-TD."),
        (["--method", "P-TD"], ""),
        (["--quiet"], ""),
    ],
)
def test_a_run_that_takes_minutes_says_once_what_would_be_faster(
    flags: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answers.csv").write_text("worker,task,label\nada,1,x\nbob,1,y\neve,1,x\nada,2,y\nbob,2,y\n")
    lines = threading.Semaphore(0)
    hint = console.Lines._hint

    def count(bar: console.Bar, seconds: float) -> str:
        lines.release()
        return hint(bar, seconds)

    def wait(bar: console.Bar, stage: str, done: int, total: int) -> None:
        if stage == "deciding":
            for _ in range(3):
                lines.acquire(timeout=60)

    monkeypatch.setattr(console, "_SECONDS_WITHOUT_LINE", 0.01)
    monkeypatch.setattr(console, "_LONG_SECONDS", 0.0)
    monkeypatch.setattr(console.Lines, "_hint", count)
    monkeypatch.setattr(console.Lines, "__call__", wait)
    _, notes = run("discover", "answers.csv", "--no-report", *flags)
    assert [line for line in notes.splitlines() if "Faster" in line] == ([said] if said else [])
