"""Rows of answers on the executors of Spark, sent to the partitions of their tasks.

The rows that one Spark task reads are called an **input**. They are divided into chunks, one per partition, by the
hashes of their tasks. A digest summarises them: it contains the workers, the distinct labels if there are few, and the
counts of excluded rows. Digests are sent to an extra partition and joined there, so that everything is read once. Rows
are numbered within their input, and globally when the number of rows of each input is known. Errors name these numbers.
"""

from __future__ import annotations

import pickle
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.factors import distinct, factorize, ranked
from allalike._core.columns.values import Values, arrow_of, is_string, numpy_of
from allalike._core.late import pa, pc
from allalike._core.system.processes import pack
from allalike.answers.answers import join_batches
from allalike.answers.cleaning import Cleaning, Dropped
from allalike.engines.ingest import Vocabulary, as_array, pickle_objects, split_rows, whole_numbers
from allalike.errors import AllalikeError
from allalike.readers.formats.source import check_types
from allalike.readers.reshaping.comparisons import Columns, write_comparisons

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from allalike.answers.answers import Batch

    Rows = npt.NDArray[np.int64]
    FirstText = tuple[int, Any]
    Missing = dict[str, tuple[int, int, Any]]  # number of rows, first row, and its value

SCHEMA = "partition int, data binary"
ROLES = ("worker", "task", "label")
ZERO = "zero byte in "  # followed by a role; such rows are counted like missing values
_HALF_BITS = np.uint64(32)


@dataclass(frozen=True)
class Plan:
    """The options for reading rows, and the number of partitions."""

    text: bool = False
    compared: Columns | None = None
    n_partitions: int = 1
    max_numbered_labels: int = (1 << 15) - 1
    cleaning: Cleaning = field(default_factory=Cleaning)
    na: tuple[str, ...] | None = None

    @property
    def label_text(self) -> bool:
        """Whether labels are strings, as in a text file."""
        return self.text or bool(self.cleaning.label_map)


@dataclass
class Digest:
    """A summary of the rows of an input, which are numbered from 0 (see `InputFacts`)."""

    number: int
    n_read: int = 0
    n_kept: int = 0
    types: dict[str, Any] = field(default_factory=dict)
    missing: Missing = field(default_factory=dict)
    dropped: Dropped = field(default_factory=Dropped)
    workers: Any = None
    labels: Any = None
    first_rows: Any = None
    whole_numbers: dict[str, bool] = field(default_factory=lambda: {"task": True, "label": True})
    first_text: FirstText | None = None
    numeric: bool = False


def route_frame(batches: Iterable[pa.RecordBatch], plan: Plan) -> Iterator[pa.RecordBatch]:
    """Convert the rows of a data frame's partition to records: a partition number, and a chunk or the digest."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    unread = iter(batches)
    for partition, data in _route(context.partitionId(), (_split(batch, plan) for batch in unread), plan):
        columns = [pa.array([partition], pa.int32()), pa.array([data], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, ["partition", "data"])
    for _ in unread:  # Spark ends a worker that leaves records unread
        pass


def _split(batch: pa.RecordBatch, plan: Plan) -> Batch:
    """Return the columns of a batch of a data frame; comparisons become texts, and times are in UTC."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    if plan.compared is not None:  # rows are not numbered yet
        parts = columns["label"].flatten()
        columns["label"] = write_comparisons(parts, plan.compared, lambda _: "A row of the data frame")
    for role, data in columns.items():
        if pa.types.is_timestamp(data.type) and data.type.tz is not None:  # Spark's depends on a setting
            columns[role] = data.cast(pa.timestamp(data.type.unit, "UTC"))
    made = {role: Column(role, data, text=plan.text) for role, data in columns.items()}
    made["label"].na = plan.na
    return made


def _route(number: int, batches: Iterable[Batch], plan: Plan) -> Iterator[tuple[int, bytes]]:
    """Yield the chunks of an input, and finally its digest or an error."""
    router = _Router(number, plan)
    result: Any = router.digest
    try:
        for batch in join_batches(batches):
            yield from router.route(batch)
        router.finish()
    except AllalikeError as error:
        result = error
    yield plan.n_partitions, pack(result)


class _Router:
    """A router that sends the rows of one input to partitions, and summarises them in a digest."""

    def __init__(self, number: int, plan: Plan) -> None:
        self._plan, self.digest = plan, Digest(number)
        self._workers, self._labels = Vocabulary(), Vocabulary()
        self._many_labels = False

    def route(self, batch: Batch) -> Iterator[tuple[int, bytes]]:
        """Yield a chunk for each partition that receives rows."""
        columns, rows = self._clean(batch)
        self.digest.n_kept += len(rows)
        if not len(rows):
            return
        for role in ROLES[:2]:
            if columns[role].form is None:
                raise columns[role].indistinct()
        partitions = self._find_partitions(columns["task"])
        objects = columns["label"].form is None
        self._workers.number(columns["worker"])
        self._inspect_labels(columns["label"], rows)
        sent = {
            "worker": as_array(columns["worker"].data),
            "task": as_array(columns["task"].data),
            "label": pickle_objects(columns["label"]) if objects else as_array(columns["label"].data),
            "row": arrow_of(rows),
        }
        facts = {"input": str(self.digest.number), "objects": str(int(objects))}
        for partition, chunk in split_rows(partitions, sent):
            yield partition, _serialize(chunk.replace_schema_metadata(facts))

    def _clean(self, batch: Batch) -> tuple[Batch, Rows]:
        """Return the complete rows and their numbers; count the others."""
        digest = self.digest
        before, number = digest.n_read, len(batch["label"])
        digest.n_read += number
        digest.types = {role: column.form for role, column in batch.items()}
        columns, kept, dropped = self._plan.cleaning.clean(batch, before=before)
        digest.dropped += dropped
        if dropped.missing:
            blank = self._plan.cleaning.map_labels(batch["label"]).missing()
            self._count("label", blank, before + np.arange(number), batch["label"])
        rows = before + np.flatnonzero(kept)
        complete = np.ones(len(rows), np.bool_)
        for role in ("task", "worker"):
            missing = columns[role].missing()
            self._count(role, complete & missing, rows, None)
            self._count(f"{ZERO}{role}", columns[role].zeros(), rows, columns[role])
            complete &= ~missing
        if not complete.all():
            columns = {role: column.keep(complete) for role, column in columns.items()}
        return columns, rows[complete]

    def _count(self, what: str, found: npt.NDArray[np.bool_], rows: Rows, column: Column | None) -> None:
        if found.any():
            place = int(np.argmax(found))
            first = (0, int(rows[place]), None if column is None else column.value(place))
            count, *others = self.digest.missing.get(what, first)
            self.digest.missing[what] = (count + int(found.sum()), *others)

    def _find_partitions(self, task: Column) -> npt.NDArray[np.uint16]:
        """Return the partition of each task."""
        ids = as_array(task.data)
        if self._plan.text and self.digest.whole_numbers["task"]:
            self.digest.whole_numbers["task"] = whole_numbers(ids) is not None
        if is_string(ids.type) or pa.types.is_integer(ids.type):
            hashes = Values(ids).hashes()
        else:
            codes, values = distinct(pa.chunked_array([ids]))
            hashes = values.hashes()[codes]
        return ((hashes >> _HALF_BITS) * np.uint64(self._plan.n_partitions) >> _HALF_BITS).astype(np.uint16)

    def _inspect_labels(self, label: Column, rows: Rows) -> None:
        """Record the distinct labels if there are few, or else whether all are numbers."""
        digest = self.digest
        digest.numeric = label.kind in ("whole", "number")
        if label.form is None:
            self._many_labels = True
        elif not self._many_labels:
            self._labels.number(label, rows)
            self._many_labels = len(self._labels) > self._plan.max_numbered_labels
            if self._many_labels and self._plan.label_text:
                found = inspect_strings(self._labels.values, self._labels.first_rows)
                digest.first_text, digest.whole_numbers["label"] = found
        elif self._plan.label_text:
            digest.first_text = digest.first_text or _find_text(label, rows)
            whole = whole_numbers(as_array(label.data)) is not None
            digest.whole_numbers["label"] = digest.whole_numbers["label"] and whole

    def finish(self) -> None:
        """Record the distinct workers and labels."""
        self.digest.workers = self._workers.values.data
        if len(self._labels) and not self._many_labels:
            self.digest.labels, self.digest.first_rows = self._labels.values.data, self._labels.first_rows


def inspect_strings(values: Values, first_rows: Rows) -> tuple[FirstText | None, bool]:
    """Return the first of distinct strings that is not a number, or None, and whether all strings are integers.

    >>> import pyarrow as pa
    >>> inspect_strings(Values(pa.array(["x", "1", "y"])), np.array([9, 7, 8]))
    ((8, 'y'), False)
    """
    order = np.argsort(first_rows)
    first_text = _find_text(Column("label", values.take(order).data), first_rows[order])
    return first_text, whole_numbers(values.data) is not None


def _find_text(label: Column, rows: Rows) -> FirstText | None:
    """Return the row and value of the first label that is not a number, or None."""
    label = copy(label)
    if label.looks_numeric():
        return None
    row, value = label.numbered(rows).first_text(codes=True)
    return row - 1, value


def _serialize(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


# Facts: the joined digests of all inputs, and the columns of a partition's chunks.


@dataclass(frozen=True, kw_only=True)
class InputFacts:
    """Facts about all rows; ``before`` is the number of rows before each input."""

    n_read: int
    n_kept: int
    missing: Missing
    dropped: Dropped
    workers: Values
    text: frozenset[str]
    labels: Values | None
    first_rows: Any
    numeric: bool
    first_text: FirstText | None
    before: dict[int, int]


def join_digests(digests: Iterable[Digest], plan: Plan) -> InputFacts:
    """Merge the facts about all inputs."""
    known = []
    workers = Vocabulary()
    for digest in digests:
        if digest.n_kept:
            workers.number(Column("worker", digest.workers))
        known.append(replace(digest, workers=None))  # which may be many in every input
    known.sort(key=lambda digest: digest.number)
    before = dict(zip((d.number for d in known), accumulate((d.n_read for d in known), initial=0), strict=False))
    used = [digest for digest in known if digest.n_kept]
    for role in ROLES:
        check_types(role, {digest.types[role] for digest in used})
    ids = ranked(workers.values, text=plan.text)[1] if used else Values([])
    labels, rows = _join_labels(used, before, plan.max_numbered_labels)
    first_text, whole = None, plan.label_text
    if labels is not None:
        whole = whole and is_string(labels.data.type) and whole_numbers(labels.data) is not None
    elif whole:
        first_text, whole = _join_texts(used, before)
    flags = {
        "worker": plan.text and len(ids) > 0 and not is_string(ids.data.type),
        "task": plan.text and all(digest.whole_numbers["task"] for digest in used),
        "label": whole,
    }
    return InputFacts(
        n_read=sum(digest.n_read for digest in known),
        n_kept=sum(digest.n_kept for digest in known),
        missing=_join_missing(known, before),
        dropped=_join_dropped(known, before),
        workers=ids,
        text=frozenset(role for role, flag in flags.items() if flag),
        labels=labels,
        first_rows=rows,
        numeric=any(digest.numeric for digest in used),
        first_text=first_text,
        before=before,
    )


def _join_labels(digests: list[Digest], before: dict[int, int], most: int) -> tuple[Values | None, Any]:
    """Return the distinct labels in the order of first rows, and these rows, or None if there are many."""
    if any(digest.labels is None for digest in digests) or not digests:
        return None, None
    vocabulary, first = Vocabulary(), np.empty(0, np.int64)
    for digest in digests:
        codes = vocabulary.number(Column("label", digest.labels))
        new = len(vocabulary) - len(first)
        first = np.concatenate([first, np.full(new, np.iinfo(np.int64).max)])
        np.minimum.at(first, codes, digest.first_rows + before[digest.number])
        if len(vocabulary) > most:
            return None, None
    order = np.argsort(first)
    return vocabulary.values.take(order), first[order]


def _join_texts(digests: list[Digest], before: dict[int, int]) -> tuple[FirstText | None, bool]:
    """Return the first of many labels that is not a number, or None, and whether all labels are integers."""
    texts, whole = [], True
    for digest in digests:
        first_text, own = digest.first_text, digest.whole_numbers["label"]
        if digest.labels is not None:
            first_text, own = inspect_strings(Values(digest.labels), digest.first_rows)
        if first_text is not None:
            texts.append((first_text[0] + before[digest.number], first_text[1]))
        whole = whole and own
    return min(texts, default=None), whole


def _join_missing(digests: list[Digest], before: dict[int, int]) -> Missing:
    missing: Missing = {}
    for digest in digests:
        for role, (count, row, value) in digest.missing.items():
            first = row + before[digest.number], value
            others, *known = missing.get(role, (0, *first))
            missing[role] = (others + count, *min(tuple(known), first, key=itemgetter(0)))
    return missing


def _join_dropped(digests: list[Digest], before: dict[int, int]) -> Dropped:
    total = Dropped()
    for digest in digests:
        dropped = digest.dropped
        if dropped.example is not None:
            row, label = dropped.example
            dropped = replace(dropped, example=(row + before[digest.number], label))
        total += dropped
    return total


def read_chunks(chunks: Iterable[bytes], facts: InputFacts, limit: int | None = None) -> dict[str, Any] | None:
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
    columns: dict[str, Any] = {
        role: pa.chunked_array([chunk for _, table in tables for chunk in table[role].chunks]) for role in ROLES
    }
    if tables[0][1].schema.metadata[b"objects"] == b"1":
        columns["label"] = [pickle.loads(value) for value in columns["label"].to_pylist()]  # nosec B301 # sent by this run
    return {**columns, "row": np.concatenate([rows for rows, _ in tables])}


def make_label_column(columns: dict[str, Any], facts: InputFacts) -> Column:
    """Return the label column with its row numbers."""
    return Column("label", columns["label"], text="label" in facts.text).numbered(columns["row"])


def make_columns(columns: dict[str, Any], facts: InputFacts) -> tuple[Column, Column, Column]:
    """Return the columns of a shard: worker with global numbers, task and label."""
    codes, own = Column("worker", columns["worker"], text="worker" in facts.text).factors
    among = numpy_of(pc.index_in(own.data, value_set=facts.workers.data))
    worker = Column.of_codes("worker", among[codes], facts.workers)
    task = Column.of_codes("task", *factorize(columns["task"], text="task" in facts.text, many=True))
    return worker, task, make_label_column(columns, facts)
