"""Read matrices of numpy and scipy, in memory and in files, and label matrices of labelling functions."""

from __future__ import annotations

import errno
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import is_nothing
from allalike.errors import InputError, Proposal
from allalike.readers.formats.compression import check_archive, check_regular, read_start
from allalike.readers.formats.failures import unreadable
from allalike.readers.formats.frames import ROWS, find_matrix
from allalike.readers.formats.source import Source, of_columns

if TYPE_CHECKING:
    import numpy.typing as npt

SILENT = -1  # what a labelling function returns that abstains


def holds_rows(matrix: Any) -> bool:
    """Return whether a matrix is rows of (worker, task, label): no value in two columns, no answer twice."""
    if not isinstance(matrix, np.ndarray) or matrix.shape[1] != 3:
        return False
    rows = matrix.tolist()
    values = [set(map(str, column)) for column in zip(*rows, strict=True)]
    apart = sum(map(len, values)) == len(set().union(*values))
    return apart and len({(str(worker), str(task)) for worker, task, _ in rows}) == len(rows)


def open_matrix(source: Any, wide: str | None) -> Source:
    """Open a matrix or the file of one: as ``wide`` says, or as a label matrix, whose least number is -1."""
    path = find_matrix(source)
    matrix = source if path is None else load_matrix(path)
    if wide is not None:
        return of_matrix(matrix, *ROWS[wide])
    numbers = isinstance(matrix, np.ndarray) and matrix.dtype.kind in "if" and matrix.size
    if numbers and matrix.min() == SILENT and (matrix == np.floor(matrix)).all():
        answered = matrix != SILENT
        table = of_matrix(np.where(answered, matrix, np.nan), "task", "worker")
        return as_label_matrix(table, int((~answered.any(axis=1)).sum()), " (wide='tasks' reads it as a label)")
    if path is not None:
        return refuse_matrix(path)
    shape = " x ".join(map(str, matrix.shape))
    rows = ", or a worker, a task and a label (then give array.tolist())" if matrix.shape[1] == 3 else ""
    raise InputError(
        f"A matrix of {shape} cells does not say whether its rows are tasks or workers{rows}.",
        proposals=[Proposal({"wide": wide}) for wide in ROWS],
    )


def of_matrix(matrix: Any, down: str, across: str) -> Source:
    """Open a matrix; NaN, None, empty texts and masked cells are no answers. All stored cells of a sparse one are."""
    if hasattr(matrix, "tocoo"):
        cells = matrix.tocoo()
        rows, columns, values = np.asarray(cells.row), np.asarray(cells.col), cells.data
    else:
        rows, columns = (place.ravel() for place in np.indices(matrix.shape))
        values = np.asarray(matrix).ravel()
    present = ~_are_nothing(values)
    if isinstance(matrix, np.ma.MaskedArray):
        present &= ~np.broadcast_to(matrix.mask, matrix.shape).ravel()
    if not present.any():
        raise InputError("There are no answers: the matrix has no cell with a value.")
    values = values[present]
    if not present.all() and values.dtype.kind == "f" and (np.abs(values) < 2**53).all():
        whole = values.astype(np.int64)  # an empty cell has made floats of them
        values = whole if (whole == values).all() else values
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


def as_label_matrix(table: Source, silent: int, otherwise: str = "") -> Source:
    """Return a table of labelling functions, with a message; on so many tasks all of them abstain."""
    nothing = f" On {silent:,} tasks no function says anything; they are left out." if silent else ""
    remark = f"It is a label matrix: workers are labelling functions, and {SILENT} says nothing{otherwise}.{nothing}"
    return replace(table, domain="categorical", silent=silent, remarks=(*table.remarks, remark))


def refuse_matrix(path: Path, *_: Any) -> Source:
    """Ask whether the rows of a matrix are tasks or workers."""
    raise InputError(
        f"{path} is a matrix. Its rows may be tasks or workers.",
        proposals=[Proposal({"wide": wide}) for wide in ROWS],
    )


def load_matrix(path: Path) -> Any:
    """Return the matrix in a file: an array of numpy, or a sparse one of scipy. Pickles are never read."""
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    check_regular(path)
    try:
        matrix = _load(path)
    except InputError:
        raise
    except Exception as error:  # a damaged file may break anything in the parser, whose messages are about its own code
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # of a position beyond the file
            raise unreadable(path, error) from error
        reason = (
            "it holds Python objects, and nothing is unpickled. Save numbers or texts, for example with"
            " numpy.save('matrix.npy', matrix.astype(float))."
            if "Object arrays" in str(error)
            else "it is damaged, incomplete, or not a matrix of numpy or scipy. Copy it again, or save the matrix again"
            " with numpy.save or scipy.sparse.save_npz."
        )
        raise InputError(f"{path} cannot be read: {reason}") from error
    if len(matrix.shape) != 2:
        raise InputError(f"{path} has {len(matrix.shape)} dimensions: {matrix.shape}. A matrix has 2.")
    return matrix


def _load(path: Path) -> Any:
    if not zipfile.is_zipfile(path):
        if read_start(path, 6) != b"\x93NUMPY":
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
