"""Ratings of real crowds: the figures that were found for them elsewhere, and that the order of levels counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import allalike
from allalike import Ordinal
from files.parsed_data_sets import facts, parsed

pytestmark = pytest.mark.slow

COVID = "ordinal_covid_truthfulness"
PUBLISHED = [  # mean absolute error and accuracy, of ties the first level
    ("UA", "linear", "plurality", COVID, 0.883, 0.500),
    ("UA", "linear", "median", COVID, 0.667, 0.533),
    ("iP-TD", "hamming", "median", COVID, 0.767, 0.483),
    ("iP-TD", "linear", "median", COVID, 0.700, 0.500),
    ("iP-TD", "linear", "plurality", COVID, 0.733, 0.533),
    ("iP-TD", "hamming", "plurality", COVID, 0.883, 0.483),
    ("UA", "linear", "plurality", "bench_adult", 0.294, 0.760),
    ("UA", "linear", "median", "bench_adult", 0.297, 0.754),
    ("iP-TD", "hamming", "median", "bench_adult", 0.282, 0.757),
    ("iP-TD", "linear", "median", "bench_adult", 0.279, 0.760),
]


def score(data: Path, name: str, method: str, domain: Ordinal | allalike.Domain) -> tuple[float, float]:
    """Return how many levels truths are off on average, and how many are right."""
    answers, gold = parsed(data, name).answers, parsed(data, name).gold
    task, label = np.repeat(answers.tasks.tolist(), np.diff(answers.starts)), answers.encoding.decode(answers.label)
    rows = list(zip(answers.workers.take(answers.worker).tolist(), task.tolist(), label.tolist(), strict=True))
    truth = allalike.discover(rows, domain=domain, method=method, ties="first").truth.set_index("task")["label"]
    away = np.abs(truth.loc[list(gold)].to_numpy() - np.array(list(gold.values())))
    return float(away.mean()), float((away == 0).mean())


@pytest.mark.parametrize(("method", "distance", "rule", "name", "error", "right"), PUBLISHED)
def test_ratings_are_as_far_off_as_is_known(
    data: Path, method: str, distance: str, rule: str, name: str, error: float, right: float
) -> None:
    found = score(data, name, method, Ordinal(distance=distance, rule=rule))
    assert found == pytest.approx((error, right), abs=5.1e-4)


def test_a_single_answer_is_as_far_off_as_is_known(data: Path) -> None:
    known = facts(data, COVID)["verification"]["on the 60 statements without HIGH and LOW"]["single_answer"]
    answers, gold = parsed(data, COVID).answers, parsed(data, COVID).gold
    task = np.repeat(answers.tasks.tolist(), np.diff(answers.starts))
    said = zip(task.tolist(), answers.label.tolist(), strict=True)
    away = [abs(level - gold[name]) for name, level in said if name in gold]
    assert np.mean(away) == pytest.approx(known["MAE"], abs=5.1e-4)
    assert np.mean(np.array(away) == 0) == pytest.approx(known["accuracy"], abs=5.1e-4)
