"""Data sets of boxes, spans and points: what is known of workers, and what fusing objects is known to give."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import allalike
from allalike import Boxes, Points, Result, Spans
from files.parsed_data_sets import facts, list_rows, parsed, with_gold

SIDES = ("x1", "y1", "x2", "y2")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*stopped at its limit")]


def score(boxes: list[Any], truth: list[Any]) -> float:
    """Return F1 of boxes that overlap by half and have the same class."""
    if not boxes or not truth:
        return float(not boxes and not truth)
    one, other = (np.array([[box[side] for side in SIDES] for box in each]) for each in (boxes, truth))
    corner = np.maximum(one[:, None, :2], other[None, :, :2])
    sides = np.clip(np.minimum(one[:, None, 2:], other[None, :, 2:]) - corner, 0, None)
    both = sides.prod(axis=2)
    areas = [(each[:, 2:] - each[:, :2]).prod(axis=1) for each in (one, other)]
    same = np.array([[a.get("class") == b.get("class") for b in truth] for a in boxes])
    match = (both / (areas[0][:, None] + areas[1][None] - both) >= 0.5) & same
    rows, columns = linear_sum_assignment(match, maximize=True)
    return 2 * int(match[rows, columns].sum()) / (len(boxes) + len(truth))


def truths(data: Path, name: str) -> dict[Any, Any]:
    return {task: [as_object(box) for box in boxes] for task, boxes in parsed(data, name).gold.items()}


def as_object(box: list[Any]) -> dict[str, Any]:
    return {**dict(zip(SIDES, box, strict=False)), **({"class": box[4]} if len(box) > 4 else {})}


def found(data: Path, name: str, method: str, **options: Any) -> tuple[float, Any]:
    rows = list_rows(with_gold(data, name))
    result = allalike.discover(rows, domain=Boxes(**options), method=method, ties="first")
    gold = truths(data, name)
    scores = [score(label, gold[task]) for task, label in zip(result.truth["task"], result.truth["label"], strict=True)]
    return float(np.mean(scores)), result


@pytest.mark.parametrize(
    ("name", "method", "options", "expected", "quorum"),
    [
        ("boxes_cytology_eiph", "UA", {"quorum": 0.5}, 0.6388, 0.5),
        ("boxes_cytology_eiph", "iP-TD", {"quorum": 0.5}, 0.6702, 0.5),
        ("boxes_cytology_eiph", "iP-TD", {}, 0.6899, 0.45),
        ("boxes_cytology_eiph", "iP-TD", {"rule": "medoid"}, 0.585, None),
        ("boxes_cytology_eiph/2", "UA", {}, 0.8918, 0.5),
        ("boxes_cytology_eiph/2", "iP-TD", {}, 0.8761, 0.45),
        pytest.param("bounding_boxes_braylan/boxes", "UA", {"quorum": 0.5}, 0.7683, 0.5, marks=pytest.mark.long),
        pytest.param("bounding_boxes_braylan/boxes", "UA", {}, 0.7998, 0.4, marks=pytest.mark.long),
        pytest.param("bounding_boxes_braylan/boxes", "iP-TD", {}, 0.8025, 0.4, marks=pytest.mark.long),
    ],
)
def test_fused_boxes_are_as_good_as_in_a_trial(
    data: Path, name: str, method: str, options: dict[str, Any], expected: float, quorum: float | None
) -> None:
    mean, result = found(data, name, method, **options)
    assert mean == pytest.approx(expected, abs=3e-4)
    if quorum is not None:
        assert result.summary["domain"]["quorum"] == quorum


RADIUS = 25


def solve(data: Path, name: str, method: str, domain: allalike.Domain) -> Result:
    """Discover with ties for the first label, as the known numbers have it."""
    rows = list_rows(with_gold(data, name))
    return allalike.discover(rows, domain=domain, method=method, screening=False, ties="first")


def exact_scores(result: Result, gold: dict[Any, Any]) -> list[float]:
    """Return precision, recall and F1 in percent, of spans that are exactly right."""
    found = {(task, s["start"], s["end"], s["class"]) for task, spans in listed(result) for s in spans}
    true = {(task, *span) for task, spans in gold.items() for span in spans}
    right = len(found & true)
    return [100 * right / len(found), 100 * right / len(true), 200 * right / (len(found) + len(true))]


def listed(result: Result) -> list[tuple[Any, Any]]:
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
    for task, points in listed(result):
        if task in gold:
            places = [[point["x"], point["y"]] for point in points]
            counts.append((hits(places, gold[task]), len(places) + len(gold[task])))
    right, total = np.transpose(counts)
    assert 2 * right.sum() / total.sum() == pytest.approx(known["pooled"], abs=5.1e-5)
    assert np.where(total > 0, 2 * right / np.maximum(total, 1), 1.0).mean() == pytest.approx(known["F"], abs=5.1e-5)
    if quorum == "auto":
        assert result.summary["domain"]["quorum"] == 0.35
