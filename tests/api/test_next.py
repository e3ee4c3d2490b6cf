"""What to do next: which tasks to ask, what it gains, and what fewer answers would give."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import Disk
from allalike.errors import OptionError, UnsupportedError
from allalike.methods.auto.sureness.next_labels import expect_gains
from crowds.samples import crowd


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    """Return the benchmark, whose crowds can be asked."""
    path = Path(__file__).parents[2] / "benchmarks" / "trust_next.py"
    spec = importlib.util.spec_from_file_location("trust_next", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["trust_next"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("number", [2, pytest.param(4, marks=pytest.mark.long)])
def test_asking_the_least_sure_saves_a_fifth_of_the_answers(benchmark: ModuleType, number: int) -> None:
    crowds = [(2, 0.0, seed) for seed in range(number)]
    assert benchmark.find_saved(crowds, 2, 4, tasks=100, share=0.2) > 0.19


@pytest.mark.parametrize("k", [2, 3])
def test_a_gain_is_what_many_draws_give(k: int) -> None:
    rng = np.random.default_rng(k)
    table, odds = rng.dirichlet(np.ones(k), 4), np.full(4, 1.2)
    right = np.exp(1.2) / (np.exp(1.2) + k - 1)
    for q, gain in zip(table, expect_gains(table, odds), strict=True):
        draws = []
        for answers in (1, 3, 5):
            truth = rng.choice(k, 40_000, p=q)
            given = rng.random((40_000, answers)) < right
            said = np.where(given, truth[:, None], (truth[:, None] + rng.integers(1, k, given.shape)) % k)
            votes = (said[:, :, None] == np.arange(k)).sum(axis=1)
            after = q * np.exp(1.2 * votes)
            draws.append(((after.max(axis=1) / after.sum(axis=1)).mean() - q.max()) / answers)
        assert gain == pytest.approx(max(draws), abs=0.006)


def test_a_gain_is_largest_where_nothing_is_known_and_none_where_workers_guess() -> None:
    table = np.array([[0.25, 0.25, 0.25, 0.25], [0.4, 0.3, 0.2, 0.1], [0.9, 0.1, 0, 0], [1, 0, 0, 0]])
    gains = expect_gains(table, np.full(4, 1.5))
    assert (np.diff(gains) < 0).all()
    assert gains[-1] == pytest.approx(0, abs=1e-12)
    assert expect_gains(table, np.zeros(4)) == pytest.approx(0, abs=1e-12)


def test_the_least_sure_come_first_and_what_is_known_is_not_asked() -> None:
    rows = crowd("categorical", seed=0, missing=0.2)
    result = allalike.discover(rows)
    table = result.next(1000)
    assert list(table) == ["task", "confidence", "answers", "gain"]
    assert table["confidence"].round(9).is_monotonic_increasing
    assert set(table["task"]) == set(result.truth["task"])
    assert result.next(3)["task"].tolist() == table["task"][:3].tolist()
    assert (table["gain"] >= 0).all()
    first = table["task"][0]
    known = allalike.discover(rows, gold={first: result.truth["label"][0]}, min_confidence=0.99)
    assert first not in known.next(1000)["task"].tolist()
    assert len(known.next(1000)) == len(table) - 1


@pytest.mark.parametrize("domain", ["real", "ranking"])
def test_other_labels_are_asked_by_support_and_answers(domain: str) -> None:
    table = allalike.discover(crowd(domain, seed=0, missing=0.3)).next(1000)
    assert table["gain"].isna().all()
    order = table[["support", "answers"]].fillna(0).round(9)
    assert order.equals(order.sort_values(["support", "answers"], kind="stable"))


def test_the_tasks_are_the_same_on_disk_and_in_a_file(tmp_path: Path) -> None:
    rows = crowd("categorical", seed=1, missing=0.2)
    expected = allalike.discover(rows).next(1000)
    pd.testing.assert_frame_equal(allalike.discover(rows, engine=Disk()).next(1000), expected)
    allalike.discover(rows).save(tmp_path)
    assert pd.read_csv(tmp_path / "next.csv")["task"].tolist() == expected["task"].tolist()


def test_more_answers_are_expected_to_make_truths_better_and_do_so_even_more(benchmark: ModuleType) -> None:
    drawn = benchmark.Crowd(3, 0.0, seed=2, tasks=300, workers=9)
    rows = drawn.begin(9)
    result = allalike.discover(rows, domain="categorical")
    curve = result.curve().set_index("answers_per_task")["expected_accuracy"]
    assert curve.index.tolist() == list(range(1, 10))
    assert curve.is_monotonic_increasing
    assert curve[9] == pytest.approx(result.truth["confidence"].mean(), abs=1e-3)
    thirds = (rows[first : first + 900] for first in (0, 900, 1800))
    few = [drawn.accuracy(allalike.discover(third, domain="categorical")) for third in thirds]
    assert curve[1] > 1 / 3
    assert np.mean(few) - 0.15 < curve[3] < np.mean(few)  # cautious, for errors may be shared
    assert curve[9] < drawn.accuracy(result)


def test_what_cannot_be_told_is_said() -> None:
    result = allalike.discover(crowd("real", seed=0))
    with pytest.raises(UnsupportedError, match="does not say how probably these truths are right"):
        result.curve()
    with pytest.raises(OptionError, match="n is -1. It must be a whole number, at least 0"):
        result.next(-1)
    assert result.next(0).empty


def test_one_answer_has_a_curve_and_a_next_task() -> None:
    for rows in ([("a", 1, "x"), ("b", 2, "y")], [("a", 1, "x"), ("b", 1, "y")]):
        result = allalike.discover(rows, domain="categorical")
        assert result.next()["confidence"].between(0, 1).all()
        assert result.curve()["expected_accuracy"].between(0, 1).all()
