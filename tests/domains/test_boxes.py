"""Boxes: distances by matching, groups, fusion with a quorum, and what is told of objects and workers."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import allalike
from allalike import Boxes, Disk, Memory
from allalike._core.columns.column import Column
from allalike.distances.matching import match
from allalike.errors import LabelError, OptionError, UnsupportedError
from allalike.rules.grouping import GroupedObjects
from crowds.boxes import answers

ADA = [[0, 0, 10, 10, "cat"], [20, 0, 30, 10, "dog"]]
BOB = [[1, 0, 11, 10, "cat"], [20, 0, 30, 10, "dog"]]
EVE = [[0, 0, 10, 10, "cat"], [40, 40, 50, 50, "cat"]]
ROWS = [("ada", 1, ADA), ("bob", 1, BOB), ("eve", 1, EVE)]
SIDES = ("x1", "y1", "x2", "y2")
SMALL = st.integers(0, 6)
BOX = st.tuples(SMALL, SMALL, SMALL, SMALL, st.sampled_from("ab")).map(
    lambda b: [min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3]), b[4]]
)
LABEL = st.lists(BOX, max_size=5)

pytestmark = pytest.mark.filterwarnings("ignore:All .* answers are about one task")


def solve(rows: list[tuple[Any, Any, Any]], *, method: str = "UA", engine: Any = None, **options: Any) -> Any:
    return allalike.discover(rows, domain=Boxes(**options), method=method, ties="first", engine=engine)


def distances(labels: list[Any], **options: Any) -> np.ndarray[Any, Any]:
    column = Column("label", labels)
    encoding = Boxes(**options).learn(column)
    codes = encoding.encode(column)
    i, j = (index.ravel() for index in np.indices((len(labels), len(labels))))
    return encoding.kernels.distance_between(codes[i], codes[j]).reshape(len(labels), -1)


def overlap(a: list[Any], b: list[Any]) -> float:
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    both = max(wide, 0) * max(high, 0)
    if not both:
        return float(a[:4] == b[:4])
    return float(both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both))


def matched(left: list[Any], right: list[Any], least: float) -> float:
    """Return M of two lists by the plain assignment of all boxes."""
    table = np.zeros((len(left), len(right)))
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            share = overlap(a, b)
            table[i, j] = share if a[4] == b[4] and share >= least else 0.0
    return float(table[linear_sum_assignment(table, maximize=True)].sum())


def test_distances_are_those_of_the_worked_example() -> None:
    near: dict[str, list[float]] = {
        "f1": [1 / 11, 1 / 2, 13 / 22],
        "jaccard": [1 / 6, 2 / 3, 26 / 35],
        "count": [0, 0, 0],
    }
    for distance, expected in near.items():
        found = distances([ADA, BOB, EVE], distance=distance)
        np.testing.assert_allclose(found[np.triu_indices(3, 1)], expected, atol=1e-15)


def test_weights_and_truths_are_those_of_the_worked_example() -> None:
    plain = solve(ROWS, quorum=0.5)
    np.testing.assert_allclose(plain.workers["disparity"], np.array([13, 15, 24]) / 44)
    np.testing.assert_allclose(plain.objects[list(SIDES)], [[1 / 3, 0.0, 31 / 3, 10.0], [20.0, 0.0, 30.0, 10.0]])
    assert plain.objects["class"].tolist() == ["cat", "dog"]
    np.testing.assert_allclose(plain.objects["confidence"], [1, 2 / 3])
    assert plain.truth["confidence"][0] == pytest.approx(7 / 9)
    found = solve(ROWS, method="P-TD")
    np.testing.assert_allclose(found.workers["weight"], [0.55, 0.45, 0], atol=1e-12)
    np.testing.assert_allclose(found.objects[list(SIDES)], [[0.45, 0.0, 10.45, 10.0], [20.0, 0.0, 30.0, 10.0]])
    np.testing.assert_allclose(found.objects["confidence"], [1, 1])
    assert found.objects["supporters"].tolist() == [3, 2]


def test_the_quorum_is_chosen_by_how_well_others_guess_a_worker() -> None:
    chosen = solve(ROWS).summary["domain"]
    assert chosen["quorum"] == 0.45
    assert list(chosen["quorum_curve"].values()) == pytest.approx([0.714286] * 5 + [0.6] * 3, abs=1e-6)
    assert "quorum_curve" not in solve(ROWS, quorum=0.5).summary["domain"]


def test_what_is_told_of_objects_stands_in_the_label_and_can_be_read_again() -> None:
    found = solve(ROWS, quorum=0.5)
    cat = found.truth["label"][0][0]
    assert list(cat) == [*SIDES, "class", "confidence", "class_confidence", "spread", "supporters"]
    away = [1 - overlap(list(box[0]), [cat[side] for side in SIDES]) for box in (ADA, BOB, EVE)]
    assert cat["spread"] == pytest.approx(np.mean(away))
    again = solve([("ada", 1, found.truth["label"][0]), ("bob", 1, found.truth["label"][0])])
    assert again.truth["label"][0][0]["x1"] == cat["x1"]


def test_workers_are_told_what_they_missed_and_invented() -> None:
    told = solve(ROWS, quorum=0.5).workers
    assert told["missed"].tolist() == pytest.approx([0, 0, (2 / 3) / (5 / 3)])
    assert told["invented"].tolist() == [0, 0, 0.5]
    nobody = solve([("ada", 1, []), ("bob", 1, [])]).workers
    assert nobody[["missed", "invented"]].isna().all(axis=None)


def test_objects_are_saved_beside_truths(tmp_path: Path) -> None:
    solve(ROWS, quorum=0.5).save(tmp_path)
    header, *lines = (tmp_path / "objects.csv").read_text().splitlines()
    assert header.replace('"', "") == "task,x1,y1,x2,y2,class,confidence,class_confidence,spread,supporters"
    assert len(lines) == 2
    assert '""x1"": 20.0' in (tmp_path / "truth.csv").read_text()


@settings(max_examples=60, deadline=None)
@given(st.lists(LABEL, min_size=2, max_size=5), st.sampled_from([0.0, 0.3, 0.6]))
def test_distances_are_those_of_plain_assignments(labels: list[Any], least: float) -> None:
    found = distances(labels, overlap=least)
    for i, j in np.ndindex(*found.shape):
        size = len(labels[i]) + len(labels[j])
        expected = 1 - 2 * matched(labels[i], labels[j], least) / size if size else 0.0
        assert found[i, j] == pytest.approx(expected, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(LABEL, min_size=3, max_size=4))
def test_jaccard_without_a_cut_is_a_metric(labels: list[Any]) -> None:
    found = distances(labels, distance="jaccard", overlap=0.0)
    np.testing.assert_allclose(found, found.T, atol=1e-12)
    assert (np.diag(found) < 1e-12).all()
    assert (found[:, :, None] + found[None] >= found[:, None] - 1e-9).all()


def plain_groups(rows: list[Any], least: float) -> set[frozenset[tuple[int, int]]]:
    """Join the most similar objects first, edge by edge, unless a worker has objects in both groups."""
    things = [(box, worker, place) for worker, boxes in enumerate(rows) for place, box in enumerate(boxes)]
    edges = []
    for one, other in combinations(sorted(things), 2):
        share = round(overlap(one[0], other[0]), 9)
        if one[1] != other[1] and share >= least and share > 0:
            edges.append((-share, one[0][4] != other[0][4], one, other))
    group = {thing[1:]: {thing[1:]} for thing in things}
    for _, _, one, other in sorted(edges):
        left, right = group[one[1:]], group[other[1:]]
        if left is not right and not {who for who, _ in left} & {who for who, _ in right}:
            left |= right
            for thing in right:
                group[thing] = left
    return {frozenset(members) for members in group.values()}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(BOX, max_size=4, unique_by=tuple).map(sorted), min_size=2, max_size=4))
def test_groups_are_those_of_joining_edge_by_edge(labels: list[Any]) -> None:
    run = Memory().load(allalike.read([(w, 1, boxes) for w, boxes in enumerate(labels)], domain="boxes"))
    [block] = run.blocks
    grouped = block[GroupedObjects]
    sizes = np.bincount(grouped.answer, minlength=len(labels))
    place = np.arange(len(grouped.answer)) - (np.cumsum(sizes) - sizes)[grouped.answer]
    found: dict[int, set[tuple[int, int]]] = {}
    for number, answer, own in zip(grouped.group.tolist(), grouped.answer.tolist(), place.tolist(), strict=True):
        found.setdefault(number, set()).add((answer, own))
    assert {frozenset(members) for members in found.values()} == plain_groups(labels, 0.3)


def test_where_all_say_the_same_that_is_the_truth_and_certain() -> None:
    found = solve([(worker, task, EVE) for worker in "abc" for task in (1, 2)], method="iP-TD")
    assert found.truth["confidence"].tolist() == [1, 1]
    assert found.objects["spread"].tolist() == [0] * 4
    np.testing.assert_array_equal(found.objects[list(SIDES)][:2], [box[:4] for box in EVE])


def test_moving_and_stretching_all_boxes_moves_and_stretches_the_truth() -> None:
    rows = [(w, t, [[b[s] for s in SIDES] for b in boxes]) for w, t, boxes in answers(4, 5, 8, 0.2)]
    moved = [(w, t, [[3 * x - 7 for x in box] for box in boxes]) for w, t, boxes in rows]
    first, other = solve(rows, method="iP-TD"), solve(moved, method="iP-TD")
    np.testing.assert_allclose(first.workers["disparity"], other.workers["disparity"])
    np.testing.assert_allclose(3 * first.objects[list(SIDES)] - 7, other.objects[list(SIDES)], atol=1e-9)


def test_every_worker_twice_changes_no_truth() -> None:
    rows = answers(5, 4, 8, 0.2)
    twice = [(f"{w}{copy}", t, label) for w, t, label in rows for copy in "ab"]
    first, other = solve(rows, quorum=0.5), solve(twice, quorum=0.5)
    np.testing.assert_allclose(first.objects[list(SIDES)], other.objects[list(SIDES)], atol=1e-9)


def test_a_worker_without_weight_changes_no_share_and_no_middle() -> None:
    found = allalike.discover(ROWS, domain=Boxes(quorum=0.5), method="P-TD")
    without = allalike.discover(ROWS[:2], domain=Boxes(quorum=0.5), method="UA")
    assert found.objects["confidence"].tolist() == without.objects["confidence"].tolist()


def test_what_a_large_quorum_keeps_a_small_one_keeps() -> None:
    rows = answers(6, 5, 8, 0.2)
    kept = [set(solve(rows, quorum=q).objects[["task", "x1"]].itertuples(index=False)) for q in (0.2, 0.5, 0.8)]
    assert kept[2] < kept[1] < kept[0]


def test_doubled_boxes_of_one_worker_stay_two() -> None:
    found = solve([(w, 1, [[0, 0, 4, 4], [0, 0, 4, 4]]) for w in "abc"])
    assert len(found.objects) == 2
    assert found.objects["supporters"].tolist() == [3, 3]


def test_nothing_is_an_answer() -> None:
    rows = [("ada", 1, []), ("bob", 1, []), ("eve", 1, [[0, 0, 1, 1]])]
    found = solve(rows, quorum=0.5)
    assert found.truth["label"].tolist() == [[]]
    assert found.truth["confidence"][0] == pytest.approx(2 / 3)
    assert distances([[], [], [[0, 0, 1, 1]]])[0].tolist() == [0, 0, 1]
    nobody = solve([("ada", 1, []), ("bob", 1, [])])
    assert nobody.truth["confidence"].tolist() == [1]
    assert nobody.objects.columns.tolist()[:5] == ["task", *SIDES]


def test_a_box_without_area_is_like_itself_only() -> None:
    flat, other = [[1, 1, 1, 5]], [[1, 1, 1, 4]]
    assert distances([flat, flat, other])[0].tolist() == [0, 0, 1]
    for quorum in ("auto", 0.5):
        found = solve([("ada", 1, flat), ("bob", 1, flat)], quorum=quorum)
        assert found.summary["domain"]["without_extent"] == 2
        assert found.objects[list(SIDES)].to_numpy().tolist() == flat


def test_a_tied_class_is_drawn_and_said_so() -> None:
    found = solve([("ada", 1, [[0, 0, 1, 1, "x"]]), ("bob", 1, [[0, 0, 1, 1, "y"]])])
    assert found.truth["tied"].tolist() == [True]
    assert found.objects[["class", "class_confidence"]].values.tolist() == [["x", 0.5]]


@pytest.mark.parametrize("middle", ["mean", "median"])
def test_the_middle_is_the_mean_or_the_median_of_each_side(middle: str) -> None:
    rows = [(w, 1, [[x, 0, 10, 10]]) for w, x in (("a", 0), ("b", 1), ("c", 5))]
    assert solve(rows, middle=middle).objects["x1"][0] == pytest.approx({"mean": 2, "median": 1}[middle])


@pytest.mark.parametrize(
    ("box", "options"),
    [
        ([1, 2, 4, 6, "c"], {}),
        ([[1, 2], [4, 6], "c"], {}),
        ([1, 2, 3, 4, "c"], {"form": "xywh"}),
        (["c", 2.5, 4, 3, 4], {"form": "cxcywh"}),
        ({"bbox": [1, 2, 3, 4], "category": "c"}, {}),
        ({"x": 1, "y": 2, "width": 3, "height": 4, "rectanglelabels": ["c"]}, {}),
        ({"xmin": 1, "ymin": 2, "xmax": 4, "ymax": 6, "class": "c", "confidence": 0.4}, {}),
        ({"left": 1, "top": 2, "right": 4, "bottom": 6, "label": "c"}, {"form": "xywh"}),
    ],
)
def test_every_form_of_a_box_is_read(box: Any, options: dict[str, Any]) -> None:
    for label in ([box], json.dumps([box])):
        assert Boxes(**options).parse(label) == ((1, 2, 4, 6, "c"),)


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("cat", "no JSON list"),
        (7, "it must be a list, of which each element is a box"),
        ([[0, 0, 1]], "a box has four numbers"),
        ([[0, 0, 1, float("nan")]], "the coordinate nan is not finite"),
        ([[0, 0, 1, "x"]], "the coordinate 'x' is not a number"),
        ([[5, 5, 2, 9]], "this looks like .x, y, width, height.: say form=xywh"),
        ([{"x1": 5, "y1": 0, "x2": 1, "y2": 1}], "ends before it starts"),
        ([[0, 0, 1, 1, 0.93]], "0.93 is no class"),
        ([[0, 0, 1, 1, "a"], [0, 0, 1, 1]], "only some have one"),
        ([{"bbox": [0, 0, 1, 1], "rectanglelabels": ["a", "b"]}], "must have one class, and this has 2"),
        ([{"bbox": [0, 0, 1, 1], "rotation": 30}], "turned by 30 degrees"),
        ([{"middle": 3}], "has no sides of a box"),
        ([{"bbox": [0, 0, -1, 1]}], "a width or height below 0"),
        ([[0, 0, 1, 1], {"bbox": [0, 0, 1, 1]}], "written in different forms"),
        ([[0, 0, 1, 1]] * 10_001, "10,001 objects, and at most 10,000 are expected; raise most="),
    ],
)
def test_what_is_no_list_of_boxes_is_refused_with_its_row(label: Any, said: str) -> None:
    rows = [("ada", 1, []), ("bob", 1, label)]
    with pytest.raises(LabelError, match=f"The label in row {1 if label == 7 else 2} does not fit.*{said}"):
        allalike.read(rows if not isinstance(label, int | str) else _column(label), domain="boxes")


def _column(label: Any) -> Any:
    return {"worker": ["ada", "bob"], "task": [1, 1], "label": [label if label == 7 else "[]", label]}


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([[], [[0, 0, 1, 1]], [[0, 0, 1, 1, "a"]]], "row 2 is without classes, row 3 is with classes"),
        ([[[0, 0, 1, 1]], [{"bbox": [0, 0, 1, 1]}]], "different forms: row 1 is .x1, y1, x2, y2., row 2 is bbox"),
        ([[[0, 0, 1, 1, "a"]], [[0, 0, 1, 1, 3]]], "classes of boxes are of different types: 3 and 'a'"),
    ],
)
def test_answers_that_do_not_go_together_are_refused(labels: list[Any], said: str) -> None:
    with pytest.raises(LabelError, match=said):
        allalike.read([(w, 1, label) for w, label in enumerate(labels)], domain="boxes")


def test_options_are_checked() -> None:
    wrong: list[dict[str, Any]] = [{"quorum": 1}, {"quorum": "half"}, {"overlap": 2}, {"form": "yx"}, {"middle": ""}]
    for options in wrong:
        with pytest.raises(OptionError):
            Boxes(**options)


@pytest.mark.parametrize("method", ["DS", "DS-1", "IBCC", "BWA"])
@pytest.mark.filterwarnings("ignore:.*stopped at its limit")
def test_methods_for_classes_vote_on_groups_of_objects(method: str) -> None:
    rows = answers(1, 6, 10, 0.2)
    first, other, disk = (
        allalike.discover(rows, domain="boxes", method=method, engine=engine)
        for engine in (Memory(), Memory(block_answers=7), Disk(partitions=3))
    )
    for found in (other, disk):
        np.testing.assert_allclose(first.workers["weight"], found.workers["weight"], rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(first.objects["x1"], found.objects["x1"], atol=1e-9)
    same = allalike.discover([(w, t, ADA) for w in "abc" for t in (1, 2)], domain="boxes", method=method)
    assert same.objects["class"].tolist() == ["cat", "dog"] * 2


def test_two_classes_are_one_kind_of_object_and_nothing() -> None:
    rows = answers(1, 6, 10, 0.2)
    bare = [(w, t, [[box[side] for side in SIDES] for box in boxes]) for w, t, boxes in rows]
    assert len(allalike.discover(bare, domain="boxes", method="IBP").objects) > 5
    with pytest.raises(UnsupportedError, match="IBP cannot serve boxes labels: it needs two classes.*DS, DS-1"):
        allalike.discover(rows, domain="boxes", method="IBP")


def test_truths_that_are_not_sure_enough_have_no_objects() -> None:
    found = allalike.discover(answers(3, 5, 6, 0.1), domain="boxes", method="UA", min_confidence=0.85)
    empty = set(found.truth["task"][found.truth["label"].isna()])
    assert 0 < len(empty) < 6
    assert not empty & set(found.objects["task"])


def test_copies_do_not_choose_the_quorum() -> None:
    rows = answers(3, 8, 60, 0.1)
    copies = [(f"z{number}", task, label) for worker, task, label in rows if worker == "w005" for number in range(3)]
    alone, copied = (allalike.discover(each, domain="boxes") for each in (rows, [*rows, *copies]))
    assert len(copied.groups) == 1
    assert copied.summary["domain"]["quorum"] == pytest.approx(alone.summary["domain"]["quorum"], abs=0.051)


def test_a_large_part_of_few_edges_is_matched_as_well_as_by_a_whole_table() -> None:
    draw = np.random.default_rng(5)
    edges = np.unique(draw.integers(0, 400, (1200, 2)), axis=0)
    similarity = draw.random(len(edges))
    table = np.zeros((400, 400))
    table[edges[:, 0], edges[:, 1]] = similarity
    best = table[linear_sum_assignment(table, maximize=True)].sum()
    found = match(np.zeros(len(edges), np.int64), edges[:, 0], edges[:, 1], similarity, 1)
    assert found == pytest.approx([best])
