"""Tables that are read lazily: named columns of any kind, and steps that reshape them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from allalike._core.columns.column import Column
from allalike._core.lazy_imports import pa, pc
from allalike.errors import InputError
from allalike.readers.formats.read_errors import check_gaps, check_names

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from allalike.domains import Domain

# A column is an Arrow column if Arrow supports its values, and else a list of Python objects.
Columns = dict[str, Any]  # by name: Arrow columns, lists of objects, or `Column`s
Step = Callable[[Columns, int], Columns]

_SLICE_ROWS, _SLICE_OBJECTS = 1 << 20, 1 << 16  # rows per slice of Arrow columns, and of Python objects
_SLICE_BYTES = 1 << 26
_MOST_SAMPLED_PARTS, _MOST_SAMPLED_CELLS = 50, 5_000_000


def ready(data: Any) -> Any:
    """Return the Arrow column or the list in a `Column`, and other columns unchanged."""
    return data.data if isinstance(data, Column) else data


def cells(data: Any) -> list[Any]:
    """Return the values of a column as Python objects."""
    read = ready(data)
    return read if isinstance(read, list) else list(read.to_pylist())


def texts(column: Column) -> list[str]:
    """Return values as stripped strings; missing values become empty strings."""
    pairs = zip(cells(column), column.missing().tolist(), strict=True)
    return ["" if gone else str(value).strip() for value, gone in pairs]


def concatenate(name: str, parts: Sequence[Any], *, mixed: bool = False) -> Any:
    """Join parts of a column; parts of different types are refused, or joined as a list of objects if ``mixed``."""
    parts = [ready(part) for part in parts]
    if all(isinstance(part, list) for part in parts):
        return list(chain.from_iterable(parts))
    arrays = [pa.array(part) if isinstance(part, list) else part for part in parts]
    if len({array.type for array in arrays}) > 1:  # a column may be a dictionary in some of the files
        arrays = [array.cast(value_type(array.type)) for array in arrays]
    kinds = {array.type for array in arrays}
    if mixed and len(kinds) > 1:
        return list(chain.from_iterable(map(cells, parts)))
    check_types(name, kinds)
    chunks = (array.chunks if isinstance(array, pa.ChunkedArray) else [array] for array in arrays)
    return pa.chunked_array(list(chain.from_iterable(chunks)), arrays[0].type)


def value_type(kind: Any) -> Any:
    """Return the type of the values of a column, which may be stored as a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def check_types(name: str, kinds: set[Any]) -> None:
    """Refuse a column with different types in different files."""
    if len(kinds) > 1:
        listed = ", ".join(sorted(map(str, kinds)))
        raise InputError(f"The column {name!r} has different types in different files: {listed}. Make them the same.")


@dataclass(frozen=True)
class Source:
    """A table that is read lazily, with the facts that its reader knows.

    ``read`` returns columns of all rows, or of at least the given number; ``stream`` yields columns in batches of rows.
    Labels of ``text`` and of JSON (``written``) keep their spelling. Paths into nested ``records`` can become columns.

    ``roles`` are the columns of worker, task and label, and ``guessed`` the detected options. ``domain`` is the label
    type, ``levels`` are those of ordered columns, and ``scales`` is the column with the scale of each task. A label can
    have a column of gold labels (``truths``), and one of ``details`` on its members. The ``notes`` are added to those
    of the answers: samples of a judge, careless workers with reasons, and the number of silent tasks.
    """

    names: list[str]
    read: Callable[[Sequence[str], int | None], Columns]
    where: str = "The table"
    stream: Callable[[Sequence[str]], Iterator[Columns]] | None = None
    n_bytes: Callable[[Sequence[str]], int] = lambda _: 0
    text: bool = False
    written: bool = False
    decimal: str = "."
    na: Sequence[str] | None = None
    index: Sequence[Any] | None = None
    parts: tuple[Source, ...] = ()
    records: Callable[[], list[Any]] | None = None
    roles: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    guessed: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    domain: str | Domain = ""
    levels: Mapping[str, Domain] = field(default_factory=dict)
    scales: str = ""
    truths: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_names(self.names, self.where)

    def load(self, names: Sequence[str]) -> Columns:
        """Return columns of all rows."""
        return self.read(names, None)

    def sample(self, rows: int, names: Sequence[str] | None = None) -> Columns:
        """Return columns of the first rows of each part of the table: Arrow columns, or lists.

        There are fewer rows if there are very many columns.
        """
        asked = list(self.names if names is None else names)
        rows = min(rows, max(_MOST_SAMPLED_CELLS // max(len(asked), 1), 1))
        return {name: ready(data)[:rows] for name, data in self.read(asked, rows).items()} if asked else {}

    def columns(self, picked: Mapping[str, str]) -> dict[str, Column]:
        """Return the column of each role, given its name."""
        loaded = self.load(list(picked.values()))
        return {role: self.column(role, loaded[name]) for role, name in picked.items()}

    def batches(self, picked: Mapping[str, str]) -> Iterator[dict[str, Column]]:
        """Yield the column of each role, given its name, in batches of rows."""
        if self.stream is None:
            yield from _slice(self.columns(picked))
            return
        for batch in self.stream(list(picked.values())):
            yield {role: self.column(role, batch[name]) for role, name in picked.items()}

    def column(self, role: str, data: Any) -> Column:
        """Make a column of loaded data."""
        if isinstance(data, Column):
            column = copy(data)
        elif isinstance(data, list):
            column = Column.of_objects(role, _as_written(data) if self.written and role == "label" else data)
        else:
            commas = role == "label" and self.text and self.decimal == ","
            column = Column(role, _with_points(data) if commas else data, text=self.text)
        if role == "label":
            column.na = self.na
            column.text = column.text or self.written
        return column

    def loaded_by(self, load: Callable[[Sequence[str]], Columns], **changes: Any) -> Source:
        """Return a table with another function that loads its columns, and without stream, records or parts."""
        old: dict[str, Any] = {"stream": None, "records": None, "parts": ()}
        return replace(self, **{"read": lambda asked, _: load(asked), **old, **changes})

    def with_step(
        self,
        step: Step,
        *,
        adds: Sequence[str],
        needs: Sequence[str] = (),
        drops: Sequence[str] = (),
        whole: bool = False,
        says: Sequence[str] = (),
        **changes: Any,
    ) -> Source:
        """Return the table with a step after each read: a function from columns to columns.

        The step ``adds`` or replaces columns, and ``needs`` and ``drops`` others. Its arguments are the columns of a
        batch and the number of rows before it, or the columns of the ``whole`` table. ``says`` are its messages.
        """
        added = {*adds}

        def find_needed(asked: Sequence[str]) -> list[str]:
            more = needs if added & {*asked} else ()
            names = list(dict.fromkeys([*(name for name in asked if name not in added), *more]))
            return names or self.names[:1]  # which gives the number of rows

        def change(columns: Columns, asked: Sequence[str], before: int = 0) -> Columns:
            if not added & {*asked}:
                return columns
            changed = step({**columns, **{name: ready(columns[name]) for name in needs}}, before)
            return {name: changed[name] for name in asked}

        def read(asked: Sequence[str], rows: int | None) -> Columns:
            return change(self.read(find_needed(asked), None if whole else rows), asked)

        def stream(asked: Sequence[str]) -> Iterator[Columns]:
            before = 0
            for batch in self.stream(find_needed(asked)) if self.stream else ():
                yield change(batch, asked, before)
                before += len(next(iter(batch.values())))

        facts: dict[str, Any] = {
            "names": list(dict.fromkeys([*(name for name in self.names if name not in {*drops}), *adds])),
            "n_bytes": lambda asked: self.n_bytes(find_needed(asked)),
            "remarks": _Chained(self.remarks, says),
            "stream": None if whole or self.stream is None else stream,
            "records": None if whole else self.records,
            "parts": (),
        }
        return replace(self, read=read, **{**facts, **changes})

    def with_constant(self, name: str, value: Any, **changes: Any) -> Source:
        """Return the table with a further column of one constant value."""

        def step(columns: Columns, _: int) -> Columns:
            first = ready(next(iter(columns.values()), []))
            return columns | {name: pa.array([value] * len(first))}

        records = self.records and (lambda: [record | {name: value} for record in self.records()])  # type: ignore[misc]
        return self.with_step(step, adds=[name], **{"records": records, **changes})

    def with_rows(self, rows: npt.NDArray[np.bool_], **changes: Any) -> Source:
        """Return a table of the selected rows."""

        def load(asked: Sequence[str]) -> Columns:
            return {name: self.column("task", data).keep(rows) for name, data in self.load(asked).items()}

        return self.loaded_by(load, **{"n_bytes": lambda _: 0, **changes})


class _Chained(Sequence[str]):
    """The remarks on several tables; reading can add more."""

    def __init__(self, *parts: Sequence[str]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __getitem__(self, place: Any) -> Any:
        return list(chain(*self._parts))[place]


def _as_written(values: list[Any]) -> list[Any]:
    """Convert numbers and booleans among strings into strings, spelled as in JSON."""
    kinds = {type(value) for value in values if value is not None}
    if str not in kinds or not kinds <= {str, int, float, bool}:
        return values
    return [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]


def _with_points(texts: Any) -> Any:
    """Replace the decimal comma of numbers by a decimal point, and remove thousands separators."""
    grouped = r"^\s*([+-]?\d{1,3})\.(\d{3})(?:\.(\d{3}))?(?:\.(\d{3}))?,(\d+)\s*$"
    texts = pc.replace_substring_regex(texts, grouped, r"\1\2\3\4.\5")
    return pc.replace_substring_regex(texts, r"^\s*([+-]?\d+),(\d+)\s*$", r"\1.\2")


def of_records(records: Sequence[Mapping[str, Any]], where: str = "The table", **facts: Any) -> Source:
    """Open a list of mappings from column to value; absent fields are missing."""
    for row, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise InputError(f"{where}: row {row + 1} is not a record with named fields. Correct or remove it.")
    key_of = {str(key): key for record in records for key in record}
    check_names(list(map(str, dict.fromkeys(name for record in records for name in record))), where)

    def read(asked: Sequence[str], rows: int | None) -> Columns:
        some = records[:rows]
        check_gaps(len(asked) * len(some) - sum(map(len, some)), where)
        return {name: [record.get(key_of[name]) for record in some] for name in asked}

    return Source(list(key_of), read, where, records=lambda: [*records], **facts)


def of_columns(columns: Mapping[str, Any], where: str = "The table", **facts: Any) -> Source:
    """Open columns in memory: `Column`s, Arrow columns, or lists."""
    return Source(list(columns), lambda asked, _: {name: columns[name] for name in asked}, where, **facts)


def join(tables: Sequence[Source]) -> Source:
    """Concatenate tables with the same columns."""
    if len(tables) == 1:
        return tables[0]
    common = set.intersection(*(set(table.names) for table in tables))

    def read(asked: Sequence[str], rows: int | None) -> Columns:
        if rows is None:
            parts = [table.load(asked) for table in tables]
        else:  # of very many tables, an evenly spaced selection
            some = tables[:: -(-len(tables) // _MOST_SAMPLED_PARTS)]
            parts = [table.sample(-(-rows // len(some)), asked) for table in some]
        return {name: concatenate(name, [part[name] for part in parts], mixed=rows is not None) for name in asked}

    def stream(asked: Sequence[str]) -> Iterator[Columns]:
        kinds: dict[str, Any] = {}
        for batch in chain.from_iterable(table.stream(asked) for table in tables if table.stream):
            for name, array in batch.items():
                kind = value_type(array.type)
                check_types(name, {kinds.setdefault(name, kind), kind})
            yield batch

    streams = all(table.stream is not None for table in tables)
    listed = [table.records for table in tables if table.records is not None]
    return Source(
        [name for name in tables[0].names if name in common],
        read,
        f"{tables[0].where} and {len(tables) - 1} more",
        text=all(table.text for table in tables),
        stream=stream if streams else None,
        n_bytes=lambda asked: sum(table.n_bytes(asked) for table in tables) if streams else 0,
        written=all(table.text or table.written for table in tables),
        decimal="," if any(table.decimal == "," for table in tables) else ".",
        guessed={option: value for table in reversed(tables) for option, value in table.guessed.items()},
        remarks=_Chained(*(table.remarks for table in tables)),
        parts=tuple(tables),
        roles=tables[0].roles,
        records=(lambda: [row for rows in listed for row in rows()]) if len(listed) == len(tables) else None,
        domain=tables[0].domain if len({table.domain for table in tables}) == 1 else "",
    )


def take_rows(batches: Iterable[Mapping[str, Any]], names: Sequence[str], rows: int | None = None) -> Columns:
    """Join all batches, or only as many rows as requested."""
    found: dict[str, list[Any]] = {name: [] for name in names}
    for batch in batches:
        for name, parts in found.items():
            parts.append(batch[name][:rows])
        if rows is not None and (rows := rows - len(batch[names[0]])) <= 0:
            break
    return {name: concatenate(name, parts) if parts else [] for name, parts in found.items()}


def _slice(columns: Mapping[str, Column]) -> Iterator[dict[str, Column]]:
    """Split columns in memory into batches of rows."""
    total, size = len(next(iter(columns.values()))), sum(column.n_bytes for column in columns.values())
    most = _SLICE_OBJECTS if any(column.form is None for column in columns.values()) else _SLICE_ROWS
    rows = max(1, min(most, total * _SLICE_BYTES // max(size, 1)))
    for start in range(0, total, rows):
        yield {role: column.part(start, start + rows) for role, column in columns.items()}
