"""What the theory of the paper promises, by simulation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial.distance import pdist, squareform

import allalike
from allalike import OA, PTD, PTDAK
from allalike.noise import Gaussian, OneCoin
from crowds.samples import weigh_problems

pytestmark = pytest.mark.slow

Floats = npt.NDArray[np.float64]


def near(samples: Floats, expected: float) -> None:
    """Check that a mean is within four standard errors of what is expected."""
    error = samples.std(ddof=1) / np.sqrt(len(samples))
    assert abs(samples.mean() - expected) < 4 * error, (samples.mean(), expected, error)


def biased(
    rng: np.random.Generator, repetitions: int, bias: Floats, variance: Floats, types: npt.NDArray[np.int64]
) -> Floats:
    """Draw reports of workers of these types, around a truth that is not zero."""
    m = bias.shape[1]
    noise = rng.normal(size=(repetitions, types.shape[1], m)) * np.sqrt(variance)[types][..., None]
    reports: Floats = rng.normal(0, 3, (repetitions, 1, m)) + bias[types] + noise
    return reports


@pytest.mark.parametrize("first", [0, 1, 2])
def test_expected_disparity_is_own_fault_plus_mean_fault_less_shared_bias(first: int) -> None:
    rng = np.random.default_rng(first)
    bias = np.array([[1.0, 0.0, -1.0], [0.5, 0.5, 0.5], [-2.0, 1.0, 0.0]])
    variance = np.array([0.5, 1.0, 2.0])
    fault = (bias**2).mean(axis=1) + variance
    types = rng.integers(0, 3, (20_000, 6))
    types[:, 0] = first
    disparity = weigh_problems(biased(rng, 20_000, bias, variance, types), PTD()).disparity.reshape(-1, 6)
    shared = (bias[first] * bias.mean(axis=0)).mean()
    near(disparity[:, 0], fault[first] + fault.mean() - 2 * shared)


def test_expected_distance_of_a_pair() -> None:
    rng = np.random.default_rng(3)
    bias, variance = np.array([[1.0, 0.0, -1.0], [-2.0, 1.0, 0.0]]), np.array([0.5, 2.0])
    fault = (bias**2).mean(axis=1) + variance
    types = np.tile([0, 1], (20_000, 1))
    disparity = weigh_problems(biased(rng, 20_000, bias, variance, types), PTD()).disparity.reshape(-1, 2)
    near(disparity[:, 0], fault.sum() - 2 * (bias[0] * bias[1]).mean())


def test_without_bias_half_the_mean_distance_is_the_mean_fault() -> None:
    rng = np.random.default_rng(4)
    variance = np.array([0.5, 1.0, 2.0])
    types = rng.integers(0, 3, (20_000, 6))
    types[:, 0] = 0
    reports = biased(rng, 20_000, np.zeros((3, 4)), variance, types)
    disparity = weigh_problems(reports, PTD()).disparity.reshape(-1, 6)
    near(disparity[:, 0], variance[0] + variance.mean())
    types = rng.integers(0, 3, (20_000, 6))
    reports = biased(rng, 20_000, np.zeros((3, 4)), variance, types)
    near(weigh_problems(reports, PTD()).disparity.reshape(-1, 6).mean(axis=1) / 2, variance.mean())


def test_estimated_faults_are_unbiased_for_any_crowd_without_bias() -> None:
    rng = np.random.default_rng(5)
    variance = np.array([0.2, 0.5, 1.0, 1.5, 3.0])
    types = np.tile(np.arange(5), (20_000, 1))
    fault = weigh_problems(biased(rng, 20_000, np.zeros((5, 6)), variance, types), PTDAK()).fault.reshape(-1, 5)
    for worker in range(5):
        near(fault[:, worker], variance[worker])


@pytest.mark.parametrize("ratio", [0.0, 0.25, 1.0, 4.0, 9.0])
def test_expected_disparity_lies_between_its_bounds_and_both_are_reached(ratio: float) -> None:
    mu = 2.0
    low, high = (1 - np.sqrt(ratio)) ** 2 * mu, (1 + np.sqrt(ratio)) ** 2 * mu
    for sign, expected in ((1, low), (-1, high)):  # everyone reports the same wrong value; the first has its own
        reports = np.full((6, 1), np.sqrt(mu))
        reports[0] = sign * np.sqrt(ratio * mu)
        assert weigh_problems(reports[None], PTD()).disparity[0] == pytest.approx(expected, abs=1e-12)
    rng = np.random.default_rng(6)
    for _ in range(50):
        bias = rng.normal(size=(2, 5))
        fault = (bias**2).mean(axis=1)
        bias[0] *= np.sqrt(ratio * fault[1] / fault[0])
        reports = np.concatenate([bias[:1], np.repeat(bias[1:], 8, axis=0)])
        g = fault[1]
        found = weigh_problems(reports[None], PTD()).disparity[0]
        assert (1 - np.sqrt(ratio)) ** 2 * g - 1e-9 <= found <= (1 + np.sqrt(ratio)) ** 2 * g + 1e-9


def test_separation_needs_a_ninefold_fault_and_that_is_tight() -> None:
    tight = np.array([[3.0], [-1.0], *[[1.0]] * 20])  # truth 0: faults 9, 1, and 1 for all others
    disparity = weigh_problems(tight[None], PTD()).disparity
    crowd = disparity[:2] * 21 - 16  # their distance to each other, 16, apart: both are 4 from the rest
    assert crowd.tolist() == pytest.approx([80, 80])
    rng = np.random.default_rng(7)
    for _ in range(200):
        others = rng.normal(size=(1, 4))
        mu = float((others**2).mean())
        good, bad = rng.normal(size=(2, 4))
        good *= np.sqrt(0.99 * mu / (good**2).mean())
        bad *= np.sqrt(9.01 * mu / (bad**2).mean())
        reports = np.concatenate([[good], [bad], np.repeat(others, 400, axis=0)])
        found = weigh_problems(reports[None], PTD()).disparity
        assert found[1] > found[0]


@pytest.mark.parametrize("classes", [2, 4])
def test_one_coin_disparity_is_linear_in_the_fault(classes: int) -> None:
    faults = np.array([0.05, 0.2, 0.4, 0.6])
    c = classes / (classes - 1)
    truth = np.arange(400_000) % classes
    reports = OneCoin(classes=classes).sample(truth, faults, seed=8)
    disparity = weigh_problems(reports[None], PTD(), classes).disparity
    for i, fault in enumerate(faults):
        others = np.delete(faults, i).mean()
        assert disparity[i] == pytest.approx(others + (1 - c * others) * fault, abs=0.003)
    if classes == 2:  # Kurvers' identity: average agreement is p_i p + (1 - p_i)(1 - p)
        p = 1 - faults
        for i in range(4):
            q = np.delete(p, i).mean()
            assert 1 - disparity[i] == pytest.approx(p[i] * q + (1 - p[i]) * (1 - q), abs=0.003)


def test_the_slope_changes_its_sign_where_workers_guess() -> None:
    model, truth = OneCoin(classes=4), np.arange(100_000) % 4
    for rest, sign in ((0.6, 1), (0.9, -1)):
        reports = model.sample(truth, np.array([0.1, 0.5, *[rest] * 10]), seed=9)
        disparity = weigh_problems(reports[None], PTD(), 4).disparity
        assert np.sign(disparity[1] - disparity[0]) == sign


@pytest.mark.parametrize("mu", ["half", "exact"])
def test_the_exact_mean_fault_makes_one_coin_faults_consistent(mu: str) -> None:
    faults = np.linspace(0.1, 0.5, 40)
    reports = OneCoin(classes=3).sample(np.arange(60_000) % 3, faults, seed=10)
    off = np.abs(weigh_problems(reports[None], PTDAK(mu=mu), 3).fault - faults).max()
    assert (off < 0.02) == (mu == "exact")


@pytest.mark.parametrize("norm", ["cityblock", "euclidean"])
def test_bounds_for_metrics_under_symmetric_noise(norm: str) -> None:
    rng = np.random.default_rng(11)
    scale = rng.uniform(0.2, 3, 120)
    reports = scale[:, None] * rng.normal(size=(120, 2000))
    unit = 2000 if norm == "cityblock" else np.sqrt(2000)
    fault = (np.abs(reports).sum(axis=1) if norm == "cityblock" else np.linalg.norm(reports, axis=1)) / unit
    distances = pdist(reports, "cityblock") if norm == "cityblock" else pdist(reports)
    disparity = allalike.weigh(squareform(distances) / unit, method="P-TD")["disparity"].to_numpy()
    for i in range(120):
        others = np.delete(fault, i)
        slack = 0.05 * disparity[i]
        assert max(others.mean(), fault[i]) <= np.maximum(fault[i], others).mean() + 1e-12
        assert np.maximum(fault[i], others).mean() <= disparity[i] + slack
        assert disparity[i] <= others.mean() + fault[i] + slack
        if fault[i] >= others.mean():
            assert disparity[i] / 2 - slack <= fault[i] <= disparity[i] + slack


def test_average_cosine_ranks_workers_as_the_average_distance_does() -> None:
    vectors = np.random.default_rng(12).normal(size=(9, 5))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = vectors @ vectors.T
    np.testing.assert_allclose(squareform(pdist(vectors, "sqeuclidean")), 2 * (1 - cosine), atol=1e-12)
    by_cosine = allalike.weigh(cosine, similarity=True, method="P-TD")["weight"]
    by_distance = allalike.weigh(2 * (1 - cosine), method="P-TD")["weight"]
    np.testing.assert_allclose(by_cosine, by_distance, atol=1e-12)


def errors(m: int, repetitions: int) -> dict[str, float]:
    """Return the mean error of the oracle and of two ridges, five workers whose standard deviation is N(1, 0.5)."""
    rng = np.random.default_rng(m)
    sd = rng.normal(1, 0.5, (4 * repetitions, 5))
    sd = sd[(sd > 0).all(axis=1)][:repetitions]
    reports = sd[..., None] * rng.normal(size=(repetitions, 5, m))
    oracle = OA(faults=dict(enumerate((sd**2).ravel())))
    methods = {"oracle": oracle, "ridge 0": PTDAK(), "ridge 4": PTDAK(ridge=4)}
    found = {}
    for name, method in methods.items():
        weight = weigh_problems(reports, method).weight.reshape(repetitions, 5)
        found[name] = float(np.square(np.einsum("rn,rnm->rm", weight, reports)).mean())
    return found


def test_with_many_tasks_the_estimate_without_ridge_comes_near_the_oracle() -> None:
    many, few = errors(400, 1000), errors(4, 4000)
    assert many["oracle"] == pytest.approx(0.1226, rel=0.1)
    assert many["ridge 0"] == pytest.approx(many["oracle"] * 0.1246 / 0.1226, rel=0.02)
    assert many["ridge 0"] < many["ridge 4"]
    assert few["ridge 4"] < few["ridge 0"]


def test_the_standard_error_is_honest_where_faults_are_variances() -> None:
    rng = np.random.default_rng(13)
    truth, variance = rng.normal(0, 5, 4000), rng.uniform(0.5, 2, 12)
    answers = Gaussian().sample(truth, variance, seed=13)
    table = {
        "worker": np.repeat(np.arange(12), 4000),
        "task": np.tile(np.arange(4000), 12),
        "label": answers.ravel(),
    }
    result = allalike.discover(table, method="P-TD-AK").truth
    ratio = np.square(result["label"] - truth).mean() / np.square(result["error"]).mean()
    assert ratio == pytest.approx(1, abs=0.1)
