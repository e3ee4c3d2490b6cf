"""The report as a person sees it: every click, key and switch, in a real browser, from disk."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import allalike
from allalike.report.content import describe
from allalike.report.page import write_page
from crowds import samples
from files.csv_exports import Sheets
from files.survey_exports import SURVEYS
from running.chromium import WIDTHS, keep_picture, opened, serious_problems, started
from running.turns import in_turn

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Download, Page

HOSTILE = ("<script>window.hit=1</script>", '"><img src=x onerror=window.hit=1>', "{{ 7 * 7 }}", "</script>", "=1+1")
JUDGES = ["gpt", "gpt-4", "claude; haiku", HOSTILE[0], "llama"]
NAMES = ["ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as running:
        yield running


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page of a crowd of good and bad workers, of two who copy, with some known truths."""
    rows = samples.crowd("categorical", seed=5, n=6, m=60, missing=0.2)
    rows += [("w006", task, label) for worker, task, label in rows if worker == "w003"]
    named = [(NAMES[int(worker[1:])], task, f"class {label}") for worker, task, label in rows]
    gold = {task: label for worker, task, label in named if worker == "ada" and task < "t0030"}
    path = tmp_path_factory.mktemp("report") / "report.html"
    return allalike.discover(named, gold=gold).report(path)


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Page]:
    with opened(browser, report) as shown:
        yield shown


def column(page: Page, table: str, place: int) -> list[str]:
    return page.locator(f"#{table}-table tbody tr > :nth-child({place})").all_inner_texts()


def saved(download: Download) -> list[list[str]]:
    text = Path(download.path()).read_text(encoding="utf-8-sig")
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.long
@pytest.mark.parametrize(("width", "theme"), [("desktop", "light"), ("desktop", "dark"), ("phone", "dark")])
def test_it_fits_the_screen_and_everybody_can_read_it(browser: Browser, report: Path, width: str, theme: str) -> None:
    with opened(browser, report, width=WIDTHS[width], theme=theme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == WIDTHS[width]
        keep_picture(page, f"report-{width}-{theme}")
        assert not serious_problems(page)
        page.locator("#workers-table tbody button").first.click()
        keep_picture(page, f"worker-{width}-{theme}")
        assert theme == "dark" or not serious_problems(page)


def test_a_head_sorts_its_column_and_sorts_it_the_other_way_again(page: Page) -> None:
    head = page.locator("#workers-table thead").get_by_role("button", name="Answers")
    head.click()
    counts = [int(text) for text in column(page, "workers", 2)]
    assert counts == sorted(counts, reverse=True)
    head.focus()
    page.keyboard.press("Enter")
    assert [int(text) for text in column(page, "workers", 2)] == sorted(counts)
    assert page.locator('#workers-table th[aria-sort="ascending"]').inner_text().startswith("Answers")


@pytest.mark.long
def test_tasks_are_filtered_by_confidence_change_and_text_and_turned_page_by_page(page: Page) -> None:
    assert len(column(page, "tasks", 1)) == 20
    first = column(page, "tasks", 1)
    page.locator("#tasks-table").get_by_role("button", name="More").click()
    assert not set(first) & set(column(page, "tasks", 1))
    page.locator("#tasks-sure").fill("60")
    assert "60.0 %" in page.locator("#slider-text").inner_text()
    assert all(float(text) <= 0.6 for text in column(page, "tasks", 3))
    page.locator("#tasks-sure").fill("100")
    page.check("#tasks-changed")
    assert all("changed" in text for text in column(page, "tasks", 6))
    page.uncheck("#tasks-changed")
    page.fill("#tasks-search", "t0042")
    assert column(page, "tasks", 1) == ["t0042"]


def test_a_worker_opens_with_her_disagreements_and_confusions_and_closes_by_key(page: Page) -> None:
    button = page.locator("#workers-table").get_by_role("button", name="dan", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    panel = page.locator("#panel")
    assert panel.locator("h2").inner_text() == "dan"
    assert panel.locator(".confusion tbody tr").count() > 1
    assert 0 < panel.locator(".case").count() <= 10
    page.keyboard.press("Escape")
    assert not panel.is_visible()
    assert button.evaluate("button => button === document.activeElement")


@pytest.mark.long
def test_a_task_opens_from_a_disagreement_with_all_answers_and_weights_that_add_up(page: Page) -> None:
    page.locator("#workers-table").get_by_role("button", name="dan", exact=True).click()
    page.locator("#panel .case button").first.click()
    shares = page.locator("#panel table:not(.confusion) td.number").all_inner_texts()
    assert len(shares) > 2
    assert sum(float(text.removesuffix(" %")) for text in shares) == pytest.approx(100, abs=0.5)
    assert page.locator("#panel .votes b").inner_text().strip() == "✓ label"
    page.locator("#panel-close").click()
    assert not page.locator("#panel").is_visible()


@pytest.mark.long
def test_hidden_names_are_nowhere_and_aliases_stay_the_same(page: Page) -> None:
    assert "good" not in page.inner_text("body")
    page.check("#hide-names")
    aliases = column(page, "workers", 1)
    assert aliases == [f"W{place}" for place in range(1, 8)]
    page.locator("#workers-table tbody button").nth(3).click()
    assert page.locator("#panel-title").inner_text() == "W4"
    page.locator("#panel .case button").first.click()
    page.click("#show-matrix", force=True)
    everything = page.evaluate("document.body.outerHTML.replace(document.getElementById('data').outerHTML, '')")
    assert not [name for name in NAMES[:7] if f">{name}" in everything or f'"{name}' in everything]
    page.keyboard.press("Escape")
    page.uncheck("#hide-names")
    assert set(column(page, "workers", 1)) == set(NAMES[:7])


def plain_page(folder: Path, rows: list[samples.Row], **options: Any) -> Path:
    """Write a page without charts, which take time to draw."""
    content = describe(allalike.discover(rows, **options)._material())
    content.pop("charts")
    path = folder / "plain.html"
    path.write_text(write_page(content, {}), encoding="utf-8")
    return path


def test_what_a_hostile_crowd_says_is_shown_and_never_run(browser: Browser, tmp_path: Path) -> None:
    rows = [
        (f"{HOSTILE[worker]} {worker}", f"{text} {task}", HOSTILE[(place + worker * task) % 5])
        for place, text in enumerate(HOSTILE)
        for worker in range(5)
        for task in range(4)
    ]
    with opened(browser, plain_page(tmp_path, rows, domain="categorical")) as page:
        assert page.evaluate("window.hit") is None
        assert set(column(page, "workers", 1)) == {f"{text} {number}" for number, text in enumerate(HOSTILE)}
        for number in range(2):
            page.locator("#tasks-table tbody button").nth(number).click()
            page.keyboard.press("Escape")
        page.locator("#workers-table tbody button").first.click()
        page.keyboard.press("Escape")
        with page.expect_download() as started_download:
            page.locator("#workers-table .save").click()
        names = [row[0] for row in saved(started_download.value)[1:]]
        assert "'=1+1 4" in names
        assert page.evaluate("window.hit") is None
        assert page.locator("img").count() == 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "in_worker", "in_task"),
    [
        ("real", "#panel svg .truth", "#panel svg .dot"),
        ("ranking", "#panel svg .turned", "#panel svg .turned"),
        ("text", "#panel del", "#panel ins"),
        ("bitmap", "#panel path.answer", "#panel path.truth"),
        ("set", "#panel del, #panel ins", "#panel .votes"),
        ("interval", "#panel rect.truth", "#panel rect.dot"),
        ("boxes", "#panel path.answer", "#panel path.truth"),
        ("spans", "#panel rect.truth", "#panel rect.dot"),
        ("points", "#panel path.answer", "#panel path.truth"),
        ("vector", "#panel .sides", "#panel .votes"),
    ],
)
def test_each_kind_of_label_has_its_own_picture(
    browser: Browser, tmp_path: Path, kind: str, in_worker: str, in_task: str
) -> None:
    rows = samples.crowd(kind, seed=3, n=6, m=12, missing=0.2)
    with opened(browser, plain_page(tmp_path, rows, domain=samples.kind(kind), method="P-TD")) as page:
        page.locator("#workers-table tbody button").last.click()
        assert page.locator(in_worker).count() > 0
        page.keyboard.press("Escape")
        page.locator("#tasks-table tbody button").first.click()
        assert page.locator(in_task).count() > 0
        keep_picture(page, f"task-{kind}")


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
@pytest.mark.parametrize("width", in_turn(WIDTHS, len(WIDTHS)))
def test_a_survey_has_a_table_of_its_questions(browser: Browser, tmp_path: Path, width: str) -> None:
    survey = Sheets(tmp_path)(*SURVEYS["qualtrics"](), name="survey.csv")
    with opened(browser, allalike.discover(survey).report(tmp_path / "report.html"), width=WIDTHS[width]) as page:
        page.locator("nav").get_by_role("link", name="Questions").click()
        table = page.locator("#questions table")
        assert table.locator("tbody").count() == 4
        assert table.get_by_role("row", name="Q6").inner_text().split("\t")[:4] == ["Q6", "30", "Yes", "67 %"]
        assert page.evaluate("document.documentElement.scrollWidth") == WIDTHS[width]
        keep_picture(page, f"survey-{width}")
        assert not serious_problems(page)


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
    content = describe(panel._material())
    names = content["data"]["people"]["names"]
    said = [
        "".join(names[each] if isinstance(each, int) else each for each in pieces)
        for pieces in content["panel"]["messages"]
    ]
    assert said[0] == "750 verdicts by 5 judges on 150 tasks (categorical)."
    assert any(line.startswith("Correlated errors: ") and "gpt and gpt-4" in line for line in said)
    tables = {table["name"]: table["columns"] for table in content["panel"]["tables"]}
    assert list(tables) == ["judges", "coverage", "pairs", "sizes"]
    assert tables["judges"][1] == {"title": "Answers", "numbers": [150] * 5}
    assert [len(members) for members in tables["sizes"][1]["people"]] == [1, 2, 3, 4, 5]
    assert "pairs" in content["charts"]


@pytest.mark.long
def test_judges_are_shown_by_name_and_nowhere_if_names_are_hidden(browser: Browser, tmp_path: Path) -> None:
    path = make_panel().save(tmp_path / "out", report=True)[-2]
    with opened(browser, path) as page:
        part = page.locator("#judges")
        assert "claude; haiku" in part.inner_text()
        assert part.locator("[data-panel-table]").count() == 4
        assert not serious_problems(page)
        page.check("#hide-names")
        shown = part.inner_text()
        assert not [name for name in JUDGES if name in shown]
        assert re.search(r"W\d and W\d", shown)
        assert page.evaluate("window.hit") is None
