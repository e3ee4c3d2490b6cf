"""What Spark reads on its executors is what memory reads: values, errors and their rows."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import allalike
from allalike import Categorical, Spark
from allalike.engines.routing import RoutingPlan
from allalike.engines.spark import shuffle as spark_shuffle
from allalike.errors import AllalikeError, InputError, LabelError
from files.for_spark import check, fail, same, table, with_label, written
from running.local_spark import SPARK, need_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = need_spark()

QUOTED = ["one", 'a "quote"', "two\nlines", "a, comma", " spaces ", '"', "a\r\n", "ünï", 'three\n\nlines, and\n"more"']
IDS: dict[str, list[Any]] = {
    "whole": [10, 9, -3, 0],
    "mixed": ["10", "007", "x", "-1"],
    "unicode": ["é", "z", "日本", "a b"],
    "large": [2**40, 5, -(2**50), 7],
}
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
# Labels of 90 answers, or of 400, their type in Parquet, and the domain where it is not recognised.
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
    "units": ([f"{n / 8:.3f} kg" for n in range(400)], None, None),
    "thousands": ([f"{1000 + 7 * n:,}" for n in range(400)], None, None),
    "dates": ([f"{1 + n % 28}/{1 + n % 12}/{1600 + n}" for n in range(400)], None, None),
    "lists": ([("cat", "cat;dog", "dog;owl", "owl")[n % 4] for n in range(400)], None, None),
    "orders": ([("cat;dog;owl", "dog;cat;owl", "owl;dog;cat")[n % 3] for n in range(400)], None, None),
    "scales": ([("never", "often", "always")[n % 3] for n in range(400)], None, None),
}
IN_TEXT = [name for name, (labels, _, domain) in LABELS.items() if domain is None and not isinstance(labels[0], list)]


def few_numbered(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    """Let so many different labels be numbered, at most."""
    monkeypatch.setattr(spark_shuffle, "RoutingPlan", partial(RoutingPlan, max_numbered_labels=few))


def covering(cases: list[Any], quick: int = 4) -> list[Any]:
    """Leave all but one of some cases for what takes long."""
    rows = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*row, marks=pytest.mark.long if place % quick else ()) for place, row in enumerate(rows)]


@pytest.mark.parametrize("ending", covering([".csv", ".parquet", ".tsv", ";.csv", ".csv.gz"], 5))
@pytest.mark.usefixtures("small_batches")
def test_files_give_what_they_give_in_memory(spark: Spark, tmp_path: Path, ending: str) -> None:
    gold = {"t1": "red", "t7": "blue", "nobody": "green"}
    path = written(table(repeats=True), tmp_path, ending)
    for repeats in ("first", "last"):
        check(spark, path, duplicates=repeats, gold=gold)


def test_a_data_frame_a_table_and_what_spark_wrote_are_read(
    spark: Spark, session: SparkSession, tmp_path: Path
) -> None:
    path = str(written(table(), tmp_path, ".parquet"))
    frame = session.read.parquet(path)
    frame.createOrReplaceTempView("some_answers")
    check(spark, "some_answers", path)
    frame.repartition(3).write.parquet(str(tmp_path / "folder.parquet"))
    check(spark, str(tmp_path / "folder.parquet"), path)
    same(allalike.discover(frame, engine="spark", method="P-TD"), allalike.discover(path, method="P-TD"))


@pytest.mark.parametrize("repeats", ["first", pytest.param("last", marks=pytest.mark.long)])
def test_the_order_of_a_data_frame_says_which_answer_was_first(
    spark: Spark, session: SparkSession, repeats: str
) -> None:
    answers = table(repeats=True)
    rows = [tuple(row.values()) for row in answers.to_pylist()]
    check(spark, session.createDataFrame(rows, answers.column_names), rows, duplicates=repeats)


@pytest.mark.parametrize("n", [9, pytest.param(400, marks=pytest.mark.long)])
@pytest.mark.usefixtures("small_batches")
def test_fields_of_several_lines_are_read_as_they_are(spark: Spark, tmp_path: Path, n: int) -> None:
    labels = [QUOTED[number % len(QUOTED)] for number in range(n)]
    path = written(with_label(labels), tmp_path, ".csv")
    check(spark, path, domain="categorical")


@pytest.mark.parametrize(("ids", "ending"), covering([(ids, end) for ids in IDS for end in (".csv", ".parquet")], 8))
def test_ids_are_what_they_are_in_memory(spark: Spark, tmp_path: Path, ids: str, ending: str) -> None:
    rows = [(worker, task, (k + j) % 2) for k, worker in enumerate(IDS[ids]) for j, task in enumerate(IDS[ids])]
    worker, task, label = (list(column) for column in zip(*rows, strict=True))
    check(spark, written(pa.table({"worker": worker, "task": task, "label": label}), tmp_path, ending))


@pytest.mark.long
@pytest.mark.parametrize("kind", list(TYPED))
def test_ids_of_all_types_are_read_from_parquet(spark: Spark, tmp_path: Path, kind: str) -> None:
    worker, task = (TYPED[kind].take(pa.array(places)) for places in (np.arange(9) % 3, np.arange(9) // 3))
    pq.write_table(pa.table({"worker": worker, "task": task, "label": list("xyxxyyxyy")}), tmp_path / "a.parquet")
    check(spark, str(tmp_path / "a.parquet"))


@pytest.mark.parametrize(
    ("kind", "ending"), covering([*((k, ".csv") for k in IN_TEXT), *((k, ".parquet") for k in LABELS)], 6)
)
def test_labels_of_all_types_are_recognised_as_in_memory(
    spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, ending: str
) -> None:
    if kind not in ("few whole numbers", "truth values", "scales"):  # which are told by 20 different ones
        few_numbered(monkeypatch, 2 if len(kind) % 2 else 10_000)
    labels, type_, domain = LABELS[kind]
    check(spark, written(with_label(labels, type_ if ending == ".parquet" else None), tmp_path, ending), domain=domain)


@pytest.mark.parametrize(
    ("odd", "said"),
    covering([("7 lb", "different units"), ("7", "none"), ("heavy", "'heavy'"), ("<7 kg", "'<7 kg'")]),
)
def test_labels_that_are_written_otherwise_are_asked_about(spark: Spark, tmp_path: Path, odd: str, said: str) -> None:
    labels = [*(f"{n / 8:.3f} kg" for n in range(399)), odd]
    assert said in fail(spark, written(with_label(labels), tmp_path, ".csv"))


@pytest.mark.parametrize("few", [2, 10_000])
@pytest.mark.usefixtures("small_batches")
def test_a_text_among_numbers_is_named(spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    few_numbered(monkeypatch, few)
    labels = [*(str(k / 8) for k in range(80)), "none", *(str(k / 8) for k in range(9))]
    path = written(with_label(labels), tmp_path, ".csv")
    for domain in (None, "real"):
        told = fail(spark, path, domain=domain)
        assert "row 81" in told
        assert "'none'" in told


def test_labels_that_do_not_fit_or_hardly_recur_are_refused(spark: Spark, tmp_path: Path) -> None:
    labels = [[1.0, 2.0]] * 50 + [[1.0]] + [[2.0, 2.0]] * 10
    with pytest.raises(LabelError):
        allalike.discover(written(with_label(labels), tmp_path, ".parquet"), domain="vector", engine=spark)
    assert "look like ids" in fail(spark, written(with_label([f"x{k}" for k in range(90)]), tmp_path, ".csv"))


@pytest.mark.parametrize("ending", covering([".parquet", ".csv"]))
@pytest.mark.usefixtures("small_batches")
def test_missing_values_are_refused_or_dropped(spark: Spark, tmp_path: Path, ending: str) -> None:
    holes = [None if k % 7 == 5 else "xy"[k % 2] for k in range(90)]
    without = written(with_label(holes), tmp_path, ending)
    assert "Row 6" in fail(spark, without)
    check(spark, without, missing="drop")
    for place, role in enumerate(("worker", "task")):
        answers = table(90)
        ids = [None if k in (40, 70) else value for k, value in enumerate(answers[role].to_pylist())]
        path = written(answers.set_column(place, role, pa.array(ids)), tmp_path, ending)
        assert f"Row 41 has no {role}" in fail(spark, path)
    assert "9 rows" in fail(spark, written(with_label([None] * 9, pa.string()), tmp_path, ending))


def test_a_zero_byte_in_an_id_is_named_by_its_row(spark: Spark, tmp_path: Path) -> None:
    answers = table(90)
    ids = [f"{value}\0" if k in (40, 70) else value for k, value in enumerate(answers["worker"].to_pylist())]
    path = written(answers.set_column(0, "worker", pa.array(ids)), tmp_path, ".parquet")
    assert "row 41 contains a zero byte" in fail(spark, path)


@pytest.mark.parametrize("ending", [".csv", pytest.param(".parquet", marks=pytest.mark.long)])
@pytest.mark.usefixtures("small_batches")
def test_labels_are_made_comparable_as_in_memory(spark: Spark, tmp_path: Path, ending: str) -> None:
    texts = ["The answer is 42.", "**42**", "42", "7 ", "no idea", "NA", "-1", "forty-two"]
    path = written(with_label([texts[k % len(texts)] for k in range(90)]), tmp_path, ending)
    how = {
        "domain": Categorical(extract="number"),
        "abstain_label": -1,
        "label_map": {"forty-two": 42},
        "na_values": ["NA"],
    }
    check(spark, path, missing="drop", gold={"t1": "It is 42.0"}, **how)
    fail(spark, path, **how)


@pytest.mark.long
def test_columns_are_recognised_and_named(spark: Spark, session: SparkSession, tmp_path: Path) -> None:
    other = table().rename_columns(["annotator", "item.id", "an `odd` name"])
    path = written(other, tmp_path, ".parquet")
    frame = session.read.parquet(str(path))
    for source in (path, frame):
        check(spark, source, path, columns={"label": "an `odd` name", "task": "item.id"})
    check(spark, frame, path)
    with pytest.raises(AllalikeError, match="'annotator'"):
        allalike.discover(frame.limit(5).drop("an `odd` name"), engine=spark)


@pytest.mark.parametrize("source", ["none.csv", "folder/none.csv", "nothing"])
def test_a_missing_file_or_table_is_named(spark: Spark, source: str) -> None:
    with pytest.raises(InputError, match=f"no file {source}"):
        allalike.discover(source, engine=spark)


def test_other_answers_are_read_here(spark: Spark, tmp_path: Path) -> None:
    check(spark, [tuple(row.values()) for row in table(90).to_pylist()])
    check(spark, table(90))
    check(spark, Path(written(table(90), tmp_path, ".csv")))
    (tmp_path / "a.jsonl").write_text('{"worker": 1, "task": 2, "label": "x"}\n' * 2)
    check(spark, tmp_path / "a.jsonl", domain="categorical")
    (tmp_path / "wide.csv").write_text("task,ada,bob,eve\n1,x,x,y\n2,y,y,y\n")
    check(spark, tmp_path / "wide.csv", wide="tasks")


@pytest.mark.long
def test_many_tasks_come_out_in_order(spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allalike.engines.spark.engine._TASKS_PER_SORT", 10)
    path = written(table(), tmp_path, ".parquet")
    check(spark, path)
    allalike.discover(f"file://{path}", engine=spark).save(tmp_path / "out", format="parquet")
    parts = sorted((tmp_path / "out" / "truth.parquet").iterdir())
    assert len(parts) > 2
    saved = pa.concat_tables([pq.read_table(part) for part in parts])["task"].to_pylist()
    assert saved == allalike.discover(path).truth["task"].tolist()


def compared(n: int = 300) -> list[tuple[Any, ...]]:
    """Draw comparisons of six models on two topics, some of them tied, by five judges."""
    rng = np.random.default_rng(3)
    rows: list[tuple[Any, ...]] = []
    for k in range(n):
        a, b = rng.permutation(6)[:2].tolist()
        gap = b - a + rng.normal(0, 1 + k % 5)
        said = "tie" if abs(gap) < 0.3 else "model_a" if gap > 0 else f"m{b}"
        rows.append((f"w{k % 5}", f"m{a}", f"m{b}", said, int(rng.integers(2))))
    return rows


JUDGED = ["judge", "model_a", "model_b", "winner", "topic"]
BALLOTS, PARTS = ["a>b>c", "b>a>c", "a>c", "c>a>b"], ["a>b", "b=c", "c>a>d", "d>b", "a>c=d"]
RANKED: dict[str, tuple[list[Any], list[str], dict[str, Any]]] = {
    "comparisons": (compared(), JUDGED, {}),
    "by topic": (compared(), JUDGED, {"domain": "ranking(rule='bradley terry')", "columns": {"task": "topic"}}),
    "ballots": ([(f"w{k}", BALLOTS[k % 4]) for k in range(30)], ["voter", "ranking"], {}),
    "in parts": (
        [(f"w{k % 4}", k // 30, PARTS[k % 5]) for k in range(90)],
        ["worker", "task", "label"],
        {"domain": "ranking", "duplicates": "add"},
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", RANKED)
def test_rankings_in_a_data_frame_are_those_of_memory(name: str) -> None:
    rows, names, options = RANKED[name]
    frame = SPARK.start().createDataFrame(rows, names).repartition(3)
    memory = pd.DataFrame(rows, columns=names)
    found = allalike.discover(frame, engine=SPARK, method="P-TD", **options)
    expected = allalike.discover(memory, method="P-TD", **options)
    pd.testing.assert_frame_equal(found.truth, expected.truth, rtol=1e-9)
    pd.testing.assert_frame_equal(found.workers, expected.workers, rtol=1e-9)
    assert found.summary.get("duplicates_added") == expected.summary.get("duplicates_added")
    assert found.summary["guessed"] == expected.summary["guessed"]
