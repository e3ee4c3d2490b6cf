"""How answers are drawn: against closed forms, brute force and other libraries."""

from collections import Counter
from itertools import combinations, permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from allalike.simulation import Model
from allalike.simulation.models import (
    GaussianModel,
    IntervalModel,
    MallowsModel,
    MaskModel,
    OneCoinModel,
    TwoCoinModel,
)

Floats = npt.NDArray[np.float64]


def answer(model: Model, truth: Any, seed: int, **parameters: float) -> npt.NDArray[Any]:
    """Draw one answer to each task, all by workers with the same parameters."""
    rows = {name: np.full(len(truth), value) for name, value in parameters.items()}
    return model.answers(np.asarray(truth), rows, np.random.default_rng(seed))


def close(share: float | Floats, expected: float | Floats, draws: int) -> None:
    """Check shares of independent draws against probabilities, by four standard errors."""
    expected = np.asarray(expected)
    np.testing.assert_array_less(np.abs(share - expected), 4 * np.sqrt(expected * (1 - expected) / draws) + 1e-12)


@pytest.mark.parametrize(("sd", "bias"), [(0.0, 1.0), (0.5, 0.0), (2.0, -2.0)])
def test_gaussian_answers_have_the_given_means_and_variances(sd: float, bias: float) -> None:
    truth = np.linspace(-5, 5, 100_000)
    errors = answer(GaussianModel(), truth, 1, sd=sd, bias=bias) - truth
    assert errors.mean() == pytest.approx(bias, abs=4 * sd / np.sqrt(100_000) + 1e-12)
    assert errors.std() == pytest.approx(sd, rel=0.01, abs=1e-12)
    assert sd == 0 or stats.kstest((errors - bias) / sd, "norm").pvalue > 1e-3


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("error", [0.0, 0.1, 0.75, 1.0])
def test_one_coin_workers_err_at_their_rate_and_every_wrong_class_is_as_likely(classes: int, error: float) -> None:
    truth = np.arange(60_000) % classes
    answers = answer(OneCoinModel(classes=classes), truth, 6, error=error)
    close((answers != truth).mean(), error, len(truth))
    wrong = Counter(((answers - truth) % classes)[answers != truth].tolist())
    assert sorted(wrong) == (list(range(1, classes)) if error else [])
    if error and classes > 2:
        assert stats.chisquare(list(wrong.values())).pvalue > 1e-3


@pytest.mark.parametrize(("alarm", "miss"), [(0.05, 0.4), (0.5, 0.0), (1.0, 0.2)])
def test_two_coin_workers_err_at_the_rate_of_the_true_class(alarm: float, miss: float) -> None:
    truth = np.arange(100_000) % 2
    wrong = answer(TwoCoinModel(), truth, 7, false_alarm=alarm, miss=miss) != truth
    close(np.array([wrong[truth == 0].mean(), wrong[truth == 1].mean()]), np.array([alarm, miss]), 50_000)


def wrong_pairs(order: npt.NDArray[np.int64], truth: tuple[int, ...]) -> int:
    position = {item: place for place, item in enumerate(order.tolist())}
    return sum(position[a] > position[b] for a, b in combinations(truth, 2))


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.65, 0.99, 1 - 1e-13, 1.0])
def test_mallows_rankings_have_the_probabilities_of_all_permutations(phi: float) -> None:
    truth, draws = (2, 0, 3, 1), 60_000
    drawn = answer(MallowsModel(items=4), np.tile(truth, (draws, 1)), 8, phi=phi)
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
    pairs, model = items * (items - 1) / 2, MallowsModel(items=items)
    assert pairs * model.faults({"phi": np.array([phi])})[0] == pytest.approx(closed, rel=1e-12)
    truth = tuple(np.random.default_rng(9).permutation(items).tolist())
    wrong = np.array([wrong_pairs(order, truth) for order in answer(model, np.tile(truth, (20_000, 1)), 10, phi=phi)])
    assert abs(wrong.mean() - closed) < 4 * wrong.std() / np.sqrt(len(wrong))


def test_bounds_of_intervals_are_off_by_the_shift_and_stay_in_order() -> None:
    truth = np.tile([[200, 400], [600, 800]], (20_000, 1, 1))
    exact, near, wild = (answer(IntervalModel(), truth, 14, shift=shift) for shift in (0.0, 10.0, 400.0))
    np.testing.assert_array_equal(exact, truth)
    # rounding to whole numbers adds the variance of a uniform error, 1/12
    np.testing.assert_allclose((near - truth).var(axis=0), 100 + 1 / 12, rtol=0.05)
    assert np.abs((near - truth).mean(axis=0)).max() < 4 * 10 / np.sqrt(20_000)
    flat = wild.reshape(len(wild), -1)
    assert (np.diff(flat, axis=1) >= 0).all()
    assert (flat.min(), flat.max()) == (0, 1000)


def test_intervals_are_missed_at_their_rate() -> None:
    truth = np.tile([[200, 400], [600, 800]], (20_000, 1, 1))
    answers = answer(IntervalModel(miss=0.3), truth, 15, shift=2.0)
    close((answers[..., 0] == answers[..., 1]).mean(), 0.3, 40_000)


def test_pixels_beside_a_straight_outline_are_on_as_often_as_the_normal_distribution_says() -> None:
    truth = np.zeros((3000, 33, 48), np.bool_)
    truth[..., :24] = True  # the outline lies between columns 23 and 24, far from every border
    np.testing.assert_array_equal(answer(MaskModel(), truth[:1], 16, shift=0.0), truth[:1])
    answers = answer(MaskModel(), truth, 16, shift=3.0)
    columns = np.arange(18, 30)
    for row in (16, 19):  # on a point of the coarse grid, and between two
        close(answers[:, row, columns].mean(axis=0), stats.norm.cdf((23.5 - columns) / 3), 3000)


def test_neighbours_on_an_outline_are_off_together_and_distant_ones_are_not() -> None:
    truth = np.zeros((2000, 49, 80), np.bool_)
    truth[..., :40] = True
    widths = answer(MaskModel(), truth, 17, shift=3.0).sum(axis=2)
    correlation = np.corrcoef(widths.T)
    assert correlation[24, 25] > 0.9
    assert abs(correlation[8, 40]) < 0.1
