"""Spans of texts: their forms, three distances, and what is made of them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

import allalike
from allalike import Result, Spans
from allalike._core.blocks.block import Ties
from allalike._core.columns.column import Column
from allalike.errors import LabelError
from allalike.testing import check_domain
from crowds.samples import Row, crowd

ADA = [[0, 4, "PER"], [9, 12, "PER"], [16, 24, "LOC"]]
BOB = [[0, 4, "PER"], [16, 24, "LOC"]]
EVE = [[9, 12, "PER"], [20, 24, "LOC"]]
ANNA_MET_BOB_IN_NEW_YORK = [("ada", 1, ADA), ("bob", 1, BOB), ("eve", 1, EVE)]


def solve(rows: list[Row], method: str = "UA", **options: Any) -> Result:
    return allalike.discover(rows, domain=Spans(**options), method=method, plain=True)


def found(result: Result) -> list[tuple[Any, ...]]:
    return [(thing["start"], thing["end"], thing.get("class")) for thing in result.truth["label"][0]]


def distances(*labels: Any, **options: Any) -> list[float]:
    """Return the distances of all pairs of labels."""
    domain = Spans(**options)
    column = Column("label", list(labels))
    encoding = domain.learn(column)
    codes = encoding.encode(column)
    left, right = np.triu_indices(len(labels), 1)
    measured: list[float] = encoding.kernels.distance_between(codes[left], codes[right]).tolist()
    return measured


@pytest.mark.parametrize(
    ("distance", "expected"),
    [("overlap", [1 / 5, 2 / 5, 3 / 4]), ("exact", [0.2, 0.6, 1]), ("characters", [0.2, 8 / 15, 11 / 15])],
)
def test_three_workers_are_as_far_apart_as_is_known(distance: str, expected: list[float]) -> None:
    assert distances(ADA, BOB, EVE, distance=distance) == pytest.approx(expected)
    workers = solve(ANNA_MET_BOB_IN_NEW_YORK, "P-TD(weighting='max')", distance=distance).workers
    pairs = np.array([[expected[0], expected[1]], [expected[0], expected[2]], [expected[1], expected[2]]])
    assert workers["disparity"].tolist() == pytest.approx(pairs.mean(axis=1))


@pytest.mark.parametrize(("distance", "weights"), [("overlap", [11 / 15, 4 / 15, 0]), ("exact", [2 / 3, 1 / 3, 0])])
def test_weights_follow_from_distances(distance: str, weights: list[float]) -> None:
    result = solve(ANNA_MET_BOB_IN_NEW_YORK, "P-TD(weighting='max')", distance=distance, quorum=0.5)
    assert result.workers["weight"].tolist() == pytest.approx(weights)
    if distance == "overlap":
        assert result.objects["confidence"].tolist() == pytest.approx([1, 11 / 15, 1])


def test_what_most_have_seen_is_kept_where_most_have_seen_it() -> None:
    result = solve(ANNA_MET_BOB_IN_NEW_YORK, quorum=0.5)
    assert found(result) == [(0, 4, "PER"), (9, 12, "PER"), (16, 24, "LOC")]
    assert result.objects["confidence"].tolist() == pytest.approx([2 / 3, 2 / 3, 1])
    assert result.objects["spread"].tolist() == pytest.approx([0, 0, 1 / 6])
    assert solve(ANNA_MET_BOB_IN_NEW_YORK).summary["domain"]["quorum"] == 0.45


def test_a_span_inside_another_is_a_span_of_its_own() -> None:
    both = [[0, 8, "name"], [0, 3, "name.first"]]
    result = solve([("ada", 1, both), ("bob", 1, both), ("eve", 1, both[:1])], quorum=0.5)
    assert found(result) == [(0, 3, "name.first"), (0, 8, "name")]
    assert result.objects["confidence"].tolist() == pytest.approx([2 / 3, 1])
    assert distances(both, both) == [0.0]


def as_positions(label: list[list[Any]]) -> set[tuple[int, str]]:
    return {(place, tag) for start, end, tag in label for place in range(start, end)}


def plain_distance(left: list[Any], right: list[Any], distance: str) -> float:
    """Compare two labels as it is defined, one pair of spans after the other."""
    from scipy.optimize import linear_sum_assignment

    if distance == "characters":
        one, other = as_positions(left), as_positions(right)
        return 1 - len(one & other) / len(one | other) if one | other else 0.0
    if not left or not right:
        return float(bool(left) != bool(right))
    if distance == "exact":
        same = (Counter(map(tuple, left)) & Counter(map(tuple, right))).total()
        return 1 - 2 * same / (len(left) + len(right))
    shared = np.zeros((len(left), len(right)))
    for i, (start, end, tag) in enumerate(left):
        for j, (begin, behind, other_tag) in enumerate(right):
            both = len(set(range(start, end)) & set(range(begin, behind)))
            shared[i, j] = both / (end - start + behind - begin - both) if tag == other_tag else 0.0
    return 1 - 2 * float(shared[linear_sum_assignment(shared, maximize=True)].sum()) / (len(left) + len(right))


def draw(rng: np.random.Generator, size: int, last: int, longest: int) -> list[list[Any]]:
    """Draw spans that may overlap."""
    starts, lengths = rng.integers(0, last, size).tolist(), rng.integers(1, longest + 1, size).tolist()
    return [[start, start + length, str(rng.choice(["A", "B"]))] for start, length in zip(starts, lengths, strict=True)]


@pytest.mark.parametrize("distance", Spans.distances)
def test_distances_are_what_a_plain_loop_says(distance: str) -> None:
    rng = np.random.default_rng(1)
    labels = [draw(rng, size, 12, 6) for size in [*rng.integers(0, 6, 30), 0, 0]]
    expected = [plain_distance(a, b, distance) for k, a in enumerate(labels) for b in labels[k + 1 :]]
    assert distances(*labels, distance=distance) == pytest.approx(expected, abs=1e-12)
    task = allalike.read([(w, 1, label) for w, label in enumerate(labels)], domain=Spans(distance=distance))
    [block] = (task.encoding.prepare(block) for block in task.blocks(1000))
    weights = np.linspace(1.0, 2.0, len(labels))
    matrix = np.zeros((len(labels), len(labels)))
    matrix[np.triu_indices(len(labels), 1)] = expected
    sums = task.encoding.kernels.peer_sums(block, weights)["distance"]
    np.testing.assert_allclose(sums, (matrix + matrix.T) @ weights)


@pytest.mark.parametrize("rule", ["fusion", "positions"])
def test_the_quorum_decides_what_is_kept(rule: str) -> None:
    for quorum, expected in ((0.3, 3), (0.6, 3), (0.67, 1), (0.99, 1)):
        assert len(found(solve(ANNA_MET_BOB_IN_NEW_YORK, rule=rule, quorum=quorum))) == expected


def vote_plainly(labels: list[Any], weights: list[float], quorum: float) -> list[tuple[int, int, str]]:
    """Decide each position by itself."""
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


def test_positions_are_decided_one_by_one() -> None:
    rng, checked = np.random.default_rng(2), 0
    for _ in range(40):
        labels = [draw(rng, 4, 16, 9) for _ in range(5)]
        weights = rng.uniform(0.1, 1, 5)
        answers = allalike.read([(w, 1, label) for w, label in enumerate(labels)], domain="spans(rule=positions)")
        kernels = Spans(rule="positions", quorum=0.4).learn(Column("label", labels)).kernels
        [block] = (answers.encoding.prepare(block) for block in answers.blocks(1000))
        truth = kernels.aggregate(block, weights, np.zeros(5), ties=Ties())
        if not truth["tied"][0]:  # where the same workers have put both tags somewhere
            assert list(truth["label"][0]) == vote_plainly(labels, weights.tolist(), 0.4)
            checked += 1
    assert checked > 10


def test_a_name_begins_anew_where_most_begin_one() -> None:
    two, one = [[0, 3, "PER"], [3, 6, "PER"]], [[0, 6, "PER"]]
    rows = [("ada", 1, two), ("bob", 1, two), ("eve", 1, one)]
    assert found(solve(rows, rule="positions", quorum=0.5)) == [(0, 3, "PER"), (3, 6, "PER")]
    rows = [("ada", 1, two), ("bob", 1, one), ("eve", 1, one)]
    assert found(solve(rows, rule="positions", quorum=0.5)) == [(0, 6, "PER")]


TAGGED = [[0, 2, "PER"], [3, 4, "LOC"], [4, 5, "LOC"]]


@pytest.mark.parametrize(
    "tags",
    [
        "I-PER I-PER O I-LOC B-LOC",  # IOB1
        "B-PER I-PER O B-LOC B-LOC",  # IOB2
        "B-PER L-PER O U-LOC U-LOC",  # BILOU
        "B-PER E-PER O S-LOC S-LOC",  # BIOES
        ["B-PER", "I-PER", "O", "I-LOC", "B-LOC"],
        '["B-PER", "I-PER", "O", "I-LOC", "B-LOC"]',
    ],
)
def test_tags_of_tokens_are_spans(tags: Any) -> None:
    assert Spans().parse(tags) == Spans().parse(TAGGED)


@pytest.mark.parametrize(
    "spans",
    [
        json.dumps(TAGGED),
        [{"start": start, "end": end, "label": tag, "token_start": 0} for start, end, tag in TAGGED],  # Prodigy
        [{"start": start, "end": end, "text": "x", "labels": [tag]} for start, end, tag in TAGGED],  # Label Studio
        [{"id": 1, "start_offset": start, "end_offset": end, "label": tag} for start, end, tag in TAGGED],  # doccano
        [{"start": start, "end": end, "type": tag} for start, end, tag in TAGGED],
    ],
)
def test_spans_of_tools_are_the_same_spans(spans: Any) -> None:
    assert Spans().parse(spans) == Spans().parse(TAGGED)


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ([[4, 4, "PER"]], "ends before it has begun"),
        ([[4, 2, "PER"]], "ends before it has begun"),
        ([[0.5, 2, "PER"]], "not a whole number"),
        ([[-1, 2, "PER"]], "not a whole number"),
        ([[0, float("nan"), "PER"]], "not finite"),
        ([[0, "2", "PER"]], "not a number"),
        ([[0, 2, 0.5]], "no class"),
        ([[0, 2, "PER", 1]], "a span must be"),
        ([{"start": 0, "end": 2, "labels": ["PER", "LOC"]}], "one tag"),
        ([{"x": 0}], "no start and end"),
        ([[0, 2, "PER"], {"start": 0, "end": 2, "label": "PER"}], "different forms"),
        ([[0, 2, "PER"], [0, 2]], "only some have one"),
        ("Anna met Bob", "neither a JSON list"),
        ("[[0, 2", "no JSON list"),
        ([[0, 1]] * 10_001, "raise most="),
    ],
)
def test_what_is_no_span_is_refused_with_its_row(label: Any, reason: str) -> None:
    good: Any = [[0, 2, "PER"]] if isinstance(label, list) else '[[0, 2, "PER"]]'
    rows = [("ada", 1, good), ("bob", 1, label)]
    rows = rows[1:] * 2 if isinstance(label[0], dict) else rows
    with pytest.raises(LabelError, match=rf"row [12].*{reason}"):
        allalike.read(rows, domain="spans")


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (["O", "B-PER"], "tags of tokens"),
        ([{"start": 0, "end": 1, "label": "PER"}], "objects"),
        ([[0, 2]], "without classes"),
    ],
)
def test_forms_are_not_mixed(label: Any, reason: str) -> None:
    with pytest.raises(LabelError, match=rf"row 1 is .* row 2 is {reason}"):
        allalike.read([("ada", 1, [[0, 2, "PER"]]), ("bob", 1, label)], domain="spans")


def test_ends_on_which_workers_differ_are_drawn_and_never_averaged() -> None:
    rows = [(worker, task, [[0, 10 + worker, "PER"]]) for worker in range(2) for task in range(200)]
    result = solve(rows)
    ends = Counter(label[0]["end"] for label in result.truth["label"])
    assert set(ends) == {10, 11}
    assert 60 < ends[10] < 140
    assert result.truth["tied"].all()


@pytest.mark.parametrize("options", [{"distance": "exact"}, {"distance": "characters"}, {"rule": "positions"}])
def test_spans_keep_the_laws_of_domains(options: dict[str, Any]) -> None:
    rows = crowd("spans", seed=5, n=5, m=5, missing=0.2)
    if options.get("rule") == "positions":  # which joins what two spans of one answer cover
        rows = [(worker, task, [span for k, span in enumerate(spans) if k == 0]) for worker, task, spans in rows]
    check_domain(Spans(**options), rows)


def test_texts_without_names_are_without_names() -> None:
    result = solve([("ada", 1, []), ("bob", 1, []), ("ada", 2, ["O", "O"]), ("eve", 2, [])])
    assert result.truth["label"].tolist() == [[], []]
    assert result.truth["confidence"].tolist() == [1, 1]
    assert solve([("ada", 1, [])], rule="positions").truth["label"].tolist() == [[]]
    assert solve([("ada", 1, [[0, 2]])], method="iP-TD").truth["label"][0][0]["end"] == 2


def places(result: Result) -> list[Any]:
    return [[(s["start"], s["end"], s["class"]) for s in label] for label in result.truth["label"]]


def test_moving_all_spans_moves_the_truth() -> None:
    rows = crowd("spans", seed=7, n=5, m=6)
    moved = [(w, t, [{**s, "start": s["start"] + 90, "end": s["end"] + 90} for s in spans]) for w, t, spans in rows]
    first, other = solve(rows, "iP-TD", quorum=0.4), solve(moved, "iP-TD", quorum=0.4)
    np.testing.assert_allclose(other.workers["weight"], first.workers["weight"])
    agreed = first.truth["tied"] | other.truth["tied"]  # a draw depends on what is drawn
    back = [[(start - 90, end - 90, tag) for start, end, tag in spans] for spans in places(other)]
    assert [spans for spans, tied in zip(back, agreed, strict=True) if not tied] == [
        spans for spans, tied in zip(places(first), agreed, strict=True) if not tied
    ]
    assert not agreed.all()


def test_everyone_twice_finds_the_same_and_a_lower_quorum_keeps_more() -> None:
    rows = crowd("spans", seed=8, n=5, m=6)
    twice = [*rows, *((f"{worker} again", task, spans) for worker, task, spans in rows)]
    assert places(solve(twice, quorum=0.5)) == places(solve(rows, quorum=0.5))
    for low, high in ((0.2, 0.4), (0.4, 0.6)):
        more, fewer = places(solve(rows, quorum=low)), places(solve(rows, quorum=high))
        assert all(set(few) <= set(many) for few, many in zip(fewer, more, strict=True))
