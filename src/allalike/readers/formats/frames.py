"""Open Python objects as tables: data frames, Arrow streams, data sets, rows, nested mappings and matrices."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import is_nothing
from allalike._core.lazy_imports import pa, pc
from allalike._core.limits import MAX_LEVELS
from allalike.domains import DOMAINS, Domain
from allalike.errors import InputError, Proposal
from allalike.readers.formats.compression import check_archive, read_start
from allalike.readers.formats.read_errors import ENGINES, check_columns, check_names, guard
from allalike.readers.formats.remote_files import spool_open_file
from allalike.readers.formats.source import Source, join, of_columns, of_records

ROWS = {"tasks": ("task", "worker"), "workers": ("worker", "task")}  # of matrices
SILENT = -1  # the value of a labelling function that abstains
_ROLES = ("worker", "task", "label")


def find_opener(source: Any) -> Callable[[Any], Source] | None:
    """Return the function that opens a frame, a data set, a relation or a nested mapping; None for other sources."""
    package = type(source).__module__.partition(".")[0]
    if is_nested(source):
        return of_nested
    if package == "datasets":
        return _of_hugging_face
    if _is_computed(source):
        return lambda computed: of_frame(_compute(computed))
    if package == "pyarrow" and hasattr(source, "to_table"):
        return _of_dataset if hasattr(source, "schema") else lambda scanner: of_frame(scanner.to_table())
    if package == "pandas" and hasattr(source, "to_frame") and source.index.nlevels > 1:  # labels by worker and task
        return lambda series: of_frame(series.to_frame(name="label" if series.name is None else series.name))
    is_frame = hasattr(source, "columns") or hasattr(source, "schema")
    return of_frame if is_frame and hasattr(source, "__arrow_c_stream__") else None


def hold(source: Any) -> Any:
    """Return a source that can be read repeatedly; streams, queries, open files and iterators are read immediately."""
    if hasattr(source, "read"):
        return guard("The open file", "a file", lambda: spool_open_file(source))
    if _is_computed(source):
        return _compute(source)
    return list(source) if hasattr(source, "__next__") else source


def _is_lazy(source: Any) -> bool:
    return hasattr(source, "collect") and hasattr(source, "collect_schema")


def _is_computed(source: Any) -> bool:
    """Return whether this is a DuckDB relation, a lazy polars frame, or an Arrow stream that can be read only once."""
    if type(source).__module__.partition(".")[0] in ENGINES and (hasattr(source, "project") or _is_lazy(source)):
        return True
    is_once = hasattr(source, "read_next_batch") or hasattr(source, "__next__")
    is_frame = any(hasattr(source, name) for name in ("to_frame", "columns", "schema"))
    return hasattr(source, "__arrow_c_stream__") and (is_once or not is_frame)


def _compute(source: Any) -> Any:
    """Return all rows of a lazy frame, a relation or a stream."""
    if not _is_lazy(source):
        return guard("The stream", "Arrow", lambda: pa.table(source))
    _check_zeros(guard("The stream", "Arrow", source.collect_schema))
    return guard("The stream", "Arrow", source.collect)


def _check_zeros(schema: Any) -> None:
    """Refuse names that contain a zero byte, because polars would abort."""
    if "\\x00" in repr(schema):
        raise InputError("The name of a column or field of the table contains a zero byte. Rename it.")


def of_frame(frame: Any) -> Source:
    """Open a frame of pandas, polars, pyarrow, or any other library that exports Arrow columns."""
    if hasattr(frame, "iloc"):
        return _of_pandas(frame)
    schema: Any = {} if isinstance(frame, pa.Table) else getattr(frame, "schema", {})
    _check_zeros(schema)
    kinds = schema if isinstance(schema, Mapping) else {}  # of polars
    objects = [name for name, kind in kinds.items() if str(kind) in ("Object", "Int128", "UInt128")]  # not in Arrow
    rest = frame.drop(objects) if objects else frame
    table = rest if isinstance(rest, pa.Table) else guard("The table", "Arrow", lambda: pa.table(rest))

    def read(asked: Sequence[str], rows: int | None) -> dict[str, Any]:
        columns = {name: table[name].slice(0, rows) for name in asked if name not in objects}
        check_columns(columns, "The table")
        return {name: columns[name] if name in columns else frame[name].to_list() for name in asked}

    return Source([*table.column_names, *objects], read, levels=_find_levels(kinds))


def _of_pandas(frame: Any) -> Source:
    """Open a pandas frame; a named index becomes columns, and an unnamed one names the rows."""
    named = [name for name in frame.index.names if name is not None]
    plain = type(frame.index).__name__ == "RangeIndex"
    if frame.index.nlevels > 1 or (named and named[0] not in frame.columns):
        check_names([str(name) for name in (*named, *frame.columns)], "The table")
        frame, plain = frame.reset_index(), True
    names = [str(name) for name in frame.columns]
    place = {name: number for number, name in enumerate(names)}

    def read(asked: Sequence[str], rows: int | None) -> dict[str, Any]:
        columns = {name: _read_series(frame.iloc[:rows, place[name]]) for name in asked}
        check_columns({name: data for name, data in columns.items() if not isinstance(data, list)}, "The table")
        return columns

    levels = _find_levels(dict(zip(names, frame.dtypes, strict=True)))
    return Source(names, read, index=None if plain else frame.index.tolist(), levels=levels)


def _find_levels(kinds: Mapping[str, Any]) -> dict[str, Domain]:
    """Return the levels of ordered categorical columns of pandas and of Enum columns of polars."""
    found: dict[str, Domain] = {}
    ordinal: Any = DOMAINS["ordinal"]
    for name, kind in kinds.items():
        if type(kind).__name__ == "Enum" or (type(kind).__name__ == "CategoricalDtype" and kind.ordered):
            levels = kind.categories.to_list()
            if set(map(type, levels)) in ({str}, {int}) and len(levels) <= MAX_LEVELS:
                found[name] = ordinal(levels=tuple(levels))
    return found


def _read_series(series: Any) -> Any:
    """Return a pandas column as an Arrow column, or as a list of objects if Arrow lacks the type."""
    if not len(series):
        return []
    if series.dtype != object:
        with suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
            array = pa.Array.from_pandas(series)
            if not isinstance(array.type, pa.BaseExtensionType):  # periods and intervals of pandas
                return pa.chunked_array([array])
    return [None if missing else value for value, missing in zip(series, series.isna(), strict=True)]


def _of_dataset(source: Any) -> Source:
    """Open an Arrow data set, of which only the needed columns are read."""

    def read(asked: Sequence[str], rows: int | None) -> dict[str, Any]:
        columns = list(asked)
        table = source.to_table(columns=columns) if rows is None else source.head(rows, columns=columns)
        return of_frame(table).load(asked)

    return Source(list(source.schema.names), read, "The data set")


def _of_hugging_face(source: Any) -> Source:
    """Open a Hugging Face data set, with its splits joined; classes get their names, and -1 is a missing label."""
    if isinstance(source, dict):
        return join([_of_hugging_face(split) for split in source.values()])
    if not hasattr(source, "num_rows"):  # a stream
        source = import_module("datasets").Dataset.from_list(list(source), features=source.features)

    def read(asked: Sequence[str], rows: int | None) -> dict[str, Any]:
        columns = of_frame(source.select_columns(list(asked)).with_format("arrow")[:rows]).load(asked)
        for name, column in columns.items():
            if type(feature := source.features[name]).__name__ == "ClassLabel":  # numbers that encode names
                known = pc.if_else(pc.less(column, 0), None, column)
                columns[name] = pc.take(pa.array(feature.names, pa.string()), known)
        return columns

    return Source(source.column_names, read, "The data set")


def is_nested(source: Any) -> bool:
    """Return whether a mapping has the form ``{task: {worker: label}}``."""
    if not isinstance(source, Mapping) or not source or not all(isinstance(each, Mapping) for each in source.values()):
        return False
    labels = [label for each in source.values() for label in each.values()]
    return bool(labels) and not any(isinstance(label, Mapping) for label in labels)


def of_nested(source: Mapping[Any, Mapping[Any, Any]], where: str = "The mapping") -> Source:
    """Open ``{task: {worker: label}}``; None and NaN are missing answers.

    A frame that was exported to nested mappings, by column or by row, is detected by its names.
    """
    if set(source) >= set(_ROLES) and len({tuple(values) for values in source.values()}) == 1:  # columns by row number
        return of_columns({str(name): list(values.values()) for name, values in source.items()}, where)
    if all(set(values) >= set(_ROLES) for values in source.values()):  # records by row number
        return of_records(list(source.values()), where)
    columns: dict[str, list[Any]] = {role: [] for role in _ROLES}
    n_empty = 0
    for task, labels in source.items():
        answers = [(worker, task, label) for worker, label in labels.items() if not is_nothing(label)]
        n_empty += not answers
        for answer in answers:
            for role, value in zip(_ROLES, answer, strict=True):
                columns[role].append(value)
    remarks = [f"{n_empty:,} tasks have no answers and are excluded."] if n_empty else []
    return of_columns(columns, where, remarks=remarks)


def is_rows(source: Any) -> bool:
    """Return whether a source consists of rows, and is not a table, a mapping, a matrix or paths."""
    if isinstance(source, str | Mapping) or not isinstance(source, Iterable) or find_opener(source) is not None:
        return False
    if isinstance(source, list | tuple):
        return not source or isinstance(source[0], list | tuple)
    return not hasattr(source, "columns") and not isinstance(source, np.ndarray) and not hasattr(source, "index")


def of_rows(source: Iterable[Any]) -> Source:
    """Open rows of (worker, task, label)."""
    rows = list(source)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, list | tuple) or len(row) != 3:
            raise InputError(f"Row {number} is not (worker, task, label): {row!r}.")
    parts = zip(*rows, strict=True) if rows else ((), (), ())
    return of_columns({role: list(part) for role, part in zip(_ROLES, parts, strict=True)})


# Matrices of NumPy and SciPy, in memory and in files, and label matrices of labelling functions.


def find_matrix(source: Any) -> Any:
    """Return the source if it is a NumPy or SciPy matrix, the path if it names one, or else None."""
    named = source[0] if isinstance(source, list | tuple) and len(source) == 1 else source
    if isinstance(named, str | os.PathLike):
        return Path(named) if Path(named).suffix.lower() in (".npy", ".npz") else None
    is_array = isinstance(source, np.ndarray) or hasattr(source, "tocoo")
    return source if is_array and len(source.shape) == 2 else None


def holds_rows(matrix: Any) -> bool:
    """Return whether a matrix consists of rows (worker, task, label): no value in two columns, no repeated answer."""
    if not isinstance(matrix, np.ndarray) or matrix.shape[1] != 3:
        return False
    workers, tasks, labels = (list(map(str, column)) for column in matrix.T.tolist())
    apart = {*workers}.isdisjoint(tasks) and {*workers, *tasks}.isdisjoint(labels)
    return apart and len(set(zip(workers, tasks, strict=True))) == len(workers)


def open_matrix(source: Any, wide: str | None) -> Source:
    """Open a matrix or its file: with ``wide`` as the layout, or as a label matrix, whose minimum is -1."""
    matrix = _load_matrix(source) if isinstance(source, Path) else source
    if wide is not None:
        return _of_matrix(matrix, *ROWS[wide])
    numbers = isinstance(matrix, np.ndarray) and matrix.dtype.kind in "if" and matrix.size
    if numbers and matrix.min() == SILENT and (matrix == np.floor(matrix)).all():
        answered = matrix != SILENT
        table = _of_matrix(np.where(answered, matrix, np.nan), "task", "worker")
        return as_label_matrix(table, int((~answered.any(axis=1)).sum()), " (wide='tasks' reads it as a label)")
    if isinstance(source, Path):
        return refuse_matrix(source)
    shape = " x ".join(map(str, matrix.shape))
    rows = ", or a worker, a task and a label (then give array.tolist())" if matrix.shape[1] == 3 else ""
    raise _ask_rows(f"The rows of a matrix of {shape} cells may be tasks or workers{rows}.")


def refuse_matrix(path: Path, *_: Any) -> Source:
    """Ask whether the rows of a matrix are tasks or workers."""
    raise _ask_rows(f"{path} is a matrix, whose rows may be tasks or workers.")


def _ask_rows(what: str) -> InputError:
    return InputError(what, proposals=[Proposal({"wide": wide}) for wide in ROWS])


def _of_matrix(matrix: Any, down: str, across: str) -> Source:
    """Open a matrix; NaN, None, empty texts, masked cells and absent cells of a sparse matrix are missing answers."""
    if hasattr(matrix, "tocoo"):
        cells = matrix.tocoo()
        rows, columns, values = np.asarray(cells.row), np.asarray(cells.col), cells.data
    else:
        if isinstance(matrix, np.ma.MaskedArray):
            nothing: Any = None
            matrix = np.where(matrix.mask, nothing, matrix.data)
        rows, columns = (place.ravel() for place in np.indices(matrix.shape))
        values = np.asarray(matrix).ravel()
    if values.dtype.kind in "OU":
        is_blank = lambda value: is_nothing(value) or (isinstance(value, str) and not value.strip())  # noqa: E731
        present = ~np.fromiter(map(is_blank, values), np.bool_, len(values))
    else:
        present = values == values  # not NaN or NaT
    if not present.any():
        raise InputError("The matrix contains no answers: all of its cells are empty.")
    values = values[present]
    if not present.all() and values.dtype.kind == "f" and (np.abs(values) < 2**53).all():
        whole = values.astype(np.int64)  # integers that an empty cell turned into floats
        values = whole if (whole == values).all() else values
    labels = list(values) if values.dtype.kind in "mM" else values.tolist()
    found = {down: rows[present].tolist(), across: columns[present].tolist(), "label": labels}
    return of_columns({role: Column.of_objects(role, data) for role, data in found.items()})


def as_label_matrix(table: Source, silent: int, otherwise: str = "") -> Source:
    """Return a table of labelling functions, with a message; ``silent`` is the number of tasks without a label."""
    nothing = f" {silent:,} tasks on which all functions abstain are excluded." if silent else ""
    remark = f"Read as a label matrix: workers are labelling functions, and {SILENT} means abstain{otherwise}.{nothing}"
    return replace(table, domain="categorical", notes={"silent": silent}, remarks=(*table.remarks, remark))


def _load_matrix(path: Path) -> Any:
    """Return the matrix in a file: a NumPy array or a sparse SciPy matrix. Pickles are never loaded."""
    if not path.exists():
        raise InputError(f"There is no file {path}. Check the path.")
    start = guard(path, "a matrix", lambda: read_start(path, 6))
    try:
        matrix = _load_archived(path) if zipfile.is_zipfile(path) else _load_array(path, start)
    except InputError:
        raise
    except Exception as error:  # a damaged file may raise any exception in the parser
        reason = (
            "it contains Python objects, which are never unpickled. Save numbers or texts, for example with"
            " numpy.save('matrix.npy', matrix.astype(float))."
            if "Object arrays" in str(error)
            else "it is damaged, incomplete, or not a NumPy or SciPy matrix. Copy it again, or save the matrix again"
            " with numpy.save or scipy.sparse.save_npz."
        )
        raise InputError(f"{path} cannot be read: {reason}") from error
    if len(matrix.shape) != 2:
        raise InputError(f"{path} has {len(matrix.shape)} dimensions: {matrix.shape}. Save an array of 2 dimensions.")
    return matrix


def _load_array(path: Path, start: bytes) -> Any:
    if start != b"\x93NUMPY":
        raise ValueError("another format")  # before NumPy opens the file and leaves it open
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _load_archived(path: Path) -> Any:
    """Return the sparse matrix or the only array in a .npz file."""
    names = {Path(name).stem for name in check_archive(path)}
    if {"format", "shape", "data"} <= names:
        from scipy.sparse import load_npz

        with path.open("rb") as file:
            matrix: Any = load_npz(file)
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)  # its indices may be out of range
        return matrix.tocoo()
    if len(names) != 1:
        listed = ", ".join(map(repr, sorted(names)))
        raise InputError(f"{path} has {len(names)} arrays: {listed}. Save a file with one matrix.")
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        array = arrays[names.pop()]
    if not isinstance(array, np.ndarray):
        raise TypeError("a file that is not an array")
    return array
