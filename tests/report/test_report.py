"""The content of a report: what is shown, what is left out, and that nothing of a user becomes part of the page."""

import base64
import hashlib
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import allalike
from allalike.engines import Engine, Memory
from allalike.errors import OutputError
from allalike.report.content import Limits, describe
from allalike.report.labels import trace_rows
from allalike.report.page import render, write_page
from allalike.report.report_data import compact
from allalike.report.workers import place_workers
from allalike.result.result import Result
from crowds import samples
from files.csv_exports import Sheets
from files.survey_exports import SURVEYS
from golden.record import differences, plain

TABLES = ("truth.csv", "workers.csv")
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
    return describe(allalike.discover(rows, **options)._material(), limits)


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    """Return what the page of the usual crowd shows."""
    data: dict[str, Any] = content_of(ROWS)["data"]
    return data


def test_a_page_shows_the_labels_confidences_and_answers_of_the_tables(seen: dict[str, Any]) -> None:
    truth, tasks = allalike.discover(ROWS).truth.set_index("task"), seen["tasks"]
    assert sorted(tasks["id"]) == sorted(truth.index)
    assert tasks["sure"] == sorted(tasks["sure"])
    for place, task in enumerate(tasks["id"]):
        assert seen["labels"][tasks["label"][place]] == str(truth.loc[task, "label"])
        assert tasks["sure"][place] == pytest.approx(truth.loc[task, "confidence"], abs=1e-3)
        assert (place in tasks["changed"]) == truth.loc[task, "changed"]
    shown = {
        (seen["people"]["names"][who], tasks["id"][row]): seen["labels"][what]
        for row, answers in tasks["answered"].items()
        for who, what in zip(*answers, strict=True)
    }
    assert shown == {(worker, task): str(label) for worker, task, label in ROWS}


def test_content_does_not_depend_on_engine_blocks_or_order(seen: dict[str, Any], engine: Engine) -> None:
    other = content_of(list(reversed(ROWS)), engine=engine)["data"]
    small = content_of(ROWS, engine=Memory(block_answers=7))["data"]
    first, *others = (
        plain([each[name] for name in ("labels", "people", "workers", "tasks")]) for each in (seen, other, small)
    )
    assert not [where for each in others for where in differences(first, each, 2e-3)]


@pytest.mark.parametrize("kind", samples.KINDS)
def test_every_kind_of_label_can_be_shown(kind: str) -> None:
    rows = samples.crowd(kind, seed=2, n=5, m=6)
    content = content_of(rows, domain=samples.kind(kind), method="P-TD")
    data = json.loads(compact(content["data"]))
    assert len(data["tasks"]["id"]) == 6
    assert len(data["tasks"]["answered"]) == 6
    used = [*data["tasks"]["label"], *(ref for _, what in data["tasks"]["answered"].values() for ref in what)]
    assert max(used) < len(data["labels"])


LITTLE: dict[str, list[samples.Row]] = {
    "one answer": [("ada", 1, "x")],
    "one worker": [("ada", 1, "x"), ("ada", 2, "y")],
    "nobody meets": [("ada", 1, "x"), ("bob", 2, "y"), ("eve", 3, "x")],
    "one class": [(worker, task, "x") for worker in "abc" for task in range(3)],
    "lone numbers": [("ada", 1, 1.5), ("bob", 2, 2.5)],
    "equal numbers": [(worker, task, 0.5) for worker in "abc" for task in range(3)],
}


@pytest.mark.parametrize("crowd", LITTLE)
@pytest.mark.parametrize("method", ["auto", "UA"])
def test_crowds_of_which_little_is_known_are_shown_without_a_warning(crowd: str, method: str) -> None:
    rows = LITTLE[crowd]
    content = content_of(rows, domain="real" if "numbers" in crowd else "categorical", method=method)
    assert len(content["data"]["tasks"]["id"]) == len({task for _, task, _ in rows})
    assert compact(content["data"])
    assert content["charts"].keys() <= {"intervals", "confidence"}


@pytest.mark.parametrize(
    ("errors", "differ"),
    [([0.02, 0.05, 0.1, 0.5, 0.6], False), ([0.2] * 12, False), ([0.02] * 6 + [0.6] * 2, True)],
    ids=["few", "equal", "clear"],
)
def test_charts_compare_workers_only_if_intervals_differ(errors: list[float], differ: bool) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    said = [np.where(rng.random(300) < error, (truth + rng.integers(1, 3, 300)) % 3, truth) for error in errors]
    rows = [(f"w{worker}", task, "abc"[label]) for (worker, task), label in np.ndenumerate(np.array(said))]
    material = allalike.discover(rows)._material()
    content, page = describe(material), render(material)
    assert {"map", "errors"} & content["charts"].keys() == ({"map", "errors"} if differ else set())
    assert (content["data"]["matrix"] is not None) == differ
    assert ('id="map"' in page) == ('fill="var(--fault-' in page) == differ


def test_a_page_says_what_it_leaves_out() -> None:
    limits = Limits(workers=4, tasks=10, task_answers=2, answers=60)
    content = content_of(ROWS, limits=limits)
    data = content["data"]
    assert len(data["workers"]["answers"]) == 4
    assert 0 < len(data["tasks"]["id"]) <= 10
    assert {len(who) for who, _ in data["tasks"]["answered"].values()} == {2}
    assert set(content["left_out"]) >= {"workers", "tasks", "details"}
    assert content["left_out"]["workers"].startswith("4 of 8 workers")


def test_a_page_of_many_tasks_long_labels_and_ids_stays_small() -> None:
    rows = [
        (f"worker {worker} " + "w" * 500, f"task {task} " + "t" * 900, f"{task} {worker} {'<&' * 300}")
        for worker in range(5)
        for task in range(600)
    ]
    content = content_of(rows, domain="text", method="UA")
    assert len(content["data"]["tasks"]["id"]) <= 500
    assert len(compact(content["data"])) < 5_000_000


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


def test_what_changed_shows_what_users_wrote_as_text(tmp_path: Path) -> None:
    rows = [(f"{HOSTILE[1]}{worker}", task, HOSTILE[0]) for worker in range(2) for task in range(3)]
    allalike.discover([*rows, ("ada", 1, HOSTILE[1])], domain="categorical").save(tmp_path, report=True)
    allalike.update(tmp_path, [(f"{HOSTILE[0]}{worker}", 0, HOSTILE[1]) for worker in range(5)])
    changes = (tmp_path / "report.html").read_text(encoding="utf-8").partition('id="changes"')[2]
    shown = changes.partition("</section>")[0]
    assert "&lt;img" in shown
    assert not re.search("<(script|img)", shown)


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


def test_the_path_of_a_mask_covers_the_pixels_of_its_object_and_no_other() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        pixels, drawn = rng.random((7, 9)) < 0.5, np.zeros((7, 9), np.bool_)
        for left, top, length in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", trace_rows(pixels)):
            drawn[int(top), int(left) : int(left) + int(length)] = True
        assert np.array_equal(drawn, pixels)


def test_on_a_map_copies_lie_on_each_other_and_the_bad_to_the_right() -> None:
    distances = np.array([[0, 0.1, 0.6, 0.6], [0.1, 0, 0.6, 0.6], [0.6, 0.6, 0, 0], [0.6, 0.6, 0, 0]], dtype=np.float64)
    places = place_workers(distances, np.array([0.2, 0.2, 0.5, 0.5]))
    assert np.allclose(places[2], places[3])
    assert places[2, 0] > places[:2, 0].max()
    turned = place_workers(distances[::-1, ::-1], np.array([0.5, 0.5, 0.2, 0.2]))[::-1]
    assert np.allclose(np.abs(turned), np.abs(places), atol=1e-9)


def test_a_report_replaces_a_report_but_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result: Result = allalike.discover(ROWS)
    result.report("seen.html")
    assert result.report("seen.html") == Path("seen.html")
    Path("mine.html").write_text("<p>my own</p>")
    with pytest.raises(OutputError, match=r"mine\.html"):
        result.report("mine.html")
    assert Path("mine.html").read_text() == "<p>my own</p>"
    result.report("mine.html", overwrite=True)
    assert "allalike" in Path("mine.html").read_text()


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_a_survey_is_shown_question_by_question_with_the_alpha_of_each_scale(tmp_path: Path) -> None:
    survey = Sheets(tmp_path)(*SURVEYS["qualtrics"](), name="survey.csv")
    scales = describe(allalike.discover(survey)._material())["scales"]
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
