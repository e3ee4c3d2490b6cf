"""Gold labels and worker statistics of earlier runs as evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import allalike
from allalike import Auto
from allalike.answers.history import History
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


def test_the_error_against_gold_is_that_of_who_did_not_see_it() -> None:
    truth, rows = misled(1)
    gold = {f"t{task:04}": "ab"[label] for task, label in enumerate(truth)}
    seen, blind = (allalike.discover(rows, gold=gold, method=method) for method in ("auto", Auto(use_gold=False)))
    assert seen.summary["gold"]["error"] == blind.summary["gold"]["error"] > 0
    assert (seen.truth["label"].to_numpy() == np.array(list("ab"))[truth]).all()


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


SKILLS = [0.95, 0.9, 0.5, 0.45, 0.4]


def batch(seed: int, tasks: int) -> tuple[np.ndarray, list[tuple[str, str, str]]]:
    rng = np.random.default_rng([seed, tasks])
    truth = rng.integers(0, 4, tasks)
    return truth, rows_of(np.concatenate([answer(rng, truth, skill) for skill in SKILLS]))


def measure_error(rows: list[tuple[str, str, str]], truth: np.ndarray, history: Any) -> float:
    found = allalike.discover(rows, history=history).truth["label"].to_numpy()
    return float(np.mean(found != np.array(list("abcd"))[truth]))


@pytest.mark.long
def test_a_small_batch_is_read_better_with_what_is_known_of_the_workers() -> None:
    past = allalike.discover(batch(0, 300)[1])
    drawn = [batch(seed, 10) for seed in range(1, 13)]
    with_past = [measure_error(rows, truth, past) for truth, rows in drawn]
    without = [measure_error(rows, truth, None) for truth, rows in drawn]
    assert np.mean(with_past) < 0.7 * np.mean(without)


def test_a_saved_table_says_the_same_as_the_result(tmp_path: Path) -> None:
    past = allalike.discover(batch(0, 100)[1])
    past.save(tmp_path / "out")
    _, rows = batch(1, 10)
    one = allalike.discover(rows, history=past).workers
    two = allalike.discover(rows, history=tmp_path / "out" / "workers.csv").workers
    np.testing.assert_allclose(one["error_rate"], two["error_rate"], rtol=1e-9)
    assert one["earlier"].tolist() == [100] * 5


def test_an_answer_of_the_history_counts_as_much_as_one_of_this_batch() -> None:
    rows = batch(1, 20)[1]
    workers = sorted({worker for worker, _, _ in rows})
    past = pd.DataFrame({"worker": workers, "answers": 60, "error_rate": 0.5})
    bad, good = (
        allalike.discover(rows, history=past.assign(error_rate=[rate, *[0.5] * 4])).workers["error_rate"][0]
        for rate in (0.8, 0.0)
    )
    assert bad - good == pytest.approx(0.8 * 60 / 80, abs=0.15)


def test_what_is_told_of_a_worker_twice_is_added_up() -> None:
    past = History.of(["w000", "w001", "w000"], [10, 5, 30], [0.1, 0.2, 0.5]).of_workers(["w001", "w000"])
    np.testing.assert_allclose(past.answers, [5, 40])
    np.testing.assert_allclose(past.fault, [0.2, 0.4])


def test_update_remembers_the_history() -> None:
    past = allalike.discover(batch(0, 100)[1])
    rows = batch(1, 12)[1]
    whole = allalike.discover(rows, history=past)
    parts = allalike.discover([row for row in rows if row[1] < "t0006"], history=past)
    grown = parts.update([row for row in rows if row[1] >= "t0006"])
    np.testing.assert_allclose(grown.workers["error_rate"], whole.workers["error_rate"], rtol=1e-6)
    assert grown.truth["label"].tolist() == whole.truth["label"].tolist()
