"""The part of a report on a panel of judges: what it says, in a real browser, and what it never shows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import allalike
from allalike.report.content import describe
from running.chromium import opened, serious_problems, started

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = "<script>window.hit=1</script>"
JUDGES = ["gpt", "gpt-4", "claude; haiku", HOSTILE, "llama"]


@cache
def make_panel() -> allalike.Panel:
    """Make a panel in which the second judge repeats many verdicts of the first."""
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=150)
    said = np.where(rng.random((150, 5)) < 0.7, truth[:, None], rng.integers(3, size=(150, 5)))
    said[:, 1] = np.where(rng.random(150) < 0.6, said[:, 0], said[:, 1])
    rows = [(JUDGES[judge], f"t{task}", f"class {label}") for (task, judge), label in np.ndenumerate(said)]
    gold = {f"t{task}": f"class {label}" for task, label in enumerate(truth[:100].tolist())}
    return allalike.jury(rows, gold=gold, prices=dict.fromkeys(JUDGES, 0.01))


def test_a_page_says_of_a_panel_what_the_program_says_and_has_its_tables() -> None:
    panel = make_panel()
    content = describe(panel.material())
    names = content["data"]["people"]["names"]
    said = [
        "".join(names[each] if isinstance(each, int) else each for each in pieces)
        for pieces in content["panel"]["said"]
    ]
    assert said[0] == "750 verdicts of 5 judges on 150 tasks (categorical)."
    assert any(line.startswith("Wrong together: ") and "gpt and gpt-4" in line for line in said)
    tables = {table["name"]: table["columns"] for table in content["panel"]["tables"]}
    assert list(tables) == ["judges", "coverage", "pairs", "sizes", "pivotal"]
    assert tables["judges"][1] == {"title": "answers", "numbers": [150] * 5}
    assert [len(members) for members in tables["sizes"][1]["people"]] == [1, 2, 3, 4, 5]
    assert "pairs" in content["charts"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as running:
        yield running


@pytest.mark.long
def test_judges_are_shown_by_name_and_nowhere_if_names_are_hidden(browser: Browser, tmp_path: Path) -> None:
    path = make_panel().save(tmp_path / "out", report=True)[-2]
    with opened(browser, path) as page:
        part = page.locator("#judges")
        assert "claude; haiku" in part.inner_text()
        assert part.locator("[data-panel-table]").count() == 5
        assert not serious_problems(page)
        page.check("#hide-names")
        shown = part.inner_text()
        assert not [name for name in JUDGES if name in shown]
        assert "First W" in shown
        assert page.evaluate("window.hit") is None
