"""Partition files of rows by task, and the vocabulary of ids on disk."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.column import Column
from allalike._core.columns.factors import Codes, distinct, factorize, only_used
from allalike._core.columns.hashes import Hashes, hash_strings, mix
from allalike._core.columns.values import Values, arrow_of, is_string, numpy_of
from allalike._core.late import pa, pc
from allalike.errors import OutputError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

_MAX_SLICES = 32  # that are kept before they are joined


class Rows:
    """The rows of a partition in memory, as batches of records.

    A batch that comes is a slice of a larger one, which stays in memory as long as any of its slices does. So a few
    dozen slices are joined at a time: then what a partition takes is let go together with it.

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
        """Put a batch of records behind the others."""
        self._slices.append(batch)
        if len(self._slices) == _MAX_SLICES:
            self._joined += pa.Table.from_batches(self._slices).combine_chunks().to_batches()
            self._slices = []

    def table(self, schema: Any) -> Any:
        """Return all rows."""
        return pa.Table.from_batches([*self._joined, *self._slices], schema)

    def clear(self) -> None:
        """Let all rows go."""
        self._joined, self._slices = [], []


@dataclass(frozen=True, kw_only=True)
class Partitions:
    """Rows in partitions: where they are, and how they are read."""

    parts: list[Path | Rows]
    schema: Any
    workers: Values
    worker_rank: Codes
    labels: Values | None = None
    label_rank: Codes | None = None
    text: bool = False
    objects: frozenset[str] = frozenset()

    @property
    def n_partitions(self) -> int:
        """How many partitions have rows."""
        return len(self.parts)

    def columns(self, number: int) -> tuple[Column, Column, Column]:
        """Return worker, task and label of a partition's rows, in the order in which they came.

        A worker has the same number in all partitions.
        """
        table = self._read(number)
        worker = Column.of_codes("worker", self.worker_rank[numpy_of(table["worker"])], self.workers)
        task = self._plain(table, "task")
        if isinstance(task, list):
            return worker, Column("task", task), self._label(table)
        return worker, Column.of_codes("task", *factorize(task, many=True)), self._label(table)

    def label(self, number: int) -> Column:
        """Return the labels of a partition only."""
        return self._label(self._read(number))

    def remove(self, number: int) -> None:
        """Remove the rows of a partition."""
        part = self.parts[number]
        if isinstance(part, Rows):
            part.clear()
        else:
            part.unlink(missing_ok=True)

    def _label(self, table: Any) -> Column:
        if self.labels is not None and self.label_rank is not None:
            return Column.of_codes("label", *only_used(self.label_rank[numpy_of(table["label"])], self.labels))
        column = Column("label", self._plain(table, "label"), text=self.text)
        return column.numbered(numpy_of(table["row"])) if "row" in self.schema.names else column

    def _plain(self, table: Any, name: str) -> Any:
        """Return a column as it came."""
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


def append(part: Path | Rows, batch: Any) -> None:
    """Put a batch of records behind those that a partition has."""
    if isinstance(part, Rows):
        part.append(batch)
        return
    try:
        with part.open("ab") as file:
            file.write(batch.serialize())
    except OSError as error:
        raise write_error(part.parent, error) from error


def pickle_objects(column: Column) -> Any:
    """Return Python objects as an Arrow array of bytes.

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
    """Return the error of a work folder that cannot be written to."""
    return OutputError(
        f"The disk engine cannot write to its work folder {folder}: {error.strerror}. It needs about as much space as"
        " the answers take as CSV; name another place with work_dir=."
    )


# Vocabulary: values numbered in the order in which they come, batch after batch.


RowNumbers = npt.NDArray[np.int64]


_MANY_VALUES = 3 << 13  # beyond so many, looking up every row is faster than finding the different values of a batch


_END = np.array([-1], np.int64).view(np.uint64)  # the largest hash, which stands behind all others


class Vocabulary:
    """A numbering of values, which grows with one column after the other.

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
        self._parts: list[Any] = []
        self._objects: dict[Any, int] = {}
        self._hashes, self._checks = _END, np.zeros(1, np.uint64)  # in order
        self._codes = np.full(1, -1, np.int32)  # in the order of hashes
        self._begins, self._shift = np.zeros(2, np.int64), np.uint64(63)  # where hashes with the same first bits begin
        self._first: list[RowNumbers] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> Values:
        """All values, in the order of their numbers."""
        if self._objects:
            return Values(list(self._objects))
        self._parts = [pa.concat_arrays(self._parts)] if self._parts else []
        return Values(self._parts[0] if self._parts else [])

    @property
    def first_rows(self) -> RowNumbers:
        """The first row of each value."""
        return np.concatenate(self._first)

    def number(self, column: Column, rows: RowNumbers | None = None) -> Codes:
        """Return the number of each value of a column; where the numbers of rows are given, first ones are kept."""
        known = self._size
        if isinstance(column.data, list):
            codes = self._place_objects(column)
        else:
            codes = self._find_rows(column.data)
            rest = np.flatnonzero(codes < 0)
            if len(rest):
                own, values = distinct(column.data if len(rest) == len(codes) else column.data.take(arrow_of(rest)))
                codes[rest] = self._place(values.data)[own]
        if rows is not None and self._size > known:
            new = np.flatnonzero(codes >= known)[::-1]  # of several rows that are assigned to a place, the last stays
            first = np.empty(self._size - known, np.int64)
            first[codes[new] - known] = rows[new]
            self._first.append(first)
        return codes

    def _place_objects(self, column: Column) -> Codes:
        try:
            codes = [self._objects.setdefault(value, len(self._objects)) for value in column.data]
        except TypeError:
            raise column.indistinct() from None
        self._size = len(self._objects)
        return np.array(codes, np.int32)

    def _find_rows(self, column: Any) -> Codes:
        """Return the numbers of values that may occur often, and -1 for those that are new, or if they are not many."""
        if self._size > _MANY_VALUES:
            values = column.combine_chunks()
            hashes = _hash(values)
            if hashes:
                return self._find(values, *hashes)
        return np.full(len(column), -1, np.int32)

    def _place(self, values: Any) -> Codes:
        """Return the numbers of different values, and number those that are new."""
        hashes = _hash(values)
        codes = self._find(values, *hashes) if hashes and self._size else self._find_exactly(values)
        new = np.flatnonzero(codes < 0)
        if len(new):
            codes[new] = np.arange(self._size, self._size + len(new), dtype=np.int32)
            self._parts.append(values if len(new) == len(values) else Values(values).take(new).data)
            self._size += len(new)
            if hashes:
                self._remember(codes[new], *(part[new] for part in hashes))
        return codes

    def _find(self, values: Any, hashes: Hashes, checks: Hashes) -> Codes:
        place = self._search(hashes)
        same = self._hashes.take(place) == hashes
        if np.any(same & (self._checks.take(place) != checks)):
            return self._find_exactly(values)
        return np.where(same, self._codes.take(place), np.int32(-1))

    def _search(self, hashes: Hashes) -> RowNumbers:
        """Do as `numpy.searchsorted` among the known hashes; where to begin is known from the first bits."""
        place = self._begins.take((hashes >> self._shift).view(np.int64))
        behind = np.flatnonzero(self._hashes.take(place) < hashes)
        while len(behind):
            place[behind] += 1
            behind = behind[self._hashes.take(place.take(behind)) < hashes.take(behind)]
        return place

    def _find_exactly(self, values: Any) -> Codes:
        if not self._size:
            return np.full(len(values), -1, np.int32)
        found = pc.index_in(values, value_set=self.values.data)
        return numpy_of(found.fill_null(pa.scalar(-1, pa.int32()))).copy()

    def _remember(self, codes: Codes, hashes: Hashes, checks: Hashes) -> None:
        joined = np.concatenate([hashes, self._hashes])
        order = np.argsort(joined, kind="stable")
        self._hashes = joined[order]
        self._checks = np.concatenate([checks, self._checks])[order]
        self._codes = np.concatenate([codes, self._codes])[order]
        bits = len(joined).bit_length() + 1
        self._shift = np.uint64(64 - bits)
        self._begins = np.searchsorted(self._hashes, np.arange(1 << bits, dtype=np.uint64) << self._shift)


def _hash(values: Any) -> tuple[Hashes, Hashes] | None:
    if is_string(values.type):
        return hash_strings(values)
    if pa.types.is_integer(values.type):
        hashes = mix(numpy_of(values).astype(np.int64).view(np.uint64))
        return hashes, hashes  # one to one: needs no second hash
    return None
