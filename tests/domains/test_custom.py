"""Distances of the user's own, rules that choose an answer, and tasks that are problems of their own."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import allalike
from allalike import Categorical, Custom
from allalike.errors import LabelError, OptionError
from crowds.custom import distance
from crowds.samples import crowd, kind


def test_a_function_and_the_matrix_of_its_values_say_the_same() -> None:
    answers = crowd("custom", seed=0, n=6, m=8)
    words = sorted({label for _, _, label in answers})
    matrix = [[distance(a, b) for b in words] for a in words]
    numbered = [(worker, task, words.index(label)) for worker, task, label in answers]
    by_function = allalike.discover(answers, domain=Custom(distance=distance))
    by_matrix = allalike.discover(numbered, domain=Custom(distance=matrix))
    np.testing.assert_allclose(by_function.workers["weight"], by_matrix.workers["weight"])
    assert by_function.truth["label"].tolist() == [words[place] for place in by_matrix.truth["label"]]


def test_hamming_distance_of_ones_own_gives_the_faults_of_classes() -> None:
    answers = crowd("categorical", seed=1, missing=0.3)
    own = allalike.discover(answers, domain=Custom(distance=lambda a, b: float(a != b)), method="P-TD").workers
    built_in = allalike.discover(answers, domain=Categorical(), method="P-TD").workers
    np.testing.assert_allclose(own["fault"], built_in["fault"])


@given(
    seed=st.integers(0, 1000),
    weights=st.lists(st.integers(0, 5), min_size=5, max_size=5).filter(lambda w: sum(w) > 0),
)
@pytest.mark.long
def test_the_medoid_has_the_least_weighted_distance_and_the_best_worker_the_largest_weight(
    seed: int, weights: list[int]
) -> None:
    answers = crowd("custom", seed=seed, n=5, m=1)
    labels = [label for _, _, label in answers]
    faults = {f"w{i:03d}": float(5 - weight) for i, weight in enumerate(weights)}
    weight = np.array([max(faults.values()) - faults[f"w{i:03d}"] for i in range(5)])
    weight = weight if weight.any() else np.ones(5)
    method = allalike.OA(faults=faults)
    medoid = allalike.discover(answers, domain=Custom(distance=distance), method=method).truth["label"][0]
    cost = {a: sum(w * distance(a, b) for w, b in zip(weight, labels, strict=True)) for a in labels}
    assert cost[medoid] == pytest.approx(min(cost.values()))
    domain = Custom(distance=distance, rule="best worker")
    best = allalike.discover(answers, domain=domain, method=method).truth
    assert max(w for w, label in zip(weight, labels, strict=True) if label == best["label"][0]) == weight.max()
    assert best["tied"][0] == (len({label for label, w in zip(labels, weight, strict=True) if w == weight.max()}) > 1)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, b: a - b, "is -[12]|It must be finite, and not negative"),
        (lambda a, b: 1.0, "to itself is 1.0"),
        (lambda a, b: float(a > b), "not symmetric: "),
        (lambda a, b: float("nan"), "is nan"),
        (lambda a, b: a / 0, "cannot be computed: ZeroDivisionError"),
        (lambda a, b: "far", "cannot be computed: ValueError"),
    ],
)
def test_a_function_that_is_no_distance_is_refused_with_two_labels(function: Any, message: str) -> None:
    rows = [("a", 1, 1), ("b", 1, 2), ("c", 1, 3)]
    with pytest.raises(LabelError, match=message):
        allalike.discover(rows, domain=Custom(distance=function))


def test_a_matrix_that_is_no_distance_is_refused() -> None:
    for matrix in ([[0, 1], [2, 0]], [[0, -1], [-1, 0]], [[0, 1]], "near", None, [[0, np.inf], [np.inf, 0]]):
        with pytest.raises(OptionError):
            Custom(distance=matrix)
    with pytest.raises(
        LabelError, match="label 2 of task 1 is no row of its matrix of distances, which has rows 0 to 1"
    ):
        allalike.discover([("a", 1, 0), ("b", 1, 2)], domain=Custom(distance=np.zeros((2, 2))))
    with pytest.raises(LabelError, match="row 2 does not fit: a label is the number of a row"):
        allalike.discover([("a", 1, 0), ("b", 1, -1)], domain=Custom(distance=np.zeros((2, 2))))


def test_every_task_may_have_a_matrix_of_its_own() -> None:
    answers = crowd("custom", seed=4, n=6, m=7, missing=0.2)
    words = {task: sorted({label for _, t, label in answers if t == task}) for task in {t for _, t, _ in answers}}
    matrices = {task: [[distance(a, b) for b in own] for a in own] for task, own in words.items()}
    numbered = [(worker, task, words[task].index(label)) for worker, task, label in answers]
    gold = {task: own[0] for task, own in words.items()}
    by_function = allalike.discover(answers, domain=Custom(distance=distance), method="iP-TD", gold=gold)
    truths = dict.fromkeys(gold, 0)
    by_matrix = allalike.discover(numbered, domain=Custom(distance=matrices), method="iP-TD", gold=truths)
    np.testing.assert_allclose(by_function.workers["weight"], by_matrix.workers["weight"])
    found = zip(by_matrix.truth["task"], by_matrix.truth["label"], strict=True)
    assert not by_function.truth["tied"].any()
    assert by_function.truth["label"].tolist() == [words[task][place] for task, place in found]
    assert by_function.summary["gold"]["error"] == pytest.approx(by_matrix.summary["gold"]["error"])
    del matrices["t0003"]
    with pytest.raises(LabelError, match="no matrix of distances for task 't0003'"):
        allalike.discover(numbered, domain=Custom(distance=matrices))


def test_labels_need_not_be_hashable() -> None:
    rows = [("a", 1, {"x": 1}), ("b", 1, {"x": 2}), ("c", 1, {"x": 9})]
    result = allalike.discover(rows, domain=Custom(distance=lambda a, b: abs(a["x"] - b["x"])), method="UA")
    assert result.truth["label"].tolist() == [{"x": 2}]


def test_gold_that_nobody_answered_is_compared_too() -> None:
    rows = [("a", 1, 3.0), ("b", 1, 4.0), ("c", 1, 8.0)]
    domain = Custom(distance=lambda a, b: abs(a - b))
    found = allalike.discover(rows, domain=domain, method="UA", gold={1: 4.5}).summary["gold"]
    assert found["error"] == 0.5


def test_matrices_of_tasks_without_gold_are_not_asked_about_it() -> None:
    matrices: dict[int, Any] = {1: [[0, 1], [1, 0]], 2: [[0.0]], 3: np.full((3, 3), 5.0) - 5 * np.eye(3)}
    rows = [
        (worker, task, min(place, len(matrices[task]) - 1)) for place, worker in enumerate("abc") for task in (1, 2, 3)
    ]
    domain = Custom(distance=matrices)
    for task, expected in ((1, [0, 1, 1]), (2, [0, 0, 0]), (3, [0, 5, 5])):
        result = allalike.discover(rows, domain=domain, method="OA", gold={task: 0})
        assert result.workers["fault"].tolist() == expected


def test_an_unknown_distance_to_a_known_truth_does_not_count() -> None:
    matrix = [[0, 1, np.nan], [1, 0, 2], [np.nan, 2, 0]]
    rows = [(worker, task, label) for task in (1, 2) for worker, label in (("a", 0), ("b", 1), ("c", 2))]
    result = allalike.discover(rows, domain=Custom(distance=matrix), method="OA", gold={1: 2, 2: 1})
    assert result.workers["fault"].tolist() == [1.0, 1.0, 1.0]


def test_a_domain_shows_itself_as_it_was_made() -> None:
    assert repr(Custom(distance=[[0.0]])).startswith("Custom(rule='medoid', distance=")
    assert isinstance(replace(Custom(distance=[[0.0]]), rule="best worker"), Custom)
    with pytest.raises(OptionError):
        Custom()


@pytest.mark.parametrize("domain", ["categorical", "real", "custom"])
def test_each_task_alone_is_what_a_run_on_its_answers_gives(domain: str) -> None:
    answers = crowd(domain, seed=2, n=6, m=5, missing=0.2)
    together = allalike.discover(allalike.read(answers, domain=kind(domain)).per_task(), method="P-TD")
    assert list(together.workers) == ["task", "worker", "answers", "disparity", "fault", "weight", "flag", "reason"]
    assert (together.workers["answers"] == 1).all()
    for task, rows in itertools.groupby(sorted(answers, key=lambda a: (a[1], a[0])), key=lambda a: a[1]):
        alone = allalike.discover(list(rows), domain=kind(domain), method="P-TD")
        mine = together.workers[together.workers["task"] == task]
        np.testing.assert_allclose(mine["weight"], alone.workers["weight"], atol=1e-12)
        found = together.truth["label"][list(together.truth["task"]).index(task)]
        expected = alone.truth["label"][0]
        assert found == (expected if domain != "real" else pytest.approx(expected))
