"""Functions that replace scipy on small tables give the same numbers as scipy."""

import numpy as np
import pytest
from scipy.special import bdtr, fdtrc, fdtri, gammaln

from allalike.methods.auto.confusion_matrices import _exceed_f, _log_gamma
from allalike.methods.auto.copy_groups import _least_chance
from allalike.methods.steps import vote_matrix

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("between", [2, 4, 29, 1000])
@pytest.mark.parametrize("within", [1.0, 5.0, 33.5, 1e4, 1e6])
def test_the_f_test_decides_as_the_exact_distribution(between: int, within: float) -> None:
    assert _exceed_f(between, within, float(fdtri(between, within, 0.99))) == pytest.approx(0.01, rel=1e-6)
    ratios = np.exp(np.linspace(-2, 5, 200)).tolist()
    decisions = [_exceed_f(between, within, ratio) < 0.01 for ratio in ratios]
    assert decisions == [fdtrc(between, within, ratio) < 0.01 for ratio in ratios]


def test_the_logarithm_of_the_gamma_function() -> None:
    x = np.exp(RNG.uniform(-20, 20, 10_000))
    np.testing.assert_allclose(_log_gamma(x), gammaln(x), rtol=1e-11, atol=1e-13)


def test_the_bound_of_few_disagreements_is_never_too_high() -> None:
    common, expected = RNG.integers(5, 3000, 10_000).astype(float), RNG.random(10_000)
    differing = np.floor(RNG.random(10_000) ** 2 * common * expected)
    chance = bdtr(differing, common.astype(np.int64), expected)
    assert (_least_chance(differing, common, expected) <= chance * (1 + 1e-9)).all()


def test_small_blocks_are_added_up_as_by_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    task, cell = np.sort(RNG.integers(0, 90, 300)), RNG.integers(0, 80, 300)
    table, shares = RNG.random((20, 4, 3)), RNG.random((90, 3))

    def add() -> tuple[np.ndarray, np.ndarray]:
        cells = vote_matrix.Cells(np.searchsorted(task, np.arange(91)), cell, np.linspace(0.1, 1, 300), 20, 4)
        return vote_matrix.add_up(cells, table), vote_matrix.count(cells, shares)

    small = add()
    monkeypatch.setattr(vote_matrix, "_FEW_ANSWERS", 0)
    for one, other in zip(small, add(), strict=True):
        np.testing.assert_array_equal(one, other)
