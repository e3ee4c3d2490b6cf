"""Sheets: exports that are delimited text, opened as one table whose rows and columns can be changed.

A unit is what was asked, where a tool has given it several ids.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.late import pa, pc
from allalike.errors import InputError
from allalike.readers.formats.delimited import open_delimited
from allalike.readers.formats.spreadsheets import BOOKS, open_sheet
from allalike.readers.formats.tables import Table, join
from allalike.readers.tools.base import Peek

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from allalike.readers.formats.files import Files

BLANKS = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "null", "#N/A"})
_SAMPLE_ROWS = 100_000


def delimiter_of(peek: Peek) -> str:
    r"""Return what stands between the columns of a file: that which its first line has most of.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "answers.csv")
    ...     _ = path.write_text("a;b;c, d\n")
    ...     delimiter_of(Peek(path))
    ';'
    """
    first = peek.start.partition("\n")[0]
    return max(",\t;|", key=first.count)


def open_sheets(paths: Sequence[Path], files: Files) -> Table:
    """Open exports one below the other; what is missing in a file is an error that names it."""
    missing = next((path for path in paths if not path.is_file()), None)
    if missing is not None:
        raise InputError(f"There is no file {missing}." if not missing.exists() else f"{missing} is a folder.")
    return join([_open(Peek(path), files) for path in paths])


def _open(peek: Peek, files: Files) -> Table:
    if peek.ending in BOOKS:
        return open_sheet(peek.path, files)
    return open_delimited(peek.path, delimiter_of(peek), files)


def find_name(names: Iterable[str], *wanted: str) -> str | None:
    """Return the column that is called like this, in any case, or like the next of these.

    >>> find_name(["hitid", "workerid"], "HITId"), find_name(["x"], "HITId")
    ('hitid', None)
    """
    plain = {name.strip().casefold(): name for name in names}
    return next((plain[name.casefold()] for name in wanted if name.casefold() in plain), None)


def texts(table: Table, name: str) -> list[str]:
    """Return a column of text, with nothing where it is missing.

    >>> import pyarrow as pa
    >>> texts(Table(["a"], lambda asked: {"a": pa.chunked_array([["x", None]])}), "a")
    ['x', '']
    """
    return [value or "" for value in table.load([name])[name].to_pylist()]


def as_text(values: Iterable[str | None]) -> Any:
    """Make a column of text, where nothing is an empty field as it is in files.

    >>> as_text(["x", None]).to_pylist()
    ['x', '']
    """
    return pa.chunked_array([pa.array([value or "" for value in values], pa.string())])


def sample(table: Table, names: Sequence[str]) -> dict[str, list[Any]]:
    """Read the first 100,000 rows of some columns, or all of a table that is in memory.

    >>> from allalike.readers.formats.tables import of_records
    >>> sample(of_records([{"a": 1}]), ["a"])
    {'a': [1]}
    """
    if table.load_batches is None:
        return {name: listed(column) for name, column in table.load(names).items()}
    found: dict[str, list[Any]] = {name: [] for name in names}
    for batch in table.load_batches(names) if names else ():
        for name, column in batch.items():
            found[name] += column.to_pylist()[: _SAMPLE_ROWS - len(found[name])]
        if len(found[names[0]]) >= _SAMPLE_ROWS:
            break
    return found


def keep_rows(table: Table, rows: npt.NDArray[np.bool_]) -> Table:
    """Return a table with these rows only; it is read here and at once, for its file has others.

    >>> from allalike.readers.formats.tables import of_records
    >>> keep_rows(of_records([{"a": 1}, {"a": 2}]), np.array([False, True])).load(["a"])
    {'a': [2]}
    """
    mask = pa.array(rows)

    def load(asked: Sequence[str]) -> dict[str, Any]:
        loaded = {name: column() if callable(column) else column for name, column in table.load(asked).items()}
        return {
            name: [value for value, stays in zip(column, rows, strict=True) if stays]
            if isinstance(column, list)
            else column.filter(mask)
            for name, column in loaded.items()
        }

    return table.loaded_by(load, n_bytes=lambda _: 0)


def with_columns(table: Table, columns: Mapping[str, Callable[[], Any]]) -> Table:
    """Return a table with columns in the place of those of the same name, or behind the others.

    >>> from allalike.readers.formats.tables import of_records
    >>> table = with_columns(of_records([{"a": 1, "b": 2}]), {"b": lambda: [3], "c": lambda: [4]})
    >>> table.names, table.load(["a", "b", "c"])
    (['a', 'b', 'c'], {'a': [1], 'b': [3], 'c': [4]})
    """

    def load(asked: Sequence[str]) -> dict[str, Any]:
        others = [name for name in asked if name not in columns]
        old = table.load(others) if others else {}
        return {name: columns[name]() if name in columns else old[name] for name in asked}

    names = list(dict.fromkeys([*table.names, *columns]))
    return table.loaded_by(load, names=names, n_bytes=lambda _: 0)


def leave_out(table: Table, name: str | None, values: Collection[str], why: str) -> Table:
    """Leave out the rows that have one of these values, in any case, in a column, and remark how many there were.

    >>> import pyarrow as pa
    >>> table = Table(["state"], lambda asked: {"state": pa.chunked_array([["Approved", "Rejected"]])})
    >>> leave_out(table, "state", {"rejected"}, "were rejected").remarks
    ('1 of 2 rows were rejected and are left out.',)
    """
    if name is None:
        return table

    states = pc.utf8_lower(pc.utf8_trim_whitespace(table.load([name])[name]))
    out = np.array(pc.is_in(states, value_set=pa.array(sorted(values), pa.string())), dtype=np.bool_)
    if not out.any():
        return table
    remark = f"{int(out.sum()):,} of {len(out):,} rows {why} and are left out."
    return replace(keep_rows(table, ~out), remarks=(*table.remarks, remark))


def with_roles(
    table: Table,
    tool: str,
    worker: str,
    task: str,
    label: str | tuple[str, ...],
    remarks: Iterable[str] = (),
    truths: Mapping[str, str] | None = None,
) -> Table:
    """Return a table of a tool whose columns are known; rows without a label are no answers to this question.

    ``truths`` are the columns of truths that the tool marks, by those of the labels.

    >>> with_roles(Table(["who", "what", "a", "b"], dict), "mturk", "who", "what", ("a", "b")).roles["label"]
    ('a', 'b')
    """
    known = {name: column for name, column in (truths or {}).items() if column in table.names}
    seen = sample(table, list(known.values())).items() if known else ()
    filled = [name for name, cells in seen if any((cell or "") not in BLANKS for cell in cells)]
    said = f"Known truths are in the column {', '.join(filled)}; they count only with gold='export'." if filled else ""
    return replace(
        table,
        roles={"worker": worker, "task": task, "label": label},
        guessed={**table.guessed, "tool": tool, "missing": "drop"},
        remarks=(*table.remarks, *filter(None, [*remarks, said])),
        truths=known,
    )


def listed(column: Any) -> list[Any]:
    """Return the values of a column as it was loaded.

    >>> import pyarrow as pa
    >>> listed(pa.chunked_array([["x", None]])), listed(lambda: [1])
    (['x', None], [1])
    """
    column = column() if callable(column) else column
    return list(column) if isinstance(column, list) else list(column.to_pylist())


def tell_apart(inputs: Mapping[str, Sequence[str]]) -> tuple[str, list[str]]:
    """Return the first input that tells all tasks apart, or else all of them together: its name, and the values.

    >>> tell_apart({"topic": ["sport", "sport"], "text": ["x", "y"]})
    ('text', ['x', 'y'])
    >>> tell_apart({"left": ["x", "x", "y"], "right": ["y", "z", "z"]})
    ('left, right', ['x | y', 'x | z', 'y | z'])
    """
    together = list(zip(*inputs.values(), strict=True))
    kinds = len(set(together))
    for name, cells in inputs.items():
        if len(set(cells)) == kinds:
            return name, list(cells)
    return ", ".join(inputs), [" | ".join(cells) for cells in together]


def join_units(table: Table, worker: str, task: str, inputs: Sequence[str]) -> Table:
    """Give tasks with the same inputs the same id, where no task has two workers but the same inputs have.

    >>> import pyarrow as pa
    >>> from allalike.readers.formats.tables import Table
    >>> columns = {"hit": ["h1", "h2", "h3"], "who": ["ada", "bob", "ada"], "text": ["x", "x", "y"]}
    >>> table = Table(list(columns), lambda asked: {name: pa.chunked_array([columns[name]]) for name in asked})
    >>> joined = join_units(table, "who", "hit", ["text"])
    >>> joined.load(["hit"])["hit"].to_pylist()
    ['h1', 'h1', 'h3']
    """
    if not inputs or _has_company(table, worker, task):
        return table
    ids, workers = texts(table, task), texts(table, worker)
    given = list(zip(*(texts(table, name) for name in inputs), strict=True))
    first: dict[Any, str] = {}
    people: dict[Any, set[str]] = {}
    for unit, person, key in zip(ids, workers, given, strict=True):
        first[key] = min(first.get(key, unit), unit)
        people.setdefault(key, set()).add(person)
    if all(len(each) < 2 for each in people.values()):
        return table
    remark = (
        f"Every {task} has one worker, so that rows with the same {', '.join(inputs)} are taken as one task:"
        f" {len(first):,} instead of {len(set(ids)):,}."
    )
    joined = with_columns(table, {task: lambda: as_text(first[key] for key in given)})
    return replace(joined, remarks=(*table.remarks, remark))


def _has_company(table: Table, worker: str, task: str) -> bool:
    """Tell whether a task has two workers; it is read no further than to the first that has."""
    seen: dict[Any, Any] = {}
    for batch in table.batches({"worker": worker, "task": task}):
        pairs = zip(batch["task"].data.to_pylist(), batch["worker"].data.to_pylist(), strict=True)
        if any(seen.setdefault(unit, person) != person for unit, person in pairs):
            return True
    return False
