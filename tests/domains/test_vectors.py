"""Vectors: three distances, means and medians, and what is not a vector."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group

import allalike
from allalike import ConvergenceWarning, Memory
from allalike._core.blocks.block import Block, Ties
from allalike.domains.vector import Vector
from allalike.errors import GoldError, LabelError
from allalike.rules.geometric import geometric_median
from crowds.samples import crowd
from crowds.vector import answers

METRICS: dict[str, Any] = {"squared": "sqeuclidean", "cosine": "cosine", "euclidean": "euclidean"}
RULES = ("mean", "geometric median", "medoid", "best worker")


def solve(rows: list[tuple[Any, Any, Any]], **options: Any) -> allalike.Result:
    chosen = {name: options.pop(name) for name in ("method", "engine", "gold") if name in options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return allalike.discover(rows, domain=Vector(**options), ties="first", **{"method": "UA", **chosen})


def labels(result: allalike.Result) -> Any:
    return np.array(result.truth["label"].tolist())


def block_of(points: Any) -> Block:
    """Make a block of points[worker, task, coordinate]."""
    n, m, d = points.shape
    return replace(Block.of(np.arange(n * m).reshape(n, m)), label=points.transpose(1, 0, 2).reshape(-1, d))


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("distance", METRICS)
def test_disparity_is_the_mean_distance_of_scipy(distance: str, rule: str, missing: float) -> None:
    rows = answers(1, 5, 12, missing)
    for block_answers in (1, 1000):
        result = solve(rows, distance=distance, rule=rule, engine=Memory(block_answers=block_answers))
        sums, counts = dict.fromkeys(result.workers["worker"], 0.0), dict.fromkeys(result.workers["worker"], 0)
        for task in {task for _, task, _ in rows}:
            here = [(who, label) for who, where, label in rows if where == task]
            apart = cdist(np.array([v for _, v in here]), np.array([v for _, v in here]), METRICS[distance])
            for place, (who, _) in enumerate(here):
                sums[who] += apart[place].sum()
                counts[who] += len(here) - 1
        expected = [sums[who] / counts[who] for who in result.workers["worker"]]
        np.testing.assert_allclose(result.workers["disparity"], expected, rtol=1e-10)


@pytest.mark.parametrize("distance", METRICS)
def test_per_pair_sums_agree_with_pooled_ones_on_complete_data(distance: str) -> None:
    rows = answers(2, 5, 12, 0.0)
    one, other = (solve(rows, distance=distance, method=m) for m in ("P-TD", "P-TD(per_pair=True)"))
    np.testing.assert_allclose(one.workers["disparity"], other.workers["disparity"], rtol=1e-10)


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize(
    "method", ["UA", "OA", "P-TD", "P-TD-AK", "P-TD-AK(ridge=4)", "iP-TD", "D-TD", "D-TD(rounds=3)"]
)
def test_vectors_of_one_number_are_numbers(method: str, missing: float) -> None:
    rows = crowd("real", seed=5, missing=missing)
    gold = {task: label for _, task, label in reversed(rows)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        real = allalike.discover(rows, domain="real", method=method, gold=gold)
    vector = solve([(w, t, [x]) for w, t, x in rows], method=method, gold={t: [x] for t, x in gold.items()})
    for column in ("disparity", "fault", "weight"):
        np.testing.assert_allclose(real.workers[column], vector.workers[column], rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(real.truth["label"], labels(vector)[:, 0], rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(real.truth["error"], vector.truth["error"], rtol=1e-11)
    assert vector.summary["gold"]["error"] == pytest.approx(real.summary["gold"]["error"])
    assert vector.truth["changed"].tolist() == real.truth["changed"].tolist()


@pytest.mark.parametrize("distance", METRICS)
def test_the_mean_is_that_of_numpy(distance: str) -> None:
    rows = answers(3, 6, 15, 0.3)
    result = solve(rows, distance=distance, method="P-TD")
    weight = dict(zip(result.workers["worker"], result.workers["weight"], strict=True))
    for task, label in zip(result.truth["task"], labels(result), strict=True):
        given = [(weight[who], vector) for who, where, vector in rows if where == task]
        np.testing.assert_allclose(label, np.average([v for _, v in given], axis=0, weights=[w for w, _ in given]))
    assert result.truth["confidence"].isna().all()
    assert result.truth["error"].isna().all() == (distance != "squared")


def unrest(points: Any, weight: Any, label: Any) -> float:
    """Return by how much the condition of a geometric median is missed, relative to the weight."""
    away = points - label
    length = np.linalg.norm(away, axis=1)
    here = length <= 1e-14 * length.max()
    pull = (np.where(here, 0, weight) / np.where(here, 1, length)) @ away
    return max(0.0, float(np.linalg.norm(pull) - weight[here].sum()) / float(weight.sum()))


@pytest.mark.parametrize(("n", "d"), [(3, 2), (4, 2), (5, 2), (5, 3), (10, 1), (7, 20), (30, 4)])
def test_geometric_medians_meet_their_condition(n: int, d: int) -> None:
    rng = np.random.default_rng(n * d)
    points, weight = rng.standard_normal((n, 300, d)), rng.uniform(0, 1, n)
    points[:, ::3, 1:] *= 1e-3  # almost on a line
    points[: n // 2, 1::3] = points[:1, 1::3]  # several alike
    found = geometric_median(block_of(points), weight, np.zeros(n), Ties()).label
    assert max(unrest(points[:, t], weight, found[t]) for t in range(300)) < 1e-8


def test_geometric_medians_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    points, weight = rng.standard_normal((6, 25, 3)) + 5, rng.uniform(0.1, 1, 6)
    found = geometric_median(block_of(points), weight, np.zeros(6), Ties()).label

    def cost(z: Any, task: int) -> float:
        return float(weight @ np.linalg.norm(points[:, task] - z, axis=1))

    for task in range(25):
        best = minimize(cost, points[:, task].mean(axis=0), (task,), method="Nelder-Mead", options={"xatol": 1e-9})
        assert cost(found[task], task) <= best.fun * (1 + 1e-9)
        np.testing.assert_allclose(found[task], best.x, atol=1e-4)


def test_geometric_medians_of_a_line_are_weighted_medians() -> None:
    rng = np.random.default_rng(1)
    rows = [(f"w{i}", t, float(x)) for t in range(50) for i, x in enumerate(rng.standard_normal(7))]
    real = allalike.discover(rows, domain="real(rule='median')", method="UA")
    found = solve([(w, t, [x]) for w, t, x in rows], rule="geometric median")
    np.testing.assert_allclose(labels(found)[:, 0], real.truth["label"], rtol=0, atol=1e-11)


def test_half_of_the_weight_decides_a_geometric_median_alone() -> None:
    points = np.array([[[0.0, 0.0]], [[1.0, 7.0]], [[-3.0, 4.0]]])
    found = geometric_median(block_of(points), np.array([0.5, 0.2, 0.3]), np.zeros(3), Ties())
    np.testing.assert_array_equal(found.label, [[0.0, 0.0]])
    assert np.isnan(found.confidence).all()


@pytest.mark.parametrize("method", ["P-TD", "P-TD-AK", "iP-TD", "D-TD"])
@pytest.mark.parametrize("rule", RULES)
def test_turning_and_shifting_change_nothing_but_the_labels(rule: str, method: str) -> None:
    turn, shift = ortho_group.rvs(3, random_state=0), np.array([1e3, -50.0, 0.3])
    rows = answers(6, 6, 20, 0.3)
    moved = [(w, t, (turn @ np.array(x) + shift).tolist()) for w, t, x in rows]
    one, other = solve(rows, rule=rule, method=method), solve(moved, rule=rule, method=method)
    for column in ("disparity", "fault", "weight"):
        np.testing.assert_allclose(one.workers[column], other.workers[column], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(labels(one) @ turn.T + shift, labels(other), atol=1e-8)


def test_lengths_do_not_matter_under_cosine() -> None:
    rng, rows = np.random.default_rng(0), answers(6, 6, 20, 0.3)
    stretched = [(w, t, (rng.uniform(1e-3, 1e3) * np.array(x)).tolist()) for w, t, x in rows]
    one, other = (solve(r, distance="cosine", rule="medoid", method="iP-TD") for r in (rows, stretched))
    np.testing.assert_allclose(one.workers["weight"], other.workers["weight"], rtol=1e-9)


def test_a_large_offset_costs_no_digits() -> None:
    rows = [(w, t, [float(8 * k) for k in np.array(x).round()]) for w, t, x in answers(7, 6, 20, 0.3)]
    far = [(w, t, [k + 2.0**40 for k in x]) for w, t, x in rows]
    one, other = solve(rows, method="D-TD"), solve(far, method="D-TD")
    np.testing.assert_allclose(one.workers["fault"], other.workers["fault"], rtol=1e-10)


@pytest.mark.parametrize("distance", METRICS)
@pytest.mark.parametrize("rule", ["medoid", "best worker"])
def test_choices_return_exactly_what_was_given(rule: str, distance: str) -> None:
    rows = [(w, t, [x[0] + 1e6, x[1], x[2]]) for w, t, x in answers(8, 6, 20, 0.3)]
    given = {(task, tuple(label)) for _, task, label in rows}
    truth = solve(rows, rule=rule, distance=distance, method="iP-TD").truth
    assert all((task, tuple(label)) in given for task, label in zip(truth["task"], truth["label"], strict=True))


@pytest.mark.parametrize("distance", METRICS)
def test_the_medoid_is_what_scipy_finds(distance: str) -> None:
    rows = answers(9, 6, 20, 0.3)
    truth = solve(rows, rule="medoid", distance=distance).truth
    for task, label in zip(truth["task"], truth["label"], strict=True):
        here = np.array([vector for _, where, vector in rows if where == task])
        cost = cdist(here, here, METRICS[distance]).sum(axis=1)
        assert cost[np.flatnonzero((here == label).all(axis=1))[0]] <= cost.min() * (1 + 1e-9)


@pytest.mark.parametrize("distance", METRICS)
@pytest.mark.parametrize("rule", RULES)
def test_small_and_uniform_crowds_work(rule: str, distance: str) -> None:
    for method in ("UA", "P-TD", "iP-TD", "D-TD"):
        lone = solve([("ada", 1, [1.0, 2.0])], rule=rule, distance=distance, method=method)
        assert lone.truth["label"].tolist() == [[1.0, 2.0]]
        two = solve([("ada", 1, [1.0, 2.0]), ("bob", 1, [3.0, 0.0])], rule=rule, distance=distance, method=method)
        np.testing.assert_allclose(two.workers["weight"], 0.5)
        alike = [(w, t, [0.1, 0.7]) for w in "abc" for t in (1, 2)]
        same = solve(alike, rule=rule, distance=distance, method=method)
        assert same.truth["label"].tolist() == [[0.1, 0.7]] * 2
        assert same.workers["disparity"].tolist() == [0.0] * 3
        assert not same.truth["changed"].any()


@pytest.mark.parametrize("rule", RULES)
def test_workers_without_any_weight_count_the_same(rule: str) -> None:
    read = allalike.read(answers(1, 4, 5, 0.0), domain=Vector(rule=rule))
    (block,) = map(read.encoding.prepare, read.blocks(1000))
    none, ones = (read.encoding.kernels.decide(block, w, np.zeros(4), Ties()).label for w in (np.zeros(4), np.ones(4)))
    np.testing.assert_allclose(none, ones, rtol=1e-12)


def test_opposite_vectors_have_a_mean_without_direction() -> None:
    rows = [("ada", 1, [1.0, 0.0]), ("bob", 1, [-1.0, 0.0])]
    result = solve(rows, distance="cosine", method="D-TD")
    assert result.truth["label"].tolist() == [[0.0, 0.0]]
    assert result.workers["fault"].tolist() == [1.0, 1.0]


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from(sorted(METRICS)), st.sampled_from(RULES))
@pytest.mark.long
def test_blocks_and_the_order_of_rows_do_not_matter(seed: int, distance: str, rule: str) -> None:
    rows = answers(seed, 5, 8, 0.4)
    order = np.random.default_rng(seed).permutation(len(rows))
    one = solve(rows, distance=distance, rule=rule, method="P-TD")
    other = solve([rows[k] for k in order], distance=distance, rule=rule, method="P-TD", engine=Memory(block_answers=1))
    np.testing.assert_allclose(one.workers["weight"], other.workers["weight"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(labels(one), labels(other), rtol=1e-9, atol=1e-9)


def test_every_way_to_write_a_vector_means_the_same(tmp_path: Path) -> None:
    vectors = [[0.5, 1.0], [0.25, 3.0], [2.0, 2.0]]
    ways: list[list[Any]] = [
        vectors,
        [tuple(v) for v in vectors],
        [np.array(v) for v in vectors],
        [np.array(v, np.float32) for v in vectors],
        [json.dumps(v) for v in vectors],
    ]
    for way in ways:
        result = solve([(f"w{i}", 1, v) for i, v in enumerate(way)])
        np.testing.assert_allclose(labels(result), [np.mean(vectors, axis=0)])
    result.save(tmp_path / "out")
    assert json.loads(pd.read_csv(tmp_path / "out" / "truth.csv")["label"][0]) == result.truth["label"][0]


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("[1.0, NaN]", "not finite"),
        ("[1.0, -Infinity]", "not finite"),
        ("[1.0, 1e200]", "beyond all numbers"),
        (f"[1.0, {10**400}]", "beyond all numbers"),
        ("[1.0]", "1 numbers, but others have 2"),
        ("[1.0, 2.0, 3.0]", "3 numbers, but others have 2"),
        ("[]", "at least one number"),
        ('[1.0, "2"]', "list of numbers"),
        ("[1.0, null]", "list of numbers"),
        ("[1.0, true]", "list of numbers"),
        ("[[1.0, 2.0]]", "list of numbers"),
        ("[1.0, 2.0", "JSON"),
        ("1.0 2.0", "JSON"),
        ("[" * 100_000, "nested"),
    ],
)
def test_a_label_that_is_no_vector_is_named_with_its_row(label: str, reason: str) -> None:
    with pytest.raises(LabelError, match="row 2") as error:
        solve([("ada", 1, "[1.0, 2.0]"), ("bob", 1, label)])
    assert reason in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("label", [3, 2.5, {"a": 1}, np.array([[1.0]]), np.array(["a"]), np.array([None, 1.0]), 1j])
def test_objects_that_are_no_vectors_are_refused(label: Any) -> None:
    with pytest.raises(LabelError, match="list of"):
        solve([("ada", 1, label), ("bob", 1, label)])


def test_a_zero_vector_has_no_direction() -> None:
    rows = [("ada", 1, [1.0, 0.0]), ("bob", 1, [0.0, -0.0])]
    with pytest.raises(LabelError, match="row 2 is zero"):
        solve(rows, distance="cosine")
    assert solve(rows).truth["label"].tolist() == [[0.5, 0.0]]


def test_gold_must_have_the_length_of_the_answers() -> None:
    with pytest.raises(GoldError, match="3 numbers, but others have 2"):
        solve([("ada", 1, [1.0, 0.0]), ("bob", 1, [0.0, 1.0])], gold={1: [1.0, 2.0, 3.0]})


def test_chance_is_known_for_directions_only() -> None:
    assert Vector(distance="cosine").noise.chance == 1.0
    assert Vector(distance="euclidean").noise.chance is None
    assert Vector().noise.estimates_fault
