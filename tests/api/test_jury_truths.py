"""What a panel that knows some truths says of itself: how often it is right on tasks whose truths it does not know."""

from __future__ import annotations

import numpy as np
import pytest

import allalike
from allalike.api.judges.coverage import decide_held_out


def draw(seed: int, tasks: int) -> tuple[list[tuple[str, int, str]], dict[int, str]]:
    """Draw six judges who fall for the same wrong verdict on two of five tasks, and one who does not."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=tasks)
    fooled = np.where(rng.random(tasks) < 0.4, (truth + 1) % 3, truth)
    meant = np.column_stack([truth, *[fooled] * 6])
    said = np.where(rng.random(meant.shape) < 0.9, meant, rng.integers(3, size=meant.shape))
    rows = [(f"j{judge}", int(task), "abc"[label]) for (task, judge), label in np.ndenumerate(said)]
    return rows, {task: "abc"[label] for task, label in enumerate(truth.tolist())}


@pytest.mark.long
def test_a_panel_says_how_often_it_is_right_on_tasks_that_nobody_told_it() -> None:
    rows, truth = draw(1, 600)
    known = {task: truth[task] for task in range(200)}
    panel = allalike.jury(rows, gold=known)
    said = dict(zip(panel.truth["task"], panel.truth["label"], strict=True))
    right = np.mean([said[task] == truth[task] for task in range(200, 600)])
    told = panel.summary["panel"]
    assert told["accuracy_from"] == "gold"
    assert told["accuracy"] == pytest.approx(right, abs=0.05)
    assert right > 0.9
    assert 1 - panel.summary["gold"]["error"] < 0.75  # of the panel that knows none
    assert panel.coverage["accuracy"][0] == pytest.approx(told["accuracy"], abs=0.01)


def test_no_truth_decides_its_own_task() -> None:
    rows, truth = draw(2, 120)
    wrong = {task: "abc"[("abc".index(label) + 2) % 3] for task, label in truth.items()}
    known = {task: wrong[task] if task == 7 else label for task, label in truth.items() if task < 80}
    run = allalike.discover(rows, gold=known, gold_map="same").run
    found = decide_held_out(run, 10_000, allalike.Auto().weigh)
    assert len(found.task_hash) == len(set(found.task_hash.tolist())) == 80
    assert found.wrong.sum() >= 1
    assert found.wrong.mean() < 0.25
