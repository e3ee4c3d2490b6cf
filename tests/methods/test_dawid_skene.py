"""DS and DS-1, against crowd-kit and against plain loops."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from crowdkit.aggregation import DawidSkene, OneCoinDawidSkene

import allalike
from allalike import DS, DS1, Categorical, Engine
from allalike.errors import TooLargeError
from crowds.public_data import load_entailment
from crowds.samples import BINARY, Row, crowd, rows

pytestmark = [
    pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The (inplace|copy) keyword"),  # crowd-kit uses what pandas will drop
]


@pytest.fixture(scope="module")
def entailment(data: Path) -> pd.DataFrame:
    return load_entailment(data)


def posteriors(frame: pd.DataFrame, method: Any, classes: int | None = None) -> pd.DataFrame:
    result = allalike.discover(frame, domain=Categorical(classes=classes), method=method)
    return result.probabilities.set_index("task")


@pytest.mark.parametrize("rounds", [1, 4, 20])
def test_posteriors_are_those_of_crowd_kit_after_as_many_rounds(entailment: pd.DataFrame, rounds: int) -> None:
    """Crowd-kit lifts counts of zero to 1e-10 and the original has none, hence the last digits."""
    theirs = DawidSkene(n_iter=rounds, tol=-np.inf).fit(entailment).probas_
    assert theirs is not None
    ours = posteriors(entailment, DS(smoothing=0, max_iter=rounds, tol=0))
    np.testing.assert_allclose(ours.loc[theirs.index, theirs.columns], theirs, atol=1e-6)


def test_one_step_on_four_classes_is_that_of_crowd_kit(data: Path) -> None:
    """Over many rounds the two differ here, by design.

    Where a worker never met a class, crowd-kit divides her row among the labels that she used at all, and we among all
    labels; and with a smoothing above 0 rare confusions keep some probability. So the comparison is that of a step: its
    E-step with our confusions, then counts by pandas.
    """
    frame = pd.read_csv(data / "bench_adult" / "label.csv").rename(columns={"item": "task"})
    adult = frame.drop_duplicates(["task", "worker"])[["worker", "task", "label"]]
    method = DS(max_iter=6, tol=0)
    answers = allalike.read(adult, domain="categorical")
    run = allalike.Memory().load(answers)
    before, after = (DS(max_iter=n, tol=0).fit(run).parameters for n in (6, 7))
    workers, labels = answers.workers.tolist(), list(range(4))
    index = pd.MultiIndex.from_product([workers, labels], names=["worker", "label"])
    errors = pd.DataFrame(np.exp(before[0]).reshape(-1, 4), index=index, columns=labels)
    prior = pd.Series(np.exp(before[1][0]), index=labels)
    theirs = DawidSkene._e_step(adult, prior, errors)
    ours = posteriors(adult, method)
    np.testing.assert_allclose(ours.loc[theirs.index, labels], theirs, atol=1e-9)
    counted = adult.join(theirs, on="task").groupby(["worker", "label"])[labels].sum()
    counts = counted.reindex(index, fill_value=0.0).to_numpy().reshape(-1, 4, 4) + method.smoothing
    np.testing.assert_allclose(np.exp(after[0]), counts / counts.sum(axis=1, keepdims=True), atol=1e-9)
    shares = theirs.sum() + method.smoothing
    np.testing.assert_allclose(np.exp(after[1][0]), shares / shares.sum(), atol=1e-9)


def test_one_coin_updates_are_those_of_crowd_kit(entailment: pd.DataFrame) -> None:
    """Crowd-kit starts from the shares of votes and estimates the shares of classes; we start from equal votes and
    take all classes as equally frequent. So its own steps are run from our first posteriors, with equal shares."""
    theirs = posteriors(entailment, DS1(positive=False, max_iter=1, tol=0))
    for rounds in range(2, 8):
        skills = OneCoinDawidSkene._m_step(entailment, theirs).clip(0.001, 0.999)
        errors = OneCoinDawidSkene._process_skills_to_errors(entailment, theirs, skills)
        equal = pd.Series(0.5, index=theirs.columns)
        theirs = OneCoinDawidSkene._e_step(entailment, equal, errors).loc[theirs.index]
        ours = posteriors(entailment, DS1(positive=False, max_iter=rounds, tol=0))
        np.testing.assert_allclose(ours.loc[theirs.index, theirs.columns], theirs, atol=1e-6)


def one_coin(matrix: npt.NDArray[np.int64], k: int, rounds: int, *, positive: bool) -> npt.NDArray[np.float64]:
    """Run one-coin EM with plain loops; -1 is a missing answer."""
    n, m = matrix.shape
    votes = np.ones(n)
    for _ in range(rounds):
        posterior = np.zeros((m, k))
        for j in range(m):
            for i in range(n):
                if matrix[i, j] >= 0:
                    posterior[j, matrix[i, j]] += votes[i]
        posterior = np.exp(posterior)
        posterior /= posterior.sum(axis=1, keepdims=True)
        for i in range(n):
            right = np.mean([posterior[j, matrix[i, j]] for j in range(m) if matrix[i, j] >= 0])
            right = np.clip(right, 0.001, 0.999)
            votes[i] = np.log((k - 1) * right / (1 - right))
            votes[i] = max(votes[i], 0.0) if positive else votes[i]
    return votes


@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("k", [2, 5])
def test_one_coin_is_what_plain_loops_find(k: int, positive: bool) -> None:
    rng = np.random.default_rng(k)
    matrix = np.where(rng.random((6, 12)) < 0.5, np.arange(12) % k, rng.integers(0, k, (6, 12)))
    matrix[rng.random((6, 12)) < 0.3] = -1
    matrix[:2] = np.arange(12) % k
    answers = allalike.read(rows(matrix, present=matrix >= 0), domain=Categorical(classes=k))
    run = allalike.Memory().load(answers)
    found = DS1(positive=positive, max_iter=7, tol=0).fit(run).parameters[0]
    np.testing.assert_allclose(found, one_coin(matrix, k, 7, positive=positive), rtol=1e-9)


def liars(k: int) -> list[Row]:
    """Four who are right, and three who never are; to the last ten tasks only these have answers, all the same two."""
    answers: list[Row] = [(f"good{i}", task, task % k) for i in range(4) for task in range(40)]
    answers += [(f"liar{i}", task, (task + 1 + i) % k) for i in range(3) for task in range(40)]
    return answers + [(f"liar{i}", task, int(i == 2)) for i in range(3) for task in range(40, 50)]


@pytest.mark.parametrize("k", [4, 6])
@pytest.mark.parametrize("positive", [True, False])
def test_where_nobody_counts_or_all_count_against_it_the_first_class_left_is_taken(
    positive: bool, k: int, engine: Engine
) -> None:
    """Where nobody counts, not even a class that nobody named wins, however blocks group the labels."""
    result = allalike.discover(liars(k), domain=Categorical(classes=k), method=DS1(positive=positive), engine=engine)
    last = result.truth[result.truth["task"] >= 40]
    assert last["label"].tolist() == [0 if positive else 2] * 10
    assert last["tied"].tolist() == [not positive] * 10  # other classes are as probable
    np.testing.assert_allclose(last["confidence"], result.probabilities.iloc[40:, 1:].max(axis=1))
    if positive:
        np.testing.assert_allclose(last["confidence"], 1 / k)


def test_probabilities_sum_to_one_and_the_confidence_is_that_of_the_label() -> None:
    for method in ("DS", "DS-1"):
        result = allalike.discover(crowd("categorical", seed=1, missing=0.4), domain="categorical", method=method)
        table = result.probabilities.set_index("task")
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
        of_label = table.to_numpy()[np.arange(len(table)), table.columns.get_indexer(pd.Index(result.truth["label"]))]
        np.testing.assert_allclose(result.truth["confidence"], of_label)
        np.testing.assert_allclose(result.truth["confidence"], table.max(axis=1))


def test_classes_that_nobody_named_take_their_share() -> None:
    frame = pd.DataFrame(rows(BINARY), columns=["worker", "task", "label"])
    wide, narrow = (posteriors(frame, DS1(max_iter=1, tol=0), classes=k) for k in (9, 2))
    assert (wide.sum(axis=1) < 1).all()
    np.testing.assert_allclose(narrow.sum(axis=1), 1.0)


@pytest.mark.parametrize(("n", "k", "m"), [(3, 300, 3000), (40, 100, 500), (200, 30, 200)])
def test_the_memory_that_is_asked_for_is_what_it_takes(n: int, k: int, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be most of it the posteriors of a block, or confusion matrices."""
    answers = [(worker, task, (task + worker * (task % 3 == 0)) % k) for worker in range(n) for task in range(m)]
    run = allalike.Memory().load(allalike.read(answers, domain="categorical"))
    tracemalloc.start()
    DS(max_iter=2).fit(run)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    monkeypatch.setattr("allalike.engines.base.free_memory", lambda: 0.9 * most)
    with pytest.raises(TooLargeError):
        DS().fit(run)
    monkeypatch.setattr("allalike.engines.base.free_memory", lambda: 2 * most)
    assert DS(max_iter=2).fit(run).iterations == 2
