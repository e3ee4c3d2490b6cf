"""EVD against eigenvectors computed plainly, and its faults against those that were drawn."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import allalike
from allalike import Categorical, Memory, Result
from allalike.methods.pairwise.eigenvector import DIAGONALS, EVD
from crowds.errors import draw_one_coin
from crowds.estimates import Floats, improvement, vote_errors
from crowds.samples import fit_all, rows, weights_of

pytestmark = pytest.mark.slow

every_diagonal = pytest.mark.parametrize("diagonal", list(DIAGONALS))


def draw(seed: int, n: int = 8, m: int = 60) -> npt.NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    return draw_one_coin(rng.integers(0, 2, m), rng.uniform(0.05, 0.55, n), seed, classes=2)


def solve(matrix: npt.ArrayLike, method: EVD, present: npt.NDArray[np.bool_] | None = None, **options: Any) -> Result:
    answers = rows(matrix, present=present)
    return allalike.discover(answers, domain=Categorical(classes=2), method=method, **options)


def plain_covariances(matrix: npt.NDArray[np.int64], present: npt.NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Compute the covariance of each pair over its common tasks, one by one."""
    x = 2.0 * matrix - 1
    mean = np.array([x[i, present[i]].mean() for i in range(len(x))])
    q, common = np.zeros((len(x), len(x))), np.zeros((len(x), len(x)))
    for i in range(len(x)):
        for j in range(len(x)):
            both = present[i] & present[j]
            common[i, j] = both.sum()
            if common[i, j]:
                products = x[i, both] * x[j, both]
                q[i, j] = (products.sum() - both.sum() * mean[i] * mean[j]) / max(both.sum() - 1, 1)
    return q, common, mean


def plain_diagonal(q: Floats, common: Floats, mean: Floats, diagonal: str) -> Floats:
    """Return what belongs on the diagonal, by lists of pairs and numpy's least squares."""
    n = len(q)
    if diagonal == "raw":
        return np.diagonal(q)
    if diagonal == "iterate":
        filled = np.zeros(n)
        for _ in range(1000):
            values, vectors = np.linalg.eigh(q - np.diag(np.diagonal(q)) + np.diag(filled))
            filled = np.clip(values[-1] * vectors[:, -1] ** 2, 0, 1)
        return filled
    equations, logs = [], []
    for i in range(n):
        for j in range(i):
            m, g = common[i, j], mean[i] * mean[j]
            if m < 2 or abs(q[i, j]) < 1e-12:
                continue
            variance = (1 - mean[i] ** 2) * (1 - mean[j] ** 2) / (m - 1)
            variance += q[i, j] / m * (4 * g - q[i, j] * (m - 2) / (m - 1))
            if diagonal == "loglsq" or abs(q[i, j]) >= 2 * np.sqrt(max(variance, 0)):
                equations.append([float(k in (i, j)) for k in range(n)])
                logs.append(np.log(abs(q[i, j])))
    if len(logs) < n:
        return np.zeros(n)
    t = np.linalg.lstsq(np.array(equations), np.array(logs), rcond=None)[0]
    return np.where(np.array(equations).any(axis=0), np.clip(np.exp(2 * t), 0, 1), 0)


def plain_weights(matrix: npt.NDArray[np.int64], present: npt.NDArray[np.bool_], diagonal: str) -> Floats:
    q, common, mean = plain_covariances(matrix, present)
    np.fill_diagonal(q, plain_diagonal(q, common, mean, diagonal))
    vector = np.linalg.eigh(q)[1][:, -1]
    vector = vector if vector.sum() > 0 else -vector
    positive: Floats = np.maximum(vector, 0) / np.maximum(vector, 0).sum()
    return positive


@every_diagonal
def test_weights_are_the_leading_eigenvector(diagonal: str) -> None:
    used = set()
    for seed in range(10):
        matrix = draw(seed, n=3 + seed, m=(15, 60, 400)[seed % 3])
        present = np.ones(matrix.shape, np.bool_)
        found = solve(matrix, EVD(diagonal=diagonal)).workers["weight"]
        np.testing.assert_allclose(found, plain_weights(matrix, present, diagonal), atol=1e-6)
        q, common, mean = plain_covariances(matrix, present)
        np.testing.assert_allclose(q, np.cov(2.0 * matrix - 1), atol=1e-12)
        used.add(bool(plain_diagonal(q, common, mean, "lsq").any()))
    assert used == {False, True}  # with 15 tasks few covariances are beyond doubt, and the diagonal is 0


@every_diagonal
def test_missing_answers_leave_the_common_tasks_of_each_pair(diagonal: str) -> None:
    for seed in range(5):
        matrix = draw(seed, n=6, m=80)
        present = np.random.default_rng(seed).random(matrix.shape) < 0.6
        present[0], present[1] = np.arange(80) < 40, np.arange(80) >= 40  # a pair without a common task
        method = EVD(diagonal=diagonal)
        found = solve(matrix, method, present, engine=Memory(block_answers=50)).workers["weight"]
        np.testing.assert_allclose(found, plain_weights(matrix, present, diagonal), atol=1e-6)


@pytest.mark.parametrize("share", [0.5, 0.8])
@every_diagonal
def test_faults_are_the_probabilities_of_error_be_the_classes_balanced_or_not(share: float, diagonal: str) -> None:
    rng = np.random.default_rng(7)
    faults = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.7])
    truth = (rng.random(40_000) < share).astype(np.int64)
    [fit] = fit_all(draw_one_coin(truth, faults, 7, classes=2)[None], EVD(diagonal=diagonal), 2)
    found = fit.fault
    # Variances do not follow the model, nor do the logarithms of covariances that are 0 but for noise (one worker
    # guesses): the eigenvector is a little off with them.
    np.testing.assert_allclose(found, faults, atol={"raw": 0.1, "loglsq": 0.06}.get(diagonal, 0.02))


def test_workers_worse_than_chance_vote_for_the_other_class_if_asked_to() -> None:
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 2, 200)
    matrix = draw_one_coin(truth, np.array([0.3, 0.3, 0.35, 0.3, 0.02]), 8, classes=2)
    matrix[4] = 1 - matrix[4]
    gold = {f"t{j:04d}": int(z) for j, z in enumerate(truth)}
    kept, turned = (solve(matrix, EVD(positive=positive), gold=gold) for positive in (True, False))
    assert kept.workers["weight"][4] == 0
    assert turned.workers["weight"].argmax() == 4
    assert turned.weighing.fault.tolist() == kept.weighing.fault.tolist()
    assert turned.weighing.fault[4] > 0.9
    assert turned.summary["gold"]["error"] < 0.05 < kept.summary["gold"]["error"]
    sign = np.array([1, 1, 1, 1, -1])
    score = (turned.workers["weight"].to_numpy() * sign) @ (2 * matrix - 1)
    assert turned.truth["label"].tolist() == (score > 0).astype(int).tolist()


def test_it_beats_the_vote_as_published() -> None:
    """The paper's table has -20 and -6 for its two binary crowds of n=10, m=15 (its two rows are swapped)."""
    rng = np.random.default_rng(11)
    for published, faults in (
        (-20, np.clip(rng.normal(0.35, 0.15, (600, 10)), 0, 1)),
        (-6, np.where(rng.random((600, 10)) < 0.2, 0.2, 0.5)),
    ):
        truth = rng.integers(0, 2, (600, 15))
        matrices = np.stack(
            [draw_one_coin(z, f, s, classes=2) for s, (z, f) in enumerate(zip(truth, faults, strict=True))]
        )
        votes = 2.0 * matrices - 1
        weight = weights_of(matrices, EVD(), 2)[:, :, None]
        evd, vote = (vote_errors(each.sum(axis=1), truth, rng) for each in (weight * votes, votes))
        assert improvement(evd, vote).mean() == pytest.approx(published, abs=4)


def test_a_group_that_is_not_linked_to_the_others_is_decided_by_a_plain_vote_whatever_its_names() -> None:
    rng = np.random.default_rng(0)
    rows = [*_group(rng, 12, 60, 5, 0), *_group(rng, 5, 8, 4, 1000)]
    expected = allalike.discover(rows, method="UA").truth.iloc[60:]
    for seed in range(4):
        names = np.random.default_rng(seed).permutation(2000)
        found = allalike.discover([(int(names[w]), task, label) for w, task, label in rows], method="EVD")
        truth = found.truth.iloc[60:]
        assert truth["label"].tolist() == expected["label"].tolist()
        assert truth["confidence"].tolist() == pytest.approx(expected["confidence"].tolist())


def _group(rng: np.random.Generator, n_workers: int, n_tasks: int, each: int, first: int) -> list[tuple[int, int, str]]:
    """Return answers of workers who are right more often than not, to tasks of their own."""
    skill, rows = 0.45 + 0.5 * rng.random(n_workers), []
    for task in range(n_tasks):
        truth = rng.integers(0, 2)
        for worker in rng.choice(n_workers, each, replace=False):
            right = rng.random() < skill[worker]
            rows.append((first + int(worker), first + task, "ab"[truth if right else 1 - truth]))
    return rows
