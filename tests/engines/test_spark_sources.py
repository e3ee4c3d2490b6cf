"""What Spark cannot read as memory does is read here, or refused in a sentence."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.logger import PySparkLogger

import allalike
from allalike import Memory
from allalike.engines.routing import RoutingPlan
from allalike.engines.spark import shuffle as spark_shuffle
from allalike.engines.spark import sources as spark_sources
from allalike.errors import InputError, UnsupportedError
from running.local_spark import SPARK, need_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = need_spark()

ROWS = [(f"w{number % 5}", number // 5, "xyz"[number * number % 3]) for number in range(50)]


@pytest.fixture(scope="session")
def session() -> SparkSession:
    return SPARK.start()


def table(**more: Any) -> pa.Table:
    columns = zip(*ROWS, strict=True)
    return pa.table({**dict(zip(("worker", "task", "label"), map(list, columns), strict=True)), **more})


def parquet(path: Path, **more: Any) -> str:
    pq.write_table(table(**more), path)
    return str(path)


def csv(path: Path, rows: list[tuple[Any, ...]]) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("worker,task,label\n" + "".join(f"{worker},{task},{label}\n" for worker, task, label in rows))
    return str(path)


def same(source: Any, memory: Any = None, **options: Any) -> None:
    here, there = (allalike.scan(what, **options) for what in (source if memory is None else memory, source))
    expected, found = (
        allalike.discover(what, engine=engine, method="P-TD") for what, engine in ((here, Memory()), (there, SPARK))
    )
    pd.testing.assert_frame_equal(found.truth, expected.truth, rtol=1e-9)
    pd.testing.assert_frame_equal(found.workers, expected.workers, rtol=1e-9)


def told(source: Any, kind: type[Exception] = InputError, **options: Any) -> str:
    with pytest.raises(kind) as raised:
        allalike.discover(allalike.scan(source, **options), engine=SPARK)
    assert len(str(raised.value).splitlines()) == 1
    return str(raised.value)


UNREADABLE = {
    "s3://bucket/a.csv": 'No FileSystem for scheme "s3"',
    "foo://bucket/a.parquet": 'No FileSystem for scheme "foo"',
    "hdfs://no-such-host.invalid/a.csv": "UnknownHostException",
    "file:///nowhere/a.parquet": "Path does not exist",
}


@pytest.mark.parametrize("uri", list(UNREADABLE))
def test_what_spark_cannot_reach_is_named(uri: str) -> None:
    said = told(uri)
    assert said.startswith(f"Spark cannot read ['{uri}']: ")
    assert UNREADABLE[uri] in said


def test_folders_without_files_and_broken_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty.parquet").mkdir()
    csv(tmp_path / "hidden.csv" / "_a.csv", ROWS)
    for name in ("empty.parquet", "hidden.csv"):
        uri = (tmp_path / name).as_uri()
        assert told(uri) == f"There are no files in ['{uri}']."
    (tmp_path / "bad.parquet").write_text("this is no Parquet, however one looks at it")
    assert "Spark cannot read ['" in told((tmp_path / "bad.parquet").as_uri())
    for row in ("w1,t9", "w1,t9,x,y"):
        (tmp_path / "odd.csv").write_text(f"worker,task,label\n{row}\n")
        assert f"odd.csv: [MALFORMED_CSV_RECORD] Malformed CSV record: {row}" in told((tmp_path / "odd.csv").as_uri())


def test_other_things_of_pyspark_are_refused(session: SparkSession) -> None:
    frame = session.createDataFrame(ROWS, ["worker", "task", "label"])
    said = told(frame.groupBy("task"), UnsupportedError)
    assert said.startswith("The Spark engine cannot read pyspark.sql.group.GroupedData. Use a data frame")
    assert "cannot read pyspark.core.rdd.RDD" in told(session.sparkContext.parallelize([1]), UnsupportedError)
    stream = session.readStream.format("rate").load()
    assert told(stream, UnsupportedError).startswith("The data frame is a stream, which has no end.")
    said = told("some_table", UnsupportedError, wide="tasks")
    assert said.startswith("There is no file some_table, and Spark cannot read wide tables. Make one row")


MOMENTS = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=7 * (number // 5)) for number in range(50)]


def test_columns_of_types_that_spark_lacks_are_read_on_this_machine(tmp_path: Path) -> None:
    others = {
        "when": pa.array(range(50), pa.timestamp("ns")),
        "hour": pa.array(range(50), pa.time64("us")),
        "_metadata": pa.array(["m"] * 50),
    }
    path = parquet(tmp_path / "a.parquet", **others)
    uri = Path(path).as_uri()
    same(path)
    same(path, columns={"task": "when"})
    assert told(uri).startswith(f"Spark cannot read ['{uri}']: [PARQUET_TYPE_ILLEGAL] Illegal Parquet type")


@pytest.mark.parametrize("zone", ["Asia/Kolkata", pytest.param("America/New_York", marks=pytest.mark.long)])
def test_moments_do_not_depend_on_where_spark_is(session: SparkSession, tmp_path: Path, zone: str) -> None:
    path = parquet(tmp_path / "a.parquet", moment=pa.array(MOMENTS, pa.timestamp("us", "UTC")))
    before = session.conf.get("spark.sql.session.timeZone")
    session.conf.set("spark.sql.session.timeZone", zone)
    for columns in ({"task": "moment"}, {"task": "worker", "worker": "moment"}):
        same(f"file://{path}", path, columns=columns, duplicates="last")
    session.conf.set("spark.sql.session.timeZone", str(before))


@pytest.mark.parametrize("first", [0, 3])
def test_labels_are_guessed_from_the_first_that_there_are(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    """Let the first rows hold no label, or a few that say nothing about the others."""
    monkeypatch.setattr(spark_shuffle, "RoutingPlan", partial(RoutingPlan, max_numbered_labels=2))
    blank = [(f"w{number}", -1, None if number >= first else f"a>b>c{number}") for number in range(100)]
    full = [(worker, task, f"a>{label}>b{number}") for number, (worker, task, label) in enumerate(ROWS)]
    frame = session.createDataFrame([*blank, *full], ["worker", "task", "label"])
    scan = allalike.scan(frame, missing="drop")
    source = spark_sources.find_source(scan, None, SPARK.spark_master)
    assert source is not None
    some, _ = source.read(2).show_labels(40)
    assert some.data.to_pylist() == [label for *_, label in [*blank[:first], *full][:40]]


def test_errors_of_spark_are_not_written_as_well(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told((tmp_path / "nowhere.csv").as_uri())
    assert re.sub(r"\[Stage.*\]", "", capfd.readouterr().err).strip() == ""
    assert not PySparkLogger.getLogger("DataFrameQueryContextLogger").disabled
