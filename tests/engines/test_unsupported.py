"""What does not work everywhere is said in one table, and the docs print it."""

from __future__ import annotations

from pathlib import Path

from allalike.engines import ENGINES
from allalike.engines.unsupported import RESTRICTIONS


def test_the_docs_print_the_table_of_gaps() -> None:
    page = (Path(__file__).parents[2] / "docs" / "ENGINES.md").read_text()
    for restriction in RESTRICTIONS:
        assert restriction.row() in page
        assert set(restriction.engines) < set(ENGINES)
