"""Gold labels with classes: calibration of class probabilities, worker weights and confidences."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import allalike
from allalike import Memory
from allalike._core.blocks.block import Block
from allalike.methods.auto import gold_calibration
from allalike.methods.auto.gold_calibration import GoldFit, learn
from allalike.readers import open_gold
from crowds.one_coin import drawn
from running.turns import in_turn


def right(found: Any, truth: dict[int, int], but: dict[int, int]) -> float:
    said = dict(zip(found.truth["task"], found.truth["label"], strict=True))
    return float(np.mean([said[task] == label for task, label in truth.items() if task not in but]))


def test_they_are_fitted_as_plain_arithmetic_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gold_calibration, "_WORKER_SPREADS", (0.5, 0.5))
    rows, truth = drawn(4, 40, 3, [0.9, 0.7, 0.5, 0.4], 1)
    answers = allalike.read(rows, domain="categorical").with_gold(open_gold(truth))
    run = Memory().load(answers)
    table = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    known = learn(run, lambda block: table)
    tasks = sorted(range(40), key=lambda task: answers.tasks.hashes()[answers.tasks.tolist().index(task)])
    said = {(worker, task): label for worker, task, label in rows}
    votes = np.array([[np.eye(3)[said[f"w{worker:02d}", task]] for worker in range(4)] for task in tasks])
    gold = np.array([truth[task] for task in tasks])

    def lose(numbers: np.ndarray) -> float:
        score = numbers[0] * np.log(table) + numbers[1:4] + np.einsum("twc,w->tc", votes, numbers[4:])
        chance = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
        spread = np.array([0.5, *[0.25] * 3, *[0.5] * 4])
        away = (((numbers - [1, *[0] * 7]) / spread) ** 2).sum() / 2
        return float(away - np.log(chance[np.arange(40), gold]).sum())

    bounds = [(0, 9), *[(-9, 9)] * 3, *[(0, 9)] * 4]
    best = minimize(lose, np.full(8, 0.3), method="SLSQP", bounds=bounds, options={"ftol": 1e-12}).x
    np.testing.assert_allclose([known.crowd, *known.classes, *known.workers], best, atol=1e-3)
    assert known.number == 40
    assert known.confidence is not None


def test_they_find_the_one_who_is_right_where_all_others_are_fooled() -> None:
    rows, truth = drawn(8, 200, 3, [0.95, *[0.9] * 7], 2)
    wrong = {task: (label + 1) % 3 for task, label in truth.items() if task % 5 < 2}
    fooled = [(worker, task, label if worker == "w00" else wrong.get(task, label)) for worker, task, label in rows]
    known = {task: truth[task] for task in range(60)}
    blind, told = (allalike.discover(fooled, gold=gold, domain="categorical") for gold in (None, known))
    assert right(blind, truth, known) < 0.7
    assert right(told, truth, known) > 0.9
    assert told.workers.set_index("worker")["error_rate"].idxmin() == "w00"
    sure = told.truth.loc[~told.truth["is_gold"], "confidence"].mean()
    assert sure == pytest.approx(right(told, truth, known), abs=0.06)


@pytest.mark.parametrize("number", in_turn([5, 1, 20], 3))
def test_a_few_of_them_cost_nothing_where_workers_are_alike(number: int) -> None:
    lost = []
    for seed in range(8):
        rows, truth = drawn(5, 120, 3, 0.75, seed)
        known = {task: truth[task] for task in range(number)}
        blind, told = (allalike.discover(rows, gold=gold, domain="categorical") for gold in (None, known))
        lost.append(right(blind, truth, known) - right(told, truth, known))
    assert np.mean(lost) < 0.02


def test_what_is_told_is_a_softmax_of_the_crowd_classes_and_votes() -> None:
    block = Block.of([[0], [0], [1]])
    known = GoldFit(0.5, np.array([0.1, -0.1]), np.array([0.3, 0.0, 1.0]), 9)
    table = np.array([[0.8, 0.2]])
    score = 0.5 * np.log(table) + [0.1 + 0.3, -0.1 + 1.0]
    np.testing.assert_allclose(known.apply(block, table), np.exp(score) / np.exp(score).sum())
