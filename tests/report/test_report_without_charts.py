"""Where charts cannot be drawn, the tables are written all the same, and the report, which says what is missing."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.api.result import Result
from allalike.errors import ReportWarning
from allalike.report.drawing import Painter
from allalike.serve.work import perform
from crowds import samples
from running.program import call

TABLES = {"truth.csv", "workers.csv", "groups.csv", "next.csv", "summary.json", "report.html"}
MISSING = "The charts are missing from the report: "


class KilledPainter(Painter):
    """One that is ended before it has drawn anything."""

    def draw(self, charts: object) -> dict[str, str]:
        assert self._process is not None
        self._process.kill()
        return super().draw(charts)  # type: ignore[arg-type]


@pytest.fixture(scope="module", name="result")
def of_a_crowd() -> Result:
    return allalike.discover(samples.crowd("categorical", seed=1, n=6, m=20))


@contextmanager
def few_handles(free: int) -> Iterator[None]:
    """Leave so many handles of files, and no more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    probe = os.open(os.devnull, os.O_RDONLY)
    resource.setrlimit(resource.RLIMIT_NOFILE, (probe + 64, before[1]))
    taken = [probe]
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        for _ in range(free):
            os.close(taken.pop())
        yield
    finally:
        for handle in taken:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def page_of(folder: Path) -> str:
    """Return the report beside all tables, which must be a whole page without a single chart."""
    assert {path.name for path in folder.iterdir()} == TABLES
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<svg" not in page
    assert page.rstrip().endswith("</html>")
    assert 'id="workers-table"' in page
    return page


def test_without_handles_for_a_process_the_report_has_no_charts(result: Result, tmp_path: Path) -> None:
    with few_handles(5), pytest.warns(ReportWarning, match=f"{MISSING}the process .* cannot be started"):
        result.save(tmp_path / "out", report=True)
    assert f"{MISSING}the process that draws them cannot be started (Too many open files)" in page_of(tmp_path / "out")


def test_a_painter_that_is_killed_costs_the_charts_only(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("allalike.report.page.Painter", KilledPainter)
    with pytest.warns(ReportWarning, match="ended from outside, most likely for want of memory"):
        result.save(tmp_path / "out", report=True)
    assert MISSING in page_of(tmp_path / "out")
    with pytest.warns(ReportWarning):
        assert MISSING in result.report(tmp_path / "seen.html").read_text(encoding="utf-8")


def test_a_painter_that_fails_says_how(result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))
    with pytest.warns(ReportWarning, match="the process that draws them failed"):
        result.save(tmp_path / "out", report=True)
    assert f"{MISSING}the process that draws them failed (" in page_of(tmp_path / "out")


def test_the_program_and_the_page_say_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allalike.report.page.Painter", KilledPainter)
    (tmp_path / "a.csv").write_text("worker,task,label\nada,1,x\nbob,1,x\neve,1,y\nada,2,y\nbob,2,y\n")
    done = call("discover", "a.csv", "-o", "out", folder=tmp_path)
    assert done.returncode == 0
    assert f"Note: {MISSING}" in done.stderr
    assert MISSING in page_of(tmp_path / "out")
    order: dict[str, Any] = {"do": "run", "files": [str(tmp_path / "a.csv")], "gold": None, "choices": {}}
    (said,) = perform({**order, "folder": str(tmp_path / "served")})["notes"]
    assert said.startswith(MISSING)


def test_a_report_that_does_not_fit_in_memory_does_not_take_the_tables_with_it(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("allalike.report.page.describe", fail)
    for _ in range(2):  # of which the second takes the place of the first
        with pytest.warns(ReportWarning, match="The report is missing"):
            result.save(tmp_path / "out", report=True)
    assert {path.name for path in (tmp_path / "out").iterdir()} == TABLES
    assert "there was not enough memory to write it" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    with pytest.raises(MemoryError):
        result.report(tmp_path / "seen.html")
