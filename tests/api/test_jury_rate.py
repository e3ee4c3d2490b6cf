"""The rate of good in a run: corrected for the panel's errors, by group, and what would make it better known."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import allalike
from allalike.api.judges.further_truths import plan_truths
from allalike.api.judges.prevalence import Counts, Rate, correct_rate, estimate_rate, misfits, subtract_rates

COUNTS = Counts(np.array([140.0, 260.0]), np.array([20.0, 40.0]), np.array([3.0, 37.0]))


def draw_counts(rng: np.random.Generator, rate: float, n: int, tasks: int, se: float, sp: float) -> Counts:
    """Draw a run whose panel has these hit rates, with some truths drawn at random."""
    truth = rng.random(tasks) < rate
    verdict = np.where(truth, rng.random(tasks) < se, rng.random(tasks) > sp)
    known = np.where(np.arange(tasks) < n, truth, np.nan)
    return Counts.of(verdict.astype(np.intp), known)


def draw_rows(tasks: int = 300, *, rate: float = 0.7, seed: int = 0) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Draw verdicts of three judges with a column of topics, and all truths."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(tasks) < rate, "pass", "fail")
    other = {"pass": "fail", "fail": "pass"}
    rows = [
        (f"j{judge}", f"t{task}", str(right) if rng.random() < 0.85 else other[right], "art" if task % 3 else "law")
        for judge in range(3)
        for task, right in enumerate(truth.tolist())
    ]
    columns = dict(zip(("worker", "task", "label", "topic"), map(list, zip(*rows, strict=True)), strict=True))
    return columns, {f"t{task}": right for task, right in enumerate(truth.tolist())}


def test_the_rate_is_the_one_that_makes_the_counts_most_probable() -> None:
    def deviance(shares: Any) -> float:
        p, bad, good = shares
        known = COUNTS.good @ np.log([bad, good]) + (COUNTS.known - COUNTS.good) @ np.log([1 - bad, 1 - good])
        return float(-known - COUNTS.tasks @ np.log([1 - p, p]))

    found = minimize(deviance, [0.5, 0.5, 0.5], bounds=[(0.01, 0.99)] * 3, options={"ftol": 1e-14, "gtol": 1e-9})
    p, bad, good = found.x
    assert estimate_rate(COUNTS).estimate == pytest.approx(p * good + (1 - p) * bad, abs=1e-5)


def test_the_limits_are_those_of_many_random_draws() -> None:
    rng, a = np.random.default_rng(0), 1 / 3
    p = rng.beta(260 + a, 140 + a, 400_000)
    good, bad = rng.beta(37 + a, 3 + a, 400_000), rng.beta(3 + a, 17 + a, 400_000)
    low, high = np.quantile(p * good + (1 - p) * bad, [0.025, 0.975])
    assert estimate_rate(COUNTS)[1:] == pytest.approx((low, high), abs=0.002)


def test_rogan_and_gladen_undo_the_errors_of_a_panel() -> None:
    rate, se, sp = 0.3, 0.9, 0.8
    called = 1e6 * (rate * se + (1 - rate) * (1 - sp))
    known = Counts(np.array([1e6 - called, called]), np.array([900.0, 1100.0]), np.array([100.0, 900.0]))
    found = correct_rate(known, known.tasks)  # as many good as bad ones are known
    assert known.hit_rates == pytest.approx([sp, se])
    assert found.estimate == pytest.approx(rate)
    assert found.low < rate < found.high
    assert not estimate_rate(known).low < rate < estimate_rate(known).high


@pytest.mark.parametrize("called", [0.0, 0.02, 0.98, 1.0])
def test_known_truths_that_do_not_fit_leave_limits_and_are_told(called: float) -> None:
    known, good = np.array([100.0, 100.0]), np.array([30.0, 70.0])  # it is right on 70 % of either
    misfit = Counts(1000 * np.array([1 - called, called]) + known, known, good)
    found, fitting = correct_rate(misfit), Counts(np.array([600.0, 400.0]), known, good)
    assert misfits(misfit)
    assert not misfits(fitting)
    assert found.estimate == round(called)
    assert 0.1 < found.high - found.low < 0.5
    # the limits are those of the nearest rate that fits
    near = np.array([0.7, 0.3]) if called < 0.5 else np.array([0.3, 0.7])
    assert found[1:] == pytest.approx(correct_rate(Counts(1000 * near + known, known, good))[1:], abs=0.02)


def test_of_a_panel_that_knows_nothing_rogan_and_gladen_say_nothing_and_double_sampling_what_truths_alone_say() -> None:
    blind = Counts(np.array([500.0, 500.0]), np.array([50.0, 50.0]), np.array([30.0, 30.0]))
    assert correct_rate(blind)[1:] == (0.0, 1.0)
    assert np.isnan(correct_rate(blind).estimate)
    found = estimate_rate(blind)
    assert found.estimate == pytest.approx(0.6)
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.sqrt(0.6 * 0.4 / 100), rel=0.05)


@pytest.mark.parametrize(("rate", "n", "se", "sp"), [(0.1, 20, 0.9, 0.8), (0.5, 50, 0.7, 0.6), (0.9, 50, 0.95, 0.9)])
def test_limits_hold_the_true_rate_nineteen_times_of_twenty(rate: float, n: int, se: float, sp: float) -> None:
    rng = np.random.default_rng(7)
    found = [estimate_rate(draw_counts(rng, rate, n, 500, se, sp)) for _ in range(200)]
    held = np.mean([each.low <= rate <= each.high for each in found])
    assert 0.9 < held < 0.995  # give or take three standard errors


def test_the_fewest_truths_that_halve_limits_are_those_of_brute_force() -> None:
    counts = Counts(np.array([3e3, 9e3]), np.array([8.0, 24.0]), np.array([2.0, 22.0]))
    share, p, a = (counts.good + 1 / 3) / (counts.known + 2 / 3), 0.75, 2 / 3
    part = np.array([1 - p, p]) ** 2 * share * (1 - share)

    def variance(bad: float, good: float) -> float:
        return float(
            part[0] / (8 + a + bad) + part[1] / (24 + a + good) + (share[1] - share[0]) ** 2 * p * (1 - p) / 12e3
        )

    enough = [(x, y) for x, y in product(range(200), repeat=2) if variance(x, y) <= variance(0, 0) / 4]
    fewest = min(map(sum, enough))
    plan = plan_truths(counts)
    assert fewest <= plan.total <= fewest + 1
    assert plan.width <= 0.5


@pytest.mark.long
def test_what_to_ask_next_halves_the_limits_and_is_the_same_each_time() -> None:
    rows, truths = draw_rows(6000, seed=3)
    gold = {task: truths[task] for task in list(truths)[:60]}
    panel = allalike.jury(rows, gold=gold, good=["pass"])
    ask = panel.ask
    assert len(ask) == panel.summary["panel"]["rate"]["ask"]["truths"]
    assert not set(ask["task"]) & set(gold)
    shuffled = pd.DataFrame(rows).sample(frac=1, random_state=1)
    assert allalike.jury(shuffled, gold=gold, good="pass").ask["task"].tolist() == ask["task"].tolist()
    more = {task: truths[task] for task in ask["task"]}
    before, now = (allalike.jury(rows, gold=each, good="pass").summary["panel"]["rate"] for each in (gold, gold | more))
    assert (now["high"] - now["low"]) / (before["high"] - before["low"]) == pytest.approx(0.5, abs=0.12)
    assert now["low"] < np.mean([each == "pass" for each in truths.values()]) < now["high"]


def test_counts_are_those_of_the_blind_panel_and_the_known_truths() -> None:
    rows, truths = draw_rows(120)
    gold = {task: truths[task] for task in list(truths)[::2]}
    summary = allalike.jury(rows, gold=gold, good="pass").summary
    told, right = summary["panel"]["rate"], 1 - summary["gold"]["error"]
    passes = sum(label == "pass" for label in gold.values())
    hits = told["sensitivity"] * passes + told["specificity"] * (60 - passes)
    assert (told["known"], told["tasks"]) == (60, 120)
    assert hits == pytest.approx(60 * right, rel=1e-4)


def test_a_rate_does_not_depend_on_where_answers_are(tmp_path: Path) -> None:
    rows, truths = draw_rows(90)
    how: dict[str, Any] = {"gold": dict(list(truths.items())[:40]), "good": "pass", "by": "topic"}
    here, there = (allalike.jury(rows, engine=each, **how) for each in (None, allalike.Disk(folder=str(tmp_path))))
    pd.testing.assert_frame_equal(here.rates, there.rates)
    pd.testing.assert_frame_equal(here.ask, there.ask)


def test_a_group_without_truths_has_no_rate_where_errors_differ_by_group() -> None:
    rows, truths = draw_rows(600)
    table = pd.DataFrame(rows)
    table["topic"] = table["task"].str[1:].astype(int).mod(3).map({0: "a", 1: "b", 2: "c"})
    wrong = table["topic"] == "b"
    table.loc[wrong, "label"] = "pass"
    gold = {task: right for number, (task, right) in enumerate(truths.items()) if number % 3 < 2}
    rates = allalike.jury(table, gold=gold, good="pass", by="topic").rates.set_index("group")
    assert rates["rate"].isna().tolist() == [False, False, False, True]
    assert rates.loc["a", "told_by"] == "own"


@pytest.mark.long
def test_truths_picked_by_what_they_are_mislead_and_the_panel_says_so() -> None:
    rows, truths = draw_rows(3000, rate=0.8, seed=5)
    fails, passes = ([task for task, label in truths.items() if label == each][:100] for each in ("fail", "pass"))
    gold = {task: truths[task] for task in (*fails, *passes)}
    rate = allalike.jury(rows, gold=gold, good="pass").summary["panel"]["rate"]
    assert rate["picked"]["beyond_chance"]
    true = np.mean([label == "pass" for label in truths.values()])
    assert rate["high"] < true
    picked = allalike.jury(rows, gold=gold, good="pass", gold_drawn="truth").summary["panel"]["rate"]
    assert picked["low"] < true < picked["high"]
    assert picked["estimate"] == rate["rogan_gladen"]["estimate"]


def test_a_difference_of_rates_has_the_limits_of_a_normal_one_where_both_are() -> None:
    one, two = Rate(0.5, 0.4, 0.6), Rate(0.7, 0.6, 0.8)
    assert subtract_rates(one, two) == pytest.approx((-0.2, -0.2 - np.sqrt(0.02), -0.2 + np.sqrt(0.02)))
