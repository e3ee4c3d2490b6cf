"""How answers are drawn: against closed forms, brute force and other libraries."""

from collections import Counter
from itertools import combinations, permutations, product

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from allalike.noise import Gaussian, IntervalNoise, Mallows, MaskNoise, OneCoin, TwoCoin

Floats = npt.NDArray[np.float64]


def close(share: float | Floats, expected: float | Floats, draws: int) -> None:
    """Check shares of independent draws against probabilities, by four standard errors."""
    expected = np.asarray(expected)
    np.testing.assert_array_less(np.abs(share - expected), 4 * np.sqrt(expected * (1 - expected) / draws) + 1e-12)


def test_gaussian_answers_have_the_given_means_and_variances() -> None:
    truth, variance, bias = np.linspace(-5, 5, 100_000), np.array([0.0, 0.25, 4.0]), np.array([1.0, 0.0, -2.0])
    errors = Gaussian().sample(truth, variance, seed=1, bias=bias) - truth
    np.testing.assert_allclose(errors.mean(axis=1), bias, atol=4 * np.sqrt(variance.max() / 100_000))
    np.testing.assert_allclose(errors.var(axis=1), variance, rtol=4 * np.sqrt(2 / 100_000), atol=1e-12)
    assert stats.kstest(errors[1] / 0.5, "norm").pvalue > 1e-3


def test_errors_of_workers_and_of_tasks_have_the_given_covariance() -> None:
    workers = np.array([[2.0, 0.9, -0.5], [0.9, 1.0, 0.0], [-0.5, 0.0, 0.5]])
    errors = Gaussian().sample(np.zeros(200_000), workers, seed=2)
    # the standard error of a sample covariance is sqrt((s_ii s_jj + s_ij^2) / n)
    spread = np.sqrt((np.outer(np.diag(workers), np.diag(workers)) + workers**2) / 200_000)
    assert (np.abs(np.cov(errors) - workers) < 4 * spread).all()
    tasks = np.array([[1.0, 0.8], [0.8, 1.0]])
    errors = Gaussian().sample(np.zeros(2), np.full(100_000, 4.0), seed=3, between_tasks=tasks)
    np.testing.assert_allclose(np.cov(errors.T), 4 * tasks, atol=0.1)


def test_a_singular_covariance_makes_exact_copies() -> None:
    truth = np.arange(50.0)
    answers = Gaussian().sample(truth, np.ones((2, 2)), seed=4)
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-12)
    assert answers[0].std() > 1


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_one_coin_workers_err_at_their_rate_and_every_wrong_class_is_as_likely(classes: int) -> None:
    truth, faults = np.arange(120_000) % classes, np.array([0.0, 0.1, 0.75, 1.0])
    answers = OneCoin(classes=classes).sample(truth, faults, seed=6)
    close((answers != truth).mean(axis=1), faults, len(truth))
    for row in answers[1:]:
        wrong = Counter(((row - truth) % classes)[row != truth].tolist())
        assert sorted(wrong) == list(range(1, classes))
        if classes > 2:
            assert stats.chisquare(list(wrong.values())).pvalue > 1e-3


def test_two_coin_workers_err_at_the_rate_of_the_true_class() -> None:
    truth, faults = np.arange(200_000) % 2, np.array([[0.05, 0.4], [0.5, 0.0], [1.0, 0.2]])
    answers = TwoCoin().sample(truth, faults, seed=7)
    for true in (0, 1):
        close((answers[:, truth == true] != true).mean(axis=1), faults[:, true], 100_000)


def test_two_coin_weights_are_what_the_posterior_of_every_pattern_of_answers_says() -> None:
    faults = np.array([[0.05, 0.4], [0.3, 0.1], [0.2, 0.2]])
    weight = TwoCoin().weight(faults)
    odds = []
    for answers in product((0, 1), repeat=3):
        given = [
            np.prod([1 - faults[i, true] if answer == true else faults[i, true] for i, answer in enumerate(answers)])
            for true in (0, 1)
        ]
        odds.append(np.log(given[1] / given[0]) - weight @ (2 * np.array(answers) - 1))
    np.testing.assert_allclose(odds, odds[0], atol=1e-12)  # beside the weights, one constant for all answers


def wrong_pairs(order: npt.NDArray[np.int64], truth: tuple[int, ...]) -> int:
    position = {item: place for place, item in enumerate(order.tolist())}
    return sum(position[a] > position[b] for a, b in combinations(truth, 2))


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.65, 0.99, 1 - 1e-13, 1.0])
def test_mallows_rankings_have_the_probabilities_of_all_permutations(phi: float) -> None:
    truth, draws = (2, 0, 3, 1), 60_000
    drawn = Mallows().sample(np.tile(truth, (draws, 1)), np.array([phi]), seed=8)[0]
    orders = list(permutations(range(4)))
    chances = np.array([phi ** wrong_pairs(np.array(order), truth) for order in orders])
    counts = Counter(map(tuple, drawn.tolist()))
    if phi == 0:
        assert counts == {truth: draws}
        return
    expected = draws * chances / chances.sum()
    assert stats.chisquare([counts[order] for order in orders], expected).pvalue > 1e-3


@pytest.mark.parametrize(
    ("items", "phi", "expected"),
    [(4, 0.3, 0.9720), (4, 0.65, 2.1033), (4, 0.9, 2.7723), (6, 0.3, 1.8126), (6, 0.65, 4.6718), (6, 0.9, 6.7574)],
)
def test_mallows_rankings_are_as_far_from_the_truth_as_the_closed_form_says(
    items: int, phi: float, expected: float
) -> None:
    closed = items * phi / (1 - phi) - sum(i * phi**i / (1 - phi**i) for i in range(1, items + 1))
    assert closed == pytest.approx(expected, abs=5e-5)
    pairs = items * (items - 1) / 2
    assert pairs * Mallows().expected_distance(np.array(phi), items) == pytest.approx(closed, rel=1e-12)
    truth = tuple(np.random.default_rng(9).permutation(items).tolist())
    drawn = Mallows().sample(np.tile(truth, (20_000, 1)), np.array([phi]), seed=10)[0]
    wrong = np.array([wrong_pairs(order, truth) for order in drawn])
    assert abs(wrong.mean() - closed) < 4 * wrong.std() / np.sqrt(len(wrong))


def test_mallows_weights_make_kemeny_the_most_likely_ranking() -> None:
    phi, orders = np.array([0.2, 0.5, 0.9]), list(permutations(range(4)))
    votes = Mallows().sample(np.arange(4)[None], phi, seed=11)[:, 0]
    weight = Mallows().weight(phi)
    away = np.array([[wrong_pairs(vote, order) for vote in votes] for order in orders])
    constants = np.array([sum(p ** wrong_pairs(np.array(o), orders[0]) for o in orders) for p in phi])
    likelihood = np.log(phi**away / constants).sum(axis=1)
    np.testing.assert_allclose(likelihood + away @ weight, -np.log(constants).sum())


def test_bounds_of_intervals_are_off_by_the_shift_and_stay_in_order() -> None:
    truth = np.tile([[200, 400], [600, 800]], (20_000, 1, 1))
    exact, near, wild = IntervalNoise().sample(truth, np.array([0.0, 10.0, 400.0]), seed=14)
    np.testing.assert_array_equal(exact, truth)
    # rounding to whole numbers adds the variance of a uniform error, 1/12
    np.testing.assert_allclose((near - truth).var(axis=0), 100 + 1 / 12, rtol=0.05)
    assert np.abs((near - truth).mean(axis=0)).max() < 4 * 10 / np.sqrt(20_000)
    flat = wild.reshape(len(wild), -1)
    assert (np.diff(flat, axis=1) >= 0).all()
    assert (flat.min(), flat.max()) == (0, 1000)


def test_intervals_are_overlooked_at_their_rate() -> None:
    truth = np.tile([[200, 400], [600, 800]], (20_000, 1, 1))
    answers = IntervalNoise(miss=0.3).sample(truth, np.array([2.0]), seed=15)[0]
    close((answers[..., 0] == answers[..., 1]).mean(), 0.3, 40_000)


def test_pixels_beside_a_straight_outline_are_on_as_often_as_the_normal_distribution_says() -> None:
    truth = np.zeros((1, 33, 48), np.bool_)
    truth[..., :24] = True  # the outline lies between columns 23 and 24, far from every border
    exact, *answers = MaskNoise().sample(truth, np.repeat([0.0, 3.0], [1, 3000]), seed=16)[:, 0]
    np.testing.assert_array_equal(exact, truth[0])
    columns = np.arange(18, 30)
    for row in (16, 19):  # on a point of the coarse grid, and between two
        close(np.array(answers)[:, row, columns].mean(axis=0), stats.norm.cdf((23.5 - columns) / 3), 3000)


def test_neighbours_on_an_outline_are_off_together_and_distant_ones_are_not() -> None:
    truth = np.zeros((49, 80), np.bool_)
    truth[:, :40] = True
    widths = MaskNoise().sample(np.tile(truth, (2000, 1, 1)), np.array([3.0]), seed=17)[0].sum(axis=2)
    alike = np.corrcoef(widths.T)
    assert alike[24, 25] > 0.9
    assert abs(alike[8, 40]) < 0.1


def test_a_generator_goes_on_where_it_stands_and_a_seed_begins_anew() -> None:
    rng = np.random.default_rng(20)
    first, second = (OneCoin(classes=9).sample(np.arange(50) % 9, np.array([0.5]), rng) for _ in range(2))
    assert (first != second).any()
    np.testing.assert_array_equal(first, OneCoin(classes=9).sample(np.arange(50) % 9, np.array([0.5]), 20))
