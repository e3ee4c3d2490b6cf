"""Scores: what errors over many repetitions say about methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.options import check_choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike._core.blocks.block import Floats

__all__ = ["Score", "improvements", "score_all"]

_SIGNIFICANCE_LEVEL = 0.05


@dataclass(frozen=True, kw_only=True)
class Score:
    """How well a method did, beside UA; shares and changes are numbers, not percent.

    Parameters
    ----------
    method, repetitions
        Which method, and how often it ran.
    error, error_se
        Its mean distance to the truth, and the standard error of that.
    ri, ri_se
        The mean over the repetitions of (error - UA) / (error + UA), and its standard error.
    dropped
        The share of repetitions in which both errors are 0, which say nothing about RI.
    change, change_se
        Mean error / mean error of UA - 1, and its standard error.
    verdict
        ``best``, ``tie`` (not shown to differ from the best: paired t-test at 95 %), or ``worse``.
    p
        Of that test; NaN for the best itself.
    """

    method: str
    repetitions: int
    error: float
    error_se: float
    ri: float
    ri_se: float
    dropped: float
    change: float
    change_se: float
    verdict: str = ""
    p: float = np.nan


def improvements(error: Floats, base: Floats, *, zero: str = "drop") -> Floats:
    """Return the relative improvement of each repetition; where both errors are 0 it is NaN (drop) or 0 (zero).

    >>> improvements(np.array([1.0, 0.0, 3.0]), np.array([1.0, 0.0, 1.0]))
    array([0. , nan, 0.5])
    """
    check_choice(zero, ("drop", "zero"), "zero")
    both = error + base
    known = both > 0
    filler = np.nan if zero == "drop" else 0.0
    return np.where(known, (error - base) / np.where(known, both, 1.0), filler)


def score_all(
    errors: Mapping[str, Floats], *, base: str = "UA", by: str = "ri", zero: str = "drop", aside: tuple[str, ...] = ()
) -> list[Score]:
    """Score all methods from their errors, one per repetition; NaN where a method did not run.

    Parameters
    ----------
    errors
        The errors of each method; those of the same place come from the same sample.
    base
        The method that the others are compared with.
    by
        What the best is best in, and what is tested: ``ri`` or ``error``.
    zero
        What a repetition counts in which nobody errs, as in `improvements`.
    aside
        Methods that are never the best, such as an oracle.

    >>> rng = np.random.default_rng(0)
    >>> ua = rng.random(200) + 1
    >>> scores = score_all({"UA": ua, "P-TD": ua - 0.5, "D-TD": ua - 0.5 + 0.01 * rng.random(200)})
    >>> [(score.method, round(score.ri, 2), score.verdict) for score in scores]
    [('UA', 0.0, 'worse'), ('P-TD', -0.21, 'best'), ('D-TD', -0.2, 'worse')]
    """
    check_choice(by, ("ri", "error"), "by")
    relative = {name: improvements(values, errors[base], zero=zero) for name, values in errors.items()}
    tested = relative if by == "ri" else errors
    means = {name: _mean(values) for name, values in tested.items() if name not in aside}
    best = min(means, key=lambda name: (np.isnan(means[name]), means[name]))
    scores = []
    for name, values in errors.items():
        p = _paired(tested[best], tested[name])
        verdict = "best" if name == best else "worse" if p < _SIGNIFICANCE_LEVEL and name not in aside else "tie"
        scores.append(_score(name, values, errors[base], relative[name], verdict if name not in aside else "", p))
    return scores


def _score(name: str, error: Floats, base: Floats, relative: Floats, verdict: str, p: float) -> Score:
    ran = ~np.isnan(error)
    error, base, relative = error[ran], base[ran], relative[ran]
    change, change_se = _ratio(error, base)
    return Score(
        method=name,
        repetitions=int(ran.sum()),
        error=_mean(error),
        error_se=_se(error),
        ri=_mean(relative),
        ri_se=_se(relative),
        dropped=float(np.isnan(relative).mean()) if len(relative) else np.nan,
        change=change - 1,
        change_se=change_se,
        verdict=verdict,
        p=p if verdict in ("tie", "worse") else np.nan,
    )


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def _se(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else np.nan


def _ratio(error: Floats, base: Floats) -> tuple[float, float]:
    """Return a ratio of means, and its standard error to first order."""
    if not len(base) or not base.mean() > 0:
        return np.nan, np.nan
    ratio = float(error.mean() / base.mean())
    return ratio, _se(error - ratio * base) / float(base.mean())


def _paired(best: Floats, other: Floats) -> float:
    """Return the p-value of a paired two-sided t-test; equal values do not differ."""
    from scipy.stats import ttest_rel

    both = ~np.isnan(best) & ~np.isnan(other)
    difference = other[both] - best[both]
    if len(difference) < 2 or np.ptp(difference) == 0:
        return 1.0 if not difference.any() else 0.0
    return float(ttest_rel(other[both], best[both]).pvalue)
