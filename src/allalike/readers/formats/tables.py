"""Table: named columns of whatever kind, read when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from allalike._core.columns.column import Column
from allalike.errors import InputError
from allalike.readers.formats.failures import check_gaps, check_names, check_width

if TYPE_CHECKING:
    from allalike.domains import Domain

_SLICE_ROWS, _SLICE_OBJECTS = 1 << 20, 1 << 16  # a slice has this many rows of Arrow columns, or of Python objects
_SLICE_BYTES = 1 << 26
_MOST_SAMPLED_PARTS, _MOST_SAMPLED_CELLS = 50, 5_000_000


@dataclass(frozen=True)
class Table:
    """A table that is named but not yet read: the names of its columns, and the way to read them."""

    names: list[str]
    load: Callable[[Sequence[str]], dict[str, Any]]
    where: str = "The table"
    text: bool = False
    layout: str = ""
    load_batches: Callable[[Sequence[str]], Iterator[dict[str, Any]]] | None = None
    n_bytes: Callable[[Sequence[str]], int] = lambda _: 0
    delimiter: str = ""
    parts: tuple[Table, ...] = ()
    roles: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    guessed: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    decimal: str = "."
    written: bool = False
    na: Sequence[str] | None = None
    load_sample: Callable[[Sequence[str], int], dict[str, Any]] | None = None
    expand: Callable[[Sequence[str]], Table] | None = None
    list_paths: Callable[[], list[list[str]]] | None = None
    index: Sequence[Any] | None = None
    domain: str | Domain = ""
    levels: Mapping[str, Domain] = field(default_factory=dict)
    scales: str = ""
    samples: Sequence[str] = ()
    details: Mapping[str, str] = field(default_factory=dict)
    truths: Mapping[str, str] = field(default_factory=dict)
    silent: int | None = None
    careless: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_names(self.names, self.where)

    def loaded_by(self, load: Callable[[Sequence[str]], dict[str, Any]], **changes: Any) -> Table:
        """Return a table with another way to load its columns; ways that know the old columns only are forgotten.

        >>> of_records([{"a": 1}]).loaded_by(lambda asked: {name: [2, 3] for name in asked}).sample(1)
        {'a': [2]}
        """
        old: dict[str, Any] = {"load_batches": None, "load_sample": None, "expand": None, "parts": (), "delimiter": ""}
        return replace(self, load=load, **{**old, **changes})

    def sample(self, rows: int, names: Sequence[str] | None = None) -> dict[str, Any]:
        """Return columns of the first rows, of each of its parts if it has several: Arrow columns, or lists.

        Of very many columns there are fewer rows.

        >>> of_records([{"who": "ada"}, {"who": "bob"}]).sample(1)
        {'who': ['ada']}
        """
        asked = list(self.names if names is None else names)
        if not asked:
            return {}
        rows = min(rows, max(_MOST_SAMPLED_CELLS // len(asked), 1))
        if self.parts:
            return _sample_parts(self.parts, rows, asked)
        if self.load_sample is not None:
            with suppress(InputError):  # such as a field that is longer than what is read at once
                return self.load_sample(asked, rows)
        if self.load_batches is not None:
            return take_rows(self.load_batches(asked), asked, rows)
        loaded = {name: data() if callable(data) else data for name, data in self.load(asked).items()}
        return {name: (data.data if isinstance(data, Column) else data)[:rows] for name, data in loaded.items()}

    def columns(self, picked: Mapping[str, str]) -> dict[str, Column]:
        """Return the column of each role, given its name.

        >>> of_records([{"who": "ada"}]).columns({"worker": "who"})["worker"].data.to_pylist()
        ['ada']
        """
        loaded = self.load(list(picked.values()))
        return {role: self.column(role, loaded[name]) for role, name in picked.items()}

    def batches(self, picked: Mapping[str, str]) -> Iterator[dict[str, Column]]:
        """Yield the column of each role, given its name, some rows at a time.

        >>> batches = of_records([{"who": "ada"}]).batches({"worker": "who"})
        >>> [batch["worker"].data.to_pylist() for batch in batches]
        [['ada']]
        """
        if self.load_batches is None:
            yield from slices(self.columns(picked))
            return
        for batch in self.load_batches(list(picked.values())):
            yield {role: self.column(role, batch[name]) for role, name in picked.items()}

    def size(self, picked: Mapping[str, str]) -> int:
        """Return about how many bytes the columns are once read, or 0 if they are in memory already."""
        return self.n_bytes(list(picked.values()))

    def column(self, role: str, data: Any) -> Column:
        """Make a column of what was loaded."""
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


def _as_written(values: list[Any]) -> list[Any]:
    """Return numbers and truth values among strings as strings, as they are written in a file."""
    kinds = {type(value) for value in values if value is not None}
    if str not in kinds or not kinds <= {str, int, float, bool}:
        return values
    return [
        v if v is None or isinstance(v, str) else str(v).lower() if isinstance(v, bool) else repr(v) for v in values
    ]


def _with_points(texts: Any) -> Any:
    """Write numbers with a comma before the fraction as all others are written, without marks between thousands."""
    import pyarrow.compute as pc

    grouped = r"^\s*([+-]?\d{1,3})\.(\d{3})(?:\.(\d{3}))?(?:\.(\d{3}))?,(\d+)\s*$"
    texts = pc.replace_substring_regex(texts, grouped, r"\1\2\3\4.\5")
    return pc.replace_substring_regex(texts, r"^\s*([+-]?\d+),(\d+)\s*$", r"\1.\2")


def of_records(records: Sequence[Mapping[str, Any]], where: str = "The table") -> Table:
    """Open a list of mappings from column to value; what a record lacks is missing.

    >>> of_records([{"worker": "ada", "task": 1}, {"label": "x"}]).names
    ['worker', 'task', 'label']
    """
    for row, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise InputError(f"{where}: row {row + 1} is no record with named fields.")
    keys = list(dict.fromkeys(name for record in records for name in record))
    names = [str(key) for key in keys]
    check_width(names, where)
    key_of = dict(zip(names, keys, strict=True))

    def load(asked: Sequence[str], rows: int | None = None) -> dict[str, Any]:
        some = records[:rows]
        check_gaps(len(asked) * len(some) - sum(map(len, some)), where)
        return {name: [record.get(key_of[name]) for record in some] for name in asked}

    return Table(names, load, where, load_sample=load)


def join(tables: Sequence[Table]) -> Table:
    """Put tables with the same columns one below the other.

    >>> part = of_records([{"worker": "ada"}])
    >>> join([part, part]).load(["worker"])
    {'worker': ['ada', 'ada']}
    """
    if len(tables) == 1:
        return tables[0]
    common = set.intersection(*(set(table.names) for table in tables))
    names = [name for name in tables[0].names if name in common]

    def load(asked: Sequence[str]) -> dict[str, Any]:
        parts = [table.load(asked) for table in tables]
        return {name: _concatenate(name, [part[name] for part in parts]) for name in asked}

    joined = Table(
        names,
        load,
        f"{tables[0].where} and {len(tables) - 1} more",
        text=all(table.text for table in tables),
        written=all(table.text or table.written for table in tables),
        decimal="," if any(table.decimal == "," for table in tables) else ".",
        guessed={option: value for table in reversed(tables) for option, value in table.guessed.items()},
        remarks=_Remarks(tables),
        parts=tuple(tables),
        roles=tables[0].roles,
        expand=partial(_expand, tables) if all(table.expand is not None for table in tables) else None,
        list_paths=tables[0].list_paths,
        domain=tables[0].domain if len({table.domain for table in tables}) == 1 else "",
    )
    if any(table.load_batches is None for table in tables):
        return joined
    return replace(
        joined,
        load_batches=partial(_load_batches, tables),
        n_bytes=lambda asked: sum(table.n_bytes(asked) for table in tables),
    )


class _Remarks(Sequence[str]):
    """The remarks on several tables, as they are when they are looked at."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._tables = tables

    def _all(self) -> list[str]:
        return [remark for table in self._tables for remark in table.remarks]

    def __len__(self) -> int:
        return len(self._all())

    def __getitem__(self, place: Any) -> Any:
        return self._all()[place]


def _expand(tables: Sequence[Table], paths: Sequence[str]) -> Table:
    return join([table.expand(paths) for table in tables if table.expand is not None])


def take_rows(batches: Iterable[Mapping[str, Any]], names: Sequence[str], rows: int) -> dict[str, Any]:
    """Join as many batches as have so many rows, and cut what is more.

    >>> take_rows([{"who": ["ada", "bob"]}, {"who": ["eve", "zoe"]}], ["who"], 3)
    {'who': ['ada', 'bob', 'eve']}
    """
    found: dict[str, list[Any]] = {name: [] for name in names}
    for batch in batches:
        for name in names:
            found[name].append(batch[name][:rows])
        rows -= len(batch[names[0]])
        if rows <= 0:
            break
    return {name: _concatenate(name, parts) if parts else [] for name, parts in found.items()}


def _sample_parts(parts: Sequence[Table], rows: int, names: Sequence[str]) -> dict[str, Any]:
    """Return some rows of each part; of many parts, of some that lie equally far apart."""
    some = parts[:: -(-len(parts) // _MOST_SAMPLED_PARTS)]
    samples = [part.sample(-(-rows // len(some)), names) for part in some]
    return {name: _concatenate_any([sample[name] for sample in samples]) for name in names}


def _concatenate_any(parts: list[Any]) -> Any:
    """Put parts of a column together; if their types differ they are lists of objects."""
    try:
        return _concatenate("", parts)
    except InputError:
        return [value for part in parts for value in (part if isinstance(part, list) else part.to_pylist())]


def _load_batches(tables: Sequence[Table], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Read one table after the other; a column must have the same type in all of them."""
    kinds: dict[str, Any] = {}
    for table in tables:
        assert table.load_batches is not None
        for batch in table.load_batches(names):
            for name, array in batch.items():
                _check_kinds(name, {kinds.setdefault(name, _plain(array.type)), _plain(array.type)})
            yield batch


def _plain(kind: Any) -> Any:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _check_kinds(name: str, kinds: set[Any]) -> None:
    if len(kinds) > 1:
        listed = ", ".join(sorted(map(str, kinds)))
        raise InputError(f"The column {name!r} has different types in different files: {listed}. Make them the same.")


def _concatenate(name: str, parts: list[Any]) -> Any:
    import pyarrow as pa

    parts = [part() if callable(part) else part for part in parts]
    if all(isinstance(part, list) for part in parts):
        return [value for part in parts for value in part]
    arrays = [pa.array(part) if isinstance(part, list) else part for part in parts]
    columns = [part if isinstance(part, pa.ChunkedArray) else pa.chunked_array([part]) for part in arrays]
    if len({column.type for column in columns}) > 1:  # files may differ in which columns they keep as dictionaries
        columns = [column.cast(_plain(column.type)) for column in columns]
    _check_kinds(name, {column.type for column in columns})
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)


def of_columns(columns: Mapping[str, Column]) -> Table:
    """Open columns that are ready.

    >>> of_columns({"label": Column.of_objects("label", ["x"])}).names
    ['label']
    """
    return Table(list(columns), lambda asked: {name: columns[name] for name in asked}, text=columns["label"].text)


def slices(columns: Mapping[str, Column]) -> Iterator[dict[str, Column]]:
    """Cut columns that are in memory into pieces of rows.

    >>> column = Column.of_objects("worker", ["ada", "bob"])
    >>> [piece["worker"].data.to_pylist() for piece in slices({"worker": column})]
    [['ada', 'bob']]
    """
    datas = [column.data for column in columns.values()]
    total = len(datas[0])
    size = sum(data.nbytes for data in datas if not isinstance(data, list))
    most = _SLICE_OBJECTS if any(isinstance(data, list) for data in datas) else _SLICE_ROWS
    rows = max(1, min(most, total * _SLICE_BYTES // max(size, 1)))
    for start in range(0, total, rows):
        piece = slice(start, start + rows)
        yield {
            role: Column(column.name, column.data[piece], text=column.text, na=column.na)
            for role, column in columns.items()
        }
