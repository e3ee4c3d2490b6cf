"""Verdicts: unreadable rows, both orders of a pair, samples, a quorum; scores that changed or share an offset."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.stats import binomtest

import allalike
from allalike.errors import DataNote, InputError, UnsupportedError
from allalike.panels.drift import BothPanels, find_changes, list_verdicts, read_earlier
from allalike.panels.repeats import compare_orders, find_steadiness
from allalike.panels.rows import RepeatedVerdicts
from golden.panel_cases import describe
from golden.record import differences, plain

pytestmark = pytest.mark.filterwarnings(f"ignore::{DataNote.__module__}.{DataNote.__name__}")
COLUMNS = ("judge", "item", "verdict", "shown", "epoch")
Numbers = npt.NDArray[np.float64]
Row = tuple[Any, ...]


def draw_pairs(
    seed: int, *, bias: Sequence[float], tasks: int = 60, samples: int = 1, right: float = 0.85, places: bool = False
) -> tuple[list[Row], list[str]]:
    """Draw pairs in both orders; a judge takes the first place with her bias, and otherwise what is in the answers."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=tasks)
    rows: list[Row] = []
    for judge, follows in enumerate(bias):
        for task in range(tasks):
            for order in (0, 1):
                for sample in range(samples):
                    says = truth[task] if rng.random() < right else 1 - truth[task]
                    says = order if rng.random() < follows else says
                    label = "AB"[says if not places or order == 0 else 1 - says]
                    rows.append((f"j{judge}", task, label, ("as is", "swapped")[order], sample))
    return rows, ["AB"[each] for each in truth]


def table_of(rows: Sequence[Row]) -> dict[str, list[Any]]:
    return dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=False))


def ballots_of(label: npt.NDArray[Any], names: str = "AB") -> RepeatedVerdicts:
    """Return ballots from an array of task, judge, order and sample; a negative label is none."""
    task, judge, order, sample = (each.ravel() for each in np.indices(label.shape))
    there = label.ravel() >= 0
    worker = (judge * label.shape[2] + order) * label.shape[3] + sample
    said = {"worker": worker[there], "task": task[there], "label": np.array([*names])[label.ravel()[there]]}
    answers = allalike.read(said, domain="categorical")
    who = np.array(answers.workers.tolist())[answers.worker] // label.shape[3]
    ids = allalike.read([(each, 0, "A") for each in range(label.shape[1])], domain="categorical").workers
    number = np.repeat(np.arange(answers.n_tasks), np.diff(answers.starts))
    columns = {"task": number, "judge": who // label.shape[2], "order": who % label.shape[2]}
    rows = pd.DataFrame({**columns, "label": answers.label.astype(np.intp)})
    return RepeatedVerdicts(rows, answers.tasks, ids, answers.encoding)


def test_the_voice_of_a_judge_is_the_label_with_most_of_her_samples_where_each_order_counts_the_same() -> None:
    said = np.random.default_rng(0).integers(-1, 3, (30, 4, 2, 3))
    found = ballots_of(said, "ABC").reconcile()
    voices = {
        (t, j): x for t, j, x in zip(found.task.tolist(), found.judge.tolist(), found["label"].tolist(), strict=True)
    }
    for task in range(30):
        for judge in range(4):
            score: dict[int, float] = defaultdict(float)
            for order in said[task, judge]:
                there = order[order >= 0]
                for label in there.tolist():
                    score[label] += 1 / len(there)
            best = [label for label in score if score[label] > max(score.values()) - 1e-9]
            assert voices.get((task, judge)) == (None if not best else best[0] if len(best) == 1 else -1)


def test_a_task_on_which_everybody_contradicts_herself_is_inconclusive_and_stays_in_the_table(tmp_path: Path) -> None:
    rows = [(f"j{j}", t, "xy"[t % 2], order) for j in range(3) for t in range(10) for order in ("ab", "ba")]
    rows = [(*row[:2], "xy"[row[3] == "ba"], row[3]) if row[1] == 4 else row for row in rows]
    panel = allalike.jury(table_of(rows), order="shown", verdicts_name="answers")
    assert panel.truth["task"].tolist() == list(range(10))
    assert panel.truth["verdict"].tolist() == ["inconclusive" if task == 4 else "class" for task in range(10)]
    assert panel.truth["label"].isna().tolist() == [task == 4 for task in range(10)]
    panel.save(tmp_path / "out")
    saved = pd.read_csv(tmp_path / "out" / "truth.csv")
    assert saved["verdict"].tolist() == panel.truth["verdict"].tolist()
    assert saved["answers"].tolist() == [0 if task == 4 else 3 for task in range(10)]


def test_the_limits_of_the_position_bias_are_those_of_bonett_and_price_and_its_probability_that_of_a_sign_test() -> (
    None
):
    said = np.array([[0, 1]] * 9 + [[1, 0]] * 2 + [[0, 0]] * 20 + [[1, 1]] * 15).reshape(-1, 1, 2, 1)
    found = compare_orders(ballots_of(said))
    n, f, s = 46, 9, 2
    p, q = (f + 1) / (n + 2), (s + 1) / (n + 2)
    half = 1.959964 * np.sqrt((p + q - (p - q) ** 2) / (n + 2))
    assert found[["pairs", "same"]].iloc[0].tolist() == [46, 35 / 46]
    assert found.position_bias[0] == pytest.approx((f - s) / (2 * n))
    assert (found.ci_low[0], found.ci_high[0]) == pytest.approx(((p - q - half) / 2, (p - q + half) / 2))
    assert found.p_value[0] == pytest.approx(binomtest(9, 11).pvalue)


@pytest.mark.parametrize(("bias", "samples"), [(0.0, 1), (0.2, 1), (0.5, 1), (0.2, 4)])
def test_limits_of_bias_and_steadiness_hold_in_about_95_of_100_draws(bias: float, samples: int) -> None:
    rng = np.random.default_rng([7, samples, int(10 * bias)])
    shape = (60, 400, 2, samples)
    likes = np.where(rng.random(shape[:2]) < 0.5, 0.85, 0.15)[:, :, None, None]
    content = (rng.random(shape) > likes).astype(int)
    order = np.broadcast_to(np.arange(2)[None, None, :, None], shape)
    ballots = ballots_of(np.where(rng.random(shape) < bias, order, content))
    found = compare_orders(ballots)
    assert 0.925 < np.mean((found.ci_low <= bias / 2) & (bias / 2 <= found.ci_high)) < 0.985
    if samples > 1:
        chance = np.array([[bias * first + (1 - bias) * p for p in (0.85, 0.15)] for first in (0, 1)])
        steady = np.mean(chance**2 + (1 - chance) ** 2)
        told = find_steadiness(ballots)
        assert 0.925 < np.mean((told["steadiness_ci_low"] <= steady) & (steady <= told["steadiness_ci_high"])) < 0.985


def test_who_follows_the_first_place_is_named_and_others_seldom_are() -> None:
    rng, found = np.random.default_rng(5), []
    for _ in range(40):
        content = (rng.random((150, 1, 2, 1)) < 0.5) ^ (rng.random((150, 4, 2, 1)) < 0.15)
        follows = rng.random(content.shape) < np.array([0.3, 0, 0, 0])[None, :, None, None]
        found.append(
            compare_orders(ballots_of(np.where(follows, np.arange(2)[None, None, :, None], content).astype(int)))
        )
    follow = [set(np.flatnonzero(each["p_value"] < 0.05).tolist()) for each in found]
    assert np.mean([0 in each for each in follow]) > 0.9
    assert np.mean([bool(each - {0}) for each in follow]) < 0.13  # 5 %, give or take two standard errors
    held = np.mean([(each.ci_low[0] <= 0.15) & (each.ci_high[0] >= 0.15) for each in found])
    assert held > 0.86


@pytest.mark.parametrize("places", [False, True])
def test_verdicts_name_answers_or_places(places: bool) -> None:
    rows, truth = draw_pairs(3, bias=[0.7, 0.7, 0.7], tasks=300, places=places)
    with pytest.raises(InputError, match="may name an answer") as asked:
        allalike.jury(table_of(rows), order="shown")
    panel = allalike.jury(table_of(rows), order="shown", **asked.value.proposals[places].options)
    labels = panel.truth.set_index("task")["label"]
    assert np.mean([labels[task] == truth[task] for task in labels.dropna().index]) > 0.8
    assert panel.judges["position_bias"].to_numpy() == pytest.approx(np.full(3, 0.35), abs=0.06)
    names = {"A": "left", "B": "right"}
    if places:  # which is plain from such names
        named = [(*row[:2], names[row[2]], *row[3:]) for row in rows]
        assert allalike.jury(table_of(named), order="shown").summary["panel"]["orders"]["verdicts_name"] == "places"


@pytest.mark.parametrize("kind", ["pairs", "scores"])
def test_rows_in_another_order_and_another_engine_change_nothing(kind: str, tmp_path: Path) -> None:
    pairs = pd.DataFrame(table_of(draw_pairs(6, bias=[0.1, 0.4, 0.0], samples=3)[0]))
    table = pairs if kind == "pairs" else draw_scores(0)
    how: dict[str, Any] = {"order": "shown", "sample": "epoch", "verdicts_name": "answers"} if kind == "pairs" else {}
    given = ((table, "memory"), (table[::-1], allalike.Disk(work_dir=str(tmp_path))))
    first, again = (plain(describe(allalike.jury(rows, **how, engine=engine))) for rows, engine in given)
    assert [*differences(first, again, 1e-9)] == ['summary.engine: "memory" -> "disk"']


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("how", [{}, {"domain": "categorical(extract='is (.)')"}, {"verdicts": "x,y"}])
def test_what_cannot_be_read_is_counted_by_judge_and_no_class(how: dict[str, Any], engine: str, tmp_path: Path) -> None:
    odd = {"": None, "domain": "no idea", "verdicts": "z"}[next(iter(how), "")]
    form = "it is {}" if "domain" in how else "{}"
    rows: list[Row] = [(f"j{j}", t, form.format("xy"[t % 2])) for j in range(3) for t in range(20)]
    rows = [(j, t, odd if (j == "j1" and t < 5) or t == 13 else label) for j, t, label in rows]
    pd.DataFrame(rows, columns=COLUMNS[:3]).to_csv(tmp_path / "said.csv", index=False)
    panel = allalike.jury(tmp_path / "said.csv", engine=engine, **how)
    found = panel.summary["panel"]["unreadable"]
    assert (found["verdicts"], found["judges"], found["tasks"]) == (8, 3, 1)
    assert found["named"][0] == {"judge": "j1", "unreadable": 6, "asked": 20, "share": 0.3}
    assert panel.judges["unreadable"].tolist() == [1, 6, 1]
    assert panel.truth["task"].tolist() == list(range(20))
    assert panel.truth["verdict"].tolist() == ["unreadable" if task == 13 else "class" for task in range(20)]
    assert set(panel.truth["label"].dropna()) == {"x", "y"}


def test_a_quorum_counts_copies_once_and_leaves_known_truths() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(3, size=120)
    said = [np.where(rng.random(120) < 0.8, truth, rng.integers(3, size=120)) for _ in range(3)]
    every = dict(zip(("a", "b", "c", "copy of c"), [*said, said[2]], strict=True))
    rows = [
        (judge, task, "xyz"[label])
        for judge, own in every.items()
        for task, label in enumerate(own.tolist())
        if task >= 60 or judge not in ("a", "b")
    ]
    found = allalike.jury(rows, quorum=2).truth
    assert found["verdict"].tolist() == ["inconclusive"] * 60 + ["class"] * 60
    assert found["label"].isna().sum() == 60
    with_gold = allalike.jury(rows, quorum=2, gold={0: "xyz"[truth[0]]}).truth
    assert with_gold["verdict"].tolist()[:2] == ["class", "inconclusive"]


def test_further_rows_are_asked_about_where_a_column_tells_why() -> None:
    rows, _ = draw_pairs(1, bias=[0.0] * 3, samples=2)
    table = {("order" if name == "shown" else name): column for name, column in table_of(rows).items()}
    with pytest.raises(InputError, match="'order' and 'epoch' distinguish them") as asked:
        allalike.jury(table)
    assert [dict(each.options) for each in asked.value.proposals] == [
        {"order": "order", "sample": "epoch"},
        {"duplicates": "first"},
    ]
    assert allalike.jury(table, **asked.value.proposals[0].options, verdicts_name="answers").truth["answers"].max() == 3
    with pytest.raises(InputError, match="'epoch' distinguishes them"):
        allalike.jury(table, order="order", verdicts_name="answers")


TASKS = 150
TRUTH = np.random.default_rng(5).normal(3, 1.5, 2 * TASKS)


def draw_scores(seed: int, *, first: int = 0, lenient: float = 0.0, levels: bool = False) -> pd.DataFrame:
    """Draw scores of four judges with offsets of their own; the second may have become more lenient."""
    rng = np.random.default_rng(seed)
    tasks = np.arange(first, first + TASKS)
    parts = []
    for judge, (offset, spread) in enumerate(((0.0, 0.4), (0.5 + lenient, 0.5), (-0.4, 0.6), (0.1, 0.7))):
        scores = TRUTH[tasks] + offset + rng.normal(0, spread, TASKS)
        scores = np.clip(scores.round(), 1, 5).astype(int) if levels else scores.round(2)
        parts.append(pd.DataFrame({"worker": f"j{judge}", "task": [f"t{task}" for task in tasks], "label": scores}))
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize(("first", "levels"), [(0, False), (TASKS, True)])
def test_a_judge_who_became_lenient_is_found(tmp_path: Path, first: int, levels: bool) -> None:
    how: dict[str, Any] = {"domain": "ordinal(levels=[1, 2, 3, 4, 5])" if levels else "real"}
    allalike.jury(draw_scores(0, levels=levels), **how).save(tmp_path / "out")
    same = allalike.jury(draw_scores(1, first=first, levels=levels), baseline=tmp_path / "out", **how)
    assert same.summary["panel"]["drift"]["drifted"] == []
    panel = allalike.jury(draw_scores(2, first=first, lenient=1.0, levels=levels), baseline=tmp_path / "out", **how)
    assert panel.summary["panel"]["drift"]["drifted"] == ["j1"]
    change: Any = panel.drift.set_index(["judge", "what"]).loc[("j1", "score")]
    assert change["ci_low"] < (0.8 if levels else 1.0) < change["ci_high"]


def test_redraws_of_the_same_scores_raise_an_alarm_hardly_ever() -> None:
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = rng.normal(size=80)[:, None]
        then, now = (truth + rng.standard_t(3, size=(80, 4)) for _ in range(2))
        changes = find_changes(BothPanels([*"abcd"], then, now, np.full(80, np.nan), scored=True))
        alarms += bool((changes["p_value"] * len(changes) < 0.01).any())
    assert alarms <= 3


def test_good_levels_are_named_by_a_bound_or_one_by_one() -> None:
    levels = draw_scores(3, levels=True)
    told = [
        allalike.jury(levels, domain="ordinal", positive=good).summary["panel"]["rate"]["apparent"]
        for good in (">=4", [4, 5], ["4", ">4"])
    ]
    assert told[0] == told[1] == told[2]


def test_scores_are_compared_with_scores_as_they_were_given(tmp_path: Path) -> None:
    allalike.jury(draw_scores(0), domain="real").save(tmp_path / "out")
    kept = list_verdicts(read_earlier(tmp_path / "out").run, 10_000, {})
    merged = kept.merge(draw_scores(0), left_on=["judge", "task"], right_on=["worker", "task"])
    assert len(merged) == len(kept)
    assert merged["label_x"].tolist() == pytest.approx(merged["label_y"].tolist())  # though offsets were taken away
    some = {*list_verdicts(read_earlier(tmp_path / "out").run, 100, {})["task"]}
    assert 10 <= len(some) <= 50
    assert some < {*kept["task"]}
    with pytest.raises(UnsupportedError, match="(?i)leave out bias"):
        allalike.jury(draw_scores(1), domain="real(bias=True)", baseline=tmp_path / "out")


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_merged_verdicts_are_saved_with_gold_and_compared_with_later_ones(tmp_path: Path) -> None:
    rows, truth = draw_pairs(9, bias=[0.0, 0.0, 0.0], samples=2)
    how: dict[str, Any] = {"order": "shown", "sample": "epoch", "verdicts_name": "answers"}
    first = allalike.jury(table_of(rows), gold=dict(enumerate(truth[:20])), **how)
    first.save(tmp_path / "out")
    assert allalike.load(tmp_path / "out").truth["label"].tolist() == first.result.truth["label"].tolist()
    again = allalike.jury(table_of(rows), baseline=tmp_path / "out", **how).summary["panel"]["drift"]
    assert (again["drifted"], again["shared_tasks"]) == ([], len(first.result.truth))


def draw_truths(seed: int, tasks: int = 150) -> tuple[Numbers, Numbers]:
    rng = np.random.default_rng([seed, tasks])
    truth = rng.normal(5, 2, tasks)
    return truth, truth[:, None] + rng.normal(size=(tasks, 5)) * 0.8


def judge(said: Numbers, truth: Numbers, known: int = 60, **how: Any) -> allalike.Panel:
    rows = [(f"j{judge}", int(task), float(said[task, judge])) for task, judge in np.ndindex(said.shape)]
    return allalike.jury(rows, gold=dict(enumerate(truth[:known].tolist())), **{"domain": "real", **how})


def miss(panel: allalike.Panel, truth: Numbers, known: int = 60) -> float:
    return float(np.sqrt(np.mean((panel.truth["label"].to_numpy() - truth)[known:] ** 2)))


@pytest.mark.parametrize("stretch", [1.0, 2.0])
def test_an_error_that_all_judges_share_is_corrected_by_gold_labels(engine: str, stretch: float) -> None:
    truth, said = draw_truths(0)
    panel = judge(5 + stretch * (said - 5) + 1.5, truth, engine=engine)
    correction = panel.summary["panel"]["gold_correction"]
    assert correction["known"] == 60
    assert correction["after"] < 0.45 < 1.4 < correction["before"]
    assert panel.summary["panel"]["error"] < 0.45
    assert miss(panel, truth) == pytest.approx(miss(judge(said, truth), truth), abs=0.05)
    assert panel.summary["gold"]["error"] == pytest.approx(correction["before"] ** 2, rel=0.05)
    assert "gold_correction" not in judge(said, truth, known=9).summary["panel"]
