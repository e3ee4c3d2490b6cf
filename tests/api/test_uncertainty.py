"""Error rates, confidences and their intervals: against closed forms and simulated crowds."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import allalike
from allalike import Memory, Result, simulate
from allalike.methods.auto.numbers import fit_numbers
from allalike.methods.auto.screening import screen
from allalike.methods.auto.uncertainty import find_wilson_limits
from allalike.methods.fit import Uncertainty
from crowds.samples import Row, rows

Matrix = npt.NDArray[Any]
NUMBERS = "gaussian(population='uniform(low=0.3, high=2)')"
CLASSES = {
    "two classes": "one-coin(classes=2, population='uniform(low=0.05, high=0.45)')",
    "four classes": "one-coin(classes=4, population='uniform(low=0.05, high=0.6)')",
    "thirty classes": "one-coin(classes=30, population='uniform(low=0.05, high=0.6)')",
}


def faults_of(answers: Any) -> Uncertainty:
    run = Memory().load(answers)
    found = fit_numbers(run, screen(run, plain=False)).uncertainty
    assert found is not None
    return found


def numbers(deviations: list[float], tasks: int, seed: int = 0) -> Matrix:
    """Return a row of numbers for each worker, whose truth is 0."""
    return np.array(deviations)[:, None] * np.random.default_rng(seed).standard_normal((len(deviations), tasks))


ODD = {
    "one answer": [("a", 0)],
    "one worker": [("a", 0), ("a", 1)],
    "one task": [("a", 0), ("b", 0), ("c", 0)],
    "no peers": [("a", 0), ("b", 1), ("c", 2)],
    "two workers": [(worker, task) for worker in "ab" for task in range(7)],
    "one alone": [*((worker, task) for worker in "abc" for task in range(6)), *(("z", 9 + task) for task in range(6))],
}
LABELS: dict[str, tuple[Any, Any]] = {
    "categorical": ("x", "y"),
    "real": (1e149, -1e149),
    "vector": ([1.0, 1e-140], [1.0, 2e-140]),
    "ranking": ("a>b>c", "c>a>b"),
    "set": ({"x"}, {"y"}),
}


@pytest.mark.parametrize("domain", LABELS)
@pytest.mark.parametrize("pairs", ODD.values(), ids=ODD)
def test_odd_crowds_have_limits_around_the_estimate_or_none(pairs: Any, domain: str) -> None:
    one, other = LABELS[domain]
    answers = [(w, t, other if (w == "b" or (t % 3 == 1 and w == "a")) else one) for w, t in pairs]
    result = allalike.discover(answers, domain=domain)
    trust = result.weighing.uncertainty
    assert trust is not None
    workers = result.workers
    estimate = workers[trust.unit]
    known = workers["ci_low"].notna()
    assert (known == workers["ci_high"].notna()).all()
    assert ((workers["ci_low"] <= estimate) & (estimate <= workers["ci_high"]))[known].all()
    assert not known[workers["shared_tasks"] == 0].any()
    assert (known | (workers["shared_tasks"] < 2)).all() if domain in ("real", "vector") else not known.any()
    assert (workers["ci_low"][known] >= 0).all()


def test_limits_hold_for_nearly_95_of_100_workers() -> None:
    crowd = simulate(NUMBERS, workers=300, tasks=700, answers_per_task=6, seed=11)
    found, true = faults_of(crowd.answers), crowd.drawn.faults
    held = ((found.low <= true) & (true <= found.high))[~found.few]
    assert len(held) > 280
    assert 0.91 <= held.mean() <= 0.99
    assert (true < found.low).mean() < 0.06
    assert (true > found.high).mean() < 0.06


@pytest.mark.parametrize("tails", ["gaussian", "heavy"])
def test_limits_hold_for_nearly_95_of_100_truths(tails: str) -> None:
    rng = np.random.default_rng(3)
    worker = np.argsort(rng.random((1000, 30)), axis=1)[:, :5]
    errors = rng.standard_normal(worker.shape) if tails == "gaussian" else rng.standard_t(4, worker.shape)
    label = rng.uniform(0.3, 2, 30)[worker] * errors
    answers = [(int(w), task, float(x)) for task in range(1000) for w, x in zip(worker[task], label[task], strict=True)]
    truth = allalike.discover(answers, domain="real").truth
    assert 0.93 <= ((truth["ci_low"] <= 0) & (truth["ci_high"] >= 0)).mean() <= 0.98


def test_copies_that_are_known_make_no_label_more_certain() -> None:
    one = numbers([1.0, 2.0, 1.0, 1.0], 300) + np.random.default_rng(1).normal(0, 9, 300)
    found = [allalike.discover(rows(each), domain="real").truth for each in (one, one[[0, 1, 2, 3, 3, 3]])]
    for name in ("label", "ci_low", "ci_high"):
        np.testing.assert_allclose(found[0][name], found[1][name])


def test_a_worker_who_is_always_too_high_has_a_bias() -> None:
    matrix = numbers([1.0] * 8, 100, seed=1)
    matrix[3] += 2.0
    found = allalike.discover(rows(matrix), domain="real").bias()
    assert list(found) == ["worker", "bias", "ci_low", "ci_high"]
    assert found["ci_low"][3] < 2.0 < found["ci_high"][3]
    assert ((found["ci_low"] < 0) & (found["ci_high"] > -0.7))[[0, 1, 2, 4, 5, 6, 7]].all()


@pytest.mark.parametrize("model", CLASSES.values(), ids=CLASSES)
def test_without_gold_workers_have_ranks_and_no_interval(model: str) -> None:
    crowd = simulate(model, workers=30, tasks=300, answers_per_task=6, seed=11)
    result, error = allalike.discover(crowd.answers), crowd.drawn.faults
    workers, known = result.workers, result.weighing.uncertainty
    assert workers["ci_low"].isna().all()
    assert known is not None
    assert known.relative_error is not None
    assert known.relative_se is not None
    assert np.abs(workers["error_rate"] - error).mean() < 0.06
    half = 1.96 * known.relative_se
    better = (known.relative_error + half)[:, None] < known.relative_error - half
    assert better.mean() > 0.05
    np.testing.assert_array_equal(workers["rank_low"], 1 + better.sum(axis=0))
    np.testing.assert_array_equal(workers["rank_high"], 30 - better.sum(axis=1))
    assert (error[:, None] < error)[better].mean() > 0.95
    assert np.corrcoef(workers["relative_error"], error)[0, 1] > 0.85


@pytest.mark.parametrize("model", ["two classes", "four classes"])
def test_intervals_with_gold_hold_and_are_never_wider_than_wilsons(model: str) -> None:
    held = []
    for seed in range(2):
        crowd = simulate(CLASSES[model], workers=40, tasks=300, answers_per_task=12, seed=seed)
        gold = crowd.truth.sample(50, random_state=seed).set_index("task")["label"]
        workers = allalike.discover(crowd.answers, gold=gold.to_dict()).workers
        drawn = crowd.answers
        numbers, names = np.repeat(np.arange(drawn.n_tasks), np.diff(drawn.starts)), np.array(drawn.tasks.tolist())
        labels = drawn.encoding.decode(drawn.label).tolist()
        workers_of = np.array(drawn.workers.tolist())[drawn.worker]
        table = pd.DataFrame({"worker": workers_of, "task": names[numbers], "label": labels})
        table = table[table["task"].isin(gold.index)]
        wrong = (table["label"] != table["task"].map(gold)).groupby(table["worker"]).agg(["mean", "size"])
        wrong = wrong.reindex(workers["worker"], fill_value=0)
        low, high = find_wilson_limits(wrong["mean"].to_numpy(np.float64), wrong["size"].to_numpy(np.float64))
        assert (workers["ci_high"] - workers["ci_low"] <= high - low + 1e-12).all()
        held.append((workers["ci_low"] <= crowd.drawn.faults) & (crowd.drawn.faults <= workers["ci_high"]))
    assert 0.9 <= np.mean(held) <= 1


def test_three_annotators_have_the_rates_they_were_given() -> None:
    missed = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth, rates = rng.integers(0, 2, 500), np.array([0.08, 0.12, 0.2])
        label = np.where(rng.random((3, 500)) < rates[:, None], 1 - truth, truth)
        missed.append(np.abs(allalike.discover(rows(label), domain="categorical").workers["error_rate"] - rates))
    assert np.mean(missed) <= 0.02


def test_a_worker_with_one_label_only_or_few_answers_has_no_rank() -> None:
    answers = [(f"w{i}", task, task % 2 if task % 9 != i else 1 - task % 2) for i in range(5) for task in range(40)]
    answers += [("same", task, 0) for task in range(40)] + [("new", task, task % 2) for task in range(4)]
    workers = allalike.discover(answers, domain="categorical").workers.set_index("worker")
    assert workers["rank_low"].isna().to_dict() == {**dict.fromkeys(workers.index, False), "same": True, "new": True}
    assert workers["rank_high"].max() <= 5


Drawn = tuple[list[Row], dict[int, int]]


def drawn(k: int, answers: int, difficulty: float, seed: int, tasks: int = 300, workers: int = 25) -> Drawn:
    """Draw a crowd whose workers are right with 50 to 95 %, less on hard tasks and more on easy ones."""
    rng = np.random.default_rng(seed)
    truth, level = rng.integers(k, size=tasks), rng.normal(0, difficulty, tasks)
    skill = (k * rng.uniform(0.5 if k > 2 else 0.55, 0.95, workers) - 1) / (k - 1)
    knows = 1 / (1 + np.exp(-(np.log(skill / (1 - skill)) + level[:, None])))
    right = rng.random((tasks, workers)) < 1 / k + (1 - 1 / k) * knows
    said = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, k, (tasks, workers))) % k)
    asked = rng.random((tasks, workers)).argsort(axis=1)[:, :answers]
    rows = [(f"w{i:02d}", t, int(said[t, i])) for t in range(tasks) for i in asked[t].tolist()]
    return rows, dict(enumerate(truth.tolist()))


def judged(result: Result, truth: dict[int, int]) -> pd.DataFrame:
    return result.truth.assign(right=result.truth["label"] == result.truth["task"].map(truth))


def test_known_truths_see_the_errors_that_workers_share() -> None:
    rows, truth = drawn(2, 7, 0, seed=1)
    fooled = {task: 1 - label if task % 4 == 0 else label for task, label in truth.items()}  # three of four are right
    half = {task: label for task, label in fooled.items() if task < 150}
    blind, told = (allalike.discover(rows, gold=gold, domain="categorical") for gold in (None, half))
    assert blind.summary["confidence"]["estimated_from"] == "model"
    found = told.summary["confidence"]
    assert found["estimated_from"] == "gold"
    unaware, aware = judged(blind, fooled)[150:], judged(told, fooled)[150:]
    assert unaware["confidence"].mean() > unaware["right"].mean() + 0.05
    assert aware["confidence"].mean() == pytest.approx(aware["right"].mean(), abs=0.06)
    assert found["error_correlation"] > 0.2
    assert found["effective_answers_per_task"] < 0.7 * found["answers_per_task"]
    few = dict(list(half.items())[:19])
    assert allalike.discover(rows, gold=few, domain="categorical").summary["confidence"]["estimated_from"] == "model"
