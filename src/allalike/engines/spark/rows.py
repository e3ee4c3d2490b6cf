"""Rows of answers on the executors of Spark, sent to the partitions of their tasks.

What Spark reads in one go, an input, is cut into chunks, one for each partition to which tasks go by their hashes, and
into a digest of what must be known of all rows: who the workers are, whether there are few labels, whether ids are
whole numbers. Digests go to one more partition, to be joined (`allalike.engines.spark.facts`). So everything is
read once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.factors import distinct
from allalike._core.columns.values import Values, arrow_of, find_zeros, is_string, numpy_of, take_rows
from allalike._core.late import pa
from allalike._core.system.processes import pack
from allalike.answers.cleaning import Cleaning, Dropped
from allalike.engines.ingest.partitions import Vocabulary
from allalike.engines.ingest.routes import whole_numbers
from allalike.engines.spark.csv_files import REMARK, CutFieldError, TextFile, cut_at_splits, read_lines, read_stretches
from allalike.errors import AllalikeError
from allalike.readers.reshaping.comparisons import Columns, write_comparisons

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt

    from allalike.engines.spark.csv_files import Split, Stretch

    Rows = npt.NDArray[np.int64]
    FirstText = tuple[int, Any]

SCHEMA = "partition int, data binary"
ROLES = ("worker", "task", "label")
ZERO = "zero byte in "  # a role; such rows are counted as those are that lack one
_BATCH_ROWS, _BATCH_BYTES = 1 << 20, 1 << 26  # a batch has at least so many of one of them, unless it is the last
_HALF_BITS = np.uint64(32)
_MIN_ROWS_PER_ENTRY = 4  # of a dictionary, in a chunk with which it is sent


@dataclass(frozen=True)
class Plan:
    """How inputs are read, and where their rows go."""

    n_partitions: int
    files: Mapping[int, TextFile] = field(default_factory=dict)
    file_numbers: Mapping[int, int] = field(default_factory=dict)
    whole_files: bool = False
    max_numbered_labels: int = (1 << 15) - 1
    piece_bytes: int = 1 << 24
    cleaning: Cleaning = field(default_factory=Cleaning)
    na: tuple[str, ...] | None = None
    compared: Columns | None = None

    @property
    def text(self) -> bool:
        """Whether all values are strings."""
        return bool(self.files)

    @property
    def label_text(self) -> bool:
        """Whether labels are strings as in a text file."""
        return self.text or bool(self.cleaning.label_map)

    def tables(self, batches: Iterable[pa.RecordBatch], number: int) -> Iterator[tuple[Split, pa.Table]]:
        """Yield columns of rows of an input, with their split."""
        if self.files:
            yield from read_lines(batches, self.files, whole=self.whole_files, piece_bytes=self.piece_bytes)
        elif self.file_numbers:
            for (key, block), part in cut_at_splits(batches):
                yield (self.file_numbers[key], block), pa.Table.from_batches([part]).select(ROLES)
        else:
            for batch in batches:
                table = pa.Table.from_batches([batch])
                yield (number, 0), table if self.compared is None else _with_comparisons(table, self.compared)


def _with_comparisons(table: pa.Table, found: Columns) -> pa.Table:
    """Return a table with comparisons as texts; rows have no numbers before all are read."""
    parts = table["label"].combine_chunks().flatten()
    texts = write_comparisons(parts, found, lambda _: "A row of the data frame")
    return table.set_column(table.column_names.index("label"), "label", texts)


@dataclass
class Digest:
    """What must be known of the rows of an input, which are numbered from 0 (see `InputFacts`)."""

    number: int
    splits: list[tuple[Split, int]] = field(default_factory=list)
    n_read: int = 0
    n_kept: int = 0
    missing: dict[str, tuple[int, int, Any]] = field(default_factory=dict)
    dropped: Dropped = field(default_factory=Dropped)
    workers: Any = None
    labels: Any = None
    first_rows: Any = None
    whole_numbers: dict[str, bool] = field(default_factory=lambda: {"task": True, "label": True})
    first_text: FirstText | None = None
    numeric: bool = False
    cut_field: bool = False
    remarks: list[str] = field(default_factory=list)


def route_batches(batches: Iterable[pa.RecordBatch], plan: Plan) -> Iterator[pa.RecordBatch]:
    """Turn the rows of an input that Spark has read into records."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    number = context.partitionId()
    unread = iter(batches)
    for records in _route(plan.tables(unread, number), number, plan):
        yield _make_batch(records)
    for _ in unread:  # a worker that leaves records unread is ended by Spark
        pass


def route_stretches(number: int, stretches: Iterable[Stretch], plan: Plan) -> Iterator[tuple[int, bytes]]:
    """Read stretches of files, which are an input, and turn their rows into records."""
    tables = read_stretches(list(stretches), plan.files, whole=plan.whole_files, piece_bytes=plan.piece_bytes)
    for records in _route(tables, number, plan):
        yield from records


def _route(tables: Iterable[tuple[Split, pa.Table]], number: int, plan: Plan) -> Iterator[Iterable[tuple[int, bytes]]]:
    """Yield records: a partition, and a chunk of rows or the digest of all of them."""
    digest = Digest(number)
    router = _Router(plan, digest)
    told: Any = digest
    try:
        for table in _gather(router.count_rows(tables)):
            yield list(router.route(table))
        router.finish()
    except CutFieldError:
        told = Digest(number, cut_field=True)
    except AllalikeError as error:
        told = error
    yield [(plan.n_partitions, pack(told))]


def _make_batch(records: Iterable[tuple[int, bytes]]) -> pa.RecordBatch:
    partitions, data = zip(*records, strict=True) if (records := list(records)) else ((), ())
    columns = [pa.array(partitions, pa.int32()), pa.array(data, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["partition", "data"])


def _gather(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Join small tables, so that each is worth its while."""
    waiting: list[Any] = []
    rows = size = 0
    for table in tables:
        waiting.append(table)
        rows, size = rows + table.num_rows, size + table.nbytes
        if rows >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield pa.concat_tables(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.concat_tables(waiting)


class _Router:
    """A cutter of the rows of one input into chunks, which notes in a digest what they are."""

    def __init__(self, plan: Plan, digest: Digest) -> None:
        self._plan, self._digest = plan, digest
        self._workers, self._labels = Vocabulary(), Vocabulary()
        self._many_labels = False

    def count_rows(self, tables: Iterable[tuple[Split, pa.Table]]) -> Iterator[pa.Table]:
        """Take note of how many rows each split has."""
        splits = self._digest.splits
        for split, table in tables:
            before = splits.pop()[1] if splits and splits[-1][0] == split else 0
            splits.append((split, before + table.num_rows))
            if table.schema.metadata and REMARK in table.schema.metadata:
                self._digest.remarks.append(table.schema.metadata[REMARK].decode())
            yield table.replace_schema_metadata(None)

    def route(self, table: pa.Table) -> Iterator[tuple[int, bytes]]:
        """Yield a chunk for each partition that gets some of the rows."""
        digest = self._digest
        rows = digest.n_read + np.arange(table.num_rows)
        digest.n_read += table.num_rows
        labels, kept = self._clean_labels(table["label"], rows)
        ids = table.select(ROLES[:2])
        if not kept.all():
            ids, rows = ids.filter(arrow_of(kept)), rows[kept]
        complete = self._find_complete(ids, rows)
        if not complete.all():
            ids, rows, labels = ids.filter(arrow_of(complete)), rows[complete], labels.filter(arrow_of(complete))
        digest.n_kept += len(rows)
        if len(rows):
            columns = {role: _as_array(ids[role]) for role in ROLES[:2]}
            yield from self._chunks({**columns, "label": _as_array(labels)}, rows)

    def _clean_labels(self, labels: Any, rows: Rows) -> tuple[Any, npt.NDArray[np.bool_]]:
        """Return the labels as they are meant, and which rows have one; count the others."""
        plan, digest = self._plan, self._digest
        if pa.types.is_nested(labels.type):
            blank = numpy_of(labels.is_null())
            self._count_missing("label", blank, rows, None)
            digest.dropped += Dropped(int(blank.sum()))
            return labels.filter(arrow_of(~blank)), ~blank
        given = plan.cleaning.map_labels(Column("label", labels, text=plan.text, na=plan.na))
        blank = given.missing()
        if blank.any():
            self._count_missing("label", blank, rows, labels[int(np.argmax(blank))].as_py())
        cleaned, kept, dropped = plan.cleaning.clean_labels(given, blank)
        if dropped.example is not None:
            dropped = replace(dropped, example=(int(rows[dropped.example[0]]), dropped.example[1]))
        digest.dropped += dropped
        data = cleaned.data
        return data.cast(data.type.value_type) if pa.types.is_dictionary(data.type) else data, kept

    def _find_complete(self, ids: pa.Table, rows: Rows) -> npt.NDArray[np.bool_]:
        """Return which rows have ids, and count the others."""
        complete = np.ones(len(rows), np.bool_)
        for role in ("task", "worker"):
            missing = complete & _find_missing(ids[role], self._plan.text)
            self._count_missing(role, missing, rows, None)
            complete &= ~missing
            self._note_zeros(role, ids[role], rows)
        return complete

    def _note_zeros(self, role: str, column: Any, rows: Rows) -> None:
        zeros = find_zeros(column)
        if zeros.any():
            self._count_missing(f"{ZERO}{role}", zeros, rows, column[int(np.argmax(zeros))].as_py())

    def _count_missing(self, role: str, missing: npt.NDArray[np.bool_], rows: Rows, found: Any) -> None:
        if missing.any():
            count, first, instead = self._digest.missing.get(role, (0, int(rows[np.argmax(missing)]), found))
            self._digest.missing[role] = count + int(missing.sum()), first, instead

    def _chunks(self, columns: dict[str, Any], rows: Rows) -> Iterator[tuple[int, bytes]]:
        for role in ("worker", "task"):
            if pa.types.is_nested(columns[role].type):
                _ = Column(role, columns[role]).factors  # which says why such ids will not do
        partitions = self._find_partitions(columns["task"])
        counts = np.bincount(partitions).tolist()
        per_chunk = len(rows) / sum(count > 0 for count in counts)
        workers = self._workers.number(Column("worker", columns["worker"]))
        sent = {
            "worker": _as_dictionary(columns["worker"], workers, self._workers, per_chunk),
            "task": columns["task"],
            "label": self._label(columns["label"], rows, per_chunk),
            "row": arrow_of(rows),
        }
        if len(counts) > 1:
            order = np.argsort(partitions, kind="stable")
            sent = {name: take_rows(column, order) for name, column in sent.items()}
        batch = pa.RecordBatch.from_arrays(list(sent.values()), list(sent))
        batch = batch.replace_schema_metadata({"input": str(self._digest.number)})
        begin = 0
        for partition, count in enumerate(counts):
            if count:
                yield partition, _serialize(batch.slice(begin, count))
                begin += count

    def _find_partitions(self, ids: Any) -> npt.NDArray[np.uint16]:
        """Return the partition of each task."""
        if self._plan.text and self._digest.whole_numbers["task"]:
            self._digest.whole_numbers["task"] = whole_numbers(ids) is not None
        if self._plan.n_partitions == 1:
            return np.zeros(len(ids), np.uint16)
        if is_string(ids.type) or pa.types.is_integer(ids.type):
            hashes = Values(ids).hashes()
        else:
            codes, values = distinct(pa.chunked_array([ids]))
            hashes = values.hashes()[codes]
        return ((hashes >> _HALF_BITS) * np.uint64(self._plan.n_partitions) >> _HALF_BITS).astype(np.uint16)

    def _label(self, labels: Any, rows: Rows, per_chunk: float) -> Any:
        """Return labels as they are sent, and learn what they are."""
        digest = self._digest
        nested = pa.types.is_nested(labels.type)
        column = None if nested else Column("label", labels)
        digest.numeric = column is not None and column.kind in ("whole", "number")
        if not self._many_labels and column is not None:
            codes = self._labels.number(column, rows)
            if len(self._labels) <= self._plan.max_numbered_labels:
                return _as_dictionary(labels, codes, self._labels, per_chunk)
        if not self._many_labels and self._plan.label_text:
            digest.first_text, digest.whole_numbers["label"] = inspect_strings(
                self._labels.values, self._labels.first_rows
            )
        elif self._plan.label_text and column is not None:
            digest.first_text = digest.first_text or _find_text(column, rows)
            digest.whole_numbers["label"] = digest.whole_numbers["label"] and whole_numbers(labels) is not None
        self._many_labels = True
        return labels

    def finish(self) -> None:
        """Write down which workers and labels there are."""
        self._digest.workers = self._workers.values.data
        if len(self._labels) and not self._many_labels:
            self._digest.labels, self._digest.first_rows = self._labels.values.data, self._labels.first_rows


def _find_missing(column: Any, text: bool) -> npt.NDArray[np.bool_]:
    if pa.types.is_nested(column.type):
        return numpy_of(column.is_null())
    return Column("task", column, text=text).missing()


def inspect_strings(values: Values, first_rows: Rows) -> tuple[FirstText | None, bool]:
    """Return the first of different strings that is no number, if there is one, and whether all are whole numbers.

    >>> import pyarrow as pa
    >>> inspect_strings(Values(pa.array(["x", "1", "y"])), np.array([9, 7, 8]))
    ((8, 'y'), False)
    """
    order = np.argsort(first_rows)
    first_text = _find_text(Column("label", values.take(order).data), first_rows[order])
    return first_text, whole_numbers(values.data) is not None


def _find_text(label: Column, rows: Rows) -> FirstText | None:
    """Return row and value of the first label that is no number."""
    if label.looks_numeric():
        return None
    row, value = label.numbered(rows).first_unlike_number()
    return row - 1, value


def _as_array(column: Any) -> Any:
    """Return a column as one array, and instants in UTC; strings of more than 2 GB do not come at once."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:  # Spark's, which depends on a setting
        column = column.cast(pa.timestamp(kind.unit, "UTC"))
    return column.combine_chunks()


def _as_dictionary(strings: Any, codes: Any, vocabulary: Vocabulary, per_chunk: float) -> Any:
    """Return strings as a dictionary, where each chunk is the smaller for it."""
    if not is_string(strings.type) or len(vocabulary) * _MIN_ROWS_PER_ENTRY > per_chunk:
        return strings
    return pa.DictionaryArray.from_arrays(arrow_of(codes), vocabulary.values.data)


def _serialize(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written
