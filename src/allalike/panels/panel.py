"""Result of a panel: verdicts, tables and summary."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from allalike._core.blocks.block import Array
from allalike._core.columns.factors import order_of
from allalike._core.columns.values import Values, text_column
from allalike._core.text_format import count
from allalike.engines import Run
from allalike.errors import UnsupportedError
from allalike.frames import Frame, FrameMixin
from allalike.panels.messages import TITLES, describe_panel
from allalike.panels.summary import PanelSummary, make_summary, to_json
from allalike.panels.verdicts import Statistics
from allalike.report.report_data import Material
from allalike.result.messages import Message
from allalike.result.result import Result
from allalike.result.saving import REPORT, SavedAs, save_result, write_page
from allalike.result.summary import Summary, name_schema
from allalike.result.tables import truth_columns, worker_columns

Columns = Mapping[str, Values | Array]
_KEPT = ("ci_low", "ci_high", "relative_error", "rank_low", "rank_high", "weight", "copy_group")


def list_columns(columns: Mapping[str, Any] | pd.DataFrame) -> dict[str, Values | Array]:
    """Return the columns of a table to save; texts and other objects become Arrow columns."""
    listed: dict[str, Values | Array] = {}
    for name, column in columns.items():
        values = column if isinstance(column, Values) else np.asarray(column)
        if isinstance(values, np.ndarray) and values.dtype.kind not in "biuf":
            cells = values.tolist()
            values = text_column(cells) if all(isinstance(cell, str) for cell in cells) else Values(cells)
        listed[str(name)] = values
    return listed


def _table(name: str, content: str, option: str = "") -> Any:
    """Return a property that is a table of the panel, which may need an option of `allalike.jury`."""

    def read(panel: Panel[Any]) -> Any:
        if option and name not in panel.tables:
            raise UnsupportedError(f"The panel has no table of {name}. Run allalike.jury with {option}=.")
        return panel._to_frame(list_columns(panel.tables.get(name, {})))

    return property(read, doc=content)


@dataclass(frozen=True, repr=False)
class Panel(FrameMixin[Frame]):
    """The verdicts of a panel of judges, and statistics of the judges.

    Agreement has limitations. Errors that all judges share look like the truth, and judges from one model family agree
    with each other. Gold labels (``gold``) reveal both.

    Parameters
    ----------
    result
        Labels and workers, as `allalike.discover` returns them.
    parts
        Statistics of the judges: facts of the summary, tables, and columns of the judge table.
    undecided, unreadable
        Tasks on which every judge contradicts itself, and tasks without a readable verdict.

    >>> import allalike
    >>> answers = {"ada": "xxyyzxyzyx", "bob": "xxyyzxyyyx", "eve": "xyyyzxxzyx", "kim": "yzxxzyyxyy"}
    >>> rows = [(judge, task, label) for judge, labels in answers.items() for task, label in enumerate(labels)]
    >>> panel = allalike.jury(rows, prices={"ada": 0.02, "bob": 0.01, "eve": 0.01, "kim": 0.001})
    >>> "".join(panel.truth["label"]), panel.smallest
    ('xxyyzxyzyx', ['ada'])
    >>> panel.judges.columns.tolist()[-3:]
    ['cost', 'cost_per_correct', 'added_effective_judges']
    """

    result: Result[Frame]
    parts: Sequence[Statistics]
    undecided: Sequence[Any] = ()
    unreadable: Sequence[Any] = ()

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables except those of tasks and judges, by name."""
        return {name: table for part in self.parts for name, table in part.tables.items()}

    @property
    def run(self) -> Run:  # type: ignore[override]
        """The answers."""
        return self.result.run

    def tables_as(self, frame: str) -> Any:
        """Return the panel with tables of another type: pandas, polars, arrow or datasets."""
        return replace(self, result=self.result.tables_as(frame))

    def __repr__(self) -> str:
        facts, counts = self.panel_summary, Summary.from_dict(self.result.summary).counts
        few, (answers, many, tasks) = facts.smallest, counts
        error = "" if facts.error is None else f", {facts.error_unit} {facts.error:.3g}"
        source = "" if not error else " (measured)" if facts.by_gold else " (expected)"
        lines = [
            f"Panel of {count(many, 'judge')}: {count(answers, 'verdict')}, {count(tasks, 'task')}{error}{source}.",
            f"{few.size:,} of {many:,} retain{'s' if few.size == 1 else ''} {100 * few.retained:.3g} % of its worth;"
            f" {facts.pairs.found:,} of {facts.pairs.compared:,} pairs have correlated errors.",
            'See .truth, .judges, .pairs, .sizes, .summary, .report("report.html"), .save("folder").',
        ]
        return "\n".join(lines)

    @cached_property
    def truth(self) -> Frame:
        """One row per task: task, label, verdict, confidence, answers, unweighted, changed.

        The ``verdict`` is class, score, tie, inconclusive or unreadable. The last two have no label.
        """
        truth = self._silent_truths()
        return self.result.truth if truth is None else self._to_frame(truth)

    @cached_property
    def judges(self) -> Frame:
        """One row per judge: answers, error with interval, weight, copy group, error on gold labels, price and cost.

        The error is ``error_rate`` for classes, ``rmse`` for squared distances, else ``mean_error``.
        ``shared_error_group`` numbers the groups of judges with correlated errors. ``in_smallest_panel`` marks the
        smallest panel. ``added_effective_judges`` is the judge's contribution to the effective number of judges.
        """
        return self._to_frame(self._judges)

    pairs = _table("pairs", "One row per pair of judges: shared wrong labels, or correlation of errors.")
    sizes = _table("sizes", "One row per panel size: the best judges, their worth on held-out tasks, and their cost.")
    coverage = _table("coverage", "One row per confidence level: share of tasks, expected and measured accuracy.")
    rates = _table("rates", "One row for all tasks and one per group: rate of positive tasks with its interval.")
    ask = _table("ask", "One row per task to label next, to narrow the interval of the rate.")
    drift = _table("drift", "One row per test for a changed judge; empty without an earlier panel.")
    orders = _table("orders", "One row per judge: equal verdicts in both orders, and position bias.", "order")
    samples = _table("samples", "One row per number of samples: accuracy or RMSE, and retained worth.", "sample")
    annotators = _table("annotators", "One row per model and human: winning shares and p-value.", "humans")

    @property
    def smallest(self) -> list[Any]:
        """Judges of the smallest panel that retains nearly all of the worth."""
        return list(self.panel_summary.smallest.members)

    @cached_property
    def panel_summary(self) -> PanelSummary:
        """The panel's part of the summary, with numbers rounded to six digits; None if unknown."""
        return make_summary({name: fact for part in self.parts for name, fact in part.facts.items()})

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The summary of the result and the panel, for JSON."""
        return {**self.result.summary, "panel": to_json(self.panel_summary)}

    @property
    def messages(self) -> list[Message]:
        """All messages about the panel, in reading order."""
        return list(describe_panel(self.panel_summary, Summary.from_dict(self.result.summary)))

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        format: str = "csv",  # noqa: A002
        overwrite: bool = False,
        report: bool = False,
        safe_csv: bool = False,
    ) -> list[Path]:
        """Write the files of the result and the tables of the panel into a folder, atomically; return the paths.

        Parameters
        ----------
        folder, format, overwrite, report, safe_csv
            As in `Result.save`.

        >>> import allalike, tempfile
        >>> panel = allalike.jury([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in panel.save(folder + "/out") if path.parent.name == "out"]
        ['truth.csv', 'judges.csv', 'summary.json']
        """
        truth = self._silent_truths()
        more: dict[str, Any] = {"overwrite": overwrite, "material": self._material}
        more["tables"] = {**({} if truth is None else {"truth": truth}), **self._tables}
        more["notes"] = {"schema": name_schema("jury"), "panel": self.summary["panel"]}
        return save_result(self.result, folder, SavedAs(format, report=report, safe_csv=safe_csv), **more)

    def report(self, path: str | os.PathLike[str] = REPORT, *, overwrite: bool = False) -> Path:
        """Write the page of `Result.report` with a section about the panel: messages, a chart and tables.

        Parameters
        ----------
        path, overwrite
            As in `Result.report`.

        >>> import allalike, tempfile
        >>> panel = allalike.jury([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     panel.report(folder + "/seen.html").read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        return write_page(self._material(), path, inputs=self.result.inputs, overwrite=overwrite)

    def _material(self) -> Material:
        """Return the data for a report."""
        tables = self._tables
        titled = {name: (title, tables[name]) for name, title in TITLES.items() if name in tables}
        return Material(self.result, titled, {"panel": self.summary["panel"]}, self.messages)

    def _silent_truths(self) -> dict[str, Values | Array] | None:
        """Return the columns of the truth table, with the tasks without a verdict sorted in."""
        silent = [*self.undecided, *self.unreadable]
        if not silent:
            return None
        columns = truth_columns(self.result.found.joined(), self.run.encoding, self.result.weighing)
        tasks = columns["task"].tolist()
        if isinstance(tasks[0], int):
            with suppress(ValueError):
                silent = [int(task) for task in silent]
        verdicts = ["inconclusive"] * len(self.undecided) + ["unreadable"] * len(self.unreadable)
        known: dict[str, list[Any]] = {"task": silent, "verdict": verdicts, "answers": [0] * len(silent)}
        order = order_of(Values([*tasks, *silent]))
        return {name: _extend(column, known.get(name), len(silent), order) for name, column in columns.items()}

    @cached_property
    def _tables(self) -> dict[str, Columns]:
        return {"judges": self._judges, **{name: list_columns(table) for name, table in self.tables.items()}}

    @property
    def _judges(self) -> dict[str, Values | Array]:
        run, weighing = self.result.run, self.result.weighing
        columns = worker_columns(run, weighing)
        assert weighing.uncertainty is not None
        own = {
            name: columns[name] for name in ("worker", "answers", weighing.uncertainty.unit, *_KEPT) if name in columns
        }
        return {**own, **list_columns({name: column for part in self.parts for name, column in part.judges.items()})}


def _extend(column: Values | Array, values: list[Any] | None, n: int, order: Array) -> Values | Array:
    """Append values, or ``n`` empty cells, to a column of the same type if possible, and sort it."""
    import pyarrow as pa

    if isinstance(column, Values):
        more = Values([None] * n if values is None else values)
        if not isinstance(column.data, list):
            with suppress(pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
                more = Values(pa.array(more.data, column.data.type))
        return Values.join([column, more]).take(order)
    empty = False if column.dtype == np.bool_ else np.nan
    return np.asarray(np.append(column, [empty] * n if values is None else values)[order])
