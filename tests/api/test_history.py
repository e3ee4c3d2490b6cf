"""History: what is known of workers from earlier answers helps with the next ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike.answers.gold import History
from allalike.errors import InputError, UnsupportedError
from crowds.copiers import answer, rows_of

SKILLS = [0.95, 0.9, 0.5, 0.45, 0.4]


def batch(seed: int, tasks: int) -> tuple[np.ndarray, list[tuple[str, str, str]]]:
    rng = np.random.default_rng([seed, tasks])
    truth = rng.integers(0, 4, tasks)
    return truth, rows_of(np.concatenate([answer(rng, truth, skill) for skill in SKILLS]))


def error(rows: list[tuple[str, str, str]], truth: np.ndarray, history: Any) -> float:
    found = allalike.discover(rows, history=history).truth["label"].to_numpy()
    return float(np.mean(found != np.array(list("abcd"))[truth]))


@pytest.mark.long
def test_a_small_batch_is_read_better_with_what_is_known_of_the_workers() -> None:
    past = allalike.discover(batch(0, 300)[1])
    drawn = [batch(seed, 10) for seed in range(1, 13)]
    with_past = [error(rows, truth, past) for truth, rows in drawn]
    without = [error(rows, truth, None) for truth, rows in drawn]
    assert np.mean(with_past) < 0.7 * np.mean(without)


def test_a_saved_table_says_the_same_as_the_result(tmp_path: Path) -> None:
    past = allalike.discover(batch(0, 100)[1])
    past.save(tmp_path / "out")
    _, rows = batch(1, 10)
    one = allalike.discover(rows, history=past).workers
    two = allalike.discover(rows, history=tmp_path / "out" / "workers.csv").workers
    np.testing.assert_allclose(one["error_rate"], two["error_rate"], rtol=1e-9)
    assert one["earlier"].tolist() == [100] * 5


def test_histories_add_up_from_batch_to_batch() -> None:
    first = allalike.discover(batch(0, 100)[1])
    second = allalike.discover(batch(1, 50)[1], history=first)
    third = allalike.discover(batch(2, 20)[1], history=second)
    assert third.workers["earlier"].tolist() == [150] * 5
    errors, rates = 1 - np.array(SKILLS), third.workers["error_rate"].to_numpy()
    assert (errors >= first.workers["low"]).all()
    assert (errors <= first.workers["high"]).all()
    assert rates[:2].max() + 0.2 < rates[2:].min()


def test_an_answer_of_the_history_counts_as_much_as_one_of_this_batch() -> None:
    rows = batch(1, 20)[1]
    workers = sorted({worker for worker, _, _ in rows})
    past = pd.DataFrame({"worker": workers, "answers": 60, "error_rate": 0.5})
    bad, good = (
        allalike.discover(rows, history=past.assign(error_rate=[rate, *[0.5] * 4])).workers["error_rate"][0]
        for rate in (0.8, 0.0)
    )
    assert bad - good == pytest.approx(0.8 * 60 / 80, abs=0.15)


def test_a_new_worker_has_no_history_and_who_left_does_not_matter() -> None:
    past = History.of(["w000", "gone"], [100, 100], [0.05, 0.9]).of_workers(["w000", "new"])
    assert past.answers.tolist() == [100.0, 0.0]


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


@pytest.mark.parametrize(
    ("history", "method", "kind", "message"),
    [
        (3, "auto", InputError, "history is a int"),
        (pd.DataFrame({"worker": ["a"]}), "auto", InputError, "needs the columns"),
        (pd.DataFrame({"worker": ["a"], "answers": ["x"], "fault": [0.1]}), "auto", InputError, "must be numbers"),
        (pd.DataFrame({"worker": ["a"], "answers": [9], "error_rate": [1.5]}), "auto", InputError, "at most 1"),
        (pd.DataFrame({"worker": ["a"], "answers": [9], "rmse": [-1.0]}), "auto", InputError, "worker 'a' is wrong"),
        ("nowhere.csv", "auto", InputError, "nowhere.csv cannot be read"),
        (pd.DataFrame({"worker": ["a"], "answers": [1], "fault": [0.1]}), "iP-TD", UnsupportedError, "auto does"),
    ],
)
def test_a_history_that_cannot_be_used_is_refused(history: Any, method: str, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        allalike.discover([("a", 1, "x")], history=history, method=method)
