"""auto on classes: the chosen model, and accuracy on real crowds, equal workers and colluding workers."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import allalike
from allalike import Auto, Disk, Memory
from allalike._core.blocks.block import Block
from allalike.answers import Answers
from allalike.engines.sample import sample_tasks
from allalike.methods.auto.confusion_matrices import agreement_sums, find_starts, prepare
from allalike.methods.auto.split_half import test_halves as find_split_half
from allalike.readers import open_gold
from crowds.copiers import answer
from crowds.one_coin import drawn, error
from crowds.public_data import blind, drawn_hits, load_from

# Accuracy in percent that the trials measured; ties are averaged.
KNOWN = {
    name: float(percent)
    for name, percent in re.findall(
        r"(\S+) ([0-9.]+)",
        """
        Pred.T1 77.8  Pred.T2 83.3  Pred.T3 83.3  Pred.T4 88.9  snow_rte 92.5  snow_temp 94.2  gdots 76.0
        bench_bluebird 89.8  bench_product 93.9  bench_sentiment 96.1  bench_sp 91.9  bench_trec2011 68.9
        bench_zencrowd_all 82.0  llmbar_llm_judges 58.2  Chinese 66.7  English 46.7  IT 88.0  Medicine 91.7
        Pokemon 100.0  Science 70.0  triangles_hart2018/Exp5 100.0  snow_wsd 99.4  bench_dog 83.0
        bench_face 64.9  bench_labelme 77.1  bench_adult 74.8  bench_fact_eval 88.7  bench_relevance 62.0
        """,
    )
}
LARGE = ("bench_fact_eval", "bench_relevance", "bench_adult")  # which take as long as all the others
pytestmark = pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")


def hits(answers: Answers, method: Any) -> npt.NDArray[np.float64]:
    """Return the probability, for each task with gold, that the method decides for it where ties are drawn."""
    result = allalike.discover(blind(answers), method=method).truth.set_index("task")["label"]
    ids = answers.tasks.take(answers.gold_task).tolist()
    gold = answers.encoding.decode(answers.gold_label).tolist()
    return np.array([result[task] == label for task, label in zip(ids, gold, strict=True)], np.float64)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in LARGE else ()) for name in KNOWN]
)
def test_accuracy_on_real_crowds(name: str, data: Path) -> None:
    assert 100 * hits(load_from(data, name), Auto(screening=False)).mean() == pytest.approx(KNOWN[name], abs=0.06)


@pytest.mark.long
def test_auto_is_far_more_accurate_than_the_majority_vote_on_average(data: Path) -> None:
    gains = []
    for name in KNOWN:
        answers = load_from(data, name)
        votes = np.zeros((len(answers.tasks), answers.encoding.n_labels))
        np.add.at(votes, (np.repeat(np.arange(len(votes)), np.diff(answers.starts)), answers.label), 1)
        gains.append(hits(answers, "auto").mean() - drawn_hits(answers, votes).mean())
    assert np.mean(gains) >= 0.07


@pytest.mark.parametrize("n", [3, 5, 7])
def test_equal_workers_lose_nothing_to_a_majority_vote(n: int) -> None:
    lost = []
    for seed in range(4):
        rows, truth = drawn(n, 250, 2 + seed % 3, 0.9, seed)
        lost.append(error(allalike.discover(rows, domain="categorical"), truth))
        lost[-1] -= error(allalike.discover(rows, domain="categorical", method="UA"), truth)
    assert np.mean(lost) <= 0.003


def model_of(rows: list[Any], **options: Any) -> tuple[str, str, Any]:
    result = allalike.discover(rows, domain="categorical", **options)
    reading = result.summary["model"]
    return reading["chosen"], reading.get("why", ""), result


def test_equal_workers_count_the_same_and_ties_go_to_those_closer_to_the_others() -> None:
    rows = [(worker, task, int(task % 10 == worker)) for worker in range(4) for task in range(60)]
    model, why, result = model_of(rows)
    assert (model, why) == ("majority vote", "workers are equally good")
    assert not result.truth["changed"].any()
    np.testing.assert_allclose(result.workers["weight"], 1 / 4)


def test_little_can_be_estimated_from_few_answers_or_workers() -> None:
    few, _ = drawn(20, 300, 2, np.linspace(0.5, 0.95, 20), 3, share=0.05)
    assert model_of(few)[:2] == ("knows or guesses", "there are fewer than two answers per task")
    three, _ = drawn(3, 300, 2, np.array([0.9, 0.8, 0.6]), 3)
    assert model_of(three)[:2] == ("knows or guesses", "there are fewer than four workers")
    alike, _ = drawn(3, 300, 2, np.array([0.8, 0.8, 0.8]), 3)
    assert model_of(alike)[:2] == ("majority vote", "workers are equally good")


@pytest.mark.parametrize("shares", [(0.8, 0.2), (0.9, 0.1), (0.7, 0.1, 0.1, 0.1)])
@pytest.mark.parametrize(("n", "share", "missed"), [(3, 1.0, 0.02), (10, 1.0, 0.02), (20, 0.07, 0.1)])
def test_rare_classes_are_neither_guesses_nor_errors(shares: Any, n: int, share: float, missed: float) -> None:
    accuracy = np.linspace(0.95, 0.65, n)
    losses, errors = [], []
    for seed in range(4):
        rows, truth = drawn(n, 800, len(shares), accuracy, seed, share=share, shares=shares)
        found = allalike.discover(rows, domain="categorical")
        losses.append(error(found, truth) - (found.truth["unweighted"] != found.truth["task"].map(truth)).mean())
        errors.append(found.workers.sort_values("worker")["error_rate"].to_numpy() - 1 + accuracy)
    assert np.mean(losses) <= 0.01
    assert np.abs(np.mean(errors, axis=0)).mean() <= missed


def test_labelling_functions_of_one_label_are_no_copies_and_need_no_confusion_matrices() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    speaks = [rng.random(200) < np.where(truth == number % 2, 0.7, 0.2) for number in range(10)]
    rows = [(f"f{each}", task, each % 2) for each, here in enumerate(speaks) for task in np.flatnonzero(here).tolist()]
    model, why, result = model_of(rows)
    assert (model, why) == ("knows or guesses", "most answers come from workers who give one label only")
    assert (result.workers["copy_group"] == "").all()
    assert error(result, dict(enumerate(truth.tolist()))) < 0.1


def test_unequal_workers_are_weighted_and_their_error_rates_estimated() -> None:
    accuracy = np.array([0.95, 0.9, 0.85, 0.6, 0.4, 0.3, 0.35])
    rows, truth = drawn(7, 200, 3, accuracy, 1)
    model, _, result = model_of(rows)
    vote = allalike.discover(rows, domain="categorical", method="UA")
    assert model == "confusion matrices"
    assert error(result, truth) < 0.6 * error(vote, truth)
    rates = result.workers["error_rate"]
    assert rates[:3].max() < rates[3] < rates[4]
    assert result.workers["ci_low"].isna().all()


def test_a_confusion_matrix_shows_which_classes_a_worker_confuses() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=300)
    labels = {f"w{i}": np.where(rng.random(300) < 0.85, truth, rng.integers(3, size=300)) for i in range(5)}
    labels["odd"] = np.where(truth == 2, 1, truth)  # who takes the last class for the second
    rows = [(worker, task, "abc"[label]) for worker, own in labels.items() for task, label in enumerate(own)]
    odd = allalike.discover(rows).confusion("odd")
    np.testing.assert_allclose(odd.sum(axis=1), 1)
    assert odd["b"]["c"] > 0.8
    assert odd["a"]["a"] > 0.8


def test_agreement_is_that_of_answers_compared_one_by_one() -> None:
    rng = np.random.default_rng(0)
    labels, weights = rng.integers(0, 3, (5, 40)), rng.uniform(0.5, 1.5, 5)
    usual = rng.dirichlet(np.ones(3), 5)
    sums = agreement_sums(Block.of(labels), weights, usual, k=3, moments=False)
    gained = np.zeros(5)
    for task in range(40):
        for worker in range(5):
            votes = np.zeros(3)
            np.add.at(votes, np.delete(labels[:, task], worker), np.delete(weights, worker))
            best = votes >= votes.max() - 1e-12
            clear = max(0.0, (votes.max() / votes.sum() - 1 / 3) / (2 / 3)) ** 2
            gained[worker] += clear * (best[labels[worker, task]] - best @ usual[worker]) / best.sum()
    np.testing.assert_allclose(sums["gained"], gained, rtol=1e-12)


@pytest.mark.parametrize("answers", [2, 5])
def test_the_f_test_is_that_of_its_definition(answers: int) -> None:
    rng = np.random.default_rng(1)
    asked = [rng.permutation(12)[:answers].tolist() for _ in range(600)]
    equal = [(who, task, int(rng.random() < 0.3)) for task, who_all in enumerate(asked) for who in who_all]
    unequal = [(who, task, int(who >= 8 and rng.random() < 0.5)) for task, all_ in enumerate(asked) for who in all_]
    p_values = [
        find_starts(prepare(sample_tasks(Memory().load(allalike.read(rows, domain="categorical")), 9999)))[0].p_value
        for rows in (equal, unequal)
    ]
    assert p_values[0] > 0.01 > p_values[1]


def test_workers_of_one_label_and_at_random_have_no_informed_skill() -> None:
    rng = np.random.default_rng(2)
    truth = (rng.random(300) < 0.1).astype(np.int64)
    said = np.concatenate([answer(rng, truth, 0.85, 6, k=2), np.zeros((4, 300), np.int64)])
    rows = [(who, task, int(label)) for (who, task), label in np.ndenumerate(said)]
    run = sample_tasks(Memory().load(allalike.read(rows, domain="categorical")), 9999)
    weight = find_starts(prepare(run))[1]["consensus"]
    assert weight[6:].max() < 0.5 * weight[:6].min()
    label = allalike.discover(rows, domain="categorical").truth["label"].to_numpy()
    assert np.mean(label[truth == 1] == 1) > 0.9  # a majority vote has 0.58


@pytest.mark.parametrize("liars", [3, 4])
def test_some_who_lie_together_do_not_change_the_labels_nor_make_them_certain(liars: int) -> None:
    rng = np.random.default_rng(8)
    truth = rng.integers(4, size=100)
    said = answer(rng, truth, 0.8, 9)
    said[9 - liars :] = (truth + 1) % 4
    rows = [(worker, task, int(label)) for (worker, task), label in np.ndenumerate(said)]
    result = allalike.discover(rows, domain="categorical")
    assert error(result, dict(enumerate(truth.tolist()))) < 0.05
    assert result.truth["confidence"].max() < 0.999


def test_two_camps_are_left_to_the_majority_vote() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 200)
    lie = (truth + rng.integers(1, 4, 200)) % 4
    camps = [np.where(rng.random(200) < 0.9, lie if who < 4 else truth, rng.integers(0, 4, 200)) for who in range(9)]
    rows = [(who, task, int(x)) for who, said in enumerate(camps) for task, x in enumerate(said)]
    model, why, result = model_of(rows)
    assert (model, why) == ("majority vote", "workers are two camps, each of which agrees with itself only")
    assert result.groups["size"].tolist() == [4, 5]


def test_a_refuted_model_is_not_used_but_gold_labels_show_whom_to_follow(data: Path) -> None:
    answers = load_from(data, "llmbar_llm_judges")
    reading = allalike.discover(blind(answers)).summary["model"]
    assert reading["chosen"] == "majority vote"
    assert reading["split_half"] < -2.576
    ids, labels = answers.tasks.tolist(), answers.encoding.decode(answers.gold_label).tolist()
    gold = [(ids[task], label) for task, label in zip(answers.gold_task, labels, strict=True)]
    order = np.random.default_rng(0).permutation(len(gold))
    known, rest = (dict(gold[place] for place in places) for places in (order[:50], order[50:]))
    result = allalike.discover(blind(answers), gold=known)
    assert result.summary["model"]["gold_calibration"]["tasks"] == 50
    truth = result.truth.set_index("task")["label"]
    assert all(truth[task] == label for task, label in known.items())
    assert np.mean([truth[task] == label for task, label in rest.items()]) > 0.8


def test_halves_that_find_the_truth_predict_each_other_and_noise_does_not() -> None:
    rows, truth = drawn(12, 200, 3, np.linspace(0.4, 0.9, 12), 5)
    run = sample_tasks(Memory().load(allalike.read(rows, domain="categorical")), 9999)
    ids = allalike.read(rows, domain="categorical").tasks
    truth_of = dict(zip(ids.hashes().tolist(), [truth[task] for task in ids.tolist()], strict=True))

    def right(half: Any) -> Any:
        hashes = np.concatenate([block.task_hash for block in half.blocks])
        return np.eye(3)[[truth_of[int(each)] for each in hashes]]

    assert find_split_half(run, right, 8) > 2.576
    assert find_split_half(run, lambda half: np.roll(right(half), 1, axis=1), 8) < -2.576


def test_without_memory_for_confusion_matrices_workers_know_or_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, truth = drawn(7, 300, 3, [0.95, 0.9, 0.85, 0.5, 0.4, 0.3, 0.35], 2)
    monkeypatch.setattr("allalike.engines.base.free_memory", lambda: 1000)
    result = allalike.discover(rows, domain="categorical")
    assert result.summary["model"]["lack"] == "memory"
    assert error(result, truth) < error(allalike.discover(rows, domain="categorical", method="UA"), truth)


@pytest.mark.parametrize("kind", ["matrices", "copies", "sparse"])
def test_every_engine_and_every_order_gives_the_same(kind: str) -> None:
    rows, truth = drawn(9, 300, 3, np.linspace(0.4, 0.9, 9), 4, share=0.15 if kind == "sparse" else 0.7)
    if kind == "copies":
        rows += [("w99", task, label) for worker, task, label in rows if worker == "w00"]
    order = np.random.default_rng(0).permutation(len(rows))
    shuffled = [rows[place] for place in order]
    results = [
        allalike.discover(some, domain="categorical", engine=engine, gold=gold)
        for gold in (None, dict(list(truth.items())[:20]))
        for engine, some in ((Memory(), rows), (Memory(block_answers=40), shuffled), (Disk(partitions=3), shuffled))
    ]
    for start in (0, 3):
        for other in results[start + 1 : start + 3]:
            assert other.truth["label"].tolist() == results[start].truth["label"].tolist()
            for table, column in (("truth", "confidence"), ("workers", "error_rate")):
                one, two = (getattr(each, table)[column] for each in (results[start], other))
                np.testing.assert_allclose(one, two, rtol=1e-7)


def test_a_model_chosen_on_a_sample_is_as_accurate() -> None:
    rows, truth = drawn(30, 2000, 3, np.linspace(0.4, 0.9, 30), 4, share=0.2)
    whole, part = (
        error(allalike.discover(rows, domain="categorical", method=Auto(sample_answers=number)), truth)
        for number in (100_000, 3000)
    )
    assert part <= whole + 0.01


def test_large_crowds_are_solved_as_well_and_the_same_on_every_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, truth = drawn(30, 2000, 3, np.linspace(0.4, 0.9, 30), 4, share=0.2)
    copies = [("copy", task, label) for worker, task, label in rows if worker == rows[0][0]]
    whole = allalike.discover(rows + copies, domain="categorical")
    for name, value in (("WORTH_SAMPLING", 1000), ("_LEAST_SAMPLE", 4000)):
        monkeypatch.setattr(f"allalike.methods.auto.knowledge.{name}", value)
    results = [
        allalike.discover(rows + copies, domain="categorical", engine=engine)
        for engine in (Memory(), Memory(block_answers=500), Disk(partitions=3))
    ]
    for result in results:
        assert result.truth["label"].tolist() == results[0].truth["label"].tolist()
        assert result.workers["error_rate"].to_numpy() == pytest.approx(results[0].workers["error_rate"].to_numpy())
    assert error(results[0], truth) <= error(whole, truth) + 0.01
    rates = results[0].workers.set_index("worker")["error_rate"]
    np.testing.assert_allclose(rates, whole.workers.set_index("worker")["error_rate"].loc[rates.index], atol=0.05)
    assert [group["members"] for group in results[0].summary["screening"]["groups"]] == [["copy", rows[0][0]]]


def test_a_sample_is_the_same_on_every_engine_and_in_every_order() -> None:
    rows, truth = drawn(9, 500, 3, 0.6, 4, share=0.5)
    order = np.random.default_rng(0).permutation(len(rows))
    samples = [
        sample_tasks(engine.load(allalike.read(some, domain="categorical")), 600).blocks[0]
        for engine in (Memory(), Memory(block_answers=7), Disk(partitions=3))
        for some in (rows, [rows[place] for place in order])
    ]
    assert 400 < len(samples[0].label) < 800
    for other in samples[1:]:
        for name in ("starts", "worker", "label", "task_hash"):
            np.testing.assert_array_equal(getattr(samples[0], name), getattr(other, name))
    known = allalike.read(rows, domain="categorical").with_gold(open_gold(dict(list(truth.items())[:20])))
    assert sample_tasks(Memory().load(known), 600).n_gold == 20  # which are all taken


def test_typing_errors_do_not_become_classes() -> None:
    rows, truth = drawn(20, 300, 3, np.linspace(0.4, 0.95, 20), 3, share=0.2)
    spoilt = np.random.default_rng(0).permutation(len(rows))[:16].tolist()
    rows = [(w, task, f"typo {place % 8}" if place in spoilt else str(x)) for place, (w, task, x) in enumerate(rows)]
    labels = allalike.discover(rows, domain="categorical").truth
    assert not labels["label"].str.startswith("typo").any()
    right = [labels[name] == labels["task"].map(lambda task: str(truth[task])) for name in ("label", "unweighted")]
    assert right[0].mean() > right[1].mean()
