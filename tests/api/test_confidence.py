"""Confidence of truths, effective voices, and truths that are not sure enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import Disk, Memory, Result
from allalike.api.judges.coverage import expected_calibration_error
from allalike.errors import OptionError, UnsupportedError
from allalike.methods.auto.sureness.intervals import find_wilson_limits
from crowds.samples import Row

Drawn = tuple[list[Row], dict[int, int]]


def drawn(k: int, answers: int, difficulty: float, seed: int, tasks: int = 300, workers: int = 25) -> Drawn:
    """Draw a crowd whose workers are right with 50 to 95 %, less on hard tasks and more on easy ones."""
    rng = np.random.default_rng(seed)
    truth, level = rng.integers(k, size=tasks), rng.normal(0, difficulty, tasks)
    skill = (k * rng.uniform(0.5 if k > 2 else 0.55, 0.95, workers) - 1) / (k - 1)
    knows = 1 / (1 + np.exp(-(np.log(skill / (1 - skill)) + level[:, None])))
    right = rng.random((tasks, workers)) < 1 / k + (1 - 1 / k) * knows
    said = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, k, (tasks, workers))) % k)
    asked = rng.random((tasks, workers)).argsort(axis=1)[:, :answers]
    rows = [(f"w{i:02d}", t, int(said[t, i])) for t in range(tasks) for i in asked[t].tolist()]
    return rows, dict(enumerate(truth.tolist()))


def calibration_error(confidence: Any, right: Any) -> float:
    """Return by how much confidences and shares of right labels differ, in ten bins."""
    table = pd.DataFrame({"bin": np.minimum(np.floor(10 * confidence), 9), "sure": confidence, "right": right})
    return float(table.groupby("bin")[["sure", "right"]].sum().diff(axis=1)["right"].abs().sum() / len(table))


def judged(result: Result, truth: dict[int, int]) -> pd.DataFrame:
    return result.truth.assign(right=result.truth["label"] == result.truth["task"].map(truth))


def shares_of(rows: list[Row], k: int) -> Any:
    """Return the share of the votes for each class of each task."""
    votes = np.zeros((1 + max(int(str(task)) for _, task, _ in rows), k))
    for _, task, label in rows:
        votes[int(str(task)), int(str(label))] += 1
    return votes / votes.sum(axis=1, keepdims=True)


ALIKE = [(worker, task, (task + (task % 7 == worker)) % 3) for worker in range(4) for task in range(21)]


def beyond_chance(share: float, k: int) -> float:
    return (share - 1 / k) / (1 - 1 / k)


def test_a_vote_of_workers_who_are_alike_is_believed_as_far_as_another_crowd_would_find_it_again() -> None:
    result = allalike.discover(ALIKE, domain="categorical")
    assert result.summary["reading"]["taken"] == "vote"
    found = result.summary["confidence"]
    assert found["told_by"] == "pairs"
    said = (
        pd.DataFrame(ALIKE, columns=["worker", "task", "label"])
        .pivot(index="task", columns="worker")["label"]
        .to_numpy()
    )
    others = [[np.delete(row, i) for i in range(4)] for row in said]
    pairs = np.mean(
        [(rest == row[i]).mean() for row, each in zip(said, others, strict=True) for i, rest in enumerate(each)]
    )
    votes = np.mean(
        [
            np.bincount(rest).argmax() == row[i]
            for row, each in zip(said, others, strict=True)
            for i, rest in enumerate(each)
        ]
    )
    single = beyond_chance(pairs, 3)
    whole = min(beyond_chance(votes, 3) ** 2 / single, 1)
    again = (21 * (whole + (1 - whole) / 3) + 2 / 3) / (21 + 2)
    assert found["found_again"] == pytest.approx(again, abs=1e-5)
    error = 2 / 3 * (1 - single**0.5)
    odds = (2 * (1 - error) / error) ** (4 * shares_of(ALIKE, 3))
    expected = again * odds / odds.sum(axis=1, keepdims=True) + (1 - again) / 3
    np.testing.assert_allclose(result.probabilities.set_index("task"), expected, atol=1e-5)
    np.testing.assert_allclose(result.truth["confidence"], expected.max(axis=1), atol=1e-5)


@pytest.mark.parametrize(("workers", "most"), [(3, 0.16), (5, 0.1), (9, 0.04)])
@pytest.mark.parametrize("k", [2, 4])
def test_good_workers_who_err_apart_are_believed(workers: int, most: float, k: int) -> None:
    rng = np.random.default_rng(workers)
    wrong = (rng.random((400, workers)) < 0.12) * rng.integers(1, k, (400, workers))
    rows = [(w, t, int((t + wrong[t, w]) % k)) for t in range(400) for w in range(workers)]
    table = judged(allalike.discover(rows, domain="categorical"), {t: t % k for t in range(400)})
    assert table["right"].mean() - most < table["confidence"].mean() < table["right"].mean() + 0.01


def test_a_crowd_that_errs_together_is_not_believed_as_one_that_errs_apart() -> None:
    rng = np.random.default_rng(1)
    hard = rng.random(400) < 0.3  # on which everybody guesses, so that more answers bring nothing
    wrong = np.where(hard[:, None], rng.integers(0, 2, (400, 9)), rng.random((400, 9)) < 0.03)
    rows = [(w, t, int((t + wrong[t, w]) % 2)) for t in range(400) for w in range(9)]
    table = judged(allalike.discover(rows, domain="categorical"), {t: t % 2 for t in range(400)})
    assert table["confidence"].mean() == pytest.approx(table["right"].mean(), abs=0.08)


def test_a_reading_is_believed_as_far_as_halves_of_the_workers_find_it_again() -> None:
    rows, _ = drawn(3, 5, 1.0, seed=2, tasks=120)
    result, plain = (allalike.discover(rows, domain="categorical", plain=plain) for plain in (False, True))
    assert result.summary["reading"]["taken"] == "reading"
    found = result.summary["confidence"]
    assert found["told_by"] == "halves"
    again = found["found_again"]
    assert 1 / 3 < again < 0.95
    expected = again * plain.probabilities.set_index("task") + (1 - again) / 3
    np.testing.assert_allclose(result.probabilities.set_index("task"), expected, atol=1e-5)
    assert result.truth["confidence"].max() <= again + (1 - again) / 3 + 1e-5


@pytest.mark.parametrize(("k", "answers", "difficulty"), [(2, 10, 0), (4, 5, 0), (3, 7, 1.5)])
def test_confidences_are_rather_too_low_than_too_high_and_more_so_where_labels_are_wrong(
    k: int, answers: int, difficulty: float
) -> None:
    rows, truth = drawn(k, answers, difficulty, 0)
    table = judged(allalike.discover(rows, domain="categorical"), truth)
    assert table["confidence"].mean() < table["right"].mean() + 0.02
    assert table["confidence"][table["right"]].mean() > table["confidence"][~table["right"]].mean() + 0.03


def test_a_calibration_error_is_how_far_bins_are_off_weighed_by_their_labels() -> None:
    count, sure, hits = np.array([10.0, 30.0, 0.0]), np.array([4.0, 27.0, 0.0]), np.array([6.0, 24.0, 0.0])
    assert expected_calibration_error(count, sure, hits) == pytest.approx(10 / 40 * 0.2 + 30 / 40 * 0.1)
    assert np.isnan(expected_calibration_error(*np.zeros((3, 2))))
    drawn_sure = np.random.default_rng(0).uniform(0.5, 1, 200)
    right = np.random.default_rng(1).random(200) < 0.7
    bins = np.minimum((10 * drawn_sure).astype(int), 9)
    sums = [np.bincount(bins, each, 10).astype(np.float64) for each in (np.ones(200), drawn_sure, right)]
    assert expected_calibration_error(*sums) == pytest.approx(calibration_error(drawn_sure, right))


def test_limits_of_a_worker_are_those_of_wilson_made_wider_by_how_unsure_her_truths_are() -> None:
    rows, _ = drawn(3, 5, 1.0, seed=2, tasks=120)
    result = allalike.discover(rows, domain="categorical")
    table = result.probabilities.set_index("task").to_numpy()
    said = pd.DataFrame(rows, columns=["worker", "task", "label"])
    again, less = (result.summary["confidence"][name] for name in ("found_again", "by_less"))
    assert less < again
    said["wrong"] = 1 - (table[said["task"], said["label"]] - (1 - again) / 3) / again  # before it was doubted
    believed = (table.max(axis=1)[said["task"]] - (1 - again) / 3) / again
    said["unsure"] = 1 - (less * believed + (1 - less) / 3)
    means = said.groupby("worker")[["wrong", "unsure"]].mean()
    answers = said["worker"].value_counts().sort_index().to_numpy().astype(np.float64)
    workers = result.workers.set_index("worker").sort_index()
    known = result.weighing.insight.faults
    assert known is not None
    np.testing.assert_allclose(known.fault, means["wrong"], atol=1e-5)  # before it was pulled to the crowd
    low, high = find_wilson_limits(means["wrong"].to_numpy(), answers)
    assert means["unsure"].min() > 0.01
    np.testing.assert_allclose(workers["low"], np.maximum(low - means["unsure"], 0), atol=1e-5)
    np.testing.assert_allclose(workers["high"], np.minimum(high + 2 * means["unsure"], 1), atol=1e-5)


def test_the_label_is_the_most_probable_class_and_its_probability_the_confidence() -> None:
    for seed, workers in ((0, 25), (1, 6)):
        rows, _ = drawn(4, 5, 1.5, seed, tasks=60, workers=workers)
        result = allalike.discover(rows, domain="categorical")
        table = result.probabilities.set_index("task")
        np.testing.assert_allclose(table.sum(axis=1), 1)
        np.testing.assert_allclose(table.max(axis=1), result.truth["confidence"])
        sure = ~result.truth["tied"].to_numpy()
        assert (table.idxmax(axis=1).to_numpy() == result.truth["label"])[sure].all()


def test_one_answer_is_as_sure_as_its_worker() -> None:
    rows, truth = drawn(2, 5, 0, seed=3)
    alone = [(f"w{i:02d}", 1000 + i, 1) for i in range(25)]
    result = allalike.discover(rows + alone, domain="categorical")
    sure = result.truth.set_index("task")["confidence"].loc[1000:]
    known = pd.DataFrame(rows, columns=["worker", "task", "label"])
    skill = (known["label"] == known["task"].map(truth)).groupby(known["worker"]).mean()
    assert sure.max() < 0.97
    assert np.corrcoef(sure, skill)[0, 1] > 0.6
    assert sure.mean() <= skill.mean()


def test_hard_tasks_make_truths_less_sure() -> None:
    easy, hard = (
        allalike.discover(drawn(3, 7, difficulty, 5, tasks=150)[0], domain="categorical").summary["confidence"]
        for difficulty in (0, 3.0)
    )
    assert hard["found_again"] < easy["found_again"] - 0.03
    assert hard["mean"] < easy["mean"] - 0.05


def test_known_truths_see_the_errors_that_workers_share() -> None:
    rows, truth = drawn(2, 7, 0, seed=1)
    fooled = {task: 1 - label if task % 4 == 0 else label for task, label in truth.items()}  # three of four are right
    half = {task: label for task, label in fooled.items() if task < 150}
    blind, told = (allalike.discover(rows, gold=gold, domain="categorical") for gold in (None, half))
    assert blind.summary["confidence"]["told_by"] == "halves"
    found = told.summary["confidence"]
    assert found["told_by"] == "gold"
    unaware, aware = judged(blind, fooled)[150:], judged(told, fooled)[150:]
    assert unaware["confidence"].mean() > unaware["right"].mean() + 0.1
    assert aware["confidence"].mean() == pytest.approx(aware["right"].mean(), abs=0.06)
    assert found["error_correlation"] > 0.2
    assert found["voices_per_task"] < 0.7 * found["answers_per_task"]
    few = dict(list(half.items())[:49])
    assert allalike.discover(rows, gold=few, domain="categorical").summary["confidence"]["told_by"] == "halves"


def test_confidences_are_the_same_on_disk_in_any_order_and_in_blocks_of_any_size() -> None:
    rows, truth = drawn(3, 5, 1.0, seed=2, tasks=80)
    shuffled = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    for gold in (None, truth):
        expected = allalike.discover(rows, domain="categorical", gold=gold)
        for engine in (Memory(block_answers=50), Disk()):
            found = allalike.discover(shuffled, domain="categorical", gold=gold, engine=engine)
            assert found.summary["confidence"] == expected.summary["confidence"]
            columns = ["confidence", "voices"] if gold else ["confidence"]
            np.testing.assert_allclose(found.truth[columns], expected.truth[columns], atol=1e-9)


def test_each_problem_of_many_is_as_sure_as_if_it_were_alone() -> None:
    rows, _ = drawn(2, 5, 0, seed=0, tasks=6, workers=8)
    many = allalike.discover(allalike.read(rows, domain="categorical").per_task())
    for task in range(6):
        alone = allalike.discover([row for row in rows if row[1] == task], domain=allalike.Categorical(classes=2))
        if "confidence" in alone.truth:  # which one class has not
            assert many.truth["confidence"][task] == pytest.approx(alone.truth["confidence"][0])
    assert many.truth["confidence"].nunique() > 1


@pytest.mark.parametrize(
    ("said", "confidence"),
    [({"a": "x", "b": " y"}, [0.75, 0.75]), ({"a": "x", "b": "y"}, [0.5]), ({"a": "xy", "b": "yx"}, [0.5, 0.5])],
)
def test_crowds_that_tell_nothing_have_truths_that_are_guesses_or_half_believed(
    said: dict[str, str], confidence: list[float]
) -> None:
    rows = [(who, t, label) for who, labels in said.items() for t, label in enumerate(labels) if label != " "]
    truth = allalike.discover(rows, domain="categorical").truth
    np.testing.assert_allclose(truth["confidence"], confidence, atol=1e-6)


def test_truths_that_are_not_sure_enough_stay_empty(tmp_path: Any) -> None:
    rows, truth = drawn(3, 5, 1.0, seed=4, tasks=100)
    blind = allalike.Auto(use_gold=False)
    whole = allalike.discover(rows, domain="categorical", gold=truth, method=blind)
    some = allalike.discover(rows, domain="categorical", gold=truth, method=blind, min_confidence=0.75)
    sure = whole.truth["confidence"] >= 0.75
    assert some.truth["label"].notna().tolist() == sure.tolist()
    assert some.truth["label"][sure].tolist() == whole.truth["label"][sure].tolist()
    assert some.summary["abstained"] == (~sure).sum() > 0
    assert some.summary["gold"]["error"] < whole.summary["gold"]["error"]
    some.save(tmp_path)
    assert pd.read_csv(tmp_path / "truth.csv")["label"].isna().sum() == (~sure).sum()
    assert some.update([("w00", 1000, 1)]).summary["min_confidence"] == 0.75


def test_a_confidence_must_be_a_probability_and_be_known() -> None:
    with pytest.raises(OptionError, match="min_confidence is 90. It must be a probability, at most 1"):
        allalike.discover([("a", 1, "x")], domain="categorical", min_confidence=90)
    with pytest.raises(UnsupportedError, match="does not say how sure"):
        allalike.discover([("a", 1, 2.5), ("b", 1, 3.5)], domain="real", min_confidence=0.9)


def test_truths_of_many_classes_have_a_confidence_too() -> None:
    rows, truth = drawn(40, 6, 0, seed=1, tasks=400)
    result = allalike.discover(rows, domain="categorical")
    table = judged(result, truth)
    assert result.summary["confidence"]["told_by"] == "pairs"
    assert table["confidence"].mean() == pytest.approx(table["right"].mean(), abs=0.06)
    assert table["confidence"][table["right"]].mean() > table["confidence"][~table["right"]].mean() + 0.1
