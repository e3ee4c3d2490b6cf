"""Frames and other things of Python that hold answers, opened as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.columns.column import Column
from allalike.errors import InputError
from allalike.readers.failures import check_utf8
from allalike.readers.tables import Table, of_columns, of_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

__all__ = ["find_opener", "hold", "is_matrix", "is_nested", "of_matrix", "of_nested"]


def find_opener(source: Any) -> Callable[[Any], Table] | None:
    """Return what opens a frame, a data set, a relation or a nested mapping, if the source is one.

    >>> find_opener({"t1": {"ada": "x"}}) is of_nested, find_opener(5) is None
    (True, True)
    """
    if is_nested(source):
        return of_nested
    kind = type(source).__module__.partition(".")[0]
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        return _of_lazy
    if kind == "pyarrow" and hasattr(source, "to_table"):
        return _of_dataset
    if kind in ("duckdb", "_duckdb") and hasattr(source, "project"):
        return _of_relation
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
    if hasattr(source, "read_next_batch"):  # a reader of Arrow
        return source.read_all()
    if hasattr(source, "__next__"):
        return list(source)
    return source


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

    >>> of_nested({"t1": {"ada": "x", "bob": None}}).load(["worker", "label"])
    {'worker': ['ada'], 'label': ['x']}
    """
    rows = [
        (worker, task, label)
        for task, labels in source.items()
        for worker, label in labels.items()
        if not _is_nothing(label)
    ]
    columns = {role: [row[place] for row in rows] for place, role in enumerate(("worker", "task", "label"))}
    silent = sum(all(map(_is_nothing, labels.values())) for labels in source.values())
    remarks = (f"{silent:,} tasks have no answers and are left out.",) if silent else ()
    return Table(list(columns), lambda asked: {name: columns[name] for name in asked}, where, remarks=remarks)


def _is_nothing(label: Any) -> bool:
    return label is None or (isinstance(label, float | np.floating) and bool(np.isnan(label)))


def _of_lazy(frame: Any) -> Table:
    """Open a lazy frame of polars, of which only the columns that are asked for are collected."""

    def load(asked: Sequence[str]) -> dict[str, Any]:
        return of_frame(frame.select(list(asked)).collect()).load(asked)

    def sample(asked: Sequence[str], rows: int) -> dict[str, Any]:
        return of_frame(frame.select(list(asked)).head(rows).collect()).load(asked)

    return Table(list(frame.collect_schema().names()), load, "The lazy frame", load_sample=sample)


def _of_dataset(source: Any) -> Table:
    """Open a data set or a scanner of Arrow; a data set is read batch after batch."""
    if not hasattr(source, "schema"):  # a scanner, which says itself what it reads
        return of_frame(source.to_table())

    def load(asked: Sequence[str]) -> dict[str, Any]:
        return of_frame(source.to_table(columns=list(asked))).load(asked)

    def load_batches(asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        before = 0
        for batch in source.to_batches(columns=list(asked)):
            columns = {name: batch.column(name) for name in asked}
            check_utf8(columns, "The data set", before=before)
            before += batch.num_rows
            if batch.num_rows:
                yield columns

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


def _of_relation(relation: Any) -> Table:
    """Open a relation of DuckDB, of which only the columns that are asked for are computed."""

    def load(asked: Sequence[str], rows: int | None = None) -> dict[str, Any]:
        part = relation if rows is None else relation.limit(rows)
        quoted = ", ".join('"{}"'.format(name.replace('"', '""')) for name in asked)
        return of_frame(_to_arrow(part.project(quoted))).load(asked)

    return Table(list(relation.columns), load, "The relation", load_sample=load)


def _to_arrow(relation: Any) -> Any:
    ask = getattr(relation, "to_arrow_table", None) or relation.fetch_arrow_table  # as older ones call it
    return ask()


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


def of_matrix(matrix: Any, down: str, across: str) -> Table:
    """Open a matrix whose rows and columns are numbered from 0; NaN, None and empty texts are no answers.

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
    values = values[present] if present.all() else _whole_if_possible(values[present])
    if not len(values):
        raise InputError("There are no answers: the matrix has no cell with a value.")
    return of_columns(
        {
            down: Column.of_objects(down, rows[present].tolist()),
            across: Column.of_objects(across, columns[present].tolist()),
            "label": Column.of_objects("label", values.tolist()),
        }
    )


def _are_nothing(values: np.ndarray[Any, Any]) -> npt.NDArray[np.bool_]:
    """Mark cells without an answer."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values), np.bool_)
    if values.dtype.kind in "OU":
        return np.array(
            [_is_nothing(each) or (isinstance(each, str) and not each.strip()) for each in values], np.bool_
        )
    return np.zeros(values.shape, np.bool_)


def _whole_if_possible(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return floats as whole numbers if all of them are: an empty cell has made floats of them."""
    if values.dtype.kind == "f" and np.isfinite(values).all() and (np.abs(values) < 2**53).all():
        whole = values.astype(np.int64)
        return whole if (whole == values).all() else values
    return values
