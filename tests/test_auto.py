"""auto on classes: the figures that are known, safety for workers who are alike, samples, and two readings."""

from __future__ import annotations

import importlib.util
import re
import sys
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binomtest

import allalike
from allalike import Auto, Disk, Memory, Result
from allalike.answers import Answers
from allalike.blocks.block import Block
from allalike.blocks.ties import Ties
from allalike.blocks.voices import Voices
from allalike.datasets import load
from allalike.engines.sample import sample_tasks
from allalike.errors import UnknownNameError, UnsupportedError
from allalike.methods.levels import classes, readings
from allalike.methods.levels.beliefs import believe
from allalike.methods.levels.consensus import agreement_sums
from allalike.noise import OneCoin
from allalike.readers import open_gold
from samples import Row

# The accuracy that trials found on each set, in percent; ties are averaged.
KNOWN = {
    name: float(percent)
    for name, percent in re.findall(
        r"(\S+) ([0-9.]+)",
        """
        Pred.T1 77.8  Pred.T2 83.3  Pred.T3 77.8  Pred.T4 77.8  snow_rte 92.9  snow_temp 94.2  gdots 80.0
        bench_bluebird 90.7  bench_product 93.8  bench_sentiment 96.1  bench_sp 92.0  bench_trec2011 69.0
        bench_zencrowd_all 82.3  llmbar_llm_judges 86.2  Chinese 66.7  English 60.0  IT 88.0  Medicine 88.9
        Pokemon 100.0  Science 75.0  triangles_hart2018/Exp5 100.0  snow_wsd 99.4  bench_adult 77.8  bench_dog 83.0
        bench_face 64.9  bench_fact_eval 89.2  bench_labelme 78.2  bench_relevance 61.3
        """,
    )
}
LARGE = ("bench_fact_eval", "bench_relevance", "bench_adult")  # which take as long as all the others
pytestmark = pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")


@pytest.fixture
def public_data(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLALIKE_DATA", str(data))


def blind(answers: Answers) -> Answers:
    """Return answers of which no truth is known."""
    return replace(answers, gold_task=answers.gold_task[:0], gold_label=answers.gold_label[:0], gold=None)


def hits(answers: Answers, method: Any) -> npt.NDArray[np.float64]:
    """Return, for each task with gold, how probably the method decides for it where ties are drawn."""
    return drawn_hits(answers, allalike.discover(blind(answers), method=method).probabilities.to_numpy()[:, 1:])


def vote_hits(answers: Answers) -> npt.NDArray[np.float64]:
    """Return the same for a plain vote."""
    votes = np.zeros((len(answers.tasks), answers.encoding.n_labels))
    np.add.at(votes, (np.repeat(np.arange(len(votes)), np.diff(answers.starts)), answers.label), 1)
    return drawn_hits(answers, votes)


def drawn_hits(answers: Answers, table: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return, for each task with gold, how probably it is drawn among the best classes."""
    table = table.astype(float)
    best = table >= table.max(axis=1, keepdims=True) * (1 - 1e-9)
    known = np.minimum(answers.gold_label, table.shape[1] - 1).astype(int)
    found: npt.NDArray[np.float64] = (best / best.sum(axis=1, keepdims=True))[answers.gold_task, known]
    return np.where(answers.gold_label < table.shape[1], found, 0.0)


@cache
def scores(name: str, method: Any) -> npt.NDArray[np.float64]:
    return hits(load(name).answers, method)


@pytest.mark.usefixtures("public_data")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in LARGE else ()) for name in KNOWN]
)
def test_real_crowds_are_read_as_well_as_is_known(name: str) -> None:
    assert 100 * scores(name, Auto(plain=True)).mean() == pytest.approx(KNOWN[name], abs=0.06)


@pytest.mark.long
@pytest.mark.usefixtures("public_data")
def test_auto_is_far_ahead_of_a_vote_on_average_and_clearly_behind_it_nowhere() -> None:
    assert np.mean([scores(name, "auto").mean() for name in KNOWN]) >= 0.825
    for name in KNOWN:
        auto, vote = scores(name, "auto"), vote_hits(load(name).answers)
        better, worse = int((auto - vote > 0.5).sum()), int((vote - auto > 0.5).sum())
        if worse > better:  # McNemar
            assert binomtest(better, better + worse).pvalue > 0.05, name


def drawn(n: int, m: int, k: int, accuracy: Any, seed: int, share: float = 1.0) -> tuple[list[Row], dict[int, int]]:
    """Draw a crowd of one-coin workers."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=m)
    right = rng.random((n, m)) < np.broadcast_to(accuracy, n)[:, None]
    said = np.where(right, truth, (truth + rng.integers(1, k, (n, m))) % k)
    asked = rng.random((n, m)) < share
    return [(f"w{i:02d}", j, int(said[i, j])) for i, j in np.argwhere(asked).tolist()], dict(enumerate(truth.tolist()))


def error(result: Result, truth: dict[int, int]) -> float:
    return float((result.truth["label"] != result.truth["task"].map(truth)).mean())


@pytest.mark.parametrize(
    ("n", "k"),
    [(3, 2), (5, 4), (7, 2), *(pytest.param(*case, marks=pytest.mark.long) for case in ((3, 4), (5, 2), (7, 4)))],
)
def test_equal_workers_lose_nothing_to_a_vote(n: int, k: int) -> None:
    lost = []
    for seed in range(8):
        rows, truth = drawn(n, 500, k, 0.9, seed)
        lost.append(error(allalike.discover(rows, domain="categorical"), truth))
        lost[-1] -= error(allalike.discover(rows, domain="categorical", method="UA"), truth)
    assert np.mean(lost) <= 0.003


def test_unequal_workers_are_told_apart_and_their_errors_known() -> None:
    accuracy = np.array([0.95, 0.9, 0.85, 0.6, 0.4, 0.3, 0.35])
    rows, truth = drawn(7, 400, 3, accuracy, 1)
    result = allalike.discover(rows, domain="categorical")
    vote = allalike.discover(rows, domain="categorical", method="UA")
    assert error(result, truth) < 0.6 * error(vote, truth)
    np.testing.assert_allclose(result.workers["error_rate"], 1 - accuracy, atol=0.07)
    assert result.summary["reading"]["f_ratio"] > 3


def test_classes_keep_their_names_whatever_fits_better(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    faults = np.array([*[0.15, 0.15, 0.7] * 3, 0.7, 0.7, 0.6, 0.6])
    truth = rng.integers(0, 4, 400)
    said = OneCoin(classes=4).sample(truth, faults, 2)
    said[10] = 0  # who always gives the same answer
    said[12] = np.where(rng.random(400) < 0.95, said[11], said[12])  # who copies
    asked = rng.random(said.shape) < 0.75
    for task in range(392, 400):
        asked[:, task] = False
        asked[rng.permutation(13)[:2], task] = True
    rows = [(f"w{i:02d}", j, int(said[i, j])) for i, j in np.argwhere(asked).tolist()]
    known = dict(enumerate(truth.tolist()))
    assert error(allalike.discover(rows, domain="categorical"), known) < 0.06
    monkeypatch.setattr(readings, "_EXCHANGED", 2.0)  # with which the mirror image of two classes wins by 10 nats
    assert error(allalike.discover(rows, domain="categorical"), known) > 0.4


def test_three_who_lie_together_do_not_turn_everything_over(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    truth = rng.integers(4, size=100)
    others = (truth + rng.integers(1, 4, (9, 100))) % 4
    said = np.where(rng.random((9, 100)) < 0.8, truth, others)
    said[6:] = (truth + 1) % 4
    rows = [(worker, task, int(label)) for (worker, task), label in np.ndenumerate(said)]
    known = dict(enumerate(truth.tolist()))
    assert error(allalike.discover(rows, domain="categorical"), known) < 0.05
    monkeypatch.setattr(readings, "_EXCHANGED", 2.0)  # with which all four classes change their names in a circle
    assert error(allalike.discover(rows, domain="categorical"), known) > 0.9


def test_workers_who_are_alike_count_the_same() -> None:
    rows = [(worker, task, int(task % 10 == worker)) for worker in range(3) for task in range(60)]
    result = allalike.discover(rows, domain="categorical")
    assert result.summary["reading"]["workers"] == "alike"
    assert result.workers["weight"].tolist() == pytest.approx([1 / 3] * 3)
    assert not result.truth["changed"].any()
    np.testing.assert_allclose(result.workers["error_rate"], (1 - np.sqrt(1 - 2 * 0.2)) / 2)  # two differ on a fifth


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
    with pytest.raises(UnknownNameError, match="No worker is called 'nobody'"):
        result.confusion("nobody")
    with pytest.raises(UnsupportedError, match="UA found no confusion matrices"):
        allalike.discover(rows, method="UA").confusion("odd")


@cache
def reference() -> Any:
    """Return the program that the trials were made with, which is not part of the project."""
    path = Path(__file__).parents[2] / "shared" / "reference" / "levels.py"
    if not path.exists() or importlib.util.find_spec("numba") is None:
        pytest.skip("the reference is not here")
    spec = importlib.util.spec_from_file_location("levels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["levels"] = module  # where what it compiled looks for it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("n", "m", "k"), [(5, 100, 2), (10, 60, 4), (8, 300, 3), (20, 15, 5)])
def test_beliefs_are_those_of_the_reference(n: int, m: int, k: int) -> None:
    rng = np.random.default_rng(n)
    rows, _ = drawn(n, m, k, rng.uniform(0.2, 0.95, n), n, share=0.7)
    answers = allalike.read(rows, domain="categorical")
    arrays = (part.astype(np.int64) for part in (answers.starts, answers.worker, answers.label))
    expected, _ = reference().auto(*arrays, k)
    result = allalike.discover(answers)
    _, *reading = result.weighing.parameters
    found = np.concatenate(
        [believe(block, *reading, k=k)[0] for block in result.run.blocks]  # type: ignore[attr-defined]
    )
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), atol=1e-3)


@pytest.mark.usefixtures("public_data")
@pytest.mark.parametrize(
    "name", ["bench_product", "bench_trec2011", *(pytest.param(name, marks=pytest.mark.long) for name in LARGE)]
)
def test_a_start_that_was_chosen_on_a_quarter_of_the_answers_is_as_good(name: str) -> None:
    answers = load(name).answers
    part = hits(answers, Auto(plain=True, sample_answers=answers.n_answers // 4))
    assert part.mean() == pytest.approx(scores(name, Auto(plain=True)).mean(), abs=0.005)


def test_a_sample_is_the_same_on_every_engine_and_in_every_order() -> None:
    rows, truth = drawn(9, 500, 3, 0.6, 4, share=0.5)
    order = np.random.default_rng(0).permutation(len(rows))
    samples = [
        sample_tasks(engine.load(allalike.read(some, domain="categorical"), Ties()), 600).blocks[0]
        for engine in (Memory(), Memory(block_answers=7), Disk(partitions=3))
        for some in (rows, [rows[place] for place in order])
    ]
    assert 400 < len(samples[0].label) < 800
    for other in samples[1:]:
        for name in ("starts", "worker", "label", "task_hash"):
            np.testing.assert_array_equal(getattr(samples[0], name), getattr(other, name))
    few = dict(list(truth.items())[:20])
    known = allalike.read(rows, domain="categorical").with_gold(open_gold(few))
    assert sample_tasks(Memory().load(known, Ties()), 600).n_gold == 20  # which are all taken


def test_a_sampled_run_is_the_same_on_every_engine() -> None:
    rows, _ = drawn(12, 300, 3, np.linspace(0.3, 0.95, 12), 5, share=0.6)
    runs = [
        allalike.discover(rows, domain="categorical", method=Auto(sample_answers=500), engine=engine)
        for engine in (Memory(), Memory(block_answers=150), Disk(partitions=3))
    ]
    for other in runs[1:]:
        np.testing.assert_allclose(other.workers["error_rate"], runs[0].workers["error_rate"], rtol=1e-9)
        assert other.truth["label"].tolist() == runs[0].truth["label"].tolist()


@pytest.mark.usefixtures("public_data")
def test_two_readings_of_judges_that_are_language_models_are_told_and_gold_chooses() -> None:
    answers = load("llmbar_llm_judges").answers
    second = allalike.discover(blind(answers), plain=True).summary["reading"]["second_reading"]
    assert all("GPT-4" in leader for leader in second["leaders"])
    assert not any("GPT-4" in leader for leader in second["its_leaders"])
    assert 0.5 < second["share"] < 0.7
    ids, truths = answers.tasks.tolist(), answers.encoding.decode(answers.gold_label).tolist()
    gold = [(ids[task], truth) for task, truth in zip(answers.gold_task, truths, strict=True)]
    labels = sorted(set(truths), key=str)
    flipped = {task: labels[1 - labels.index(truth)] for task, truth in gold[:60]}
    assert len(labels) == 2
    rest = dict(gold[60:])

    def accuracy(known: dict[Any, Any], **options: Any) -> float:
        truth = allalike.discover(blind(answers), gold=known, **options).truth.set_index("task")["label"]
        assert options or all(truth[task] == label for task, label in known.items())
        return float(np.mean([truth[task] == label for task, label in rest.items()]))

    assert accuracy(flipped) < 0.5  # which is the reading that those who know the truth believe
    assert accuracy(dict(gold[:60])) > 0.7
    assert accuracy(flipped, method=Auto(use_gold=False, plain=True)) > 0.7
    right = allalike.discover(blind(answers), gold=dict(gold[:60]), plain=True).summary["reading"]
    assert "second_reading" not in right  # which the known truths have ruled out


def test_where_confusions_do_not_fit_in_memory_one_coin_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, truth = drawn(7, 300, 3, [0.95, 0.9, 0.85, 0.5, 0.4, 0.3, 0.35], 2)
    monkeypatch.setattr(classes, "free_memory", lambda: 1000)
    result = allalike.discover(rows, domain="categorical")
    assert result.summary["reading"]["lack"] == "memory"
    assert error(result, truth) < error(allalike.discover(rows, domain="categorical", method="UA"), truth)


def test_one_class_two_workers_and_one_answer_a_task_are_no_trouble() -> None:
    for rows in (
        [(worker, task, "x") for worker in "abc" for task in range(5)],
        [(worker, task, "xy"[(task + (worker == "a")) % 2]) for worker in "ab" for task in range(6)],
        [(task % 3, task, "xy"[task % 2]) for task in range(9)],
    ):
        result = allalike.discover(rows)
        assert result.workers["weight"].sum() == pytest.approx(1)
        assert not result.truth["changed"].any()


def test_those_of_one_voice_count_once_and_are_not_each_others_peers() -> None:
    rng = np.random.default_rng(0)
    block = Block.of(rng.integers(0, 3, (5, 40)))
    group = np.array([0, 0, 0, 1, 2])  # the first three are one voice
    party = np.repeat(np.arange(40), 5) * 3 + np.tile(group, 40)
    voices = Voices(np.where(np.tile(group, 40) == 0, 1 / 3, 1.0), party)
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
