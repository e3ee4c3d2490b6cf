"""What all tests share: engines, the folder of real data, which process runs them, and what an interrupt does."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the program: many processes share the cores

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from allalike.engines import Disk, Engine, Memory
from running.chromium import MISSING

_SHARED = Path(__file__).parents[1] / "shared"
USUAL_DATA = os.pathsep.join(str(_SHARED / name) for name in ("datasets", "datasets-kinds"))

pytest_plugins = ["files.for_spark", "running.elsewhere"]
collect_ignore = [] if find_spec("inspect_ai") else ["src/allalike/integrations/inspect.py"]

settings.register_profile(
    "neither clock nor chance", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("neither clock nor chance")


class _Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Tests of what takes seconds to start or to import go to one process; all others go anywhere."""

    _TOGETHER = ("test_spark", "_browser.py", "test_voting_rules", "elsewhere/")

    def _split_scope(self, nodeid: str) -> str:
        if "test_golden_record" in nodeid:
            return nodeid  # hundreds of cases of one function
        return next((part for part in self._TOGETHER if part in nodeid), nodeid.partition("[")[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    return _Scheduling(config, log) if config.getoption("dist") == "load" else None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the CPU time of all processes, and whether pages were tried in a browser."""
    terminalreporter.write_line(f"CPU time: {sum(os.times()[:4]):.0f} s")
    if any(MISSING in str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(MISSING, yellow=True)


@pytest.fixture(autouse=True)
def _reports_are_short(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a line in place of a report, which takes a second, unless a test is about reports."""
    if not any(word in request.node.nodeid for word in ("test_report", "report/", "api/result.py")):
        monkeypatch.setattr("allalike.report.page.render", lambda material: "<!doctype html>")


@pytest.fixture(autouse=True)
def _pages_that_write_files_have_a_folder(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the tutorial, which begins in an empty folder, in one."""
    if request.node.name != "TUTORIAL.md":
        yield
        return
    with contextlib.chdir(request.getfixturevalue("tmp_path")):
        yield


def _engines() -> list[object]:
    """Return engines that keep answers in different places; Spark, where a run takes a second, has laws of its own."""
    return [pytest.param(Memory(), id="memory"), pytest.param(Disk(partitions=4), id="disk")]


@pytest.fixture(params=_engines())
def engine(request: pytest.FixtureRequest) -> Engine:
    chosen: Engine = request.param
    return chosen


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of all real data, which are not part of the project and may lie in several folders."""
    folders = [Path(folder) for folder in os.environ.get("ALLALIKE_DATA", USUAL_DATA).split(os.pathsep)]
    sources = [source for folder in folders if folder.is_dir() for source in folder.iterdir() if source.is_dir()]
    if not sources:
        pytest.skip("data not here")
    whole = tmp_path_factory.mktemp("data")
    for source in reversed(sources):  # a source that lies in several folders is that of the first
        (whole / source.name).unlink(missing_ok=True)
        (whole / source.name).symlink_to(source.resolve(), target_is_directory=True)
    return whole


@pytest.fixture(scope="session")
def exports() -> Path:
    """Return the folder of real files of annotation tools, which are not part of the project."""
    folder = Path(os.environ.get("ALLALIKE_EXPORTS", Path(__file__).parents[1] / "shared" / "exports"))
    if not folder.is_dir():
        pytest.skip("exports not here")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_kept_at_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let the program keep what it must remember where the test ends with it, and not where its user is at home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALLALIKE_STATE", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _interrupts_are_not_ignored() -> Iterator[None]:
    """Let programs that tests start be interrupted, also where scripts run the tests with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def ignored_interrupts() -> Iterator[None]:
    """Have programs that a test starts ignore interrupts, as scripts and `nohup` do with those in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)
