"""Every method finds on Spark what it finds in memory, and so does every kind of label."""

import warnings

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import METHODS, Memory
from allalike._core.columns.values import frame_of
from allalike.checks import check_answers
from allalike.engines.spark.engine import SparkRun
from allalike.errors import ConvergenceWarning
from crowds.copiers import attack, check_alike, rows_of, scattered
from crowds.field_records import GOLD, KINDS, check_alone, goods
from crowds.samples import crowd, kind
from examples.method import Soft
from running.local_spark import SPARK, need_spark
from running.updates import assert_same, flat

pytestmark = need_spark()
OTHERS = [("iP-TD", "boxes"), ("auto", "record"), ("DS", "ordinal"), ("OA", "vector"), ("P-TD", "bitmap")]


@pytest.mark.parametrize(  # the golden record has every method and label type
    ("method", "domain"), [("auto", "categorical"), *(pytest.param(*case, marks=pytest.mark.long) for case in OTHERS)]
)
def test_spark_finds_what_memory_finds(method: str, domain: str) -> None:
    rows = crowd(domain, seed=1, n=6, m=12, missing=0.2)
    gold = list({task: label for _, task, label in reversed(rows)}.items())[:5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        expected, found = (
            allalike.discover(rows, domain=kind(domain), method=method, engine=engine, gold=gold)
            for engine in (Memory(), SPARK)
        )
    assert found.run.shards.getNumPartitions() == 3  # type: ignore[attr-defined]
    pd.testing.assert_frame_equal(found.workers, expected.workers, rtol=1e-9, atol=1e-12)
    columns = ["label", "unweighted"] if domain in ("vector", "bitmap", "probability") else []
    for column in columns:
        for one, other in zip(found.truth[column], expected.truth[column], strict=True):
            assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
    left, right = (result.truth.drop(columns=columns) for result in (found, expected))
    pd.testing.assert_frame_equal(left, right, rtol=1e-9, atol=1e-12)
    assert flat(found.summary["gold"]) == pytest.approx(flat(expected.summary["gold"]))
    assert found.summary["iterations"] == expected.summary["iterations"]
    assert found._rated.keys() == expected._rated.keys()
    for name, table in expected._rated.items():
        pd.testing.assert_frame_equal(frame_of(found._rated[name]), frame_of(table), rtol=1e-9, atol=1e-12)


def test_a_method_of_one_file_finds_on_spark_what_it_finds_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, Soft.name, Soft)
    test_spark_finds_what_memory_finds(Soft.name, "real")


@pytest.mark.long
def test_fields_are_weighed_on_spark_as_they_are_alone() -> None:
    check_alone(goods(), KINDS, "iP-TD", SPARK, GOLD)


@pytest.mark.long
def test_copies_and_empty_answers_are_found_on_spark() -> None:
    _, said = attack(4)
    rows = rows_of(np.concatenate([said, np.zeros((2, 100), np.int64)]))
    expected, found = (allalike.discover(rows, engine=engine) for engine in (Memory(), SPARK))
    pd.testing.assert_frame_equal(found.groups, expected.groups, rtol=1e-9, atol=1e-12)
    pd.testing.assert_frame_equal(found.workers, expected.workers, rtol=1e-9, atol=1e-12)
    assert found.groups["members"].tolist() == ["w007; w008; w009; w010"]
    assert found.workers["uninformative"].sum() == 2


@pytest.mark.long
def test_copies_are_found_on_spark_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = scattered("categorical")
    whole = allalike.discover(rows, domain="categorical")
    monkeypatch.setattr(SparkRun, "pair_memory", 100_000)
    check_alike(allalike.discover(rows, domain="categorical", engine=SPARK), whole)


@pytest.mark.parametrize("domain", ["categorical", "real", "text"])
def test_workers_agree_as_much_on_spark_as_in_memory(domain: str) -> None:
    rows = crowd(domain, seed=2, n=5, m=30, missing=0.5)
    expected, found = (allalike.agreement(rows, domain=kind(domain), engine=engine) for engine in (Memory(), SPARK))
    pd.testing.assert_frame_equal(found.workers, expected.workers, rtol=1e-9, atol=1e-12)
    for name in ("alpha", "ci_low", "ci_high", "expected_error", "percent", "fleiss", "ac1", "cohen"):
        if (value := expected.summary()[name]) is not None:
            assert found.summary()[name] == pytest.approx(value, rel=1e-9), name
    assert found.expected_from == expected.expected_from


def test_spark_has_the_same_doubts() -> None:
    rows = [*crowd("categorical", seed=1, n=3, m=12), *crowd("categorical", seed=1, n=3, m=12)[:3], ("w000", "s", 0)]
    runs = [engine.load(allalike.read(rows, domain="categorical")) for engine in (Memory(), SPARK)]
    assert check_answers(runs[0]) == check_answers(runs[1]) != []


def test_a_result_on_spark_is_updated() -> None:
    rows = crowd("categorical", seed=2, n=5, m=20)
    result = allalike.discover(rows[:-9], domain="categorical", engine=SPARK, method="iP-TD").update(rows[-9:])
    assert result.summary["engine"] == "spark"
    assert_same(result, allalike.discover(rows, domain="categorical", method="iP-TD"))
