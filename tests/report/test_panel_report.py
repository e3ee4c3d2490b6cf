"""The part of a report on a panel of judges: what it says, in a real browser, and what it never shows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def test_a_page_names_groups_and_folders_and_keeps_ids_and_counts_whole(tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {"judge": [], "item": [], "verdict": [], "topic": []}
    for judge in ("ada", "bob", "eve"):
        for task in range(60):
            verdict = "yes" if (task * 7 + len(judge) * (judge == "eve")) % 5 < 3 else "no"
            for name, value in zip(rows, (judge, 123_400 + task, verdict, f"topic {task % 2}"), strict=True):
                rows[name].append(value)
    allalike.jury(rows).save(tmp_path / "before")
    panel = allalike.jury(rows, good="yes", by="topic", since=tmp_path / "before")
    content = describe(panel.material())
    said = ["".join(map(str, pieces)) for pieces in content["panel"]["said"]]
    assert any(line.startswith("- topic topic 1: ") for line in said)
    assert any(line.startswith(f"Since {tmp_path / 'before'} (") for line in said)
    tables = {table["name"]: table["columns"] for table in content["panel"]["tables"]}
    assert set(tables["ask"][0]["texts"]) <= {str(123_400 + task) for task in range(60)}


def test_a_page_draws_whose_scores_are_off_together() -> None:
    rng = np.random.default_rng(0)
    errors = rng.normal(size=(7, 100))
    for together in (False, True):
        errors[:2] += 2 * rng.normal(size=100) * together
        rows = [(f"j{judge}", task, task % 7 + error) for (judge, task), error in np.ndenumerate(errors)]
        content = describe(allalike.jury(rows, domain="real").material())
        assert ("pairs" in content["charts"]) == together
    assert "errors correlate" in content["captions"]["pairs"]


def test_a_result_that_is_no_panel_has_no_such_part() -> None:
    content = describe(make_panel().result.material())
    assert content["panel"] is None
    assert [table["name"] for table in content["data"]["panel"]] == ["quality"]


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
