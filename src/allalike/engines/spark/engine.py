"""The Spark engine: shards stay on the executors, kernels go to them, and sums per worker come back.

Shards are packed bytes in a cached RDD, which Spark keeps in memory, moves to disk where memory is short, and makes
again where an executor is lost. A round broadcasts the parameters of the workers, and each partition adds up its
blocks; where there are many partitions, each range of workers is then added up on an executor, so that the driver
receives every sum once. Sums are added in a fixed order, so that two runs give the same numbers.
"""

from __future__ import annotations

import itertools
import math
import weakref
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike.blocks.matrices import stack_rows
from allalike.blocks.problems import Problems
from allalike.columns.values import Values
from allalike.engines.base import Engine, Run
from allalike.engines.serialization import unpack
from allalike.engines.shards import count_up, describe, sample_cuts
from allalike.engines.spark import on_executors
from allalike.engines.spark.reading import broadcast, fitting_partitions, send
from allalike.engines.spark.session import check_pyspark, clear_errors, find_context, find_session
from allalike.engines.spark.sources import find_reading
from allalike.engines.task_table import TaskTable
from allalike.errors import OutputError
from allalike.registry import check_number
from allalike.system.progress import report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark import RDD, Broadcast, SparkContext
    from pyspark.sql import SparkSession

    from allalike.answers import Answers
    from allalike.answers.gold import Gold
    from allalike.blocks.block import Block, Floats, Kernel
    from allalike.blocks.ties import Ties
    from allalike.engines.shards import Cuts
    from allalike.engines.task_table import Piece
    from allalike.readers import Scan

__all__ = ["Spark", "SparkRun", "SparkTable"]

_SHARD = 1 << 20  # answers in a shard that is cut from answers in memory, at most
_TINY = 1 << 16  # bytes of answers that may well be sent with every task
_SENT = 1 << 26  # bytes of a partition when it is sent to an executor; Spark refuses to send 128 MB at once
_SUMS = 16  # bytes of sums for each worker: mostly there are two
_FEW, _LITTLE = 8, 1 << 21  # partitions, or bytes of their sums, that are added up on the driver
_ADDED = 1 << 26  # bytes of sums that are added up on an executor at once, about
_AT_ONCE = 1 << 19  # tasks that are put in order at once


@dataclass(frozen=True)
class Spark(Engine):
    """Keep answers on the executors of Spark.

    Parameters
    ----------
    session
        The Spark session to use; by default the active one, or else one that is made for this.
    master
        Where to make it: ``local[*]`` is this machine with all its cores, ``spark://host:7077`` a cluster. By default
        that of spark-submit or of Spark's own settings, and if there is none, ``local[*]``.
    partitions
        Into how many parts answers are cut; by default one for few answers, and else one for each core, or more.

    >>> Spark(master="local[2]")
    Spark(session=None, master='local[2]', partitions=None)
    """

    name: ClassVar[str] = "spark"
    session: Any = None
    master: str | None = None
    partitions: int | None = None

    def __post_init__(self) -> None:
        if self.partitions is not None:
            check_number(self.partitions, "partitions", least=1, whole=True)

    def start(self) -> SparkSession:
        """Start Spark, or find it if it runs already, and return its session."""
        report("starting Spark")
        return find_session(self.session, self.master)

    def load(self, answers: Answers, ties: Ties) -> SparkRun:
        """Cut answers that are in memory into ranges of tasks, and send these to the executors."""
        report("starting Spark")
        context = find_context(self.session, self.master)
        report("sending answers")
        with clear_errors(context):
            parcels = _send(answers, context, self.partitions)
            return SparkRun(parcels.mapPartitions(on_executors.make_shards), **describe(answers, ties))

    def reads(self, source: Scan) -> bool:
        """Read everything on the executors, or else hand it to them."""
        return True

    def open(self, source: Scan, gold: Gold | None, ties: Ties) -> SparkRun:
        """Have the executors read answers and keep them; what they cannot read is read here, and sent to them."""
        check_pyspark()
        with clear_errors():
            reading = find_reading(source, self.session, self.master)
        if reading is None:
            answers = source.read()
            return self.load(answers if gold is None else answers.with_gold(gold), ties)
        report("reading")
        arrived = reading.read(self.partitions)
        with clear_errors(arrived.chunks.context):
            guessed = arrived.guess()
            encoding = arrived.learn(replace(guessed, **source.choices))
            truths = None
            if gold is not None:
                encoding, truths = gold.encode(encoding)
            report("preparing")
            shards, sent = arrived.make_shards(encoding, truths, self.partitions)
        run = SparkRun(
            shards,
            workers=arrived.facts.workers,
            answer_counts=np.empty(0, np.int64),
            n_tasks=0,
            n_gold=0,
            encoding=encoding,
            problems=Problems.single(len(arrived.facts.workers)),
            ties=ties,
            notes=arrived.notes,
            origin=_Sent(sent),
        )
        run.count(gold)
        if source.domain is None:
            run.notes["guessed"]["domain"] = guessed.name
        return run


class _Sent:
    """Keep what was sent to the executors as long as shards may have to be made of it again."""

    def __init__(self, sent: Broadcast[Any]) -> None:
        weakref.finalize(self, _release, None, (sent,)).atexit = False


@dataclass(eq=False)
class SparkRun(Run):
    """Go over shards on the executors; ``cuts`` put their tasks in order, unless they are in order already.

    ``origin`` is what shards may have to be made of again.
    """

    shards: RDD[on_executors.Record]
    cuts: Cuts | None = None
    origin: Any = None

    def __post_init__(self) -> None:
        with clear_errors(self.shards.context):
            _keep(self, self.shards)

    def count(self, gold: Gold | None) -> None:
        """Count what the shards hold, once they are made."""
        with clear_errors(self.shards.context):
            packed = self.shards.mapPartitions(on_executors.tallies).collect()
            tallies = [unpack(tally) for tally in on_executors.values(packed)]
        given = self.sum(on_executors.count_answers)["answers"].astype(np.int64)
        vars(self).update(count_up(tallies, given, gold, self.notes))
        self.cuts = sample_cuts(tallies, _AT_ONCE) if len(tallies) > 1 else None

    def sum(self, kernel: Kernel, *params: Floats) -> dict[str, Floats]:
        """Add up what the kernel returns for each block."""
        return self._add(on_executors.sum_blocks, kernel, params, np.concatenate, len(self.workers))

    def pairs(self, kernel: Kernel, rows: range | None = None) -> dict[str, Any]:
        """Add up matrices."""
        rows = rows or range(len(self.workers))
        add = partial(on_executors.sum_pairs, n_workers=len(self.workers), rows=rows)
        return self._add(add, kernel, (), stack_rows, len(rows))

    def find(self, kernel: Kernel, *params: Floats) -> SparkTable:
        """Have the executors keep what the kernel finds for their shards."""
        return SparkTable(self, kernel, params)

    def map(self, change: Callable[[Block], Block]) -> SparkRun:
        """Change all blocks where they are, when they are needed."""
        return replace(self, shards=self.shards.mapPartitions(partial(on_executors.change_blocks, change=change)))

    def _add(
        self, add: Callable[..., Any], kernel: Kernel, params: tuple[Floats, ...], join: Callable[..., Any], n_rows: int
    ) -> dict[str, Any]:
        context = self.shards.context
        with clear_errors(context):
            n_ranges = _ranges(self.shards.getNumPartitions(), n_rows)
        bounds = np.linspace(0, n_rows, n_ranges + 1).astype(np.int64).tolist()
        with clear_errors(context), broadcast(context, kernel, params) as sent:
            sums = self.shards.mapPartitionsWithIndex(
                partial(on_executors.add_partition, add=add, sent=sent, bounds=bounds)
            )
            if len(bounds) > 2:
                sums = sums.partitionBy(len(bounds) - 1, int).mapPartitions(on_executors.add_ranges)
            totals = on_executors.add_up(sums.collect())
        return {name: join([total[name] for total in totals]) for name in totals[0]}


class SparkTable(TaskTable):
    """Know what was found on the executors, and what it sums to."""

    def __init__(self, run: SparkRun, kernel: Kernel, params: tuple[Floats, ...]) -> None:
        self._cuts = run.cuts
        with clear_errors(run.shards.context):
            sent = send(run.shards.context, kernel, params)
            self._found = run.shards.mapPartitions(partial(on_executors.find_pieces, sent=sent, cuts=self._cuts))
            _keep(self, self._found, sent)
            self._totals = list(on_executors.values(self._found.mapPartitions(on_executors.totals).collect()))

    def total(self, name: str) -> float:
        """Add up what the shards sum to."""
        return math.fsum(totals[name][0] for totals in self._totals)

    def count(self, name: str) -> int:
        """Add up what the shards count."""
        return sum(totals[name][1] for totals in self._totals)

    def pieces(self) -> Iterator[Piece]:
        """Fetch everything in the order of task ids, one partition at a time."""
        with clear_errors(self._found.context):
            for piece in on_executors.values(self._in_order().toLocalIterator(prefetchPartitions=True)):
                yield unpack(piece)

    def write(self, path: Path, table: Callable[[Piece], pa.Table]) -> None:
        """Have the executors write Parquet files into a folder of this name, in order; CSV is written from here."""
        if path.suffix != ".parquet":
            super().write(path, table)
            return
        path.mkdir(parents=True, exist_ok=True)
        with clear_errors(self._found.context):
            write = partial(on_executors.write_pieces, path=path, table=table)
            names = list(on_executors.values(self._in_order().mapPartitionsWithIndex(write).collect()))
        for left in set(path.iterdir()).difference(path / name for name in names):
            left.unlink(missing_ok=True)  # by an executor that was lost
        elsewhere = sum(not (path / name).exists() for name in names)
        if elsewhere:
            raise OutputError(
                f"{elsewhere} of {len(names)} parts of {path} were written by executors on other machines, and are not"
                " here. Give a folder that all machines share."
            )

    def _in_order(self) -> RDD[on_executors.Record]:
        pieces = self._found.mapPartitions(on_executors.pieces)
        if self._cuts is None:
            return pieces
        return pieces.partitionBy(len(self._cuts.tasks) + 1, int).mapPartitions(on_executors.put_in_order)


def _send(answers: Answers, context: SparkContext, partitions: int | None) -> RDD[on_executors.Record]:
    """Send shards to the executors, in order.

    Spark would send a list with every task of every round; once shuffled, its parts are where they are needed.
    """
    wanted = partitions or fitting_partitions(context, answers.n_answers, len(answers.workers))
    per_partition = -(-answers.n_answers // (wanted * _SHARD))
    marks = np.linspace(0, answers.n_answers, wanted * per_partition + 1)[1:-1]
    bounds = np.unique([0, *np.searchsorted(answers.starts, marks), len(answers.tasks)]).tolist()
    parcels = [parcel for begin, end in itertools.pairwise(bounds) for parcel in _parcels(answers, begin, end)]
    number = min(len(parcels), max(wanted, sum(map(len, parcels)) // _SENT))
    ends = np.linspace(0, len(parcels), number + 1).astype(np.int64)
    sent = [(place, parcels[ends[place] : ends[place + 1]]) for place in range(number)]
    parallel = context.parallelize(sent, number)
    return parallel if sum(map(len, parcels)) < _TINY else parallel.partitionBy(number, int)


def _parcels(answers: Answers, begin: int, end: int) -> Iterator[bytes]:
    """Pack a range of tasks, or its halves if it is large."""
    from pyspark import cloudpickle  # which sends also functions of the user

    parcel: bytes = cloudpickle.dumps(_cut(answers, begin, end))  # type: ignore[no-untyped-call]
    if len(parcel) <= _SENT or end - begin == 1:
        yield parcel
        return
    middle = (begin + end) // 2
    yield from _parcels(answers, begin, middle)
    yield from _parcels(answers, middle, end)


def _cut(answers: Answers, begin: int, end: int) -> Answers:
    """Cut out a range of tasks; workers keep their numbers, but their ids are not needed."""
    first, last = answers.starts[begin], answers.starts[end]
    known = slice(*np.searchsorted(answers.gold_task, [begin, end]))
    return replace(
        answers,
        workers=Values(range(len(answers.workers))),
        tasks=answers.tasks.take(np.arange(begin, end)),
        starts=answers.starts[begin : end + 1] - first,
        worker=answers.worker[first:last],
        label=answers.label[first:last],
        problems=Problems.single(len(answers.workers)),
        gold_task=answers.gold_task[known] - begin,
        gold_label=answers.gold_label[known],
        gold=None,
        notes={},
        reading={},
    )


def _ranges(n_partitions: int, n_workers: int) -> int:
    """Return into how many ranges of workers sums are split that executors add up, or 1 if the driver does."""
    size = n_partitions * n_workers * _SUMS
    if n_partitions <= _FEW or size <= _LITTLE:
        return 1
    return min(n_partitions, n_workers, max(math.isqrt(n_partitions), size // _ADDED))


def _keep(owner: object, rdd: RDD[Any], *sent: Broadcast[Any]) -> None:
    """Keep an RDD on the executors as long as its owner is used, and what was sent to make it."""
    from pyspark import StorageLevel

    rdd.persist(StorageLevel.MEMORY_AND_DISK_DESER)
    weakref.finalize(owner, _release, rdd, sent).atexit = False


def _release(rdd: RDD[Any] | None, sent: tuple[Broadcast[Any], ...]) -> None:
    with suppress(Exception):  # Spark may have been stopped
        if rdd is not None:
            rdd.unpersist()
        for broadcast in sent:
            broadcast.destroy()
