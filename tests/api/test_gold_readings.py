"""Gold is looked at before it counts: what is written otherwise is not believed, and what is right is not refused."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import Disk, Memory
from allalike.errors import GoldError
from running.program import call

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike.engines import Engine

TASKS, WORKERS = 30, 7
ENGINES = [Memory(block_answers=20), Disk(partitions=3)]


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


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.parametrize("recode", RECODINGS.values(), ids=RECODINGS)
def test_gold_in_another_coding_stops_and_the_first_way_reads_it(recode: Callable[[int], Any], engine: Engine) -> None:
    truth, rows = classes()
    gold = by_task(recode(int(label)) for label in truth)
    with pytest.raises(GoldError, match="does not fit the answers") as stopped:
        allalike.discover(rows, domain="categorical", gold=gold, engine=engine)
    settled = allalike.discover(rows, domain="categorical", gold=gold, engine=engine, **stopped.value.settles)
    assert settled.truth["label"].tolist() == truth.tolist()
    assert settled.summary["gold"]["error"] <= 0.1


@pytest.mark.parametrize("write", [int, float, str, lambda label: f"{label}.0"])
def test_another_type_is_the_same_label(write: Callable[[int], Any]) -> None:
    truth, rows = classes()
    gold = by_task(write(int(label)) for label in truth)
    assert allalike.discover(rows, domain="categorical", gold=gold).summary["gold"]["error"] <= 0.1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_labels", [2, 3, 5])
@pytest.mark.parametrize("known", [1, 2, 5, 20, TASKS])
def test_right_gold_goes_through(n_labels: int, known: int, seed: int) -> None:
    truth, rows = classes(seed, n_labels)
    gold = dict(list(by_task(truth.tolist()).items())[:known])
    assert allalike.discover(rows, domain="categorical", method="OA", gold=gold).summary["gold"]["tasks"] == known


@pytest.mark.parametrize("known", [5, 20, TASKS])
def test_a_crowd_of_which_most_are_wrong_is_no_reason_to_refuse_the_gold(known: int) -> None:
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 2, TASKS)
    skill = np.where(np.arange(10) < 4, 0.95, 0.15)[:, None]
    said = np.where(rng.random((10, TASKS)) < skill, truth, 1 - truth)
    rows = [(w, f"t{t:02}", int(said[w, t])) for w in range(10) for t in range(TASKS)]
    gold = dict(list(by_task(truth.tolist()).items())[:known])
    assert allalike.discover(rows, domain="categorical", gold=gold).summary["gold"]["tasks"] == known


def test_gold_that_only_measures_does_not_stop_and_changes_no_truth() -> None:
    truth, rows = classes()
    gold = by_task(int(label) - 1 for label in truth)
    plain = allalike.discover(rows, domain="categorical")
    found = allalike.discover(rows, domain="categorical", gold=gold, use_gold=False)
    assert found.truth["label"].tolist() == plain.truth["label"].tolist()
    assert found.summary["gold"]["error"] == 1.0
    assert any("gold_map='0=1,1=2,2=3'" in warning for warning in found.summary["warnings"])


def test_gold_that_is_said_to_be_right_is_taken_as_it_is() -> None:
    truth, rows = classes()
    gold = by_task({1: 2, 2: 3, 3: 1}[int(label)] for label in truth)
    found = allalike.discover(rows, domain="categorical", gold=gold, gold_map="same").truth["label"]
    assert found.tolist() == list(gold.values())


def save(folder: Path, rows: Any, gold: dict[str, Any], columns: list[str], gold_columns: list[str]) -> None:
    pd.DataFrame(rows, columns=columns).to_csv(folder / "a.csv", index=False)
    pd.DataFrame(list(gold.items()), columns=gold_columns).to_csv(folder / "gold.csv", index=False)


def commands(stderr: str) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in stderr.splitlines() if line.startswith("  allalike ")]


@pytest.mark.parametrize("recode", RECODINGS.values(), ids=RECODINGS)
def test_each_command_that_is_proposed_runs(recode: Callable[[int], Any], tmp_path: Path) -> None:
    truth, rows = classes()
    save(tmp_path, rows, by_task(recode(int(x)) for x in truth), ["worker", "task", "label"], ["task", "label"])
    typed = ["discover", "a.csv", "--domain", "categorical", "--gold", "gold.csv", "--no-report"]
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
    assert results["--gold-only-measure"] == truth.tolist()  # as the crowd is right in nearly all answers


def test_swapped_columns_are_proposed_the_right_way_round(tmp_path: Path) -> None:
    truth, rows = classes()
    save(tmp_path, rows, by_task(truth), ["worker", "task", "label"], ["label", "task"])
    stopped = call("discover", "a.csv", "--gold", "gold.csv", "--no-report", folder=tmp_path)
    assert stopped.returncode == 2
    (command,) = commands(stopped.stderr)
    assert command[-1] == "task=label,label=task"
    done = call(*command, folder=tmp_path)
    assert (done.returncode, "Error against the gold of 30 tasks: 0" in done.stdout) == (0, True)
