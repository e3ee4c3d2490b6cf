"""Coefficients have the values of the packages that people know: krippendorff, irrCAC and scikit-learn."""

from typing import Any

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import allalike
from allalike.engines import Engine
from allalike.telling.remark import COEFFICIENTS
from running.program import run

LEVELS = (1, 2, 3, 4, 5)

# Of irrCAC 0.4.4, which cannot be installed beside a current numpy: raw.CAC(table, weights=..., digits=15) finds gwet
# (linear, quadratic), krippendorff (linear, quadratic) and pa (identity); a word per task, a mark per worker.
IRRCAC = (
    (
        "1455 2354 333. 4.33 5231 1112 ..21 21.1 .122 455. .453 55.4 423. .454 .55. 54.4 .445 .423",
        (0.426543647977289, 0.609919197548064, 0.378781766841468, 0.542772861356933, 0.296296296296296),
    ),
    (
        "14.3 2222 34.5 4.45 51.2 1221 54.5 ..54 221. .212 .4.. 2434 1... 5555 3123 24.2 .35. 3344",
        (0.360139031519078, 0.537013450964555, 0.380632790028763, 0.538188976377952, 0.291666666666667),
    ),
)


def read(text: str) -> Any:
    return np.array([[np.nan if mark == "." else float(mark) for mark in task] for task in text.split()]).T


def rows_of(said: Any) -> list[tuple[str, str, int]]:
    return [(f"w{i}", f"t{j}", int(said[i, j])) for i, j in np.argwhere(~np.isnan(said))]


def draw(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    said = np.clip(rng.integers(1, 6, 40) + rng.integers(-1, 2, (5, 40)), 1, 5).astype(float)
    said[rng.random(said.shape) < 0.4] = np.nan
    said[0, :5] = LEVELS
    return said


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_alphas_of_levels_are_those_of_the_package_krippendorff(seed: int, level: Any, engine: Engine) -> None:
    said = draw(seed)
    found = allalike.agreement(rows_of(said), domain="ordinal", engine=engine)
    expected = krippendorff.alpha(said, level_of_measurement=level)
    assert found.coefficients()[f"{level} alpha"] == pytest.approx(expected, abs=1e-10)


def test_the_limits_of_ordinal_alpha_are_those_of_resampled_tasks() -> None:
    said = draw(7)
    value, low, high = allalike.agreement(rows_of(said), domain="ordinal").ordinal
    rng = np.random.default_rng(1)
    drawn = [krippendorff.alpha(said[:, rng.integers(0, 40, 40)], level_of_measurement="ordinal") for _ in range(400)]
    assert low < value < high
    assert [low, high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.08)


@pytest.mark.parametrize(("text", "expected"), IRRCAC)
def test_weighted_coefficients_are_those_of_the_package_irrcac(text: str, expected: tuple[float, ...]) -> None:
    rows = rows_of(read(text))
    levels = allalike.agreement(rows, domain="ordinal").coefficients()
    names = ("Gwet's AC2 (linear)", "Gwet's AC2 (quadratic)", "linear alpha", "interval alpha", "percent agreement")
    assert [levels[name] for name in names] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_the_weighted_kappa_of_two_workers_is_that_of_scikit_learn(weights: str, engine: Engine) -> None:
    said = draw(3)[:2]
    both = ~np.isnan(said).any(axis=0)
    domain = f"ordinal(levels={list(LEVELS)})"
    found = allalike.agreement(rows_of(said), domain=domain, engine=engine).coefficients()
    expected = cohen_kappa_score(*said[:, both], weights=weights, labels=LEVELS)
    assert found[f"Cohen's weighted kappa ({weights})"] == pytest.approx(expected, abs=1e-12)


def test_fleiss_kappa_is_scotts_pi_where_two_workers_answer_all_tasks() -> None:
    said = draw(4)[:2]
    one, other = said = said[:, ~np.isnan(said).any(axis=0)]
    shares = np.bincount(np.concatenate([one, other]).astype(int)) / (2 * len(one))
    chance, agreed = np.square(shares).sum(), (one == other).mean()
    found = allalike.agreement(rows_of(said), domain="categorical").coefficients()
    assert found["Fleiss' kappa"] == pytest.approx((agreed - chance) / (1 - chance), abs=1e-12)


def test_levels_that_are_words_have_no_interval_alpha() -> None:
    rows = [("ada", 1, "low"), ("bob", 1, "high"), ("ada", 2, "high"), ("bob", 2, "high")]
    found = allalike.agreement(rows, domain='ordinal(levels=["low", "middle", "high"])').coefficients()
    assert "ordinal alpha" in found
    assert "interval alpha" not in found


def test_every_coefficient_that_is_told_is_in_the_list_and_the_list_is_printed() -> None:
    told = {
        name
        for domain in ("categorical", "ordinal", "real")
        for name in allalike.agreement(rows_of(draw(1)[:2]), domain=domain).coefficients()
    }
    assert told <= set(COEFFICIENTS)
    out = run("agreement", "--list")[0]
    assert all(name in out for name in COEFFICIENTS)
