"""What all tests share: engines, and the folder of real data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from allalike.engines import ENGINES, Engine, Memory


def _engines() -> list[object]:
    whole = [pytest.param(engine(), id=name) for name, engine in ENGINES.items()]
    return [*whole, pytest.param(Memory(block_answers=1), id="memory-small-blocks")]


@pytest.fixture(params=_engines())
def engine(request: pytest.FixtureRequest) -> Engine:
    chosen: Engine = request.param
    return chosen


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of real data, which is not part of the project."""
    folder = Path(os.environ.get("ALLALIKE_DATA", Path(__file__).parents[2] / "shared" / "datasets"))
    if not folder.is_dir():
        pytest.skip("data not here")
    return folder
