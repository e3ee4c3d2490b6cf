"""Spark finds what is recorded of memory, for every label type and every method once."""

from pathlib import Path

import pytest

from golden.methods_cases import discover, find_covering
from golden.record import compare, load_cases, plain, read_stored
from running.local_spark import SPARK, need_spark

STORED = read_stored()
load_cases()
pytestmark = [*need_spark(), pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize(
    ("kind", "method"),
    [pytest.param(*pair, marks=pytest.mark.long if place % 4 else []) for place, pair in enumerate(find_covering())],
)
def test_spark_finds_what_is_recorded_of_memory(kind: str, method: str, tmp_path: Path) -> None:
    name = f"methods/{kind}/{method}"
    compare(name, STORED[name], plain(discover(kind, method, tmp_path, engine=SPARK)))
