"""The page on choosing has the figures that were measured, and nothing else."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "choosing_tables.py"


@pytest.fixture(scope="module")
def tables() -> dict[str, Any]:
    return runpy.run_path(str(PROGRAM))


def test_the_tables_of_the_page_are_those_of_the_figures(tables: dict[str, Any]) -> None:
    page = tables["PAGE"].read_text(encoding="utf-8")
    figures = tables["read"]()
    assert set(re.findall("<!-- figures: (.+) -->", page)) == {part for part, *_ in figures}
    assert tables["show"](page, figures) == page, "python benchmarks/choosing_tables.py writes them again"


def test_a_table_has_a_row_for_each_crowd_and_its_least_error_is_bold(tables: dict[str, Any]) -> None:
    figures = {("kinds", "equal", "UA", 0): 0.1, ("kinds", "equal", "auto", 0): 0.05}
    shown = tables["show"]("<!-- figures: kinds -->\n\nold\n\nmore\n", figures)
    assert shown.endswith("| workers | a vote | `auto` |\n| --- | --: | --: |\n| equal | 10.0 | **5.0** |\n\nmore\n")
