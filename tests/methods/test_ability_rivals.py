"""GLAD and MACE: against the formulas of their papers in dense arrays, and against crowd-kit."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import digamma, log_expit, logsumexp

import allalike
from allalike import GLAD, MACE, Memory
from allalike._core.blocks.block import Block, Ties, group_labels
from allalike.answers import Answers
from allalike.engines import Run
from allalike.methods.fit import Fit
from allalike.methods.glad import Abilities
from allalike.methods.mace import Strategies
from allalike.result.summaries import find_posteriors
from crowds.estimates import Floats
from crowds.one_coin import draw_matrix
from crowds.public_data import load_from
from crowds.samples import rows

pytestmark = [
    pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The (inplace|copy) keyword"),  # crowd-kit uses what pandas will drop
    pytest.mark.filterwarnings("ignore::DeprecationWarning:crowdkit"),
]

Ints = npt.NDArray[np.int64]


def frame_of(answers: Answers) -> pd.DataFrame:
    """Write answers with the numbers of tasks and workers, as crowd-kit takes them."""
    task = np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))
    labels = answers.encoding.decode(answers.label).tolist()
    return pd.DataFrame({"task": task, "worker": answers.worker, "label": labels})


drawn_matrix = partial(draw_matrix, n=6, m=12, k=3, worst=0.3)


def run_of(matrix: Ints, seed: int = 0) -> Run:
    return Memory().load(allalike.read(rows(matrix, present=matrix >= 0), domain="categorical"), Ties(seed))


def posteriors(run: Run, weighing: Fit) -> Floats:
    found: Floats = find_posteriors(run, weighing).joined().found["probability"]
    return found


def scores(matrix: Ints, ability: Floats, ease: Floats, k: int) -> Floats:
    """Return log( 1/k prod_i P[x_ij | truth c, a_i, b_j] ) of GLAD, by task and class."""
    x = ability[:, None] * np.exp(ease)
    of_class = [np.where(matrix == c, log_expit(x), log_expit(-x) - np.log(k - 1)) for c in range(k)]
    return np.asarray(np.stack([np.where(matrix >= 0, each, 0.0).sum(axis=0) for each in of_class], axis=1) - np.log(k))


def climb(matrix: Ints, k: int, point: Floats) -> float:
    """Return what GLAD maximises, at a point of all abilities and all log b."""
    ability, ease = np.split(point, [len(matrix)])
    return float(logsumexp(scores(matrix, ability, ease, k), axis=1).sum() - 0.5 * np.square(point - 1).sum())


@pytest.mark.parametrize(("k", "seed"), [(2, 0), (3, 1)])
def test_glad_reaches_the_top_of_the_likelihood_of_its_paper(k: int, seed: int) -> None:
    matrix = drawn_matrix(seed, n=4, m=8, k=k)
    run = run_of(matrix)
    weighing = GLAD(tol=1e-10).fit(run)
    [ability] = weighing.parameters

    def find_ease(block: Block, ability: Floats) -> dict[str, Floats]:
        return {"ease": Abilities(k, 1.0).find_ease(block, ability)}

    def fall(point: Floats) -> float:
        return -climb(matrix, k, point)

    ease = run.collect(find_ease, ability)["ease"]
    found = np.concatenate([ability, ease])
    best = minimize(fall, np.ones(len(found)), tol=1e-10)  # from where the paper begins
    assert climb(matrix, k, found) == pytest.approx(-best.fun, abs=1e-6)
    np.testing.assert_allclose(found, best.x, atol=1e-3)
    score = scores(matrix, ability, ease, k)
    expected = np.exp(score - logsumexp(score, axis=1, keepdims=True))
    np.testing.assert_allclose(posteriors(run, weighing), expected, rtol=1e-8, atol=1e-12)
    right = np.take_along_axis(expected, np.maximum(matrix, 0).T, axis=1).T
    np.testing.assert_allclose(weighing.fault, 1 - np.average(right, axis=1, weights=matrix >= 0), atol=1e-7)


@pytest.mark.parametrize("k", [2, 5])
def test_the_difficulty_of_a_task_is_the_best_there_is(k: int) -> None:
    rng = np.random.default_rng(k)
    matrix, ability = rng.integers(0, k, (9, 200)), rng.normal(0.7, 1.0, 9)
    block = Block.of(matrix)
    ease = Abilities(k, 1.0).find_ease(block.keeping(group_labels(block, np.arange(k, dtype=np.uint64))), ability)

    def worth(u: Floats) -> Floats:
        return np.asarray(logsumexp(scores(matrix, ability, u, k), axis=1) - np.square(u - 1) / 2)

    assert all((worth(ease) >= worth(np.full(200, u)) - 1e-9).all() for u in np.linspace(-4, 5, 31))


def compare_glad(frame: pd.DataFrame, **options: Any) -> tuple[float, float, float]:
    """Return how far abilities and posteriors are from those of crowd-kit, and how many labels are the same."""
    from crowdkit import aggregation as kit

    model = kit.GLAD(tol=-np.inf, **options).fit(frame)
    result = allalike.discover(frame, domain="categorical", method=GLAD(tol=1e-8))
    table = result.probabilities.set_index("task")
    theirs = model.probas_.loc[table.index, table.columns]  # type: ignore[union-attr]
    ability = pd.Series(result.weighing.parameters[0], result.workers["worker"])
    return (
        float((model.alphas_ - ability).abs().max()),
        float((theirs - table).abs().to_numpy().max()),
        float((theirs.idxmax(axis=1) == table.idxmax(axis=1)).mean()),
    )


@pytest.mark.long
def test_glad_is_that_of_crowd_kit_where_it_does_not_stop_early() -> None:
    matrix = drawn_matrix(7, n=5, k=2)
    frame = pd.DataFrame(rows(matrix, present=matrix >= 0), columns=["worker", "task", "label"])
    ability, posterior, same = compare_glad(frame, n_iter=12, m_step_tol=1e-4)
    assert (ability < 2e-3, posterior < 2e-3, same) == (True, True, 1.0)


@pytest.mark.long
@pytest.mark.parametrize("name", ["bench_bluebird", "IT"])
def test_glad_is_that_of_crowd_kit_on_real_answers(name: str, data: Path) -> None:
    ability, _, same = compare_glad(frame_of(load_from(data, name)), n_iter=15, m_step_tol=1e-3)
    assert ability < 0.02
    assert same >= 0.99


def mace(matrix: Ints, know: Floats, says: Floats, rounds: int, *, form: str) -> tuple[Floats, float]:
    """Return posteriors of classes and the log likelihood of MACE, as its paper has it, from theta and xi."""
    k = says.shape[1]
    given = (matrix[:, :, None] == np.arange(k)).astype(np.float64)  # by worker, task and label
    for number in range(rounds + 1):
        guess = np.einsum("ijl,il->ij", given, know[:, 1:] * says)  # (1 - theta) xi of each answer
        each = know[:, :1, None] * given + guess[:, :, None]  # P[x_ij | truth c]
        joint = np.where(matrix[:, :, None] >= 0, each, 1.0).prod(axis=0) / k
        truth = joint / joint.sum(axis=1, keepdims=True)
        if number == rounds:
            break
        divisor = np.where(matrix >= 0, know[:, :1] + guess, 1.0)
        known = np.einsum("ijl,jl->ij", given, truth) * know[:, :1] / divisor
        strategy = np.einsum("ijl,ij->il", given, 1 - known)
        counts = np.stack([known.sum(axis=1), strategy.sum(axis=1)], axis=1)
        know, says = _share(counts, 0.5, form, 0.01 / k), _share(strategy, 10.0, form, 0.01 / k)
    return truth, float(np.log(joint.sum(axis=1)).sum())


def _share(counts: Floats, prior: float, form: str, smoothing: float) -> Floats:
    if form == "em":
        return np.asarray((counts + smoothing) / (counts + smoothing).sum(axis=1, keepdims=True))
    return np.asarray(np.exp(digamma(counts + prior) - digamma((counts + prior).sum(axis=1, keepdims=True))))


@pytest.mark.parametrize("form", ["vb", "em"])
@pytest.mark.parametrize("rounds", [1, 2, 9])
def test_mace_is_what_its_equations_say(rounds: int, form: str) -> None:
    matrix = drawn_matrix(2)
    run = run_of(matrix)
    expected, _ = mace(matrix, np.full((6, 2), 1 / 2), np.full((6, 3), 1 / 3), rounds, form=form)
    weighing = MACE(form=form, starts=1, max_iter=rounds, tol=0).fit(run)
    np.testing.assert_allclose(posteriors(run, weighing), expected, rtol=1e-9, atol=1e-12)
    right = np.take_along_axis(expected, np.maximum(matrix, 0).T, axis=1).T
    np.testing.assert_allclose(weighing.fault, 1 - np.average(right, axis=1, weights=matrix >= 0), rtol=1e-9)


@pytest.mark.parametrize(("form", "seed"), [("vb", 0), ("em", 3)])
def test_mace_keeps_the_start_with_the_largest_likelihood(form: str, seed: int) -> None:
    matrix = drawn_matrix(seed, n=4, m=8)
    run = run_of(matrix, seed)
    method = MACE(form=form, starts=6, max_iter=30, tol=0)
    shares = Strategies(3, method).start(run.workers.hashes(), seed)
    know = np.stack([shares[:, :, 0], 1 - shares[:, :, 0]], axis=2)
    says = shares[:, :, 1:] / know[:, :, 1:]
    np.testing.assert_allclose(says.sum(axis=2), 1)
    assert len(np.unique(shares[:, :, 0])) == 4 * 5 + 1  # the first start is the same for all
    found = [mace(matrix, know[:, s], says[:, s], 30, form=form) for s in range(6)]
    assert np.ptp([likelihood for _, likelihood in found]) > 1e-4
    best, _ = max(found, key=lambda each: each[1])
    np.testing.assert_allclose(posteriors(run, method.fit(run)), best, rtol=1e-5, atol=1e-9)


def numbered(frame: pd.DataFrame) -> pd.DataFrame:
    """Number workers, tasks and labels as they come; crowd-kit 1.4 mixes up strategies in any other order."""
    return frame.apply(lambda column: pd.factorize(column)[0])


@pytest.mark.parametrize("form", ["vb", "em"])
def test_mace_is_that_of_crowd_kit_from_the_same_start(form: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from crowdkit import aggregation as kit

    frame = numbered(frame_of(load_from(data, "bench_bluebird")))
    model = kit.MACE(n_restarts=1, n_iter=15, method=form)
    monkeypatch.setattr(Strategies, "start", partial(_their_start, model))
    theirs = model.fit_predict_proba(frame)
    ours = allalike.discover(frame, domain="categorical", method=MACE(form=form, starts=1, max_iter=15, tol=0))
    table = ours.probabilities.set_index("task")
    np.testing.assert_allclose(table.loc[theirs.index, theirs.columns], theirs, rtol=1e-6, atol=1e-9)


def _their_start(model: Any, ids: npt.NDArray[np.uint64], seed: int) -> Floats:
    """Return what crowd-kit begins with: it draws the same for every restart."""
    model._initialize(len(ids), 2)
    shares = np.concatenate([model.spamming_[:, 1:], model.spamming_[:, :1] * model.thetas_], axis=1)
    model.spamming_ = model.thetas_ = None
    return np.asarray(shares[:, None])


@pytest.mark.long
@pytest.mark.parametrize("name", ["snow_rte", "bench_bluebird", "Medicine"])
def test_mace_decides_nearly_all_tasks_as_that_of_crowd_kit_from_starts_of_its_own(name: str, data: Path) -> None:
    from crowdkit import aggregation as kit

    frame = numbered(frame_of(load_from(data, name)))
    ours = allalike.discover(frame, domain="categorical", method="MACE").truth.set_index("task")["label"]
    theirs = kit.MACE(n_restarts=1).fit_predict(frame)
    assert (ours == theirs[ours.index]).mean() >= 0.97


def test_another_seed_draws_other_starts() -> None:
    matrix = drawn_matrix(0)
    hashes = run_of(matrix).workers.hashes()
    starts = [Strategies(3, MACE(starts=3)).start(hashes, seed) for seed in (1, 1, 2)]
    assert (starts[0] == starts[1]).all()
    assert (starts[0] != starts[2])[:, 1:].all()
    assert (starts[0] == starts[2])[:, 0].all()
