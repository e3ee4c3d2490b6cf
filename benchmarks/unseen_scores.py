"""Scores of methods on crowds whose truth is known: plain functions on arrays."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import scipy.stats

from allalike.panels.calibration import BINS, expected_calibration_error

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.answers import Answers

    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]

__all__ = ["compare_pairs", "count_voices", "find_calibration", "hold_limits", "share_ties"]

_OUTSIDE = 0.025  # on either side of limits that hold for 95 of 100


@cache
def compare_pairs(better: int, worse: int) -> float:
    """Return the exact two-sided p of McNemar's test, from the tasks on which only one of two methods is right.

    >>> round(compare_pairs(8, 1), 4), compare_pairs(3, 3), compare_pairs(0, 0)
    (0.0391, 1.0, 1.0)
    """
    return min(2 * float(scipy.stats.binom.cdf(min(better, worse), better + worse, 0.5)), 1.0)


def find_calibration(confidence: Floats, right: Bools) -> float:
    """Return the expected calibration error of confidences, in as many bins as everywhere; NaN says nothing.

    >>> round(find_calibration(np.array([0.9, 0.9, 0.6, np.nan]), np.array([True, False, True, True])), 3)
    0.4
    """
    known = ~np.isnan(confidence)
    sure, hit = confidence[known], right[known]
    place = np.clip((sure * BINS).astype(int), 0, BINS - 1)
    sums = np.zeros((BINS, 3))
    np.add.at(sums, place, np.column_stack([np.ones(len(sure)), sure, hit]))
    return expected_calibration_error(*sums.T)


def hold_limits(low: Floats, high: Floats, wrong: Floats, answers: Floats) -> tuple[Bools, Bools, Bools]:
    """Tell whose share of wrong answers is within limits, whose may be, and who is worse than the upper limit for sure.

    Known truths are a sample: a share of them may be outside although the rate behind it is inside. So somebody *may*
    be within unless so many errors, or so few, have a probability below 2.5 % if her rate were the nearer limit; that
    is, unless the exact 95 % limits of Clopper and Pearson for her errors have nothing in common with hers.

    >>> hold_limits(*np.array([[0.1, 0.1, 0.1], [0.2, 0.2, 0.2], [3, 5, 15], [20, 20, 20]]))[:2]
    (array([ True, False, False]), array([ True,  True, False]))
    """
    share = wrong / answers
    above = np.asarray(scipy.stats.binom.sf(wrong - 1, answers, high) < _OUTSIDE)
    below = np.asarray(scipy.stats.binom.cdf(wrong, answers, low) < _OUTSIDE)
    return (low <= share) & (share <= high), ~(above | below), above


def count_voices(workers: int, correlation: float) -> float:
    """Return how many workers with independent errors so many count like, if their errors have this correlation.

    >>> count_voices(29, 0.25), count_voices(29, 0.0)
    (3.625, 29.0)
    """
    return workers / (1 + (workers - 1) * correlation)


def share_ties(answers: Answers) -> float:
    """Return how often a vote is right where the truth is known; labels that are tied share a task.

    >>> import allalike
    >>> from allalike.readers import read_gold
    >>> rows = [("ada", 1, "x"), ("bob", 1, "y"), ("ada", 2, "x"), ("bob", 2, "x")]
    >>> share_ties(read_gold({1: "x", 2: "x"}, allalike.read(rows, domain="categorical")))
    0.75
    """
    n_labels = max(answers.encoding.n_labels, int(answers.gold_label.max()) + 1)
    task = np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))
    asked = np.isin(task, answers.gold_task)
    pairs, votes = np.unique(task[asked] * n_labels + answers.label[asked], return_counts=True)
    most = np.zeros(len(answers.tasks), np.int64)
    np.maximum.at(most, pairs // n_labels, votes)
    first = votes == most[pairs // n_labels]
    leaders = np.bincount(pairs[first] // n_labels, minlength=len(answers.tasks))[answers.gold_task]
    wins = np.isin(answers.gold_task * n_labels + answers.gold_label, pairs[first])
    return float(np.mean(wins / leaders))
