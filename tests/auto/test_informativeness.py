"""Informativeness: dependence of answers on tasks."""

import numpy as np
import pytest

import allalike
from allalike import Memory
from allalike.methods.auto.screening import measure_informativeness
from crowds.copiers import answer, loaded, rows_of


def test_it_is_the_agreement_on_the_same_task_beyond_that_on_any() -> None:
    rng = np.random.default_rng(1)
    labels = answer(rng, rng.integers(0, 3, 9), 0.6, 5, k=3)
    found = measure_informativeness(loaded(labels))
    for worker in range(5):
        others = np.delete(labels, worker, axis=0)
        agree = np.array([[np.mean(others[:, here] == labels[worker, any_]) for any_ in range(9)] for here in range(9)])
        assert found.informativeness[worker] == pytest.approx(np.diag(agree).mean() - agree.mean(), rel=1e-9)


def test_constants_and_random_answers_are_uninformative_but_few_answers_show_nothing() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 4, 1000)
    labels = np.concatenate([answer(rng, truth, 0.8, 6), rng.integers(0, 4, (2, 1000)), np.zeros((2, 1000), int)])
    found = measure_informativeness(loaded(labels))
    assert found.uninformative.tolist() == [False] * 6 + [True] * 4
    assert found.informativeness[8:].tolist() == found.informativeness_se[8:].tolist() == [0.0] * 2
    assert not measure_informativeness(loaded(labels[:, :9])).uninformative.any()


def test_a_constant_angle_is_uninformative() -> None:
    rng = np.random.default_rng(3)
    truth = 100 * rng.random(300)
    numbers = np.vstack([truth + 5 * rng.normal(size=(5, 300)), np.full((1, 300), 50.0)]).round()
    rows = [(who, task, float(x)) for (who, task), x in np.ndenumerate(numbers)]
    found = measure_informativeness(Memory().load(allalike.read(rows, domain="circular")))
    assert found.uninformative.tolist() == [False] * 5 + [True]


def test_uninformative_workers_are_named_in_the_tables() -> None:
    rng = np.random.default_rng([3, 90])
    truth = (rng.random(500) < 0.3).astype(np.int64)
    labels = np.concatenate([answer(rng, truth, 0.85, 6, k=2), np.zeros((1, 500), np.int64)])
    result = allalike.discover(rows_of(labels))
    assert result.workers["uninformative"].tolist() == [False] * 6 + [True]
    assert result.summary["screening"]["uninformative"]["workers"] == 1
