"""CRH, CATD and GTM, against plain loops that are written from their formulas."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chi2

import allalike
from allalike import CATD, CRH, GTM, Result
from crowds.samples import RUNNING_EXAMPLE, rows

pytestmark = pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")
Floats = npt.NDArray[np.float64]


def numbers(seed: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(0, 3, 9) + rng.normal(0, 1, (6, 9)) * rng.uniform(0.3, 2, 6)[:, None]
    present = rng.random((6, 9)) < 0.7
    present[:2] = True
    return matrix, present


def discover(matrix: Floats, present: npt.NDArray[np.bool_] | None, method: Any) -> Result:
    return allalike.discover(rows(matrix, present=present), domain="real", method=method)


def weighted_median(values: Floats, weights: Floats) -> float:
    """Return the value where half of the weight is reached; the middle of two, as our rule does, where exactly half."""
    order = np.argsort(values)
    running = np.cumsum(weights[order]) / weights.sum()
    reached = [np.searchsorted(running, 0.5 - 1e-9), np.searchsorted(running, 0.5 + 1e-9)]
    return float(values[order][reached].mean())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("normaliser", ["sum", "max"])
def test_crh_on_numbers_is_what_its_formula_says(seed: int, standardise: bool, loss: str, normaliser: str) -> None:
    matrix, present = numbers(seed)
    n, m = matrix.shape
    weight, truth = np.ones(n) / n, np.zeros(m)
    for _ in range(6):
        losses = np.zeros(n)
        for j in range(m):
            here = present[:, j]
            values, own = matrix[here, j], weight[here]
            own = own if own.sum() > 0 else np.ones(len(own))
            truth[j] = np.average(values, weights=own) if loss == "squared" else weighted_median(values, own)
            off = np.abs(values - truth[j])
            off = off**2 if loss == "squared" else off
            losses[here] += off / (values.std() if standardise else 1.0)
        losses /= present.sum(axis=1)
        losses = np.maximum(losses, 1e-8 * losses.mean())
        weight = -np.log(losses / (losses.sum() if normaliser == "sum" else losses.max()))
        weight /= weight.sum()
    method = CRH(standardise=standardise, loss=loss, normaliser=normaliser, max_iter=6, tol=0)
    workers = discover(matrix, present, method).workers
    np.testing.assert_allclose(workers["weight"], weight, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(workers["mean_error"], losses, rtol=1e-9)


def test_crh_may_start_at_the_median() -> None:
    off = np.square(RUNNING_EXAMPLE - np.median(RUNNING_EXAMPLE, axis=0)).mean(axis=1)
    first = -np.log(off / off.sum())
    truth = (first / first.sum()) @ RUNNING_EXAMPLE
    fault = discover(RUNNING_EXAMPLE, None, CRH(start="median", max_iter=1)).weighing.fault
    np.testing.assert_allclose(fault, np.square(RUNNING_EXAMPLE - truth).mean(axis=1))


def test_crh_on_classes_smooths_those_who_were_never_off_unless_told_to_clip() -> None:
    matrix = np.array([[0, 1, 1, 0], [0, 1, 1, 0], [0, 1, 1, 1], [0, 0, 0, 1], [0, 1, 0, 0]])
    loss = np.array([0, 0, 0.25, 0.75, 0.25])
    lifted = np.where(loss == 0, loss.mean() / 2 / 4.5, loss)
    weight = np.log(lifted.sum() / lifted)
    found = allalike.discover(rows(matrix), domain="categorical", method=CRH()).workers
    np.testing.assert_allclose(found["weight"], weight / weight.sum())
    clipped = allalike.discover(rows(matrix), domain="categorical", method=CRH(zero="clip")).workers["weight"]
    np.testing.assert_allclose(clipped, [0.5, 0.5, 0, 0, 0], atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_catd_weighs_by_chi_square_quantiles_of_the_number_of_answers(seed: int) -> None:
    matrix, present = numbers(seed)
    weight = np.ones(6)
    for _ in range(3):
        shown = present * weight[:, None]
        truth = (shown * matrix).sum(axis=0) / shown.sum(axis=0)
        losses = (present * np.square(matrix - truth)).sum(axis=1)
        weight = chi2.ppf(0.05 / 2, present.sum(axis=1)) / losses
    workers = discover(matrix, present, CATD(n_iter=3)).workers
    np.testing.assert_allclose(workers["weight"], weight / weight.sum(), rtol=1e-9)
    np.testing.assert_allclose(workers["mean_error"], 1 / weight, rtol=1e-9)


@pytest.mark.parametrize("domain", ["real", "categorical"])
def test_two_workers_count_the_same_for_catd_even_if_one_answered_more(domain: str) -> None:
    answers = [("ada", task, task % 2) for task in range(9)] + [("bob", task, task % 3 % 2) for task in range(4)]
    workers = allalike.discover(answers, domain=domain, method=CATD()).workers
    assert workers["weight"].tolist() == pytest.approx([0.5, 0.5])
    assert workers["mean_error"][0] == pytest.approx(workers["mean_error"][1])


@pytest.mark.parametrize("seed", range(40))
def test_rounding_does_not_decide_who_is_the_worst(seed: int) -> None:
    """Three workers whose answers are the same numbers, moved along by two tasks each, have equal losses."""
    numbers = np.random.default_rng(seed).normal(size=6)
    matrix = np.stack([np.roll(numbers, 2 * worker) for worker in range(3)])
    found = discover(matrix, None, CRH(normaliser="max")).workers["weight"]
    np.testing.assert_allclose(found, [1 / 3] * 3)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("mu0", "s0"), [(0.0, 1.0), (0.5, 0.2)])
def test_gtm_is_what_its_formulas_say(seed: int, mu0: float, s0: float) -> None:
    matrix, present = numbers(seed)
    n, m = matrix.shape
    middle = np.array([np.median(matrix[present[:, j], j]) for j in range(m)])
    deviation = np.array([matrix[present[:, j], j].std() for j in range(m)])
    x = np.where(present, (matrix - middle) / deviation, 0.0)
    mu = x.sum(axis=0) / present.sum(axis=0)
    for _ in range(4):
        variance = (2 * 20 + (present * np.square(x - mu)).sum(axis=1)) / (2 * 11 + present.sum(axis=1))
        precision = present / variance[:, None]
        mu = (mu0 / s0 + (precision * x).sum(axis=0)) / (1 / s0 + precision.sum(axis=0))
    result = discover(matrix, present, GTM(mu0=mu0, s0=s0, max_iter=4, tol=0))
    np.testing.assert_allclose(result.truth["label"], mu * deviation + middle, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result.weighing.fault, variance, rtol=1e-9)
    np.testing.assert_allclose(
        result.truth["standard_error"], deviation / np.sqrt(1 / s0 + precision.sum(axis=0)), rtol=1e-9
    )
    assert n == len(result.workers)
