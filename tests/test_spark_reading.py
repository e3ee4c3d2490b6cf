"""What Spark reads on its executors is what memory reads."""

from __future__ import annotations

import gzip
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import allalike
from allalike import Categorical, Memory, Spark
from allalike.engines.spark import sources as spark_sources
from allalike.engines.spark.rows import Plan
from allalike.errors import AllalikeError, InputError, LabelError, UnsupportedError
from local_spark import SPARK, need_spark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

pytestmark = need_spark()

N = 400


@pytest.fixture(scope="session")
def spark() -> Spark:
    return SPARK


@pytest.fixture(scope="session")
def session(spark: Spark) -> SparkSession:
    return spark.start()


@pytest.fixture(autouse=True)
def everything_on_executors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_sources, "_MAX_DRIVER_BYTES", 0)


@pytest.fixture
def small_splits(session: SparkSession) -> Iterator[None]:
    """Have files cut into splits of 1,500 bytes, and lines handed over a few at a time."""
    settings = {"spark.sql.files.maxPartitionBytes": "1500", "spark.sql.execution.arrow.maxRecordsPerBatch": "7"}
    before = {name: session.conf.get(name) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    yield
    for name, old in before.items():
        assert old is not None
        session.conf.set(name, old)


def table(n: int = N, seed: int = 0, repeats: bool = False) -> pa.Table:
    """Return answers whose order matters where a worker answers twice."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, 20 * 40, n) if repeats else rng.permutation(20 * 40)[:n]
    return pa.table(
        {
            "worker": [f"w{pair % 20}" for pair in pairs],
            "task": [f"t{pair // 20}" for pair in pairs],
            "label": [("red", "green", "blue")[code] for code in rng.integers(0, 3, n)],
        }
    )


def with_label(labels: list[Any], kind: Any = None) -> pa.Table:
    plain = table(len(labels))
    return plain.set_column(2, "label", pa.array(labels, kind))


def same(found: Any, expected: Any) -> None:
    pd.testing.assert_frame_equal(found.truth, expected.truth, rtol=1e-9)
    pd.testing.assert_frame_equal(found.workers, expected.workers, rtol=1e-9)
    summaries = [{**result.summary, "engine": "", "versions": ""} for result in (found, expected)]
    for name in ("gold", "effective_workers"):
        one, other = (summary.pop(name, {}) for summary in summaries)
        assert one == pytest.approx(other)
    assert summaries[0] == summaries[1]


def check(spark: Spark, source: Any, memory: Any = None, **options: Any) -> None:
    """Compare what is found on Spark with what is found in memory."""
    kept = {name: options.pop(name) for name in ("gold", "method") if name in options}
    here, there = (allalike.scan(what, **options) for what in (source if memory is None else memory, source))
    expected = allalike.discover(here, engine=Memory(), **{"method": "P-TD", **kept})
    same(allalike.discover(there, engine=spark, **{"method": "P-TD", **kept}), expected)


def fail(spark: Spark, source: Any, memory: Any = None, **options: Any) -> str:
    """Return the error, which must be that of memory."""
    told = []
    for what, engine in ((source if memory is None else memory, Memory()), (source, spark)):
        with pytest.raises(AllalikeError) as raised:
            allalike.discover(allalike.scan(what, **options), engine=engine)
        told.append((type(raised.value), str(raised.value)))
    assert told[0] == told[1]
    return told[1][1]


def written(answers: pa.Table, folder: Path, ending: str) -> str | list[str]:
    """Write answers in one of several ways."""
    half = len(answers) // 2
    parts = [answers.slice(0, half), answers.slice(half)]
    if ending == ".csv.gz":
        pacsv.write_csv(answers, folder / "a.csv")
        (folder / "a.csv.gz").write_bytes(gzip.compress((folder / "a.csv").read_bytes()))
    elif ending in (".tsv", ";.csv"):
        path = folder / f"a{ending}"
        pacsv.write_csv(answers, path, pacsv.WriteOptions(delimiter="\t" if ending == ".tsv" else ";"))
    elif ending == "*.csv":
        for number, part in enumerate(parts):
            pacsv.write_csv(part.select(part.column_names[:: 1 - 2 * number]), folder / f"a {number}.csv")
        return str(folder / "a *.csv")
    elif ending == "*.parquet":
        for number, part in enumerate(parts):
            pq.write_table(part, folder / f"b[{number}].parquet")
        return [str(folder / f"b[{number}].parquet") for number in (1, 0)]
    elif ending == ".csv":
        pacsv.write_csv(answers, folder / "a.csv")
    else:
        pq.write_table(answers, folder / "a.parquet", row_group_size=100)
    return str(folder / f"a{ending}")


FORMS = [".csv", ".csv.gz", ".tsv", ";.csv", "*.csv", ".parquet", "*.parquet"]


@pytest.mark.parametrize(("ending", "repeats"), [*((form, "first") for form in FORMS), (".csv", "last")])
@pytest.mark.usefixtures("small_splits")
def test_files_give_what_they_give_in_memory(spark: Spark, tmp_path: Path, ending: str, repeats: str) -> None:
    gold = {"t1": "red", "t7": "blue", "nobody": "green"}
    check(spark, written(table(repeats=True), tmp_path, ending), repeats=repeats, gold=gold)


def test_a_data_frame_a_table_and_what_spark_wrote_are_read(
    spark: Spark, session: SparkSession, tmp_path: Path
) -> None:
    path = str(written(table(), tmp_path, ".parquet"))
    frame = session.read.parquet(path)
    check(spark, frame, path)
    frame.createOrReplaceTempView("some_answers")
    check(spark, "some_answers", path)
    check(spark, ["some_answers"], path)
    frame.repartition(3).write.parquet(str(tmp_path / "folder.parquet"))
    check(spark, str(tmp_path / "folder.parquet"), path)
    check(spark, (tmp_path / "folder.parquet").as_uri(), path)
    other = allalike.discover(frame, engine="spark", method="P-TD")
    same(other, allalike.discover(path, method="P-TD"))


def test_addresses_go_to_spark(spark: Spark, tmp_path: Path) -> None:
    for ending in (".csv", ".parquet", ";.csv"):
        path = str(written(table(), tmp_path, ending))
        check(spark, f"file://{path}", path)
    paths = str(written(table(), tmp_path, "*.csv"))
    with pytest.raises(InputError, match=r"a%201.csv has other columns than the first file"):
        allalike.discover(f"file://{paths}", engine=spark)
    with pytest.raises(InputError, match="Spark cannot read .*nowhere.csv"):
        allalike.discover(f"file://{tmp_path}/nowhere.csv", engine=spark)
    with pytest.raises(InputError, match=r"Spark can read \.csv, .*These are \['s3://bucket/answers.zip'\]"):
        allalike.discover("s3://bucket/answers.zip", engine=spark)


def test_the_order_of_a_data_frame_says_which_answer_was_first(spark: Spark, session: SparkSession) -> None:
    answers = table(repeats=True)
    rows = [tuple(row.values()) for row in answers.to_pylist()]
    frame = session.createDataFrame(rows, answers.column_names)
    for repeats in ("first", "last"):
        check(spark, frame, rows, repeats=repeats)


QUOTED = ["one", 'a "quote"', "two\nlines", "a, comma", " spaces ", '"', "a\r\n", "ünï", 'three\n\nlines, and\n"more"']


@pytest.mark.parametrize("n", [9, 400])
@pytest.mark.usefixtures("small_splits")
def test_fields_of_several_lines_are_read_as_they_are(spark: Spark, tmp_path: Path, n: int) -> None:
    labels = [QUOTED[number % len(QUOTED)] for number in range(n)]
    check(spark, written(with_label(labels), tmp_path, ".csv"), domain="categorical")
    check(spark, written(with_label(labels), tmp_path, "*.csv"), domain="categorical")


@pytest.mark.usefixtures("small_splits")
def test_text_is_read_in_pieces(spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_sources, "Plan", lambda n_partitions, **more: Plan(n_partitions, piece_bytes=40, **more))
    check(spark, written(table(), tmp_path, ".csv"))
    check(spark, written(with_label(QUOTED * 40), tmp_path, ".csv"), domain="categorical")


def test_short_rows_open_quotes_and_other_encodings_are_read_as_in_memory(spark: Spark, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = [f"w{i % 9},t{i // 9},{'xy'[i % 2]},note\n" for i in range(90)]
    path.write_text("worker,task,label,note\n" + "".join(lines) + "w1,t99,x\n")
    check(spark, str(path))
    path.write_text("worker,task,label,note\n" + "".join(lines) + 'w1,t99,"x,note\nw2,t3,x,note\n')
    assert "the 'label' in row 91 begins with a quote that is not closed" in fail(spark, str(path))
    path.write_bytes("".join(["worker,task,label,note\n", *lines, "w1,t99,é,è\n"]).encode("cp1252"))
    assert spark_sources.find_source(allalike.scan(str(path)), None, "nowhere") is None  # it is read here


def test_a_malformed_file_is_named(spark: Spark, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("worker,task,label\n" + "".join(f"w{i % 9},t{i // 9},x\n" for i in range(90)) + "w1,t99,x,y\n")
    assert f"{path}: row 91 (line 92) has 4 fields, but there are 3 columns: 'w1,t99,x,y'." in fail(spark, str(path))
    rows = b"".join(b"w%d,t1,x\n" % k for k in range(1999))
    path.write_bytes(b"worker,task,label\n" + rows + "w0,t2,é\n".encode() + b"w2,t1,\xff\n")
    for engine, words in ((Memory(), "row 2001 is invalid UTF8"), (spark, "invalid UTF8 data")):
        with pytest.raises(InputError, match=f"a.csv.*{words}"):
            allalike.discover(str(path), engine=engine)


IDS: dict[str, list[Any]] = {
    "whole": [10, 9, -3, 0],
    "mixed": ["10", "007", "x", "-1"],
    "unicode": ["é", "z", "日本", "a b"],
    "large": [2**40, 5, -(2**50), 7],
}


@pytest.mark.long
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
    "binary": pa.array([b"a", b"\xff", b""]),
    "date": pa.array([date(2020, 1, 2), date(2019, 1, 2), date(2021, 1, 2)]),
    "dictionary": pa.array(["x", "y", "x"]).dictionary_encode(),
}


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
@pytest.mark.parametrize(("kind", "few"), with_few(TEXTS))
def test_labels_in_text_files_are_guessed_as_in_memory(
    spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, few: int
) -> None:
    monkeypatch.setattr(
        spark_sources, "Plan", lambda n_partitions, **more: Plan(n_partitions, max_numbered_labels=few, **more)
    )
    labels, _, _ = LABELS[kind]
    check(spark, written(with_label(labels), tmp_path, ".csv" if few == 2 else "*.csv"))


@pytest.mark.parametrize("few", [2, 10_000])
@pytest.mark.usefixtures("small_splits")
def test_a_text_among_numbers_is_named(spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(
        spark_sources, "Plan", lambda n_partitions, **more: Plan(n_partitions, max_numbered_labels=few, **more)
    )
    labels = [*(str(k / 8) for k in range(80)), "none", *(str(k / 8) for k in range(9))]
    path = written(with_label(labels), tmp_path, ".csv")
    assert "that in row 81 is 'none'" in fail(spark, path)
    assert fail(spark, path, domain="real").startswith("The label 'none' in row 81 is not a number.")


def test_labels_that_do_not_fit_are_named_by_their_row(spark: Spark, tmp_path: Path) -> None:
    labels = [[1.0, 2.0]] * 50 + [[1.0]] + [[2.0, 2.0]] * 10
    with pytest.raises(LabelError):
        allalike.discover(written(with_label(labels), tmp_path, ".parquet"), domain="vector", engine=spark)
    unclear = written(with_label([f"x{k}" for k in range(90)]), tmp_path, ".csv")
    assert "unclear what kind" in fail(spark, unclear)


@pytest.mark.parametrize("ending", [".csv", "*.csv", ".parquet"])
@pytest.mark.usefixtures("small_splits")
def test_missing_values_are_refused_or_dropped(spark: Spark, tmp_path: Path, ending: str) -> None:
    holes = [None if k % 7 == 5 else "xy"[k % 2] for k in range(90)]
    without = written(with_label(holes), tmp_path, ending)
    assert fail(spark, without).startswith("Row 6 has no label; 13 rows of 90 have none.")
    check(spark, without, missing="drop")
    for place, role in enumerate(("worker", "task")):
        answers = table(90)
        ids = [None if k in (40, 70) else value for k, value in enumerate(answers[role].to_pylist())]
        path = written(answers.set_column(place, role, pa.array(ids)), tmp_path, ending)
        assert fail(spark, path) == f"Row 41 has no {role}; 2 rows of 90 have none. Fill it in, or remove such rows."
    empty = written(with_label([None] * 9, pa.string()), tmp_path, ending)
    assert fail(spark, empty).startswith("No row has a label: all 9 rows")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.usefixtures("small_splits")
def test_labels_are_made_comparable_as_in_memory(spark: Spark, tmp_path: Path, ending: str) -> None:
    texts = ["The answer is 42.", "**42**", "42", "7 ", "no idea", "NA", "-1", "forty-two"]
    path = written(with_label([texts[k % len(texts)] for k in range(90)]), tmp_path, ending)
    how = {"domain": Categorical(extract="number"), "abstain": -1, "label_map": {"forty-two": 42}, "na": ["NA"]}
    check(spark, path, missing="drop", gold={"t1": "It is 42.0"}, **how)
    assert "stands there" in fail(spark, path, **how)


def test_no_answers_and_repeats_are_errors(spark: Spark, tmp_path: Path) -> None:
    assert fail(spark, written(table(0), tmp_path, ".parquet")) == "There are no answers."
    path = written(pa.concat_tables([table(), table().slice(3, 1)]), tmp_path, ".parquet")
    assert "more than once, and there are 1 such rows" in fail(spark, path, repeats="error")


def test_columns_are_recognised_and_named(spark: Spark, session: SparkSession, tmp_path: Path) -> None:
    other = table().rename_columns(["annotator", "item.id", "an `odd` name"])
    path = written(other, tmp_path, ".parquet")
    check(spark, path, columns={"label": "an `odd` name", "task": "item.id"})
    frame = session.read.parquet(str(path))
    check(spark, frame, path, columns={"label": "an `odd` name", "task": "item.id"})
    check(spark, frame, path)
    topics = other.append_column("task", pa.array(["all"] * len(other)))
    path = written(topics, tmp_path, ".parquet")
    check(spark, session.read.parquet(str(path)), path)
    with pytest.raises(AllalikeError, match=r"The data frame has no column that looks like the label\. It has: 'annot"):
        allalike.discover(frame.limit(5).drop("an `odd` name"), engine=spark)


def test_gold_that_does_not_match_is_an_error(spark: Spark, tmp_path: Path) -> None:
    path = written(table(), tmp_path, ".parquet")
    told = []
    for engine in (Memory(), spark):
        with pytest.raises(AllalikeError) as raised:
            allalike.discover(path, gold={"t999": "red"}, engine=engine)
        told.append(str(raised.value))
    assert told[0] == told[1]


def test_a_missing_file_or_table_is_named(spark: Spark, tmp_path: Path) -> None:
    assert fail(spark, str(tmp_path / "none.csv")) == f"There is no file {tmp_path / 'none.csv'}."
    assert fail(spark, "none.csv") == "There is no file none.csv."
    with pytest.raises(InputError, match="There is no file nothing, and Spark has no table of this name"):
        allalike.discover("nothing", engine=spark)


def test_a_wide_data_frame_and_one_of_connect_are_refused(spark: Spark, session: SparkSession) -> None:
    frame = session.createDataFrame([("t1", "x")], ["task", "w1"])
    with pytest.raises(UnsupportedError, match="one row per answer"):
        allalike.discover(allalike.scan(frame, wide="tasks"), engine=spark)


def test_other_answers_are_read_here(spark: Spark, tmp_path: Path) -> None:
    rows = [tuple(row.values()) for row in table(90).to_pylist()]
    check(spark, rows)
    check(spark, table(90))
    (tmp_path / "a.jsonl").write_text('{"worker": 1, "task": 2, "label": "x"}\n' * 2)
    check(spark, str(tmp_path / "a.jsonl"), domain="categorical")
    wide = tmp_path / "wide.csv"
    wide.write_text("task,ada,bob,eve\n1,x,x,y\n2,y,y,y\n")
    check(spark, str(wide), wide="tasks")


def test_small_files_are_read_here(spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_sources, "_MAX_DRIVER_BYTES", 1 << 22)
    source = allalike.scan(written(table(), tmp_path, ".csv"))
    assert spark_sources.find_source(source, None, "nowhere") is None
    check(spark, source.source)


def test_many_tasks_come_out_in_order(spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allalike.engines.spark.engine._TASKS_PER_SORT", 10)
    path = written(table(), tmp_path, ".parquet")
    check(spark, path)
    result = allalike.discover(path, engine=spark)
    result.save(tmp_path / "out", format="parquet")
    parts = sorted((tmp_path / "out" / "truth.parquet").iterdir())
    assert len(parts) > 2
    saved = pa.concat_tables([pq.read_table(part) for part in parts])["task"].to_pylist()
    assert saved == allalike.discover(path).truth["task"].tolist()
