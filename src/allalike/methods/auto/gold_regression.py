"""Gold regression: calibrate estimated numbers with gold labels.

Gold labels reveal errors that workers share, whereas agreement does not. An offset and a slope of the estimates t are
fitted to the gold labels, and each is shrunk towards 0 (James and Stein, 1961). Ridge regression then gives the gain
c_i of each worker's deviations d_it = x_it - t,

    gold = t + offset + slope (t - mean of t) + sum_i c_i d_it,    penalty 30 u^2 sum c_i^2,

where u is the usual error of an answer. This is solved in dual form, because workers may outnumber gold labels. With 50
or more, cross-validation may choose another penalty or a monotone map of t (isotonic regression). The correction is
multiplied by its slope in a regression of gold labels on held-out corrections. This slope is shrunk towards 1 and
clipped to [0, 1] (stacking; Breiman, 1996), so corrections that do not predict other gold labels have little effect.

**Intervals.** With at least 20 gold labels, errors on held-out gold labels give 95 % prediction intervals
(cross-conformal prediction; Vovk, 2015). They are valid if the tasks with gold were drawn at random.
"""

from typing import Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import Floats
from allalike.methods.auto.lines import robust_deviation

MIN_GOLD, INTERVAL_GOLD, MANY_GOLD = 10, 20, 50  # for calibration, for intervals, and for the choice of a model
MAX_DEVIATION = 5.0  # usual errors
_FOLDS = 10
_LEVEL = 0.95
_PENALTY = 30.0
_KEPT_SPREAD = 0.5  # prior standard deviation of the share of corrections that is kept; its mean is 1
_OTHERS = (("ridge", 3.0), ("ridge", 10.0), ("ridge", 100.0), ("monotone", 0.5), ("monotone", 1.0))


class GoldRegression(NamedTuple):
    """A line from estimates to gold labels, a gain per worker, and a share of a monotone map through knots.

    ``kept`` is the share of corrections that is applied; gains include it. ``error`` is the factor of standard errors,
    ``half_width`` the half width of a 95 % prediction interval (NaN with fewer than 20 gold labels), and ``known`` the
    number of gold labels.
    """

    gain: Floats
    centre: float
    offset: float
    slope: float
    share: float = 0.0
    knots: Floats = np.empty((2, 0))
    kept: float = 1.0
    error: float = 1.0
    half_width: float = np.nan
    known: int = 0

    def bend(self, estimate: Floats) -> Floats:
        """Return estimates by the line and the monotone map, without worker deviations."""
        move = self.offset + self.slope * (estimate - self.centre)
        if self.share:
            move = self.share * (np.interp(estimate, *self.knots) - estimate) + (1 - self.share) * move
        return estimate + self.kept * move

    def predict(self, estimate: Floats, deviation: Any) -> Floats:
        """Return calibrated estimates, given a matrix of deviations (tasks by workers)."""
        return np.asarray(self.bend(estimate) + deviation @ self.gain)

    def describe(self) -> dict[str, Any]:
        """Return facts for the summary."""
        return {"labels": self.known, "slope": 1 + self.slope, "monotone": self.share}


def fit_gold_regression(estimate: Floats, gold: Floats, deviation: Any) -> GoldRegression:
    """Fit a calibration of estimates to gold labels, all in units of the usual error.

    Parameters
    ----------
    estimate
        Estimate of each task with gold, computed without gold labels.
    gold
        Gold label of each of these tasks.
    deviation
        Deviations of answers from the estimates: a dense or sparse matrix (tasks by workers), 0 for missing answers.

    >>> estimate = np.arange(20.0)
    >>> fit = fit_gold_regression(estimate, 2 * estimate + 1, np.zeros((20, 3)))
    >>> fit.bend(np.array([3.0])).round(2), fit.predict(np.array([4.0]), np.zeros((1, 3))).round(2)
    (array([7.]), array([9.]))
    """
    gram = deviation @ deviation.T
    gram = np.asarray(gram if isinstance(gram, np.ndarray) else gram.toarray())
    fold = np.random.default_rng(0).permutation(len(gold)) % _FOLDS

    def predict_held_out(how: tuple[str, float]) -> Floats:
        error = np.empty(len(gold))
        for k in range(_FOLDS):
            train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            fitted, dual = _fit(how, estimate[train], gold[train], gram[np.ix_(train, train)])
            error[test] = fitted.bend(estimate[test]) + gram[np.ix_(test, train)] @ dual - gold[test]
        return error

    how = ("ridge", _PENALTY)
    error = predict_held_out(how)
    if len(gold) >= MANY_GOLD:
        errors = {each: predict_held_out(each) for each in _OTHERS}
        best = min(errors, key=lambda each: float((errors[each] ** 2).mean()))
        gain = error**2 - errors[best] ** 2
        if gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)):
            how, error = best, errors[best]
    before = gold - estimate
    kept = _find_kept(before + error, before)
    error = kept * error - (1 - kept) * before
    ratio = float(np.sqrt((error**2).mean() / (before**2).mean())) if before.any() else 1.0
    fitted, dual = _fit(how, estimate, gold, gram)
    return fitted._replace(
        gain=kept * np.asarray(deviation.T @ dual),
        kept=kept,
        error=min(ratio, 1.0),
        half_width=find_half_width(error),
        known=len(gold),
    )


def _find_kept(move: Floats, needed: Floats) -> float:
    """Return the slope of needed corrections regressed on held-out ones, shrunk towards 1 and clipped to [0, 1]."""
    prior = float(((needed - move) ** 2).mean()) / _KEPT_SPREAD**2
    total = float((move**2).sum()) + prior
    return min(max((float((move * needed).sum()) + prior) / total, 0.0), 1.0) if total > 0 else 1.0


def find_half_width(error: Floats) -> float:
    """Return the half width of a 95 % prediction interval from errors on held-out gold labels; NaN if too few."""
    if len(error) < INTERVAL_GOLD:
        return float("nan")
    rank = min(int(np.ceil((len(error) + 1) * _LEVEL)), len(error))
    return float(np.sort(np.abs(error))[rank - 1])


def _fit(how: tuple[str, float], estimate: Floats, gold: Floats, gram: Floats) -> tuple[GoldRegression, Floats]:
    """Fit one model; return it without gains, together with the dual coefficients of the gains."""
    from scipy.optimize import isotonic_regression

    kind, amount = how
    n, centre, rest = len(gold), float(estimate.mean()), gold - estimate
    spread = max(float(((estimate - centre) ** 2).sum()), 1e-300)
    offset, slope = float(rest.mean()), float(((estimate - centre) * rest).sum()) / spread

    def noise() -> float:
        return float(((rest - offset - slope * (estimate - centre)) ** 2).sum()) / max(n - 2, 1)

    slope = _shrink_estimate(slope, noise() / spread)
    offset = _shrink_estimate(offset, noise() / n)
    line = GoldRegression(np.empty(0), centre, offset, slope)
    if kind == "ridge":
        return line, np.asarray(np.linalg.solve(gram + amount * np.eye(n), gold - line.bend(estimate)))
    order = np.argsort(estimate, kind="stable")
    knots = np.stack([estimate[order], isotonic_regression(gold[order]).x])
    return line._replace(share=amount, knots=knots), np.zeros(n)


def _shrink_estimate(value: float, variance: float) -> float:
    """Shrink an estimate towards 0 (positive-part James-Stein)."""
    return value * max(0.0, 1 - variance / value**2) if value else 0.0


# Scores in a matrix.


class Calibrated(NamedTuple):
    """Calibrated estimates, 95 % prediction intervals (NaN with fewer than 20 gold labels), and the regression."""

    estimate: Floats
    ci_low: Floats
    ci_high: Floats
    regression: GoldRegression


def calibrate_scores(scores: Floats, estimate: Floats, gold: Floats, *, unit: float | None = None) -> Calibrated | None:
    """Calibrate estimated scores with gold labels; return None with fewer than ten gold labels.

    Parameters
    ----------
    scores
        Score of each item (row) by each judge (column); NaN if missing.
    estimate
        Estimate of each item, computed without gold: for example the mean of its scores.
    gold
        Gold label of each item; NaN if unknown. Items with gold get the gold label as their estimate.
    unit
        Usual error of a score (default: a robust standard deviation of scores around the estimates).

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=200)
    >>> scores = 5 + truth[:, None] + rng.normal(size=(200, 4)) * [0.2, 1, 1, 1]
    >>> gold = np.where(np.arange(200) < 50, truth, np.nan)
    >>> calibrated = calibrate_scores(scores, scores.mean(axis=1), gold)
    >>> float(np.abs(calibrated.estimate - truth)[50:].mean()) < 0.5, calibrated.regression.known
    (True, 50)
    """
    known = np.isfinite(gold) & np.isfinite(estimate)
    if known.sum() < MIN_GOLD:
        return None
    deviation = scores - estimate[:, None]
    unit = robust_deviation(deviation) if unit is None else unit
    deviation = np.clip(np.nan_to_num(deviation / unit), -MAX_DEVIATION, MAX_DEVIATION)
    scaled = estimate / unit
    regression = fit_gold_regression(scaled[known], gold[known] / unit, deviation[known])
    found = np.where(known, gold, regression.predict(scaled, deviation) * unit)
    half = np.where(known, 0.0, regression.half_width * unit)
    if np.isnan(regression.half_width):
        half = np.full(len(found), np.nan)
    return Calibrated(found, found - half, found + half, regression)
