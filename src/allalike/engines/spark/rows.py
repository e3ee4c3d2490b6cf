"""Send rows of answers where their task belongs, on the executors of Spark.

What Spark reads in one go, a source, is cut into chunks, one for each place to which tasks go by their hashes, and into
a digest of what must be known of all rows: who the workers are, whether there are few labels, whether ids are whole
numbers. Digests go to a place of their own, where they are joined (`allalike.engines.spark.facts`). So everything is
read once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.columns.column import Column
from allalike.columns.factors import distinct
from allalike.columns.values import Values, arrow_of, is_string, numpy_of, take_rows
from allalike.engines.ingest.routes import whole_numbers
from allalike.engines.ingest.vocabulary import Vocabulary
from allalike.engines.spark.csv_files import CutFieldError, TextFile, read_lines, runs
from allalike.errors import AllalikeError
from allalike.system.serialization import pack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt
    import pyarrow as pa

    from allalike.engines.spark.csv_files import Split

    Rows = npt.NDArray[np.int64]
    Odd = tuple[int, Any]

__all__ = ["ROLES", "SCHEMA", "Digest", "Plan", "look_at", "route_rows"]

SCHEMA = "place int, data binary"
ROLES = ("worker", "task", "label")
_ROWS, _BYTES = 1 << 20, 1 << 26  # of a batch, unless it is the last: so many rows, or so many bytes
_HALF = np.uint64(32)
_TIMES = 4  # rows of a chunk for each entry of a dictionary that is sent with it


@dataclass(frozen=True)
class Plan:
    """Say how a source is read: into how many places its rows go, and what its files are.

    Text comes as lines of ``files``, which are known by the checksums of their paths; of other files only the
    ``order`` matters. Both are empty for a data frame, whose partitions are in order. As many as ``few`` different
    labels become known to the driver, and a ``piece`` of text is so many bytes that are read at once.
    """

    places: int
    files: Mapping[int, TextFile] = field(default_factory=dict)
    order: Mapping[int, int] = field(default_factory=dict)
    whole: bool = False
    few: int = (1 << 15) - 1
    piece: int = 1 << 24

    @property
    def text(self) -> bool:
        """Whether all values are strings."""
        return bool(self.files)

    def tables(self, batches: Iterable[pa.RecordBatch], source: int) -> Iterator[tuple[Split, pa.Table]]:
        """Yield columns of rows, with the place of their split."""
        import pyarrow as pa

        if self.files:
            yield from read_lines(batches, self.files, whole=self.whole, piece=self.piece)
        elif self.order:
            for (key, block), part in runs(batches):
                yield (self.order[key], block), pa.Table.from_batches([part]).select(ROLES)
        else:
            for batch in batches:
                yield (source, 0), pa.Table.from_batches([batch])


@dataclass
class Digest:
    """Know what is to be known of the rows of a source, which are numbered from 0."""

    source: int
    splits: list[tuple[Split, int]] = field(default_factory=list)
    read: int = 0
    kept: int = 0
    blank: dict[str, tuple[int, int]] = field(default_factory=dict)
    workers: Any = None
    labels: Any = None
    first_rows: Any = None
    whole: dict[str, bool] = field(default_factory=lambda: {"task": True, "label": True})
    odd: Odd | None = None
    numbers: bool = False
    cut: bool = False


def route_rows(batches: Iterable[pa.RecordBatch], plan: Plan) -> Iterator[pa.RecordBatch]:
    """Turn the rows of a source into records: a place, and a chunk of rows or the digest of all of them."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    digest = Digest(context.partitionId())
    router = _Router(plan, digest)
    unread = iter(batches)
    told: Any = digest
    try:
        for table in _gathered(router.counted(plan.tables(unread, digest.source))):
            yield _records(router.route(table))
        router.finish()
    except CutFieldError:
        told = Digest(digest.source, cut=True)
    except AllalikeError as error:
        told = error
    for _ in unread:  # a worker that leaves records unread is ended by Spark
        pass
    yield _records([(plan.places, pack(told))])


def _records(records: Iterable[tuple[int, bytes]]) -> pa.RecordBatch:
    import pyarrow as pa

    places, data = zip(*records, strict=True) if (records := list(records)) else ((), ())
    return pa.RecordBatch.from_arrays([pa.array(places, pa.int32()), pa.array(data, pa.binary())], ["place", "data"])


def _gathered(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Join small tables, so that each is worth its while."""
    import pyarrow as pa

    waiting: list[Any] = []
    rows = size = 0
    for table in tables:
        waiting.append(table)
        rows, size = rows + table.num_rows, size + table.nbytes
        if rows >= _ROWS or size >= _BYTES:
            yield pa.concat_tables(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.concat_tables(waiting)


class _Router:
    """Cut rows into chunks, and take note of what they are."""

    def __init__(self, plan: Plan, digest: Digest) -> None:
        self._plan, self._digest = plan, digest
        self._workers, self._labels = Vocabulary(), Vocabulary()
        self._many = False

    def counted(self, tables: Iterable[tuple[Split, pa.Table]]) -> Iterator[pa.Table]:
        """Take note of how many rows each split has."""
        splits = self._digest.splits
        for split, table in tables:
            before = splits.pop()[1] if splits and splits[-1][0] == split else 0
            splits.append((split, before + table.num_rows))
            yield table

    def route(self, table: pa.Table) -> Iterator[tuple[int, bytes]]:
        """Yield a chunk for each place that gets some of the rows."""
        digest = self._digest
        rows = digest.read + np.arange(table.num_rows)
        digest.read += table.num_rows
        complete = self._complete(table, rows)
        if not complete.all():
            table, rows = table.filter(arrow_of(complete)), rows[complete]
        digest.kept += len(rows)
        if len(rows):
            yield from self._chunks({role: _whole(table[role]) for role in ROLES}, rows)

    def _complete(self, table: pa.Table, rows: Rows) -> npt.NDArray[np.bool_]:
        """Tell which rows have a label and ids, and count the others."""
        complete = np.ones(len(rows), np.bool_)
        for role in ("label", "task", "worker"):
            missing = complete & _missing(table[role], self._plan.text)
            if missing.any():
                count, first = self._digest.blank.get(role, (0, int(rows[np.argmax(missing)])))
                self._digest.blank[role] = count + int(missing.sum()), first
                complete &= ~missing
        return complete

    def _chunks(self, columns: dict[str, Any], rows: Rows) -> Iterator[tuple[int, bytes]]:
        import pyarrow as pa

        for role in ("worker", "task"):
            if pa.types.is_nested(columns[role].type):
                _ = Column(role, columns[role]).factors  # which says why such ids will not do
        places = self._places(columns["task"])
        counts = np.bincount(places).tolist()
        per_chunk = len(rows) / sum(count > 0 for count in counts)
        workers = self._workers.number(Column("worker", columns["worker"]))
        sent = {
            "worker": _compact(columns["worker"], workers, self._workers, per_chunk),
            "task": columns["task"],
            "label": self._label(columns["label"], rows, per_chunk),
            "row": arrow_of(rows),
        }
        if len(counts) > 1:
            order = np.argsort(places, kind="stable")
            sent = {name: take_rows(column, order) for name, column in sent.items()}
        batch = pa.RecordBatch.from_arrays(list(sent.values()), list(sent))
        batch = batch.replace_schema_metadata({"source": str(self._digest.source)})
        begin = 0
        for place, count in enumerate(counts):
            if count:
                yield place, _bytes_of(batch.slice(begin, count))
                begin += count

    def _places(self, ids: Any) -> npt.NDArray[np.uint16]:
        """Return where each task belongs."""
        import pyarrow as pa

        if self._plan.text and self._digest.whole["task"]:
            self._digest.whole["task"] = whole_numbers(ids) is not None
        if self._plan.places == 1:
            return np.zeros(len(ids), np.uint16)
        if is_string(ids.type) or pa.types.is_integer(ids.type):
            hashes = Values(ids).hashes()
        else:
            codes, values = distinct(pa.chunked_array([ids]))
            hashes = values.hashes()[codes]
        return ((hashes >> _HALF) * np.uint64(self._plan.places) >> _HALF).astype(np.uint16)

    def _label(self, labels: Any, rows: Rows, per_chunk: float) -> Any:
        """Return labels as they are sent, and learn what they are."""
        import pyarrow as pa

        digest = self._digest
        nested = pa.types.is_nested(labels.type)
        column = None if nested else Column("label", labels)
        digest.numbers = column is not None and column.kind in ("whole", "number")
        if not self._many and column is not None:
            codes = self._labels.number(column, rows)
            if len(self._labels) <= self._plan.few:
                return _compact(labels, codes, self._labels, per_chunk)
        if not self._many and self._plan.text:
            digest.odd, digest.whole["label"] = look_at(self._labels.values, self._labels.first_rows)
        elif self._plan.text and column is not None:
            digest.odd = digest.odd or _text_among(column, rows)
            digest.whole["label"] = digest.whole["label"] and whole_numbers(labels) is not None
        self._many = True
        return labels

    def finish(self) -> None:
        """Write down which workers and labels there are."""
        self._digest.workers = self._workers.values.data
        if len(self._labels) and not self._many:
            self._digest.labels, self._digest.first_rows = self._labels.values.data, self._labels.first_rows


def _missing(column: Any, text: bool) -> npt.NDArray[np.bool_]:
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        return numpy_of(column.is_null())
    return Column("label", column, text=text).missing()


def look_at(values: Values, first_rows: Rows) -> tuple[Odd | None, bool]:
    """Return the first of different strings that is no number, if there is one, and whether all are whole numbers.

    >>> import pyarrow as pa
    >>> look_at(Values(pa.array(["x", "1", "y"])), np.array([9, 7, 8]))
    ((8, 'y'), False)
    """
    order = np.argsort(first_rows)
    odd = _text_among(Column("label", values.take(order).data), first_rows[order])
    return odd, whole_numbers(values.data) is not None


def _text_among(label: Column, rows: Rows) -> Odd | None:
    """Return row and value of the first label that does not read as a number."""
    if label.is_numeric():
        return None
    row, value = label.numbered(rows).first_without_number()
    return row - 1, value


def _whole(column: Any) -> Any:
    """Return a column as one array, and instants in UTC; strings of more than 2 GB do not come at once."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:  # Spark's, which depends on a setting
        column = column.cast(pa.timestamp(kind.unit, "UTC"))
    return column.combine_chunks()


def _compact(strings: Any, codes: Any, vocabulary: Vocabulary, per_chunk: float) -> Any:
    """Return strings as a dictionary, where each chunk is the smaller for it."""
    import pyarrow as pa

    if not is_string(strings.type) or len(vocabulary) * _TIMES > per_chunk:
        return strings
    return pa.DictionaryArray.from_arrays(arrow_of(codes), vocabulary.values.data)


def _bytes_of(batch: pa.RecordBatch) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written
