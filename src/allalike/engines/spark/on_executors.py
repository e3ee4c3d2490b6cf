"""Functions that the executors of Spark apply to the records of one partition.

A record is a pair of a partition number and a value. An error for the user is also a record: every step passes it on,
and it is raised on the driver.
"""

from __future__ import annotations

import gc
import pickle
from collections import deque
from functools import wraps
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.factors import factorize
from allalike._core.columns.values import arrow_of, numpy_of
from allalike._core.lazy_imports import pa, pc
from allalike._core.system.files import atomic_file
from allalike._core.system.processes import pack, unpack
from allalike._core.system.tables import write_tables
from allalike.answers.answers import join_batches
from allalike.engines.routing import Router, join_digests
from allalike.engines.shards import Cuts, Shard, Tally, encode, find_piece, in_order, of_answers, sum_up
from allalike.engines.sums import PairSums, Sums, select_workers
from allalike.errors import AllalikeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pyspark import Broadcast

    from allalike._core.blocks.block import Block, Floats, Kernel
    from allalike.answers.answers import Batch
    from allalike.engines.routing import InputFacts, RoutingPlan
    from allalike.engines.sums import Piece

    Record = tuple[int, Any]
    Records = Iterable[Record]
    Totals = dict[str, Any]

_MIN_SHARD_BYTES = 1 << 22  # of rows, except for the last shard


def unwrap(records: Records) -> Iterator[Any]:
    """Yield the values of records, and raise the first error among them.

    >>> list(unwrap([(0, "a"), (1, "b")]))
    ['a', 'b']
    """
    for _, value in records:
        if isinstance(value, AllalikeError):
            raise value
        yield value


def _as_records(function: Callable[..., Iterator[Record]]) -> Callable[..., Iterator[Record]]:
    """Decorate a function so that it yields an error for the user as a record."""

    @wraps(function)
    def as_records(*args: Any, **options: Any) -> Iterator[Record]:
        try:
            yield from function(*args, **options)
        except AllalikeError as error:
            deque(args[-1], maxlen=0)  # Spark ends a worker that leaves records unread
            yield 0, error

    return as_records


def make_shards(records: Records) -> Iterator[Record]:
    """Prepare the blocks of answers, and yield shards: packed blocks, tasks with sizes, and tally."""
    for parcels in unwrap(records):
        for parcel in parcels:
            yield 0, pack_shard(*of_answers(_unpickle(parcel)))


def pack_shard(shard: Shard, tally: Tally) -> tuple[bytes, bytes, bytes]:
    """Pack the blocks of a shard, its tasks, and its counts."""
    return pack(shard.blocks), pack((shard.tasks, shard.sizes)), pack(tally)


# Routing: rows become chunks for each partition, and chunks become shards.


SCHEMA = "partition int, data binary"


def route_frame(batches: Iterable[Any], plan: RoutingPlan, split: Callable[[Any], Batch]) -> Iterator[Any]:
    """Convert the rows of a data frame's partition to records: a partition number, and a chunk or the digest."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    unread = iter(batches)
    for partition, data in _route(context.partitionId(), map(split, unread), plan):
        columns = [pa.array([partition], pa.int32()), pa.array([data], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, ["partition", "data"])
    deque(unread, maxlen=0)  # Spark ends a worker that leaves records unread


def _route(number: int, batches: Iterable[Batch], plan: RoutingPlan) -> Iterator[tuple[int, bytes]]:
    """Yield the chunks of an input, and finally its digest or an error."""
    router = Router(number, plan)
    try:
        for batch in join_batches(batches):
            for partition, chunk in router.route(batch):
                sink = pa.BufferOutputStream()
                chunk = chunk.replace_schema_metadata({"input": str(number)})
                with pa.ipc.new_stream(sink, chunk.schema) as writer:
                    writer.write_batch(chunk)
                yield partition, sink.getvalue().to_pybytes()
        result: Any = router.finish()
    except AllalikeError as error:
        result = error
    yield plan.n_partitions, pack(result)


def join_facts(records: Records, plan: RoutingPlan) -> Iterator[Any]:
    """Return facts about all rows, or an error; this partition has the digests of all inputs."""
    digests = unwrap((number, unpack(data)) for number, data in records if number == plan.n_partitions)
    try:
        facts: Any = join_digests(digests, plan.max_numbered_labels)
    except AllalikeError as error:
        facts = error
    deque(records, maxlen=0)
    yield facts


def _select_chunks(records: Records, n_partitions: int) -> Iterator[bytes]:
    return (data for number, data in records if number < n_partitions)


def _read_chunks(chunks: Iterable[bytes], facts: InputFacts, limit: int | None = None) -> dict[str, Any] | None:
    """Return the columns of chunks in the order of global row numbers, up to a limit if there is one."""
    tables = []
    for chunk in chunks:
        table = pa.ipc.open_stream(pa.py_buffer(chunk)).read_all()
        rows = numpy_of(table["row"]) + facts.before[int(table.schema.metadata[b"input"])]
        if limit is not None:
            table, rows = table.filter(arrow_of(rows < limit)), rows[rows < limit]
        if len(rows):
            tables.append((rows, table))
    if not tables:
        return None
    tables.sort(key=lambda each: int(each[0][0]))
    columns: dict[str, Any] = {"row": np.concatenate([rows for rows, _ in tables])}
    for role in ("worker", "task", "label"):
        columns[role] = facts.restore(role, [chunk for _, table in tables for chunk in table[role].chunks])
    return columns


def _make_columns(columns: dict[str, Any], facts: InputFacts) -> tuple[Column, Column, Column]:
    """Return the columns of a shard: worker with global numbers, task and label."""
    codes, own = Column("worker", columns["worker"], text="worker" in facts.text).factors
    among = numpy_of(pc.index_in(own.data, value_set=facts.workers.data))
    worker = Column.of_codes("worker", among[codes], facts.workers)
    task = Column.of_codes("task", *factorize(columns["task"], many=True))
    return worker, task, facts.make_label(columns["label"], columns["row"])


@_as_records
def take_first_rows(records: Records, sent: Broadcast[bytes], limit: int) -> Iterator[Record]:
    """Return the rows of a partition with numbers below a limit, in order."""
    facts, n_partitions = _unpickle(sent.value)
    columns = _read_chunks(_select_chunks(records, n_partitions), facts, limit)
    if columns is not None:
        yield 0, pack(columns)


@_as_records
def encode_labels(records: Records, sent: Broadcast[bytes]) -> Iterator[Record]:
    """Return the labels of a partition, each with the number of its task."""
    facts, n_partitions = _unpickle(sent.value)
    columns = _read_chunks(_select_chunks(records, n_partitions), facts)
    if columns is not None:
        _, task, label = _make_columns(columns, facts)
        yield 0, pack((*label.factors, task.factors[0]))


@_as_records
def learn_labels(records: Records, sent: Broadcast[bytes]) -> Iterator[Record]:
    """Return the encoding of the labels of a partition."""
    from pyspark import cloudpickle

    facts, n_partitions, domain = _unpickle(sent.value)
    columns = _read_chunks(_select_chunks(records, n_partitions), facts)
    if columns is not None:
        label = facts.make_label(columns["label"], columns["row"])
        yield 0, cloudpickle.dumps(domain.learn(label))  # type: ignore[no-untyped-call]


@_as_records
def make_row_shards(records: Records, sent: Broadcast[bytes]) -> Iterator[Record]:
    """Convert the rows of some partitions into shards."""
    facts, n_partitions, encoding, truths, duplicates = _unpickle(sent.value)
    for chunks in _group_chunks(records, n_partitions):
        columns = _read_chunks(chunks, facts)
        if columns is not None:
            yield 0, pack_shard(*of_answers(encode(*_make_columns(columns, facts), encoding, truths, duplicates)))


def _group_chunks(records: Records, n_partitions: int) -> Iterator[list[bytes]]:
    """Yield the chunks of one partition, or of several small ones, at a time.

    >>> records = [(0, bytes(_MIN_SHARD_BYTES)), (1, b"a"), (2, b"b"), (3, b"a digest")]
    >>> [len(chunks) for chunks in _group_chunks(records, 3)]
    [1, 2]
    """
    chunks: list[bytes] = []
    for _, group in groupby((record for record in records if record[0] < n_partitions), key=itemgetter(0)):
        chunks += (data for _, data in group)
        if sum(map(len, chunks)) >= _MIN_SHARD_BYTES:
            yield chunks
            chunks = []
    if chunks:
        yield chunks


@_as_records
def change_blocks(records: Records, change: Callable[[Block], Block]) -> Iterator[Record]:
    """Change all blocks."""
    for blocks, *others in unwrap(records):
        yield 0, (pack([change(block) for block in unpack(blocks)]), *others)


def _unpack_blocks(records: Records) -> Iterator[Block]:
    for blocks, *_ in unwrap(records):
        yield from unpack(blocks)


def sum_blocks(blocks: Iterator[Block], n_workers: int, kernel: Kernel, params: tuple[Floats, ...]) -> Totals:
    """Add up a kernel's results."""
    return Sums.of(blocks, n_workers, kernel, params).arrays


def sum_totals(blocks: Iterator[Block], n_rows: int, kernel: Kernel, params: tuple[Floats, ...]) -> Totals:
    """Add up a kernel's results that are not per worker, as arrays with one row."""
    return {name: array[None] for name, array in Sums.of(blocks, None, kernel).arrays.items()}


def sum_pairs(
    blocks: Iterator[Block], n_rows: int, kernel: Kernel, params: tuple[Floats, ...], *, n_workers: int, rows: range
) -> Totals:
    """Add up a kernel's results for pairs of the workers in ``rows`` with all workers."""
    return PairSums(n_workers, rows).add(blocks, kernel).result()


@_as_records
def add_partition(
    number: int, records: Records, add: Callable[..., Totals], sent: Broadcast[bytes], bounds: list[int]
) -> Iterator[Record]:
    """Add up the blocks of a partition, and split the sums by ranges of workers."""
    if not gc.get_freeze_count():
        gc.freeze()  # excludes all modules from the garbage collection after every Spark task
    sums = add(_unpack_blocks(records), bounds[-1], *_unpickle(sent.value))
    yield from _split(number, sums, bounds)


@_as_records
def count_partition(number: int, records: Records, bounds: list[int]) -> Iterator[Record]:
    """Count each worker's answers in a partition, split by ranges of workers; the first also has the tallies."""
    tallies: list[bytes] = []

    def each_block() -> Iterator[Block]:
        for blocks, _, tally in unwrap(records):
            tallies.append(tally)
            yield from unpack(blocks)

    sums = sum_blocks(each_block(), bounds[-1], _count_answers, ())
    yield from _split(number, sums, bounds, **({"tallies": tallies} if tallies else {}))


def _count_answers(block: Block) -> dict[str, Floats]:
    return {"answers": block.per_worker(np.ones(len(block.label)))}


def _split(number: int, sums: Totals, bounds: list[int], **first: list[Any]) -> Iterator[Record]:
    """Split the sums of a partition by ranges of workers; the first range also gets the lists."""
    for range_number, (begin, end) in enumerate(pairwise(bounds)):
        part = {name: array[begin:end] for name, array in sums.items()}
        yield range_number, (number, pack({**part, **({} if range_number else first)}))


@_as_records
def add_ranges(records: Records) -> Iterator[Record]:
    """Add up the sums of all partitions for the ranges of this partition."""
    for range_number, total in _add_by_range(records).items():
        yield range_number, (0, pack(total))


def add_up(records: Records) -> list[Totals]:
    """Return the sums for each range of workers, in order."""
    return [total for _, total in sorted(_add_by_range(records).items())]


def _add_by_range(records: Records) -> dict[int, Totals]:
    """Add up in the order of partitions, pair by pair, so that sparse sums are not copied often."""
    parts: dict[int, list[tuple[int, bytes]]] = {}
    records = list(records)
    for (range_number, _), value in zip(records, unwrap(records), strict=True):
        parts.setdefault(range_number, []).append(value)
    added = {}
    for range_number, part in parts.items():
        sums = [unpack(packed) for _, packed in sorted(part)]
        while len(sums) > 1:
            sums = [_add_two(*sums[pair : pair + 2]) for pair in range(0, len(sums), 2)]
        added[range_number] = sums[0]
    return added


def _add_two(left: Totals, right: Totals | None = None) -> Totals:
    if not (left and right):  # the last one of an odd number, or a partition without shards
        return left or right or {}
    return {name: left[name] + right[name] for name in left}


@_as_records
def gather_blocks(records: Records, sent: Broadcast[bytes]) -> Iterator[Record]:
    """Return the packed results of a kernel for each block."""
    kernel, params = _unpickle(sent.value)
    for block in _unpack_blocks(records):
        yield 0, pack(kernel(block, *select_workers(block, params)))


@_as_records
def find_pieces(records: Records, sent: Broadcast[bytes], cuts: Cuts | None) -> Iterator[Record]:
    """Apply a kernel to each shard, and yield its sums and its packed pieces, one for each range of tasks."""
    kernel, params = _unpickle(sent.value)
    for blocks, tasks, _ in unwrap(records):
        piece = find_piece(Shard(unpack(blocks), *unpack(tasks)), kernel, params)
        parts = [piece] if cuts is None else cuts(piece)
        sums = {name: sum_up(array) for name, array in piece.found.items()}
        yield 0, (sums, [pack(part) if len(part.tasks) else b"" for part in parts])


@_as_records
def get_totals(records: Records) -> Iterator[Record]:
    """Return the sums of all shards."""
    for sums, _ in unwrap(records):
        yield 0, sums


@_as_records
def get_pieces(records: Records) -> Iterator[Record]:
    """Return the pieces of all shards, each with the number of its range."""
    for _, parts in unwrap(records):
        yield from ((range_number, part) for range_number, part in enumerate(parts) if part)


@_as_records
def put_in_order(records: Records) -> Iterator[Record]:
    """Join the pieces of a range, and sort their tasks."""
    parts = [unpack(part) for part in unwrap(records)]
    if parts:
        yield 0, pack(in_order(parts))


@_as_records
def write_pieces(number: int, records: Records, path: Path, table: Callable[[Piece], pa.Table]) -> Iterator[Record]:
    """Write the pieces of a partition to a file, atomically, because Spark may repeat a task."""
    parts = (unpack(part) for part in unwrap(records))
    first = next(parts, None)
    if first is None:
        return
    target = path / f"part-{number:05}.parquet"
    with atomic_file(target, failure=f"An executor cannot write {target}") as beside:
        write_tables(beside, map(table, (first, *parts)))
    yield number, target.name


def _unpickle(data: bytes) -> Any:
    return pickle.loads(data)  # nosec B301 # sent by this program to its executors
