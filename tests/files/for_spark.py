"""Files and tables that Spark reads on its executors, and comparisons of what is found with what memory finds."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import allalike
from allalike import Memory, Spark
from allalike.errors import AllalikeError
from running.local_spark import SPARK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

N = 400


@pytest.fixture(scope="session")
def spark() -> Spark:
    return SPARK


@pytest.fixture(scope="session")
def session(spark: Spark) -> SparkSession:
    return spark.start()


@pytest.fixture
def small_batches(session: SparkSession) -> Iterator[None]:
    """Have Spark hand over a few rows at a time."""
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = session.conf.get(name)
    session.conf.set(name, "7")
    yield
    session.conf.set(name, str(before))


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
    found, expected = (result.tables_as("pandas") for result in (found, expected))
    pd.testing.assert_frame_equal(found.truth, expected.truth, rtol=1e-9)
    pd.testing.assert_frame_equal(found.workers, expected.workers, rtol=1e-9)
    summaries = [{**result.summary, "engine": "", "versions": ""} for result in (found, expected)]
    for name in ("gold", "effective_workers"):
        one, other = (summary.pop(name, {}) for summary in summaries)
        assert one == pytest.approx(other)
    assert summaries[0] == summaries[1]


def address(source: Any) -> Any:
    """Return the address of a file, which Spark reads itself."""
    return f"file://{source}" if isinstance(source, str) and source.startswith("/") else source


def check(spark: Spark, source: Any, memory: Any = None, **options: Any) -> None:
    """Compare what is found on Spark with what is found in memory."""
    kept = {name: options.pop(name) for name in ("gold", "method") if name in options}
    here, there = (allalike.scan(what, **options) for what in (source if memory is None else memory, address(source)))
    expected = allalike.discover(here, engine=Memory(), **{"method": "P-TD", **kept})
    same(allalike.discover(there, engine=spark, **{"method": "P-TD", **kept}), expected)


def fail(spark: Spark, source: Any, memory: Any = None, **options: Any) -> str:
    """Return the error, which must be that of memory."""
    told = []
    for what, engine in ((source if memory is None else memory, Memory()), (address(source), spark)):
        with pytest.raises(AllalikeError) as raised:
            allalike.discover(allalike.scan(what, **options), engine=engine)
        told.append((type(raised.value), str(raised.value)))
    assert told[0] == told[1]
    return told[1][1]


def written(answers: pa.Table, folder: Path, ending: str) -> str:
    """Write answers in one of several ways."""
    if ending == ".csv.gz":
        pacsv.write_csv(answers, folder / "a.csv")
        (folder / "a.csv.gz").write_bytes(gzip.compress((folder / "a.csv").read_bytes()))
    elif ending in (".tsv", ";.csv"):
        path = folder / f"a{ending}"
        pacsv.write_csv(answers, path, pacsv.WriteOptions(delimiter="\t" if ending == ".tsv" else ";"))
    elif ending == ".csv":
        pacsv.write_csv(answers, folder / "a.csv")
    else:
        pq.write_table(answers, folder / "a.parquet", row_group_size=100)
    return str(folder / f"a{ending}")
