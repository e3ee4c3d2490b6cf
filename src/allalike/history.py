"""Read worker statistics from an earlier run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from allalike._core.late import pa, pd
from allalike._core.system.addresses import find_folder
from allalike._core.system.tables import FORMATS, unguard_text
from allalike.answers.gold import History
from allalike.errors import InputError
from allalike.readers.formats.compression import check_regular
from allalike.readers.scans import find_frame
from allalike.result.result import Result
from allalike.result.saved import check_complete, check_own_file, read_summary
from allalike.result.saving import DETAILS
from allalike.result.tables import ERRORS


def read_history(source: Any) -> History:
    """Read worker statistics from a result, its folder, its saved table of workers, or another table.

    A table needs the columns worker, answers (or shared_tasks), and error_rate, rmse or mean_error.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y")])
    >>> read_history(result).answers
    array([1., 1., 1.])
    """
    if isinstance(source, Result):
        return _of_table(source.tables_as("pandas").workers)
    if isinstance(source, str | os.PathLike):
        return _of_table(_read(_find_table(os.fspath(source))))
    if find_frame(source) != "pandas" and hasattr(source, "to_pandas"):
        return _of_table(source.to_pandas())
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):
        return _of_table(source)
    raise InputError(
        f"The history is a {type(source).__name__}. Pass a result, its folder, its workers.csv or a table of workers."
    )


def _find_table(path: str) -> str:
    """Return the path of the table of workers, if the path is the folder of a result."""
    if not find_folder(path).is_dir():
        return path
    tables = [Path(path, place, f"workers.{ending}") for place in (DETAILS, "") for ending in FORMATS]
    check_complete(Path(path))
    table = next((table for table in tables if os.path.lexists(table)), None)
    if table is None:
        raise InputError(f"The history {path} is a folder without a result: it contains no workers.csv.")
    check_own_file(table)
    return str(table)


def _read(path: str) -> Any:
    try:
        check_regular(Path(path))
        table = pd.read_parquet(path) if path.endswith(".parquet") else pd.read_csv(path, dtype={"worker": str})
    except InputError as error:
        raise InputError(f"The history cannot be read. {error}") from None
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"The history {path} cannot be read: {' '.join(reason.split())}") from None
    if "worker" in table and _is_guarded(Path(path)):
        table["worker"] = [unguard_text(worker) if isinstance(worker, str) else worker for worker in table["worker"]]
    return table


def _is_guarded(path: Path) -> bool:
    """Return whether the summary says that texts of the table are protected from becoming formulas."""
    try:
        folder = path.parent.parent if path.parent.name == DETAILS else path.parent
        summary = read_summary(folder)
        return bool(summary.get("safe_csv")) and path.relative_to(folder).as_posix() in summary.get("files", ())
    except (OSError, ValueError, TypeError, InputError):
        return False


def _of_table(table: Any) -> History:
    columns = set(table.columns)
    fault = next((name for name in ERRORS if name in columns), None)
    number = next((name for name in ("shared_tasks", "answers") if name in columns), None)
    if "worker" not in columns or fault is None or number is None:
        raise InputError(
            "A history needs the columns worker, answers and error_rate (or rmse, or mean_error), but the table has"
            f" {', '.join(map(str, table.columns))}. Rename its columns."
        )
    try:
        answers, mean = (np.asarray(table[name], np.float64) for name in (number, fault))
    except (TypeError, ValueError):
        raise InputError(f"The columns {number} and {fault} of a history must contain numbers.") from None
    if "prior_answers" in columns:
        answers = answers + np.nan_to_num(np.asarray(table["prior_answers"], np.float64))
    most = 1.0 if fault == "error_rate" else np.inf
    wrong = (answers < 0) | (mean < 0) | (mean > most)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"The history of worker {list(table['worker'])[row]!r} is invalid: {number} {answers[row]:g}, {fault}"
            f" {mean[row]:g}. Numbers must not be negative, and error rates must be at most 1."
        )
    return History.of(list(table["worker"]), answers, mean**2 if fault == "rmse" else mean)
