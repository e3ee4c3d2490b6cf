"""What the theory of the paper promises, by simulation."""

import numpy as np
import pytest

import allalike
from allalike import PTDAK
from crowds.errors import draw_gaussian, draw_one_coin
from crowds.estimates import near
from crowds.samples import fit_all, weights_of

pytestmark = pytest.mark.slow


def test_estimated_faults_are_unbiased_for_any_crowd_without_bias() -> None:
    rng = np.random.default_rng(5)
    variance = np.array([0.2, 0.5, 1.0, 1.5, 3.0])
    noise = rng.normal(size=(1_000, 5, 6)) * np.sqrt(variance)[:, None]
    reports = rng.normal(0, 3, (1_000, 1, 6)) + noise
    near(np.array([fit.fault for fit in fit_all(reports, PTDAK())]), variance)


@pytest.mark.parametrize("mu", ["half", "exact"])
def test_the_exact_mean_fault_makes_one_coin_faults_consistent(mu: str) -> None:
    faults = np.linspace(0.1, 0.5, 40)
    reports = draw_one_coin(np.arange(60_000) % 3, faults, seed=10, classes=3)
    [fit] = fit_all(reports[None], PTDAK(mu=mu), 3)
    off = np.abs(fit.fault - faults).max()
    assert (off < 0.02) == (mu == "exact")


def errors(m: int, repetitions: int) -> dict[str, float]:
    """Return the mean error of the oracle and of two ridges, five workers whose standard deviation is N(1, 0.5)."""
    rng = np.random.default_rng(m)
    sd = rng.normal(1, 0.5, (4 * repetitions, 5))
    sd = sd[(sd > 0).all(axis=1)][:repetitions]
    reports = sd[..., None] * rng.normal(size=(repetitions, 5, m))
    oracle = 1 / sd**2 / (1 / sd**2).sum(axis=1, keepdims=True)
    methods = {"ridge 0": PTDAK(), "ridge 4": PTDAK(ridge=4)}
    weights = {"oracle": oracle, **{name: weights_of(reports, method) for name, method in methods.items()}}
    found = {}
    for name, weight in weights.items():
        found[name] = float(np.square(np.einsum("rn,rnm->rm", weight, reports)).mean())
    return found


def test_with_many_tasks_the_estimate_without_ridge_comes_near_the_oracle() -> None:
    many, few = errors(400, 200), errors(4, 500)
    assert many["oracle"] == pytest.approx(0.1226, rel=0.1)
    assert many["ridge 0"] == pytest.approx(many["oracle"] * 0.1246 / 0.1226, rel=0.02)
    assert many["ridge 0"] < many["ridge 4"]
    assert few["ridge 4"] < few["ridge 0"]


def test_the_standard_error_is_honest_where_faults_are_variances() -> None:
    rng = np.random.default_rng(13)
    truth, variance = rng.normal(0, 5, 4000), rng.uniform(0.5, 2, 12)
    answers = draw_gaussian(truth, variance, seed=13)
    table = {
        "worker": np.repeat(np.arange(12), 4000),
        "task": np.tile(np.arange(4000), 12),
        "label": answers.ravel(),
    }
    result = allalike.discover(table, method="P-TD-AK").truth
    ratio = np.square(result["label"] - truth).mean() / np.square(result["standard_error"]).mean()
    assert ratio == pytest.approx(1, abs=0.1)
