"""How far workers are from the truth, between which limits, and between which the truths of numbers lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import allalike
from allalike import Disk, Memory, simulate
from allalike._core.blocks.block import Block
from allalike.cli.screen import few_text, worker_rows
from allalike.errors import UnsupportedError
from allalike.methods.auto.distances.numbers import find_truth_limits
from allalike.methods.auto.sureness.faults import find_faults
from allalike.methods.auto.voices import give_voices
from allalike.methods.insight import Faults, VoiceGroups
from crowds.samples import problems, rows

Matrix = npt.NDArray[Any]
KINDS = {
    "two classes": "one-coin(classes=2, population='uniform(low=0.05, high=0.45)')",
    "four classes": "one-coin(classes=4, population='uniform(low=0.05, high=0.6)')",
    "numbers": "gaussian(population='uniform(low=0.3, high=2)')",
    "rankings": "mallows(items=5, population='uniform(low=0.2, high=0.9)')",
}
every_kind = pytest.mark.parametrize("model", KINDS.values(), ids=KINDS)
ARRAYS = ("shared", "fault", "low", "high", "shrunk", "few")


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


def test_nothing_is_known_about_a_worker_whom_nobody_met() -> None:
    together = [
        (worker, task, "xy"[(task + (worker == "c" and task < 4)) % 2]) for worker in "abc" for task in range(8)
    ]
    found = faults_of([*together, *(("z", 100 + task, "x") for task in range(8))])
    assert found.shared.tolist() == [8, 8, 8, 0]
    assert found.few.tolist() == [False, False, False, True]
    assert np.isnan([found.fault[3], found.low[3], found.high[3]]).all()
    np.testing.assert_allclose(found.shrunk[3], found.shrunk[:3].mean())


def test_few_is_less_than_five_answers_that_are_shared() -> None:
    answers = [(worker, task, "x") for worker in "abc" for task in range(9) if worker != "c" or task < 4]
    assert faults_of([*answers, ("c", 50, "x")]).few.tolist() == [False, False, True]


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


@every_kind
def test_the_engines_find_the_same(model: str) -> None:
    answers = simulate(model, workers=12, tasks=40, answers_per_task=4, seed=2).answers
    one = faults_of(answers)
    for engine in (Memory(block_answers=20), Disk(partitions=3)):
        other = faults_of(answers, engine)
        for name in ARRAYS:
            np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("classes", [None, 3])
def test_many_problems_in_one_run_are_as_if_each_were_alone(classes: int | None) -> None:
    rng = np.random.default_rng(4)
    matrices = rng.normal(size=(4, 5, 12)) if classes is None else rng.integers(0, classes, (4, 5, 12))
    domain = "real" if classes is None else allalike.Categorical(classes=classes)
    together = find_faults(Memory().load(problems(matrices, classes)))
    for number, matrix in enumerate(matrices):
        alone = faults_of(rows(matrix), domain=domain)
        for name in ARRAYS:
            mine = getattr(together, name)[5 * number : 5 * number + 5]
            np.testing.assert_allclose(mine, getattr(alone, name), rtol=1e-9, atol=1e-12)


def test_copies_that_are_known_are_no_peers_of_each_other() -> None:
    matrix = numbers([1.0, 1.0, 1.0, 1.0, 2.0], 300)
    copied = np.vstack([matrix, matrix[4:], matrix[4:]])
    run = Memory().load(allalike.read(rows(copied), domain="real"))
    groups = VoiceGroups(np.array([0, 1, 2, 3, 4, 4, 4]), np.zeros(7, bool))
    known, alone = find_faults(give_voices(run, groups)), faults_of(rows(matrix), domain="real")
    np.testing.assert_allclose(known.fault[[0, 1, 2, 3, 4, 4, 4]][:5], alone.fault, rtol=0.02)
    np.testing.assert_allclose(known.fault[4:], known.fault[4])
    assert find_faults(run).fault[4] < 0.5 * known.fault[4]  # believed, because two others say the same


def test_labels_without_a_model_of_faults_have_no_limits() -> None:
    answers = [(worker, task, {f"{task}", worker}) for worker in "abc" for task in range(6)]
    found = faults_of(answers, domain="set")
    assert np.isnan([found.fault, found.low, found.high, found.shrunk]).all()
    workers = allalike.discover(answers, domain="set").workers
    assert workers["fault"].notna().all()
    assert workers[["low", "high"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("model", "unit"),
    [("one-coin(classes=3)", "error_rate"), ("one-coin(classes=30)", "error_rate"), ("gaussian", "rmse")],
)
def test_the_table_of_workers_reads_faults_in_their_unit_within_the_limits(model: str, unit: str) -> None:
    workers = allalike.discover(simulate(model, workers=15, tasks=60, answers_per_task=5).answers).workers
    known = ["fault", unit, "low", "high", "few", "weight"]
    assert list(workers)[:10] == ["worker", "answers", "shared", "disparity", *known]
    assert ((workers["low"] <= workers[unit]) & (workers[unit] <= workers["high"])).all()
    np.testing.assert_allclose(workers[unit] ** (2 if unit == "rmse" else 1), workers["fault"])


@pytest.mark.parametrize("method", ["UA", "P-TD", "iP-TD"])
def test_named_methods_keep_their_columns(method: str) -> None:
    result = allalike.discover(simulate("gaussian", workers=5, tasks=9).answers, method=method)
    assert list(result.workers) == ["worker", "answers", "disparity", "fault", "weight", "flag", "reason"]
    assert list(result.truth)[:4] == ["task", "label", "confidence", "error"]


@pytest.mark.parametrize("tails", ["gaussian", "heavy"])
def test_limits_hold_for_nearly_95_of_100_truths(tails: str) -> None:
    rng = np.random.default_rng(3)
    worker = np.argsort(rng.random((1000, 30)), axis=1)[:, :5]
    errors = rng.standard_normal(worker.shape) if tails == "gaussian" else rng.standard_t(4, worker.shape)
    label = rng.uniform(0.3, 2, 30)[worker] * errors
    answers = [(int(w), task, float(x)) for task in range(1000) for w, x in zip(worker[task], label[task], strict=True)]
    truth = allalike.discover(answers, domain="real").truth
    assert 0.93 <= ((truth["low"] <= 0) & (truth["high"] >= 0)).mean() <= 0.98


def test_a_number_of_one_worker_is_as_sure_as_such_a_worker_deserves() -> None:
    answers = [*rows(numbers([1.0] * 6, 100)), ("w0", "lonely", 0.5)]
    answers = [(f"{worker}", f"{task}", label) for worker, task, label in answers]
    truth = allalike.discover(answers, domain="real").truth
    wide = (truth["high"] - truth["low"])[truth["answers"] == 1]
    assert (wide > 2 * (truth["high"] - truth["low"])[truth["answers"] == 6].max()).all()
    assert truth.loc[truth["answers"] == 1, "low"].item() < -0.5


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


def test_limits_change_no_truth() -> None:
    answers = simulate("gaussian", workers=9, tasks=30, answers_per_task=4).answers
    result = allalike.discover(answers)
    weight, run = result.weighing.weight, result.run
    plain = run.collect(lambda block, w, f: run.kernels.aggregate(block, w, f, ties=run.ties), weight, weight)
    np.testing.assert_array_equal(result.truth["label"], plain["label"])


def test_a_worker_who_is_always_too_high_has_a_bias() -> None:
    matrix = numbers([1.0] * 8, 100, seed=1)
    matrix[3] += 2.0
    found = allalike.discover(rows(matrix), domain="real").bias()
    assert list(found) == ["worker", "bias", "low", "high"]
    assert found["low"][3] < 2.0 < found["high"][3]
    assert ((found["low"] < 0) & (found["high"] > -0.5))[[0, 1, 2, 4, 5, 6, 7]].all()
    with pytest.raises(UnsupportedError, match="numbers only"):
        allalike.discover([("ada", 1, "x"), ("bob", 1, "x")]).bias()


def test_a_bias_of_one_answer_has_no_limits_and_of_none_is_unknown() -> None:
    found = allalike.discover([("a", 1, 1.0), ("b", 1, 2.0), ("c", 2, 5.0)], domain="real").bias()
    assert found["bias"][:2].tolist() == [-1.0, 1.0]
    assert found.loc[2, ["bias", "low", "high"]].isna().all()
    assert found[["low", "high"]].isna().all(axis=None)


def test_the_terminal_shows_limits_and_counts_workers_with_few_answers() -> None:
    answers = [(worker, task, float(task)) for worker in "abcd" for task in range(9) if worker != "d" or task < 2]
    result = allalike.discover(answers, domain="real")
    assert worker_rows(result)[0] == ("worker", "answers", "rmse", "low..high", "weight")
    assert few_text(result)[0].startswith("1 of 4 workers (25.0 %) has fewer than 5 answers")
    named = allalike.discover(answers, domain="real", method="P-TD")
    assert worker_rows(named)[0] == ("worker", "answers", "fault", "weight")
    assert few_text(named) == []


def test_a_number_that_is_known_is_sure() -> None:
    truth = allalike.discover(rows(numbers([1.0] * 4, 9)), domain="real", gold={"t0002": 0.25}).truth
    assert (truth["low"][2], truth["high"][2]) == (0.25, 0.25)
    assert (truth["low"] < truth["high"]).sum() == 8
