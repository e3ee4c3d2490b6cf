"""auto on labels other than numbers and a few classes: shrunk errors, and weight 0 for guesses."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import allalike
from allalike import Memory, simulate
from allalike.methods.auto.distances import compare_workers, distance_sums
from allalike.methods.auto.screening import find_guess_distance
from crowds.distance_weights import all_distances, weigh
from crowds.samples import crowd, kind

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.engines import Run

    Matrix = npt.NDArray[np.float64]

EQUAL = {
    "real": "gaussian(population='fixed(values=1)')",
    "ranking": "mallows(items=5, population='fixed(values=0.6)')",
    "many classes": "one-coin(classes=30, population='fixed(values=0.5)')",
}


def load(answers: Any, domain: str | None = None) -> Run:
    return Memory().load(answers if domain is None else allalike.read(answers, domain=kind(domain)))


def brute_force(run: Run, weights: Matrix) -> tuple[Matrix, float, float]:
    """Return the mean distance of each worker to the middle of the others, F, and the answers of a usual worker."""
    worker, task, apart = all_distances(run)
    n = int(worker.max()) + 1
    faults: list[list[float]] = [[] for _ in range(n)]
    deviations: list[list[float]] = [[] for _ in range(n)]
    for number in range(int(task.max()) + 1):
        here = np.flatnonzero(task == number)
        found = []
        for i in here:
            others = [j for j in here if j != i]
            share = weights[worker[others]] / weights[worker[others]].sum()
            found.append(share @ apart[i, others] - share @ apart[np.ix_(others, others)] @ share / 2)
        for i, fault in zip(here, found, strict=True):
            faults[worker[i]].append(fault)
            if len(here) > 2:
                deviations[worker[i]].append((fault - np.mean(found)) * np.sqrt(len(here) / (len(here) - 1)))
    each = [np.array(part) for part in deviations if part]
    total = sum(map(len, each))
    between = sum(len(part) * part.mean() ** 2 for part in each) / len(each)
    within = sum(((part - part.mean()) ** 2).sum() for part in each) / (total - len(each))
    usual = (total - sum(len(part) ** 2 for part in each) / total) / (len(each) - 1)
    return np.array([np.mean(part) for part in faults]), between / within, usual


@pytest.mark.parametrize("domain", ["real", "ranking", "text", "set"])
def test_faults_and_how_workers_differ_agree_with_brute_force(domain: str) -> None:
    run = load(crowd(domain, seed=1, n=6, m=12, missing=0.3), domain)
    weights = np.linspace(0.5, 2.0, 6)
    fault, ratio, usual = brute_force(run, weights)
    sums = run.sum(partial(distance_sums, kernels=run.kernels), weights)
    assert sums["fault"] / sums["answers"] == pytest.approx(fault)
    expected = max(usual / (ratio - 1), 1.0) if ratio > 1 else np.inf
    assert compare_workers(sums) == pytest.approx((ratio, expected), rel=1e-6)


@pytest.mark.parametrize("domain", ["vector", "text", "set", "interval", "bitmap"])
def test_the_distance_of_a_guess_agrees_with_brute_force(domain: str) -> None:
    run = load(crowd(domain, seed=2, n=5, m=9, missing=0.2), domain)
    worker, task, apart = all_distances(run)
    pairs = [apart[i, j] for i, j in combinations(range(len(worker)), 2) if task[i] != task[j]]
    expected = np.inf if domain == "vector" else np.mean(pairs)
    assert find_guess_distance(run) == pytest.approx(expected)


def test_a_guess_is_known_where_labels_of_different_tasks_cannot_be_compared() -> None:
    rows = [(worker, task, f"{task}a>{task}b>{task}c") for worker in range(3) for task in range(4)]
    assert find_guess_distance(load(allalike.read(rows, domain="ranking"))) == 0.5
    footrule = allalike.Ranking(distance="footrule")
    assert find_guess_distance(load(allalike.read(rows, domain=footrule))) == pytest.approx(8 / 12)
    unknown = float("nan")
    matrix = [[0, 1, unknown, unknown], [1, 0, unknown, unknown], [unknown, unknown, 0, 2], [unknown, unknown, 2, 0]]
    far = allalike.Custom(distance=matrix, farthest=3.0)
    answers = [("ada", 1, 0), ("bob", 1, 1), ("ada", 2, 2), ("bob", 2, 3)]
    assert find_guess_distance(load(allalike.read(answers, domain=far))) == 3.0
    assert find_guess_distance(load(allalike.read(answers, domain=allalike.Custom(distance=matrix)))) == np.inf


def test_a_distance_of_your_own_need_not_compare_labels_of_different_tasks() -> None:
    def within(left: tuple[int, int], right: tuple[int, int]) -> float:
        if left[0] != right[0]:
            raise ValueError("labels of different tasks")
        return float(abs(left[1] - right[1]))

    rows = [(worker, task, (task, worker)) for task in (1, 2) for worker in range(13)]  # twelve labels are tried
    run = load(allalike.read(rows, domain=allalike.Custom(distance=within)))
    assert find_guess_distance(run) == np.inf
    assert weigh(run).weight.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "n"),
    [
        pytest.param(name, n, marks=pytest.mark.long if (place + n // 2) % 2 else ())
        for place, name in enumerate(EQUAL)
        for n in (3, 5)
    ],
)
def test_equal_workers_are_hardly_weighed(name: str, n: int) -> None:
    error = unweighted = 0.0
    for seed in range(4):
        drawn = simulate(EQUAL[name], workers=n, tasks=150, seed=seed)
        result = allalike.discover(drawn.answers, method="auto", gold=drawn.truth)
        error += result.summary["gold"]["error"]
        unweighted += result.summary["gold"]["unweighted_error"]
        assert result.workers["weight"].min() > 0.6 / n
    assert error < 1.03 * unweighted


@pytest.mark.parametrize(
    ("model", "spammer"),
    [
        ("mallows(items=6, population='fixed(values=(0.4, 0.4, 0.4, 0.4, 1))')", 4),
        ("one-coin(classes=30, population='fixed(values=(0.4, 0.4, 0.4, 0.4, 0.96))')", 4),
    ],
)
def test_a_spammer_has_hardly_any_weight_and_the_others_count_the_same(model: str, spammer: int) -> None:
    run = load(simulate(model, workers=5, tasks=100, seed=1).answers)
    weighing = weigh(run, plain=True)
    assert weighing.weight[spammer] < 0.05
    assert np.delete(weighing.weight, spammer) == pytest.approx(np.full(4, 0.25), abs=0.06)
    assert weighing.fault.argmax() == spammer
    assert weighing.notes["f_ratio"] > 5
    assert weighing.notes.get("workers") != "equal"


def test_vectors_near_the_middle_get_no_weight() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 60).astype(float)
    hedged = 0.5 + 0.02 * (truth - 0.5) + rng.normal(0, 0.02, (10, 60))
    known = np.clip(truth + rng.normal(0, 0.3, (30, 60)), 0, 1)
    said = np.clip(np.vstack([hedged, known]), 0, 1)
    answers = [(worker, task, [1 - x, x]) for (worker, task), x in np.ndenumerate(said)]
    weight = allalike.discover(answers, domain="vector", method=allalike.Auto(screening=False)).workers["weight"]
    assert weight[:10].max() < weight[10:].mean()


def test_who_is_far_from_known_truths_weighs_less() -> None:
    rows = crowd("ranking", seed=9, n=6, m=60, missing=0.0)
    first = rows[0][0]
    tasks = {task for _, task, _ in rows[:240]}
    near = {task: label for worker, task, label in rows if worker == first and task in tasks}
    blind, told = (allalike.discover(rows, domain="ranking", gold=gold).workers for gold in (None, near))
    assert told["weight"].iloc[0] > 1.2 * blind["weight"].iloc[0]
    assert (told["weight"].iloc[1:].to_numpy() < blind["weight"].iloc[0]).all()
