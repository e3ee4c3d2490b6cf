"""Confidence of truths, effective voices, and truths that are not sure enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import Disk, Memory, Result
from allalike.api.judges.coverage import expected_calibration_error
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
