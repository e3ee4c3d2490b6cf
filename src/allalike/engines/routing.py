"""Routing: rows in any order are divided among partitions of whole tasks, by a hash of their task.

A `Router` cleans the rows of one input, such as a file or what one Spark task reads, and summarises them in an
`InputDigest`. The digests of all inputs are joined to `InputFacts`, from which label type and encoding follow. Rows are
numbered within their input, and globally when the number of rows of each input is known. Errors name these numbers.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections import Counter
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.column import Column
from allalike._core.columns.factors import Codes, distinct, ranked
from allalike._core.columns.hashes import mix, string_bytes
from allalike._core.columns.values import Values, arrow_of, is_string, numpy_of, take_rows
from allalike._core.lazy_imports import pa, pc
from allalike.answers.answers import SAMPLE_ROWS
from allalike.answers.cleaning import Cleaning, Dropped, blank_error, zero_error
from allalike.errors import UnsupportedError
from allalike.readers.formats.source import check_types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from allalike.answers.answers import Batch, Guess
    from allalike.domains import Domain, Encoding

RowNumbers = npt.NDArray[np.int64]

ROLES = ("worker", "task", "label")
_ZERO = "zero byte in "  # followed by a role
_UNPARSED, _TEXT = "unparsed label", "label that is not a number"
_HALF_BITS = np.uint64(32)
_LOOK_ROWS = 1 << 10
_POWERS_OF_TEN = 10 ** np.arange(1, 19)
_MANY_NUMBERS = np.arange(1 << 10)
_MAX_SHOWN_LABELS = 1 << 19  # from which a label type is inferred if there are many distinct texts


@dataclass(frozen=True)
class RoutingPlan:
    """The number of partitions, and the options for reading rows.

    If ``coded``, workers and few labels are sent as codes in the router's order, else as they were read.
    """

    n_partitions: int = 1
    cleaning: Cleaning = field(default_factory=Cleaning)
    coded: bool = False
    max_numbered_labels: int = (1 << 15) - 1  # the maximum of int16


@dataclass
class InputDigest:
    """A summary of the rows of an input, which are numbered from 0 (see `InputFacts`).

    ``counts`` are the numbers of incomplete rows, and ``first`` is the first row of each kind with its value: rows
    without a label, task or worker, ids with a zero byte, and labels that cannot be parsed or are not numbers.
    """

    number: int
    n_read: int = 0
    n_kept: int = 0
    types: dict[str, Any] = field(default_factory=dict)
    text: dict[str, bool] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, tuple[int, Any]] = field(default_factory=dict)
    dropped: Dropped = field(default_factory=Dropped)
    workers: Any = None
    labels: Any = None
    first_rows: Any = None
    whole_numbers: dict[str, bool] = field(default_factory=lambda: {"task": True, "label": True})
    numeric: bool = False


class Router:
    """A router that sends the rows of one input to partitions, and summarises them in a digest.

    >>> router = Router(0, RoutingPlan(n_partitions=2))
    >>> rows = {"worker": ["ada", "bob"], "task": [7, 7], "label": ["x", None]}
    >>> batch = {role: Column.of_objects(role, values) for role, values in rows.items()}
    >>> [(number, sent.to_pylist()) for number, sent in router.route(batch)]
    [(0, [{'worker': 'ada', 'task': 7, 'label': 'x', 'row': 0}])]
    >>> router.finish().first
    {'label': (1, None)}
    """

    def __init__(self, number: int, plan: RoutingPlan) -> None:
        self._plan, self.digest = replace(plan, cleaning=replace(plan.cleaning, missing="drop")), InputDigest(number)
        self._workers, self._tasks, self.labels = Vocabulary(), Vocabulary(), Vocabulary()
        self._many_labels = False

    def route(self, batch: Batch) -> Iterator[tuple[int, Any]]:
        """Yield a record batch for each partition that receives rows."""
        columns, rows = self._clean(batch)
        if not len(rows):
            return
        for role in ("task", "worker"):
            if columns[role].form is None and not self._plan.coded:  # objects are numbered within this input
                raise columns[role].indistinct()
        if not self.digest.n_kept:
            self.digest.text = {role: column.text and column.kind == "text" for role, column in columns.items()}
        self.digest.n_kept += len(rows)
        partitions, tasks = self._route_tasks(columns["task"])
        workers = self._workers.number(columns["worker"])
        sent = {
            "worker": workers if self._plan.coded else _as_sent(columns["worker"]),
            "task": tasks,
            **self._inspect_labels(columns["label"], rows),
            "row": arrow_of(rows),
        }
        yield from split_rows(partitions, sent)

    def _clean(self, batch: Batch) -> tuple[Batch, RowNumbers]:
        """Return the complete rows and their numbers; count the others."""
        digest = self.digest
        before, number = digest.n_read, len(batch["label"])
        digest.n_read += number
        digest.types = {role: column.form for role, column in batch.items()}
        columns, kept, dropped = self._plan.cleaning.clean(batch)
        digest.dropped += replace(dropped, example=None)
        if dropped.example is not None:
            digest.first.setdefault(_UNPARSED, (before + dropped.example[0], dropped.example[1]))
        if dropped.missing:
            blank = self._plan.cleaning.map_labels(batch["label"]).missing()
            self._count("label", blank, before + np.arange(number), batch["label"])
        rows = before + np.flatnonzero(kept)
        complete = np.ones(len(rows), np.bool_)
        for role in ("task", "worker"):
            missing = columns[role].missing()
            self._count(role, complete & missing, rows, None)
            self._count(f"{_ZERO}{role}", columns[role].zeros(), rows, columns[role])
            complete &= ~missing
        if not complete.all():
            columns = {role: column.keep(complete) for role, column in columns.items()}
        return columns, rows[complete]

    def _count(self, what: str, found: npt.NDArray[np.bool_], rows: RowNumbers, column: Column | None) -> None:
        if found.any():
            place = int(np.argmax(found))
            self.digest.counts[what] += int(found.sum())
            self.digest.first.setdefault(what, (int(rows[place]), None if column is None else column.value(place)))

    def _route_tasks(self, task: Column) -> tuple[npt.NDArray[np.uint16], Any]:
        """Return the partition of each task, and the ids that are sent: texts as numbers while all are integers."""
        ids = _as_sent(task)
        if task.form is None:
            hashes = mix(self._tasks.number(task).astype(np.uint64))
        elif is_string(ids.type) or pa.types.is_integer(ids.type):
            hashes = Values(ids).hashes()
        else:
            codes, values = distinct(pa.chunked_array([ids]))
            hashes = values.hashes()[codes]
        if self.digest.text["task"] and self.digest.whole_numbers["task"]:
            numbers = whole_numbers(ids)
            self.digest.whole_numbers["task"] = numbers is not None
            ids = ids if numbers is None else arrow_of(numbers)
        partitions = (hashes >> _HALF_BITS) * np.uint64(self._plan.n_partitions) >> _HALF_BITS
        return partitions.astype(np.uint16), ids

    def _inspect_labels(self, label: Column, rows: RowNumbers) -> dict[str, Any]:
        """Record the distinct labels if there are few, or else whether all are numbers. Return the message to send."""
        self.digest.numeric = label.kind in ("whole", "number")
        if label.form is None:
            self._many_labels = True
        elif self._many_labels:
            self._inspect_texts(label, rows)
        else:
            codes = self.labels.number(label, rows)
            self._many_labels = len(self.labels) > self._plan.max_numbered_labels
            if self._plan.coded and not self._many_labels:
                return {"code": codes.astype(np.int16)}
            if self._many_labels:
                self._inspect_distinct()
        return {"label": _as_sent(label)}

    def _inspect_distinct(self) -> None:
        order = np.argsort(self.labels.first_rows)
        self._inspect_texts(Column("label", self.labels.values.take(order).data), self.labels.first_rows[order])

    def _inspect_texts(self, label: Column, rows: RowNumbers) -> None:
        """Record the first label that is not a number, and whether all labels are integers, if they are texts."""
        digest = self.digest
        if digest.text["label"]:
            if digest.whole_numbers["label"]:
                digest.whole_numbers["label"] = whole_numbers(as_array(label.data)) is not None
            label = copy(label)
            if _TEXT not in digest.first and not label.looks_numeric():
                row, value = label.numbered(rows).first_text(codes=True)
                digest.first[_TEXT] = row - 1, value

    def finish(self) -> InputDigest:
        """Return the digest, with the distinct workers and labels."""
        self.digest.workers = self._workers.values.data
        if len(self.labels) and not self._many_labels:
            self._inspect_distinct()
            self.digest.labels, self.digest.first_rows = self.labels.values.data, self.labels.first_rows
        return self.digest


def split_rows(part: npt.NDArray[Any], columns: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """Sort rows by the number of their partition, and yield each partition with its record batch.

    >>> import pyarrow as pa
    >>> batches = split_rows(np.array([2, 0, 2]), {"row": pa.array([7, 8, 9])})
    >>> [(number, batch["row"].to_pylist()) for number, batch in batches]
    [(0, [8]), (2, [7, 9])]
    """
    order = np.argsort(part, kind="stable")
    batch = pa.RecordBatch.from_pydict({name: take_rows(column, order) for name, column in columns.items()})
    begin = 0
    for number, rows in enumerate(np.bincount(part).tolist()):
        if rows:
            yield number, batch.slice(begin, rows)
            begin += rows


def _as_sent(column: Column) -> Any:
    """Return the values of a column as one array, with Python objects as bytes."""
    if column.form is not None:
        return as_array(column.data)
    try:
        return pa.array([pickle.dumps(value, pickle.HIGHEST_PROTOCOL) for value in column.data], pa.binary())
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise UnsupportedError(
            f"The {column.name}s cannot be written to disk: {error}. Use engine='memory'."
        ) from error


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
    if len(strings) > _LOOK_ROWS and whole_numbers(strings[:_LOOK_ROWS]) is None:  # a cast that fails is slow
        return None
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


# Facts: the joined digests of all inputs.


@dataclass(frozen=True, kw_only=True)
class InputFacts:
    """Facts about all rows; ``before`` is the number of rows before each input.

    ``text`` contains the roles whose strings are all integers, ``task_text`` is whether tasks are other strings of a
    text file, ``label_text`` whether labels are strings of one, and ``objects`` are the roles whose values are Python
    objects. ``worker_rank`` is the index of each worker among ``workers``, in the order in which they came.
    """

    n_read: int
    n_kept: int
    counts: Counter[str]
    first: dict[str, tuple[int, Any]]
    dropped: Dropped
    workers: Values
    worker_rank: Codes
    text: frozenset[str]
    task_text: bool
    label_text: bool
    objects: frozenset[str]
    labels: Values | None
    first_rows: Any
    numeric: bool
    before: dict[int, int]

    def check(self, cleaning: Cleaning) -> None:
        """Raise an error if rows are incomplete, or if none are left."""
        for role in ("label", "task", "worker"):
            count = self.counts[role]
            all_rows = self.n_read if role == "label" else self.n_read - self.dropped.total
            if count and (role != "label" or (cleaning.missing == "error" and count < all_rows)):
                row, found = self.first[role]
                raise blank_error(role, row + 1, (count, all_rows), found)
            if f"{_ZERO}{role}" in self.first:
                row, found = self.first[f"{_ZERO}{role}"]
                raise zero_error(role, row + 1, found)
        self.dropped.check(self.n_read, cleaning.spelling.steps)

    def distinct_labels(self) -> Column:
        """Return the distinct labels in the order of first occurrence."""
        assert self.labels is not None
        return Column("label", self.labels.data, text=self.label_text).numbered(self.first_rows)

    def make_label(self, data: Any, rows: RowNumbers) -> Column:
        """Return the label column of some rows, with their numbers."""
        return Column("label", data, text="label" in self.text).numbered(rows)

    def restore(self, role: str, chunks: list[Any]) -> Any:
        """Return the chunks of a column as it was read: Arrow's values or Python objects."""
        if role in self.objects:
            values = [value for chunk in chunks for value in chunk.to_pylist()]
            return [pickle.loads(value) for value in values]  # nosec B301 # written or sent by this run
        if role == "task" and self.task_text:
            chunks = [chunk.cast(pa.large_string()) for chunk in chunks]  # numbers, before there was another text
        return pa.chunked_array(chunks)


def join_digests(digests: Iterable[InputDigest], max_numbered_labels: int) -> InputFacts:
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
    is_text = {role: bool(used) and used[0].text[role] for role in ROLES}
    rank, ids = ranked(workers.values, text=is_text["worker"]) if used else (np.empty(0, np.int32), Values([]))
    labels, rows = _join_labels(used, before, max_numbered_labels)
    flags = {
        "worker": is_text["worker"] and not is_string(ids.data.type),
        "label": is_text["label"] and all(digest.whole_numbers["label"] for digest in used),
    }
    first: dict[str, tuple[int, Any]] = {}
    for digest in known:  # in the order of rows
        for what, (row, value) in digest.first.items():
            first.setdefault(what, (row + before[digest.number], value))
    dropped = sum((digest.dropped for digest in known), Dropped())
    return InputFacts(
        n_read=sum(digest.n_read for digest in known),
        n_kept=sum(digest.n_kept for digest in known),
        counts=sum((digest.counts for digest in known), Counter()),
        first=first,
        dropped=replace(dropped, example=first.get(_UNPARSED)),
        workers=ids,
        worker_rank=rank,
        text=frozenset(role for role, flag in flags.items() if flag),
        task_text=is_text["task"] and not all(digest.whole_numbers["task"] for digest in used),
        label_text=is_text["label"],
        objects=frozenset(role for role in ROLES if used and used[0].types[role] is None),
        labels=labels,
        first_rows=rows,
        numeric=any(digest.numeric for digest in used),
        before=before,
    )


def _join_labels(digests: list[InputDigest], before: dict[int, int], most: int) -> tuple[Values | None, Any]:
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


# Routed rows: what an engine knows of the rows in its partitions.


class RoutedRows(ABC):
    """All rows in the partitions of their tasks, from which the label type is inferred and its encoding learnt."""

    facts: InputFacts

    @abstractmethod
    def each_label(self) -> Iterator[tuple[Column, Codes]]:
        """Yield the labels of each partition, and the numbers of their tasks."""

    @abstractmethod
    def first_rows(self, number: int) -> list[dict[str, Any]]:
        """Return tasks, labels and row numbers, in parts that contain the first rows."""

    @abstractmethod
    def learn_parts(self, domain: Domain) -> Iterable[Encoding]:
        """Return the encoding of the labels of each partition."""

    def infer_domain(self, guess: Guess) -> Domain:
        """Infer the label type from the distinct labels if they are few, or else from the first ones."""
        facts = self.facts
        if facts.labels is not None:
            return guess(facts.distinct_labels(), self.each_label(), facts.n_kept, self._show_sample)
        if facts.numeric or (facts.label_text and _TEXT not in facts.first):
            return guess(Column("label", arrow_of(_MANY_NUMBERS)), (), facts.n_kept, self._show_sample)
        some, tasks = self.show_labels(_MAX_SHOWN_LABELS)
        return guess(some, [(some, tasks)], len(some), self._show_sample)

    def learn(self, domain: Domain) -> Encoding:
        """Return the encoding of all labels; a label that does not fit is an error."""
        if self.facts.labels is not None:
            labels = self.facts.distinct_labels()
            encoding = domain.learn(labels)
            encoding.encode(labels)
            return encoding
        if domain.spelling.numbers:
            encoding = domain.learn(Column("label", []))
            if _TEXT in self.facts.first:  # else the error would name the first row of some partition
                row, value = self.facts.first[_TEXT]
                encoding.encode(Column.of_objects("label", [value]).numbered(np.array([row])))
            return encoding
        first, *others = self.learn_parts(domain)
        return first.merge(others)

    def _show_sample(self) -> tuple[Column, Codes]:
        label, tasks = self.show_labels(SAMPLE_ROWS)
        return label.head(SAMPLE_ROWS), tasks[:SAMPLE_ROWS]

    def show_labels(self, number: int) -> tuple[Column, Codes]:
        """Return the first labels, and the first label that is not a number, with the numbers of their tasks."""
        parts = self.first_rows(number)
        rows = np.concatenate([part["row"] for part in parts])
        order = np.argsort(rows)[:number]
        labels, tasks = _join_rows(parts, "label", order), Column("task", _join_rows(parts, "task", order)).factors[0]
        rows, text = rows[order], None if self.facts.labels is not None else self.facts.first.get(_TEXT)
        if text is not None and text[0] not in rows:
            labels = pa.chunked_array([*labels.chunks, pa.array([text[1]], labels.type)])
            tasks, rows = np.append(tasks, tasks[-1] + 1), np.append(rows, text[0])
        return Column("label", labels, text=self.facts.label_text).numbered(rows), tasks


def _join_rows(parts: list[dict[str, Any]], role: str, order: npt.NDArray[np.int64]) -> Any:
    columns = [part[role] for part in parts]
    if isinstance(columns[0], list):
        values = [value for column in columns for value in column]
        return [values[place] for place in order]
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks]).take(arrow_of(order))


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
