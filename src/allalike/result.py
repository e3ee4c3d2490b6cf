"""Result: the truths found, the workers weighed, and how it was done."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.errors import OutputError, UnsupportedError
from allalike.registry import check_choice
from allalike.values import Values, arrow_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    import pandas as pd
    import pyarrow as pa

    from allalike.answers import Answers
    from allalike.blocks import Array
    from allalike.methods import Weighing

__all__ = ["FORMATS", "Result"]

FORMATS = ("csv", "parquet")


@dataclass(frozen=True)
class Result:
    """Hold what was found.

    Parameters
    ----------
    answers
        The answers it was found in.
    weighing
        What the method found out about the workers.
    found
        Per task: label, confidence, error, tied; the label found without weights, and whether it is another one.
    summary
        Counts, settings, versions, what was guessed, and the errors against gold where there is any.
    posteriors
        What finds the probability of each class, per task, for methods that know it.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y")])
    >>> result.truth[["task", "label", "answers", "changed"]]
       task label  answers  changed
    0     1     x        3    False
    1     2     y        1    False
    """

    answers: Answers
    weighing: Weighing
    found: Mapping[str, Array]
    summary: dict[str, Any]
    posteriors: Callable[[], Array] | None = None

    @cached_property
    def truth(self) -> pd.DataFrame:
        """One row per task: task, label, confidence, error, answers, tied, unweighted, changed."""
        return _frame(self._truth_columns())

    @cached_property
    def workers(self) -> pd.DataFrame:
        """One row per worker: worker, answers, disparity, fault, weight; one per task too where tasks are apart."""
        return _frame(self._worker_columns())

    @cached_property
    def probabilities(self) -> pd.DataFrame:
        """One row per task: how probable each class is, for methods that know it (DS, DS-1).

        >>> import allalike
        >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y")]
        >>> allalike.discover(rows, method="DS-1").probabilities.round(1)
           task    x    y
        0     1  1.0  0.0
        1     2  0.0  1.0
        """
        if self.posteriors is None:
            method = self.summary["method"]["name"]
            raise UnsupportedError(f"{method} does not say how probable each class is. DS and DS-1 do.")
        table = self.posteriors()
        labels = self.answers.domain.decode(np.arange(table.shape[1])).tolist()
        frame = _frame({"task": self.answers.tasks})
        for place, label in enumerate(labels):
            frame[label] = table[:, place]
        return frame

    def save(self, folder: str | os.PathLike[str], *, format: str = "csv") -> list[Path]:  # noqa: A002
        """Write truth, workers and summary into a folder, and return the paths.

        The files are written beside the folder first and renamed into it, so that a failure leaves what was there.

        >>> import allalike, tempfile
        >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in result.save(folder + "/out")]
        ['truth.csv', 'workers.csv', 'summary.json']
        """
        check_choice(format, FORMATS, "format")
        target = Path(folder)
        try:
            return self._save(target, format)
        except OSError as error:
            reason = error.strerror or str(error)
            raise OutputError(f"The result cannot be written to {target}: {reason}.") from error

    def _save(self, target: Path, file_format: str) -> list[Path]:
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_dir():
            raise NotADirectoryError(0, "it is a file, not a folder")
        beside = Path(tempfile.mkdtemp(prefix=".allalike-", dir=target.absolute().parent))
        try:
            truth = self._truth_columns()
            for name, folder in (("label", "labels"), ("unweighted", "unweighted")):
                labels = self.answers.domain.decode(self.found[name])
                truth[name] = self.answers.domain.export(labels, self.answers.tasks, beside / folder)
            written = [
                _write(truth, beside / "truth", file_format),
                _write(self._worker_columns(), beside / "workers", file_format),
                beside / "summary.json",
            ]
            text = json.dumps(self.summary, indent=2, ensure_ascii=False)
            written[-1].write_text(text + "\n", encoding="utf-8")
            target.mkdir(exist_ok=True)
            for made in [path for path in beside.iterdir() if path.is_dir()]:
                if (target / made.name).exists():
                    (target / made.name).rename(beside / f"old {made.name}")
                made.rename(target / made.name)
            return [path.replace(target / path.name) for path in written]
        finally:
            shutil.rmtree(beside, ignore_errors=True)

    def _truth_columns(self) -> dict[str, Values | Array]:
        decode = self.answers.domain.decode
        return {
            "task": self.answers.tasks,
            "label": decode(self.found["label"]),
            "confidence": self.found["confidence"],
            "error": self.found["error"],
            "answers": np.diff(self.answers.starts),
            "tied": self.found["tied"],
            "unweighted": decode(self.found["unweighted"]),
            "changed": self.found["changed"],
        }

    def _worker_columns(self) -> dict[str, Values | Array]:
        tasks = np.repeat(np.arange(len(self.answers.tasks)), np.diff(self.answers.starts))
        return {
            **({"task": self.answers.tasks.take(tasks)} if self.answers.is_per_task else {}),
            "worker": self.answers.workers,
            "answers": np.bincount(self.answers.worker, minlength=len(self.answers.workers)),
            "disparity": self.weighing.disparity,
            "fault": self.weighing.fault,
            "weight": self.weighing.weight,
        }


def _frame(columns: Mapping[str, Values | Array]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({n: c.series() if isinstance(c, Values) else c for n, c in columns.items()})


def _table(columns: Mapping[str, Values | Array]) -> pa.Table:
    import pyarrow as pa

    arrays = [column.arrow() if isinstance(column, Values) else arrow_of(column) for column in columns.values()]
    return pa.Table.from_arrays(arrays, names=list(columns))


def _write(columns: Mapping[str, Values | Array], stem: Path, file_format: str) -> Path:
    path = stem.with_suffix(f".{file_format}")
    if file_format == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(_table(columns), path)
    else:
        import pyarrow.csv as pacsv

        pacsv.write_csv(_table(columns), path, pacsv.WriteOptions(quoting_style="needed"))
    return path
