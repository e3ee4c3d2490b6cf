"""Frames and other things of Python that hold answers, opened as tables."""

from __future__ import annotations

import errno
import os
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import is_nothing
from allalike._core.limits import MAX_LEVELS
from allalike.domains import DOMAINS, Domain
from allalike.errors import InputError, Proposal
from allalike.readers.formats.arrow_streams import (
    check_zeros,
    hold_stream,
    is_lazy,
    is_stream,
    of_data_set,
    of_lazy,
    of_stream,
)
from allalike.readers.formats.compression import check_archive, check_regular, read_start
from allalike.readers.formats.failures import check_columns, check_names, each_batch, guard, unreadable
from allalike.readers.formats.files import Files
from allalike.readers.formats.spooled import spool_open_file
from allalike.readers.formats.tables import Table, of_columns, of_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

_ROLES = {"worker", "task", "label"}


def find_opener(source: Any) -> Callable[[Any], Table] | None:
    """Return what opens a frame, a data set, a relation or a nested mapping, if the source is one.

    >>> find_opener({"t1": {"ada": "x"}}) is of_nested, find_opener(5) is None
    (True, True)
    """
    if is_nested(source):
        return of_nested
    kind = type(source).__module__.partition(".")[0]
    if kind == "datasets":
        return of_data_set
    if is_lazy(source):
        return of_lazy
    if is_stream(source):
        return of_stream
    if kind == "pyarrow" and hasattr(source, "to_table"):
        return _of_dataset
    if kind == "pandas" and hasattr(source, "to_frame") and source.index.nlevels > 1:
        return _of_series
    if hasattr(source, "__arrow_c_stream__") and (hasattr(source, "columns") or hasattr(source, "schema")):
        return of_frame
    return None


def hold(source: Any) -> Any:
    """Return a source that can be read more than once: what is gone when it is read is read now.

    >>> hold(row for row in [("ada", 1, "x")])
    [('ada', 1, 'x')]
    """
    if hasattr(source, "read"):
        return guard("The open file", "a file", lambda: spool_open_file(source))
    if is_stream(source):
        return hold_stream(source)
    if hasattr(source, "__next__"):
        return list(source)
    return source


def of_frame(frame: Any) -> Table:
    """Open a pandas, polars, pyarrow or other frame that can hand over Arrow columns.

    >>> import pandas as pd
    >>> of_frame(pd.DataFrame({"worker": ["ada"]})).names
    ['worker']
    """
    if hasattr(frame, "iloc"):
        return _of_pandas(frame)
    import pyarrow as pa

    if not isinstance(frame, pa.Table):
        check_zeros(getattr(frame, "schema", ""))
    objects = _find_objects(frame)
    if objects:
        frame = frame.drop(list(objects))
    table = frame if isinstance(frame, pa.Table) else guard("The table", "Arrow", lambda: pa.table(frame))

    def load(asked: Sequence[str]) -> dict[str, Any]:
        columns = {name: table[name] for name in asked if name not in objects}
        check_columns(columns, "The table")
        return {name: objects[name]() if name in objects else columns[name] for name in asked}

    kinds = frame.schema.items() if _is_polars(frame) else ()
    return Table([*table.column_names, *objects], load, levels=_find_levels(kinds))


def _is_polars(frame: Any) -> bool:
    return type(frame).__module__.partition(".")[0] == "polars"


def _find_objects(frame: Any) -> dict[str, Callable[[], list[Any]]]:
    """Return what lists the columns of polars of which Arrow has no type: objects of Python, and very long numbers."""
    if not _is_polars(frame):
        return {}
    beyond = [name for name, kind in frame.schema.items() if str(kind) in ("Object", "Int128", "UInt128")]
    return {name: frame.get_column(name).to_list for name in beyond}


def _of_pandas(frame: Any) -> Table:
    """Open a frame of pandas; an index that has names becomes columns, another one is what the rows are called."""
    named = [name for name in frame.index.names if name is not None]
    plain = type(frame.index).__name__ == "RangeIndex"
    if frame.index.nlevels > 1 or (named and named[0] not in frame.columns):
        check_names([str(name) for name in (*named, *frame.columns)], "The table")
        frame = frame.reset_index()
        plain = True
    names = [str(name) for name in frame.columns]
    place = {name: number for number, name in enumerate(names)}
    index = None if plain else frame.index.tolist()

    def load(asked: Sequence[str]) -> dict[str, Any]:
        columns = {name: _read_series(frame.iloc[:, place[name]]) for name in asked}
        check_columns({name: data for name, data in columns.items() if not isinstance(data, list)}, "The table")
        return columns

    return Table(names, load, index=index, levels=_find_levels(zip(names, frame.dtypes, strict=True)))


def _find_levels(kinds: Iterable[tuple[str, Any]]) -> dict[str, Domain]:
    """Return the levels of columns whose categories are in an order, also of those that nobody chose."""
    found = {name: _listed_levels(kind) for name, kind in kinds}
    plain = {name: levels for name, levels in found.items() if {*map(type, levels)} in ({str}, {int})}
    ordinal: Any = DOMAINS["ordinal"] if plain else None
    return {name: ordinal(levels=tuple(levels)) for name, levels in plain.items() if len(levels) <= MAX_LEVELS}


def _listed_levels(kind: Any) -> list[Any]:
    """List the categories of a type of pandas that is ordered, or of an Enum of polars, which always is; else none."""
    name = type(kind).__name__
    ordered = name == "Enum" or (name == "CategoricalDtype" and kind.ordered)
    return list(kind.categories.to_list()) if ordered else []


def _read_series(series: Any) -> Any:
    """Return a column of pandas as one of Arrow, or as a list of objects if Arrow has no such type."""
    import pyarrow as pa

    if not len(series):
        return []
    if series.dtype != object:
        with suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
            array = pa.Array.from_pandas(series)
            if not isinstance(array.type, pa.BaseExtensionType):  # periods and intervals of pandas
                return pa.chunked_array([array])
    return [None if missing else value for value, missing in zip(series, series.isna(), strict=True)]


def is_nested(source: Any) -> bool:
    """Tell whether a mapping has the workers of each task with their labels: ``{task: {worker: label}}``.

    >>> is_nested({"t1": {"ada": "x"}}), is_nested({"worker": ["ada"]}), is_nested({})
    (True, False, False)
    """
    if not isinstance(source, Mapping) or not source or not all(isinstance(each, Mapping) for each in source.values()):
        return False
    labels = [label for each in source.values() for label in each.values()]
    return bool(labels) and not any(isinstance(label, Mapping) for label in labels)


def of_nested(source: Mapping[Any, Mapping[Any, Any]], where: str = "The mapping") -> Table:
    """Open the labels of workers by task; None and NaN are no answers.

    Frames are also written so, by columns or by rows, as is seen by their names.

    >>> of_nested({"t1": {"ada": "x", "bob": None}}).load(["worker", "label"])
    {'worker': ['ada'], 'label': ['x']}
    """
    if set(source) >= _ROLES and len({tuple(values) for values in source.values()}) == 1:  # columns by number of row
        named = {str(name): list(values.values()) for name, values in source.items()}
        return Table(list(named), lambda asked: {name: named[name] for name in asked}, where)
    if all(set(values) >= _ROLES for values in source.values()):  # records by number of row
        return of_records(list(source.values()), where)
    rows = [
        (worker, task, label)
        for task, labels in source.items()
        for worker, label in labels.items()
        if not is_nothing(label)
    ]
    columns = {role: [row[place] for row in rows] for place, role in enumerate(("worker", "task", "label"))}
    silent = sum(all(map(is_nothing, labels.values())) for labels in source.values())
    remarks = (f"{silent:,} tasks have no answers and are left out.",) if silent else ()
    return Table(list(columns), lambda asked: {name: columns[name] for name in asked}, where, remarks=remarks)


def _of_dataset(source: Any) -> Table:
    """Open a data set or a scanner of Arrow; a data set is read batch after batch."""
    if not hasattr(source, "schema"):  # a scanner, which says itself what it reads
        return of_frame(source.to_table())

    def load(asked: Sequence[str]) -> dict[str, Any]:
        return of_frame(source.to_table(columns=list(asked))).load(asked)

    def load_batches(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        batches = (batch for batch in source.to_batches(columns=list(asked)) if batch.num_rows)
        return each_batch("The data set", "Arrow", batches, asked)

    def sample(asked: Sequence[str], rows: int) -> dict[str, Any]:
        return of_frame(source.head(rows, columns=list(asked))).load(asked)

    size = _rough_size(source)
    return Table(
        list(source.schema.names),
        load,
        "The data set",
        load_batches=load_batches,
        load_sample=sample,
        n_bytes=lambda _: size,
    )


def _rough_size(source: Any) -> int:
    from pathlib import Path

    return sum(path.stat().st_size for name in getattr(source, "files", ()) if (path := Path(name)).is_file())


def _of_series(series: Any) -> Table:
    """Open a series of labels whose index says worker and task."""
    return of_frame(series.to_frame(name=series.name if series.name is not None else "label"))


def is_matrix(source: Any) -> bool:
    """Tell whether this is a matrix of numpy or scipy.

    >>> is_matrix(np.eye(2)), is_matrix(np.arange(2)), is_matrix([[1]])
    (True, False, False)
    """
    return (isinstance(source, np.ndarray) and source.ndim == 2) or (
        hasattr(source, "tocoo") and len(source.shape) == 2
    )


def holds_rows(matrix: Any) -> bool:
    """Tell whether a matrix is rows of (worker, task, label): what is in one column is in no other, and nothing twice.

    >>> holds_rows(np.array([["ada", 7, "x"], ["bob", 7, "y"]], object)), holds_rows(np.array([["x", "y", "x"]] * 2))
    (True, False)
    """
    if not isinstance(matrix, np.ndarray) or matrix.shape[1] != 3:
        return False
    rows = matrix.tolist()
    values = [set(map(str, column)) for column in zip(*rows, strict=True)]
    apart = sum(map(len, values)) == len(set().union(*values))
    return apart and len({(str(worker), str(task)) for worker, task, _ in rows}) == len(rows)


def of_matrix(matrix: Any, down: str, across: str) -> Table:
    """Open a matrix whose rows and columns are numbered from 0; NaN, None, empty texts and masked cells are no answers.

    Of a sparse matrix all that is stored is an answer, zeros too.

    >>> table = of_matrix(np.array([[1.0, np.nan], [2.0, 3.0]]), "task", "worker")
    >>> [table.load([name])[name].data.to_pylist() for name in table.names]
    [[0, 1, 1], [0, 0, 1], [1, 2, 3]]
    """
    if hasattr(matrix, "tocoo"):
        cells = matrix.tocoo()
        rows, columns, values = np.asarray(cells.row), np.asarray(cells.col), cells.data
    else:
        rows, columns = (place.ravel() for place in np.indices(matrix.shape))
        values = np.asarray(matrix).ravel()
    present = ~_are_nothing(values)
    if isinstance(matrix, np.ma.MaskedArray):
        present &= ~np.broadcast_to(matrix.mask, matrix.shape).ravel()
    values = values[present] if present.all() else _whole_if_possible(values[present])
    if not len(values):
        raise InputError("There are no answers: the matrix has no cell with a value.")
    return of_columns(
        {
            down: Column.of_objects(down, rows[present].tolist()),
            across: Column.of_objects(across, columns[present].tolist()),
            "label": Column.of_objects("label", list(values) if values.dtype.kind in "mM" else values.tolist()),
        }
    )


def _are_nothing(values: np.ndarray[Any, Any]) -> npt.NDArray[np.bool_]:
    """Mark cells without an answer."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values), np.bool_)
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values), np.bool_)
    if values.dtype.kind in "OU":
        return np.array([is_nothing(each) or (isinstance(each, str) and not each.strip()) for each in values], np.bool_)
    return np.zeros(values.shape, np.bool_)


def _whole_if_possible(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return floats as whole numbers if all of them are: an empty cell has made floats of them."""
    if values.dtype.kind == "f" and np.isfinite(values).all() and (np.abs(values) < 2**53).all():
        whole = values.astype(np.int64)
        return whole if (whole == values).all() else values
    return values


def is_rows(source: Any) -> bool:
    """Tell whether a source is rows, and neither a table, a mapping, a matrix nor paths.

    >>> is_rows([("ada", 7, "x")]), is_rows(["one.csv", "two.csv"])
    (True, False)
    """
    if isinstance(source, str | Mapping) or not isinstance(source, Iterable) or find_opener(source) is not None:
        return False
    if isinstance(source, list | tuple):
        return not source or isinstance(source[0], list | tuple)
    return not hasattr(source, "columns") and not isinstance(source, np.ndarray) and not hasattr(source, "index")


def of_rows(source: Iterable[Any]) -> dict[str, Column]:
    """Return rows as columns.

    >>> {name: len(column) for name, column in of_rows([("ada", 7, "x"), ("bob", 7, "y")]).items()}
    {'worker': 2, 'task': 2, 'label': 2}
    """
    rows = list(source)
    for number, row in enumerate(rows):
        if not isinstance(row, list | tuple) or len(row) != 3:
            raise InputError(f"Row {number + 1} is not (worker, task, label): {row!r}.")
    parts = zip(*rows, strict=True) if rows else ((), (), ())
    roles = ("worker", "task", "label")
    return {role: Column.of_objects(role, list(part)) for role, part in zip(roles, parts, strict=True)}


# Matrices: files of numpy, and of scipy where few cells have an answer.


ROWS = {"tasks": ("task", "worker"), "workers": ("worker", "task")}
SILENT = -1  # what a function of a label matrix returns that says nothing
_ENDINGS = (".npy", ".npz")
_MAGIC = b"\x93NUMPY"


def find_matrix(source: Any) -> Path | None:
    """Return the path of a matrix, if that is the source.

    >>> find_matrix(["answers.npz"]), find_matrix("answers.csv")
    (PosixPath('answers.npz'), None)
    """
    named = source[0] if isinstance(source, list | tuple) and len(source) == 1 else source
    if not isinstance(named, str | os.PathLike) or Path(named).suffix.lower() not in _ENDINGS:
        return None
    return Path(named)


def is_label_matrix(matrix: Any) -> bool:
    """Tell whether this is the output of labelling functions, such as Snorkel's L: whole numbers, the least of them -1.

    >>> import numpy as np
    >>> is_label_matrix(np.array([[0, -1], [1, 1]])), is_label_matrix(np.array([[0, 2], [1, 1]]))
    (True, False)
    """
    if not isinstance(matrix, np.ndarray) or matrix.dtype.kind not in "if" or not matrix.size:
        return False
    return bool(matrix.min() == SILENT and (matrix == np.floor(matrix)).all())


def open_matrix(source: Any, wide: str | None) -> Table:
    """Open a matrix, or the file of one, whose rows are what is said, or which is seen to be a label matrix.

    >>> import numpy as np
    >>> table = open_matrix(np.array([[0, -1], [1, 1], [-1, -1]]), None)
    >>> table.load(["label"])["label"].data.to_pylist(), table.silent
    ([0, 1, 1], 1)
    """
    path = find_matrix(source)
    matrix = source if path is None else load_matrix(path)
    if wide is not None:
        return of_matrix(matrix, *ROWS[wide])
    if is_label_matrix(matrix):
        return _of_label_matrix(matrix)
    if path is not None:
        return refuse_matrix(path, Files())
    shape = " x ".join(map(str, matrix.shape))
    rows = ", or a worker, a task and a label (then give array.tolist())" if matrix.shape[1] == 3 else ""
    raise InputError(
        f"A matrix of {shape} cells does not say whether its rows are tasks or workers{rows}.",
        proposals=[Proposal({"wide": wide}) for wide in ROWS],
    )


def _of_label_matrix(matrix: Any) -> Table:
    said = matrix != SILENT
    table = of_matrix(np.where(said, matrix, np.nan), "task", "worker")
    return as_label_matrix(table, int((~said.any(axis=1)).sum()), " (wide='tasks' reads it as a label)")


def as_label_matrix(table: Table, silent: int, otherwise: str = "") -> Table:
    """Return a table of what functions say, with a remark; on so many tasks they are silent."""
    nothing = f" On {silent:,} tasks no function says anything; they are left out." if silent else ""
    remark = f"It is a label matrix: workers are labelling functions, and {SILENT} says nothing{otherwise}.{nothing}"
    return replace(table, domain="categorical", silent=silent, remarks=(*table.remarks, remark))


def refuse_matrix(path: Path, files: Files) -> Table:
    """Refuse a matrix of which is not known what its rows are.

    >>> from allalike.readers.formats.files import Files
    >>> refuse_matrix(Path("a.npz"), Files())
    Traceback (most recent call last):
    allalike.errors.InputError: a.npz is a matrix. Its rows may be tasks or workers.
    Say it with one of these, the best first:
      wide='tasks'
      wide='workers'
    """
    raise InputError(
        f"{path} is a matrix. Its rows may be tasks or workers.",
        proposals=[Proposal({"wide": wide}) for wide in ROWS],
    )


def load_matrix(path: Path) -> Any:
    """Return the matrix in a file: an array of numpy, or a sparse one of scipy. Pickles are never read.

    >>> import numpy as np, scipy.sparse, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.npz")
    ...     scipy.sparse.save_npz(path, scipy.sparse.coo_array(np.eye(3)))
    ...     load_matrix(path).nnz
    3
    """
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    check_regular(path)
    try:
        matrix = _load(path)
    except InputError:
        raise
    except Exception as error:  # a damaged file may break anything in the parser
        raise _explain(path, error) from error
    if len(matrix.shape) != 2:
        raise InputError(f"{path} has {len(matrix.shape)} dimensions: {matrix.shape}. A matrix has 2.")
    return matrix


def _explain(path: Path, error: Exception) -> InputError:
    """Return what to say of a file that numpy or scipy cannot read; what they say is about their own code."""
    if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # of a place that a file does not have
        return unreadable(path, error)
    if "Object arrays" in str(error):
        return InputError(
            f"{path} cannot be read: it holds Python objects, and nothing is unpickled. Save numbers or texts, for"
            " example with numpy.save('matrix.npy', matrix.astype(float))."
        )
    return InputError(
        f"{path} cannot be read: it is damaged, incomplete, or not a matrix of numpy or scipy. Copy it again, or save"
        " the matrix again with numpy.save or scipy.sparse.save_npz."
    )


def _load(path: Path) -> Any:
    if not zipfile.is_zipfile(path):
        if read_start(path, len(_MAGIC)) != _MAGIC:
            raise ValueError("another format")  # before numpy opens it, and lets it open
        return np.load(path, mmap_mode="r", allow_pickle=False)
    names = {Path(name).stem for name in check_archive(path)}
    if {"format", "shape", "data"} <= names:
        from scipy.sparse import load_npz

        with path.open("rb") as file:
            matrix: Any = load_npz(file)
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)  # or its indices may lead beyond it
        return matrix.tocoo()
    if len(names) != 1:
        listed = ", ".join(map(repr, sorted(names)))
        raise InputError(f"{path} has {len(names)} arrays: {listed}. Save a file with one matrix.")
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        array = arrays[names.pop()]
    if not isinstance(array, np.ndarray):
        raise TypeError("a file that is not an array")
    return array
