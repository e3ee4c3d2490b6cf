"""What the executors of Spark do: functions of the records of one partition.

A record is a pair of a place and what belongs there. An error that the user can understand is a record too: whoever
comes across it hands it on, and it is raised where the run was started.
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

from allalike.engines.serialization import pack, unpack
from allalike.engines.shards import Shard, encode, find_piece, in_order, of_answers, sum_up
from allalike.engines.spark.facts import columns_of, join_digests, label_column, read_chunks
from allalike.engines.sums import PairSums, Sums
from allalike.errors import AllalikeError
from allalike.system.files import atomic_file
from allalike.system.tables import write_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark import Broadcast

    from allalike.blocks.block import Block, Floats, Kernel
    from allalike.engines.shards import Cuts, Tally
    from allalike.engines.spark.rows import Plan
    from allalike.engines.task_table import Piece

    Record = tuple[int, Any]
    Records = Iterable[Record]
    Totals = dict[str, Any]

__all__ = [
    "add_partition",
    "add_ranges",
    "add_up",
    "change_blocks",
    "count_answers",
    "find_pieces",
    "join_facts",
    "label_parts",
    "learn_labels",
    "make_shards",
    "pieces",
    "put_in_order",
    "shards_of_rows",
    "some_rows",
    "sum_blocks",
    "sum_pairs",
    "tallies",
    "totals",
    "values",
    "write_pieces",
]

_SMALL = 1 << 22  # bytes of rows that go into one shard with others


def values(records: Records) -> Iterator[Any]:
    """Yield what the records hold, and raise an error that is among them.

    >>> list(values([(0, "a"), (1, "b")]))
    ['a', 'b']
    """
    for _, value in records:
        if isinstance(value, AllalikeError):
            raise value
        yield value


def _handing_on(function: Callable[..., Iterator[Record]]) -> Callable[..., Iterator[Record]]:
    @wraps(function)
    def handing_on(*args: Any, **options: Any) -> Iterator[Record]:
        try:
            yield from function(*args, **options)
        except AllalikeError as error:
            deque(args[-1], maxlen=0)  # a worker that leaves records unread is ended by Spark
            yield 0, error

    return handing_on


@_handing_on
def make_shards(records: Records) -> Iterator[Record]:
    """Prepare the blocks of answers; a shard is its blocks, its tasks with their sizes, and its tally, each packed."""
    for parcels in values(records):
        for parcel in parcels:
            yield 0, _packed(*of_answers(pickle.loads(parcel)))


def _packed(shard: Shard, tally: Tally) -> tuple[bytes, bytes, bytes]:
    """Pack the blocks of a shard, its tasks, and what it holds."""
    return pack(shard.blocks), pack((shard.tasks, shard.sizes)), pack(tally)


def join_facts(records: Records, plan: Plan) -> Iterator[Any]:
    """Return what is true of all rows, or what is wrong with them; this place has the digests of all sources."""
    told = values((place, unpack(data)) for place, data in records if place == plan.places)
    try:
        facts: Any = join_digests(told, plan)
    except AllalikeError as error:
        facts = error
    deque(records, maxlen=0)
    yield facts


def _chunks(records: Records, places: int) -> Iterator[bytes]:
    return (data for place, data in records if place < places)


@_handing_on
def some_rows(records: Records, sent: Broadcast[bytes], limit: int) -> Iterator[Record]:
    """Return the rows of a place whose numbers are below a limit, in order."""
    facts, places = pickle.loads(sent.value)
    columns = read_chunks(_chunks(records, places), facts, limit)
    if columns is not None:
        yield 0, pack(columns)


@_handing_on
def label_parts(records: Records, sent: Broadcast[bytes]) -> Iterator[Record]:
    """Return the labels of a place, each with the number of its task."""
    facts, places = pickle.loads(sent.value)
    columns = read_chunks(_chunks(records, places), facts)
    if columns is not None:
        _, task, label = columns_of(columns, facts)
        yield 0, pack((*label.factors, task.factors[0]))


@_handing_on
def learn_labels(records: Records, sent: Broadcast[bytes]) -> Iterator[Record]:
    """Return the encoding of the labels of a place."""
    from pyspark import cloudpickle

    facts, places, domain = pickle.loads(sent.value)
    columns = read_chunks(_chunks(records, places), facts)
    if columns is not None:
        yield 0, cloudpickle.dumps(domain.learn(label_column(columns, facts)))  # type: ignore[no-untyped-call]


@_handing_on
def shards_of_rows(records: Records, sent: Broadcast[bytes]) -> Iterator[Record]:
    """Make shards of the rows of some places."""
    facts, places, encoding, truths, repeats = pickle.loads(sent.value)
    for chunks in _parts(records, places):
        columns = read_chunks(chunks, facts)
        if columns is not None:
            yield 0, _packed(*of_answers(encode(*columns_of(columns, facts), encoding, truths, repeats)))


def _parts(records: Records, places: int) -> Iterator[list[bytes]]:
    """Yield the chunks of one place after the other, or of several that are small.

    >>> [len(chunks) for chunks in _parts([(0, bytes(_SMALL)), (1, b"a"), (2, b"b"), (3, b"a digest")], 3)]
    [1, 2]
    """
    chunks: list[bytes] = []
    for _, of_place in groupby((record for record in records if record[0] < places), key=itemgetter(0)):
        chunks += (data for _, data in of_place)
        if sum(map(len, chunks)) >= _SMALL:
            yield chunks
            chunks = []
    if chunks:
        yield chunks


@_handing_on
def change_blocks(records: Records, change: Callable[[Block], Block]) -> Iterator[Record]:
    """Change all blocks."""
    for blocks, *others in values(records):
        yield 0, (pack([change(block) for block in unpack(blocks)]), *others)


@_handing_on
def tallies(records: Records) -> Iterator[Record]:
    """Return what the shards hold."""
    for _, _, tally in values(records):
        yield 0, tally


def count_answers(block: Block) -> dict[str, Floats]:
    """Count the answers of each worker."""
    return {"answers": block.per_worker(np.ones(len(block.label)))}


def _blocks(records: Records) -> Iterator[Block]:
    for blocks, *_ in values(records):
        yield from unpack(blocks)


def sum_blocks(blocks: Iterator[Block], n_workers: int, kernel: Kernel, params: tuple[Floats, ...]) -> Totals:
    """Add up what a kernel returns for each block."""
    sums = Sums(n_workers)
    for block in blocks:
        sums.add(block, kernel, params)
    return sums.arrays


def sum_pairs(
    blocks: Iterator[Block], n_rows: int, kernel: Kernel, params: tuple[Floats, ...], *, n_workers: int, rows: range
) -> Totals:
    """Add up what a kernel returns for the pairs of some workers with all, in each block."""
    sums = PairSums(n_workers, rows)
    for block in blocks:
        sums.add(block, kernel)
    return sums.result()


@_handing_on
def add_partition(
    number: int, records: Records, add: Callable[..., Totals], sent: Broadcast[bytes], bounds: list[int]
) -> Iterator[Record]:
    """Add up the blocks of a partition, and split the sums by ranges of workers."""
    if not gc.get_freeze_count():
        gc.freeze()  # Spark has garbage looked for after every task, which need not be among all modules
    sums = add(_blocks(records), bounds[-1], *pickle.loads(sent.value))
    for place, (begin, end) in enumerate(pairwise(bounds)):
        yield place, (number, pack({name: array[begin:end] for name, array in sums.items()}))


@_handing_on
def add_ranges(records: Records) -> Iterator[Record]:
    """Add up the sums of all partitions for the ranges that came here."""
    for place, total in _added(records).items():
        yield place, (0, pack(total))


def add_up(records: Records) -> list[Totals]:
    """Return the sums for each range of workers, in order."""
    return [total for _, total in sorted(_added(records).items())]


def _added(records: Records) -> dict[int, Totals]:
    """Add up in the order of partitions, in pairs and pairs of pairs, so that sparse sums are not copied often."""
    parts: dict[int, list[tuple[int, bytes]]] = {}
    records = list(records)
    for (place, _), value in zip(records, values(records), strict=True):
        parts.setdefault(place, []).append(value)
    added = {}
    for place, part in parts.items():
        sums = [unpack(packed) for _, packed in sorted(part)]
        while len(sums) > 1:
            sums = [_plus(*sums[pair : pair + 2]) for pair in range(0, len(sums), 2)]
        added[place] = sums[0]
    return added


def _plus(left: Totals, right: Totals | None = None) -> Totals:
    if not (left and right):  # the last of an odd number, or from a partition without shards
        return left or right or {}
    return {name: left[name] + right[name] for name in left}


@_handing_on
def find_pieces(records: Records, sent: Broadcast[bytes], cuts: Cuts | None) -> Iterator[Record]:
    """Find something for the tasks of each shard: what it sums to, and packed pieces, one for each range of tasks."""
    kernel, params = pickle.loads(sent.value)
    for blocks, tasks, _ in values(records):
        piece = find_piece(Shard(unpack(blocks), *unpack(tasks)), kernel, params)
        parts = [piece] if cuts is None else cuts(piece)
        sums = {name: sum_up(array) for name, array in piece.found.items()}
        yield 0, (sums, [pack(part) if len(part.tasks) else b"" for part in parts])


@_handing_on
def totals(records: Records) -> Iterator[Record]:
    """Return what was found sums to."""
    for sums, _ in values(records):
        yield 0, sums


@_handing_on
def pieces(records: Records) -> Iterator[Record]:
    """Return the pieces that were found, each with the number of its range."""
    for _, parts in values(records):
        yield from ((place, part) for place, part in enumerate(parts) if part)


@_handing_on
def put_in_order(records: Records) -> Iterator[Record]:
    """Make one piece, in order, of all pieces of a range."""
    parts = [unpack(part) for part in values(records)]
    if parts:
        yield 0, pack(in_order(parts))


@_handing_on
def write_pieces(number: int, records: Records, path: Path, table: Callable[[Piece], pa.Table]) -> Iterator[Record]:
    """Write the pieces of a partition into a file; it gets its name once it is complete, for a task may be repeated."""
    parts = (unpack(part) for part in values(records))
    first = next(parts, None)
    if first is None:
        return
    target = path / f"part-{number:05}.parquet"
    with atomic_file(target, failure=f"An executor cannot write {target}") as beside:
        write_tables(beside, map(table, (first, *parts)))
    yield number, target.name
