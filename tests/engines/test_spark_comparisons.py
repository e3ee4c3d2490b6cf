"""Comparisons, and answers in parts, are in Spark's data frames what they are in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike.errors import InputError
from running.local_spark import SPARK, need_spark

pytestmark = [*need_spark(), pytest.mark.long]

NAMES = ["judge", "model_a", "model_b", "winner", "topic"]


def drawn(n: int) -> list[tuple[Any, ...]]:
    """Draw comparisons of six models on two topics, some of them tied, by five judges."""
    rng = np.random.default_rng(3)
    rows: list[tuple[Any, ...]] = []
    for k in range(n):
        a, b = rng.permutation(6)[:2].tolist()
        gap = b - a + rng.normal(0, 1 + k % 5)
        said = "tie" if abs(gap) < 0.3 else "model_a" if gap > 0 else f"m{b}"
        rows.append((f"w{k % 5}", f"m{a}", f"m{b}", said, int(rng.integers(2))))
    return rows


def same(rows: list[tuple[Any, ...]], names: list[str], **options: Any) -> None:
    frame = SPARK.start().createDataFrame(rows, names).repartition(3)
    table = pd.DataFrame(rows, columns=names)
    found, expected = allalike.discover(frame, engine=SPARK, **options), allalike.discover(table, **options)
    pd.testing.assert_frame_equal(found.truth, expected.truth, rtol=1e-9)
    pd.testing.assert_frame_equal(found.workers, expected.workers, rtol=1e-9)
    assert found.summary.get("repeats_added") == expected.summary.get("repeats_added")
    assert found.summary["guessed"] == expected.summary["guessed"]


@pytest.mark.parametrize("options", [{"domain": "ranking(rule='bradley terry')", "columns": {"task": "topic"}}, {}])
def test_comparisons_in_a_data_frame_are_those_of_memory(options: dict[str, Any]) -> None:
    same(drawn(300), NAMES, method="P-TD", **options)


def test_ballots_in_a_data_frame_are_one_task_as_in_memory() -> None:
    ballots = ["a>b>c", "b>a>c", "a>c", "c>a>b"]
    same([(f"w{k}", ballots[k % 4]) for k in range(30)], ["voter", "ranking"], method="P-TD")


def test_a_comparison_that_cannot_be_is_told() -> None:
    frame = SPARK.start().createDataFrame([("w", "m1", "m2", "m9", 1)], NAMES)
    with pytest.raises(InputError, match="A row of the data frame: the winner is 'm9', which is neither 'm1' nor 'm2'"):
        allalike.discover(frame, engine=SPARK)


def test_answers_in_parts_are_added_up_as_in_memory() -> None:
    labels = ["a>b", "b=c", "c>a>d", "d>b", "a>c=d"]
    rows = [(f"w{k % 4}", k // 30, labels[k % 5]) for k in range(90)]
    same(rows, ["worker", "task", "label"], domain="ranking", repeats="add", method="P-TD")
