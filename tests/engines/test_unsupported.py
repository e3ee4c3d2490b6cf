"""What does not work everywhere is said in one table, and the docs print it."""

from __future__ import annotations

from pathlib import Path

from allalike.engines import ENGINES
from allalike.engines.unsupported import RESTRICTIONS


def test_the_docs_print_the_table_of_gaps_and_nothing_else() -> None:
    page = (Path(__file__).parents[2] / "docs" / "ENGINES.md").read_text(encoding="utf-8")
    rows = page.partition("why not on the others |\n| --- | --- | --- |\n")[2].partition("\n\n")[0]
    assert rows.splitlines() == [restriction.row() for restriction in RESTRICTIONS]
    assert all(set(restriction.engines) < set(ENGINES) for restriction in RESTRICTIONS)
