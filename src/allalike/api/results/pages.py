"""Pages: what a report is made of, from the parts of a result.

Tables are handed over as columns: those in pandas, whose import takes as long as the report, are for users.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike.api.results.tables import next_columns, worker_columns
from allalike.api.results.targets import page_output
from allalike.errors import ReportWarning
from allalike.methods.auto.sureness.next_labels import rank_tasks
from allalike.report.material import Material
from allalike.telling.summary import Summary

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from allalike.api.agreement.agreement import Agreement
    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing

__all__ = ["gather_material", "put_page_or_note", "write_page"]

_NOTE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="generator" content="allalike">
<title>allalike report</title>
<p>{}</p>
"""
_MAX_NEXT = 100  # tasks that a report may name as the next


def gather_material(
    run: Run,
    weighing: Weighing,
    found: TaskTable,
    summary: Mapping[str, Any],
    agreement: Agreement | None,
    inputs: tuple[Path, ...],
) -> Material:
    """Return what a report is made of."""
    return Material(
        run=run,
        weighing=weighing,
        found=found,
        summary=Summary.from_dict(summary),
        workers=worker_columns(run, weighing),
        next_tasks=next_columns(rank_tasks(found.pieces(), _MAX_NEXT), weighing),
        agreement=agreement,
        effects=None if agreement is None else agreement.alpha - agreement.found.without,
        inputs=tuple(path.name for path in inputs),
    )


def _put_page(material: Material, path: Path) -> None:
    """Write a page to a path where nothing is."""
    from allalike.report.page import render

    path.write_text(render(material), encoding="utf-8")


def put_page_or_note(material: Callable[[], Material], path: Path) -> None:
    """Write a page, or where memory does not suffice one that says so, for the tables beside it must not be lost."""
    try:
        _put_page(material(), path)
    except MemoryError:
        missing = "The report is missing: there was not enough memory to write it. The tables beside it are whole."
        warnings.warn(missing, ReportWarning, stacklevel=3)
        path.write_text(_NOTE.format(missing), encoding="utf-8")


def write_page(material: Material, path: str | os.PathLike[str], *, inputs: tuple[Path, ...], overwrite: bool) -> Path:
    """Write a page, whole or not at all, in the place of nothing but an earlier one unless it may overwrite."""
    target = Path(path)
    with page_output(path, inputs=inputs, overwrite=overwrite).staged([target.name]) as stage:
        _put_page(material, stage / target.name)
    return target
