"""Panels: confidence, shared errors, smaller panels, drift since an earlier panel, and the rate of good."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import binomtest, false_discovery_control, nchypergeom_fisher, ttest_ind
from scipy.stats import t as student

import allalike
from allalike._core.blocks.block import Block
from allalike.panels.calibration import (
    OpenLabels,
    apply_line,
    decide_held_out,
    find_calibration_error,
    fit_line,
)
from allalike.panels.correlated_errors import compare_classes, compare_pair
from allalike.panels.drift import BothPanels, find_changes, list_verdicts, read_earlier
from allalike.panels.rates import Counts, allot_gold, correct_rate, estimate_mean, estimate_rate, estimate_share
from allalike.panels.smaller_panels import find_sizes
from allalike.panels.verdicts import ClassVerdicts

Table = npt.NDArray[np.intp]


def draw(seed: int, *, judges: int, tasks: int, k: int = 3, right: float = 0.75) -> tuple[Table, Table]:
    """Draw truths, and a row of verdicts for each task."""
    rng = np.random.default_rng([seed, judges, tasks])
    truth = rng.integers(k, size=tasks)
    wrong = (truth[:, None] + rng.integers(1, k, (tasks, judges))) % k
    return np.where(rng.random((tasks, judges)) < right, truth[:, None], wrong), truth


def rows_of(said: Table) -> list[tuple[str, int, str]]:
    return [(f"j{judge}", int(task), "abcdefgh"[label]) for (task, judge), label in np.ndenumerate(said)]


def known(said: Table, truth: Table, k: int = 3, odds: Any = ()) -> ClassVerdicts:
    """Return verdicts on tasks whose truths are all known."""
    tasks = len(truth)
    right = (np.arange(k) == truth[:, None]).astype(float)
    hashes = np.arange(tasks, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return ClassVerdicts(said, right, truth, np.ones(tasks), np.ones(tasks, bool), truth, hashes, np.asarray(odds))


def test_the_probability_of_an_open_answer_is_that_of_bayes() -> None:
    rate, m = np.array([0.1, 0.2, 0.3, 0.4]), 5.0
    said = np.array([[7], [7], [3], [4]])
    odds = {7: (0.9 / (0.1 / m)) * (0.8 / (0.2 / m)), 3: 0.7 / (0.3 / m), 4: 0.6 / (0.4 / m)}
    total = sum(odds.values()) + (m + 1 - 3)  # the labels that nobody gave
    found, column = OpenLabels(m, 1.0).find_probabilities(Block.of(said), rate)
    assert found[0, column] == pytest.approx([odds[7] / total, odds[7] / total, odds[3] / total, odds[4] / total])


def test_open_answers_have_probabilities_that_hold_and_engines_and_rows_do_not_matter(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(1000, size=80)
    said = np.where(rng.random((80, 5)) < 0.7, truth[:, None], rng.integers(1000, size=(80, 5)))
    rows = [(f"j{judge}", int(task), f"n{label}") for (task, judge), label in np.ndenumerate(said)]
    panel = allalike.jury(rows, domain="categorical")
    right = np.mean(panel.truth["label"] == [f"n{truth[task]}" for task in panel.truth["task"]])
    assert abs(panel.truth["confidence"].mean() - right) < 0.03
    again = allalike.jury(rows[::-1], domain="categorical", engine=allalike.Disk(work_dir=str(tmp_path)))
    assert again.truth["confidence"].to_numpy() == pytest.approx(panel.truth["confidence"].to_numpy())
    assert again.smallest == panel.smallest
    assert again.sizes["accuracy"].to_numpy() == pytest.approx(panel.sizes["accuracy"].to_numpy())


def test_known_truths_mend_confidences_that_are_too_low() -> None:
    rng = np.random.default_rng(0)
    true = rng.uniform(0.6, 1.0, 4000)
    hit = rng.random(4000) < true
    line = fit_line(apply_line(true, (-1.0, 0.5)), hit)
    assert line == pytest.approx((2.0, 2.0), abs=0.25)


@pytest.mark.parametrize("k", [2, 1000])
def test_confidences_are_calibrated_once_and_coverage_is_that_of_delivered_ones(k: int) -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(k, size=2400)
    lure = np.where(rng.random(2400) < 0.2, rng.integers(k, size=2400), truth)  # most judges fall for it
    said = np.where(rng.random((2400, 5)) < 0.8, lure[:, None], rng.integers(k, size=(2400, 5)))
    rows = [(f"j{judge}", int(task), f"n{label}") for (task, judge), label in np.ndenumerate(said)]
    panel = allalike.jury(rows, domain="categorical", gold={t: f"n{truth[t]}" for t in range(400)})
    error, others = panel.summary["panel"]["calibration_error"], panel.truth.iloc[400:]
    assert error["calibrated"] < 0.06 < 0.08 < error["own"]
    assert panel.coverage["expected"][0] == pytest.approx(others["confidence"].mean(), abs=0.02)
    if k == 2:  # the method calibrates them
        held_out = decide_held_out(panel.run, 50_000, allalike.Auto().fit)
        once = find_calibration_error(held_out["confidence"].to_numpy(), 1 - held_out["wrong"].to_numpy())
        assert error["calibrated"] == pytest.approx(once, rel=1e-5)


def test_what_is_expected_of_a_pair_is_the_mean_of_fishers_distribution_and_the_tail_its_tail() -> None:
    table = np.array([[40.0, 12.0], [9.0, 5.0], [11.0, 6.0], [6.0, 4.0]])
    one, two = (nchypergeom_fisher(int(n), int(x), int(y), 1.7) for n, x, y, _ in table.T)
    mean, tail = compare_pair(table, 1.7)
    assert mean == pytest.approx(one.mean() + two.mean())
    tails = [one.pmf(a) * two.pmf(b) for a in range(10) for b in range(6) if a + b >= 10]
    assert tail == pytest.approx(sum(tails))


def test_counts_of_shared_errors_are_those_of_the_rows() -> None:
    said, truth = draw(3, judges=4, tasks=50)
    found = compare_classes(known(said, truth), 2.0)
    for place, (left, right) in enumerate(combinations(range(4), 2)):
        wrong = (said[:, left] != truth) & (said[:, right] != truth)
        assert found.same_wrong[place] == (wrong & (said[:, left] == said[:, right])).sum()


def test_the_best_panel_of_each_size_is_that_of_brute_force() -> None:
    said, truth = draw(6, judges=5, tasks=40)
    said[0, 1:3] = -1
    table = known(said, truth, odds=[2.0, 1.0, 1.5, 0.5, 1.2])

    def worth(members: tuple[int, ...]) -> float:
        total = 0.0
        for row, right in zip(said, truth, strict=True):
            score = [sum(table.log_odds[judge] for judge in members if row[judge] == label) for label in range(3)]
            best = [label for label in range(3) if score[label] == max(score) > 0]
            total += (right in best) / len(best) if best else 0.0
        return total / len(truth)

    found = find_sizes(table)
    for size, members in enumerate(found["members"][:-1], 1):
        assert worth(members) == pytest.approx(max(map(worth, combinations(range(5), size))))
        assert worth(members) == pytest.approx(table.worth(members).mean())


def test_no_truth_decides_its_own_task() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(3, size=120)
    fooled = np.where(rng.random(120) < 0.4, (truth + 1) % 3, truth)  # six of seven judges fall for one wrong verdict
    meant = np.column_stack([truth, *[fooled] * 6])
    said = np.where(rng.random(meant.shape) < 0.9, meant, rng.integers(3, size=meant.shape))
    known = {task: "abc"[(truth[task] + 2 * (task == 7)) % 3] for task in range(80)}
    run = allalike.discover(rows_of(said), gold=known, gold_map="same").run
    found = decide_held_out(run, 10_000, allalike.Auto().fit)
    assert len(found) == len(set(found.index)) == 80
    assert found["wrong"].sum() >= 1
    assert found["wrong"].mean() < 0.25


RIGHT = (0.9, 0.85, 0.8, 0.85)


def draw_harsh(seed: int, *, tasks: int = 300, first: int = 0, harsh: int | None = None) -> pd.DataFrame:
    """Draw verdicts of four judges on tasks whose truths are the same in each draw; one may fail many good ones."""
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(99).random(first + tasks)[first:] < 0.6
    parts = []
    for judge, right in enumerate(RIGHT):
        said = np.where(rng.random(tasks) < right, truth, ~truth)
        if judge == harsh:
            said &= rng.random(tasks) < 0.6
        parts.append(pd.DataFrame({"worker": f"j{judge}", "task": np.arange(first, first + tasks), "good": said}))
    table = pd.concat(parts, ignore_index=True)
    table["label"] = np.where(table.pop("good"), "pass", "fail")
    table["task"] = "t" + table["task"].astype(str)
    return table


def test_kept_verdicts_come_back_as_they_were(tmp_path: Path) -> None:
    table = draw_harsh(0, tasks=20).replace({"worker": {"j0": "=1+1", "j1": 'a "b", c'}})
    for how in ({"safe_csv": True}, {"format": "parquet"}, {}):
        allalike.jury(table, gold={"t3": "pass"}).save(tmp_path / "out", **how)
        kept = list_verdicts(read_earlier(tmp_path / "out").run, 1000, {"pass": 1.0, "fail": 0.0})
        rows = set(zip(kept["judge"], kept["task"], kept["label"], strict=True))
        assert rows == set(zip(table["worker"], table["task"], table["label"] == "pass", strict=True))
        assert set(kept.loc[kept["truth"].notna(), "task"]) == {"t3"}


COUNTS = Counts(np.array([140.0, 260.0]), np.array([20.0, 40.0]), np.array([3.0, 37.0]))


def test_the_rate_is_the_one_that_makes_the_counts_most_probable() -> None:
    def deviance(shares: Any) -> float:
        p, bad, good = shares
        known = COUNTS.positive @ np.log([bad, good]) + (COUNTS.known - COUNTS.positive) @ np.log([1 - bad, 1 - good])
        return float(-known - COUNTS.tasks @ np.log([1 - p, p]))

    found = minimize(deviance, [0.5, 0.5, 0.5], bounds=[(0.01, 0.99)] * 3, options={"ftol": 1e-14, "gtol": 1e-9})
    p, bad, good = found.x
    assert estimate_rate(COUNTS).estimate == pytest.approx(p * good + (1 - p) * bad, abs=1e-5)


def test_rogan_and_gladen_undo_the_errors_of_a_panel() -> None:
    rate, se, sp = 0.3, 0.9, 0.8
    called = 1e6 * (rate * se + (1 - rate) * (1 - sp))
    known = Counts(np.array([1e6 - called, called]), np.array([900.0, 1100.0]), np.array([100.0, 900.0]))
    found = correct_rate(known, known.tasks)[0]  # as many good as bad ones are known
    assert known.hit_rates == pytest.approx([sp, se])
    assert found.estimate == pytest.approx(rate)
    assert found.ci_low < rate < found.ci_high
    assert not estimate_rate(known).ci_low < rate < estimate_rate(known).ci_high


def test_of_a_panel_that_knows_nothing_rogan_and_gladen_say_nothing_and_double_sampling_what_truths_alone_say() -> None:
    blind = Counts(np.array([500.0, 500.0]), np.array([50.0, 50.0]), np.array([30.0, 30.0]))
    assert correct_rate(blind)[0][1:] == (0.0, 1.0)
    assert np.isnan(correct_rate(blind)[0].estimate)
    found = estimate_rate(blind)
    assert found.estimate == pytest.approx(0.6)
    assert found.ci_high - found.ci_low == pytest.approx(2 * 1.96 * np.sqrt(0.6 * 0.4 / 100), rel=0.05)


@pytest.mark.parametrize("alike", [True, False])
def test_a_group_without_gold_has_a_rate_only_if_other_groups_have_equal_errors(alike: bool) -> None:
    rng = np.random.default_rng(5)
    topic = np.repeat(["art", "law", "war"], 100)
    truth = np.resize(["pass", "fail"], 300)
    right = np.where(topic == "law", 0.9 if alike else 0.55, 0.9)
    rows = [
        (f"j{judge}", f"t{task}", truth[task] if rng.random() < right[task] else truth[task - 1], topic[task])
        for judge in range(3)
        for task in range(300)
    ]
    gold = {f"t{task}": str(truth[task]) for task in range(200)}
    found = allalike.jury(
        pd.DataFrame(rows, columns=["worker", "task", "label", "topic"]), gold=gold, positive="pass", by="topic"
    )
    rates = found.tables["rates"].set_index("group")
    assert rates["estimated_from"].to_dict() == {"": "own", "art": "own", "law": "own", "war": "all" if alike else ""}
    assert rates["rate"].isna().to_dict() == {"": False, "art": False, "law": False, "war": not alike}


@pytest.mark.parametrize(("rate", "n", "se", "sp"), [(0.1, 20, 0.9, 0.8), (0.5, 50, 0.7, 0.6), (0.9, 50, 0.95, 0.9)])
def test_limits_hold_the_true_rate_nineteen_times_of_twenty(rate: float, n: int, se: float, sp: float) -> None:
    rng, held = np.random.default_rng(7), []
    for _ in range(200):
        truth = rng.random(500) < rate
        verdict = np.where(truth, rng.random(500) < se, rng.random(500) > sp)
        double = estimate_rate(Counts.of(verdict.astype(np.intp), np.where(np.arange(500) < n, truth, np.nan)))
        powered = estimate_share(*(each.astype(float) for each in (truth[:n], verdict[:n], verdict[n:])))
        held.append([each.ci_low <= rate <= each.ci_high for each in (double, powered)])
    share = np.mean(held, axis=0)
    assert 0.9 < share[0] < 0.995  # give or take three standard errors
    assert share[1] > 0.92


@pytest.mark.parametrize("kind", ["scores", "confidences"])
def test_prediction_powered_intervals_cover_the_mean_and_are_not_wider_than_those_of_gold_alone(kind: str) -> None:
    """PPI++ (Angelopoulos et al. 2023) covers 95 % and needs power lambda = 0 for predictions that say nothing."""
    rng, held, width, alone = np.random.default_rng(11), 0, [], []
    for _ in range(1000):
        truth = rng.normal(3, 1, 600) if kind == "scores" else (rng.random(600) < 0.7).astype(float)
        predicted = (
            truth + rng.normal(0.5, 0.6, 600) if kind == "scores" else np.clip(0.7 * truth + rng.random(600), 0, 1)
        )
        found = estimate_mean(truth[:60], predicted[:60], predicted[60:])
        classical = estimate_mean(truth[:60], rng.normal(size=60), rng.normal(size=540))
        held += found.ci_low <= (3 if kind == "scores" else 0.7) <= found.ci_high
        width.append(found.ci_high - found.ci_low)
        alone.append(classical.ci_high - classical.ci_low)
    assert 930 <= held <= 970
    assert np.mean(width) < 0.8 * np.mean(alone)
    label = rng.normal(size=50)
    found = estimate_mean(label, np.zeros(50), np.zeros(50))  # predictions that are always the same
    half = 2.0095752 * label.std(ddof=1) / np.sqrt(50)
    assert tuple(found) == pytest.approx((label.mean(), label.mean() - half, label.mean() + half))


def test_the_alternative_annotator_test_is_that_of_its_definition() -> None:
    """Calderon et al. (2025), equations 1 to 4, written with labels instead of distances."""
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=80)
    right = {"gpt": 0.9, "dumb": 0.4, "ann": 0.8, "ben": 0.75, "cid": 0.85, "dan": 0.8}
    said = {who: np.where(rng.random(80) < p, truth, rng.integers(3, size=80)) for who, p in right.items()}
    humans = ["ann", "ben", "cid", "dan"]
    panel = allalike.jury([(who, t, "xyz"[x]) for who, own in said.items() for t, x in enumerate(own)], humans=humans)
    table: Any = panel.annotators.set_index(["model", "human"])
    for model in ("gpt", "dumb"):
        for human in humans:
            others = [each for each in humans if each != human]
            score = {who: np.mean([said[who] == said[each] for each in others], axis=0) for who in (model, human)}
            wins, human_wins = score[model] >= score[human] - 1e-9, score[human] >= score[model] - 1e-9
            difference = human_wins.astype(float) - wins
            t = (difference.mean() - 0.15) / (difference.std(ddof=1) / np.sqrt(80))
            row = table.loc[(model, human)]
            assert (row["model_wins"], row["human_wins"]) == pytest.approx((wins.mean(), human_wins.mean()))
            assert row["p_value"] == pytest.approx(student.cdf(t, 79))
        assert (
            table.loc[model, "rejected"].tolist()
            == (false_discovery_control(table.loc[model, "p_value"], method="by") < 0.05).tolist()
        )
    told = panel.summary["panel"]["annotators"]["models"]
    assert [each["model"] for each in told] == ["gpt", "dumb"]
    assert [each["passes"] for each in told] == [True, False]
    assert told[0]["advantage_probability"] == pytest.approx(table.loc["gpt", "model_wins"].mean(), abs=1e-5)


@pytest.mark.parametrize("kind", ["one judge", "whole panel"])
def test_the_recommendation_is_one_judge_if_it_is_as_good_and_the_panel_if_it_is_better(kind: str) -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=300)
    right = [0.99, 0.6, 0.6] if kind == "one judge" else [0.75] * 7
    said = np.column_stack([np.where(rng.random(300) < p, truth, 1 - truth) for p in right])
    gold = {task: "ab"[label] for task, label in enumerate(truth.tolist())}
    told = allalike.jury(rows_of(said), gold=gold).summary["panel"]["recommendation"]
    assert told["chosen"] == kind
    errors = {each["name"]: each["error"] for each in told["options"]}
    if kind == "one judge":
        assert errors["one judge"] == pytest.approx((said[:, 0] != truth).mean(), abs=1e-5)
    else:
        assert errors["whole panel"] < errors["one judge"]


def test_counts_are_those_of_the_blind_panel_and_the_known_truths() -> None:
    table, truth = draw_harsh(0, tasks=120), np.random.default_rng(99).random(120) < 0.6
    gold = {f"t{task}": "pass" if truth[task] else "fail" for task in range(0, 120, 2)}
    summary = allalike.jury(table, gold=gold, positive="pass").summary
    told, right = summary["panel"]["rate"], 1 - summary["gold"]["error"]
    passes = sum(label == "pass" for label in gold.values())
    hits = told["sensitivity"] * passes + told["specificity"] * (60 - passes)
    assert (told["known"], told["tasks"]) == (60, 120)
    assert hits == pytest.approx(60 * right, rel=1e-4)


def test_few_tasks_and_unequal_gold_labels_are_allotted_by_neyman() -> None:
    counts = Counts(np.array([3e3, 9e3]), np.array([8.0, 24.0]), np.array([2.0, 22.0]))
    share = (counts.positive + 1 / 3) / (counts.known + 2 / 3)
    part = np.array([0.25, 0.75]) * np.sqrt(share * (1 - share))

    def variance(negative: float) -> float:
        return float((part**2 / [negative, 100 - negative]).sum())

    best = min(range(1, 100), key=variance)
    assert allot_gold(counts, 100).tolist() == pytest.approx([best, 100 - best], abs=1)
    assert (allot_gold(Counts(np.array([3.0, 2.0]), np.array([1.0, 0.0]), np.zeros(2))) <= [2, 2]).all()


@pytest.mark.parametrize("called", [0.0, 0.02, 0.98, 1.0])
def test_gold_labels_that_do_not_fit_give_the_nearest_rate(called: float) -> None:
    known, good = np.array([100.0, 100.0]), np.array([30.0, 70.0])  # it is right on 70 % of either
    rate, misfit = correct_rate(Counts(1000 * np.array([1 - called, called]) + known, known, good))
    assert misfit
    assert not correct_rate(Counts(np.array([600.0, 400.0]), known, good))[1]
    assert rate.estimate == round(called)
    near = np.array([0.7, 0.3]) if called < 0.5 else np.array([0.3, 0.7])
    fitting = correct_rate(Counts(1000 * near + known, known, good))[0]
    assert rate[1:] == pytest.approx(fitting[1:], abs=0.02)


def keep(table: pd.DataFrame, truth: dict[str, str] | None = None) -> pd.DataFrame:
    known = table["task"].map(truth or {}).map({"pass": 1.0, "fail": 0.0})
    return table.rename(columns={"worker": "judge"}).assign(label=(table["label"] == "pass") * 1.0, truth=known)


@pytest.mark.parametrize("first", [0, 300])
def test_a_judge_who_became_harsh_is_found_on_the_same_and_on_other_tasks(first: int, tmp_path: Path) -> None:
    allalike.jury(draw_harsh(0, tasks=300)).save(tmp_path / "out")
    found = []
    for harsh in (None, 1):
        panel = allalike.jury(draw_harsh(3, first=first, harsh=harsh), baseline=tmp_path / "out", positive="pass")
        found.append(panel.summary["panel"]["drift"]["drifted"])
        assert panel.judges["drifted"].tolist() == [f"j{judge}" in found[-1] for judge in range(4)]
    assert found == [[], ["j1"]]


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_a_judge_without_others_in_both_panels_is_compared_with_gold_only(tmp_path: Path) -> None:
    table = draw_harsh(0, tasks=40)
    allalike.jury(table[table["worker"] == "j0"], gold={"t3": "pass", "t4": "fail"}).save(tmp_path / "out")
    drift = allalike.jury(table, baseline=tmp_path / "out", gold={"t3": "pass"}).drift
    assert drift[["judge", "what", "n_now"]].to_numpy().tolist() == [["j0", "accuracy", 2]]


def test_p_values_of_drift_are_those_of_a_sign_test_and_of_welch() -> None:
    truth = {f"t{task}": "pass" for task in range(0, 300, 3)}
    before, now = draw_harsh(0), draw_harsh(1, harsh=0)
    changes: Any = find_changes(BothPanels.of(keep(before, truth), keep(now, truth)))
    changes = changes.set_index(["judge", "what", "tasks"])
    then, later = (table[table["worker"] == "j0"].set_index("task")["label"] == "pass" for table in (before, now))
    then, later = then[list(truth)], later[list(truth)]
    up, down = int((later & ~then).sum()), int((then & ~later).sum())
    row: Any = changes.loc[(0, "accuracy", "both")]
    assert row["p_value"] == pytest.approx(binomtest(up, up + down).pvalue)
    assert (row["before"], row["now"]) == pytest.approx((then.mean(), later.mean()))
    other = draw_harsh(1, first=300, harsh=0)
    both = BothPanels.of(keep(before, truth), keep(other, {f"t{t}": "fail" for t in range(300, 400)}))
    changes = find_changes(both)
    row = changes.set_index(["judge", "what", "tasks"]).loc[(0, "accuracy", "other")]
    known = other[other["worker"] == "j0"].set_index("task")["label"][:100] == "fail"
    assert row["p_value"] == pytest.approx(ttest_ind(known.astype(float), then.astype(float), equal_var=False).pvalue)
