"""Gold labels and worker statistics of earlier runs: checked before they count, and then evidence."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import allalike
from allalike import Auto
from allalike.answers.gold import History
from crowds.copiers import answer, rows_of
from running.program import call

TASKS, WORKERS = 30, 7


def classes(seed: int = 3, n_labels: int = 3) -> tuple[np.ndarray, list[tuple[str, str, int]]]:
    """Draw a crowd that is right in 85 %, and answers 1, 2, and so on."""
    rng = np.random.default_rng([seed, n_labels])
    truth = rng.integers(1, n_labels + 1, TASKS)
    wrong = 1 + (truth + rng.integers(0, n_labels - 1, (WORKERS, TASKS))) % n_labels
    said = np.where(rng.random((WORKERS, TASKS)) < 0.85, truth, wrong)
    return truth, [(f"w{w}", f"t{t:02}", int(said[w, t])) for w in range(WORKERS) for t in range(TASKS)]


def by_task(values: Any) -> dict[str, Any]:
    return {f"t{task:02}": value for task, value in enumerate(values)}


WORDS = {1: "no", 2: "perhaps", 3: "yes, surely"}
RECODINGS: dict[str, Callable[[int], Any]] = {
    "counted from 0": lambda label: label - 1,
    "counted from 10": lambda label: label + 9,
    "words": lambda label: WORDS[label],
    "permuted": lambda label: {1: 2, 2: 3, 3: 1}[label],
    "reversed": lambda label: 4 - label,
}


@pytest.mark.parametrize("write", [int, float, str, lambda label: f"{label}.0"])
def test_another_type_is_the_same_label(write: Callable[[int], Any]) -> None:
    truth, rows = classes()
    gold = by_task(write(int(label)) for label in truth)
    assert allalike.discover(rows, domain="categorical", gold=gold).summary["gold"]["error"] <= 0.1


@pytest.mark.parametrize("n_labels", [2, 3, 5])
def test_right_gold_goes_through(n_labels: int) -> None:
    for seed in range(3):
        truth, rows = classes(seed, n_labels)
        for known in (1, 2, 5, 20, TASKS):
            gold = dict(list(by_task(truth.tolist()).items())[:known])
            found = allalike.discover(rows, domain="categorical", method="OA", gold=gold)
            assert found.summary["gold"]["tasks"] == known


@pytest.mark.parametrize("known", [5, 20, TASKS])
def test_a_crowd_of_which_most_are_wrong_is_no_reason_to_refuse_the_gold(known: int) -> None:
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 2, TASKS)
    skill = np.where(np.arange(10) < 4, 0.95, 0.15)[:, None]
    said = np.where(rng.random((10, TASKS)) < skill, truth, 1 - truth)
    rows = [(w, f"t{t:02}", int(said[w, t])) for w in range(10) for t in range(TASKS)]
    gold = dict(list(by_task(truth.tolist()).items())[:known])
    assert allalike.discover(rows, domain="categorical", gold=gold).summary["gold"]["tasks"] == known


def save(folder: Path, rows: Any, gold: dict[str, Any], columns: list[str], gold_columns: list[str]) -> None:
    pd.DataFrame(rows, columns=columns).to_csv(folder / "a.csv", index=False)
    pd.DataFrame(list(gold.items()), columns=gold_columns).to_csv(folder / "gold.csv", index=False)


def commands(stderr: str) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in stderr.splitlines() if line.startswith("  allalike ")]


@pytest.mark.parametrize("name", RECODINGS)
def test_each_command_that_is_proposed_runs(name: str, tmp_path: Path) -> None:
    truth, rows = classes()
    recode, engine = RECODINGS[name], "disk(partitions=3)" if name == "words" else "memory(block_answers=20)"
    save(tmp_path, rows, by_task(recode(int(x)) for x in truth), ["worker", "task", "label"], ["task", "label"])
    typed = ["discover", "a.csv", "--domain", "categorical", "--gold", "gold.csv", "--no-report", "--engine", engine]
    stopped = call(*typed, folder=tmp_path)
    assert stopped.returncode == 2
    proposed = commands(stopped.stderr)
    assert len(proposed) >= 3
    results = {}
    for command in proposed:
        done = call(*command, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        results[command[-1]] = pd.read_csv(tmp_path / "allalike-out" / "truth.csv")["label"].tolist()
    assert results[proposed[0][-1]] == truth.tolist()
    assert results["--no-use-gold"] == truth.tolist()  # as the crowd is right in nearly all answers


def test_swapped_columns_are_proposed_the_right_way_round(tmp_path: Path) -> None:
    truth, rows = classes()
    save(tmp_path, rows, by_task(truth), ["worker", "task", "label"], ["label", "task"])
    stopped = call("discover", "a.csv", "--gold", "gold.csv", "--no-report", folder=tmp_path)
    assert stopped.returncode == 2
    (command,) = commands(stopped.stderr)
    assert command[-1] == "task=label,label=task"
    done = call(*command, folder=tmp_path)
    assert (done.returncode, "Error on the gold labels of 30 tasks: 0" in done.stdout) == (0, True)


def misled(seed: int) -> tuple[np.ndarray, list[tuple[str, str, str]]]:
    """Draw a crowd most of which is fooled on a third of the tasks, and three workers who are not."""
    rng = np.random.default_rng([seed, 33])
    truth = rng.integers(0, 2, 150)
    hard = rng.random(150) < 1 / 3
    said = answer(rng, truth, 0.8, 12, k=2)
    fooled = answer(rng, truth, 0.2, 9, k=2)
    said[3:, hard] = fooled[:, hard]
    return truth, rows_of(said)


def error_of(rows: list[tuple[str, str, str]], truth: np.ndarray, known: list[int], *, use: bool) -> float:
    gold = {f"t{task:04}": "ab"[truth[task]] for task in known} if use else None
    found = allalike.discover(rows, gold=gold).truth["label"].to_numpy()
    rest = np.setdiff1d(np.arange(len(truth)), known)
    return float(np.mean(found[rest] != np.array(list("ab"))[truth[rest]]))


def test_a_few_known_truths_never_harm_and_help_a_crowd_that_is_fooled() -> None:
    drawn = [(*misled(seed), list(range(8))) for seed in range(3)]
    lost = [
        error_of(rows, truth, known, use=True) - error_of(rows, truth, known, use=False) for truth, rows, known in drawn
    ]
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
    told = result.summary["gold"]["disparity_error_correlation"]
    wrong = np.mean(said != truth, axis=1)
    assert told["rank_correlation"] == pytest.approx(spearmanr(result.workers["disparity"], wrong)[0], abs=1e-5)
    assert told["ci_low"] < told["rank_correlation"] < told["ci_high"] <= 1


SKILLS = [0.95, 0.9, 0.5, 0.45, 0.4]


def draw_batch(seed: int, tasks: int) -> tuple[np.ndarray, list[tuple[str, str, str]]]:
    rng = np.random.default_rng([seed, tasks])
    truth = rng.integers(0, 4, tasks)
    return truth, rows_of(np.concatenate([answer(rng, truth, skill) for skill in SKILLS]))


def measure_error(rows: list[tuple[str, str, str]], truth: np.ndarray, history: Any) -> float:
    found = allalike.discover(rows, history=history).truth["label"].to_numpy()
    return float(np.mean(found != np.array(list("abcd"))[truth]))


@pytest.mark.long
def test_a_small_batch_is_read_better_with_what_is_known_of_the_workers() -> None:
    past = allalike.discover(draw_batch(0, 300)[1])
    drawn = [draw_batch(seed, 10) for seed in range(1, 13)]
    with_past = [measure_error(rows, truth, past) for truth, rows in drawn]
    without = [measure_error(rows, truth, None) for truth, rows in drawn]
    assert np.mean(with_past) < 0.7 * np.mean(without)


def test_a_saved_table_says_the_same_as_the_result(tmp_path: Path) -> None:
    past = allalike.discover(draw_batch(0, 100)[1])
    past.save(tmp_path / "out")
    _, rows = draw_batch(1, 10)
    one = allalike.discover(rows, history=past).workers
    two = allalike.discover(rows, history=tmp_path / "out" / "workers.csv").workers
    np.testing.assert_allclose(one["error_rate"], two["error_rate"], rtol=1e-9)
    assert one["prior_answers"].tolist() == [100] * 5


def test_an_answer_of_the_history_counts_as_much_as_one_of_this_batch() -> None:
    rows = draw_batch(1, 20)[1]
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
