"""Numbers by strict and lenient graders, and numbers with outliers."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array, hstack, vstack
from scipy.sparse.linalg import lsqr

import allalike
from allalike import Disk, Memory, Real
from crowds.samples import Row, rows

N_GRADERS, N_ESSAYS = 30, 60


def grade(seed: int, *, offsets: float) -> tuple[list[Row], npt.NDArray[np.float64]]:
    """Simulate four grades of each of 60 essays by 30 graders, with noise of sd 4."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(70, 10, N_ESSAYS)
    offset = offsets * rng.standard_normal(N_GRADERS)
    graders = [rng.choice(N_GRADERS, 4, replace=False) for _ in truth]
    answers: list[Row] = [
        (f"g{grader:02d}", f"e{essay:02d}", float(truth[essay] + offset[grader] + rng.normal(0, 4)))
        for essay, chosen in enumerate(graders)
        for grader in chosen
    ]
    return answers, truth


def error(
    answers: list[Row], truth: npt.NDArray[np.float64], method: str = "iP-TD(max_iter=500)", **options: Any
) -> float:
    """Return the mean squared error of estimates."""
    found = allalike.discover(answers, domain=Real(**options), method=method).truth["label"]
    return float(np.square(found - truth).mean())


def fit(answers: list[Row], ridge: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Fit essays and graders by least squares, as one sparse system."""
    grader, essay = (np.array([int(answer[side][1:]) for answer in answers]) for side in (0, 1))
    number, n = np.array([answer[2] for answer in answers]), np.arange(len(answers))
    design = hstack([csr_array((np.ones(len(n)), (n, essay))), csr_array((np.ones(len(n)), (n, grader)))])
    pull = csr_array((np.full(N_GRADERS, ridge**0.5), (np.arange(N_GRADERS), N_ESSAYS + np.arange(N_GRADERS))))
    right = np.concatenate([number - number.mean(), np.zeros(N_GRADERS)])
    found = lsqr(vstack([design, pull]).tocsr(), right, atol=1e-14, btol=1e-14)[0]
    return found[:N_ESSAYS] + number.mean(), found[N_ESSAYS:]


def test_offsets_of_graders_are_taken_away() -> None:
    drawn = [grade(seed, offsets=5) for seed in range(8)]
    plain, fair = (np.mean([error(*each, bias=bias) for each in drawn]) for bias in (False, True))
    assert fair < 0.75 * plain


def test_where_nobody_is_strict_nothing_is_lost() -> None:
    change = [error(*drawn, bias=True) - error(*drawn) for drawn in (grade(seed, offsets=0) for seed in range(8))]
    assert np.mean(change) < 2 * np.std(change) / np.sqrt(len(change)) + 0.05


def test_offsets_are_those_of_a_mixed_model_with_the_variances_of_the_draw() -> None:
    answers, truth = grade(3, offsets=5)
    essays, graders = fit(answers, ridge=4**2 / 5**2)
    result = allalike.discover(answers, domain=Real(bias=True), method="UA")
    assert np.corrcoef(result.workers["bias"], graders)[0, 1] > 0.999
    np.testing.assert_allclose(result.truth["label"], essays, atol=0.5)
    assert error(answers, truth, "UA", bias=True) < 1.05 * np.square(essays - truth).mean()


def test_numbers_without_noise_have_the_offsets_of_plain_least_squares() -> None:
    answers = [(f"g{i:02d}", f"e{j:02d}", 10.0 * j + i) for i in range(4) for j in range(6) if (i + j) % 3]
    bias = allalike.discover(answers, domain=Real(bias=True), method="UA").workers["bias"]
    np.testing.assert_allclose(bias, [-1.5, -0.5, 0.5, 1.5], atol=1e-6)


def test_a_bias_that_all_share_is_not_seen() -> None:
    answers, _ = grade(0, offsets=5)
    high = [(worker, task, number + 7) for worker, task, number in answers]
    low, shifted = (allalike.discover(given, domain=Real(bias=True), method="UA") for given in (answers, high))
    np.testing.assert_allclose(shifted.truth["label"], low.truth["label"] + 7)
    np.testing.assert_allclose(shifted.workers["bias"], low.workers["bias"], atol=1e-6)


@pytest.mark.parametrize("options", [{"bias": True}, {"bias": True, "distance": "absolute"}])
def test_every_engine_takes_the_same_away_also_later(options: dict[str, Any]) -> None:
    answers, truth = grade(1, offsets=5)
    gold = {f"e{essay:02d}": value for essay, value in enumerate(truth.tolist())}
    domain = Real(**options)
    first = allalike.discover(answers, domain=domain, gold=gold, method="P-TD")
    others = [
        allalike.discover(answers, domain=domain, gold=gold, method="P-TD", engine=engine)
        for engine in (Memory(block_answers=7), Disk(partitions=2))
    ]
    later = allalike.discover(answers[:150], domain=domain, gold=gold, method="P-TD").update(answers[150:])
    for other in (*others, later):
        np.testing.assert_allclose(other.truth["label"], first.truth["label"], rtol=1e-9)
        np.testing.assert_allclose(other.workers["bias"], first.workers["bias"], atol=1e-9)
        assert other.summary["gold"]["error"] == pytest.approx(first.summary["gold"]["error"])


def test_methods_are_compared_on_answers_without_their_bias() -> None:
    answers, truth = grade(2, offsets=5)
    gold = {f"e{essay:02d}": value for essay, value in enumerate(truth.tolist())}
    plain, fair = (
        allalike.compare(answers, domain=Real(bias=bias), gold=gold, methods="P-TD").table["error"].min()
        for bias in (False, True)
    )
    assert fair < plain


@pytest.mark.parametrize(
    "answers",
    [
        [("a", 1, 2.0)],
        [("a", 1, 2.0), ("b", 1, 4.0)],
        [("a", 1, 2.0), ("a", 2, 3.0)],
        [("a", 1, 2.0), ("b", 2, 3.0)],
        [("a", 1, 2.0), ("b", 1, 2.0), ("a", 2, 2.0), ("b", 2, 2.0)],
        [("a", 1, 1e8), ("b", 1, 1e8 + 1), ("a", 2, 0.0), ("b", 2, 1.0), ("c", 2, 0.0)],
    ],
)
def test_few_answers_have_offsets_and_no_trouble(answers: list[Row]) -> None:
    result = allalike.discover(answers, domain=Real(bias=True))
    assert np.isfinite(result.workers["bias"]).all()
    assert np.isfinite(result.truth["label"]).all()


def test_the_distance_chooses_the_rule_unless_one_is_given() -> None:
    assert (Real().rule, Real(distance="absolute").rule) == ("mean", "median")
    assert Real(distance="absolute", rule="mean").rule == "mean"
    assert Real(rule="median").distance == "squared"


def test_a_far_answer_costs_the_others_of_its_task_no_digits() -> None:
    said = [[1e-3, 2.0], [2e-3, 3.0], [4e-3, 4.0], [1e12, 5.0]]
    found = allalike.discover(rows(said), domain=Real(distance="absolute"), method="UA")
    assert found.truth["label"].tolist() == pytest.approx([3e-3, 3.5])
    assert found.workers["disparity"][0] == pytest.approx((1e12 + 1e-3 + 3e-3 - 1e-3 + 1 + 2 + 3) / 6)


def sensors(seed: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Simulate 2,000 readings of ten sensors; the best sensor has twenty outliers."""
    rng = np.random.default_rng(seed)
    truth, noise = rng.normal(20, 5, 200), np.linspace(0.3, 1.5, 10)
    said = truth + noise[:, None] * rng.standard_normal((10, 200))
    said[0, rng.choice(200, 20, replace=False)] = -999 - np.arange(20)
    return said, truth


def test_a_few_answers_that_carry_most_of_the_squares_are_named() -> None:
    said, truth = sensors(0)
    result = allalike.discover(rows(said), domain="real", method="UA")
    [warning] = [each for each in result.summary["warnings"] if "squared distance" in each]
    assert all(word in warning for word in ("20 of 2,000", "100 %", "'w000'", "domain='real(distance=absolute)'"))
    robust = allalike.discover(rows(said), domain="real(distance=absolute)", method="P-TD")
    assert not any("squared distance" in each for each in robust.summary["warnings"])
    assert np.square(robust.truth["label"] - truth).mean() < 0.2 < np.square(result.truth["label"] - truth).mean()


def test_a_worker_who_is_bad_throughout_is_no_accident() -> None:
    said, truth = sensors(1)
    said[0] = truth - 999 * np.random.default_rng(0).random(200)
    warnings = allalike.discover(rows(said), domain="real", method="UA").summary["warnings"]
    assert not any("squared distance" in each for each in warnings)


def test_laplace_noise_has_the_size_that_is_its_fault() -> None:
    drawn = np.array([[0.5], [2.0]]) * np.random.default_rng(0).laplace(size=(2, 20_000))
    assert np.abs(drawn).mean(axis=1) == pytest.approx([0.5, 2.0], rel=0.05)
