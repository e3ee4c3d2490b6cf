"""Sample sizes, perturbed weights and identities of `allalike.theory`, and what it refuses."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import foldnorm, halfnorm

from allalike import theory
from crowds.estimates import Floats, square

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("variance", [0.25, 1.0, 9.0])
def test_gaussian_moments_are_those_of_scipy(variance: float) -> None:
    half = halfnorm(scale=np.sqrt(variance))
    expected = [half.moment(t) for t in range(1, 5)]
    np.testing.assert_allclose(theory.gaussian_moments(variance), expected, rtol=1e-9)


def deviations(rng: np.random.Generator, n: int, m: int, lean: float) -> Floats:
    """Draw 100 crowds whose workers are too high, or for one in five too low, by `lean`, with unit variance.

    Return how far the disparity of the first worker, who is too high, is from what is expected.
    """
    mu = 1 + lean**2
    expected = theory.expected_disparity(mu, mu, bias=lean, mean_bias=0.6 * lean)
    found = np.empty(100)
    for r in range(100):
        errors = rng.normal(size=(n, m)) + np.where(rng.random((n, 1)) < 0.8, lean, -lean)
        own = rng.normal(size=m) + lean
        found[r] = square(own - errors[1:]).mean()
    return np.abs(found - expected)


def lean_moments(lean: float) -> list[float]:
    return [float(foldnorm(lean).moment(t)) for t in range(1, 5)]


@pytest.mark.parametrize("lean", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(("n", "m"), [(4, 30), (30, 4), (30, 30)])
def test_disparities_stray_less_often_than_the_bound_says(n: int, m: int, lean: float) -> None:
    off = deviations(np.random.default_rng(7), n, m, lean)
    for eps in (1.0, 3.0, 6.0):
        assert (off > eps).mean() <= theory.deviation_chance(eps, n, m, lean_moments(lean))
    whole = theory.deviation_chance(100.0, n, m, lean_moments(lean)) * 1e4
    assert np.square(off).mean() <= whole
    assert whole < 40 * np.square(off).mean()


def test_the_sample_size_is_enough_in_simulation() -> None:
    moments = lean_moments(0.5)
    workers, tasks = theory.sample_size(1.5, 0.5, moments)
    strayed = (deviations(np.random.default_rng(8), workers, tasks, 0.5) > 1.5).mean()
    fewer = (deviations(np.random.default_rng(9), workers // 50, tasks // 50, 0.5) > 1.5).mean()
    assert strayed == 0
    assert fewer > 0.05


def test_the_sample_size_is_six_times_what_the_variance_asks_for() -> None:
    rng = np.random.default_rng(10)
    for _ in range(500):
        errors = np.abs(rng.standard_t(5, size=8)) * rng.exponential()
        moments = [np.mean(errors**t) for t in range(1, 5)]
        eps, delta = rng.exponential(), rng.uniform(0.01, 1)
        workers, tasks = theory.sample_size(eps, delta, moments)
        assert theory.deviation_chance(eps, workers, tasks, moments) <= delta / 6 * (1 + 1e-9)


def test_the_sample_size_is_the_least_above_both_bounds() -> None:
    assert theory.sample_size(1.0, 0.2, theory.gaussian_moments(1.0)) == (1682, 639)
    assert theory.sample_size(100.0, 0.2, theory.gaussian_moments(1.0)) == (2, 46)  # 3 M4 / delta is 45
    assert theory.sample_size(1, 1, [0, 0, 0, 0]) == (2, 1)


def aitken(answers: Floats, faults: Floats) -> Floats:
    truth: Floats = (answers / faults[:, None]).sum(axis=0) / (1 / faults).sum()
    return truth


def test_inverse_faults_are_within_their_bounds_up_to_one_half() -> None:
    for delta in np.linspace(0, 0.5, 51):
        low, high = theory.inverse_bounds(delta)
        assert low <= 1 / (1 + delta)
        assert 1 / (1 - delta) <= high + 1e-12
    assert 1 / (1 - 0.51) > 1 + 2 * 0.51


def test_estimated_faults_cost_no_more_than_their_bounds() -> None:
    rng = np.random.default_rng(11)
    closest = 0.0
    for _ in range(2000):
        n, m, delta = rng.integers(2, 6), rng.integers(1, 4), rng.uniform(0, 0.5)
        faults = rng.exponential(size=n) + 1e-3
        answers = rng.uniform(-1, 1, (n, m)) * rng.exponential()
        largest = np.abs(answers).max()
        truth = rng.uniform(-largest, largest, m)
        guessed = faults * (1 + delta * rng.choice([-1, 1, rng.uniform(-1, 1)], n))
        best, found = square(aitken(answers, faults) - truth), square(aitken(answers, guessed) - truth)
        assert found <= theory.aitken_error_bound(best, delta, largest)
        moved = theory.weight_shift(delta) * np.ptp(answers, axis=0).max()
        assert np.sqrt(found) <= np.sqrt(best) + moved * (1 + 1e-9)
        closest = max(closest, (np.sqrt(found) - np.sqrt(best)) / moved)
    assert closest > 0.9


def test_the_error_bound_fails_for_a_truth_beyond_all_answers_and_the_shift_does_not() -> None:
    answers, truth, delta = np.array([[0.0], [1.0]]), np.array([1000.0]), 0.4
    best = square(aitken(answers, np.ones(2)) - truth)
    found = square(aitken(answers, np.array([0.6, 1.4])) - truth)
    assert found > theory.aitken_error_bound(best, delta, 1.0)
    assert np.sqrt(found) <= np.sqrt(best) + theory.weight_shift(delta)


@pytest.mark.parametrize("delta", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_the_weight_that_moves_is_the_most_that_two_groups_can_exchange(delta: float) -> None:
    p = np.linspace(0, 1, 100_001)  # the weight of those whose faults are taken for too small
    up, down = p / (1 - delta), (1 - p) / (1 + delta)
    moved = up / (up + down) - p
    assert theory.weight_shift(delta) == pytest.approx(moved.max(), abs=1e-8)


def test_squared_distances_of_unit_vectors_are_given_by_their_cosines() -> None:
    vectors = np.random.default_rng(12).normal(size=(6, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = np.clip(1 - pdist(vectors, "cosine"), -1, 1)
    np.testing.assert_allclose(theory.cosine_to_squared(cosines), pdist(vectors, "sqeuclidean"), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_disparities_give_the_distances_to_the_mean(n: int) -> None:
    answers = np.random.default_rng(n).normal(3, 2, (n, 5))
    apart = squareform(pdist(answers, "sqeuclidean")) / 5
    disparity = apart.sum(axis=1) / max(n - 1, 1)
    expected = square(answers - answers.mean(axis=0))
    np.testing.assert_allclose(theory.distance_to_mean(disparity), expected, atol=1e-12)


@pytest.mark.parametrize("copies", [0, 1, 5])
def test_copies_of_a_worker_lower_her_disparity(copies: int) -> None:
    answers = np.random.default_rng(13).normal(size=(6, 4))
    before = cdist(answers[:1], answers[1:], "cityblock").mean()
    cloned = np.concatenate([answers, np.repeat(answers[:1], copies, axis=0)])
    after = cdist(cloned[:1], cloned[1:], "cityblock").mean()
    assert theory.cloned_disparity(before, 6, copies) == pytest.approx(after)
