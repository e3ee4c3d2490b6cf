"""Results of kernels and methods, recomputed by brute force, linear algebra or another library."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import pdist, squareform

import allalike
from allalike import DTD, PTD, PTDAK, Categorical
from allalike._core.blocks.block import Block, Ties
from allalike._core.columns.column import Column
from allalike.domains import Custom
from allalike.engines import Engine
from allalike.noise import Gaussian
from allalike.rules.mean import mean, median
from crowds.samples import Row, crowd, rows


def pairwise(answers: list[Row], domain: str) -> dict[tuple[str, str], list[float]]:
    """List the distances of each ordered pair of workers, one per common task."""
    found: dict[tuple[str, str], list[float]] = {}
    for left, right in permutations(answers, 2):
        if left[1] == right[1]:
            apart = (left[2] - right[2]) ** 2 if domain == "real" else float(left[2] != right[2])
            found.setdefault((left[0], right[0]), []).append(apart)
    return found


@pytest.mark.parametrize("domain", ["categorical", "real"])
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_disparities_are_averages_over_pairs(domain: str, missing: float, engine: Engine) -> None:
    answers = crowd(domain, seed=1, n=6, m=12, missing=missing)
    pairs = pairwise(answers, domain)
    workers = sorted({worker for worker, _, _ in answers})
    pooled = [np.mean([d for (i, _), ds in pairs.items() if i == w for d in ds]) for w in workers]
    per_pair = [np.mean([np.mean(ds) for (i, _), ds in pairs.items() if i == w]) for w in workers]
    found = allalike.discover(answers, domain=domain, method=PTD(), engine=engine)
    np.testing.assert_allclose(found.workers["disparity"], pooled)
    found = allalike.discover(answers, domain=domain, method=PTD(per_pair=True), engine=engine)
    np.testing.assert_allclose(found.workers["disparity"], per_pair)


def test_the_mean_distance_of_incomplete_answers_counts_every_pair_of_answers_once() -> None:
    answers = crowd("categorical", seed=7, n=6, m=40)
    answers = [a for a in answers if a[0] < "w003" or a[1] < "t0004"]  # half of the workers answer a tenth
    pairs = pairwise(answers, "categorical")
    mubar = float(np.mean([d for ds in pairs.values() for d in ds])) / 2
    result = allalike.discover(answers, domain=Categorical(classes=3), method=PTDAK()).workers
    expected = (result["disparity"] - mubar) / (1 - 1.5 * mubar)
    np.testing.assert_allclose(result["mean_error"], expected)


@given(
    n=st.integers(3, 9),
    ridge=st.sampled_from([0.0, 2.0, 4.0]) | st.floats(0, 50),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_closed_form_solves_the_regularised_least_squares(n: int, ridge: float, seed: int) -> None:
    upper = np.triu(np.random.default_rng(seed).uniform(0, 10, (n, n)), 1)
    distances = upper + upper.T
    pairs = list(permutations(range(n), 2))
    design = np.zeros((len(pairs), n))
    for row, (i, j) in enumerate(pairs):
        design[row, [i, j]] = 1
    target = np.array([distances[i, j] for i, j in pairs])
    np.testing.assert_array_equal(design.T @ design, 2 * (n - 2) * np.eye(n) + 2)
    expected = np.linalg.solve(design.T @ design + ridge * np.eye(n), design.T @ target)
    disparity = distances.sum(axis=1) / (n - 1)
    mubar = float(disparity.mean() / 2)
    found = Gaussian(ridge=ridge).fault(disparity, mubar)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


numbers = arrays(np.float64, st.tuples(st.integers(3, 6), st.integers(1, 8)), elements=st.integers(-50, 50).map(float))


@settings(max_examples=50)
@given(matrix=numbers)
@pytest.mark.long
def test_distance_to_the_mean_is_ridge_four(matrix: npt.NDArray[np.float64]) -> None:
    ridge = allalike.discover(rows(matrix), domain="real", method=PTDAK(ridge=4))
    distance = allalike.discover(rows(matrix), domain="real", method=DTD())
    np.testing.assert_allclose(ridge.weighing.fault, distance.weighing.fault, atol=1e-9)
    if ridge.weighing.fault.min() > 0.02 * ridge.workers["disparity"].mean() / 2:  # otherwise their smoothing differs
        np.testing.assert_allclose(ridge.workers["weight"], distance.workers["weight"], atol=1e-9)
    by_max = allalike.discover(rows(matrix), domain="real", method=DTD(weighting="max")).workers["weight"]
    proximity = allalike.discover(rows(matrix), domain="real", method=PTD(weighting="max")).workers["weight"]
    np.testing.assert_allclose(by_max, proximity, atol=1e-9)


@given(
    values=st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 5)), min_size=1, max_size=9).filter(
        lambda pairs: any(weight for _, weight in pairs)
    )
)
def test_the_weighted_median_is_the_median_of_repeated_values(values: list[tuple[int, int]]) -> None:
    label = np.array([[float(value)] for value, _ in values])
    weights = np.array([weight for _, weight in values], np.float64)
    repeated = [value for value, weight in values for _ in range(weight)]
    found = median(Block.of(label), weights / weights.sum(), np.zeros(len(values)), Ties())
    assert found.label[0] == pytest.approx(np.median(repeated))


def test_large_offsets_cost_no_digits() -> None:
    matrix = np.random.default_rng(3).normal(size=(6, 50)).round(3)
    near = allalike.discover(rows(matrix), domain="real").workers
    for offset in (1e6, 1e8):
        far = allalike.discover(rows(matrix + offset), domain="real").workers
        np.testing.assert_allclose(far["rmse"], near["rmse"], rtol=1e-5)  # the answers themselves have lost 8 digits
        exact = allalike.discover(rows(np.round(matrix * 1024) + offset * 1024), domain="real").workers
        reference = allalike.discover(rows(np.round(matrix * 1024)), domain="real").workers
        np.testing.assert_allclose(exact["rmse"], reference["rmse"], rtol=1e-12)


def test_weighing_a_matrix_equals_weighing_the_answers() -> None:
    matrix = np.random.default_rng(4).integers(0, 3, (6, 20))
    distances = squareform(pdist(matrix, "hamming"))
    for method in ("P-TD", "iP-TD(max_iter=100)"):
        by_answers = allalike.discover(rows(matrix), domain="categorical", method=method).workers
        by_matrix = allalike.weights_from_distances(distances, workers=[f"w{i:03d}" for i in range(6)], method=method)
        for column in ("disparity", "mean_error", "weight"):
            np.testing.assert_allclose(by_matrix[column], by_answers[column], atol=1e-12)


def test_similarities_keep_the_order_and_weigh_by_the_average_similarity() -> None:
    distances = squareform(pdist(np.random.default_rng(5).integers(0, 3, (6, 20)), "hamming"))
    similar = 1 - distances
    by_distance = allalike.weights_from_distances(distances, method="P-TD")
    by_similarity = allalike.weights_from_distances(similar, similarity=True, method="P-TD")
    np.testing.assert_allclose(by_similarity["weight"], by_distance["weight"], atol=1e-12)
    direct = allalike.weights_from_distances(similar, similarity=True, method=PTD(weighting="chance"))["weight"]
    average = (similar.sum(axis=1) - 1) / 5
    np.testing.assert_allclose(direct, average / average.sum())


def test_a_pair_without_a_common_task_is_left_out_of_a_matrix() -> None:
    distances = np.array([[0, 1, np.nan], [1, 0, 3], [np.nan, 3, 0]])
    found = allalike.weights_from_distances(distances, method="P-TD")
    assert found["disparity"].tolist() == [1, 2, 3]
    labels = Column.of_objects("label", [0, 1, 2])
    encoding = Custom(distance=distances).learn(labels)
    block = replace(Block.of([[0], [1], [2]]), label=encoding.encode(labels))
    sums = encoding.kernels.pair_sums(encoding.prepare(block))
    np.testing.assert_array_equal(sums["common"], [[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_the_standard_error_is_that_of_a_weighted_mean() -> None:
    result = allalike.discover(crowd("real", seed=6, missing=0.4), domain="real", method=PTDAK(ridge=4))
    weight = dict(zip(result.workers["worker"], result.workers["weight"], strict=True))
    fault = dict(zip(result.workers["worker"], result.weighing.fault, strict=True))
    answers = [w for w, t, _ in crowd("real", seed=6, missing=0.4) if t == "t0003"]
    w, f = (np.array([table[worker] for worker in answers]) for table in (weight, fault))
    assert result.truth["standard_error"][3] == pytest.approx(np.sqrt((w**2 * f).sum()) / w.sum())


def test_where_nobody_has_weight_all_count_the_same(engine: Engine) -> None:
    answers = [(w, t, 1) for w in ("a", "b", "c") for t in range(6)]
    answers += [("x", 9, 2), ("y", 9, 3), ("z", 9, 3), ("x", 0, 2), ("y", 0, 2), ("z", 0, 2)]
    faults = {"a": 0.1, "b": 0.1, "c": 0.1, "x": 0.9, "y": 0.9, "z": 0.9}
    result = allalike.discover(answers, domain=Categorical(classes=3), method=allalike.OA(faults=faults), engine=engine)
    assert result.workers["weight"].tolist()[3:] == [0, 0, 0]
    found = result.truth.set_index("task").loc[9]
    assert (found["label"], found["confidence"]) == (3, pytest.approx(2 / 3))
    weightless = Block.of([[2.0], [3.0], [4.0]]), np.zeros(3), np.ones(3), Ties()
    assert mean(*weightless).label == median(*weightless).label == 3
