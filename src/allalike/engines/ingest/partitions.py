"""Partitions of rows by task, in files or in memory, and vocabularies of ids and labels."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.column import Column
from allalike._core.columns.factors import Codes, distinct, factorize, only_used
from allalike._core.columns.values import Values, numpy_of
from allalike._core.late import pa, pc
from allalike.errors import OutputError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

_MAX_SLICES = 32  # slices that are kept before they are joined


class Rows:
    """The rows of a partition in memory, as record batches.

    A slice keeps the whole batch in memory. Therefore slices are joined regularly, so that the memory of a partition is
    released with it.

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
class Partitions:
    """Rows in partitions, in files or in memory."""

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
        """The number of partitions with rows."""
        return len(self.parts)

    def columns(self, number: int) -> tuple[Column, Column, Column]:
        """Return worker, task and label of a partition's rows, in input order.

        A worker has the same number in all partitions.
        """
        table = self._read(number)
        worker = Column.of_codes("worker", self.worker_rank[numpy_of(table["worker"])], self.workers)
        task = self._plain(table, "task")
        if isinstance(task, list):
            return worker, Column("task", task), self._label(table)
        return worker, Column.of_codes("task", *factorize(task, many=True)), self._label(table)

    def label(self, number: int) -> Column:
        """Return the labels of a partition."""
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
        """Return an unnumbered column."""
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
    """Append a record batch to a partition."""
    if isinstance(part, Rows):
        part.append(batch)
        return
    try:
        with part.open("ab") as file:
            file.write(batch.serialize())
    except OSError as error:
        raise write_error(part.parent, error) from error


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


RowNumbers = npt.NDArray[np.int64]


class Vocabulary:
    """A numbering of values, which grows with each column.

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
