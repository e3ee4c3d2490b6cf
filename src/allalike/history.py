"""Read worker statistics from an earlier run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from allalike._core.system.addresses import find_folder
from allalike._core.system.tables import FORMATS, unguard_text
from allalike.answers.gold import History
from allalike.errors import InputError
from allalike.readers.formats.compression import check_regular
from allalike.readers.formats.source import cells
from allalike.readers.sources import open_table
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
    source = source.tables_as("pandas").workers if isinstance(source, Result) else source
    path = _find_table(os.fspath(source)) if isinstance(source, str | os.PathLike) else ""
    try:
        if path:
            check_regular(Path(path))
        table = open_table(path or source)
    except InputError as error:
        raise InputError(f"The history {path or f'of type {type(source).__name__}'} cannot be read. {error}") from None
    fault = next((name for name in ERRORS if name in table.names), None)
    number = next((name for name in ("shared_tasks", "answers") if name in table.names), None)
    if "worker" not in table.names or fault is None or number is None:
        raise InputError(
            "A history needs the columns worker, answers and error_rate (or rmse, or mean_error), but the table has"
            f" {', '.join(table.names)}. Rename its columns."
        )
    earlier = ["prior_answers"] if "prior_answers" in table.names else []
    columns = {name: cells(column) for name, column in table.load(["worker", number, fault, *earlier]).items()}
    workers, guarded = columns["worker"], bool(path) and _is_guarded(Path(path))
    workers = [unguard_text(worker) if guarded and isinstance(worker, str) else worker for worker in workers]
    try:
        answers, mean, *past = (
            np.array([float("nan" if value in (None, "") else value) for value in columns[name]])
            for name in (number, fault, *earlier)
        )
    except (TypeError, ValueError):
        raise InputError(f"The columns {number} and {fault} of a history must contain numbers.") from None
    answers = answers + sum(map(np.nan_to_num, past))
    wrong = (answers < 0) | (mean < 0) | (mean > (1.0 if fault == "error_rate" else np.inf))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"The history of worker {workers[row]!r} is invalid: {number} {answers[row]:g}, {fault} {mean[row]:g}."
            " Numbers must not be negative, and error rates must be at most 1."
        )
    return History.of(workers, answers, mean**2 if fault == "rmse" else mean)


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


def _is_guarded(path: Path) -> bool:
    """Return whether the summary says that texts of the table are protected from becoming formulas."""
    try:
        folder = path.parent.parent if path.parent.name == DETAILS else path.parent
        summary = read_summary(folder)
        return bool(summary.get("safe_csv")) and path.relative_to(folder).as_posix() in summary.get("files", ())
    except (OSError, ValueError, TypeError, InputError):
        return False
