"""The Spark engine: shards stay on the executors, which apply kernels and return sums per worker.

Shards are packed bytes in a cached RDD, which Spark keeps in memory, moves to disk if memory is short, and recomputes
if an executor is lost. A round broadcasts the parameters of the workers, and each partition adds up its blocks. With
many partitions, each range of workers is then added up on an executor, so that the driver receives every sum once. Sums
are added in a fixed order, so that two runs return the same numbers.

It works best for data stored on a cluster; on a single machine, the other engines are many times faster. It
fails if the executors lack allalike or the driver has too little memory for the sums of all workers.
"""

from __future__ import annotations

import itertools
import math
import threading
import weakref
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.blocks.block import DRAWN, Ties
from allalike._core.blocks.pairs import stack_rows
from allalike._core.columns.values import Values
from allalike._core.options import Options, whole
from allalike._core.system.processes import unpack
from allalike._core.system.progress import report
from allalike.domains.contract import choose_options, spell_domain
from allalike.engines.base import Engine, Run
from allalike.engines.shards import Cuts, Shard, count_up, describe, sample_cuts
from allalike.engines.spark import on_executors
from allalike.engines.spark.session import check_pyspark, clear_errors, find_context, find_session
from allalike.engines.spark.shuffle import broadcast, count_partitions, send
from allalike.engines.spark.sources import find_source
from allalike.engines.sums import Piece, TaskTable
from allalike.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark import RDD, Broadcast, SparkContext
    from pyspark.sql import SparkSession

    from allalike._core.blocks.block import Block, Floats, Kernel
    from allalike.answers import Answers
    from allalike.answers.gold import Gold
    from allalike.readers import Scan

_MAX_SHARD_ANSWERS = 1 << 20  # per shard of answers from memory
_MAX_INLINE_BYTES = 1 << 16  # size up to which answers are sent with every Spark task
_MAX_PARCEL_BYTES = 1 << 26  # of a block that is sent; Spark refuses 128 MB
_SUM_BYTES_PER_WORKER, _PAIR_SUM_BYTES = 16, 8  # usually two sums per worker, and at least one per pair
_MAX_DRIVER_PARTITIONS = 8  # number of partitions up to which the driver adds up the sums
_MAX_DRIVER_BYTES = 1 << 21  # size of the sums up to which the driver adds them up
_PAIR_BYTES = 1 << 32  # of sums of pairs, so that the driver receives at most a gigabyte (a quarter) at a time
_RANGE_BYTES = 1 << 26  # approximate size of the sums of a range on an executor
_TASKS_PER_SORT = 1 << 19  # tasks that are sorted together


@dataclass(frozen=True)
class Spark(Options, Engine):
    """The Spark engine: it keeps answers on the executors of Spark.

    Parameters
    ----------
    session
        The Spark session to use; by default the active one, or a new one.
    spark_master
        Address of the master: ``local[*]`` is this machine with all its cores, ``spark://host:7077`` a cluster. The
        default is the master set by spark-submit or in Spark's settings, or else ``local[*]``.
    partitions
        Number of parts of the answers; by default one for few answers, or else at least one per core.

    >>> import allalike
    >>> allalike.Spark(spark_master="local[2]")
    Spark(session=None, spark_master='local[2]', partitions=None)
    """

    name: ClassVar[str] = "spark"
    session: Any = None
    spark_master: str | None = None
    partitions: int | None = whole(None, least=1)

    def start(self) -> SparkSession:
        """Start Spark, or find the running one, and return its session."""
        report("starting Spark")
        return find_session(self.session, self.spark_master)

    def load(self, answers: Answers, ties: Ties = DRAWN) -> SparkRun:
        """Divide answers in memory into ranges of tasks, and send them to the executors."""
        report("starting Spark")
        context = find_context(self.session, self.spark_master)
        report("sending answers")
        with clear_errors(context):
            parcels = _send_answers(answers, context, self.partitions)
            return SparkRun(parcels.mapPartitions(on_executors.make_shards), **describe(answers, ties))

    def reads(self, source: Scan) -> bool:
        """Return True, because answers are read on the executors or sent to them."""
        return True

    def open(self, source: Scan, gold: Gold | None, ties: Ties) -> SparkRun:
        """Read and keep answers on the executors; the driver reads and sends all other sources."""
        check_pyspark()
        with clear_errors():
            readable = find_source(source, self.session, self.spark_master)
        if readable is None:
            answers = source.read()
            return self.load(answers if gold is None else answers.with_gold(gold), ties)
        report("reading")
        rows = readable.read(self.partitions)
        with clear_errors(rows.chunks.context):
            guessed = rows.source.scan.known_domain or rows.infer_domain(rows.source.scan.guess)
            encoding = rows.learn(choose_options(guessed, source.choices))
            truths = None
            if gold is not None:
                encoding, truths = gold.encode(encoding)
            report("preparing")
            shards, sent = rows.make_shards(encoding, truths, self.partitions)
        notes = rows.notes
        if source.known_domain is None:
            notes = {**notes, "guessed": {**notes["guessed"], "domain": spell_domain(guessed)}}
        run = SparkRun(
            shards,
            workers=rows.facts.workers,
            answer_counts=np.empty(0, np.int64),
            n_tasks=0,
            n_gold=0,
            encoding=encoding,
            ties=ties,
            notes=notes,
            origin=_BroadcastOwner(sent),
        )
        return run.counted(gold)


class _BroadcastOwner:
    """The owner of a broadcast, which exists as long as shards may be recomputed from it."""

    def __init__(self, sent: Broadcast[Any]) -> None:
        weakref.finalize(self, _releases().put, (sent.destroy,)).atexit = False


class _ShardsOwner:
    """The owner of cached shards, which exists as long as a run over them."""

    def __init__(self, shards: RDD[Any]) -> None:
        self.shards = shards
        _persist(self, shards)


@dataclass(frozen=True, eq=False)
class SparkRun(Run):
    """A run over shards on the executors; ``cuts`` are used to sort tasks, unless they are already sorted.

    ``origin`` keeps the source from which shards may be recomputed; ``owner`` is shared by all runs over the same
    shards.
    """

    shards: RDD[on_executors.Record]
    cuts: Cuts | None = None
    origin: Any = None
    owner: _ShardsOwner | None = None

    def __post_init__(self) -> None:
        if self.owner is None or self.owner.shards is not self.shards:
            with clear_errors(self.shards.context):
                object.__setattr__(self, "owner", _ShardsOwner(self.shards))

    @property
    def pair_memory(self) -> int:
        """The bytes available for sums of pairs; the driver receives the sums of several partitions at once."""
        return min(self.free_memory, _PAIR_BYTES // min(self.shards.getNumPartitions(), _MAX_DRIVER_PARTITIONS))

    def counted(self, gold: Gold | None) -> SparkRun:
        """Return the run with the counts of its shards."""
        with clear_errors(self.shards.context):
            totals = self._collect(on_executors.count_partition, len(self.workers), _SUM_BYTES_PER_WORKER)
        counts = np.concatenate([total["answers"] for total in totals]).astype(np.int64)
        tallies = [unpack(tally) for tally in totals[0]["tallies"]]
        cuts = sample_cuts(tallies, _TASKS_PER_SORT) if len(tallies) > 1 else None
        return replace(self, cuts=cuts, **count_up(tallies, counts, gold, self.notes))

    def sum(self, kernel: Kernel, *params: Floats) -> dict[str, Floats]:
        """Add up the results of the kernel."""
        return self._add(on_executors.sum_blocks, kernel, params, np.concatenate, len(self.workers))

    def total(self, kernel: Kernel) -> dict[str, Floats]:
        """Add up the results of the kernel unchanged."""
        return self._add(on_executors.sum_totals, kernel, (), _only_row, 1)

    def pairs(self, kernel: Kernel, rows: range | None = None) -> dict[str, Any]:
        """Add up matrices."""
        rows = rows or range(len(self.workers))
        add = partial(on_executors.sum_pairs, n_workers=len(self.workers), rows=rows)
        return self._add(add, kernel, (), stack_rows, len(rows), _PAIR_SUM_BYTES * len(self.workers))

    def find(self, kernel: Kernel, *params: Floats) -> SparkTable:
        """Apply the kernel to all shards; the results stay on the executors."""
        return SparkTable(self, kernel, params)

    def gather(self, kernel: Callable[..., Block], *params: Floats) -> list[Block]:
        """Fetch the kernel's results for all blocks."""
        context = self.shards.context
        with clear_errors(context), broadcast(context, kernel, params) as sent:
            packed = self.shards.mapPartitions(partial(on_executors.gather_blocks, sent=sent)).collect()
            return [unpack(block) for block in on_executors.unwrap(packed)]

    def map(self, change: Callable[[Block], Block]) -> SparkRun:
        """Return a run over blocks that are changed on the executors when they are needed."""
        return replace(self, shards=self.shards.mapPartitions(partial(on_executors.change_blocks, change=change)))

    def each_shard(self) -> Iterator[Shard]:
        """Fetch the shards, one partition at a time."""
        with clear_errors(self.shards.context):
            for blocks, tasks, _ in on_executors.unwrap(self.shards.toLocalIterator()):
                yield Shard(unpack(blocks), *unpack(tasks))

    def _add(
        self,
        add: Callable[..., Any],
        kernel: Kernel,
        params: tuple[Floats, ...],
        join: Callable[..., Any],
        n_rows: int,
        row_bytes: int = _SUM_BYTES_PER_WORKER,
    ) -> dict[str, Any]:
        context = self.shards.context
        with clear_errors(context), broadcast(context, kernel, params) as sent:
            totals = self._collect(partial(on_executors.add_partition, add=add, sent=sent), n_rows, row_bytes)
        return {name: join([total[name] for total in totals]) for name in totals[0]}

    def _collect(self, add: Callable[..., Any], n_rows: int, row_bytes: int) -> list[dict[str, Any]]:
        """Add up the shards of each partition on the executors, and return the sums for each range of rows."""
        n_ranges = _ranges(self.shards.getNumPartitions(), n_rows, row_bytes)
        bounds = np.linspace(0, n_rows, n_ranges + 1).astype(np.int64).tolist()
        sums = self.shards.mapPartitionsWithIndex(partial(add, bounds=bounds))
        if n_ranges > 1:
            sums = sums.partitionBy(n_ranges, int).mapPartitions(on_executors.add_ranges)
        return on_executors.add_up(sums.collect())


class SparkTable(TaskTable):
    """The results of a kernel per task, which stay on the executors, and their sums."""

    def __init__(self, run: SparkRun, kernel: Kernel, params: tuple[Floats, ...]) -> None:
        self._cuts = run.cuts
        with clear_errors(run.shards.context):
            sent = send(run.shards.context, kernel, params)
            self._found = run.shards.mapPartitions(partial(on_executors.find_pieces, sent=sent, cuts=self._cuts))
            _persist(self, self._found, sent)
            self._totals = list(on_executors.unwrap(self._found.mapPartitions(on_executors.get_totals).collect()))

    def sums(self, name: str) -> list[tuple[float, int]]:
        """Return the sum and count of an array, for each shard."""
        return [totals[name] for totals in self._totals]

    def pieces(self) -> Iterator[Piece]:
        """Fetch all pieces in the order of task ids, one partition at a time."""
        with clear_errors(self._found.context):
            for piece in on_executors.unwrap(self._in_order.toLocalIterator(prefetchPartitions=True)):
                yield unpack(piece)

    def write(self, path: Path, table: Callable[[Piece], pa.Table]) -> None:
        """Write Parquet files in order to a folder with this name on the executors, or CSV on the driver."""
        if path.suffix != ".parquet":
            super().write(path, table)
            return
        path.mkdir(parents=True, exist_ok=True)
        with clear_errors(self._found.context):
            write = partial(on_executors.write_pieces, path=path, table=table)
            names = list(on_executors.unwrap(self._in_order.mapPartitionsWithIndex(write).collect()))
        for left in set(path.iterdir()).difference(path / name for name in names):
            left.unlink(missing_ok=True)  # from a lost executor
        elsewhere = sum(not (path / name).exists() for name in names)
        if elsewhere:
            raise OutputError(
                f"{elsewhere} of {len(names)} parts of {path} were written by executors on other machines. Choose a"
                " folder that all machines share."
            )

    @cached_property
    def _in_order(self) -> RDD[on_executors.Record]:
        """The sorted pieces; Spark keeps shuffled data and does not shuffle again."""
        pieces = self._found.mapPartitions(on_executors.get_pieces)
        if self._cuts is None:
            return pieces
        return pieces.partitionBy(len(self._cuts.tasks) + 1, int).mapPartitions(on_executors.put_in_order)


def _send_answers(answers: Answers, context: SparkContext, partitions: int | None) -> RDD[on_executors.Record]:
    """Send answers to the executors, in order.

    Spark would send a list with every Spark task of every round; after a shuffle, its parts stay on the executors.
    """
    wanted = partitions or count_partitions(context, answers.n_answers, len(answers.workers))
    per_partition = -(-answers.n_answers // (wanted * _MAX_SHARD_ANSWERS))
    marks = np.linspace(0, answers.n_answers, wanted * per_partition + 1)[1:-1]
    bounds = np.unique([0, *np.searchsorted(answers.starts, marks), len(answers.tasks)]).tolist()
    parcels = [parcel for begin, end in itertools.pairwise(bounds) for parcel in _pack_tasks(answers, begin, end)]
    number = min(len(parcels), max(wanted, sum(map(len, parcels)) // _MAX_PARCEL_BYTES))
    ends = np.linspace(0, len(parcels), number + 1).astype(np.int64)
    sent = [(partition, parcels[ends[partition] : ends[partition + 1]]) for partition in range(number)]
    parallel = context.parallelize(sent, number)
    return parallel if sum(map(len, parcels)) < _MAX_INLINE_BYTES else parallel.partitionBy(number, int)


def _pack_tasks(answers: Answers, begin: int, end: int) -> Iterator[bytes]:
    """Pack a range of tasks, or its halves if it is large."""
    from pyspark import cloudpickle  # also sends the user's functions

    parcel: bytes = cloudpickle.dumps(_cut(answers, begin, end))  # type: ignore[no-untyped-call]
    if len(parcel) <= _MAX_PARCEL_BYTES or end - begin == 1:
        yield parcel
        return
    middle = (begin + end) // 2
    yield from _pack_tasks(answers, begin, middle)
    yield from _pack_tasks(answers, middle, end)


def _cut(answers: Answers, begin: int, end: int) -> Answers:
    """Return a range of tasks; workers keep their numbers, and their ids are omitted."""
    first, last = answers.starts[begin], answers.starts[end]
    known = slice(*np.searchsorted(answers.gold_task, [begin, end]))
    return replace(
        answers,
        workers=Values(range(len(answers.workers))),
        tasks=answers.tasks.take(np.arange(begin, end)),
        starts=answers.starts[begin : end + 1] - first,
        worker=answers.worker[first:last],
        label=answers.label[first:last],
        gold_task=answers.gold_task[known] - begin,
        gold_label=answers.gold_label[known],
        gold=None,
        notes={},
        read_options={},
    )


def _only_row(parts: list[Floats]) -> Floats:
    return np.asarray(parts[0][0])


def _ranges(n_partitions: int, n_workers: int, worker_bytes: int) -> int:
    """Return the number of ranges of workers that executors add up, or 1 if the driver adds up everything."""
    size = n_partitions * n_workers * worker_bytes
    if n_partitions <= _MAX_DRIVER_PARTITIONS or size <= _MAX_DRIVER_BYTES:
        return 1
    return min(n_partitions, n_workers, max(math.isqrt(n_partitions), size // _RANGE_BYTES))


def _persist(owner: object, rdd: RDD[Any], *sent: Broadcast[Any]) -> None:
    """Keep an RDD and its broadcasts on the executors as long as its owner exists."""
    from pyspark import StorageLevel

    rdd.persist(StorageLevel.MEMORY_AND_DISK_DESER)
    calls = (rdd.unpersist, *(broadcast.destroy for broadcast in sent))
    weakref.finalize(owner, _releases().put, calls).atexit = False


@cache
def _releases() -> SimpleQueue[tuple[Callable[[], object], ...]]:
    """Return the queue of a thread that releases memory on the executors.

    A finalizer can run during another call to Java; on the same connection, each call would get the reply to the other.
    A thread has its own connection.
    """
    queue: SimpleQueue[tuple[Callable[[], object], ...]] = SimpleQueue()

    def release() -> None:
        while True:
            for call in queue.get():
                with suppress(Exception):  # Spark may have been stopped
                    call()

    threading.Thread(target=release, name="allalike-release", daemon=True).start()
    return queue
