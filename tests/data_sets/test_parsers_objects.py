"""Data sets of spans and points: their known statistics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import allalike
from allalike import Points, Result, Spans
from files.parsed_data_sets import facts, parsed, with_gold

pytestmark = pytest.mark.slow

RADIUS = 25


def solve(data: Path, name: str, method: str, domain: allalike.Domain) -> Result:
    """Discover with ties for the first label, as the known numbers have it."""
    answers = with_gold(data, name)
    task = np.repeat(answers.tasks.tolist(), np.diff(answers.starts)).tolist()
    worker, label = answers.workers.take(answers.worker).tolist(), answers.encoding.decode(answers.label).tolist()
    rows = list(zip(worker, task, label, strict=True))
    return allalike.discover(rows, domain=domain, method=method, plain=True, ties="first")


def exact_scores(result: Result, gold: dict[Any, Any]) -> list[float]:
    """Return precision, recall and F1 in percent, of spans that are exactly right."""
    found = {(task, s["start"], s["end"], s["class"]) for task, spans in truths(result) for s in spans}
    true = {(task, *span) for task, spans in gold.items() for span in spans}
    right = len(found & true)
    return [100 * right / len(found), 100 * right / len(true), 200 * right / (len(found) + len(true))]


def truths(result: Result) -> list[tuple[Any, Any]]:
    return list(zip(result.truth["task"], result.truth["label"], strict=True))


@pytest.mark.parametrize("part", [pytest.param("val", marks=pytest.mark.long), "test"])
def test_names_in_news_are_found_as_is_known(data: Path, part: str) -> None:
    name = f"spans_ner_conll_crowd/{part}"
    facts_known = facts(data, name)
    known, gold = facts_known["verification"]["exact span P R F1, overlap 0.3"], parsed(data, name).gold
    n_spans = sum(map(len, with_gold(data, name).label))
    assert n_spans == pytest.approx(facts_known[f"n_spans_{part}"], abs=5)  # where texts differ, others align otherwise
    quorum = {"val": "0.40", "test": "0.35"}[part]
    for method, domain, key in (
        ("UA", Spans(quorum=0.5), "UA >1/2"),
        ("iP-TD", Spans(quorum=0.5), "iP-TD >1/2"),
        ("iP-TD", Spans(), f"iP-TD auto {quorum}"),
    ):
        result = solve(data, name, method, domain)
        assert exact_scores(result, gold) == pytest.approx(known[f"{part} {key}"], abs=0.16)
    assert result.summary["domain"]["quorum"] == float(quorum)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:DS stopped")
def test_spans_as_tasks_with_classes_are_found_best(data: Path) -> None:
    name = "spans_ner_conll_crowd/test"
    known = facts(data, name)["verification"]["exact span P R F1, overlap 0.3"]["test groups as tasks, DS"]
    result = solve(data, name, "DS", Spans())
    assert exact_scores(result, parsed(data, name).gold) == pytest.approx(known, abs=0.3)


@pytest.mark.long
def test_positions_alone_find_fewer_names(data: Path) -> None:
    name = "spans_ner_conll_crowd/test"
    known = facts(data, name)["verification"]["character vote, test UA >1/2"]
    result = solve(data, name, "UA", Spans(rule="positions", quorum=0.5))
    assert exact_scores(result, parsed(data, name).gold) == pytest.approx(known, abs=0.16)


def hits(found: list[Any], true: list[Any]) -> int:
    """Count how many points can be matched within the radius."""
    if not found or not true:
        return 0
    near = np.linalg.norm(np.array(found)[:, None] - np.array(true)[None], axis=2) <= RADIUS
    return int(near[linear_sum_assignment(near, maximize=True)].sum())


@pytest.mark.parametrize(
    ("method", "quorum", "key"),
    [("UA", 0.5, "UA >1/2"), ("iP-TD", 0.5, "iP-TD >1/2"), ("iP-TD", "auto", "iP-TD auto 0.35")],
)
def test_cells_that_divide_are_found_as_is_known(data: Path, method: str, quorum: Any, key: str) -> None:
    known, gold = facts(data, "points_mitosis")["verification"][key], parsed(data, "points_mitosis").gold
    result = solve(data, "points_mitosis", method, Points(radius=RADIUS, quorum=quorum))
    counts = []
    for task, points in truths(result):
        if task in gold:
            places = [[point["x"], point["y"]] for point in points]
            counts.append((hits(places, gold[task]), len(places) + len(gold[task])))
    right, total = np.transpose(counts)
    assert 2 * right.sum() / total.sum() == pytest.approx(known["pooled"], abs=5.1e-5)
    assert np.where(total > 0, 2 * right / np.maximum(total, 1), 1.0).mean() == pytest.approx(known["F"], abs=5.1e-5)
    if quorum == "auto":
        assert result.summary["domain"]["quorum"] == 0.35


def test_points_are_as_many_as_is_known(data: Path) -> None:
    known, answers = facts(data, "points_mitosis"), with_gold(data, "points_mitosis")
    sizes = np.array([len(label) for label in answers.label])
    assert (sizes.sum(), (sizes == 0).sum()) == (known["n_objects"], known["n_empty_answers"])
    assert sum(map(len, parsed(data, "points_mitosis").gold.values())) == known["n_gold_objects"]
