"""How far workers are from the truth, between which limits, and between which the truths of numbers lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import allalike
from allalike import Memory, simulate
from allalike._core.blocks.block import Block
from allalike.errors import UnsupportedError
from allalike.methods.auto.distances.numbers import find_truth_limits
from allalike.methods.auto.sureness.faults import find_faults
from allalike.methods.auto.voices import give_voices
from allalike.methods.insight import Faults, VoiceGroups
from crowds.samples import rows

Matrix = npt.NDArray[Any]
KINDS = {
    "two classes": "one-coin(classes=2, population='uniform(low=0.05, high=0.45)')",
    "four classes": "one-coin(classes=4, population='uniform(low=0.05, high=0.6)')",
    "numbers": "gaussian(population='uniform(low=0.3, high=2)')",
    "rankings": "mallows(items=5, population='uniform(low=0.2, high=0.9)')",
}
every_kind = pytest.mark.parametrize("model", KINDS.values(), ids=KINDS)


def faults_of(answers: Any, engine: Any = None, **options: Any) -> Faults:
    read = allalike.read(answers, **options) if isinstance(answers, list) else answers
    return find_faults((engine or Memory()).load(read))


def numbers(deviations: list[float], tasks: int, seed: int = 0) -> Matrix:
    """Return a row of numbers for each worker, whose truth is 0."""
    return np.array(deviations)[:, None] * np.random.default_rng(seed).standard_normal((len(deviations), tasks))


def test_three_workers_share_their_distances_as_the_equations_say() -> None:
    matrix = numbers([0.5, 1.0, 2.0], 500)
    apart = [((matrix[i] - matrix[j]) ** 2).mean() for i, j in ((0, 1), (0, 2), (1, 2))]
    exact = np.array([apart[0] + apart[1] - apart[2], apart[0] + apart[2] - apart[1], apart[1] + apart[2] - apart[0]])
    np.testing.assert_allclose(faults_of(rows(matrix), domain="real").fault, exact / 2, atol=0.02)


def test_of_two_workers_either_may_be_the_one_who_errs() -> None:
    matrix = numbers([1.0, 1.0], 200)
    found = faults_of(rows(matrix), domain="real")
    apart = ((matrix[0] - matrix[1]) ** 2).mean()
    np.testing.assert_allclose(found.fault, apart / 2)
    assert found.low.tolist() == [0.0, 0.0]
    assert (found.high > apart).all()


def test_workers_who_always_agree_may_still_err_as_wilson_says() -> None:
    for n_tasks in (5, 50):
        found = faults_of([(worker, task, f"{task % 3}") for worker in "abcd" for task in range(n_tasks)])
        square = 1.959964**2
        np.testing.assert_allclose(found.fault, 0.0, atol=1e-12)
        np.testing.assert_allclose(found.low, 0.0, atol=1e-12)
        np.testing.assert_allclose(found.high, square / (n_tasks + square), rtol=1e-6)


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
@pytest.mark.parametrize("differ", [False, True], ids=["equal", "different"])
def test_odd_crowds_have_limits_around_the_estimate_or_none(pairs: Any, domain: str, differ: bool) -> None:
    one, other = LABELS[domain]
    answers = [(w, t, other if differ and (w == "b" or (t % 3 == 1 and w == "a")) else one) for w, t in pairs]
    result = allalike.discover(answers, domain=domain)
    trust = result.weighing.insight.faults
    assert trust is not None
    workers = result.workers
    estimate = workers[trust.unit]
    known = workers["low"].notna()
    assert (known == workers["high"].notna()).all()
    assert ((workers["low"] <= estimate) & (estimate <= workers["high"]))[known].all()
    assert not known[workers["shared"] == 0].any()
    assert (known | (workers["shared"] < 2)).all() or domain == "set"
    assert (workers["low"][known] >= 0).all()


@every_kind
def test_limits_hold_for_nearly_95_of_100_workers(model: str) -> None:
    crowd = simulate(model, workers=300, tasks=700, answers_per_task=6, seed=11)
    found, true = faults_of(crowd.answers), crowd.drawn.faults
    held = ((found.low <= true) & (true <= found.high))[~found.few]
    assert len(held) > 280
    assert 0.91 <= held.mean() <= 0.99
    assert (true < found.low).mean() < 0.06
    assert (true > found.high).mean() < 0.06


@every_kind
def test_shrunken_faults_of_few_answers_are_closer_to_the_truth(model: str) -> None:
    crowd = simulate(model, workers=100, tasks=100, answers_per_task=6, seed=5)
    found, true = faults_of(crowd.answers), crowd.drawn.faults
    assert np.mean((found.shrunk - true) ** 2) < 0.9 * np.mean((np.nan_to_num(found.fault) - true) ** 2)


def test_copies_that_are_known_are_no_peers_of_each_other() -> None:
    matrix = numbers([1.0, 1.0, 1.0, 1.0, 2.0], 300)
    copied = np.vstack([matrix, matrix[4:], matrix[4:]])
    run = Memory().load(allalike.read(rows(copied), domain="real"))
    groups = VoiceGroups(np.array([0, 1, 2, 3, 4, 4, 4]), np.zeros(7, bool))
    known, alone = find_faults(give_voices(run, groups)), faults_of(rows(matrix), domain="real")
    np.testing.assert_allclose(known.fault[[0, 1, 2, 3, 4, 4, 4]][:5], alone.fault, rtol=0.02)
    np.testing.assert_allclose(known.fault[4:], known.fault[4])
    assert find_faults(run).fault[4] < 0.5 * known.fault[4]  # believed, because two others say the same


@pytest.mark.parametrize("tails", ["gaussian", "heavy"])
def test_limits_hold_for_nearly_95_of_100_truths(tails: str) -> None:
    rng = np.random.default_rng(3)
    worker = np.argsort(rng.random((1000, 30)), axis=1)[:, :5]
    errors = rng.standard_normal(worker.shape) if tails == "gaussian" else rng.standard_t(4, worker.shape)
    label = rng.uniform(0.3, 2, 30)[worker] * errors
    answers = [(int(w), task, float(x)) for task in range(1000) for w, x in zip(worker[task], label[task], strict=True)]
    truth = allalike.discover(answers, domain="real").truth
    assert 0.93 <= ((truth["low"] <= 0) & (truth["high"] >= 0)).mean() <= 0.98


def test_copies_that_are_known_make_no_truth_surer() -> None:
    one, twice = Block.of(numbers([1.0, 2.0, 1.0], 4)), Block.of(numbers([1.0, 2.0, 1.0], 4)[[0, 1, 2, 2, 2]])
    groups = VoiceGroups(np.array([0, 1, 2, 2, 2]), np.zeros(5, bool))
    label, error = np.zeros(4), np.ones(4)
    weight, variance = np.array([0.4, 0.2, 0.4]), np.array([1.0, 4.0, 1.0])
    members = [0, 1, 2, 2, 2]
    alone = find_truth_limits(one, weight, variance, label, error)
    known = find_truth_limits(twice, weight[members], variance[members], label, error, groups=groups)
    np.testing.assert_allclose(known["high"], alone["high"])
    assert (find_truth_limits(twice, weight[members], variance[members], label, error)["high"] < alone["high"]).all()


def test_a_worker_who_is_always_too_high_has_a_bias() -> None:
    matrix = numbers([1.0] * 8, 100, seed=1)
    matrix[3] += 2.0
    found = allalike.discover(rows(matrix), domain="real").bias()
    assert list(found) == ["worker", "bias", "low", "high"]
    assert found["low"][3] < 2.0 < found["high"][3]
    assert ((found["low"] < 0) & (found["high"] > -0.5))[[0, 1, 2, 4, 5, 6, 7]].all()
    with pytest.raises(UnsupportedError, match="numbers only"):
        allalike.discover([("ada", 1, "x"), ("bob", 1, "x")]).bias()
