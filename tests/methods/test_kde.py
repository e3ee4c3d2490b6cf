"""KDE, against plain loops written from its formulas, and its modes against the densities of scipy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import gaussian_kde, median_abs_deviation

import allalike
from allalike import Memory, Result
from allalike._core.blocks.block import Ties
from allalike._core.blocks.pairs import Centred
from allalike.methods.kde import KDE
from allalike.rules.modes import mode
from crowds.estimates import Floats, improvement, square
from crowds.samples import answers_of, rows

if TYPE_CHECKING:
    from pathlib import Path

    from allalike.engines import Engine

pytestmark = pytest.mark.slow

Bools = npt.NDArray[np.bool_]


def numbers(seed: int, *, n: int = 7, m: int = 12, missing: float = 0.0) -> tuple[Floats, Bools]:
    """Draw answers of workers of whom some are ten times as good as others; three answer everything."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(0, 3, m) + rng.normal(0, 1, (n, m)) * rng.uniform(0.2, 2, n)[:, None]
    present = rng.random((n, m)) >= missing
    present[:3] = True
    return matrix, present


def discover(matrix: Floats, present: Bools) -> Result:
    return allalike.discover(rows(matrix, present=present), domain="real", method=KDE())


def kernel(u: Floats) -> Floats:
    return np.asarray(np.exp(-np.square(u)) / np.sqrt(2 * np.pi))


@dataclass
class Task:
    """Hold who answered a task, the standardised answers and the bandwidth."""

    who: npt.NDArray[np.intp]
    answers: Floats

    def __post_init__(self) -> None:
        self.mean, self.deviation = self.answers.mean(), self.answers.std()
        self.x = (self.answers - self.mean) / (self.deviation or 1.0)
        self.h = float(median_abs_deviation(self.x) + 1e-10 * self.x.std()) or 1.0

    def truth(self, score: Floats) -> float:
        """Shift every answer to the mean around it until nothing moves, and return the highest mode."""
        w, y = score[self.who], self.x
        for _ in range(2000):
            share = w * kernel((y[:, None] - self.x) / self.h)
            old, y = y, share @ self.x / share.sum(axis=1)
            if np.linalg.norm(y - old) <= 1e-11 * np.linalg.norm(old):
                break
        height = (w * kernel((y[:, None] - self.x) / self.h)).sum(axis=1)
        return float(y[np.argmax(height)] * self.deviation + self.mean)


def plain_scores(tasks: list[Task], n: int) -> tuple[Floats, Floats, int]:
    """Return mean losses, scores and the number of rounds."""
    count = sum(np.bincount(task.who, minlength=n) for task in tasks)
    weights = [np.ones(len(task.who)) / len(task.who) for task in tasks]
    before, rounds = np.nan, 0
    while rounds < 99:
        rounds += 1
        loss = np.zeros(n)
        for task, w in zip(tasks, weights, strict=True):
            gram = kernel((task.x[:, None] - task.x) / task.h)
            loss[task.who] += (np.diag(gram) - 2 * gram @ w + w @ gram @ w) / len(w)
        total = loss.sum()
        score = -np.log(loss / count / total)
        weights = [score[task.who] / score[task.who].sum() for task in tasks]
        if abs(total - before) / before < 1e-5:
            break
        before = total
    return loss / count, score, rounds


def check(result: Result, tasks: list[Task], n: int, atol: float) -> None:
    """Check a result against the formulas."""
    fault, score, rounds = plain_scores(tasks, n)
    np.testing.assert_allclose(result.weighing.fault, fault, rtol=1e-9)
    np.testing.assert_allclose(result.workers["weight"], score / score.sum(), rtol=1e-9)
    np.testing.assert_allclose(result.truth["label"], [task.truth(score) for task in tasks], atol=atol)
    assert result.summary["iterations"] == rounds


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(4))
def test_faults_weights_and_truths_are_what_the_formulas_say(seed: int, missing: float) -> None:
    matrix, present = numbers(seed, missing=missing)
    tasks = [Task(np.flatnonzero(here), column[here]) for column, here in zip(matrix.T, present.T, strict=True)]
    result = discover(matrix, present)
    check(result, tasks, len(matrix), atol=1e-7)
    assert result.truth[["confidence", "standard_error"]].isna().all(axis=None)


def density(x: Floats, weights: Floats) -> gaussian_kde:
    """Return scipy's density; exp(-u^2) is a normal distribution whose deviation is h / sqrt(2)."""
    width = (median_abs_deviation(x) + 1e-10 * x.std()) / np.sqrt(2)
    return gaussian_kde(x, weights=weights, bw_method=width / np.sqrt(np.cov(x, aweights=weights / weights.sum())))


@pytest.mark.parametrize("size", [3, 4, 5, 10, 30, 400])
def test_no_place_on_a_fine_grid_is_denser_than_the_mode(size: int) -> None:
    rng = np.random.default_rng(size)
    tasks = 12 if size < 100 else 2
    matrix = rng.standard_t(2, (size, tasks)) + 3 * rng.integers(0, 2, (size, tasks))
    weights = rng.uniform(0.5, 1.5, size)
    run = Memory().load(answers_of(matrix))
    found = run.collect(lambda block, w: {"label": mode(block, w, w, Ties()).label + block[Centred].centre}, weights)
    for x, label in zip(matrix.T, found["label"], strict=True):
        dense = density(x, weights)
        grid = dense(np.linspace(x.min(), x.max(), 1001))
        assert dense([label])[0] >= grid.max() * (1 - 1e-9)


def test_where_most_say_the_same_they_are_right_however_far_the_others_are() -> None:
    answers = [(worker, task, 0.1 if worker < 3 else 10.0**worker) for worker in range(5) for task in range(3)]
    result = allalike.discover(answers, domain="real", method=KDE())
    np.testing.assert_allclose(result.truth["label"], 0.1, rtol=1e-11)
    assert not result.truth["tied"].any()
    assert result.workers["weight"][:3].min() > result.workers["weight"][3:].max()


def test_two_different_answers_are_tied_on_every_engine(engine: Engine) -> None:
    answers = [(worker, task, 2.0 * worker) for worker in range(2) for task in range(40)]
    found = [
        allalike.discover(order, domain="real", method=KDE(), engine=engine).truth for order in (answers, answers[::-1])
    ]
    assert found[0]["tied"].all()
    low = found[0]["label"] < 1
    assert 5 < low.sum() < 35
    np.testing.assert_allclose(np.where(low, found[0]["label"], 2 - found[0]["label"]), found[0]["label"].min())
    np.testing.assert_allclose(found[0]["label"], found[1]["label"])
    first = allalike.discover(answers, domain="real", method=KDE(), engine=engine, ties="first").truth
    assert (first["label"] < 1).all()


def test_answers_to_what_nobody_else_answered_make_no_worker_better() -> None:
    matrix, present = numbers(9, missing=0.3)
    alone = [("w004", f"own{number}", 1.0 * number) for number in range(20)]
    first = discover(matrix, present).workers
    second = allalike.discover([*rows(matrix, present=present), *alone], domain="real", method=KDE()).workers
    np.testing.assert_allclose(second["weight"], first["weight"], rtol=1e-9)
    np.testing.assert_allclose(second["mean_error"], first["mean_error"], rtol=1e-9)


def test_with_gaussian_errors_the_mode_is_worse_than_the_mean_as_the_paper_found() -> None:
    """The paper's table says +6; 20,000 repetitions say +9.6, and plain loops say the same for the same samples."""
    rng = np.random.default_rng(11)
    deviation = rng.normal(1, 0.5, (300, 10, 20))
    deviation = np.take_along_axis(deviation, np.argmax(deviation > 0, axis=2)[:, :, None], axis=2)
    truth = rng.normal(0, 2, (300, 15))
    matrices = truth[:, None] + deviation * rng.normal(size=(300, 10, 15))
    found = np.empty(truth.shape)
    for number, matrix in enumerate(matrices):
        run = Memory().load(answers_of(matrix))
        fit = KDE().fit(run)
        assert fit.decide is not None
        found[number] = run.collect(fit.decide, fit.weight, fit.fault)["label"]
    each = improvement(square(found - truth), square(matrices.mean(axis=1) - truth))
    assert 2 < each.mean() < 18
    assert each.std() / np.sqrt(300) < 2.5


@pytest.mark.parametrize("emotion", ["anger", "valence"])
def test_on_ratings_the_mode_follows_those_who_say_nothing_and_is_far_from_the_experts(
    emotion: str, data: Path
) -> None:
    """Most of ten ratings are often the same zero, without being right: the error doubles, in plain loops as well."""
    import pandas as pd

    path = data / "snow_emotion" / f"{emotion}.standardized.tsv"
    table = pd.read_csv(path, sep="\t")
    gold = table.groupby("orig_id")["gold"].first().astype(float)
    who = pd.factorize(table["!amt_worker_ids"], sort=True)[0]
    tasks = [Task(who[group.index], group["response"].to_numpy(np.float64)) for _, group in table.groupby("orig_id")]
    result = allalike.discover(path, domain="real", method=KDE(), gold=gold.to_dict())
    check(result, tasks, who.max() + 1, atol=1e-4)
    found = result.summary["gold"]
    assert 1.5 * found["unweighted_error"] < found["error"] < 3 * found["unweighted_error"]
