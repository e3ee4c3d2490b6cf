"""Worker lines: closed forms, simulated crowds against the oracle, outliers, copies and gold labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import allalike
from allalike import Auto, Disk, Memory
from allalike._core.blocks.block import Block
from allalike.methods.auto.gold_regression import fit_gold_regression
from allalike.methods.auto.lines import HUBER, MEAN, MEDIAN, Lines, locate, locate_without_each
from crowds.samples import rows

if TYPE_CHECKING:
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float64]


def simulate(
    seed: int,
    workers: int,
    tasks: int,
    answers: int,
    *,
    deviation: tuple[float, float] = (1, 4),
    slope: Any = 1.0,
    offset: Any = 0.0,
) -> tuple[list[Any], Matrix, Matrix]:
    """Simulate numbers of independent Gaussian workers; return them with the truths and the oracle's estimates."""
    rng = np.random.default_rng(seed)
    truth, sd = rng.normal(0, 10, tasks), rng.uniform(*deviation, workers)
    who = np.argsort(rng.random((tasks, workers)), axis=1)[:, :answers]
    b, a = np.broadcast_to(slope, workers)[who], np.broadcast_to(offset, workers)[who]
    said = a + b * truth[:, None] + sd[who] * rng.normal(size=who.shape)
    weight = (b / sd[who]) ** 2
    oracle = (weight * (said - a) / b).sum(axis=1) / weight.sum(axis=1)
    return [(f"w{w:03}", f"t{t:05}", float(said[t, i])) for (t, i), w in np.ndenumerate(who)], truth, oracle


def labels(result: allalike.Result) -> Matrix:
    found: Matrix = result.truth.sort_values("task")["label"].to_numpy(float)
    return found


def rmse(result: allalike.Result, truth: Matrix, column: str = "label") -> float:
    return float(np.sqrt(np.mean((result.truth.sort_values("task")[column].to_numpy(float) - truth) ** 2)))


def error(oracle: Matrix, truth: Matrix) -> float:
    return float(np.sqrt(np.mean((oracle - truth) ** 2)))


def run(said: list[Any], **options: Any) -> allalike.Result:
    return allalike.discover(said, domain="real", **options)


@pytest.mark.parametrize("cut", [MEAN, HUBER, MEDIAN])
def test_leaving_an_answer_out_is_estimating_without_it(cut: float) -> None:
    rng = np.random.default_rng(0)
    block = Block.of(rng.normal(size=(5, 30)) * 3)
    lines = Lines(
        np.column_stack([rng.normal(size=5), rng.uniform(0.5, 2, 5), rng.uniform(0.8, 1.2, 5)]), 0.3, 0.0, cut
    )
    estimate, variance = locate_without_each(block, lines)
    for i in range(5):
        others = np.delete(np.arange(5), i)
        alone = Block.of(block.label.reshape(30, 5).T[others])
        found = locate(alone, lines._replace(workers=lines.workers[others]))
        if cut == MEAN:
            np.testing.assert_allclose(estimate[i::5], found[0])
            np.testing.assert_allclose(variance[i::5], found[1])
        else:  # weights are bounded by those of all others, which includes one more
            np.testing.assert_allclose(estimate[i::5], found[0], atol=1.5)


@pytest.mark.parametrize(("workers", "tasks", "answers"), [(50, 4000, 5), (200, 4000, 5), (4, 5000, 4), (12, 1700, 12)])
def test_gaussian_workers_come_near_the_oracle(workers: int, tasks: int, answers: int) -> None:
    said, truth, oracle = simulate(workers, workers, tasks, answers)
    result = run(said)
    assert result.summary["model"]["chosen"] != "everyone the same"
    assert rmse(result, truth) < 1.03 * error(oracle, truth) < 0.95 * rmse(result, truth, "unweighted")


@pytest.mark.parametrize(("workers", "answers"), [(3, 3), (5, 5), (30, 4)])
def test_equal_workers_lose_nothing(workers: int, answers: int) -> None:
    said, truth, _ = simulate(workers, workers, 300, answers, deviation=(1, 1))
    result = run(said)
    assert rmse(result, truth) < 1.01 * rmse(result, truth, "unweighted")


def test_offsets_and_slopes_are_removed() -> None:
    rng = np.random.default_rng(3)
    slope, offset = rng.uniform(0.6, 1.4, 20), rng.normal(0, 3, 20)
    slope, offset = slope / slope.mean(), offset - offset.mean()
    said, truth, oracle = simulate(4, 20, 1000, 5, slope=slope, offset=offset)
    assert rmse(run(said), truth) < 1.1 * error(oracle, truth)


def test_workers_who_stay_near_the_middle_have_no_weight() -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 60).astype(float)
    hedged = 0.5 + 0.02 * (truth - 0.5) + rng.normal(0, 0.02, (10, 60))
    known = np.clip(truth + rng.normal(0, 0.3, (30, 60)), 0, 1)
    result = run(rows(np.vstack([hedged, known])), method=Auto(screening=False))
    weight = result.workers["weight"].to_numpy()
    assert weight[:10].max() < 0.5 * weight[10:].mean()
    assert rmse(result, truth) < rmse(result, truth, "unweighted")


@pytest.mark.parametrize(("share", "far"), [(0.01, 1e6), (0.02, 1e3)])
def test_outliers_and_mixed_units_do_not_move_labels(share: float, far: float) -> None:
    said, truth, oracle = simulate(6, 30, 1000, 7)
    rng = np.random.default_rng(7)
    wrong = rng.random(len(said)) < share
    said = [(w, t, x * far if bad else x) for (w, t, x), bad in zip(said, wrong, strict=True)]
    assert rmse(run(said), truth) < 1.15 * error(oracle, truth)


def test_one_absurd_number_silences_no_editor() -> None:
    rng = np.random.default_rng(8)
    truth = 10 ** rng.uniform(3, 6, 300)
    who = np.argsort(rng.random((300, 12)), axis=1)[:, :6]
    said = truth[:, None] * np.where(rng.random(who.shape) < 0.7, 1.0, rng.uniform(0.5, 2, who.shape))
    said[5, 2] = 1e11
    result = run([(f"w{w:03}", f"t{t:05}", float(said[t, i])) for (t, i), w in np.ndenumerate(who)])
    assert (result.workers["weight"] > 0).all()
    label = labels(result)
    assert np.median(np.abs(label / truth - 1)) == 0
    assert np.mean(np.abs(np.log(label / truth))) < 0.1


def test_copies_count_once_whatever_their_number() -> None:
    said, truth, _ = simulate(9, 12, 200, 6)
    copied = [[*said, *((f"x{k}", t, x) for k in range(n) for w, t, x in said if w == "w003")] for n in (0, 1, 6)]
    found = [run(each) for each in copied]
    for each in found[1:]:
        np.testing.assert_allclose(rmse(each, truth), rmse(found[0], truth), rtol=1e-6)


def test_numbers_do_not_depend_on_unit_origin_or_engine() -> None:
    said, _, _ = simulate(10, 20, 150, 4)
    first = labels(run(said))
    other = labels(run([(w, t, 1e6 + 1000 * x) for w, t, x in said]))
    np.testing.assert_allclose((other - 1e6) / 1000, first, atol=1e-6)
    for engine in (Disk(partitions=3), Memory(block_answers=50)):
        found = labels(run(said, engine=engine))
        np.testing.assert_allclose(found, first, atol=1e-9)


def test_pairs_and_single_answers_are_no_problem() -> None:
    said, truth, _ = simulate(11, 20, 400, 2)
    said += [(f"w{k % 20:03}", f"u{k}", float(k)) for k in range(9)]
    result = run(said).truth.set_index("task")
    assert result.loc["u3", "label"] == pytest.approx(3.0, abs=4)
    assert np.isfinite(result["label"]).all()
    assert result.loc[[f"t{t:05}" for t in range(400)], "label"].sub(truth).pow(2).mean() < 5


@pytest.mark.parametrize(("n_gold", "most"), [(20, 1.0), (50, 0.6), (200, 0.5)])
def test_gold_labels_remove_what_all_workers_have_in_common(n_gold: int, most: float) -> None:
    said, truth, _ = simulate(12, 20, 600, 5, offset=np.r_[np.full(15, 4.0), np.full(5, -1.0)], slope=0.8)
    gold = {f"t{t:05}": float(truth[t]) for t in range(n_gold)}
    blind, calibrated = (labels(run(said, gold=each)) for each in (None, gold))
    left = slice(n_gold, None)
    assert error(calibrated[left], truth[left]) < most * error(blind[left], truth[left])


def test_gold_labels_that_agree_with_the_estimates_change_little() -> None:
    said, truth, _ = simulate(13, 20, 600, 5)
    for n_gold in (20, 50):
        gold = {f"t{t:05}": float(truth[t]) for t in range(n_gold)}
        blind, calibrated = (
            run(said, gold=each).truth.sort_values("task")["label"].to_numpy() for each in (None, gold)
        )
        left = slice(n_gold, None)
        assert error(calibrated[left], truth[left]) < 1.08 * error(blind[left], truth[left])


def test_the_dual_ridge_is_the_ridge() -> None:
    rng = np.random.default_rng(14)
    truth, deviation = rng.normal(size=40), rng.normal(size=(40, 3))
    gold = truth + deviation @ [0.5, -0.2, 0.0]
    from scipy.sparse import csr_array

    found = fit_gold_regression(truth, gold, csr_array(deviation))
    rest = gold - truth - found.offset - found.slope * (truth - found.centre)
    exact = np.linalg.solve(deviation.T @ deviation + 30 * np.eye(3), deviation.T @ rest)
    np.testing.assert_allclose(found.gain, found.kept * exact)
