"""Inputs: what executors read, which becomes records, each for a partition (`allalike.engines.spark.rows`)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from allalike.engines.spark.csv_files import Stretch
from allalike.engines.spark.rows import SCHEMA, route_batches, route_stretches
from allalike.readers.formats.compression import find_packing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark import RDD, SparkContext
    from pyspark.sql import DataFrame, SparkSession

    from allalike.engines.spark.rows import Plan

_UNCUT_BYTES = str(1 << 60)
_MIN_STRETCH_BYTES, _MAX_STRETCH_BYTES = 1 << 22, 1 << 27
_STRETCHES_PER_CORE = 4  # so that no core waits long for another


class Inputs(Protocol):
    """What executors read."""

    @property
    def context(self) -> SparkContext:
        """Where they are."""

    @property
    def n_bytes(self) -> int | None:
        """About how many bytes there are, if that is known."""

    def route(self, plan: Plan) -> RDD[Any]:
        """Turn all rows into records."""


@dataclass(frozen=True)
class FrameInputs:
    """A data frame, which Spark reads; it is made in a session."""

    session: SparkSession
    frame: Callable[[SparkSession], DataFrame]

    @property
    def context(self) -> SparkContext:
        """That of the session."""
        return self.session.sparkContext

    @property
    def n_bytes(self) -> int | None:
        """What Spark knows of it."""
        size = int(self.frame(self.session)._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
        return size if size < 1 << 50 else None

    def route(self, plan: Plan) -> RDD[Any]:
        """Have Spark hand over batches of rows."""
        session = self.session
        if plan.whole_files:
            session = session.newSession()
            for name in ("maxPartitionBytes", "openCostInBytes"):
                session.conf.set(f"spark.sql.files.{name}", _UNCUT_BYTES)
        return self.frame(session).mapInArrow(partial(route_batches, plan=plan), SCHEMA).rdd


@dataclass(frozen=True)
class FileInputs:
    """Files of text that executors open themselves, which spares Spark its SQL and all lines their way through Java."""

    context: SparkContext
    paths: list[str]

    @property
    def n_bytes(self) -> int | None:
        """How large the files are."""
        return sum(Path(path).stat().st_size for path in self.paths)

    def route(self, plan: Plan) -> RDD[Any]:
        """Cut files into stretches, each of which is an input."""
        wanted = (self.n_bytes or 0) // (_STRETCHES_PER_CORE * self.context.defaultParallelism)
        size = sys.maxsize if plan.whole_files else min(max(wanted, _MIN_STRETCH_BYTES), _MAX_STRETCH_BYTES)
        stretches = [each for number, path in enumerate(self.paths) for each in _cut(number, path, size)]
        inputs = self.context.parallelize(stretches, len(stretches))
        return inputs.mapPartitionsWithIndex(partial(route_stretches, plan=plan))


def _cut(number: int, path: str, size: int) -> Iterator[Stretch]:
    """Cut a file into stretches of about the same size, unless it is packed."""
    n_bytes = Path(path).stat().st_size
    if find_packing(Path(path)) or n_bytes <= size:
        yield Stretch(number, path, 0, sys.maxsize)
        return
    n_parts = -(-n_bytes // size)
    for part in range(n_parts):
        yield Stretch(number, path, part * n_bytes // n_parts, (part + 1) * n_bytes // n_parts)
