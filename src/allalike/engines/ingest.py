"""Ingest: rows in any order are routed to partitions of whole tasks, on disk or in memory, by a hash of their task.

A batch of rows is sorted by partition, and each part is appended to the file of its partition. Workers are written as
numbers. Labels are written as numbers if there are few distinct ones. Otherwise, they are written as floats if all of
them are numeric, and unchanged if not. Task ids in text files are written as integers if possible. If a later row
contradicts the plan made from the first rows, routing starts again with another plan.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.column import Column
from allalike._core.columns.factors import Codes, distinct, factorize, only_used, ranked
from allalike._core.columns.hashes import Hashes, mix, string_bytes
from allalike._core.columns.values import Values, arrow_of, is_string, numpy_of, take_rows
from allalike._core.late import pa, pc
from allalike._core.system.progress import report
from allalike.answers.answers import SAMPLE_ROWS, Batch, Stream, join_batches
from allalike.answers.cleaning import Dropped, check_ids
from allalike.domains.contract import choose_options, spell_domain
from allalike.engines.shards import Tally, count_up, encode
from allalike.errors import LabelError, OutputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from allalike._core.blocks.block import Ties
    from allalike.answers import Answers
    from allalike.answers.gold import Gold, Truths
    from allalike.domains import Domain, Encoding

RowNumbers = npt.NDArray[np.int64]

_MAX_SLICES = 32  # slices that are kept before they are joined
_MAX_PARTITIONS = 1 << 10
_MEMORY_PER_BYTE = 8  # bytes of memory per byte of a partition while it is sorted
_MAX_NUMBERED_LABELS = (1 << 15) - 1  # the maximum of int16
_ROWS_PER_SORT = 1 << 18  # in memory, where this is twice as fast as a million rows at once
_MANY_NUMBERS = np.arange(1 << 10)
_POWERS_OF_TEN = 10 ** np.arange(1, 19)


class Rows:
    """The rows of a partition in memory, as record batches.

    A slice keeps the whole batch in memory. Slices are therefore joined regularly, so that releasing a partition frees
    its memory.

    >>> import pyarrow as pa
    >>> rows, batch = Rows(), pa.record_batch({"worker": [7, 8, 9]})
    >>> for number in range(3):
    ...     rows.append(batch.slice(number, 1))
    >>> rows.table(batch.schema)["worker"].to_pylist()
    [7, 8, 9]
    """

    def __init__(self) -> None:
        self._joined: list[Any] = []
        self._slices: list[Any] = []

    def append(self, batch: Any) -> None:
        """Append a record batch."""
        self._slices.append(batch)
        if len(self._slices) == _MAX_SLICES:
            self._joined += pa.Table.from_batches(self._slices).combine_chunks().to_batches()
            self._slices = []

    def table(self, schema: Any) -> Any:
        """Return all rows."""
        return pa.Table.from_batches([*self._joined, *self._slices], schema)

    def clear(self) -> None:
        """Release all rows."""
        self._joined, self._slices = [], []


@dataclass(frozen=True, kw_only=True)
class Routed:
    """Answers in partitions, in files or in memory, and facts about all of them."""

    parts: list[Path | Rows]
    schema: Any
    workers: Values
    worker_rank: Codes
    labels: Values | None
    label_rank: Codes | None
    text: bool
    objects: frozenset[str]
    duplicates: str | None
    n_answers: int
    domain: Any = None
    encoding: Encoding | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def n_partitions(self) -> int:
        """The number of partitions with rows."""
        return len(self.parts)

    def columns(self, number: int) -> tuple[Column, Column, Column]:
        """Return the worker, task and label of a partition's rows, in input order.

        A worker has the same number in all partitions.
        """
        table = self._read(number)
        worker = Column.of_codes("worker", self.worker_rank[numpy_of(table["worker"])], self.workers)
        ids = self._plain(table, "task")
        task = Column("task", ids) if isinstance(ids, list) else Column.of_codes("task", *factorize(ids, many=True))
        return worker, task, self._label(table)

    def each_label(self) -> Iterator[tuple[Column, Codes]]:
        """Yield the labels of each partition, and the numbers of their tasks."""
        for number in range(self.n_partitions):
            _, task, label = self.columns(number)
            yield label, task.factors[0]

    def encode(
        self, gold: Gold | None, apply: Callable[..., Iterable[Any]] = starmap
    ) -> tuple[Encoding, Truths | None]:
        """Return the encoding of all labels, and the gold labels as codes.

        ``apply`` calls a function for each job, possibly in other processes.
        """
        encoding = self.encoding
        if encoding is None:
            first, *others = apply(self._learn, [(number,) for number in range(self.n_partitions)])
            encoding = first.merge(others)
        return (encoding, None) if gold is None else gold.encode(encoding)

    def _learn(self, number: int) -> Encoding:
        encoding: Encoding = self.domain.learn(self._label(self._read(number)))
        return encoding

    def make_shards(
        self,
        make: Callable[[int, Answers], tuple[Any, Tally]],
        gold: Gold | None,
        ties: Ties,
        apply: Callable[..., Iterable[Any]] = starmap,
    ) -> tuple[list[Any], list[Tally], dict[str, Any]]:
        """Make a shard from each partition; return the shards, their tallies, and the fields of a run."""
        encoding, truths = self.encode(gold, apply)
        shards: list[Any] = []
        tallies: list[Tally] = []
        answer_counts = np.zeros(len(self.workers), np.int64)
        jobs = [(number,) for number in range(self.n_partitions)]
        for shard, tally, counts in apply(partial(self._make, make=make, encoding=encoding, truths=truths), jobs):
            report("preparing", len(shards), len(jobs))
            shards.append(shard)
            tallies.append(tally)
            answer_counts += counts
        known = {"workers": self.workers, "encoding": encoding, "ties": ties}
        return shards, tallies, {**known, **count_up(tallies, answer_counts, gold, self.notes)}

    def _make(
        self,
        number: int,
        *,
        make: Callable[[int, Answers], tuple[Any, Tally]],
        encoding: Encoding,
        truths: Truths | None,
    ) -> tuple[Any, Tally, npt.NDArray[np.int64]]:
        answers = encode(*self.columns(number), encoding, truths, self.duplicates)
        shard, tally = make(number, answers)
        part = self.parts[number]
        if isinstance(part, Rows):
            part.clear()
        else:
            part.unlink(missing_ok=True)
        return shard, tally, answers.answer_counts

    def _label(self, table: Any) -> Column:
        if self.labels is not None and self.label_rank is not None:
            return Column.of_codes("label", *only_used(self.label_rank[numpy_of(table["label"])], self.labels))
        column = Column("label", self._plain(table, "label"), text=self.text)
        return column.numbered(numpy_of(table["row"])) if "row" in self.schema.names else column

    def _plain(self, table: Any, name: str) -> Any:
        """Return a column that is not numbered."""
        if name in self.objects:
            own = table[name].to_pylist()
            return [pickle.loads(value) for value in own]  # nosec B301 # this run wrote them into its own folder
        return table[name]

    def _read(self, number: int) -> Any:
        part = self.parts[number]
        if isinstance(part, Rows):
            return part.table(self.schema).combine_chunks()
        batches = []
        with pa.OSFile(str(part)) as source:
            while source.tell() < source.size():
                batches.append(pa.ipc.read_record_batch(pa.ipc.read_message(source), self.schema))
        return pa.Table.from_batches(batches, self.schema).combine_chunks()


def _append(part: Path | Rows, batch: Any) -> None:
    """Append a record batch to a partition."""
    if isinstance(part, Rows):
        part.append(batch)
        return
    try:
        with part.open("ab") as file:
            file.write(batch.serialize())
    except OSError as error:
        raise write_error(part.parent, error) from error


def route(stream: Stream, folder: Path | None, *, memory: int, partitions: int | None = None) -> Routed:
    """Read all answers, and write them to partitions.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import allalike
    >>> stream = allalike.scan([("bob", 7, "x"), ("ada", 7, "y"), ("eve", 7, "x")]).stream()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     routed = route(stream, Path(folder), memory=1 << 30)
    ...     worker, task, label = routed.columns(0)
    >>> routed.domain.name, routed.workers.tolist(), worker.factors[0], label.factors[0]
    ('categorical', ['ada', 'bob', 'eve'], array([1, 0, 2], dtype=int32), array([0, 1, 0], dtype=int32))
    """
    if partitions is None:
        partitions = stream.size * _MEMORY_PER_BYTE // memory + 1
    bits = (min(max(partitions, 1), _MAX_PARTITIONS) - 1).bit_length()
    plan = _Plan()
    try:
        while True:
            try:
                return _Pass(stream, folder, bits, plan).run()
            except _PlanChange as change:
                plan = change.plan
                _clear(folder)
    except BaseException:
        _clear(folder)
        raise


def _clear(folder: Path | None) -> None:
    for path in folder.glob("*.rows") if folder else ():
        path.unlink()


@dataclass(frozen=True)
class _Plan:
    """The form of task ids and labels, and the label type."""

    whole_tasks: bool = True
    labels: str = "codes"
    domain: Domain | None = None


class _PlanChange(Exception):  # noqa: N818
    """Raised with another plan when routing must start again."""

    def __init__(self, plan: _Plan) -> None:
        self.plan = plan


class _Pass:
    """One pass over all rows with a plan."""

    def __init__(self, stream: Stream, folder: Path | None, bits: int, plan: _Plan) -> None:
        self._stream, self._folder, self._bits, self._plan = stream, folder, bits, plan
        self._workers, self._tasks, self._labels = Vocabulary(), Vocabulary(), Vocabulary()
        self._domain = stream.domain or plan.domain
        self._text: dict[str, bool] = {}
        self._objects: set[str] = set()
        self._parts: dict[int, Path | Rows] = {}
        self._schema: Any = None
        self._read = self._kept = 0
        self._dropped = Dropped()

    def run(self) -> Routed:
        """Route all rows."""
        report("reading")
        for batch in join_batches(self._stream.batches()):
            before = self._read
            self._read += len(batch["label"])
            kept, labelled, dropped = self._stream.cleaning.clean(batch, before=before)
            self._dropped += dropped
            for role in ("task", "worker"):
                check_ids(kept[role], before=before)
            if labelled.any():
                self._add(kept, before + np.flatnonzero(labelled))
        self._dropped.check(self._read, self._stream.cleaning.spelling.steps)
        return self._routed()

    def _add(self, batch: Batch, rows: RowNumbers) -> None:
        if not self._kept:
            self._text = {role: column.text and column.kind == "text" for role, column in batch.items()}
        hashes, task = self._task(batch["task"])
        labels = self._label(batch["label"].numbered(rows), batch["task"], rows)
        self._write(hashes, {"worker": self._workers.number(batch["worker"]), "task": task, **labels})
        self._kept += len(rows)

    def _task(self, column: Column) -> tuple[Hashes, Any]:
        """Return the hashes of task ids, and the ids in the form in which they are written."""
        if isinstance(column.data, list):
            return mix(self._tasks.number(column).astype(np.uint64)), self._pickled(column)
        ids = as_array(column.data)
        if self._text["task"] and self._plan.whole_tasks:
            numbers = whole_numbers(ids)
            if numbers is not None:
                return mix(numbers.view(np.uint64)), numbers
            self._change(whole_tasks=False)
        if is_string(ids.type) or pa.types.is_integer(ids.type):
            return Values(ids).hashes(), ids
        return mix(self._tasks.number(column).astype(np.uint64)), ids

    def _change(self, **how: Any) -> None:
        """Change the plan; all rows must be written again."""
        self._plan = replace(self._plan, **how)
        self._domain = self._domain or self._plan.domain
        if self._kept:
            raise _PlanChange(self._plan)

    def _label(self, label: Column, task: Column, rows: RowNumbers) -> dict[str, Any]:
        """Return labels in the form in which they are written."""
        if self._plan.labels == "codes" and not isinstance(label.data, list):
            codes = self._labels.number(label, rows)
            if len(self._labels) <= _MAX_NUMBERED_LABELS:
                return {"label": codes.astype(np.int16)}
            domain = self._guess_many(label, task)
            self._change(labels="numbers" if domain is not None and domain.spelling.numbers else "plain", domain=domain)
        if self._plan.labels == "numbers":
            return {"label": self._numbers(label)}
        if self._plan.labels == "codes":
            self._change(labels="plain")
        return {"label": self._plain(label, task, rows), "row": rows}

    def _guess_many(self, label: Column, task: Column) -> Domain | None:
        """Return the label type of many distinct labels if it is known or if they are numbers, else None."""
        if self._domain is not None or not self._different_labels().looks_numeric():
            return self._domain
        read = not self._kept and len(label) >= SAMPLE_ROWS
        first = (lambda: (label.head(SAMPLE_ROWS), task.head(SAMPLE_ROWS).factors[0])) if read else self._first_rows
        return self._stream.guess(Column("label", arrow_of(_MANY_NUMBERS)), (), 1, first)

    def _first_rows(self) -> tuple[Column, Codes]:
        """Read the first rows again; return their labels as numbers, and the numbers of their tasks."""
        tasks, codes, numbers, before = Vocabulary(), [np.empty(0, np.int32)], [np.empty(0)], 0
        for batch in self._stream.batches():
            kept, _, _ = self._stream.cleaning.clean(batch, before=before)
            before += len(batch["label"])
            if not kept["label"].is_numeric() or sum(map(len, codes)) >= SAMPLE_ROWS:
                break
            codes.append(tasks.number(kept["task"]))
            numbers.append(kept["label"].numbers)
        return Column("label", arrow_of(np.concatenate(numbers)[:SAMPLE_ROWS])), np.concatenate(codes)[:SAMPLE_ROWS]

    def _numbers(self, label: Column) -> Any:
        """Return the labels as numbers."""
        assert self._domain is not None
        try:
            return self._domain.learn(label).encode(label)
        except LabelError:
            if self._stream.domain is None:  # then the label type is unclear, which is another error
                self._stream.guess(label, (), len(label), None)
            raise

    def _plain(self, label: Column, task: Column, rows: RowNumbers) -> Any:
        """Return labels unchanged; infer their type from the first batch."""
        if self._domain is None:
            some = Column("label", label.data, text=label.text).numbered(rows)
            tasks = Column("task", task.data).factors[0]
            self._domain = self._stream.guess(some, [(some, tasks)], len(rows), self._first_rows)
        if isinstance(label.data, list):
            return self._pickled(label)
        labels = as_array(label.data)
        self._text["label"] = self._text["label"] and whole_numbers(labels) is not None
        return labels

    def _pickled(self, column: Column) -> Any:
        self._objects.add(column.name)
        return pickle_objects(column)

    def _write(self, hashes: Hashes, columns: dict[str, Any]) -> None:
        """Sort rows by partition and write each part; in memory, sort as many rows at once as fit in the cache."""
        at_once = len(hashes) if self._folder else _ROWS_PER_SORT
        for begin in range(0, len(hashes), at_once):
            piece = slice(begin, begin + at_once)
            self._write_piece(hashes[piece], {name: column[piece] for name, column in columns.items()})

    def _write_piece(self, hashes: Hashes, columns: dict[str, Any]) -> None:
        part = (hashes >> np.uint64(63 - self._bits) >> np.uint64(1)).astype(np.uint16)
        for number, batch in split_rows(part, columns, self._schema):
            self._schema = batch.schema
            place = self._parts.setdefault(number, self._folder / f"{number}.rows" if self._folder else Rows())
            _append(place, batch)

    def _routed(self) -> Routed:
        worker_rank, workers = ranked(self._workers.values, text=self._text["worker"])
        label_rank, labels = None, None
        if self._plan.labels == "codes":
            label_rank, labels = ranked(self._labels.values, text=self._text["label"])
        routed = Routed(
            parts=[self._parts[number] for number in sorted(self._parts)],
            schema=self._schema,
            workers=workers,
            worker_rank=worker_rank,
            labels=labels,
            label_rank=label_rank,
            text=self._text["label"] and self._plan.labels == "plain",
            objects=frozenset(self._objects),
            duplicates=self._stream.duplicates,
            n_answers=self._kept,
        )
        guess, first = self._stream.guess, self._first_rows
        domain = self._domain or guess(self._different_labels(), routed.each_label(), self._kept, first)
        chosen = choose_options(domain, self._stream.choices)
        encoding = self._learned(chosen)
        notes = {**self._stream.notes, **self._dropped.notes(self._read)}
        if self._stream.domain is None:
            notes["guessed"] = {**notes.get("guessed", {}), "domain": spell_domain(domain)}
        return replace(routed, domain=chosen, encoding=self._stream.encoding or encoding, notes=notes)

    def _learned(self, domain: Domain) -> Encoding | None:
        """Learn the encoding if all distinct labels are known; a label that does not fit is an error."""
        if self._plan.labels == "plain":
            return None
        if self._plan.labels == "numbers":
            return domain.learn(Column("label", []))
        labels = self._different_labels()
        encoding = domain.learn(labels)
        encoding.encode(labels)
        return encoding

    def _different_labels(self) -> Column:
        """Return the distinct labels, in order of first occurrence."""
        first = self._labels.first_rows
        order = np.argsort(first)
        column = Column("label", self._labels.values.take(order).data, text=self._text["label"])
        return column.numbered(first[order])


def split_rows(part: npt.NDArray[Any], columns: dict[str, Any], schema: Any = None) -> Iterator[tuple[int, Any]]:
    """Sort rows by the number of their partition, and yield each partition with its record batch.

    >>> import pyarrow as pa
    >>> batches = split_rows(np.array([2, 0, 2]), {"row": pa.array([7, 8, 9])})
    >>> [(number, batch["row"].to_pylist()) for number, batch in batches]
    [(0, [8]), (2, [7, 9])]
    """
    order = np.argsort(part, kind="stable")
    arrays = {name: take_rows(column, order) for name, column in columns.items()}
    schema = schema or pa.schema([(name, array.type) for name, array in arrays.items()])
    batch, begin = pa.RecordBatch.from_arrays(list(arrays.values()), schema=schema), 0
    for number, rows in enumerate(np.bincount(part).tolist()):
        if rows:
            yield number, batch.slice(begin, rows)
            begin += rows


def as_array(column: Any) -> Any:
    """Return the values of a column as one array."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.combine_chunks()


def whole_numbers(strings: Any) -> npt.NDArray[np.int64] | None:
    """Return strings as numbers if all are integers in Python's notation with at most 18 digits, else None.

    >>> import pyarrow as pa
    >>> whole_numbers(pa.array(["12", "-3"])), whole_numbers(pa.array(["12", "007"]))
    (array([12, -3]), None)
    """
    data, ends = string_bytes(strings)
    if data[ends[0] :].max(initial=0) > ord("9"):  # Arrow also reads hexadecimal numbers
        return None
    try:
        numbers = numpy_of(strings.cast(pa.int64()))
    except pa.ArrowInvalid:
        return None
    size = np.abs(numbers)
    length = np.searchsorted(_POWERS_OF_TEN, size, side="right") + 1 + (numbers < 0)
    return numbers if np.all((np.diff(ends) == length) & (size < _POWERS_OF_TEN[-1])) else None


def pickle_objects(column: Column) -> Any:
    """Pickle Python objects into an Arrow array of bytes.

    >>> pickle_objects(Column("label", [frozenset("a")])).type
    DataType(binary)
    """
    try:
        return pa.array([pickle.dumps(value, pickle.HIGHEST_PROTOCOL) for value in column.data], pa.binary())
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise UnsupportedError(
            f"The {column.name}s cannot be written to disk: {error}. Use engine='memory'."
        ) from error


def write_error(folder: Path, error: OSError) -> OutputError:
    """Return the error for a work folder that is not writable."""
    return OutputError(
        f"The disk engine cannot write to its work folder {folder}: {error.strerror}. It needs about as much space as"
        " the answers as CSV. Choose another folder with work_dir=."
    )


# Vocabulary: values numbered in input order, batch by batch.


class Vocabulary:
    """A numbering of values, which each column may extend.

    >>> from allalike._core.columns.column import Column
    >>> vocabulary = Vocabulary()
    >>> vocabulary.number(Column.of_objects("worker", ["bob", "ada", "bob"]), np.arange(3))
    array([0, 1, 0], dtype=int32)
    >>> vocabulary.number(Column.of_objects("worker", ["eve", "ada"]), np.arange(3, 5))
    array([2, 1], dtype=int32)
    >>> vocabulary.values.tolist(), vocabulary.first_rows
    (['bob', 'ada', 'eve'], array([0, 1, 3]))
    """

    def __init__(self) -> None:
        self._known: Any = None
        self._objects: dict[Any, int] = {}
        self._first: list[RowNumbers] = []

    def __len__(self) -> int:
        return len(self._objects) if self._known is None else len(self._known)

    @property
    def values(self) -> Values:
        """All values, in the order of their numbers."""
        return Values(list(self._objects) if self._known is None else self._known)

    @property
    def first_rows(self) -> RowNumbers:
        """The first row of each value."""
        return np.concatenate(self._first)

    def number(self, column: Column, rows: RowNumbers | None = None) -> Codes:
        """Return the number of each value of a column; with ``rows``, also record first rows."""
        known = len(self)
        if isinstance(column.data, list):
            codes = self._number_objects(column)
        else:
            own, values = distinct(column.data)
            codes = self._number_values(values.data)[own]
        if rows is not None and len(self) > known:
            new = np.flatnonzero(codes >= known)[::-1]  # the last of several assignments to an index wins
            first = np.empty(len(self) - known, np.int64)
            first[codes[new] - known] = rows[new]
            self._first.append(first)
        return codes

    def _number_objects(self, column: Column) -> Codes:
        try:
            codes = [self._objects.setdefault(value, len(self._objects)) for value in column.data]
        except TypeError:
            raise column.indistinct() from None
        return np.array(codes, np.int32)

    def _number_values(self, values: Any) -> Codes:
        """Return the numbers of distinct values, and number new ones."""
        if self._known is None:
            self._known = values
            return np.arange(len(values), dtype=np.int32)
        found = pc.index_in(values, value_set=self._known)
        codes = numpy_of(found.fill_null(pa.scalar(-1, pa.int32()))).copy()
        new = np.flatnonzero(codes < 0)
        if len(new):
            codes[new] = np.arange(len(self), len(self) + len(new), dtype=np.int32)
            self._known = pa.concat_arrays([self._known, Values(values).take(new).data])
        return codes
