"""What all tests share: engines, the folder of real data, and what an interrupt does."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from allalike.engines import Disk, Engine, Memory


def _engines() -> list[object]:
    """Return engines that keep answers in different places; Spark, where a run takes a second, has laws of its own."""
    return [pytest.param(Memory(), id="memory"), pytest.param(Disk(partitions=4), id="disk")]


@pytest.fixture(params=_engines())
def engine(request: pytest.FixtureRequest) -> Engine:
    chosen: Engine = request.param
    return chosen


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of real data, which is not part of the project."""
    folder = Path(os.environ.get("ALLALIKE_DATA", Path(__file__).parents[1] / "shared" / "datasets"))
    if not folder.is_dir():
        pytest.skip("data not here")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _interrupts_are_not_ignored() -> Iterator[None]:
    """Let programs that tests start be interrupted, also where scripts run the tests with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
