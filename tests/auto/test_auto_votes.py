"""auto on classes: where the vote stands, and crowds that are equal, small, of two minds, or lie."""

from typing import Any

import numpy as np
import pytest

import allalike
from allalike import Auto, Result
from crowds.one_coin import drawn, error


@pytest.mark.parametrize(
    ("n", "k"),
    [(3, 2), (5, 4), (7, 2), *(pytest.param(*case, marks=pytest.mark.long) for case in ((3, 4), (5, 2), (7, 4)))],
)
def test_equal_workers_lose_nothing_to_a_vote(n: int, k: int) -> None:
    lost = []
    for seed in range(4):
        rows, truth = drawn(n, 250, k, 0.9, seed)
        lost.append(error(allalike.discover(rows, domain="categorical", plain=True), truth))
        lost[-1] -= error(allalike.discover(rows, domain="categorical", method="UA"), truth)
    assert np.mean(lost) <= 0.003


@pytest.mark.parametrize("k", [2, 4])
def test_two_answers_a_task_tell_workers_apart_as_well_as_proximity_does(k: int) -> None:
    found = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        asked = rng.random((400, 20)).argsort(axis=1)[:, :2]
        every, truth = drawn(20, 400, k, rng.uniform(0.5, 0.95, 20), seed)
        rows = [row for row in every if int(str(row[0])[1:]) in asked[int(str(row[1]))]]
        results = (
            allalike.discover(rows, domain="categorical", method=each) for each in (Auto(plain=True), "iP-TD", "UA")
        )
        found.append([error(result, truth) for result in results])
    auto, proximity, vote = np.mean(found, axis=0)
    assert auto < proximity + 0.02
    assert auto < vote - 0.02


@pytest.mark.parametrize("liars", [3, 4])
def test_some_who_lie_together_do_not_turn_everything_over_and_nobody_is_too_sure(liars: int) -> None:
    rng = np.random.default_rng(8)
    truth = rng.integers(4, size=100)
    others = (truth + rng.integers(1, 4, (9, 100))) % 4
    said = np.where(rng.random((9, 100)) < 0.8, truth, others)
    said[9 - liars :] = (truth + 1) % 4
    rows = [(worker, task, int(label)) for (worker, task), label in np.ndenumerate(said)]
    result = allalike.discover(rows, domain="categorical")
    assert error(result, dict(enumerate(truth.tolist()))) < 0.05
    assert result.truth["confidence"].max() < 0.99


def test_most_of_the_crowd_who_lie_together_are_believed_but_not_more_than_halves_of_it_agree() -> None:
    rng = np.random.default_rng(8)
    truth = rng.integers(4, size=60)
    said = np.where(rng.random((9, 60)) < 0.8, truth, rng.integers(4, size=(9, 60)))
    said[3:] = np.where(rng.random((6, 60)) < 0.8, (truth + 1) % 4, rng.integers(4, size=(6, 60)))
    result = allalike.discover([(*at, int(label)) for at, label in np.ndenumerate(said)], domain="categorical")
    again = result.summary["confidence"]["found_again"]
    assert again < 1
    assert result.truth["confidence"].max() <= again + (1 - again) / 4 + 1e-5


def taken_of(rows: list[Any]) -> tuple[Any, Result]:
    """Return why the vote was taken, with what the result is; it must be that of a plain vote."""
    result = allalike.discover(rows, domain="categorical")
    reading = result.summary["reading"]
    assert reading["taken"] == "vote"
    assert not result.truth["changed"].any()
    weights = result.workers["weight"]
    np.testing.assert_allclose(weights, 1 / len(weights))
    return reading["why"], result


def test_workers_who_are_alike_count_the_same() -> None:
    why, result = taken_of([(worker, task, int(task % 10 == worker)) for worker in range(4) for task in range(60)])
    assert why == "workers are alike"
    # Two agree on four fifths, so each errs in e with (1 - e)^2 + e^2 = 4/5; one of four departs on four tenths.
    error = (1 - 0.6**0.5) / 2
    odds = (1 - error) / error
    four, two = odds**4 / (1 + odds**4), odds**2 / (1 + odds**2)
    error_rate = 0.6 * (1 - four) + 0.3 * (1 - two) + 0.1 * two
    np.testing.assert_allclose(result.workers["error_rate"], error_rate, rtol=1e-5)


def test_fewer_than_two_answers_a_task_are_voted_on() -> None:
    rows, _ = drawn(20, 300, 2, np.linspace(0.5, 0.95, 20), 3, share=0.05)
    assert taken_of(rows)[0] == "there are fewer than two answers per task"


def test_functions_that_say_one_label_only_are_voted_on_and_not_taken_for_copies() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    speaks = [rng.random(200) < np.where(truth == number % 2, 0.7, 0.2) for number in range(10)]
    rows = [(f"f{each}", task, each % 2) for each, here in enumerate(speaks) for task in np.flatnonzero(here).tolist()]
    why, result = taken_of(rows)
    assert why == "most answers come from workers who say one label only"
    assert (result.workers["group"] == "").all()
    assert error(result, dict(enumerate(truth.tolist()))) < 0.1


def test_typing_errors_do_not_become_classes() -> None:
    rows, truth = drawn(20, 300, 3, np.linspace(0.4, 0.95, 20), 3, share=0.2)
    spoilt = {
        place: f"typing error {place % 8}" for place in np.random.default_rng(0).permutation(len(rows))[:16].tolist()
    }
    rows = [(worker, task, spoilt.get(place, str(label))) for place, (worker, task, label) in enumerate(rows)]
    found = allalike.discover(rows, domain="categorical").truth
    assert not found["label"].str.startswith("typing").any()
    right, vote = (
        np.mean([label == str(truth[task]) for task, label in zip(found["task"], found[name], strict=True)])
        for name in ("label", "unweighted")
    )
    assert right > vote


def test_two_camps_are_voted_on_hardly_believed_and_named() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 200)
    lie = (truth + rng.integers(1, 4, 200)) % 4
    camps = [np.where(rng.random(200) < 0.9, lie if who < 4 else truth, rng.integers(0, 4, 200)) for who in range(9)]
    why, result = taken_of(
        [(who, task, int(label)) for who, said in enumerate(camps) for task, label in enumerate(said)]
    )
    assert why == "workers are two camps, each of which agrees with itself only"
    assert result.groups["kind"].tolist() == ["alike", "alike"]
    assert result.groups["size"].tolist() == [4, 5]
    assert result.truth["confidence"].max() < 0.6


def test_ties_of_workers_who_are_alike_go_to_whoever_is_closer_to_the_others() -> None:
    rng = np.random.default_rng(5)
    rows, _ = drawn(8, 60, 2, 0.8, 5)
    asked = rng.random((60, 8)).argsort(axis=1)[:, :2]
    rows = [row for row in rows if int(str(row[0])[1:]) in asked[int(str(row[1]))]]
    result = allalike.discover(rows, domain="categorical")
    assert result.summary["reading"]["why"] == "workers are alike"
    disparity: dict[object, float] = dict(zip(result.workers["worker"], result.workers["disparity"], strict=True))
    answers: dict[object, list[tuple[float, object]]] = {}
    for worker, task, label in rows:
        answers.setdefault(task, []).append((disparity[worker], label))
    found = dict(zip(result.truth["task"], result.truth["label"], strict=True))
    for task, [(far, one), (near, other)] in answers.items():
        if far != near:
            assert found[task] == (one if far < near else other)
    assert not result.truth["tied"].all()


def test_weights_that_would_turn_a_third_of_the_votes_on_two_classes_over_are_not_taken() -> None:
    for seed in (1, 3, 4, 5):
        rows, truth = drawn(10, 150, 2, [0.85] * 4 + [0.3] * 6, seed)
        result = allalike.discover(rows, domain="categorical")
        assert result.summary["reading"]["taken"] == "vote"
        assert error(result, truth) == pytest.approx(
            float((result.truth["unweighted"] != result.truth["task"].map(truth)).mean()), abs=0.12
        )
