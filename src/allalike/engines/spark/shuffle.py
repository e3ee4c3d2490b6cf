"""The shuffle: executors read answers, and send them to the partitions of their tasks.

The rows that one Spark task reads are an input (`allalike.engines.routing`). They are sent in chunks, one per
partition, and their digest is sent to an extra partition and joined there, so that everything is read once.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from allalike._core.system.processes import unpack
from allalike.engines.routing import InputFacts, RoutedRows, RoutingPlan
from allalike.engines.spark import on_executors
from allalike.engines.spark.session import clear_errors, without_warnings
from allalike.errors import AllalikeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark import RDD, SparkContext
    from pyspark.sql import DataFrame

    from allalike._core.columns.column import Column
    from allalike._core.columns.factors import Codes
    from allalike.answers.answers import Batch
    from allalike.answers.gold import Truths
    from allalike.domains import Domain, Encoding
    from allalike.readers import Scan

_PARTITION_BYTES = 1 << 24  # approximate size of a data frame per partition
_PARTITIONS_PER_CORE = 4  # if the size of the data frame is unknown
_MAX_PARTITIONS = 1 << 12
_UNKNOWN_BYTES = 1 << 50  # size from which Spark's figure means unknown
_CLUSTER_PARTITION_ANSWERS = 1 << 20  # more if there are few cores
_LOCAL_PARTITION_ANSWERS = 1 << 23
_PARTITION_ANSWERS_PER_WORKER = 10  # so that sums per worker are smaller than the blocks
_MAX_SINGLE_PARTITION_ANSWERS = 1 << 16


@dataclass(frozen=True)
class SparkSource:
    """Answers that Spark can read, and the function that makes columns of a batch of its rows."""

    scan: Scan
    frame: DataFrame
    split: Callable[[Any], Batch]
    guessed: dict[str, str]

    def read(self, partitions: int | None) -> ShuffledRows:
        """Read all rows, and send each to the partition of its task."""
        with clear_errors(self.frame.sparkSession.sparkContext), without_warnings():
            plan = RoutingPlan(n_partitions=partitions or _choose_partitions(self.frame), cleaning=self.scan.cleaning)
            rows = self.frame.mapInArrow(
                partial(on_executors.route_frame, plan=plan, split=self.split), on_executors.SCHEMA
            ).rdd
            chunks: RDD[on_executors.Record] = rows.partitionBy(plan.n_partitions + 1, int)
            join = partial(on_executors.join_facts, plan=plan)
            (facts,) = chunks.context.runJob(chunks, join, [plan.n_partitions])
            if isinstance(facts, AllalikeError):
                raise facts
        facts.check(self.scan.cleaning)
        return ShuffledRows(self, chunks, plan.n_partitions, facts)


def _choose_partitions(frame: DataFrame) -> int:
    """Return the number of partitions for the rows; Spark may not know the size of a data frame."""
    size = int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
    cores = frame.sparkSession.sparkContext.defaultParallelism
    wanted = max(cores, size // _PARTITION_BYTES) if size < _UNKNOWN_BYTES else _PARTITIONS_PER_CORE * cores
    return min(_MAX_PARTITIONS, wanted)


@dataclass(frozen=True)
class ShuffledRows(RoutedRows):
    """Chunks of all rows, in the partitions of their tasks, and facts about all rows."""

    source: SparkSource
    chunks: RDD[on_executors.Record]
    n_partitions: int
    facts: InputFacts

    @property
    def notes(self) -> dict[str, Any]:
        """The detected columns, and the number of dropped rows."""
        guessed = {"columns": self.source.guessed} if self.source.guessed else {}
        return {"guessed": guessed, **self.facts.dropped.notes(self.facts.n_read)}

    def each_label(self) -> Iterator[tuple[Column, Codes]]:
        """Fetch all labels with the numbers of their tasks, one partition at a time."""
        from allalike._core.columns.column import Column

        with self._broadcast() as sent:
            parts = self.chunks.mapPartitions(partial(on_executors.encode_labels, sent=sent))
            for part in on_executors.unwrap(parts.toLocalIterator()):
                codes, values, tasks = unpack(part)
                yield Column.of_codes("label", codes, values), tasks

    def first_rows(self, number: int) -> list[dict[str, Any]]:
        """Fetch the first rows of all partitions, and more of them if many rows have no label."""
        limit, parts = number, list[dict[str, Any]]()
        with self._broadcast() as sent:
            while sum(len(part["row"]) for part in parts) < min(number, self.facts.n_kept):
                take = partial(on_executors.take_first_rows, sent=sent, limit=limit)
                parts = [unpack(part) for part in on_executors.unwrap(self.chunks.mapPartitions(take).collect())]
                limit *= 4
        return parts

    def learn_parts(self, domain: Domain) -> list[Encoding]:
        """Return the encoding of the labels of each partition."""
        from pyspark import cloudpickle

        with self._broadcast(domain) as sent:
            learn = partial(on_executors.learn_labels, sent=sent)
            return list(map(cloudpickle.loads, on_executors.unwrap(self.chunks.mapPartitions(learn).collect())))

    def make_shards(self, encoding: Encoding, truths: Truths | None, wanted: int | None) -> tuple[RDD[Any], Any]:
        """Make shards of one or several partitions each; return them with the broadcast that they depend on."""
        fitting = count_partitions(self.chunks.context, self.facts.n_kept, len(self.facts.workers))
        chunks = self.chunks.coalesce(wanted or min(fitting, self.n_partitions))
        sent = send(self.chunks.context, self.facts, self.n_partitions, encoding, truths, self.source.scan.duplicates)
        return chunks.mapPartitions(partial(on_executors.make_row_shards, sent=sent)), sent

    @contextmanager
    def _broadcast(self, *things: Any) -> Iterator[Any]:
        with broadcast(self.chunks.context, self.facts, self.n_partitions, *things) as sent:
            yield sent


def count_partitions(context: SparkContext, n_answers: int, n_workers: int) -> int:
    """Return the number of partitions for answers: one if they are few, else at least one per core."""
    if n_answers <= _MAX_SINGLE_PARTITION_ANSWERS:
        return 1
    usual = _LOCAL_PARTITION_ANSWERS if str(context.master).startswith("local") else _CLUSTER_PARTITION_ANSWERS
    return max(context.defaultParallelism, n_answers // max(usual, _PARTITION_ANSWERS_PER_WORKER * n_workers))


def send(context: SparkContext, *things: Any) -> Any:
    """Broadcast objects, including the user's functions, to the executors."""
    from pyspark import cloudpickle

    return context.broadcast(cloudpickle.dumps(things))  # type: ignore[no-untyped-call]


@contextmanager
def broadcast(context: SparkContext, *things: Any) -> Iterator[Any]:
    """Broadcast objects to the executors within this context."""
    sent = send(context, *things)
    try:
        yield sent
    finally:
        with suppress(Exception):  # Spark may have been stopped
            sent.destroy()
