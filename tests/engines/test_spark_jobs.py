"""How many jobs Spark runs: each is waited for, however few answers there are."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

import allalike
from allalike import Spark
from allalike.engines.spark.session import find_context
from files.for_spark import address, table, written
from running.local_spark import SPARK, need_spark

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = need_spark()


@contextmanager
def counted() -> Iterator[SimpleNamespace]:
    """Count the jobs that are run meanwhile."""
    scheduler = find_context(None, SPARK.spark_master)._jsc.sc().dagScheduler()
    before, found = scheduler.numTotalJobs(), SimpleNamespace(jobs=0)
    yield found
    found.jobs = scheduler.numTotalJobs() - before


@pytest.mark.filterwarnings("ignore:iP-TD stopped at its limit")
def test_a_round_is_one_job_and_reading_three(spark: Spark, tmp_path: Path) -> None:
    path = address(written(table(), tmp_path, ".parquet"))
    with counted() as found:
        result = allalike.discover(path, engine=spark, method="iP-TD(max_iter=4, tol=0)")
    assert found.jobs == 3 + 1 + 4 + 1  # reading, what is doubtful, rounds, truths
    with counted() as found:
        result.save(tmp_path / "out")
    fetched = 1 + 3  # truths, and the answers of three partitions, one after the other
    assert found.jobs == 3 + fetched  # who always says the same, what to ask next, and who confuses what


def test_the_default_keeps_to_few_jobs(spark: Spark, tmp_path: Path) -> None:
    with counted() as found:
        allalike.discover(address(written(table(), tmp_path, ".parquet")), engine=spark)
    assert found.jobs <= 20
