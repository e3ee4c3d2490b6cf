"""Weights from distances are taken only where the crowd itself bears them out; else everyone counts the same."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import allalike
from allalike import Auto, Disk, Memory
from allalike.methods.auto.distances.plain_or_weighed import find_pull
from allalike.methods.insight import VoiceGroups
from crowds.distance_weights import weigh
from crowds.samples import Row, rows

Matrix = npt.NDArray[np.float64]


def forecasts(seed: int, hedging: int = 30, knowing: int = 10) -> tuple[Matrix, Matrix]:
    """Draw what happened, and forecasts of those who know it, more or less, and of those who stay near one half."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 60).astype(float)
    hedged = 0.5 + 0.2 * (truth - 0.5) + rng.normal(0, 0.02, (hedging, 60))
    known = np.clip(truth + rng.normal(0, 0.3, (knowing, 60)), 0, 1)
    return truth, np.vstack([hedged, known])


def error(result: allalike.Result, truth: Matrix) -> float:
    found = result.truth["label"].to_numpy(float)
    return float(np.mean((found - truth) ** 2))


def test_weights_do_not_go_to_those_who_keep_to_the_middle() -> None:
    truth, said = forecasts(0)
    result = allalike.discover(rows(said), domain="real", method=Auto(plain=True))
    assert result.summary["reading"]["taken"] == "everyone the same"
    assert result.summary["reading"]["why"] == "weights would go to those who keep to the middle"
    assert error(result, truth) == pytest.approx(np.mean((said.mean(axis=0) - truth) ** 2))
    assert error(allalike.discover(rows(said), domain="real", method="iP-TD"), truth) > 1.2 * error(result, truth)


@pytest.mark.parametrize("domain", ["probability", "vector"])
def test_nor_where_labels_are_vectors(domain: str) -> None:
    _, said = forecasts(1)
    answers = [(worker, task, [1 - label, label]) for worker, task, label in rows(np.clip(said, 0, 1))]
    found = allalike.discover(answers, domain=domain, method=Auto(plain=True)).summary["reading"]
    assert found["taken"] == "everyone the same"
    assert found["slope"] < -1.96


def test_weights_do_not_choose_between_high_and_low() -> None:
    rng = np.random.default_rng(2)
    level = np.exp(rng.normal(0, 0.6, (200, 1)))  # the low ones are near each other
    said = rng.uniform(500, 520, 30) * level * np.exp(rng.normal(0, 0.05, (200, 30)))
    found = allalike.discover(rows(said), domain="real", method=Auto(plain=True)).summary["reading"]
    assert found["why"].startswith("weights would move all truths the same way")
    assert found["level"] > 1.96


def honest(
    seed: int, workers: int, tasks: int, answers: int = 5, *, hedging: bool = False
) -> tuple[list[Row], Matrix, Matrix]:
    """Simulate independent Gaussian workers whose errors have standard deviations from 1 to 4; half may hedge."""
    rng = np.random.default_rng(seed)
    truth, deviation = rng.normal(0, 5, tasks), rng.uniform(1, 4, workers)
    who = rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :answers]
    hedges = hedging & (np.arange(workers) % 2 == 0)
    slope, deviation = np.where(hedges, 0.2, 1.0), np.where(hedges, 0.3, deviation)
    said = slope[who] * truth[:, None] + deviation[who] * rng.normal(size=who.shape)
    precision = deviation[who] ** -2
    answered = [(f"w{w}", f"t{t:05}", float(said[t, i])) for (t, i), w in np.ndenumerate(who)]
    return answered, truth, (precision * said).sum(axis=1) / precision.sum(axis=1)


@pytest.mark.parametrize(("workers", "tasks", "answers"), [(50, 400, 5), (50, 2000, 3), (50, 2000, 2)])
def test_honest_workers_get_weights(workers: int, tasks: int, answers: int) -> None:
    for seed in range(3):
        said, truth, oracle = honest(seed, workers, tasks, answers)
        result = allalike.discover(said, domain="real", method=Auto(plain=True))
        assert result.summary["reading"]["taken"] == "weights"
        best, plain = (np.mean((each - truth) ** 2) for each in (oracle, result.truth["unweighted"].to_numpy(float)))
        assert error(result, truth) < 0.5 * (best + plain)


def test_with_many_answers_honest_workers_come_near_the_oracle() -> None:
    said, truth, oracle = honest(7, 200, 20_000)
    result = allalike.discover(said, domain="real")
    assert len(said) == 100_000
    assert error(result, truth) < 1.05**2 * np.mean((oracle - truth) ** 2)


@pytest.mark.parametrize(("workers", "tasks", "answers"), [(20, 100, 5), (50, 2000, 3), (50, 4000, 2)])
def test_hedgers_get_no_weights_where_each_task_has_few_answers(workers: int, tasks: int, answers: int) -> None:
    said, _, _ = honest(0, workers, tasks, answers, hedging=True)
    found = allalike.discover(said, domain="real", method=Auto(plain=True)).summary["reading"]
    assert found["taken"] == "everyone the same"
    assert found["slope"] < -1.96


def test_a_worker_with_one_answer_and_copies_do_not_change_what_honest_workers_get() -> None:
    said, truth, _ = honest(1, 50, 400)
    said += [("once", "t00000", 3.0), *(("copy", task, label) for worker, task, label in said if worker == "w3")]
    result = allalike.discover(said, domain="real")
    assert result.summary["reading"]["taken"] == "weights"
    assert set(result.workers.loc[result.workers["group"] != "", "worker"]) == {"w3", "copy"}
    assert error(result, truth) < 0.9 * np.mean((result.truth["unweighted"].to_numpy(float) - truth) ** 2)


def test_a_pull_does_not_depend_on_where_numbers_begin_or_on_their_unit() -> None:
    _, said = forecasts(4)
    weight = np.linspace(0.5, 2.0, len(said))
    pulls = []
    for numbers in (said, 1e6 + 1000 * said):
        run = Memory().load(allalike.read(rows(numbers), domain="real"))
        pulls.append(find_pull(run, weight, VoiceGroups.everyone(len(said))))
    np.testing.assert_allclose(pulls[0], pulls[1], rtol=1e-6)


def test_below_two_answers_a_task_everyone_counts_the_same() -> None:
    rng = np.random.default_rng(5)
    said = rng.normal(size=(6, 200)) * np.array([1, 1, 1, 1, 1, 50])[:, None]
    present = rng.permuted(np.arange(6)[:, None] < rng.integers(1, 3, 200), axis=0)
    assert 200 < present.sum() < 400
    result = allalike.discover(rows(said, present=present), domain="real")
    assert result.summary["reading"]["why"] == "there are fewer than two answers per task"
    assert result.workers["weight"].to_numpy() == pytest.approx(np.full(6, 1 / 6))


@pytest.mark.parametrize("engine", [Memory(), Disk(partitions=3)])
def test_parts_whose_tasks_are_harder_are_no_workers_who_differ(engine: Any) -> None:
    rng = np.random.default_rng(6)
    pairs = [(part, task, worker) for part in range(9) for task in range(30) for worker in rng.permutation(4)[:2]]
    said = [(f"{part}-{w}", f"{part}-{t}", float(rng.normal(0, 2.0**part))) for part, t, w in pairs]
    weighing = weigh(engine.load(allalike.read(said, domain="real")))
    assert weighing.notes["f_ratio"] < 2
    together = weigh(engine.load(allalike.read([(w, t, x) for w, t, x in said if t[0] == "8"], domain="real")))
    assert weighing.weight.max() < 3 * weighing.weight.min()
    assert together.weight.max() < 3 * together.weight.min()


def test_workers_of_pairs_are_told_apart_within_their_parts() -> None:
    rng = np.random.default_rng(7)
    pairs = [(part, task, worker) for part in range(3) for task in range(90) for worker in rng.permutation(5)[:2]]
    wide = {0: 1.0, 1: 30.0, 2: 900.0}
    said = [(f"{p}-{w}", f"{p}-{t}", float(rng.normal(0, wide[p] * (8 if w == 4 else 1)))) for p, t, w in pairs]
    result = allalike.discover(said, domain="real", method=Auto(plain=True))
    weights = result.workers["weight"].to_numpy().reshape(3, 5)
    assert (weights[:, 4] < 0.6 * weights[:, :4].min(axis=1)).all()
    assert weights.sum(axis=1) == pytest.approx(np.full(3, 1 / 3), rel=0.5)


def test_copies_of_a_bad_worker_still_count_as_one() -> None:
    rng = np.random.default_rng(10)
    truth = rng.normal(0, 5, 60)
    said = truth + rng.normal(size=(20, 60)) * np.repeat([0.5, 3.0], 10)[:, None]
    copies = said[11] + np.random.default_rng(11).normal(0, 0.01, (6, 60))
    result = allalike.discover(rows(np.vstack([said[:12], copies])), domain="real")
    assert (result.workers["group"] != "").sum() == 7
    assert error(result, truth) < 0.1


def test_known_truths_that_weights_come_nearer_to_are_the_better_judge() -> None:
    truth, said = forecasts(12)
    known = [(f"t{j:04}", float(truth[j])) for j in range(50)]
    told = allalike.discover(rows(said), domain="real", gold=known, method=Auto(plain=True))
    assert told.summary["reading"]["taken"] == "weights"
    assert told.workers["weight"].to_numpy()[30:].min() > told.workers["weight"].to_numpy()[:30].max()
