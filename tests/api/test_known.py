"""Known truths: they count as evidence, stand in the output, and the error against them is that without them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import allalike
from allalike import Auto, Disk, Memory
from crowds.copiers import answer, rows_of


def misled(seed: int) -> tuple[np.ndarray, list[tuple[str, str, str]]]:
    """Draw a crowd most of which is fooled on a third of the tasks, and three workers who are not."""
    rng = np.random.default_rng([seed, 33])
    truth = rng.integers(0, 2, 150)
    hard = rng.random(150) < 1 / 3
    said = answer(rng, truth, 0.8, 12, k=2)
    fooled = answer(rng, truth, 0.2, 9, k=2)
    said[3:, hard] = fooled[:, hard]
    return truth, rows_of(said)


def error(rows: list[tuple[str, str, str]], truth: np.ndarray, known: list[int], *, use: bool) -> float:
    gold = {f"t{task:04}": "ab"[truth[task]] for task in known} if use else None
    found = allalike.discover(rows, gold=gold).truth["label"].to_numpy()
    rest = np.setdiff1d(np.arange(len(truth)), known)
    return float(np.mean(found[rest] != np.array(list("ab"))[truth[rest]]))


def test_a_few_known_truths_never_harm_and_help_a_crowd_that_is_fooled() -> None:
    drawn = [(*misled(seed), list(range(8))) for seed in range(6)]
    lost = [error(rows, truth, known, use=True) - error(rows, truth, known, use=False) for truth, rows, known in drawn]
    assert np.mean(lost) < 0
    assert max(lost) < 0.05


@pytest.mark.parametrize("engine", [Memory(block_answers=5), Disk()])
def test_known_truths_stand_in_the_output(engine: Memory | Disk) -> None:
    rows = [(worker, task, "xy"[task % 2]) for worker in "abc" for task in range(20)]
    truth = allalike.discover(rows, gold={3: "x", 4: "x"}, engine=engine).truth
    assert truth.loc[truth["known"], "task"].tolist() == [3, 4]
    assert truth["label"].tolist()[3:5] == ["x", "x"]
    assert truth["confidence"].tolist()[3:5] == [1.0, 1.0]
    assert truth["changed"].tolist()[3:5] == [True, False]
    assert "known" not in allalike.discover(rows, engine=engine).truth


def test_the_error_against_gold_is_that_of_who_did_not_see_it() -> None:
    truth, rows = misled(1)
    gold = {f"t{task:04}": "ab"[label] for task, label in enumerate(truth)}
    seen, blind = (allalike.discover(rows, gold=gold, method=method) for method in ("auto", Auto(use_gold=False)))
    assert seen.summary["gold"]["error"] == blind.summary["gold"]["error"] > 0
    assert (seen.truth["label"].to_numpy() == np.array(list("ab"))[truth]).all()


def test_a_known_truth_that_nobody_answered_does_no_harm() -> None:
    rows = [(worker, task, "xy"[task % 2]) for worker in "abc" for task in range(20)]
    truth = allalike.discover(rows, gold={3: "z", 4: "x"}).truth
    assert truth["known"].sum() == 1


def test_numbers_that_are_known_stand_in_the_output() -> None:
    rng = np.random.default_rng(0)
    rows = [(worker, task, float(task + rng.normal())) for worker in range(6) for task in range(30)]
    result = allalike.discover(rows, domain="real", gold={5: 5.0, 6: 6.0})
    assert result.truth["label"].tolist()[5:7] == [5.0, 6.0]
    assert 0 < result.summary["gold"]["error"] < 2


def test_the_rank_correlation_is_spearman() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 4, 60)
    said = np.concatenate([answer(rng, truth, skill) for skill in np.linspace(0.3, 0.95, 12)])
    gold = {f"t{task:04}": "abcd"[label] for task, label in enumerate(truth)}
    result = allalike.discover(rows_of(said), gold=gold, method="UA")
    told = result.summary["gold"]["disparity_predicts"]
    wrong = np.mean(said != truth, axis=1)
    assert told["rank_correlation"] == pytest.approx(spearmanr(result.workers["disparity"], wrong)[0], abs=1e-5)
    assert told["low"] < told["rank_correlation"] < told["high"] <= 1


def test_the_flag_of_known_truths_is_saved(tmp_path: Path) -> None:
    rows = [(worker, task, "xy"[task % 2]) for worker in "abc" for task in range(5)]
    allalike.discover(rows, gold={3: "x"}).save(tmp_path / "out")
    assert pd.read_csv(tmp_path / "out" / "truth.csv")["known"].tolist() == [False, False, False, True, False]
