"""Intervals: Jaccard distance of lengths, the majority of points, and what is not an interval."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allalike
from allalike import Memory
from allalike.distances import lengths
from allalike.domains.interval import Interval
from allalike.errors import LabelError
from crowds.interval import answers

GRID = 24
PAIRS = st.tuples(st.integers(0, GRID), st.integers(0, GRID)).map(lambda pair: sorted(pair))
LABELS = st.lists(st.lists(PAIRS, max_size=4), min_size=1, max_size=6)


def solve(rows: list[tuple[Any, Any, Any]], **options: Any) -> allalike.Result:
    method = options.pop("method", "UA")
    return allalike.discover(rows, domain=Interval(**options), method=method, ties="first")


def cells(label: Any, low: int = 0, high: int = GRID) -> Any:
    """Return which cells of an integer grid a union of intervals covers."""
    at = np.arange(low, high)
    return np.any([(begin <= at) & (at < end) for begin, end in label] or [np.zeros(len(at), np.bool_)], axis=0)


def plain(left: Any, right: Any) -> float:
    either, both = (left | right).sum(), (left & right).sum()
    return 1 - both / either if either else 0.0


@given(LABELS, LABELS)
def test_the_distance_is_that_of_cells_on_a_grid(left: list[Any], right: list[Any]) -> None:
    parse = Interval().parse
    one, other = lengths.pack([parse(label) for label in left]), lengths.pack([parse(label) for label in right])
    i, j = (index.ravel() for index in np.indices((len(left), len(right))))
    expected = [plain(cells(left[a]), cells(right[b])) for a, b in zip(i, j, strict=True)]
    np.testing.assert_allclose(lengths.distance(one, i, other, j), expected, atol=1e-15)


def test_chunks_do_not_change_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    store = lengths.pack([Interval().parse(label) for _, _, label in answers(0, 5, 20, 0.0)])
    i, j = (index.ravel() for index in np.indices((100, 100)))
    whole = lengths.distance(store, i, store, j)
    monkeypatch.setattr(lengths, "_INTERVALS_PER_CHUNK", 50)
    np.testing.assert_array_equal(lengths.distance(store, i, store, j), whole)
    assert (np.diagonal(whole.reshape(100, 100)) == 0).all()


@given(st.lists(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e3)), max_size=6), min_size=1, max_size=5))
def test_with_broken_bounds_it_is_a_metric_and_zero_only_for_equals(raw: list[Any]) -> None:
    labels = [Interval().parse([[start, start + long] for start, long in label]) for label in raw]
    store = lengths.pack(labels)
    i, j = (index.ravel() for index in np.indices((len(labels), len(labels))))
    apart = lengths.distance(store, i, store, j).reshape(len(labels), -1)
    np.testing.assert_allclose(apart, apart.T, atol=1e-12)
    assert (np.diagonal(apart) == 0).all()
    assert ((apart >= 0) & (apart <= 1)).all()
    assert (apart[:, :, None] <= apart[:, None, :] + apart.T[None, :, :] + 1e-9).all()


@pytest.mark.parametrize("block_answers", [1, 1000])
@pytest.mark.parametrize("method", ["UA", "P-TD", "D-TD(rounds=3)"])
def test_the_majority_is_what_a_plain_loop_over_points_finds(method: str, block_answers: int) -> None:
    rows = answers(2, 7, 25, 0.3)
    result = allalike.discover(rows, domain=Interval(), method=method, engine=Memory(block_answers=block_answers))
    weight = dict(zip(result.workers["worker"], result.workers["weight"], strict=True))
    for task, label, confidence in result.truth[["task", "label", "confidence"]].itertuples(index=False):
        given = [(weight[who], cells(label, -200, 600)) for who, where, label in rows if where == task]
        share = sum(w * on for w, on in given) / sum(w for w, _ in given)
        np.testing.assert_array_equal(cells(label, -200, 600), share > 0.5 + 1e-9)
        anyone = np.any([on for _, on in given], axis=0)
        assert confidence == pytest.approx(np.maximum(share, 1 - share)[anyone].mean())
        assert all(left[1] < right[0] for left, right in itertools.pairwise(label))


def test_exactly_half_is_out_and_nothing_is_drawn() -> None:
    truth = solve([("ada", 1, [[0, 4]]), ("bob", 1, [[2, 6]]), ("ada", 2, [[1, 2]]), ("bob", 2, [[1, 2]])]).truth
    assert truth["label"].tolist() == [[[2, 4]], [[1, 2]]]
    assert not truth["tied"].any()
    np.testing.assert_allclose(truth["confidence"], [4 / 6, 1.0])


def test_a_majority_joins_where_its_members_change() -> None:
    rows = [("ada", 1, [[0, 5]]), ("bob", 1, [[0, 9]]), ("eve", 1, [[5, 9]])]
    assert solve(rows).truth["label"].tolist() == [[[0, 9]]]


def test_labels_that_cover_nothing_are_labels_too() -> None:
    result = solve([("ada", 1, []), ("bob", 1, [[3, 3]]), ("eve", 1, "[]")][:2], method="iP-TD")
    assert result.truth["label"].tolist() == [[]]
    assert result.truth["confidence"].tolist() == [1.0]
    assert result.workers["disparity"].tolist() == [0.0, 0.0]
    some = solve([("ada", 1, []), ("bob", 1, []), ("eve", 1, [[0, 1]]), ("eve", 2, [[0, 1]])], method="UA")
    assert some.truth["label"].tolist() == [[], [[0, 1]]]


def test_one_answer_and_equal_answers_are_the_truth() -> None:
    rows = [("ada", 1, [[5, 7], [0, 2], [1, 4]])]
    assert solve(rows, method="iP-TD").truth["label"].tolist() == [[[0, 4], [5, 7]]]
    alike = [(w, t, [[0.1, 0.3], [0.7, 0.9]]) for w in "abc" for t in (1, 2)]
    result = solve(alike, method="iP-TD")
    assert result.truth["label"].tolist() == [[[0.1, 0.3], [0.7, 0.9]]] * 2
    assert (result.workers["disparity"] == 0).all()
    assert not result.truth["changed"].any()


def test_whole_bounds_stay_whole_unless_one_is_broken() -> None:
    whole = solve([("ada", 1, [[0, 4]]), ("bob", 1, [[0, 4]])]).truth["label"][0]
    mixed = solve([("ada", 1, [[0, 4]]), ("bob", 1, [[0, 4.0]])]).truth["label"][0]
    assert repr(whole) == "[[0, 4]]"
    assert repr(mixed) == "[[0.0, 4.0]]"
    assert repr(solve([("ada", 1, [[0, 4]])], rule="medoid").truth["label"][0]) == "[[0, 4]]"


def test_every_way_to_write_intervals_means_the_same() -> None:
    plain_labels: list[Any] = [[[0, 4], [6, 9]], [[1, 4]], [[6, 8]]]
    pieces: list[Any] = [[[6, 9], [0, 2], [2, 4]], [[1, 3], [2, 4], [3, 3]], [[6, 7], [6, 8]]]
    ways = [
        plain_labels,
        pieces,
        [tuple(map(tuple, label)) for label in plain_labels],
        [json.dumps(label) for label in plain_labels],
        [np.array(label) for label in plain_labels],
    ]
    results = [solve([(f"w{i}", 1, label) for i, label in enumerate(labels)], method="P-TD") for labels in ways]
    for result in results:
        assert result.truth["label"].tolist() == results[0].truth["label"].tolist()
        np.testing.assert_array_equal(result.workers["weight"], results[0].workers["weight"])


@pytest.mark.parametrize("rule", ["medoid", "best worker"])
def test_choices_return_a_label_that_was_given(rule: str) -> None:
    rows = answers(4, 6, 20, 0.2)
    given = {(task, repr(Interval().parse(label))) for _, task, label in rows}
    truth = solve(rows, rule=rule, method="iP-TD").truth
    for task, label in zip(truth["task"], truth["label"], strict=True):
        assert (task, repr(Interval().parse(label))) in given


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.floats(-1e4, 1e4), st.floats(0.01, 100))
def test_shifting_and_stretching_change_nothing_but_the_labels(seed: int, shift: float, scale: float) -> None:
    rows = answers(seed, 4, 6, 0.2)
    moved = [(w, t, [[a * scale + shift, b * scale + shift] for a, b in label]) for w, t, label in rows]
    one, other = solve(rows, method="P-TD"), solve(moved, method="P-TD")
    np.testing.assert_allclose(one.workers["disparity"], other.workers["disparity"], rtol=1e-6)
    for left, right in zip(one.truth["label"], other.truth["label"], strict=True):
        np.testing.assert_allclose(np.array(left) * scale + shift, np.array(right), rtol=1e-9, atol=1e-6)


def test_better_workers_weigh_more_and_help() -> None:
    rng = np.random.default_rng(0)
    rows = [
        (w, t, [np.sort(np.array([10, 60]) + rng.normal(0, blur, 2)).tolist()])
        for t in range(40)
        for w, blur in (("a", 0.5), ("b", 0.5), ("c", 30), ("d", 30), ("e", 30))
    ]
    gold = {t: [[10.0, 60.0]] for t in range(40)}
    result = allalike.discover(rows, domain=Interval(), method="iP-TD", gold=gold)
    assert result.workers["weight"][:2].min() > result.workers["weight"][2:].max()
    assert result.summary["gold"]["error"] < result.summary["gold"]["unweighted_error"]


def test_saved_intervals_are_json(tmp_path: Path) -> None:
    solve([(w, 1, "[[0, 4], [6, 9]]") for w in ("ada", "bob")]).save(tmp_path / "out")
    assert json.loads(pd.read_csv(tmp_path / "out" / "truth.csv")["label"][0]) == [[0, 4], [6, 9]]


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("[[5, 3]]", "ends before it starts"),
        ("[[0, NaN]]", "not finite"),
        ("[[0, Infinity]]", "not finite"),
        ("[[-1e999, 0]]", "not finite"),
        ("[[0, 1e200]]", "too large"),
        ('[["0", 4]]', "'0' is not a number"),
        ("[[true, 4]]", "True is not a number"),
        ("[[null, 4]]", "None is not a number"),
        ("[0, 4]", "pair [start, end]"),
        ("[[0, 4, 5]]", "pair [start, end]"),
        ("[[0, 4]", "JSON"),
        ("0-4", "JSON"),
        ('{"start": 0}', "JSON list"),
        ("[" * 100_000, "nested"),
        ("[[0, 9007199254740993]]", "2**53"),
    ],
)
def test_a_label_that_is_no_interval_is_named_with_its_row(label: str, reason: str) -> None:
    with pytest.raises(LabelError, match="row 2") as error:
        solve([("ada", 1, "[]"), ("bob", 1, label)])
    assert reason in str(error.value)
    assert len(str(error.value)) < 300


def test_labels_that_are_no_lists_are_refused() -> None:
    with pytest.raises(LabelError, match="list of intervals"):
        solve([("ada", 1, 3), ("bob", 1, 4)])
