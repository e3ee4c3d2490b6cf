"""Confidence of truths, effective voices, and truths that are not sure enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import allalike
from allalike import Disk, Memory, Result
from allalike.blocks.block import Block
from allalike.blocks.problems import Problems
from allalike.blocks.voices import Voices
from allalike.errors import OptionError, UnsupportedError
from allalike.methods.levels.beliefs import _held_out
from allalike.trust.confidence import TEMPERATURES, error_rates
from samples import Row

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


@pytest.mark.parametrize(("k", "answers", "difficulty"), [(2, 3, 0), (4, 5, 0), (2, 5, 1.0), (3, 7, 1.5)])
def test_a_confidence_is_the_share_of_labels_that_are_right(k: int, answers: int, difficulty: float) -> None:
    found = []
    for seed in range(4):
        rows, truth = drawn(k, answers, difficulty, seed)
        found.append(judged(allalike.discover(rows, domain="categorical"), truth))
    table = pd.concat(found)
    assert calibration_error(table["confidence"], table["right"]) <= 0.03


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
    assert sure.mean() == pytest.approx(skill.mean(), abs=0.06)


def test_errors_that_come_together_make_truths_less_sure() -> None:
    easy, hard = (
        allalike.discover(drawn(3, 7, difficulty, 5)[0], domain="categorical").summary["confidence"]
        for difficulty in (0, 3.0)
    )
    assert hard["temperature"] <= 0.7 < easy["temperature"]
    assert hard["voices_per_task"] <= 5 < easy["voices_per_task"]


def test_known_truths_see_the_errors_that_workers_share() -> None:
    rows, truth = drawn(2, 5, 0, seed=1)
    fooled = {task: 1 - label if task % 4 == 0 else label for task, label in truth.items()}  # three of four are right
    half = {task: label for task, label in fooled.items() if task < 150}
    blind, told = (allalike.discover(rows, gold=gold, domain="categorical") for gold in (None, half))
    assert blind.summary["confidence"]["temperature_from"] == "answers"
    found = told.summary["confidence"]
    assert found["temperature_from"] == "gold"
    unaware, aware = judged(blind, fooled)[150:], judged(told, fooled)[150:]
    before, after = (calibration_error(table["confidence"], table["right"]) for table in (unaware, aware))
    assert after < before - 0.03
    assert aware["confidence"].mean() == pytest.approx(aware["right"].mean(), abs=0.1)
    assert found["calibration_error"] <= 0.12
    assert found["voices_per_task"] < 0.7 * blind.summary["confidence"]["voices_per_task"]
    few = dict(list(half.items())[:49])
    assert (
        allalike.discover(rows, gold=few, domain="categorical").summary["confidence"]["temperature_from"] == "answers"
    )


def test_confidences_are_the_same_on_disk_in_any_order_and_in_blocks_of_any_size() -> None:
    rows, truth = drawn(3, 5, 1.0, seed=2, tasks=80)
    shuffled = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    for gold in (None, truth):
        expected = allalike.discover(rows, domain="categorical", gold=gold)
        for engine in (Memory(block_answers=50), Disk()):
            found = allalike.discover(shuffled, domain="categorical", gold=gold, engine=engine)
            assert found.summary["confidence"] == expected.summary["confidence"]
            columns = ["confidence", "voices"]
            np.testing.assert_allclose(found.truth[columns], expected.truth[columns], atol=1e-9)


def test_each_problem_of_many_has_its_own_temperature() -> None:
    rows, _ = drawn(2, 5, 0, seed=0, tasks=6, workers=8)
    many = allalike.discover(allalike.read(rows, domain="categorical").per_task())
    for task in range(6):
        alone = allalike.discover([row for row in rows if row[1] == task], domain=allalike.Categorical(classes=2))
        if "voices" in alone.truth:
            assert many.truth["confidence"][task] == pytest.approx(alone.truth["confidence"][0])


def test_who_answers_twice_under_two_names_is_held_out_twice() -> None:
    table = np.random.default_rng(0).integers(2, size=(5, 40))
    plain = Block.of(table)
    twins = Block.of(np.vstack([table, table[:1]]))
    group = np.arange(twins.n_tasks * 6)
    group[5::6] = group[0::6]
    voice: npt.NDArray[np.float64] = np.tile([0.5, 1, 1, 1, 1, 0.5], 40)
    rates = np.full(6, 0.2)
    expected = _held_out(plain, rates[:5], k=2)["coin"].sum(axis=0)
    found = _held_out(twins.keeping(Voices(voice, group)), rates, k=2)["coin"].sum(axis=0)
    np.testing.assert_allclose(found, expected)
    assert len(expected) == len(TEMPERATURES)


@pytest.mark.parametrize(
    ("said", "confidence"),
    [({"a": "x", "b": " y"}, [0.5, 0.5]), ({"a": "x", "b": "y"}, [0.5]), ({"a": "xy", "b": "xy", "c": "  z"}, None)],
)
def test_crowds_that_tell_nothing_have_truths_that_are_guesses(
    said: dict[str, str], confidence: list[float] | None
) -> None:
    rows = [(who, t, label) for who, labels in said.items() for t, label in enumerate(labels) if label != " "]
    truth = allalike.discover(rows, domain="categorical").truth
    assert (truth["confidence"] < 1).all()
    if confidence:
        np.testing.assert_allclose(truth["confidence"], confidence, atol=1e-6)


def test_error_rates_come_back_from_how_often_workers_differ() -> None:
    rng = np.random.default_rng(0)
    rates = np.array([0.05, 0.1, 0.2, 0.3, 0.4])
    differ = rates[:, None] + rates - 4 / 3 * np.outer(rates, rates)
    np.fill_diagonal(differ, 0)
    problems = Problems.single(5)
    met = np.full(5, 4 * 1e4)
    found = error_rates(rng.binomial(10_000, differ).sum(axis=1), met, met / 4, np.array([4.0]), 4, problems)
    np.testing.assert_allclose(found, rates, atol=0.03)
    assert (np.diff(found) > 0).all()


def test_truths_that_are_not_sure_enough_stay_empty(tmp_path: Any) -> None:
    rows, truth = drawn(3, 5, 1.0, seed=4, tasks=100)
    blind = allalike.Auto(use_gold=False)
    whole = allalike.discover(rows, domain="categorical", gold=truth, method=blind)
    some = allalike.discover(rows, domain="categorical", gold=truth, method=blind, min_confidence=0.9)
    sure = whole.truth["confidence"] >= 0.9
    assert some.truth["label"].notna().tolist() == sure.tolist()
    assert some.truth["label"][sure].tolist() == whole.truth["label"][sure].tolist()
    assert some.summary["abstained"] == (~sure).sum() > 0
    assert some.summary["gold"]["error"] < whole.summary["gold"]["error"]
    some.save(tmp_path)
    assert pd.read_csv(tmp_path / "truth.csv")["label"].isna().sum() == (~sure).sum()
    assert some.update([("w00", 1000, 1)]).summary["min_confidence"] == 0.9


def test_a_confidence_must_be_a_probability_and_be_known() -> None:
    with pytest.raises(OptionError, match="min_confidence is 90. It must be a probability, at most 1"):
        allalike.discover([("a", 1, "x")], domain="categorical", min_confidence=90)
    with pytest.raises(UnsupportedError, match="does not say how sure"):
        allalike.discover([("a", 1, 2.5), ("b", 1, 3.5)], domain="real", min_confidence=0.9)
