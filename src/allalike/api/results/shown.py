"""Shown: what a result looks like at a prompt and in a notebook, in a few lines."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.columns.objects import shorten
from allalike._core.words import count
from allalike.answers.shown import say_columns
from allalike.telling.answers import list_notes
from allalike.telling.crowd import remark_crowd
from allalike.telling.truths import remark_gold, remark_sureness, say_changes, say_counts

if TYPE_CHECKING:
    import pandas as pd

    from allalike.domains import Encoding
    from allalike.engines import TaskTable
    from allalike.telling.summary import Summary

__all__ = ["comparison_html", "comparison_text", "list_first", "result_html", "result_text"]

_N_TRUTHS = 3  # at a prompt
_N_ROWS = 5  # of a table in a notebook
_N_METHODS = 10  # of a comparison at a prompt


def list_first(found: TaskTable, encoding: Encoding) -> list[str]:
    """Show the first truths."""
    piece = next(iter(found.pieces()))
    labels = encoding.decode(piece.found["label"][:_N_TRUTHS]).tolist()
    tasks = piece.tasks.take(np.arange(len(labels))).tolist()
    return [f"  task {shorten(task)}: {shorten(label)}" for task, label in zip(tasks, labels, strict=True)]


def result_text(summary: Summary, first: list[str], *, has_groups: bool, recurring: bool) -> str:
    """Say what a result is about, which truths come first, what there is to say of workers, and what it has.

    >>> import allalike
    >>> allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y")], method="P-TD")
    Result: 4 answers of 3 workers to 2 tasks (categorical labels), by P-TD on memory.
      task 1: 'x'
      task 2: 'y'
    0 of 2 labels (0.0 %) differ from the majority vote.
    1 note: see .notes.
    See .truth, .workers, .summary, .next(), .save("folder").
    """
    columns = summary.guessed.get("columns")
    remarks = (*remark_sureness(summary), *remark_gold(summary), *remark_crowd(summary))
    notes, groups = list_notes(summary), ".groups, " if has_groups else ""
    return "\n".join(
        [
            f"Result: {_counts(summary)}, by {summary.method.name} on {summary.engine}.",
            *([f"Columns: {say_columns(columns)}."] if columns else []),
            *first,
            *say_changes(summary, recurring=recurring),
            *(remark.sentence for remark in remarks),
            *([f"{count(len(notes), 'note')}: see .notes."] if notes else []),
            f'See .truth, .workers, {groups}.summary, .next(), .save("folder").',
        ]
    )


def result_html(text: str, workers: pd.DataFrame, unsure: pd.DataFrame) -> str:
    """Show a result in a notebook: the same words, the best and worst workers, and the tasks that are least sure.

    >>> import allalike
    >>> page = allalike.discover([("<b>", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])._repr_html_()
    >>> "&lt;b&gt;" in page, "<b>" in page
    (True, False)
    """
    workers = workers.sort_values("fault", kind="stable")
    several = len(workers) > 2 * _N_ROWS
    tables = {
        "Least sure tasks": unsure.head(_N_ROWS),
        **({"Best workers": workers.head(_N_ROWS), "Worst workers": workers.tail(_N_ROWS)} if several else {}),
        **({} if several else {"Workers": workers}),
    }
    return _paragraphs(text) + "".join(_titled(title, table) for title, table in tables.items())


def comparison_text(summary: Summary, table: pd.DataFrame) -> str:
    """Say what was compared, and show the best methods.

    >>> from allalike.api.compare import compare
    >>> print(repr(compare([("ada", 1, 20.0), ("bob", 1, 21.0)], methods=["P-TD"])).splitlines()[0])
    Comparison: 2 answers of 2 workers to 1 task (real labels), 2 methods, ranked by distance.
    """
    shown = table.head(_N_METHODS).drop(columns=["note"], errors="ignore")
    left = len(table) - len(shown)
    return "\n".join(
        [
            f"Comparison: {_counts(summary)}, {len(table)} methods, ranked by {summary.ranked_by}.",
            shown.to_string(index=False, float_format=lambda number: f"{number:.4g}"),
            *([f"... and {left} more in .table"] if left else []),
        ]
    )


def comparison_html(summary: Summary, table: pd.DataFrame) -> str:
    """Show a comparison in a notebook.

    >>> from allalike.api.compare import compare
    >>> compare([("ada", 1, 20.0), ("bob", 1, 21.0)], methods=["P-TD"])._repr_html_().count("<table")
    1
    """
    return _paragraphs(comparison_text(summary, table).splitlines()[0]) + table.to_html(index=False, border=0)


def _counts(summary: Summary) -> str:
    return f"{say_counts(*summary.counts)} ({summary.domain.name} labels)"


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in text.splitlines())


def _titled(title: str, table: pd.DataFrame) -> str:
    return f"<h4>{title}</h4>{table.to_html(index=False, border=0, max_cols=12)}"
