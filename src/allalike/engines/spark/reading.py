"""Have Spark read answers, and learn what is true of all of them."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.answers.stream import lacking
from allalike.columns.column import Column
from allalike.columns.values import arrow_of
from allalike.engines.spark import on_executors
from allalike.engines.spark.rows import SCHEMA, route_rows
from allalike.engines.spark.session import clear_errors, without_warnings
from allalike.errors import AllalikeError, InputError
from allalike.system.serialization import unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark import RDD, SparkContext
    from pyspark.sql import DataFrame, SparkSession

    from allalike.answers.gold import Truths
    from allalike.columns.factors import Codes
    from allalike.domains import Domain, Encoding
    from allalike.engines.spark.facts import Facts
    from allalike.engines.spark.rows import Plan
    from allalike.readers import Scan

__all__ = ["Arrived", "Reading", "broadcast", "fitting_partitions", "send"]

_SOME = 1 << 19  # first rows that show what many different labels are
_PLACE = 1 << 24  # bytes of files whose rows go to one place, about
_PER_CORE = 4  # places for each core, where it is not known how many rows there are
_MOST = 1 << 12  # places
_PARTITION = 1 << 20  # answers in a partition on a cluster, unless there are few cores
_HERE = 1 << 23  # and on one machine
_PER_WORKER = 10  # answers in a partition for each worker, so that sums per worker are small beside its blocks
_FEW = 1 << 16  # answers that make one partition
_UNCUT = str(1 << 60)


@dataclass(frozen=True)
class Reading:
    """Know how Spark reads answers.

    Parameters
    ----------
    source
        How the user wants it done.
    session
        The session in which it is done.
    frame
        Makes the data frame in a session.
    plan
        What the executors make of its rows.
    guessed
        What was guessed about columns.
    """

    source: Scan
    session: SparkSession
    frame: Callable[[SparkSession], DataFrame]
    plan: Plan
    guessed: dict[str, str]

    def read(self, places: int | None) -> Arrived:
        """Read everything, and have it where it belongs."""
        with clear_errors(self.session.sparkContext), without_warnings():
            frame = self.frame(self.session)
            plan = replace(self.plan, places=places or _places(frame, self.session.sparkContext))
            chunks, facts = _route(frame, plan)
            if facts is None:  # a field was cut
                uncut = self.session.newSession()
                for name in ("maxPartitionBytes", "openCostInBytes"):
                    uncut.conf.set(f"spark.sql.files.{name}", _UNCUT)
                plan = replace(plan, whole=True)
                chunks, facts = _route(self.frame(uncut), plan)
        assert facts is not None
        _check(facts, self.source.missing)
        return Arrived(self, chunks, plan, facts)


def _places(frame: DataFrame, context: SparkContext) -> int:
    """Choose to how many places rows go; of data frames Spark may not know how large they are."""
    size = frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()
    cores = context.defaultParallelism
    return min(_MOST, max(cores, int(size) // _PLACE) if size < 1 << 50 else _PER_CORE * cores)


def _route(frame: DataFrame, plan: Plan) -> tuple[RDD[on_executors.Record], Facts | None]:
    """Send rows to their places, and learn what is true of all."""
    routed = frame.mapInArrow(partial(route_rows, plan=plan), SCHEMA).rdd
    chunks: RDD[on_executors.Record] = routed.partitionBy(plan.places + 1, int)
    (told,) = chunks.context.runJob(chunks, partial(on_executors.join_facts, plan=plan), [plan.places])
    if isinstance(told, AllalikeError):
        raise told
    return chunks, told


def _check(facts: Facts, missing: str) -> None:
    if not facts.read:
        raise InputError("There are no answers.")
    without_label = facts.blank.get("label", (0, 0))[0]
    if without_label == facts.read:
        raise InputError("No row has a label.")
    for role in ("label", "task", "worker"):
        if role in facts.blank and (role != "label" or missing == "error"):
            count, row = facts.blank[role]
            raise lacking(role, row + 1, count)


@dataclass(frozen=True)
class Arrived:
    """Hold the chunks of all rows, which are where they belong, and what is true of all rows."""

    reading: Reading
    chunks: RDD[on_executors.Record]
    plan: Plan
    facts: Facts

    @property
    def notes(self) -> dict[str, Any]:
        """What was guessed about columns, and how many rows were dropped."""
        guessed = self.reading.guessed
        dropped = self.facts.blank.get("label", (0, 0))[0]
        return {
            "guessed": {"columns": guessed} if guessed else {},
            **({"missing_dropped": dropped} if dropped else {}),
        }

    def guess(self) -> Domain:
        """Return the domain as it was given, or guess it."""
        source, facts = self.reading.source, self.facts
        if source.domain is not None:
            return source.domain
        if facts.labels is not None:
            return source.guess(self._different(), self._parts(), facts.kept)
        if facts.numbers or (self.plan.text and facts.odd is None):
            return source.guess(Column("label", arrow_of(np.zeros(1))), (), 1)
        some, tasks = self._some()
        return source.guess(some, [(some, tasks)], len(some))

    def learn(self, domain: Domain) -> Encoding:
        """Return the encoding of all labels; a label that does not fit is an error."""
        from pyspark import cloudpickle

        if self.facts.labels is not None:
            labels = self._different()
            encoding = domain.learn(labels)
            encoding.encode(labels)
            return encoding
        if domain.numeric:
            return domain.learn(Column("label", []))
        with self._sent(domain) as sent:
            learn = partial(on_executors.learn_labels, sent=sent)
            parts = on_executors.values(self.chunks.mapPartitions(learn).collect())
            first, *others = (cloudpickle.loads(part) for part in parts)
        merged: Encoding = first.merge(others)
        return merged

    def make_shards(self, encoding: Encoding, truths: Truths | None, wanted: int | None) -> tuple[RDD[Any], Any]:
        """Make a shard of the rows of one place, or of several if there are few; return also what that depends on."""
        fitting = fitting_partitions(self.chunks.context, self.facts.kept, len(self.facts.workers))
        chunks = self.chunks.coalesce(wanted or min(fitting, self.plan.places))
        sent = send(self.chunks.context, self.facts, self.plan.places, encoding, truths, self.reading.source.repeats)
        return chunks.mapPartitions(partial(on_executors.shards_of_rows, sent=sent)), sent

    def _different(self) -> Column:
        """Return every label once, in the order in which they came first."""
        assert self.facts.labels is not None
        return Column("label", self.facts.labels.data, text=self.plan.text).numbered(self.facts.first_rows)

    def _parts(self) -> Iterator[tuple[Column, Codes]]:
        """Fetch all labels with the numbers of their tasks, one place after the other."""
        with self._sent() as sent:
            parts = self.chunks.mapPartitions(partial(on_executors.label_parts, sent=sent))
            for part in on_executors.values(parts.toLocalIterator()):
                codes, values, tasks = unpack(part)
                yield Column.of_codes("label", codes, values), tasks

    def _some(self) -> tuple[Column, Codes]:
        """Fetch the first labels, and the first that is no number, with the numbers of their tasks."""
        import pyarrow as pa

        parts = self._first_rows(_SOME)
        rows = np.concatenate([part["row"] for part in parts])
        order = np.argsort(rows)[:_SOME]

        def joined(role: str) -> Any:
            columns = [part[role] for part in parts]
            plain = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in columns]
            return pa.chunked_array([chunk for c in plain for chunk in c.chunks]).take(arrow_of(order))

        labels, tasks, rows = joined("label"), Column("task", joined("task")).factors[0], rows[order]
        odd = self.facts.odd
        if odd is not None and odd[0] not in rows:
            labels = pa.chunked_array([*labels.chunks, pa.array([odd[1]], labels.type)])
            tasks, rows = np.append(tasks, tasks[-1] + 1), np.append(rows, odd[0])
        return Column("label", labels, text=self.plan.text).numbered(rows), tasks

    def _first_rows(self, limit: int) -> list[dict[str, Any]]:
        """Fetch the first rows of all places: more of them where many have no label."""
        with self._sent() as sent:
            some = partial(on_executors.some_rows, sent=sent, limit=limit)
            parts = [unpack(part) for part in on_executors.values(self.chunks.mapPartitions(some).collect())]
        enough = sum(len(part["row"]) for part in parts) >= min(_SOME, self.facts.kept)
        return parts if enough else self._first_rows(4 * limit)

    @contextmanager
    def _sent(self, *things: Any) -> Iterator[Any]:
        with broadcast(self.chunks.context, self.facts, self.plan.places, *things) as sent:
            yield sent


def fitting_partitions(context: SparkContext, n_answers: int, n_workers: int) -> int:
    """Return into how many partitions answers are cut: one for few of them, and else one for each core, or more."""
    if n_answers <= _FEW:
        return 1
    usual = _HERE if str(context.master).startswith("local") else _PARTITION
    return max(context.defaultParallelism, n_answers // max(usual, _PER_WORKER * n_workers))


def send(context: SparkContext, *things: Any) -> Any:
    """Broadcast things to the executors, functions of the user too."""
    from pyspark import cloudpickle

    return context.broadcast(cloudpickle.dumps(things))  # type: ignore[no-untyped-call]


@contextmanager
def broadcast(context: SparkContext, *things: Any) -> Iterator[Any]:
    """Send things to the executors for a while."""
    sent = send(context, *things)
    try:
        yield sent
    finally:
        with suppress(Exception):  # Spark may have been stopped
            sent.destroy()
