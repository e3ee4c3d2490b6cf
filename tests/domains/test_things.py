"""Boxes, spans and points: groups of objects, quorum, positions, middles, and columns of objects and workers."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allalike
from allalike import Boxes, Disk, Memory, Points, Result, Spans
from allalike._core.blocks.block import Ties
from allalike._core.columns.column import Column
from allalike.rules.grouping import GroupedObjects
from crowds.label_types import draw_boxes as answers
from crowds.plain_distances import iou

ADA = [[0, 0, 10, 10, "cat"], [20, 0, 30, 10, "dog"]]
BOB = [[1, 0, 11, 10, "cat"], [20, 0, 30, 10, "dog"]]
EVE = [[0, 0, 10, 10, "cat"], [40, 40, 50, 50, "cat"]]
ROWS = [("ada", 1, ADA), ("bob", 1, BOB), ("eve", 1, EVE)]
TEXT = [
    ("ada", 1, [[0, 4, "PER"], [9, 12, "PER"], [16, 24, "LOC"]]),
    ("bob", 1, [[0, 4, "PER"], [16, 24, "LOC"]]),
    ("eve", 1, [[9, 12, "PER"], [20, 24, "LOC"]]),
]
CLICKS = [("ada", 1, [[0, 0], [50, 50]]), ("bob", 1, [[3, 4], [50, 50]]), ("eve", 1, [[0, 0]])]
SIDES = ["x1", "y1", "x2", "y2"]
BOX = st.tuples(*[st.integers(0, 6)] * 4, st.sampled_from("ab")).map(
    lambda b: [min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3]), b[4]]
)
pytestmark = pytest.mark.filterwarnings("ignore:All .* answers are about one task")


def solve(rows: list[Any], domain: Any, method: str = "UA", **how: Any) -> Result:
    return allalike.discover(rows, domain=domain, method=method, ties="first", screening=False, **how)


def test_boxes_of_the_worked_example() -> None:
    plain = solve(ROWS, Boxes(quorum=0.5))
    np.testing.assert_allclose(plain.objects[SIDES], [[1 / 3, 0.0, 31 / 3, 10.0], [20.0, 0.0, 30.0, 10.0]])
    assert plain.objects["class"].tolist() == ["cat", "dog"]
    np.testing.assert_allclose(plain.objects["confidence"], [1, 2 / 3])
    assert plain.truth["confidence"][0] == pytest.approx(7 / 9)
    assert plain.workers["miss_rate"].tolist() == pytest.approx([0, 0, (2 / 3) / (5 / 3)])
    assert plain.workers["false_alarm_rate"].tolist() == [0, 0, 0.5]
    cat = plain.truth["label"][0][0]
    away = [1 - iou(list(boxes[0]), [cat[side] for side in SIDES]) for boxes in (ADA, BOB, EVE)]
    assert cat["spread"] == pytest.approx(np.mean(away))
    weighted = solve(ROWS, Boxes(), "P-TD")
    np.testing.assert_allclose(weighted.workers["weight"], [0.55, 0.45, 0], atol=1e-12)
    np.testing.assert_allclose(weighted.objects[SIDES], [[0.45, 0.0, 10.45, 10.0], [20.0, 0.0, 30.0, 10.0]])
    np.testing.assert_allclose(weighted.objects["confidence"], [1, 1])  # workers without weight change no share
    assert weighted.objects["n_workers"].tolist() == [3, 2]


def test_spans_of_the_worked_example() -> None:
    plain = solve(TEXT, Spans(quorum=0.5))
    assert places(plain) == [[(0, 4, "PER"), (9, 12, "PER"), (16, 24, "LOC")]]
    assert plain.objects["confidence"].tolist() == pytest.approx([2 / 3, 2 / 3, 1])
    assert plain.objects["spread"].tolist() == pytest.approx([0, 0, 1 / 6])
    for distance, weights in (("overlap", [11 / 15, 4 / 15, 0]), ("exact", [2 / 3, 1 / 3, 0])):
        found = solve(TEXT, Spans(distance=distance), "P-TD(weighting='max')")
        assert found.workers["weight"].tolist() == pytest.approx(weights)


def test_points_of_the_worked_example() -> None:
    plain = solve(CLICKS, Points(radius=10, quorum=0.5))
    np.testing.assert_allclose(plain.objects[["x", "y"]], [(1, 4 / 3), (50, 50)])
    assert plain.objects["confidence"].tolist() == pytest.approx([1, 2 / 3])
    weighted = solve(CLICKS, Points(radius=10), "P-TD(weighting='max')")
    assert weighted.workers["weight"].tolist() == pytest.approx([5 / 6, 1 / 6, 0])
    np.testing.assert_allclose(weighted.objects[["x", "y"]], [(0.5, 2 / 3), (50, 50)])


def test_the_quorum_is_chosen_by_how_well_others_guess_a_worker() -> None:
    chosen = solve(ROWS, Boxes()).summary["domain"]
    assert chosen["quorum"] == 0.45
    assert list(chosen["quorum_curve"].values()) == pytest.approx([0.714286] * 5 + [0.6] * 3, abs=1e-6)
    assert "quorum_curve" not in solve(ROWS, Boxes(quorum=0.5)).summary["domain"]


def plain_groups(rows: list[Any], least: float) -> set[frozenset[tuple[int, int]]]:
    """Join the most similar objects first, edge by edge, unless a worker has objects in both groups."""
    things = [(box, worker, place) for worker, boxes in enumerate(rows) for place, box in enumerate(boxes)]
    edges = []
    for one, other in combinations(sorted(things), 2):
        share = round(iou(one[0], other[0]), 9)
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


@settings(max_examples=40)
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


def places(result: Result) -> list[list[tuple[Any, ...]]]:
    """Return the positions and classes of all estimated objects."""
    axes = ("x1", "y1", "x2", "y2", "start", "end", "x", "y", "class")
    return [
        [tuple(thing[axis] for axis in axes if axis in thing) for thing in label] for label in result.truth["label"]
    ]


BOTH = [[0, 8, "name"], [0, 3, "name.first"]]
HALVES, WHOLE = [[0, 3, "PER"], [3, 6, "PER"]], [[0, 6, "PER"]]
NOSE = [[0, 0, "nose"]]
FACE = Points(radius=10, quorum=0.5, names=["nose", "chin"])
# Label type, labels of one task, and positions of the estimated objects.
TRUTHS: list[tuple[Any, list[Any], list[Any]]] = [
    (Boxes(quorum=0.5), [[], [], [[0, 0, 1, 1]]], []),
    (Boxes(), [[[0, 0, 4, 4], [0, 0, 4, 4]]] * 3, [(0, 0, 4, 4)] * 2),  # two equal boxes stay two
    (Boxes(), [[[1, 1, 1, 5]]] * 2, [(1, 1, 1, 5)]),  # without area
    (Boxes(), [[[0, 0, 1, 1, "x"]], [[0, 0, 1, 1, "y"]]], [(0, 0, 1, 1, "x")]),
    (Boxes(), [[[x, 0, 10, 10]] for x in (0, 1, 5)], [(2, 0, 10, 10)]),
    (Spans(quorum=0.5), [BOTH, BOTH, BOTH[:1]], [(0, 3, "name.first"), (0, 8, "name")]),  # nested
    (Spans(rule="positions", quorum=0.5), [HALVES, HALVES, WHOLE], [(0, 3, "PER"), (3, 6, "PER")]),
    (Spans(rule="positions", quorum=0.5), [HALVES, WHOLE, WHOLE], [(0, 6, "PER")]),
    (Spans(), [["O", "O"], []], []),
    (Points(radius=10, quorum=0.5), [[[0, 0], [1, 0], [2, 0]], [], [[0, 0]]], [(0, 0)]),  # one support per worker
    (FACE, [NOSE, NOSE, [[90, 0, "nose"], [0, 0, "chin"]]], [(30, 0, "nose")]),  # by name, at any position
    (Points(radius=0.5, quorum=0.5), [[3.2, 7.9], [3.4, 20.0], [3.3]], [(3.3,)]),  # moments
]


@pytest.mark.parametrize(("domain", "labels", "expected"), TRUTHS)
def test_truths_are_those_found_by_hand(domain: Any, labels: list[Any], expected: list[Any]) -> None:
    rows = [(worker, 1, label) for worker, label in enumerate(labels)]
    [found] = places(solve(rows, domain))
    assert [thing[-1] for thing in found] == [thing[-1] for thing in expected]
    for one, other in zip(found, expected, strict=True):
        assert [x for x in one if x != one[-1]] == pytest.approx([x for x in other if x != other[-1]])


def vote_plainly(labels: list[Any], weights: list[float], quorum: float) -> list[tuple[int, int, str]]:
    """Decide each position separately."""
    spans: list[tuple[int, int, str]] = []
    going: tuple[int, str] | None = None
    for place in range(40):
        votes: dict[str, float] = {}
        begun: dict[str, float] = {}
        for label, weight in zip(labels, weights, strict=True):
            for tag in {tag for start, end, tag in label if start <= place < end}:
                votes[tag] = votes.get(tag, 0) + weight
            for tag in {tag for start, _, tag in label if start == place}:
                begun[tag] = begun.get(tag, 0) + weight
        best = max(votes, key=lambda tag: votes[tag], default=None)
        if best is not None and votes[best] <= quorum * sum(weights):
            best = None
        if going is not None and (best != going[1] or begun.get(best, 0) > votes[best] / 2):
            spans.append((going[0], place, going[1]))
            going = None
        if best is not None and going is None:
            going = (place, best)
    return spans


def draw(rng: np.random.Generator) -> list[list[Any]]:
    """Draw four spans that may overlap."""
    starts, lengths = rng.integers(0, 16, 4).tolist(), rng.integers(1, 10, 4).tolist()
    return [[start, start + length, str(rng.choice(["A", "B"]))] for start, length in zip(starts, lengths, strict=True)]


def test_positions_are_decided_one_by_one() -> None:
    rng, checked = np.random.default_rng(2), 0
    for _ in range(40):
        labels = [draw(rng) for _ in range(5)]
        weights = rng.uniform(0.1, 1, 5)
        read = allalike.read([(w, 1, label) for w, label in enumerate(labels)], domain="spans(rule=positions)")
        kernels = Spans(rule="positions", quorum=0.4).learn(Column("label", labels)).kernels
        [block] = (read.encoding.prepare(block) for block in read.blocks(1000))
        truth = kernels.aggregate(block, weights, np.zeros(5), ties=Ties())
        if not truth["tied"][0]:  # the same workers have given both tags to a position
            assert list(truth["label"][0]) == vote_plainly(labels, weights.tolist(), 0.4)
            checked += 1
    assert checked > 10


@pytest.mark.parametrize("rule", ["fusion", "positions"])
def test_the_quorum_decides_what_is_kept(rule: str) -> None:
    sizes = [len(places(solve(TEXT, Spans(rule=rule, quorum=quorum)))[0]) for quorum in (0.3, 0.6, 0.67, 0.99)]
    assert sizes == [3, 3, 1, 1]


def test_what_a_large_quorum_keeps_a_small_one_keeps() -> None:
    rows = answers(6, 5, 8, 0.2)
    objects = [solve(rows, Boxes(quorum=quorum)).objects for quorum in (0.2, 0.5, 0.8)]
    kept = [set(each[["task", "x1"]].itertuples(index=False)) for each in objects]
    assert kept[2] < kept[1] < kept[0]


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


def test_objects_without_classes_are_there_or_not_for_methods_of_two_classes() -> None:
    bare = [(w, t, [[box[side] for side in SIDES] for box in boxes]) for w, t, boxes in answers(1, 6, 10, 0.2)]
    assert len(allalike.discover(bare, domain="boxes", method="IBP").objects) > 5


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
