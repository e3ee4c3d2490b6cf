"""Expected disparities, their bounds and who they tell apart, against simulation, enumeration and counter-examples."""

from collections.abc import Callable
from itertools import permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial.distance import cdist, pdist, squareform

from allalike import theory
from crowds.errors import draw_one_coin
from crowds.estimates import Floats, near, square
from running.turns import in_turn

pytestmark = pytest.mark.slow

SYMMETRIC: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "laplace": lambda rng, size: rng.laplace(size=size),
    "signs": lambda rng, size: rng.choice([-1.0, 1.0], size),
}


def without(values: Floats, i: int) -> Floats:
    mean: Floats = np.delete(values, i, axis=0).mean(axis=0)
    return mean


def test_expected_disparity_of_a_biased_crowd_whose_noise_is_not_gaussian() -> None:
    rng = np.random.default_rng(0)
    bias, scale = rng.normal(size=(5, 4)), np.array([0.3, 0.6, 0.9, 1.2, 2.0])
    fault = square(bias) + 2 * scale**2
    answers = bias + scale[:, None] * rng.laplace(size=(20_000, 5, 4))
    apart = square(answers[:, :, None] - answers[:, None])
    near(apart.sum(axis=2) / 4, [
        theory.expected_disparity(fault[i], without(fault, i).item(), bias=bias[i], mean_bias=without(bias, i))
        for i in range(5)
    ])  # fmt: skip
    near(apart[:, 0, 1:], theory.expected_disparity(fault[1:], fault[0], bias=bias[1:], mean_bias=bias[0]))


def test_expected_disparity_covers_yes_or_no_tasks_of_unequal_difficulty() -> None:
    rng = np.random.default_rng(1)
    wrong = rng.uniform(0, 0.7, (4, 6))
    errs = rng.random((20_000, 4, 6)) < wrong
    apart = (errs[:, :, None] != errs[:, None]).mean(axis=-1)
    expected = [
        theory.expected_disparity(wrong[i].mean(), without(wrong, i).mean(), bias=wrong[i], mean_bias=without(wrong, i))
        for i in range(4)
    ]
    near(apart.sum(axis=2) / 3, expected)


def all_rankings(items: int) -> npt.NDArray[np.bool_]:
    """List which pairs each ranking of some items swaps."""
    orders = np.array(list(permutations(range(items))))
    first, second = np.triu_indices(items, 1)
    swapped: npt.NDArray[np.bool_] = orders[:, first] > orders[:, second]
    return swapped


@pytest.mark.parametrize("items", [2, 3, 4, 6])
@pytest.mark.parametrize("phi", [0.0, 0.3, 0.65, 0.999, 1.0])
def test_mallows_swaps_are_those_of_all_rankings(phi: float, items: int) -> None:
    swapped = all_rankings(items)
    chance = phi ** swapped.sum(axis=1)
    np.testing.assert_allclose(theory.mallows_swaps(phi, items), chance @ swapped / chance.sum(), atol=1e-12)


def test_expected_disparity_of_rankings_is_that_of_all_pairs_of_rankings() -> None:
    swapped = all_rankings(4)
    chance = np.array([[0.2], [0.7]]) ** swapped.sum(axis=1)
    chance /= chance.sum(axis=1, keepdims=True)
    exact = chance[0] @ cdist(swapped, swapped, "hamming") @ chance[1]
    own, other = theory.mallows_swaps(0.2, 4), theory.mallows_swaps(0.7, 4)
    found = theory.expected_disparity(own.mean().item(), other.mean().item(), bias=own, mean_bias=other)
    assert found == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_one_coin_disparity_and_agreement(classes: int) -> None:
    faults = np.array([0.05, 0.3, 0.5, 0.9])
    answers = draw_one_coin(np.arange(100_000) % classes, faults, seed=classes, classes=classes)
    for i, fault in enumerate(faults):
        same = (np.delete(answers, i, axis=0) == answers[i]).mean(axis=0)
        mu = without(faults, i).item()
        near(1 - same, theory.expected_disparity_one_coin(fault, mu, classes=classes))
        near(same, theory.expected_agreement(1 - fault, 1 - mu, classes=classes))


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_one_coin_disparity_grows_with_the_fault_if_others_beat_chance(classes: int) -> None:
    chance = 1 - 1 / classes
    for mu, sign in ((chance - 0.01, 1), (chance + 0.01, -1)):
        disparity = theory.expected_disparity_one_coin(np.linspace(0, 1, 5), mu, classes=classes)
        assert (np.sign(np.diff(disparity)) == sign).all()
    flat = theory.expected_disparity_one_coin(np.linspace(0, 1, 5), chance, classes=classes)
    np.testing.assert_allclose(flat, chance)


def random_bias(rng: np.random.Generator, size: float, tasks: int = 3) -> Floats:
    direction = rng.normal(size=tasks)
    bias: Floats = direction * size / np.sqrt(square(direction))
    return bias


def test_expected_disparity_is_between_its_bounds_and_they_are_reached() -> None:
    rng = np.random.default_rng(2)
    for _ in range(500):
        fault, mu = rng.exponential(size=2)
        bias = random_bias(rng, np.sqrt(fault) * rng.random())
        mean_bias = random_bias(rng, np.sqrt(mu) * rng.random())
        found = theory.expected_disparity(fault, mu, bias=bias, mean_bias=mean_bias)
        low, high = theory.disparity_bounds(fault, mu)
        closer, farther = theory.disparity_bounds(fault, mu, mean_bias=mean_bias)
        assert low <= closer <= found <= farther <= high
        own = np.sqrt(fault / square(mean_bias)) * mean_bias
        assert theory.expected_disparity(fault, mu, bias=own, mean_bias=mean_bias) == pytest.approx(closer)
        assert theory.expected_disparity(fault, mu, bias=-own, mean_bias=mean_bias) == pytest.approx(farther)
        assert low == pytest.approx((1 - np.sqrt(fault / mu)) ** 2 * mu, abs=1e-12)


@pytest.mark.parametrize("known", [False, True])
def test_separation_holds_in_every_crowd_or_fails_in_one(known: bool) -> None:
    rng = np.random.default_rng(3)
    told = []
    for _ in range(500):
        good, bad, mu = rng.exponential(size=3) * [0.1, 10, 1]
        size = np.sqrt(mu) * (rng.random() if known else 1)
        told.append(theory.separates(good, bad, mu, mean_bias=size if known else None))
        aside = random_bias(rng, size)
        worst = {"bias": -aside * np.sqrt(good) / size}, {"bias": aside * np.sqrt(bad) / size}
        some = {"bias": random_bias(rng, np.sqrt(good))}, {"bias": random_bias(rng, np.sqrt(bad))}
        for of_good, of_bad in (worst, some):
            gap = theory.expected_disparity(bad, mu, mean_bias=aside, **of_bad) - theory.expected_disparity(
                good, mu, mean_bias=aside, **of_good
            )
            assert gap > 0 or not told[-1]
            assert gap <= 0 or told[-1] or of_good is not worst[0]
    assert 50 < sum(told) < 450


def test_the_gap_between_spammers_and_hammers_is_what_simulation_finds() -> None:
    rng = np.random.default_rng(4)
    bias, variance, share = rng.normal(size=(2, 3)), np.array([0.4, 0.9]), 0.35
    hammer, spammer = square(bias) + variance
    kinds = (rng.random((40_000, 6)) < share).astype(int)
    kinds[:, 0], kinds[:, 1] = 0, 1
    answers = bias[kinds] + np.sqrt(variance)[kinds][..., None] * rng.normal(size=(40_000, 6, 3))
    hammers, spammers = (square(answers[:, [i]] - answers[:, 2:]).mean(axis=1) for i in (0, 1))
    gap = theory.hammer_spammer_gap(
        share, hammer_fault=hammer, spammer_fault=spammer, hammer_bias=bias[0], spammer_bias=bias[1]
    )
    near(spammers - hammers, gap)
    mixed = (1 - share) * np.array([hammer, *bias[0]]) + share * np.array([spammer, *bias[1]])
    of_both = [
        theory.expected_disparity(fault, mixed[0], bias=b, mean_bias=mixed[1:])
        for fault, b in zip((hammer, spammer), bias, strict=True)
    ]
    assert gap == pytest.approx(of_both[1] - of_both[0])


def random_kinds(rng: np.random.Generator) -> tuple[float, dict[str, Any]]:
    """Draw a share of spammers, and biases and faults of two kinds; some hammers have no bias, some no fault."""
    size_h, size_p, noise_h, noise_p = rng.exponential(size=4) * [rng.random() < 0.6, 1, rng.random() < 0.6, 0.5]
    faults = sorted([size_h**2 + noise_h, size_p**2 + noise_p])
    swap = faults[0] != size_h**2 + noise_h
    sizes = (size_p, size_h) if swap else (size_h, size_p)
    biases = [random_bias(rng, size) for size in sizes]
    return rng.random(), {
        "hammer_fault": faults[0], "spammer_fault": faults[1], "hammer_bias": biases[0], "spammer_bias": biases[1]
    }  # fmt: skip


def test_each_hammer_spammer_condition_is_sufficient_and_the_first_is_necessary() -> None:
    rng = np.random.default_rng(5)
    seen: dict[str, int] = dict.fromkeys("abcd", 0)
    for _ in range(1000):
        share, kinds = random_kinds(rng)
        held, gap = theory.hammer_spammer_conditions(share, **kinds), theory.hammer_spammer_gap(share, **kinds)
        assert gap > 0 or not held, (held, gap)
        if not kinds["hammer_bias"].any():
            assert ("a" in held) == (gap > 0)
        for name in held:
            seen[name] += 1
    assert min(seen.values()) > 40, seen


@pytest.mark.parametrize(("hammer_bias", "gap"), [([-1, -1], -1.5), ([1, -1], -0.7)])
def test_conditions_c_and_d_do_not_hold_for_a_majority_of_spammers(hammer_bias: list[int], gap: float) -> None:
    kinds: Any = {
        "hammer_fault": 1, "spammer_fault": 1.1, "hammer_bias": hammer_bias, "spammer_bias": [1, 1]
    }  # fmt: skip
    assert kinds["spammer_fault"] - kinds["hammer_fault"] > square(np.ones(2)) - square(np.array(hammer_bias))  # (c)
    assert theory.hammer_spammer_gap(0.7, **kinds) == pytest.approx(gap)
    assert theory.hammer_spammer_conditions(0.7, **kinds) == ()
    assert theory.hammer_spammer_conditions(0.5, **kinds) == ("c", "d")
    assert theory.hammer_spammer_gap(0.5, **kinds) == pytest.approx(0.1)


@pytest.mark.parametrize(("metric", "noise"), in_turn(product(["cityblock", "euclidean", "chebyshev"], SYMMETRIC), 4))
def test_metric_bounds_hold_for_symmetric_noise(metric: Any, noise: str) -> None:
    rng = np.random.default_rng(6)
    scale = np.array([0.2, 0.7, 1.0, 1.6, 4.0])
    answers = scale[:, None] * SYMMETRIC[noise](rng, (4000, 5, 3))
    apart = np.mean([squareform(pdist(each, metric)) for each in answers], axis=0)
    fault = np.mean([cdist(each, np.zeros((1, 3)), metric)[:, 0] for each in answers], axis=0)
    for i in range(5):
        disparity, others = apart[i].sum() / 4, np.delete(fault, i)
        low, high = theory.metric_disparity_bounds(fault[i], others)
        assert max(fault[i], others.mean()) <= low + 1e-12
        assert low * 0.97 <= disparity <= high * 1.000001
        least, most = theory.metric_fault_bounds(disparity)
        assert fault[i] <= most * 1.03
        assert fault[i] * 1.000001 >= least or fault[i] < others.mean()
