"""What Spark reads on its executors is what memory reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import allalike
from allalike import Categorical, Memory, Spark
from allalike.engines.spark import sources as spark_sources
from allalike.engines.spark.rows import Plan
from allalike.errors import AllalikeError, InputError, LabelError
from files.for_spark import check, fail, same, table, with_label, written
from running.local_spark import need_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [*need_spark(), pytest.mark.usefixtures("everything_on_executors")]

OTHER_FORMS = [".parquet", "*.csv", ".tsv", ";.csv", ".csv.gz", "*.parquet"]


@pytest.mark.parametrize(
    ("ending", "repeats"),
    [
        (".csv", "first"),
        *(pytest.param(form, "first", marks=pytest.mark.long) for form in OTHER_FORMS),
        pytest.param(".csv", "last", marks=pytest.mark.long),
    ],
)
@pytest.mark.usefixtures("small_splits")
def test_files_give_what_they_give_in_memory(spark: Spark, tmp_path: Path, ending: str, repeats: str) -> None:
    gold = {"t1": "red", "t7": "blue", "nobody": "green"}
    check(spark, written(table(repeats=True), tmp_path, ending), repeats=repeats, gold=gold)


def test_a_data_frame_a_table_and_what_spark_wrote_are_read(
    spark: Spark, session: SparkSession, tmp_path: Path
) -> None:
    path = str(written(table(), tmp_path, ".parquet"))
    frame = session.read.parquet(path)
    frame.createOrReplaceTempView("some_answers")
    check(spark, "some_answers", path)
    frame.repartition(3).write.parquet(str(tmp_path / "folder.parquet"))
    check(spark, str(tmp_path / "folder.parquet"), path)
    other = allalike.discover(frame, engine="spark", method="P-TD")
    same(other, allalike.discover(path, method="P-TD"))


@pytest.mark.long
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


@pytest.mark.parametrize("repeats", ["first", pytest.param("last", marks=pytest.mark.long)])
def test_the_order_of_a_data_frame_says_which_answer_was_first(
    spark: Spark, session: SparkSession, repeats: str
) -> None:
    answers = table(repeats=True)
    rows = [tuple(row.values()) for row in answers.to_pylist()]
    frame = session.createDataFrame(rows, answers.column_names)
    check(spark, frame, rows, repeats=repeats)


QUOTED = ["one", 'a "quote"', "two\nlines", "a, comma", " spaces ", '"', "a\r\n", "ünï", 'three\n\nlines, and\n"more"']


@pytest.mark.parametrize("n", [9, pytest.param(400, marks=pytest.mark.long)])
@pytest.mark.usefixtures("small_splits")
def test_fields_of_several_lines_are_read_as_they_are(spark: Spark, tmp_path: Path, n: int) -> None:
    labels = [QUOTED[number % len(QUOTED)] for number in range(n)]
    path = written(with_label(labels), tmp_path, ".csv")
    check(spark, path, domain="categorical")
    check(spark, f"file://{path}", path, domain="categorical")  # whose lines come from Spark
    check(spark, written(with_label(labels), tmp_path, "*.csv"), domain="categorical")


@pytest.mark.long
@pytest.mark.usefixtures("small_splits")
def test_text_is_read_in_pieces(spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_sources, "Plan", lambda n_partitions, **more: Plan(n_partitions, piece_bytes=40, **more))
    for labels in (["red", "blue"] * 200, QUOTED * 40):
        path = written(with_label(labels), tmp_path, ".csv")
        check(spark, path, domain="categorical")
        check(spark, f"file://{path}", path, domain="categorical")


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
    assert "Labels hardly recur" in fail(spark, unclear)


@pytest.mark.parametrize(
    "ending", [".parquet", *(pytest.param(each, marks=pytest.mark.long) for each in (".csv", "*.csv"))]
)
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


def test_a_zero_byte_in_an_id_is_named_by_its_row(spark: Spark, tmp_path: Path) -> None:
    answers = table(90)
    ids = [f"{value}\0" if k in (40, 70) else value for k, value in enumerate(answers["worker"].to_pylist())]
    path = written(answers.set_column(0, "worker", pa.array(ids)), tmp_path, ".parquet")
    assert fail(spark, path).startswith("The worker in row 41 has a zero byte in it: ")


@pytest.mark.parametrize("ending", [".csv", pytest.param(".parquet", marks=pytest.mark.long)])
@pytest.mark.usefixtures("small_splits")
def test_labels_are_made_comparable_as_in_memory(spark: Spark, tmp_path: Path, ending: str) -> None:
    texts = ["The answer is 42.", "**42**", "42", "7 ", "no idea", "NA", "-1", "forty-two"]
    path = written(with_label([texts[k % len(texts)] for k in range(90)]), tmp_path, ending)
    how = {"domain": Categorical(extract="number"), "abstain": -1, "label_map": {"forty-two": 42}, "na": ["NA"]}
    check(spark, path, missing="drop", gold={"t1": "It is 42.0"}, **how)
    assert "stands there" in fail(spark, path, **how)


@pytest.mark.long
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
    with pytest.raises(AllalikeError, match=r"which column of the data frame contains the label\. Columns: 'annot"):
        allalike.discover(frame.limit(5).drop("an `odd` name"), engine=spark)


def test_a_missing_file_or_table_is_named(spark: Spark, tmp_path: Path) -> None:
    assert fail(spark, str(tmp_path / "none.csv")) == f"There is no file {tmp_path / 'none.csv'}."
    assert fail(spark, "none.csv") == "There is no file none.csv."
    with pytest.raises(InputError, match="There is no file nothing, and Spark has no table of this name"):
        allalike.discover("nothing", engine=spark)


def test_other_answers_are_read_here(spark: Spark, tmp_path: Path) -> None:
    rows = [tuple(row.values()) for row in table(90).to_pylist()]
    check(spark, rows)
    check(spark, table(90))
    (tmp_path / "a.jsonl").write_text('{"worker": 1, "task": 2, "label": "x"}\n' * 2)
    check(spark, str(tmp_path / "a.jsonl"), domain="categorical")
    wide = tmp_path / "wide.csv"
    wide.write_text("task,ada,bob,eve\n1,x,x,y\n2,y,y,y\n")
    check(spark, str(wide), wide="tasks")


@pytest.mark.long
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


@pytest.mark.parametrize(
    "labels",
    [
        [f"{n / 8:.3f} kg" for n in range(400)],
        pytest.param([f"{1000 + 7 * n:,}" for n in range(400)], marks=pytest.mark.long),
        pytest.param([f"{1 + n % 28}/{1 + n % 12}/{1600 + n}" for n in range(400)], marks=pytest.mark.long),
        [("cat", "cat;dog", "dog;owl", "owl")[n % 4] for n in range(400)],
        pytest.param(
            [("cat;dog;owl", "dog;cat;owl", "owl;dog;cat")[n % 3] for n in range(400)], marks=pytest.mark.long
        ),
        pytest.param([("never", "often", "always")[n % 3] for n in range(400)], marks=pytest.mark.long),
    ],
    ids=["units", "thousands", "dates", "sets", "rankings", "scales"],
)
def test_what_labels_are_written_like_tells_their_kind(spark: Spark, tmp_path: Path, labels: list[str]) -> None:
    check(spark, written(with_label(labels), tmp_path, ".csv"))


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ("7 lb", "different units"),
        pytest.param("7", "others have none", marks=pytest.mark.long),
        pytest.param("heavy", "'heavy' is none", marks=pytest.mark.long),
        pytest.param("<7 kg", "bounds", marks=pytest.mark.long),
    ],
)
def test_labels_that_are_written_otherwise_are_asked_about(spark: Spark, tmp_path: Path, odd: str, said: str) -> None:
    labels = [*(f"{n / 8:.3f} kg" for n in range(399)), odd]
    assert said in fail(spark, written(with_label(labels), tmp_path, ".csv"))
