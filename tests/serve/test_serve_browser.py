"""The page that is served as a person sees it: from the drop of a file to the report, in a real browser."""

from __future__ import annotations

import base64
import csv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import allalike
from allalike.errors import GoldError
from allalike.serve.server import Server
from allalike.serve.session import Session
from crowds import samples
from crowds.gold_misfits import MISFITS
from running.chromium import WIDTHS, keep_picture, serious_problems, started, visited

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.timeout(180)  # a browser, and a run with its report in another process

HOSTILE = '<img src=x onerror="window.hit=1">'
SCREENS = [("desktop", "light"), pytest.param("phone", "dark", marks=pytest.mark.long)]
DROP = """([name, text]) => {
    const dropped = new DataTransfer();
    dropped.items.add(new File([Uint8Array.from(atob(text), (each) => each.charCodeAt(0))], name));
    for (const kind of ["dragenter", "dragover", "drop"]) {
        document.getElementById("drop").dispatchEvent(
            new DragEvent(kind, { dataTransfer: dropped, bubbles: true, cancelable: true }));
    }
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as running:
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(Session(tmp_path_factory.mktemp("session"), limit=10**6)) as server:
        yield server


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    yield running
    running.session.clear()


def rows_of(path: Path, heads: list[str], rows: list[tuple[Any, ...]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([heads, *rows])
    return path


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write answers whose columns have names that tell, beside one that must be shown and never run."""
    path = tmp_path_factory.mktemp("answers") / "my answers.csv"
    drawn = samples.crowd("categorical", seed=5, n=5, m=30)
    rows = [(worker, task, f"class {label}", "x") for worker, task, label in drawn]
    return rows_of(path, ["worker", "task", "label", HOSTILE], rows)


@pytest.mark.parametrize(("width", "theme"), SCREENS)
def test_from_the_drop_of_a_file_to_its_report(
    browser: Browser, server: Server, answers: Path, tmp_path: Path, width: str, theme: str
) -> None:
    with visited(browser, server.address, width=WIDTHS[width], theme=theme) as page:
        keep_picture(page, f"serve-empty-{width}-{theme}")
        page.evaluate(DROP, [f"{HOSTILE}.csv", base64.b64encode(answers.read_bytes()).decode()])
        page.wait_for_selector("#form:not([hidden])")
        assert page.inner_text("#names b") == f"{HOSTILE}.csv"
        keep_picture(page, f"serve-uploaded-{width}-{theme}")
        assert not serious_problems(page)
        page.focus("#run")
        page.keyboard.press("Enter")
        page.wait_for_selector("#stage:not(:empty)")  # whichever stage is seen
        keep_picture(page, f"serve-run-{width}-{theme}")
        page.frame_locator("#frame").locator("html[data-ready=yes]").wait_for()
        assert page.frame_locator("#frame").locator("h1").inner_text() == "Labels and workers"
        assert page.evaluate("document.activeElement.id") == "result-title"
        assert page.evaluate("document.documentElement.scrollWidth") == WIDTHS[width]
        keep_picture(page, f"serve-result-{width}-{theme}")
        assert not serious_problems(page)
        with page.expect_download() as download:
            page.get_by_text("Save all files").click()
        with zipfile.ZipFile(download.value.path()) as archive:
            assert {"truth.csv", "workers.csv", "report.html", "summary.json"} <= set(archive.namelist())
        with page.expect_download() as download:
            page.get_by_text("truth.csv").click()
        assert len(Path(download.value.path()).read_text().splitlines()) == 31
        assert page.evaluate("window.hit") is None


@pytest.mark.long
def test_a_question_is_answered_with_a_click(browser: Browser, server: Server, tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_text('worker,task,label\nada,1,"[1, 2]"\nbob,1,"[2]"\neve,1,"[1]"\neve,2,"[3]"\n', encoding="utf-8")
    with visited(browser, server.address, width=WIDTHS["phone"]) as page:
        page.set_input_files("#answers", path)
        page.wait_for_selector("#form:not([hidden])")
        page.click("#run")
        page.wait_for_selector("#problem:not([hidden])")
        assert "look like lists" in page.inner_text("#problem-message")
        keep_picture(page, "serve-question-phone-light")
        assert not serious_problems(page)
        offered = page.locator("#suggestions li").all_inner_texts()
        assert " ".join(offered[0].split()) == "Read labels as set set labels, 3 workers, 2 tasks, 2 answers per task"
        assert len(offered) > 1
        page.get_by_role("button", name="Read labels as set").click()
        page.locator("#result-facts", has_text="set labels").wait_for()
        assert not page.is_visible("#problem")
        page.click("#clear")
        path.write_bytes(b"x" * (10**6 + 1))
        page.set_input_files("#answers", path)
        assert page.inner_text("#message").startswith("These files have 1.0 MB; the limit is 1.0 MB")


@pytest.mark.long
@pytest.mark.parametrize("name", MISFITS)
def test_gold_that_does_not_fit_has_buttons(browser: Browser, server: Server, tmp_path: Path, name: str) -> None:
    misfit = MISFITS[name]
    answers = rows_of(tmp_path / "answers.csv", ["worker", "task", "label"], misfit.rows)
    gold = rows_of(tmp_path / "gold.csv", ["task", "label"], list(misfit.gold.items()))
    with pytest.raises(GoldError) as stopped:
        allalike.discover(answers, gold=gold)
    with visited(browser, server.address) as page:
        page.set_input_files("#answers", answers)
        page.wait_for_selector("#form:not([hidden])")
        page.set_input_files("#gold", gold)
        page.locator("#gold-name", has_text="gold.csv").wait_for()
        page.click("#run")
        page.wait_for_selector("#suggestions button")
        assert "The gold labels do not match" in page.inner_text("#problem-message")
        assert len(page.locator("#suggestions button").all()) == len(stopped.value.proposals)
        keep_picture(page, f"serve-gold-{name.replace(' ', '-')}")
        page.locator("#suggestions button").first.click()
        page.frame_locator("#frame").locator("html[data-ready=yes]").wait_for()
        assert not page.is_visible("#problem")
        with page.expect_download() as download:
            page.get_by_text("truth.csv").click()
        allalike.discover(answers, gold=gold, gold_map=misfit.gold_map).save(tmp_path / "out")
        assert Path(download.value.path()).read_bytes() == (tmp_path / "out" / "truth.csv").read_bytes()
