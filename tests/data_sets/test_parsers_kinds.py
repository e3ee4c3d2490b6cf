"""Data sets of numbers, probabilities, rankings, texts, sets, boxes and masks: their known statistics."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import Ordinal
from allalike.domains.contract import with_rule
from files.parsed_data_sets import EMOTIONS, LEVELS, errors, facts, level, list_rows, parsed, with_gold

pytestmark = pytest.mark.slow


def rmse(data: Path, name: str, ending: str = "") -> float:
    """Return the error of the plain mean, of the tasks whose id has this ending."""
    truth = allalike.discover(with_gold(data, name), method="UA").truth
    some = truth[truth["task"].astype(str).str.endswith(ending)]
    gold = some["task"].map(parsed(data, name).gold)
    return float(((some["label"] - gold) ** 2).mean() ** 0.5)


MEANS: list[tuple[str, str, str]] = [  # data set, ending of the tasks, part of the source's statistics
    *((f"snow_emotion/{emotion}", "", f"statistics/{emotion}/rmse_of_mean") for emotion in EMOTIONS),
    ("snow_wordsim", "", "verification/rmse_of_mean_rescaled_x0.4"),
    ("triangles_hart2018/Exp4", "", "verification/rmse_of_mean/Exp4:EstAngle"),
    *(
        (name, f"/{axis.lower()}", f"verification/rmse_of_mean/Exp{name[-1]}:Est{axis}Coor")
        for name in ("TRI1", "TRI2", "triangles_hart2018/Exp3")
        for axis in "XY"
    ),
    *(
        (f"predict_mandal2020/T{number}", "", f"statistics/oct8 treatment {number}/rmse_of_mean")
        for number in range(1, 5)
    ),
]


@pytest.mark.parametrize(("name", "ending", "where"), MEANS)
def test_the_mean_errs_as_is_known(data: Path, name: str, ending: str, where: str) -> None:
    known = facts(data, name)
    for key in where.split("/"):
        known = known[key]
    assert rmse(data, name, ending) == pytest.approx(known, abs=5.1e-5)


@pytest.mark.parametrize(
    ("method", "rule", "known"),
    [
        ("UA", "mean", "UA mean"),
        ("UA", "median", "UA median"),
        ("UA", "log odds", "UA mean of log odds (clipped .01-.99)"),
        ("iP-TD(weighting=max)", "log odds", "iP-TD mean of log odds"),
        ("P-TD", "mean", "1/disparity mean"),
    ],
)
def test_forecasts_of_two_options_score_as_is_known(data: Path, method: str, rule: str, known: str) -> None:
    rows, gold = _two_options(data)
    result = allalike.discover(rows, domain=allalike.Probability(rule=rule), method=method, gold=gold)
    score = facts(data, "probabilities_gjp_mini")["verification"]["Brier score (0-2) on the 14 binary questions"]
    assert result.summary["gold"]["error"] == pytest.approx(score[known], abs=5.1e-5)


def _two_options(data: Path) -> tuple[list[tuple[Any, Any, Any]], dict[Any, Any]]:
    """Return the forecasts of questions with two options, and what happened."""
    found = parsed(data, "probabilities_gjp_mini")
    gold = {task: truth for task, truth in found.gold.items() if len(truth) == 2}
    return [row for row in list_rows(found.answers) if row[1] in gold], gold


@pytest.mark.parametrize("name", LEVELS)
def test_orders_of_dots_and_puzzles_are_as_far_from_the_truth_as_is_known(data: Path, name: str) -> None:
    known, answers = level(facts(data, name), name), with_gold(data, name)
    assert 6 * errors(answers).mean() == pytest.approx(known["mean_worker_KT_vs_truth"], abs=5.1e-5)
    assert (errors(answers) == 0).mean() == pytest.approx(known["frac_votes_exactly_true"], abs=5.1e-5)
    assert allalike.discover(answers, method="UA").summary["gold"]["error"] == pytest.approx(known["borda_all_KT"])


def test_turkers_order_systems_as_researchers_do_but_for_one_pair(data: Path) -> None:
    """Published with the thirteenth system first among the researchers', who never judged it: 0.8462."""
    answers = with_gold(data, "rankings_ties_wmt13")
    assert answers.notes["duplicates_added"] == 6476 - 151
    for rule, method in (("bradley terry", "UA"), ("bradley terry", "iP-TD"), ("borda", "UA")):
        again = replace(answers, encoding=with_rule(answers.encoding, rule))
        found = allalike.discover(again, method=method)
        assert found.summary["gold"]["error"] == pytest.approx(1 / 66)
        gold = ["online-A", *parsed(data, "rankings_ties_wmt13").gold["fr-en"]]
        place = found.truth["label"][0].index
        against = sum(place(one) > place(other) for one, other in combinations(gold, 2))
        assert 1 - 2 * against / 78 == pytest.approx(0.8462, abs=5.1e-5)


@pytest.mark.parametrize("part", ["T1", "T2", "J1"])
def test_translations_are_as_close_to_the_truth_as_is_known(data: Path, part: str) -> None:
    known, answers = facts(data, "TRANSL")["verification"][part], with_gold(data, f"crowdwsa2019/{part}")
    alike = 1 - errors(answers)
    assert alike.mean() == pytest.approx(known["mean_worker_GLEU_vs_reference"], abs=5.1e-5)
    best = np.maximum.reduceat(alike, answers.starts[:-1]).mean()
    assert best == pytest.approx(known["oracle_best_answer_mean_GLEU"], abs=5.1e-5)


def test_each_sentence_alone_gains_by_proximity_as_in_the_paper(data: Path) -> None:
    answers = with_gold(data, "TRANSL")
    alone = allalike.discover(answers.per_task(), method="P-TD")
    apart = errors(answers)
    best = alone.workers.groupby("task")["weight"].transform("max") == alone.workers["weight"]
    chosen = pd.Series(apart[best]).groupby(alone.workers.loc[best, "task"].to_numpy()).mean().to_numpy()
    drawn = apart.reshape(-1, 10)
    relative = ((chosen[:, None] - drawn) / (chosen[:, None] + drawn)).mean()
    assert 100 * relative == pytest.approx(-4, abs=1)  # -4 in the paper's table of complex labels


def test_matchers_are_as_close_to_the_truth_as_is_known(data: Path) -> None:
    known = facts(data, "schema_matching_powarematch")["verification"]
    answers = with_gold(data, "schema_matching_powarematch")
    alike = dict(zip(answers.workers.tolist(), 1 - errors(answers), strict=True))
    for worker, some in known["per_matcher"].items():
        assert alike[int(worker)] == pytest.approx(some["jaccard"], abs=5.1e-5)
    assert len(next(iter(parsed(data, "schema_matching_powarematch").gold.values()))) == known["n_truth_pairs"]
    found = allalike.discover(answers, method="UA")
    assert len(found.truth["label"][0]) == known["majority_3_of_5"]["n_pairs"]


@pytest.mark.parametrize("number", [3, 6])
def test_outlines_are_as_close_to_the_truth_as_is_known(data: Path, number: int) -> None:
    name = f"bubil_crowd_segmentation/{number}"
    known = facts(data, name)["verification"][f"Dataset{number}"]
    parts = [known[key] for key in ("rule_exact", "centre") if key in known]

    def both(statistic: str) -> float:
        return float(np.average([part[statistic] for part in parts], weights=[part["n_images"] for part in parts]))

    answers = with_gold(data, name)
    alike = (1 - errors(answers)).reshape(-1, 7)
    assert alike.mean() == pytest.approx(both("mean_crowd_Jaccard"), abs=1e-4)
    assert alike.max(axis=1).mean() == pytest.approx(both("best_of_7_Jaccard"), abs=1e-4)
    for rule, score in (("majority", "pixel_majority_Jaccard"), ("medoid", "medoid_Jaccard")):
        again = replace(answers, encoding=with_rule(answers.encoding, rule))
        found = allalike.discover(again, method="UA").summary["gold"]
        assert 1 - found["error"] == pytest.approx(both(score), abs=1e-4)


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
    rows, gold = list_rows(parsed(data, name).answers), parsed(data, name).gold
    truth = allalike.discover(rows, domain=domain, method=method, ties="first").truth.set_index("task")["label"]
    away = np.abs(truth.loc[list(gold)].to_numpy() - np.array(list(gold.values())))
    return float(away.mean()), float((away == 0).mean())


@pytest.mark.parametrize(("method", "distance", "rule", "name", "error", "right"), PUBLISHED)
def test_ratings_are_as_far_off_as_is_known(
    data: Path, method: str, distance: str, rule: str, name: str, error: float, right: float
) -> None:
    found = score(data, name, method, Ordinal(distance=distance, rule=rule))
    assert found == pytest.approx((error, right), abs=5.1e-4)
