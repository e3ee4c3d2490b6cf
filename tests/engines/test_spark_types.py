"""Ids and labels of all types, read on executors as they are in memory."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from allalike import Spark
from allalike.engines.spark import sources as spark_sources
from allalike.engines.spark.rows import Plan
from files.for_spark import check, with_label, written
from running.local_spark import need_spark

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = [*need_spark(), pytest.mark.long, pytest.mark.usefixtures("everything_on_executors")]

IDS: dict[str, list[Any]] = {
    "whole": [10, 9, -3, 0],
    "mixed": ["10", "007", "x", "-1"],
    "unicode": ["é", "z", "日本", "a b"],
    "large": [2**40, 5, -(2**50), 7],
}


@pytest.mark.parametrize("ids", list(IDS))
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_ids_are_what_they_are_in_memory(spark: Spark, tmp_path: Path, ids: str, ending: str) -> None:
    rows = [(worker, task, (k + j) % 2) for k, worker in enumerate(IDS[ids]) for j, task in enumerate(IDS[ids])]
    worker, task, label = (list(column) for column in zip(*rows, strict=True))
    check(spark, written(pa.table({"worker": worker, "task": task, "label": label}), tmp_path, ending))


TYPED = {
    "int8": pa.array([3, 1, 2], pa.int8()),
    "int32": pa.array([3, 1, 2**30], pa.int32()),
    "float": pa.array([1.5, -2.0, 0.0]),
    "boolean": pa.array([True, False, True]),
    "decimal": pa.array([Decimal("1.50"), Decimal("2.25"), Decimal("-3.00")]),
    "binary": pa.array([b"a", b"\xc3\xa9", b""]),
    "date": pa.array([date(2020, 1, 2), date(2019, 1, 2), date(2021, 1, 2)]),
    "dictionary": pa.array(["x", "y", "x"]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", list(TYPED))
def test_ids_of_all_types_are_read_from_parquet(spark: Spark, tmp_path: Path, kind: str) -> None:
    worker, task = (TYPED[kind].take(pa.array(places)) for places in (np.arange(9) % 3, np.arange(9) // 3))
    pq.write_table(pa.table({"worker": worker, "task": task, "label": list("xyxxyyxyy")}), tmp_path / "a.parquet")
    check(spark, str(tmp_path / "a.parquet"))


LABELS: dict[str, tuple[list[Any], Any, str | None]] = {
    "truth values": ([True, False, False] * 30, None, None),
    "few whole numbers": ([1, 2, 3] * 30, pa.int16(), None),
    "many whole numbers": (list(range(90)), None, None),
    "numbers": ([k / 7 for k in range(90)], None, None),
    "decimals": ([Decimal(k) / 4 for k in range(90)], pa.decimal128(9, 2), None),
    "rankings": ([["a", "b", "c"], ["b", "a", "c"], ["c", "b", "a"]] * 30, None, None),
    "rankings as text": (["a>b>c", "b>a>c", "c>b>a"] * 30, None, None),
    "sets": ([["a"], ["b", "c"], []] * 30, pa.list_(pa.string()), "set"),
    "vectors": ([[k / 3, 1.0] for k in range(90)], None, "vector"),
    "intervals": ([[[k / 3, k / 3 + 2]] for k in range(90)], None, "interval"),
    "texts": ([f"the text number {k}" for k in range(90)], None, None),
    "binary": ([b"a", b"b"] * 45, None, "categorical"),
}


def with_few(kinds: Iterable[str]) -> list[tuple[str, int]]:
    """Pair kinds of label with how many different ones are few; to tell few whole numbers, 20 must be."""
    return [(kind, few) for kind in kinds for few in (2, 10_000) if (kind, few) != ("few whole numbers", 2)]


@pytest.mark.parametrize(("kind", "few"), [*zip(LABELS, [10_000, 10_000, 2] * 4, strict=True), ("texts", 10_000)])
def test_labels_of_all_types_are_read_from_parquet(
    spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, few: int
) -> None:
    monkeypatch.setattr(
        spark_sources, "Plan", lambda n_partitions, **more: Plan(n_partitions, max_numbered_labels=few, **more)
    )
    labels, type_, domain = LABELS[kind]
    check(spark, written(with_label(labels, type_), tmp_path, ".parquet"), domain=domain)


TEXTS = ["few whole numbers", "many whole numbers", "numbers", "rankings as text", "texts"]


@pytest.mark.parametrize(("kind", "few"), with_few(TEXTS))
def test_labels_in_text_files_are_guessed_as_in_memory(
    spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, few: int
) -> None:
    monkeypatch.setattr(
        spark_sources, "Plan", lambda n_partitions, **more: Plan(n_partitions, max_numbered_labels=few, **more)
    )
    labels, _, _ = LABELS[kind]
    check(spark, written(with_label(labels), tmp_path, ".csv" if few == 2 else "*.csv"))
