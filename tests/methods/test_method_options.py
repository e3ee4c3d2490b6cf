"""The smallest and largest numbers, the limit of rounds, and the descent that several methods share."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import allalike
from allalike import METHODS, ConvergenceWarning, Real
from allalike.methods.steps.odds import descend
from crowds.samples import RUNNING_EXAMPLE, rows

NUMERIC = [name for name, method in METHODS.items() if method().serves(Real()) and name != "OA"]


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("scale", [1e-143, 1e140])
@pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")
def test_tiny_and_huge_numbers_cause_no_warning(name: str, scale: float) -> None:
    result = allalike.discover(rows(RUNNING_EXAMPLE * scale), domain="real", method=name)
    assert np.isfinite(result.truth["label"]).all()
    assert result.workers["weight"].sum() == pytest.approx(1)


def test_the_warning_of_the_limit_of_rounds_points_to_the_line_that_called() -> None:
    hasty = "iP-TD(max_iter=1, tol=0)"
    with pytest.warns(ConvergenceWarning, match="limit of 1 rounds") as discovering:
        result = allalike.discover(rows(RUNNING_EXAMPLE), domain="real", method=hasty)
    with pytest.warns(ConvergenceWarning) as updating:
        result.update([("new", "t0000", 80.0)])
    with pytest.warns(ConvergenceWarning) as weighing:
        allalike.weights_from_distances([[0, 1, 4], [1, 0, 3], [4, 3, 0]], method=hasty)
    assert [caught[0].filename for caught in (discovering, updating, weighing)] == [__file__] * 3


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
