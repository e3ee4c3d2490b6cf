"""Agreement and its coefficients are those of packages that people know, and of the definitions by the book."""

from itertools import combinations
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

import allalike
from allalike import Disk, Memory
from allalike._core.columns.column import Column
from allalike.engines import Engine
from allalike.reliability.alpha import MAX_COORDINATES
from allalike.reliability.coefficients import COEFFICIENTS
from crowds.samples import Row, crowd, kind, sparse_crowd
from golden.record import differences, plain
from running.program import run

LEVELS = (1, 2, 3, 4, 5)

# Of irrCAC 0.4.4, which cannot be installed beside a current scipy: raw.CAC(table, weights=..., digits=15) finds these
# coefficients in these tables, a word per task and a mark per worker.
CLASSES = ("ac1", "fleiss", "alpha", "percent")
ORDERED = (
    *("Gwet's AC2 (linear)", "Gwet's AC2 (quadratic)", "linear alpha", "interval alpha"),  # pa is that of identity
    "percent agreement",
)
IRRCAC = (
    (
        CLASSES,
        ".3111. 3..... ..1..0 ..0010 .3333. .1.31. 3..... ..1111 .103.3 .00.0. .0...3 1.2... 0.30.0 .033.. 1..1..",
        (0.336039722858062, 0.249056105243396, 0.32282545242265, 0.487179487179487),
    ),
    (
        CLASSES,
        "00.2.0 3..3.3 1...1. ...00. .0103. 3..... 2.022. 1.01.3 0.3..3 33.3.3 0..2.2 13.3.. ..3... .3.3.1 010.2.",
        (0.382315297434661, 0.318558536435631, 0.311475409836065, 0.525641025641026),
    ),
    (
        CLASSES,
        "2..22. .00.20 1111.0 ...0.3 .1.002 ..003. ...320 .....1 .11..3 3.1... ..2.22 .3.330 .....1 ...0.2 3.0.32",
        (0.139371986094356, 0.135718600951472, 0.196692111959288, 0.353846153846154),
    ),
    (
        ORDERED,
        "1455 2354 333. 4.33 5231 1112 ..21 21.1 .122 455. .453 55.4 423. .454 .55. 54.4 .445 .423",
        (0.426543647977289, 0.609919197548064, 0.378781766841468, 0.542772861356933, 0.296296296296296),
    ),
    (
        ORDERED,
        "14.3 2222 34.5 4.45 51.2 1221 54.5 ..54 221. .212 .4.. 2434 1... 5555 3123 24.2 .35. 3344",
        (0.360139031519078, 0.537013450964555, 0.380632790028763, 0.538188976377952, 0.291666666666667),
    ),
)


def draw_table(seed: int, *, n: int = 6, m: int = 14, classes: int = 4, missing: float = 0.4) -> Any:
    """Draw a table with a row per worker, a column per task and NaN for what is missing."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, m)
    said = np.where(rng.random((n, m)) < 0.6, truth, rng.integers(0, classes, (n, m))).astype(float)
    said[rng.random((n, m)) < missing] = np.nan
    said[:2, 0] = [0, 1]
    return said


def draw_levels(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    said = np.clip(rng.integers(1, 6, 40) + rng.integers(-1, 2, (5, 40)), 1, 5).astype(float)
    said[rng.random(said.shape) < 0.4] = np.nan
    said[0, :5] = LEVELS
    return said


def rows_of(said: Any) -> list[Row]:
    """List answers; whole numbers are whole."""
    whole = np.nanmax(said % 1) == 0
    return [
        (f"w{i}", f"t{j}", int(said[i, j]) if whole else said[i, j].item()) for i, j in np.argwhere(~np.isnan(said))
    ]


def by_the_book(rows: list[Row], domain: Any) -> float:
    """Compute alpha from all pairs of pairable answers."""
    run = Memory(block_answers=10**6).load(allalike.read(rows, domain=domain))
    block, measure = run.blocks[0], run.kernels
    kept = np.flatnonzero(block.to_answers(block.sizes > 1))
    label, task = measure.restore_answers(block, kept), block.to_answers(np.arange(block.n_tasks))[kept]
    left, right = np.nonzero(~np.eye(len(task), dtype=bool))
    same = task[left] == task[right]
    near = measure.distance_between(label[left[same]], label[right[same]])
    far = measure.guess_distances(label[left[~same]], label[right[~same]])
    observed = (near / (block.sizes[task[left[same]]] - 1)).sum() / len(task)
    return float(1 - observed / np.concatenate([near, far]).mean())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("domain", "level"),
    [("categorical", "nominal"), ("real", "interval"), ("ordinal", "ordinal"), ("ordinal", "interval")],
)
def test_alphas_are_those_of_the_package_krippendorff(domain: str, level: Any, seed: int, engine: Engine) -> None:
    tables = {"categorical": draw_table(seed), "real": draw_table(seed, classes=7) ** 2 / 3}
    said = tables.get(domain, draw_levels(seed))
    found = allalike.agreement(rows_of(said), domain=domain, engine=engine)
    alpha = found.coefficients()[f"{level} alpha"] if domain == "ordinal" else found.alpha
    assert alpha == pytest.approx(krippendorff.alpha(said, level_of_measurement=level), abs=1e-10)
    assert domain != "real" or (found.percent is found.fleiss is found.ac1 is found.cohen is None)


def test_numbers_far_from_zero_agree_as_much_as_near_it() -> None:
    said = np.round(draw_table(3, classes=9) * 8) / 64
    near, far = (allalike.agreement(rows_of(said + offset), domain="real").alpha for offset in (0.0, 2.0**30))
    assert far == pytest.approx(near, abs=1e-9)


@pytest.mark.parametrize(("names", "text", "expected"), IRRCAC)
def test_coefficients_are_those_of_the_package_irrcac(
    names: tuple[str, ...], text: str, expected: tuple[float, ...]
) -> None:
    said = np.array([[np.nan if mark == "." else float(mark) for mark in task] for task in text.split()]).T
    found = allalike.agreement(rows_of(said), domain="categorical" if names == CLASSES else "ordinal")
    told = {**found.summary(), **found.coefficients()}
    assert [told[name] for name in names] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_cohens_kappa_is_the_mean_over_pairs_with_common_tasks(seed: int) -> None:
    said, kappas = draw_table(seed, m=20), []
    for one, other in combinations(said, 2):
        common = ~np.isnan(one) & ~np.isnan(other)
        if common.sum() >= 5:
            left, right = one[common], other[common]
            chance = sum((left == c).mean() * (right == c).mean() for c in range(4))
            kappas.append(((left == right).mean() - chance) / (1 - chance))
    found = allalike.agreement(rows_of(said), domain="categorical")
    assert found.cohen == pytest.approx(np.mean(kappas), abs=1e-12)
    assert found.summary()["cohen_pairs"] == len(kappas)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_the_weighted_kappa_of_two_workers_is_that_of_scikit_learn(weights: str, engine: Engine) -> None:
    said = draw_levels(3)[:2]
    both = ~np.isnan(said).any(axis=0)
    domain = f"ordinal(levels={list(LEVELS)})"
    found = allalike.agreement(rows_of(said), domain=domain, engine=engine).coefficients()
    expected = cohen_kappa_score(*said[:, both], weights=weights, labels=LEVELS)
    assert found[f"Cohen's weighted kappa ({weights})"] == pytest.approx(expected, abs=1e-12)


def test_levels_that_are_words_have_no_interval_alpha() -> None:
    rows = [("ada", 1, "low"), ("bob", 1, "high"), ("ada", 2, "high"), ("bob", 2, "high")]
    found = allalike.agreement(rows, domain='ordinal(levels=["low", "middle", "high"])').coefficients()
    assert "ordinal alpha" in found
    assert "interval alpha" not in found


def test_every_coefficient_that_is_told_is_in_the_list_and_the_list_is_printed() -> None:
    told = {
        name
        for domain in ("categorical", "ordinal", "real")
        for name in allalike.agreement(rows_of(draw_levels(1)[:2]), domain=domain).coefficients()
    }
    assert told <= set(COEFFICIENTS)
    out = run("list", "coefficients")[0]
    assert all(name in out for name in COEFFICIENTS)


@pytest.mark.parametrize("domain", ["text", "set", "interval", "ranking", "vector", "probability", "custom"])
def test_alpha_of_every_kind_is_that_of_all_pairs(domain: str, engine: Engine) -> None:
    rows = crowd(domain, seed=2, n=4, m=8, missing=0.3)
    found = allalike.agreement(rows, domain=kind(domain), engine=engine)
    assert found.alpha == pytest.approx(by_the_book(rows, kind(domain)), abs=1e-9)


def check_effects(rows: list[Row], domain: Any) -> float:
    """Compare the effect of each worker with what alpha is without her answers, and return alpha."""
    found = allalike.agreement(rows, domain=domain)
    for worker, without, effect in found.workers[["worker", "alpha_without", "effect"]].itertuples(index=False):
        again = allalike.agreement([row for row in rows if row[0] != worker], domain=domain)
        assert without == pytest.approx(again.alpha, abs=1e-9, nan_ok=True)
        assert effect == pytest.approx(found.alpha - again.alpha, abs=1e-9, nan_ok=True)
    return found.alpha


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("domain", ["categorical", "real", "text", "vector"])
def test_the_effect_of_a_worker_is_what_alpha_is_without_her_answers(domain: str, seed: int) -> None:
    more = [(f"v{w}", f"s{t}", x) for w, t, x in crowd(domain, seed=seed, n=4, m=5)]
    check_effects(sparse_crowd(domain, seed=seed) + more, kind(domain))


def test_unknown_distances_do_not_count_with_a_worker_nor_without_her() -> None:
    rng = np.random.default_rng(3)
    apart = rng.random((40, 40))
    apart[rng.random((40, 40)) < 0.15] = np.nan
    apart = apart + apart.T
    np.fill_diagonal(apart, 0.0)
    rows = [(worker, task, 5 * task + worker) for worker in range(5) for task in range(8)]
    assert np.isfinite(check_effects(rows, allalike.Custom(distance=apart)))


def test_the_limits_are_those_of_a_plain_loop_over_resamples_of_many_tasks() -> None:
    rng = np.random.default_rng(5)
    truth = rng.random(3000) < 0.2
    said = np.where(rng.random((5, 3000)) < 0.8, truth, ~truth).astype(int)
    ones = said.sum(axis=0)

    def alpha(ones: Any) -> float:
        n, total = 5 * len(ones), ones.sum()
        return float(1 - (2 * ones * (5 - ones) / 4).sum() / n / (2 * total * (n - total) / (n * (n - 1))))

    loop = np.array([alpha(rng.choice(ones, len(ones))) for _ in range(2000)])
    answers = pd.DataFrame(
        {"worker": np.repeat(range(5), 3000), "task": np.tile(range(3000), 5), "label": said.ravel()}
    )
    found = allalike.agreement(answers, domain="categorical")
    assert found.alpha == pytest.approx(alpha(ones), abs=1e-12)
    assert [found.ci_low, found.ci_high] == pytest.approx(np.quantile(loop, [0.025, 0.975]), abs=0.15 * 2 * loop.std())


@pytest.mark.parametrize("domain", ["categorical", "real", "text", "ranking"])
def test_engines_and_blocks_and_the_order_of_rows_make_no_difference(domain: str) -> None:
    rows = crowd(domain, seed=6, n=5, m=30, missing=0.5)
    first, *others = (
        allalike.agreement(given, domain=kind(domain), engine=engine)
        for given, engine in ((rows, Memory()), (rows[::-1], Memory(block_answers=7)), (rows, Disk(partitions=4)))
    )
    assert first.matrix is not None
    told, *again = (plain([each.workers, each.matrix, each.summary()]) for each in (first, *others))
    assert not [where for each in again for where in differences(told, each, 1e-9)]


def test_alpha_of_many_classes_is_exact_and_the_effects_nearly() -> None:
    rng = np.random.default_rng(8)
    truth = (rng.pareto(1.0, 300) * 20).astype(int) % 500
    said = np.where(rng.random((4, 300)) < 0.6, truth, (rng.pareto(1.0, (4, 300)) * 20).astype(int) % 500).astype(float)
    assert len(np.unique(said)) > 2 * MAX_COORDINATES
    found = allalike.agreement(rows_of(said), domain="categorical")
    assert found.alpha == pytest.approx(krippendorff.alpha(said, level_of_measurement="nominal"), abs=1e-9)
    without = krippendorff.alpha(said[1:], level_of_measurement="nominal")
    assert found.workers["effect"][0] == pytest.approx(found.alpha - without, abs=1e-4)


def test_a_sample_of_pairs_says_its_size_and_its_error() -> None:
    rows = crowd("text", seed=9, n=4, m=120)
    found = allalike.agreement(rows, domain="text")
    assert found.expected_from == "a sample of 20,000 pairs"
    labels = [label for *_, label in rows]
    run = found.run
    codes = run.encoding.encode(Column.of_objects("label", labels))
    left, right = np.triu_indices(len(codes), 1)
    exact = run.kernels.distance_between(codes[left], codes[right]).mean()
    assert 0 < found.found.error < 0.01
    assert found.expected == pytest.approx(exact, abs=4 * found.found.error)
    assert found.ci_low < found.alpha < found.ci_high
    assert allalike.agreement(rows_of(draw_table(0)), domain="categorical").expected_from == "label totals"


@pytest.mark.parametrize("domain", ["categorical", "real", "text"])
def test_more_answers_than_fit_are_a_sample_of_whole_tasks_that_is_told(domain: str, monkeypatch: Any) -> None:
    rows = crowd(domain, seed=9, n=5, m=200)
    monkeypatch.setattr("allalike.reliability.agreement.MAX_ANSWERS", 400)
    samples = [allalike.agreement(rows, domain=domain, engine=engine) for engine in (Memory(), Disk(partitions=3))]
    for found in samples:
        summary = found.summary()
        assert 40 < summary["sampled_tasks"] == summary["paired_answers"] / 5 < 120
        assert f"{found.sampled_tasks} tasks" in repr(found)
    assert samples[0].alpha == pytest.approx(samples[1].alpha, abs=1e-9)


ODD: dict[str, list[Row]] = {
    "one answer": [("ada", 1, "x")],
    "one worker": [("ada", 1, "x"), ("ada", 2, "y")],
    "one answer a task": [("ada", 1, "x"), ("bob", 2, "y")],
    "one class": [("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "x"), ("bob", 2, "x")],
    "equal numbers": [(worker, task, 0.1) for worker in "abc" for task in range(3)],
    "equal texts": [(worker, task, "one and two") for worker in "abc" for task in range(3)],
}


@pytest.mark.parametrize("what", ODD)
def test_what_cannot_be_known_is_nan_or_none(what: str, engine: Engine) -> None:
    domain = {"equal numbers": "real", "equal texts": "text"}.get(what, "categorical")
    found = allalike.agreement(ODD[what], domain=domain, engine=engine)
    assert np.isnan([found.alpha, found.ci_low, found.ci_high]).all()
    assert found.workers["alpha_without"].isna().all()
    assert found.fleiss is None
    assert found.cohen is None
    assert found.summary()["alpha"] is None
    assert found.matrix is not None
    assert "unknown" in repr(found)


def test_chance_gives_zero_and_opposition_less() -> None:
    rng = np.random.default_rng(1)
    chance = allalike.agreement(rows_of(rng.integers(0, 2, (4, 900)).astype(float)), domain="categorical")
    assert chance.ci_low < 0 < chance.ci_high
    opposed = np.arange(20) % 2
    assert allalike.agreement(rows_of(np.stack([opposed, 1.0 - opposed])), domain="categorical").alpha < -0.9


def test_groups_are_measured_alone(engine: Engine) -> None:
    table = pd.DataFrame(rows_of(draw_table(2)), columns=["worker", "task", "label"])
    table["page"] = table["task"].str[-1].isin([*"02468"]).map({True: "even", False: "odd"})
    found = allalike.agreement(table, domain="categorical", by="page", engine=engine)
    for page, part in table.groupby("page"):
        assert found[str(page)].alpha == pytest.approx(
            allalike.agreement(part.drop(columns="page"), domain="categorical").alpha
        )
