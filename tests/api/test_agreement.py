"""Agreement is what the literature says it is: against other packages, and against the definitions by the book."""

from itertools import combinations
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import Disk, Memory
from allalike._core.columns.column import Column
from allalike.api.agreement.label_pairs import MAX_SLOTS
from allalike.engines import Engine
from crowds.samples import Row, crowd, kind, sparse_crowd

# Of irrCAC 0.4.4, which cannot be installed beside a current scipy: raw.CAC(table, digits=15) finds gwet, fleiss,
# krippendorff and the share pa in these tables, a word per task and a mark per worker.
IRRCAC = (
    (
        ".3111. 3..... ..1..0 ..0010 .3333. .1.31. 3..... ..1111 .103.3 .00.0. .0...3 1.2... 0.30.0 .033.. 1..1..",
        (0.336039722858062, 0.249056105243396, 0.32282545242265, 0.487179487179487),
    ),
    (
        "00.2.0 3..3.3 1...1. ...00. .0103. 3..... 2.022. 1.01.3 0.3..3 33.3.3 0..2.2 13.3.. ..3... .3.3.1 010.2.",
        (0.382315297434661, 0.318558536435631, 0.311475409836065, 0.525641025641026),
    ),
    (
        "2..22. .00.20 1111.0 ...0.3 .1.002 ..003. ...320 .....1 .11..3 3.1... ..2.22 .3.330 .....1 ...0.2 3.0.32",
        (0.139371986094356, 0.135718600951472, 0.196692111959288, 0.353846153846154),
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


def rows_of(said: Any) -> list[Row]:
    return [(f"w{i}", f"t{j}", said[i, j].item()) for i, j in np.argwhere(~np.isnan(said))]


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
def test_alpha_of_classes_is_that_of_the_package_krippendorff(seed: int, engine: Engine) -> None:
    said = draw_table(seed)
    found = allalike.agreement(rows_of(said), domain="categorical", engine=engine)
    assert found.alpha == pytest.approx(krippendorff.alpha(said, level_of_measurement="nominal"), abs=1e-9)
    assert found.expected_from == "label totals"


@pytest.mark.parametrize("seed", range(5))
def test_alpha_of_numbers_is_that_of_the_package_krippendorff(seed: int, engine: Engine) -> None:
    said = draw_table(seed, classes=7) ** 2 / 3
    found = allalike.agreement(rows_of(said), domain="real", engine=engine)
    assert found.alpha == pytest.approx(krippendorff.alpha(said, level_of_measurement="interval"), abs=1e-9)
    assert found.percent is found.fleiss is found.ac1 is found.cohen is None


def test_numbers_far_from_zero_agree_as_much_as_near_it() -> None:
    said = np.round(draw_table(3, classes=9) * 8) / 64
    near, far = (allalike.agreement(rows_of(said + offset), domain="real").alpha for offset in (0.0, 2.0**30))
    assert far == pytest.approx(near, abs=1e-9)


@pytest.mark.parametrize(("text", "expected"), IRRCAC)
def test_fleiss_and_gwet_are_those_of_the_package_irrcac(text: str, expected: tuple[float, ...]) -> None:
    said = np.array([[np.nan if mark == "." else float(mark) for mark in task] for task in text.split()]).T
    found = allalike.agreement(rows_of(said), domain="categorical").summary()
    assert [found[name] for name in ("ac1", "fleiss", "alpha", "percent")] == pytest.approx(expected, abs=1e-9)


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


@pytest.mark.parametrize("domain", ["text", "set", "interval", "ranking", "vector", "probability", "custom"])
def test_alpha_of_every_kind_is_that_of_all_pairs(domain: str, engine: Engine) -> None:
    rows = crowd(domain, seed=2, n=4, m=8, missing=0.3)
    found = allalike.agreement(rows, domain=kind(domain), engine=engine)
    assert found.alpha == pytest.approx(by_the_book(rows, kind(domain)), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("domain", ["categorical", "real", "text", "vector"])
def test_the_effect_of_a_worker_is_what_alpha_is_without_her_answers(domain: str, seed: int) -> None:
    rows = sparse_crowd(domain, seed=seed) + [(f"v{w}", f"s{t}", x) for w, t, x in crowd(domain, seed=seed, n=4, m=5)]
    found = allalike.agreement(rows, domain=kind(domain))
    for worker, without, effect in found.workers[["worker", "alpha_without", "effect"]].itertuples(index=False):
        again = allalike.agreement([row for row in rows if row[0] != worker], domain=kind(domain))
        assert without == pytest.approx(again.alpha, abs=1e-9, nan_ok=True)
        assert effect == pytest.approx(found.alpha - again.alpha, abs=1e-9, nan_ok=True)


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
    assert [found.low, found.high] == pytest.approx(np.quantile(loop, [0.025, 0.975]), abs=0.15 * 2 * loop.std())


@pytest.mark.parametrize("domain", ["categorical", "real", "text", "ranking"])
def test_engines_and_blocks_and_the_order_of_rows_make_no_difference(domain: str) -> None:
    rows = crowd(domain, seed=6, n=5, m=30, missing=0.5)
    first, *others = (
        allalike.agreement(given, domain=kind(domain), engine=engine)
        for given, engine in ((rows, Memory()), (rows[::-1], Memory(block_answers=7)), (rows, Disk(partitions=4)))
    )
    for other in others:
        pd.testing.assert_frame_equal(other.workers, first.workers, rtol=1e-9, atol=1e-12)
        assert first.matrix is not None
        assert other.matrix is not None
        pd.testing.assert_frame_equal(other.matrix, first.matrix, rtol=1e-9, atol=1e-12)
        numbers, expected = (
            {name: value for name, value in each.summary().items() if isinstance(value, float)}
            for each in (other, first)
        )
        assert numbers == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert {"alpha", "low", "high", "expected_error"} <= set(numbers)


def test_alpha_of_many_classes_is_exact_and_the_effects_nearly() -> None:
    rng = np.random.default_rng(8)
    truth = (rng.pareto(1.0, 300) * 20).astype(int) % 500
    said = np.where(rng.random((4, 300)) < 0.6, truth, (rng.pareto(1.0, (4, 300)) * 20).astype(int) % 500).astype(float)
    assert len(np.unique(said)) > 2 * MAX_SLOTS
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
    assert found.low < found.alpha < found.high


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
    assert np.isnan([found.alpha, found.low, found.high]).all()
    assert found.workers["alpha_without"].isna().all()
    assert found.fleiss is None
    assert found.cohen is None
    assert found.summary()["alpha"] is None
    assert found.matrix is not None
    assert "unknown" in repr(found)


def test_unknown_distances_do_not_count_with_a_worker_nor_without_her() -> None:
    rng = np.random.default_rng(3)
    apart = rng.random((40, 40))
    apart[rng.random((40, 40)) < 0.15] = np.nan
    apart = apart + apart.T
    np.fill_diagonal(apart, 0.0)
    rows = [(worker, task, 5 * task + worker) for worker in range(5) for task in range(8)]
    found = allalike.agreement(rows, domain=allalike.Custom(distance=apart))
    assert np.isfinite(found.alpha)
    for worker, without in zip(found.workers["worker"], found.workers["alpha_without"], strict=True):
        again = allalike.agreement([row for row in rows if row[0] != worker], domain=allalike.Custom(distance=apart))
        assert without == pytest.approx(again.alpha, abs=1e-9)


def test_chance_gives_zero_and_opposition_less() -> None:
    rng = np.random.default_rng(1)
    chance = allalike.agreement(rows_of(rng.integers(0, 2, (4, 900)).astype(float)), domain="categorical")
    assert chance.low < 0 < chance.high
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
