"""auto on classes: the figures that are known, what halves and known truths say, and samples."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import allalike
from allalike import Auto, Disk, Memory
from allalike._core.blocks.block import AnswerWeights, Block
from allalike.answers import Answers
from allalike.engines.sample import sample_tasks
from allalike.methods.auto.classes.consensus import agreement_sums
from allalike.methods.auto.classes.hypotheses import prepare
from allalike.methods.auto.classes.ladder import BorneOut
from allalike.methods.insight import VoiceGroups
from allalike.readers import open_gold
from crowds.one_coin import drawn, error
from crowds.public_data import blind, drawn_hits, load_from

# The accuracy that trials found on each set, in percent; ties are averaged.
KNOWN = {
    name: float(percent)
    for name, percent in re.findall(
        r"(\S+) ([0-9.]+)",
        """
        Pred.T1 77.8  Pred.T2 83.3  Pred.T3 77.8  Pred.T4 83.3  snow_rte 92.8  snow_temp 94.2  gdots 76.0
        bench_bluebird 89.8  bench_product 93.7  bench_sentiment 96.2  bench_sp 91.9  bench_trec2011 68.6
        bench_zencrowd_all 82.0  llmbar_llm_judges 58.6  Chinese 66.7  English 60.0  IT 88.0  Medicine 88.9
        Pokemon 100.0  Science 75.0  triangles_hart2018/Exp5 100.0  snow_wsd 99.4  bench_adult 73.0  bench_dog 82.8
        bench_face 65.1  bench_fact_eval 89.1  bench_labelme 78.3  bench_relevance 61.0
        """,
    )
}
LARGE = ("bench_fact_eval", "bench_relevance", "bench_adult")  # which take as long as all the others
CLEARLY = 0.01  # what chance does in one of a hundred cases, as the method itself has it
pytestmark = pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")


def hits(answers: Answers, method: Any) -> npt.NDArray[np.float64]:
    """Return, for each task with gold, how probably the method decides for it where ties are drawn."""
    return drawn_hits(answers, allalike.discover(blind(answers), method=method).probabilities.to_numpy()[:, 1:])


def vote_hits(answers: Answers) -> npt.NDArray[np.float64]:
    """Return the same for a plain vote."""
    votes = np.zeros((len(answers.tasks), answers.encoding.n_labels))
    np.add.at(votes, (np.repeat(np.arange(len(votes)), np.diff(answers.starts)), answers.label), 1)
    return drawn_hits(answers, votes)


@cache
def scores(data: Path, name: str, method: Any) -> npt.NDArray[np.float64]:
    return hits(load_from(data, name), method)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in LARGE else ()) for name in KNOWN]
)
def test_real_crowds_are_read_as_well_as_is_known_and_not_clearly_worse_than_by_a_vote(name: str, data: Path) -> None:
    found = scores(data, name, Auto(plain=True))
    assert 100 * found.mean() == pytest.approx(KNOWN[name], abs=0.06)
    assert chance_to_be_below(found, vote_hits(load_from(data, name))) > CLEARLY


def chance_to_be_below(found: npt.NDArray[np.float64], vote: npt.NDArray[np.float64]) -> float:
    """Return how probably chance alone sets two apart as far as this, if the first is below; else 1.

    The signs of all differences are drawn, also of the halves by which a tie differs from a decision: without these,
    who decides ties rightly would get nothing for it.
    """
    lost = (vote - found)[np.abs(vote - found) > 1e-9]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (20_000, len(lost)))
    return float((np.abs(signs @ lost) >= lost.sum() - 1e-9).mean()) if lost.sum() > 0 else 1.0


@pytest.mark.long
def test_auto_is_far_ahead_of_a_vote_on_average_and_clearly_behind_it_nowhere(data: Path) -> None:
    both = {name: (scores(data, name, "auto"), vote_hits(load_from(data, name))) for name in KNOWN}
    assert np.mean([found.mean() - vote.mean() for found, vote in both.values()]) >= 0.07
    assert not [name for name, each in both.items() if chance_to_be_below(*each) <= CLEARLY]


def test_unequal_workers_are_told_apart_and_their_errors_known() -> None:
    accuracy = np.array([0.95, 0.9, 0.85, 0.6, 0.4, 0.3, 0.35])
    rows, truth = drawn(7, 200, 3, accuracy, 1)
    result = allalike.discover(rows, domain="categorical")
    vote = allalike.discover(rows, domain="categorical", method="UA")
    assert error(result, truth) < 0.6 * error(vote, truth)
    assert result.workers["error_rate"][:3].max() < result.workers["error_rate"][3] < result.workers["error_rate"][4]
    assert (result.workers["low"] <= 1 - accuracy).all()
    assert (result.workers["high"] >= 1 - accuracy).all()
    assert result.summary["reading"]["f_ratio"] > 3
    assert result.summary["reading"]["taken"] == "reading"


def test_a_confusion_matrix_shows_who_mistakes_what() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=300)
    said = {f"w{i}": np.where(rng.random(300) < 0.85, truth, rng.integers(3, size=300)) for i in range(5)}
    said["odd"] = np.where(truth == 2, 1, truth)  # who takes the last class for the second
    rows = [(worker, task, "abc"[label]) for worker, labels in said.items() for task, label in enumerate(labels)]
    result = allalike.discover(rows)
    odd = result.confusion("odd")
    np.testing.assert_allclose(odd.sum(axis=1), 1)
    assert odd["b"]["c"] > 0.8
    assert odd["a"]["a"] > 0.8


def test_tasks_of_two_answers_tell_workers_apart_though_both_hit_or_none_does() -> None:
    rng = np.random.default_rng(1)
    pairs = [tuple(rng.permutation(12)[:2].tolist()) for _ in range(600)]
    rows = [(who, task, int(who >= 8 and rng.random() < 0.5)) for task, both in enumerate(pairs) for who in both]
    run = sample_tasks(Memory().load(allalike.read(rows, domain="categorical")), len(rows))
    assert prepare(run, VoiceGroups.everyone(12))[0].consensus.ratio[0] > 3


@pytest.mark.parametrize(
    "name", ["bench_product", "bench_trec2011", *(pytest.param(name, marks=pytest.mark.long) for name in LARGE)]
)
def test_a_start_that_was_chosen_on_a_quarter_of_the_answers_is_as_good(name: str, data: Path) -> None:
    answers = load_from(data, name)
    part = hits(answers, Auto(plain=True, sample_answers=answers.n_answers // 4))
    assert part.mean() == pytest.approx(scores(data, name, Auto(plain=True)).mean(), abs=0.01)


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
    few = dict(list(truth.items())[:20])
    known = allalike.read(rows, domain="categorical").with_gold(open_gold(few))
    assert sample_tasks(Memory().load(known), 600).n_gold == 20  # which are all taken


def test_what_halves_refute_is_not_taken_but_known_truths_tell_whom_to_follow(data: Path) -> None:
    answers = load_from(data, "llmbar_llm_judges")
    blindly = allalike.discover(blind(answers)).summary["reading"]
    assert blindly["taken"] == "vote"
    assert blindly["support"] < -2.576
    assert "known_truths" not in blindly
    ids, truths = answers.tasks.tolist(), answers.encoding.decode(answers.gold_label).tolist()
    gold = [(ids[task], truth) for task, truth in zip(answers.gold_task, truths, strict=True)]
    order = np.random.default_rng(0).permutation(len(gold))
    known, rest = (dict(gold[place] for place in places) for places in (order[:50], order[50:]))
    told = allalike.discover(blind(answers), gold=known)
    reading = told.summary["reading"]
    assert reading["taken"] == "vote"
    assert reading["known_truths"]["tasks"] == 50
    assert reading["known_truths"]["crowd"] < 0.5
    truth = told.truth.set_index("task")["label"]
    assert all(truth[task] == label for task, label in known.items())
    assert np.mean([truth[task] == label for task, label in rest.items()]) == pytest.approx(0.86, abs=0.04)


def test_halves_must_not_refute_a_reading_and_must_side_with_weights() -> None:
    told = {name: np.array(values) for name, values in {"reading": [-2.5, -2.7], "weighted vote": [-0.1, 0.1]}.items()}
    fine = {name: np.zeros(2) for name in told}
    halves = BorneOut(support=told, information=fine, again=fine, told=np.ones(2, bool))
    assert halves.stands("reading").tolist() == [True, False]
    assert halves.stands("weighted vote", least=0.0).tolist() == [False, True]
    assert replace(halves, support=fine, information=told).stands("reading").tolist() == [True, False]
    assert not replace(halves, support=fine, told=np.zeros(2, bool)).stands("reading").any()


def test_where_confusions_do_not_fit_in_memory_one_coin_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, truth = drawn(7, 300, 3, [0.95, 0.9, 0.85, 0.5, 0.4, 0.3, 0.35], 2)
    monkeypatch.setattr("allalike.engines.base.free_memory", lambda: 1000)
    result = allalike.discover(rows, domain="categorical")
    assert result.summary["reading"]["lack"] == "memory"
    assert error(result, truth) < error(allalike.discover(rows, domain="categorical", method="UA"), truth)


def test_those_of_one_voice_count_once_and_are_not_each_others_peers() -> None:
    rng = np.random.default_rng(0)
    block = Block.of(rng.integers(0, 3, (5, 40)))
    group = np.array([0, 0, 0, 1, 2])  # the first three are one voice
    party = np.repeat(np.arange(40), 5) * 3 + np.tile(group, 40)
    voices = AnswerWeights(np.where(np.tile(group, 40) == 0, 1 / 3, 1.0), party)
    weights = rng.uniform(0.5, 1.5, 5)
    found = agreement_sums(block.keeping(voices), weights, k=3)
    expected = np.zeros(5)
    for task in range(40):
        said = block.label[5 * task : 5 * task + 5]
        for worker in range(5):
            others = [other for other in range(5) if group[other] != group[worker]]
            votes = np.zeros(3)
            for other in others:
                votes[said[other]] += weights[other] * (1 / 3 if group[other] == 0 else 1.0)
            best = np.flatnonzero(votes >= votes.max() - 1e-12)
            strength = max(0.0, (votes.max() / votes.sum() - 1 / 3) / (2 / 3)) ** 2
            share = (said[worker] in best) / len(best)
            expected[worker] += (1 / 3 if group[worker] == 0 else 1.0) * strength * share
    np.testing.assert_allclose(found["hits"], expected, rtol=1e-12)
