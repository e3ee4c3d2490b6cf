"""IBP, against crowd-kit's KOS and against plain loops."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from crowdkit.aggregation import KOS

import allalike
from allalike import IBP
from crowds.public_data import load_entailment
from crowds.samples import rows


@pytest.mark.parametrize("rounds", [1, 3, 15])
def test_truths_are_those_of_crowd_kit_from_the_same_first_messages(
    data: Path, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Crowd-kit draws its first messages around 1, and the paper takes 1; so theirs start at 1 here."""
    frame = load_entailment(data)
    monkeypatch.setattr("numpy.random.normal", lambda loc, scale, size: np.ones(size))
    theirs = KOS(n_iter=rounds).fit_predict(frame)
    ours = allalike.discover(frame, domain="categorical", method=IBP(n_iter=rounds)).truth.set_index("task")["label"]
    assert (ours.loc[theirs.index] == theirs).all()


def messages(sign: npt.NDArray[np.float64], rounds: int) -> npt.NDArray[np.float64]:
    """Pass messages with plain loops, and return the sums that decide; 0 is a missing answer."""
    n, m = sign.shape
    beta = np.abs(sign)
    for _ in range(rounds):
        alpha, told = np.zeros((n, m)), np.zeros((n, m))
        for i, j in np.argwhere(sign != 0):
            alpha[i, j] = sum(sign[other, j] * beta[other, j] for other in range(n) if other != i)
        for i, j in np.argwhere(sign != 0):
            told[i, j] = sum(sign[i, other] * alpha[i, other] for other in range(m) if other != j)
        beta = told / np.abs(told).max()
    found: npt.NDArray[np.float64] = (sign * beta).sum(axis=0)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_signs_are_those_of_plain_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random((7, 9)) < 0.65, 1.0, -1.0) * np.where(np.arange(9) % 2, 1.0, -1.0)
    sign[rng.random((7, 9)) < 0.3] = 0
    sign[0] = np.where(sign[0] == 0, 1.0, sign[0])
    expected = messages(sign, 6)
    result = allalike.discover(rows(sign, present=sign != 0), domain="categorical", method=IBP(n_iter=6))
    clear = np.abs(expected) > 1e-9
    assert (np.sign(expected[clear]) == result.truth["label"][clear]).all()
    assert clear.sum() > 4
    assert not result.found.joined().found["drawn"][clear].any()


def test_hundreds_of_rounds_do_not_overflow() -> None:
    rng = np.random.default_rng(0)
    matrix = np.where(rng.random((20, 50)) < 0.8, 1, 0)
    result = allalike.discover(rows(matrix), domain="categorical", method=IBP(n_iter=60))
    assert result.truth["label"].tolist() == [1] * 50
    assert np.isfinite(result.workers["weight"]).all()
