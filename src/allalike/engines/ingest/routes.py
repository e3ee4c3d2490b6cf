"""Routing of rows to partitions, on disk or in memory, by a hash of their task.

A batch of rows is sorted by partition, and each part is appended to the file of its partition. Workers are written as
numbers. Labels are written as numbers if there are few distinct ones. Otherwise they are written as floats if all of
them are numeric, and else unchanged. Task ids of text files are written as whole numbers if possible. If a later row
contradicts the plan made from the first rows, routing starts again with another plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.factors import Codes, ranked
from allalike._core.columns.hashes import Hashes, hash_strings, mix, string_bytes
from allalike._core.columns.values import arrow_of, is_string, numpy_of, take_rows
from allalike._core.late import pa
from allalike._core.system.progress import report
from allalike.answers.answers import SAMPLE_ROWS, Batch, Stream, join_batches
from allalike.answers.cleaning import Dropped, check_ids
from allalike.domains.contract import choose_options, spell_domain
from allalike.engines.ingest.partitions import Partitions, Rows, Vocabulary, append, pickle_objects
from allalike.engines.shards import Tally, count_up
from allalike.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import numpy.typing as npt

    from allalike._core.blocks.block import Ties
    from allalike.answers.gold import Gold, Truths
    from allalike.domains import Domain, Encoding

    RowNumbers = npt.NDArray[np.int64]

_MAX_PARTITIONS = 1 << 10
_MEMORY_PER_BYTE = 8  # bytes of memory per byte of a partition while it is sorted
_MAX_NUMBERED_LABELS = (1 << 15) - 1  # the maximum of int16
_ROWS_PER_SORT = 1 << 18  # in memory, where this is twice as fast as a million rows at once
_MANY_NUMBERS = np.arange(1 << 10)
_POWERS_OF_TEN = 10 ** np.arange(1, 19)


@dataclass(frozen=True, kw_only=True)
class Routed(Partitions):
    """Answers in partitions, and facts about all of them."""

    n_answers: int
    domain: Domain
    learned: Encoding | None
    known: Encoding | None
    notes: dict[str, Any]

    def encode(
        self, gold: Gold | None, apply: Callable[..., Iterable[Any]] = starmap
    ) -> tuple[Encoding, Truths | None]:
        """Return the encoding of all labels, and the gold labels as codes.

        ``apply`` calls a function for each job, possibly in other processes.
        """
        encoding = self.known or self.learned
        if encoding is None:
            jobs = [(number,) for number in range(self.n_partitions)]
            first, *others = apply(self._learn, jobs)
            encoding = first.merge(others)
        return (encoding, None) if gold is None else gold.encode(encoding)

    def _learn(self, number: int) -> Encoding:
        return self.domain.learn(self.label(number))

    def describe(
        self,
        encoding: Encoding,
        gold: Gold | None,
        ties: Ties,
        tallies: list[Tally],
        answer_counts: npt.NDArray[np.int64],
    ) -> dict[str, Any]:
        """Return the fields of a run, given the counts of its shards and the number of answers by each worker."""
        known = {"workers": self.workers, "encoding": encoding, "ties": ties}
        return {**known, **count_up(tallies, answer_counts, gold, self.notes)}


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
        """Return the hashes of task ids, and the ids in the form that is written."""
        if isinstance(column.data, list):
            return mix(self._tasks.number(column).astype(np.uint64)), self._pickled(column)
        ids = _as_array(column.data)
        if self._text["task"] and self._plan.whole_tasks:
            numbers = whole_numbers(ids)
            if numbers is not None:
                return mix(numbers.view(np.uint64)), numbers
            self._change(whole_tasks=False)
        if is_string(ids.type):
            return hash_strings(ids)[0], ids
        if pa.types.is_integer(ids.type):
            return mix(numpy_of(ids).astype(np.int64).view(np.uint64)), ids
        return mix(self._tasks.number(column).astype(np.uint64)), ids

    def _change(self, **how: Any) -> None:
        """Change the plan; all rows must be written again."""
        self._plan = replace(self._plan, **how)
        self._domain = self._domain or self._plan.domain
        if self._kept:
            raise _PlanChange(self._plan)

    def _label(self, label: Column, task: Column, rows: RowNumbers) -> dict[str, Any]:
        """Return labels in the form that is written."""
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
        labels = _as_array(label.data)
        self._text["label"] = self._text["label"] and whole_numbers(labels) is not None
        return labels

    def _pickled(self, column: Column) -> Any:
        self._objects.add(column.name)
        return pickle_objects(column)

    def _write(self, hashes: Hashes, columns: dict[str, Any]) -> None:
        """Sort rows by partition and write each part; in memory, as many rows at a time as fit in the cache."""
        at_once = len(hashes) if self._folder else _ROWS_PER_SORT
        for begin in range(0, len(hashes), at_once):
            piece = slice(begin, begin + at_once)
            self._write_piece(hashes[piece], {name: column[piece] for name, column in columns.items()})

    def _write_piece(self, hashes: Hashes, columns: dict[str, Any]) -> None:
        part = (hashes >> np.uint64(63 - self._bits) >> np.uint64(1)).astype(np.uint16)
        order = np.argsort(part, kind="stable")
        arrays = {name: take_rows(column, order) for name, column in columns.items()}
        if self._schema is None:
            self._schema = pa.schema([(name, array.type) for name, array in arrays.items()])
        records = pa.RecordBatch.from_arrays(list(arrays.values()), schema=self._schema)
        begin = 0
        for number, rows in enumerate(np.bincount(part).tolist()):
            if rows:
                place = self._parts.setdefault(number, self._folder / f"{number}.rows" if self._folder else Rows())
                append(place, records.slice(begin, rows))
                begin += rows

    def _routed(self) -> Routed:
        worker_rank, workers = ranked(self._workers.values, text=self._text["worker"])
        partitions = Partitions(
            parts=[self._parts[number] for number in sorted(self._parts)],
            schema=self._schema,
            workers=workers,
            worker_rank=worker_rank,
            text=self._text["label"] and self._plan.labels == "plain",
            objects=frozenset(self._objects),
        )
        if self._plan.labels == "codes":
            label_rank, labels = ranked(self._labels.values, text=self._text["label"])
            partitions = replace(partitions, labels=labels, label_rank=label_rank)
        guess, first = self._stream.guess, self._first_rows
        domain = self._domain or guess(self._different_labels(), _parts(partitions), self._kept, first)
        chosen = choose_options(domain, self._stream.choices)
        return Routed(
            **vars(partitions),
            n_answers=self._kept,
            domain=chosen,
            learned=self._learned(chosen),
            known=self._stream.encoding,
            notes=self._notes(domain),
        )

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

    def _notes(self, domain: Domain) -> dict[str, Any]:
        notes = {**self._stream.notes, **self._dropped.notes(self._read)}
        if self._stream.domain is None:
            notes["guessed"] = {**notes.get("guessed", {}), "domain": spell_domain(domain)}
        return notes

    def _different_labels(self) -> Column:
        """Return the distinct labels, in order of first occurrence."""
        first = self._labels.first_rows
        order = np.argsort(first)
        column = Column("label", self._labels.values.take(order).data, text=self._text["label"])
        return column.numbered(first[order])


def _parts(partitions: Partitions) -> Iterator[tuple[Column, Codes]]:
    for number in range(partitions.n_partitions):
        _, task, label = partitions.columns(number)
        yield label, task.factors[0]


def _as_array(column: Any) -> Any:
    """Return the values of a column as one array."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.combine_chunks()


def whole_numbers(strings: Any) -> npt.NDArray[np.int64] | None:
    """Return strings as numbers if all are whole numbers in Python's notation with at most 18 digits, else None.

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
