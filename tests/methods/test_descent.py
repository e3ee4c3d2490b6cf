"""The least loss within bounds is that of scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from allalike.methods.steps.odds import descend


@pytest.mark.parametrize("seed", range(8))
def test_a_logistic_loss_within_bounds_is_least_where_scipy_finds_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features, spread = rng.normal(size=(60, 12)) * rng.uniform(0.1, 5, 12), rng.uniform(0.2, 3, 12)
    signs = np.where(rng.random(60) < 0.7, 1.0, -1.0)
    least = np.where(rng.random(12) < 0.6, 0.0, -np.inf)

    def lose(x: np.ndarray) -> tuple[float, np.ndarray]:
        margin = signs * (features @ x)
        slope = -(features.T @ (signs / (1 + np.exp(margin))))
        return float(np.logaddexp(0, -margin).sum() + ((x / spread) ** 2).sum() / 2), slope + x / spread**2

    bounds = [(None if low == -np.inf else low, None) for low in least]
    options: Any = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000}
    best = minimize(lose, np.ones(12), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    found = descend(lose, np.ones(12), least)
    assert found == pytest.approx(best.x, abs=1e-5)
    assert (found >= least).all()
