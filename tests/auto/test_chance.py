"""The chance of so few disagreements is that of a binomial."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import bdtr

from allalike.methods.auto.copies.copies import find_lower_tail


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_tails_are_those_of_a_library(share: float) -> None:
    rng = np.random.default_rng(0)
    of, chance = rng.integers(5, 3000, 2000), rng.uniform(0.001, 0.999, 2000)
    most = np.floor(share * rng.random(2000) * of * chance)
    expected = bdtr(most, of, chance)
    assert np.allclose(find_lower_tail(most, of, chance), expected, rtol=1e-8, atol=1e-290)


def test_what_is_certain_and_what_cannot_be() -> None:
    most, of, chance = np.array([0, 5, 0, 5]), np.array([5, 5, 5, 5]), np.array([0.0, 1.0, 1.0, 0.3])
    assert np.allclose(find_lower_tail(most, of, chance), [1, 1, 0, 1], atol=1e-12)
