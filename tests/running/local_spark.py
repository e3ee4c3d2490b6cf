"""Spark on this machine, for tests: one session for all of them."""

import os

import pytest

from allalike import Spark
from allalike.engines.spark.session import check_pyspark, find_java
from allalike.errors import UnsupportedError

# Optimising what runs once takes the Java machine more time than it saves.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

SPARK = Spark(spark_master="local[2]", partitions=3)


def need_spark() -> list[pytest.MarkDecorator]:
    """Return the marks of a module of tests that needs Spark; where there is none, skip it unless it is required."""
    try:
        check_pyspark()
        find_java()
    except UnsupportedError as error:
        if os.environ.get("ALLALIKE_SPARK") == "required":
            raise
        pytest.skip(str(error), allow_module_level=True)
    return [pytest.mark.slow, pytest.mark.timeout(300)]
