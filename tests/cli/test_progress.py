"""What is seen of a run that takes long."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from allalike._core.system.outlook import Outlook
from allalike._core.system.progress import report
from allalike.cli import console
from running.program import run


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
    ("flags", "said"),
    [
        ([], "This will take about 4 minutes more. Faster, and less accurate: --method iP-TD."),
        (["--method", "DS"], "This will take about 4 minutes more. Faster, and less accurate: --method iP-TD."),
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

    def count(bar: console.Bar, left: float | None) -> str:
        lines.release()
        return hint(bar, left)

    def wait(bar: console.Bar, stage: str, done: int, total: int) -> None:
        if stage == "deciding":
            for _ in range(3):
                lines.acquire(timeout=60)

    monkeypatch.setattr(console, "_SECONDS_WITHOUT_LINE", 0.01)
    monkeypatch.setattr(console, "Outlook", lambda: Told(240.0, (1, 2)))
    monkeypatch.setattr(console.Lines, "_hint", count)
    monkeypatch.setattr(console.Lines, "__call__", wait)
    _, notes = run("discover", "answers.csv", "--no-report", *flags)
    assert [line for line in notes.splitlines() if "Faster" in line] == ([said] if said else [])
