"""What all tests share: engines, and the folder of real data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from allalike.engines import Disk, Engine, Memory

SLOW = """
test_eigenvector test_experiments test_expert_core test_fetch test_figures test_kde test_league test_mas
test_masks_folder test_parsers test_parsers_classes test_parsers_kinds test_parsers_own test_reproduction test_simulate
test_spark test_spark_laws test_spark_reading test_spark_session test_spark_sources test_theory test_theory_helpers
test_theory_sizes test_voting_rules
"""  # modules that `make quick` leaves out


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem in SLOW.split():
            item.add_marker(pytest.mark.slow)


def _engines() -> list[object]:
    """Return engines that cut answers in different ways; Spark, where a run takes a second, has laws of its own."""
    return [
        pytest.param(Memory(), id="memory"),
        pytest.param(Memory(block_answers=1), id="memory-small-blocks"),
        pytest.param(Disk(partitions=4), id="disk"),
    ]


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
