"""Matrices: files of numpy, and of scipy where few cells have an answer."""

from __future__ import annotations

import errno
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.errors import InputError, Proposal
from allalike.readers.formats.compression import check_archive, check_regular, read_start
from allalike.readers.formats.failures import unreadable
from allalike.readers.formats.files import Files
from allalike.readers.formats.frames import of_matrix

if TYPE_CHECKING:
    from allalike.readers.formats.tables import Table

__all__ = [
    "ROWS",
    "SILENT",
    "as_label_matrix",
    "find_matrix",
    "is_label_matrix",
    "load_matrix",
    "open_matrix",
    "refuse_matrix",
]

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
