"""Save a result as files in a folder, or as a page, atomically."""

from __future__ import annotations

import json
import shutil
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.columns.values import Values, table_of
from allalike._core.options import check_choice
from allalike._core.system.files import list_files
from allalike._core.system.tables import FORMATS, guard_table, write_tables
from allalike.answers.storage import UnwritableError
from allalike.errors import OptionError, ReportWarning
from allalike.methods.auto.next_labels import rank_tasks
from allalike.readers.formats.files import Files
from allalike.result.flags import flag_columns, put_flagged_first
from allalike.result.saved import FORMAT, STATE, SUMMARY, find_date, write_call
from allalike.result.saved import SavedAs as SavedAs
from allalike.result.summaries import group_columns
from allalike.result.summary import name_schema
from allalike.result.tables import (
    list_truths,
    next_columns,
    object_table,
    probability_table,
    shorten_workers,
    truth_table,
)
from allalike.result.targets import (
    DETAILS,
    REPORT,
    find_writers,
    page_output,
    place_table,
    result_output,
    written_names,
)
from allalike.result.writers import Findings

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from allalike._core.blocks.block import Array
    from allalike.report.material import Material
    from allalike.result.result import Result
    from allalike.result.saved import Call

    Tables = Mapping[str, Mapping[str, Values | Array]]

_MAX_NEXT = 100_000  # tasks in the table of tasks to ask about next
_UNKEPT = "that was asked for"  # why the answers are not kept
_NO_REPORT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="generator" content="allalike">
<title>allalike report</title>
<p>{}</p>
"""


def save_result(
    result: Result[Any],
    folder: str | os.PathLike[str],
    how: SavedAs,
    *,
    overwrite: bool = False,
    answers: bool = True,
    tables: Tables | None = None,
    notes: Mapping[str, Any] | None = None,
    unchanged: str | None = None,
    material: Callable[[], Material] | None = None,
) -> list[Path]:
    """Write a result as `Result.save` does, with further tables, by name, and with notes in the summary.

    A table of truths among them replaces that of the result. If the digest of an ``unchanged`` result is given, no
    other result is replaced. A panel gives the ``material`` of its report.
    """
    run, encoding = result.run, result.run.encoding
    output = result_output(folder, inputs=result.inputs, overwrite=overwrite, unchanged=unchanged)
    place = partial(place_table, file_format=check_choice(how.format, FORMATS, "format"))
    if how.safe_csv and how.format != "csv":
        raise OptionError(f"safe_csv is for tables of text, and format is {how.format!r}. Leave one of them out.")
    posteriors = result._need_posteriors() if how.probabilities else None
    writers = find_writers(how.to).values()
    for writer in writers:
        writer.check(run.domain.name, result.inputs)
    call = result.call and result.call.dated(find_date(), result.summary.get("changes", {}).get("turned"))
    dates = {"generations": list(call.generations)} if call is not None and len(call.generations) > 1 else {}
    notes = {**(notes or {}), **dates}
    flagged = flag_columns(run, result.weighing)
    written = {place(name): columns for name, columns in _list_tables(result, tables or {}).items()}
    written[f"{DETAILS}/workers.{how.format}"] = flagged
    if "judges" not in (tables or {}):
        written = {place("workers"): shorten_workers(put_flagged_first(flagged)), **written}
    names = [*([] if place("truth") in written else [place("truth")]), *written]
    names += [place("objects")] if encoding.things is not None else []
    names += [place("probabilities")] if posteriors is not None else []
    names = [*sorted(names, key=lambda name: "/" in name), *([REPORT] if how.report else []), SUMMARY]
    with output.staged([*names, *written_names(writers)]) as stage:
        (stage / DETAILS).mkdir()
        for name, columns in written.items():
            write_tables(stage / name, [_finish(table_of, how.safe_csv, columns)])
        if place("truth") not in written:
            rows = partial(truth_table, encoding=encoding, weighing=result.weighing, folder=stage)
            result.found.write(stage / place("truth"), partial(_finish, rows, how.safe_csv))
        if encoding.things is not None:
            rows = partial(object_table, things=encoding.things)
            result.found.write(stage / place("objects"), partial(_finish, rows, how.safe_csv))
        if posteriors is not None:
            rows = partial(probability_table, encoding=encoding)
            posteriors.write(stage / place("probabilities"), partial(_finish, rows, how.safe_csv))
        for writer in writers:
            (stage / writer.name).mkdir()
            writer.write(_list_findings(result, flagged, safe_csv=how.safe_csv), stage / writer.name)
        if how.report:
            _write_page_or_note(material or partial(_gather, result, notes), stage / REPORT)
        further = [f"{writer.name}/{name}" for writer in writers for name in list_files(stage / writer.name)]
        kept = _write_state(stage / STATE, call, result.summary, None if material else how) if answers else _UNKEPT
        described = {
            "schema": name_schema("discover"),
            **result.summary,
            "state": {"not_kept": kept} if kept else {"format": FORMAT},
            **notes,
            **({"safe_csv": True} if how.safe_csv else {}),
            **({"inputs": list(result.sources)} if result.sources else {}),
            "files": [*list_files(stage), SUMMARY],
        }
        text = json.dumps(described, indent=2, ensure_ascii=False, default=str)  # ids may be dates
        (stage / SUMMARY).write_text(f"{text}\n", encoding="utf-8")
    return [output.folder / name for name in (*names, *further)]


def _list_tables(result: Result[Any], more: Tables) -> dict[str, Mapping[str, Values | Array]]:
    """Return the tables beside those of labels and workers by name; empty ones are not written."""
    tables: dict[str, Mapping[str, Values | Array]] = {
        "groups": group_columns(result.run, result.weighing),
        "next_tasks": next_columns(rank_tasks(result.found.pieces(), _MAX_NEXT), result.weighing),
        **result._rated,
        **more,
    }
    always = ("truth", "judges")
    return {name: columns for name, columns in tables.items() if name in always or len(next(iter(columns.values())))}


def _write_state(folder: Path, call: Call | None, summary: Mapping[str, Any], how: SavedAs | None) -> str:
    """Write what the result can be loaded from; return why that is not possible, or an empty text."""
    if call is None:
        return "its numbers were moved"
    try:
        write_call(folder, call, summary, how)
    except UnwritableError as error:
        shutil.rmtree(folder, ignore_errors=True)
        return str(error)
    return ""


def _list_findings(result: Result[Any], flagged: Mapping[str, Values | Array], *, safe_csv: bool) -> Findings:
    """Return what writers for other tools need."""
    run = result.run
    listed = zip(*(flagged[name].tolist() for name in ("worker", "flag", "reason")), strict=True)
    read = {name: known for name, known in result.summary.get("guessed", {}).items() if name in ("tool", "question")}
    files = Files() if result.call is None else result.call.read
    return Findings(
        domain=run.domain.name,
        truths=lambda: list_truths(result.found.pieces(), run.encoding, result.weighing),
        blocked={worker: reason.split(", ") for worker, flag, reason in listed if flag == "block"},
        inputs=result.inputs,
        files=replace(files, **read),
        model=f"allalike {result.summary['versions']['allalike']}",
        safe_csv=safe_csv,
    )


def _finish(rows: Callable[[Any], pa.Table], safe_csv: bool, part: Any) -> pa.Table:  # for partial
    """Return a part as a table as it is to be written; made of functions that other machines know, too."""
    table = rows(part)
    return guard_table(table) if safe_csv else table


def _gather(result: Result[Any], notes: Mapping[str, Any]) -> Material:
    from allalike.report.material import Material

    return Material(result, notes=notes)


def _write_page_or_note(material: Callable[[], Material], path: Path) -> None:
    """Write a report; if memory does not suffice, write a page that says so, because the tables must not be lost."""
    from allalike.report.page import render

    try:
        path.write_text(render(material()), encoding="utf-8")
    except MemoryError:
        missing = "The report is missing: there was not enough memory to write it. The tables beside it are whole."
        warnings.warn(missing, ReportWarning, stacklevel=4)
        path.write_text(_NO_REPORT.format(missing), encoding="utf-8")


def write_page(material: Material, path: str | os.PathLike[str], *, inputs: tuple[Path, ...], overwrite: bool) -> Path:
    """Write a report atomically; it replaces an earlier report, and other files only if it may overwrite."""
    from allalike.report.page import render

    target = Path(path)
    with page_output(path, inputs=inputs, overwrite=overwrite).staged([target.name]) as stage:
        (stage / target.name).write_text(render(material), encoding="utf-8")
    return target
