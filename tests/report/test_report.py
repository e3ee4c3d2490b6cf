"""The content of a report: what is shown, what is left out, and that nothing of a user becomes part of the page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike.api.result import Result
from allalike.cli import main
from allalike.engines import Engine, Memory
from allalike.errors import OutputError, ReportWarning
from allalike.report.content import Limits, describe
from allalike.report.labels import trace_outline
from allalike.report.material import compact
from allalike.report.page import render, write_page
from allalike.report.people import fill_unknown, order_workers, place_workers
from crowds import samples
from files.csv_exports import Sheets
from files.survey_exports import SURVEYS

TABLES = ("truth.csv", "workers.csv", "groups.csv", "next.csv", "quality.csv", "confusion.csv")
ROWS = samples.crowd("categorical", seed=1, n=8, m=40, missing=0.3)
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}",
    "</script>",
    "a\u2028b",
    "=1+1",
)


def content_of(rows: list[samples.Row], *, limits: Limits | None = None, **options: Any) -> dict[str, Any]:
    return describe(allalike.discover(rows, **options).material(), limits)


@pytest.fixture(scope="module", name="seen")
def seen_data() -> dict[str, Any]:
    """Return what the page of the usual crowd shows."""
    data: dict[str, Any] = content_of(ROWS)["data"]
    return data


@pytest.mark.long
def test_limits_of_dates_are_shown_as_dates() -> None:
    result = allalike.discover(samples.crowd("date", seed=3, n=4, m=3), domain="date", method="auto")
    tasks, truth = describe(result.material())["data"]["tasks"], result.truth.set_index("task")
    assert tasks["limits"] == [f"{truth.loc[task, 'low']} to {truth.loc[task, 'high']}" for task in tasks["id"]]


def test_every_shown_task_has_the_truth_and_the_confidence_of_the_table() -> None:
    result = allalike.discover(ROWS)
    data = describe(result.material())["data"]
    truth = result.truth.set_index("task")
    for place, task in enumerate(data["tasks"]["id"]):
        assert data["labels"][data["tasks"]["label"][place]] == str(truth.loc[task, "label"])
        assert data["tasks"]["sure"][place] == pytest.approx(truth.loc[task, "confidence"], abs=1e-3)
        assert (place in data["tasks"]["changed"]) == truth.loc[task, "changed"]
    assert len(data["tasks"]["id"]) == len(truth)


def test_the_least_sure_tasks_come_first(seen: dict[str, Any]) -> None:
    sure = seen["tasks"]["sure"]
    assert sure == sorted(sure)
    assert sure[0] < sure[-1]


def test_the_answers_to_a_task_are_those_that_were_given(seen: dict[str, Any]) -> None:
    given = {(worker, task): str(label) for worker, task, label in ROWS}
    shown = {
        (seen["people"]["names"][who], seen["tasks"]["id"][row]): seen["labels"][what]
        for row, answers in seen["tasks"]["answered"].items()
        for who, what in zip(*answers, strict=True)
    }
    assert shown == given


def test_disagreements_are_answers_that_differ_from_the_truth_and_the_strongest_come_first(
    seen: dict[str, Any],
) -> None:
    given = {(worker, task): str(label) for worker, task, label in ROWS}
    assert seen["workers"]["disagreements"]
    for place, (tasks, said, truth, sure) in seen["workers"]["disagreements"].items():
        names = [seen["workers"]["disagreement_tasks"][task] for task in tasks]
        assert [given[seen["people"]["names"][place], name] for name in names] == [seen["labels"][s] for s in said]
        assert all(one != two for one, two in zip(said, truth, strict=True))
        assert sure == sorted(sure, reverse=True)
        assert len(tasks) <= 10


def test_confusions_count_every_answer_of_a_worker_once(seen: dict[str, Any]) -> None:
    assert [sum(counts) for counts in seen["workers"]["confusions"]["counts"]] == seen["workers"]["answers"]


def test_who_always_says_the_same_has_a_remark() -> None:
    rows = [*ROWS, *(("zoe", task, "1") for task in sorted({task for _, task, _ in ROWS}))]
    data = content_of([(worker, task, str(label)) for worker, task, label in rows])["data"]
    remarks = dict(zip(data["people"]["names"], data["workers"]["flags"], strict=False))
    assert "always the same answer" in remarks["zoe"]
    assert sum("always the same answer" in words for words in remarks.values()) == 1


def _rounded(value: Any) -> Any:
    """Return content with three digits: the order of additions changes the last ones."""
    if isinstance(value, float):
        return float(f"{value:.2g}")
    if isinstance(value, dict):
        return {str(key): _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value


def test_content_does_not_depend_on_the_engine_the_blocks_or_the_order_of_rows(
    seen: dict[str, Any], engine: Engine
) -> None:
    other = content_of(list(reversed(ROWS)), engine=engine)["data"]
    small = content_of(ROWS, engine=Memory(block_answers=7))["data"]
    for name in ("labels", "people", "workers", "tasks"):
        assert _rounded(seen[name]) == _rounded(other[name]) == _rounded(small[name])


@pytest.mark.parametrize("kind", samples.KINDS)
def test_every_kind_of_label_can_be_shown(kind: str) -> None:
    rows = samples.crowd(kind, seed=2, n=5, m=6)
    content = content_of(rows, domain=samples.kind(kind), method="P-TD")
    data = json.loads(compact(content["data"]))
    assert len(data["tasks"]["id"]) == 6
    assert len(data["tasks"]["answered"]) == 6
    used = [*data["tasks"]["label"], *(ref for _, what in data["tasks"]["answered"].values() for ref in what)]
    assert max(used) < len(data["labels"])


@pytest.mark.parametrize(
    "rows",
    [
        [("ada", 1, "x")],
        [("ada", 1, "x"), ("ada", 2, "y")],
        [("ada", 1, "x"), ("bob", 2, "y"), ("eve", 3, "x")],
        [(worker, task, "x") for worker in "abc" for task in range(3)],
        [("ada", 1, 1.5), ("bob", 2, 2.5)],
        [(worker, task, 0.5) for worker in "abc" for task in range(3)],
    ],
    ids=["one answer", "one worker", "nobody meets", "one class", "lone numbers", "equal numbers"],
)
@pytest.mark.parametrize("method", ["auto", "UA"])
def test_crowds_of_which_little_is_known_are_shown_without_a_warning(rows: list[samples.Row], method: str) -> None:
    domain = "real" if isinstance(rows[0][2], float) else "categorical"
    content = content_of(rows, domain=domain, method=method)
    assert len(content["data"]["tasks"]["id"]) == len({task for _, task, _ in rows})
    assert compact(content["data"])
    assert content["charts"].keys() <= {"intervals", "sureness"}


EQUAL, CLEAR = [0.2] * 12, [0.05] * 4 + [0.55] * 4


@pytest.mark.parametrize(
    ("errors", "method", "differ"),
    [
        ([0.05, 0.3, 0.5], "auto", False),
        ([0.02, 0.05, 0.1, 0.5, 0.6], "auto", False),
        (EQUAL, "auto", False),
        (CLEAR, "auto", True),
        (CLEAR, "DS", True),
    ],
    ids=["three", "five", "equal", "clear", "no intervals"],
)
def test_pictures_show_no_differences_between_few_workers_or_where_intervals_overlap(
    errors: list[float], method: str, differ: bool
) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    said = [np.where(rng.random(300) < error, (truth + rng.integers(1, 3, 300)) % 3, truth) for error in errors]
    rows = [(f"w{worker}", task, "abc"[label]) for (worker, task), label in np.ndenumerate(np.array(said))]
    result = allalike.discover(rows, method=method)
    if method == "auto" and len(errors) > 5:
        assert (result.workers["low"].max() > result.workers["high"].min()) == differ
    content, page = describe(result.material()), render(result.material())
    assert {"map", "faults"} & content["charts"].keys() == ({"map", "faults"} if differ else set())
    assert (content["data"]["matrix"] is not None) == differ
    assert ('id="map"' in page) == ('fill="var(--fault-' in page) == differ
    assert "intervals" in content["charts"]


def test_tasks_that_are_problems_of_their_own_are_shown_without_a_map() -> None:
    answers = allalike.read(samples.crowd("categorical", seed=1, n=5, m=4), domain="categorical").per_task()
    content = describe(allalike.discover(answers, method="P-TD").material())
    assert "map" not in content["charts"]
    assert len(content["data"]["workers"]["answers"]) == 20


def test_doubts_stay_visible_in_the_page() -> None:
    result = allalike.discover([("ada", task, "xy"[task % 2]) for task in range(9)], method="UA")
    assert describe(result.material())["notes"] == result.summary["warnings"]
    assert "All 9 answers are by one worker" in render(result.material())


def test_a_page_says_what_it_leaves_out() -> None:
    limits = Limits(workers=4, tasks=10, answers=60, task_size=300, worker_size=200)
    content = content_of(ROWS, limits=limits)
    data = content["data"]
    assert len(data["workers"]["answers"]) == 4
    assert 0 < len(data["tasks"]["id"]) <= 10
    assert len(data["tasks"]["answered"]) < len(data["tasks"]["id"])
    assert set(content["left_out"]) >= {"workers", "tasks", "answers", "details"}
    assert content["left_out"]["workers"].startswith("4 of 8 workers")


def test_long_labels_and_ids_take_no_more_than_their_budget() -> None:
    rows = [
        (f"worker {worker} " + "w" * 500, f"task {task} " + "t" * 900, f"{task} {worker} {'<&' * 300}")
        for worker in range(6)
        for task in range(30)
    ]
    limits = Limits(table_size=20_000, task_size=20_000, worker_size=20_000)
    content = content_of(rows, limits=limits, domain="text", method="UA")
    assert len(compact(content["data"])) < 20_000 * 3 + 20_000
    assert 0 < len(content["data"]["tasks"]["id"]) < 30


def test_nothing_of_a_user_is_part_of_the_page() -> None:
    rows = [(f"{text}{worker}", f"{text}{task}", text) for text in HOSTILE for worker in range(3) for task in range(2)]
    content = content_of(rows, domain="categorical")
    charts = content.pop("charts")
    assert not any(text in svg for svg in charts.values() for text in (*HOSTILE, "url", "href", "<script", "style="))
    page = write_page(content, charts)
    for text in HOSTILE[:3]:
        assert text not in page.replace("\\u003c", "<") or text == "{{ 7 * 7 }}"
    assert page.count("<script") == page.count("</script>") == 2
    [block] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert set(HOSTILE) <= set(json.loads(block)["labels"])


def test_the_policy_allows_the_script_and_the_style_of_the_page_and_nothing_else() -> None:
    content = content_of(ROWS)
    content.pop("charts")
    page = write_page(content, {})
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    for tag in ("script", "style"):
        [text] = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert not re.findall(r'\s(on\w+|style)="', page)


def test_an_outline_encloses_the_pixels_of_its_object_and_no_other() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        pixels = rng.random((7, 9)) < 0.5
        assert np.array_equal(_fill(trace_outline(pixels), pixels.shape), pixels)


def _fill(path: str, size: tuple[int, int]) -> np.ndarray[Any, Any]:
    """Tell which pixels have an odd number of upright lines to their left; the line that closes a path is upright."""
    crossed = np.zeros((size[0], size[1] + 1), np.int64)
    for part in filter(None, path.split("M")):
        x, y = first = tuple(map(int, re.match(r"(-?\d+) (-?\d+)", part).groups()))  # type: ignore[union-attr]
        moves = [(way, int(length)) for way, length in re.findall(r"([hv])(-?\d+)", part)]
        for way, length in [*moves, ("close", 0)]:
            x, to = (x + length, y) if way == "h" else (x, y + length if way == "v" else first[1])
            crossed[min(y, to) : max(y, to), x] += 1
            y = to
    return np.asarray(np.cumsum(crossed, axis=1)[:, :-1] % 2 == 1)


def test_on_a_map_copies_lie_on_each_other_and_the_bad_to_the_right() -> None:
    distances = np.array([[0, 0.1, 0.6, 0.6], [0.1, 0, 0.6, 0.6], [0.6, 0.6, 0, 0], [0.6, 0.6, 0, 0]], dtype=np.float64)
    places = place_workers(distances, np.array([0.2, 0.2, 0.5, 0.5]))
    assert np.allclose(places[2], places[3])
    assert places[2, 0] > places[:2, 0].max()
    turned = place_workers(distances[::-1, ::-1], np.array([0.5, 0.5, 0.2, 0.2]))[::-1]
    assert np.allclose(np.abs(turned), np.abs(places), atol=1e-9)


def test_workers_who_never_met_are_placed_and_ordered_all_the_same() -> None:
    unknown = np.full((4, 4), np.nan)
    np.fill_diagonal(unknown, 0.0)
    assert np.isfinite(place_workers(fill_unknown(unknown), np.full(4, np.nan))).all()
    assert sorted(order_workers(fill_unknown(unknown))) == [0, 1, 2, 3]


def _saved(folder: Path, *arguments: str) -> list[str]:
    with pytest.raises(SystemExit) as stop:
        main(["discover", "answers.csv", "-o", str(folder), *arguments])
    assert not stop.value.code
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = [f"{worker},{task},{label}" for worker, task, label in ROWS]
    (tmp_path / "answers.csv").write_text("\n".join(["worker,task,label", *lines]))
    monkeypatch.chdir(tmp_path)
    head = '<meta name="generator" content="allalike">'
    monkeypatch.setattr("allalike.report.page.render", lambda material: head)  # a page takes a second
    return tmp_path


def test_the_page_is_part_of_a_result_and_goes_with_it(folder: Path) -> None:
    assert "report.html" in _saved(folder / "out")
    assert "report.html" in json.loads((folder / "out" / "summary.json").read_text())["files"]
    assert "report.html" not in _saved(folder / "out", "--no-report")


def test_a_report_replaces_a_report_but_no_other_file(folder: Path) -> None:
    result: Result = allalike.discover(ROWS)
    result.report("seen.html")
    assert result.report("seen.html") == Path("seen.html")
    Path("mine.html").write_text("<p>my own</p>")
    with pytest.raises(OutputError, match=r"mine\.html is there already"):
        result.report("mine.html")
    assert Path("mine.html").read_text() == "<p>my own</p>"
    result.report("mine.html", overwrite=True)
    assert "allalike" in Path("mine.html").read_text()


def test_a_report_that_does_not_fit_in_memory_does_not_take_the_tables_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("allalike.report.page.describe", fail)
    result = allalike.discover(ROWS)
    for _ in range(2):  # of which the second takes the place of the first
        with pytest.warns(ReportWarning, match="The report is missing"):
            result.save(tmp_path / "out", report=True)
    saved = {path.name for path in (tmp_path / "out").iterdir()}
    assert saved == {*TABLES, "state", "summary.json", "report.html"}
    assert "there was not enough memory to write it" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    with pytest.raises(MemoryError):
        result.report(tmp_path / "seen.html")


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_a_survey_is_shown_question_by_question_with_the_alpha_of_each_scale(tmp_path: Path) -> None:
    survey = Sheets(tmp_path)(*SURVEYS["qualtrics"](), name="survey.csv")
    scales = describe(allalike.discover(survey).material())["scales"]
    alphas = {values: "" if np.isnan(each.alpha) else f"{each.alpha:.2f}" for (values,), each in _by_scale(survey)}
    assert {scale["name"]: scale["alpha"] for scale in scales} == alphas
    assert [len(scale["questions"]) for scale in scales] == [1, 4, 3, 2]
    equal = f"{100 * (20 * 19 + 10 * 9) / (30 * 29):.0f} %"
    told = {"name": "Q6", "answers": "30", "equal": equal, "most": "Yes", "share": "67 %"}
    assert scales[-1]["questions"][1] == told


def _by_scale(survey: Path) -> list[tuple[tuple[str, ...], Any]]:
    """Return the agreement of each scale that has several questions, and of others nothing that is known."""
    found = allalike.agreement(survey, by="block").items()
    return [(name, each if each.run.n_tasks > 1 else SimpleNamespace(alpha=np.nan)) for name, each in found]


def test_a_crowd_that_is_no_survey_has_no_table_of_questions() -> None:
    assert content_of(ROWS)["scales"] == []


def test_a_report_on_answers_that_came_later_says_what_changed_and_proposes_no_run_on_these_alone(
    tmp_path: Path,
) -> None:
    rows = samples.crowd("categorical", seed=1, n=5, m=20)
    for name, part in (("a.csv", rows[:60]), ("b.csv", rows[60:])):
        pd.DataFrame(part, columns=["worker", "task", "label"]).to_csv(tmp_path / name, index=False)
    allalike.discover(tmp_path / "a.csv", domain="categorical").save(tmp_path / "out", report=True)
    page = tmp_path / "out" / "report.html"
    assert "allalike.discover(..., gold=" in page.read_text(encoding="utf-8")
    allalike.update(tmp_path / "out", tmp_path / "b.csv")
    text = page.read_text(encoding="utf-8")
    assert "What changed" in text
    assert not re.search("allalike[ .]discover", text)
