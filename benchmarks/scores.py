"""Scores on crowds with gold labels."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import scipy.stats

from allalike.panels.calibration import find_calibration_error

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.answers import Answers

    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]


@cache
def compare_pairs(better: int, worse: int) -> float:
    """Return the exact two-sided p-value of McNemar's test, from the counts of tasks that only one method solves."""
    return min(2 * float(scipy.stats.binom.cdf(min(better, worse), better + worse, 0.5)), 1.0)


def find_calibration(confidence: Floats, right: Bools) -> float:
    """Return the expected calibration error of confidences, ignoring NaN."""
    known = ~np.isnan(confidence)
    sure, hit = confidence[known], right[known]
    return find_calibration_error(sure, hit)


def share_ties(answers: Answers) -> float:
    """Return the accuracy of the majority vote on gold labels; tied labels share a task."""
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
