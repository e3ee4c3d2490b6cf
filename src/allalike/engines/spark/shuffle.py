"""The shuffle: executors read answers, send them to the partitions of their tasks, and collect facts about all."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import arrow_of
from allalike._core.late import pa
from allalike._core.system.processes import unpack
from allalike.answers.answers import SAMPLE_ROWS
from allalike.answers.cleaning import blank_error, zero_error
from allalike.engines.spark import on_executors
from allalike.engines.spark.rows import SCHEMA, ZERO, Plan, route_frame
from allalike.engines.spark.session import clear_errors, without_warnings
from allalike.errors import AllalikeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import RDD, SparkContext
    from pyspark.sql import DataFrame

    from allalike._core.columns.factors import Codes
    from allalike.answers.gold import Truths
    from allalike.domains import Domain, Encoding
    from allalike.engines.spark.rows import InputFacts
    from allalike.readers import Scan

_MANY_NUMBERS = np.arange(1 << 10)
_MAX_SHOWN_LABELS = 1 << 19  # labels that are fetched if there are many distinct ones
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
    """Answers that Spark can read."""

    scan: Scan
    frame: DataFrame
    plan: Plan
    guessed: dict[str, str]

    def read(self, partitions: int | None) -> ShuffledRows:
        """Read all rows, and send each to the partition of its task."""
        with clear_errors(self.frame.sparkSession.sparkContext), without_warnings():
            n_partitions = partitions or _choose_partitions(self.frame)
            plan = replace(
                self.plan,
                n_partitions=n_partitions,
                cleaning=replace(self.scan.cleaning, missing="drop"),  # errors are raised at the end
                na=self.scan.list_na(written=self.plan.text),
            )
            chunks, facts = _shuffle(self.frame, plan)
        _check(facts, self.scan)
        return ShuffledRows(self, chunks, plan, facts)


def _choose_partitions(frame: DataFrame) -> int:
    """Return the number of partitions for the rows; Spark may not know the size of a data frame."""
    size = int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
    cores = frame.sparkSession.sparkContext.defaultParallelism
    wanted = max(cores, size // _PARTITION_BYTES) if size < _UNKNOWN_BYTES else _PARTITIONS_PER_CORE * cores
    return min(_MAX_PARTITIONS, wanted)


def _shuffle(frame: DataFrame, plan: Plan) -> tuple[RDD[on_executors.Record], InputFacts]:
    """Send rows to their partitions, and return the facts about all rows."""
    rows = frame.mapInArrow(partial(route_frame, plan=plan), SCHEMA).rdd
    chunks: RDD[on_executors.Record] = rows.partitionBy(plan.n_partitions + 1, int)
    (facts,) = chunks.context.runJob(chunks, partial(on_executors.join_facts, plan=plan), [plan.n_partitions])
    if isinstance(facts, AllalikeError):
        raise facts
    return chunks, facts


def _check(facts: InputFacts, scan: Scan) -> None:
    for role in ("label", "task", "worker"):
        count, row, found = facts.missing.get(role, (0, 0, None))
        all_rows = facts.n_read if role == "label" else facts.n_read - facts.dropped.total
        if count and (role != "label" or (scan.missing == "error" and count < all_rows)):
            raise blank_error(role, row + 1, (count, all_rows), found)
        if f"{ZERO}{role}" in facts.missing:
            _, row, found = facts.missing[f"{ZERO}{role}"]
            raise zero_error(role, row + 1, found)
    facts.dropped.check(facts.n_read, scan.cleaning.spelling.steps)


@dataclass(frozen=True)
class ShuffledRows:
    """Chunks of all rows, in the partitions of their tasks, and facts about all rows."""

    source: SparkSource
    chunks: RDD[on_executors.Record]
    plan: Plan
    facts: InputFacts

    @property
    def notes(self) -> dict[str, Any]:
        """The detected columns, and the number of dropped rows."""
        guessed = {"columns": self.source.guessed} if self.source.guessed else {}
        return {"guessed": guessed, **self.facts.dropped.notes(self.facts.n_read)}

    def guess(self) -> Domain:
        """Return the requested label type, or infer it."""
        scan, facts = self.source.scan, self.facts
        if scan.known_domain is not None:
            return scan.known_domain
        if facts.labels is not None:
            return scan.guess(self._different_labels(), self._fetch_labels(), facts.n_kept, self._show_sample)
        if facts.numeric or (self.plan.label_text and facts.first_text is None):
            many = Column("label", arrow_of(_MANY_NUMBERS))
            return scan.guess(many, (), facts.n_kept, self._show_sample)
        some, tasks = self._show_labels(_MAX_SHOWN_LABELS)
        return scan.guess(some, [(some, tasks)], len(some), self._show_sample)

    def learn(self, domain: Domain) -> Encoding:
        """Return the encoding of all labels; a label that does not fit is an error."""
        from pyspark import cloudpickle

        if self.facts.labels is not None:
            labels = self._different_labels()
            encoding = domain.learn(labels)
            encoding.encode(labels)
            return encoding
        if domain.spelling.numbers:
            return domain.learn(Column("label", []))
        with self._broadcast(domain) as sent:
            learn = partial(on_executors.learn_labels, sent=sent)
            parts = on_executors.unwrap(self.chunks.mapPartitions(learn).collect())
            first, *others = (cloudpickle.loads(part) for part in parts)
        merged: Encoding = first.merge(others)
        return merged

    def make_shards(self, encoding: Encoding, truths: Truths | None, wanted: int | None) -> tuple[RDD[Any], Any]:
        """Make shards of one or several partitions each; return them with the broadcast that they depend on."""
        fitting = count_partitions(self.chunks.context, self.facts.n_kept, len(self.facts.workers))
        chunks = self.chunks.coalesce(wanted or min(fitting, self.plan.n_partitions))
        sent = send(
            self.chunks.context, self.facts, self.plan.n_partitions, encoding, truths, self.source.scan.duplicates
        )
        return chunks.mapPartitions(partial(on_executors.make_row_shards, sent=sent)), sent

    def _different_labels(self) -> Column:
        """Return the distinct labels in the order of first occurrence."""
        assert self.facts.labels is not None
        return Column("label", self.facts.labels.data, text=self.plan.label_text).numbered(self.facts.first_rows)

    def _fetch_labels(self) -> Iterator[tuple[Column, Codes]]:
        """Fetch all labels with the numbers of their tasks, one partition at a time."""
        with self._broadcast() as sent:
            parts = self.chunks.mapPartitions(partial(on_executors.encode_labels, sent=sent))
            for part in on_executors.unwrap(parts.toLocalIterator()):
                codes, values, tasks = unpack(part)
                yield Column.of_codes("label", codes, values), tasks

    def _show_sample(self) -> tuple[Column, Codes]:
        """Fetch the labels of the first rows, with the numbers of their tasks."""
        label, tasks = self._show_labels(SAMPLE_ROWS)
        return label.head(SAMPLE_ROWS), tasks[:SAMPLE_ROWS]

    def _show_labels(self, number: int) -> tuple[Column, Codes]:
        """Fetch the first labels, and the first label that is not a number, with the numbers of their tasks."""
        parts = self._fetch_first_rows(number, number)
        rows = np.concatenate([part["row"] for part in parts])
        order = np.argsort(rows)[:number]

        def join(role: str) -> Any:
            columns = [part[role] for part in parts]
            if isinstance(columns[0], list):
                values = [value for column in columns for value in column]
                return [values[place] for place in order]
            return pa.chunked_array([chunk for column in columns for chunk in column.chunks]).take(arrow_of(order))

        labels, tasks, rows = join("label"), Column("task", join("task")).factors[0], rows[order]
        text = self.facts.first_text
        if text is not None and text[0] not in rows:
            labels = pa.chunked_array([*labels.chunks, pa.array([text[1]], labels.type)])
            tasks, rows = np.append(tasks, tasks[-1] + 1), np.append(rows, text[0])
        return Column("label", labels, text=self.plan.label_text).numbered(rows), tasks

    def _fetch_first_rows(self, number: int, limit: int) -> list[dict[str, Any]]:
        """Fetch the first rows of all partitions, and more of them if many rows have no label."""
        with self._broadcast() as sent:
            take = partial(on_executors.take_first_rows, sent=sent, limit=limit)
            parts = [unpack(part) for part in on_executors.unwrap(self.chunks.mapPartitions(take).collect())]
        enough = sum(len(part["row"]) for part in parts) >= min(number, self.facts.n_kept)
        return parts if enough else self._fetch_first_rows(number, 4 * limit)

    @contextmanager
    def _broadcast(self, *things: Any) -> Iterator[Any]:
        with broadcast(self.chunks.context, self.facts, self.plan.n_partitions, *things) as sent:
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
