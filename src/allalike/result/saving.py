"""Save a result as files in a folder, or as a page, atomically."""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.columns.values import Values, table_of
from allalike._core.options import check_choice
from allalike._core.registry import make
from allalike._core.system.addresses import find_address
from allalike._core.system.files import Output, list_files
from allalike._core.system.tables import FORMATS, guard_table, guard_text, write_tables
from allalike.answers.storage import UnwritableError
from allalike.errors import InputError, OptionError, OutputError
from allalike.methods.auto.next_labels import rank_tasks
from allalike.readers.formats.files import Files
from allalike.readers.formats.remote_files import local_name
from allalike.readers.sources import list_inputs
from allalike.result.quality import put_flagged_first
from allalike.result.saved import FORMAT, STATE, SUMMARY, find_digest, read_summary, write_call
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
from allalike.result.writers import WRITERS, Findings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from allalike._core.blocks.block import Array
    from allalike.engines import TaskTable
    from allalike.report.report_data import Material
    from allalike.result.result import Result

    Tables = Mapping[str, Mapping[str, Values | Array]]
    _Rows = Callable[..., pa.Table]
    from collections.abc import Iterable

    import pandas as pd

    from allalike.result.writers import Writer

_MAX_NEXT = 100_000  # tasks in the table of tasks to ask about next


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
    """Write a result for `Result.save`, with further tables by name and further notes in the summary.

    A further table of labels replaces the table of the result. With the digest of an ``unchanged`` result, no other
    result is replaced. A panel passes the ``material`` of its report.
    """
    output = result_output(folder, inputs=result.inputs, overwrite=overwrite, unchanged=unchanged)
    place = partial(place_table, file_format=check_choice(how.format, FORMATS, "format"))
    if how.safe_csv and how.format != "csv":
        raise OptionError(f"safe_csv works with CSV only, but format is {how.format!r}. Remove one of the two options.")
    posteriors = result._need_posteriors() if how.probabilities else None
    writers = find_writers(how.to).values()
    for writer in writers:
        writer.check(result.run.domain.name, result.inputs)
    written, large = _list_tables(result, tables or {}, place), _list_large(result, posteriors, tables or {})
    names = sorted([*map(place, large), *written], key=lambda name: "/" in name)
    names += [*([REPORT] if how.report else []), SUMMARY]
    with output.staged([*names, *written_names(writers)]) as stage:
        (stage / DETAILS).mkdir()
        for name, columns in written.items():
            write_tables(stage / name, [_finish(table_of, how.safe_csv, columns)])
        for name, (table, rows) in large.items():
            whole = partial(rows, encoding=result.run.encoding, folder=stage)
            table.write(stage / place(name), partial(_finish, whole, how.safe_csv))
        for writer in writers:
            (stage / writer.name).mkdir()
            writer.write(_list_findings(result, safe_csv=how.safe_csv), stage / writer.name)
        if how.report:
            _write_report(result._material() if material is None else material(), stage / REPORT)
        further = [f"{writer.name}/{name}" for writer in writers for name in list_files(stage / writer.name)]
        kept = _write_state(result, stage / STATE, None if material else how) if answers else "as requested"
        state = {"not_kept": kept} if kept else {"format": FORMAT}
        _write_summary(result, stage, {"state": state, **(notes or {}), **({"safe_csv": True} if how.safe_csv else {})})
    return [output.folder / name for name in (*names, *further)]


def _list_tables(
    result: Result[Any], more: Tables, place: Callable[[str], str]
) -> dict[str, Mapping[str, Values | Array]]:
    """Return the tables that fit in memory by path, without empty ones."""
    tables: dict[str, Mapping[str, Values | Array]] = {
        "groups": group_columns(result.run, result.weighing),
        "next_tasks": next_columns(rank_tasks(result.found.pieces(), _MAX_NEXT), result.weighing),
        **result._rated,
        **more,
    }
    if "judges" not in more:
        tables = {"workers": shorten_workers(put_flagged_first(result._flagged)), **tables}
    always = ("truth", "judges")
    kept = {name: table for name, table in tables.items() if name in always or len(next(iter(table.values())))}
    return {**{place(name): table for name, table in kept.items()}, place("all workers"): result._flagged}


def _list_large(result: Result[Any], posteriors: TaskTable | None, more: Tables) -> dict[str, tuple[TaskTable, _Rows]]:
    """Return the tables that are written piece by piece, and the function that makes their rows."""
    large: dict[str, tuple[TaskTable, _Rows]] = {"truth": (result.found, partial(truth_table, fit=result.weighing))}
    if result.run.encoding.things is not None:
        large["objects"] = (result.found, object_table)
    if posteriors is not None:
        large["probabilities"] = (posteriors, probability_table)
    return {name: table for name, table in large.items() if name not in more}


def _write_state(result: Result[Any], folder: Path, how: SavedAs | None) -> str:
    """Write the data for `load`; return the reason if that is impossible, and otherwise an empty text."""
    if result.call is None:
        return "its numbers were shifted"
    try:
        write_call(folder, result.call, result.summary, how)
    except UnwritableError as error:
        shutil.rmtree(folder, ignore_errors=True)
        return str(error)
    return ""


def _write_summary(result: Result[Any], stage: Path, more: Mapping[str, Any]) -> None:
    described = {
        "schema": name_schema("discover"),
        **result.summary,
        **more,
        **({"inputs": list(result.sources)} if result.sources else {}),
        "files": [*list_files(stage), SUMMARY],
    }
    text = json.dumps(described, indent=2, ensure_ascii=False, default=str)  # ids may be dates
    (stage / SUMMARY).write_text(f"{text}\n", encoding="utf-8")


def _list_findings(result: Result[Any], *, safe_csv: bool) -> Findings:
    """Return the findings for writers of other tools' formats."""
    run = result.run
    listed = zip(*(result._flagged[name].tolist() for name in ("worker", "flag", "reason")), strict=True)
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
    """Return a part as a table ready for writing; all functions are importable on other machines."""
    table = rows(part)
    return guard_table(table) if safe_csv else table


def _write_report(material: Material, path: Path) -> None:
    from allalike.report.page import render

    path.write_text(render(material), encoding="utf-8")


def write_page(material: Material, path: str | os.PathLike[str], *, inputs: tuple[Path, ...], overwrite: bool) -> Path:
    """Write a report atomically; it replaces an earlier report, and other files only with ``overwrite``."""
    target, mark = Path(path), 'name="generator" content="allalike'
    output = _file_output(path, "report.html", lambda start: mark in start, inputs, overwrite=overwrite)
    with output.staged([target.name]) as stage:
        _write_report(material, stage / target.name)
    return target


# Paths of results and tables, and earlier files that may be replaced.

REPORT = "report.html"
DETAILS = "details"
_MAIN = ("truth", "workers", "judges")  # tables in the folder itself
_FURTHER = ("all workers", "groups", "next_tasks", "objects", "probabilities", "quality", "confusion", "changes")
_OF_PANELS = ("pairs", "sizes", "coverage", "orders", "samples", "verdicts", "rates", "ask", "drift", "annotators")
_PARTS = (
    f"{STATE}/*.parquet",
    f"{STATE}/*.json",
    "labels/*.png",
    "labels/*.nii.gz",
    "unweighted/*.png",
    "unweighted/*.nii.gz",
)
_PLAN = {"task", "worker", "price", "gain"}
_COMPARISON = {"method", "seconds", "iterations", "converged", "note"}


def place_table(name: str, file_format: str) -> str:
    """Return the path of a table in the folder of a result; all tables except the main ones are in ``details``."""
    return f"{name}.{file_format}" if name in _MAIN else f"{DETAILS}/{name.removeprefix('all ')}.{file_format}"


def result_names(file_format: str) -> list[str]:
    """List the possible files of a result or a panel, except mask files and files for other tools."""
    names = [place_table(name, file_format) for name in (*_MAIN, *_FURTHER, *_OF_PANELS)]
    return [*names, SUMMARY]


def find_writers(names: Iterable[str]) -> dict[str, Writer]:
    """Return the writers with these names, which may have options in brackets, without duplicates."""
    found = [make(name, WRITERS, "writer") for name in names]
    return {writer.name: writer for writer in found}


def written_names(writers: Iterable[Writer]) -> list[str]:
    """List the files that writers may write, as far as the names are known in advance."""
    return [f"{writer.name}/{file}" for writer in writers for file in writer.files if "*" not in file]


def result_output(
    folder: str | os.PathLike[str],
    *,
    inputs: tuple[Path, ...] = (),
    overwrite: bool = False,
    unchanged: str | None = None,
) -> Output:
    """Return the output folder of a result; an earlier result in it may be replaced.

    With the digest of an ``unchanged`` result, no other result may be replaced.

    >>> result_output("").check([])
    Traceback (most recent call last):
    allalike.errors.OutputError: The output folder is ''. Name a folder, such as allalike-out, or . for the current one.
    """
    name = os.fspath(folder)
    if not name:
        raise OutputError("The output folder is ''. Name a folder, such as allalike-out, or . for the current one.")
    name = local_name(name) if name.startswith("file:") else name
    if (address := find_address(name)) is not None:
        kind, remedy = "an address", "copy it there"
        if address.is_database:
            kind, remedy = "a database", "load its CSV or Parquet files into the database"
        raise OutputError(
            f"A result cannot be written to {address}, which is {kind}. Write it to a folder, such as"
            f" allalike-out, and {remedy}."
        )
    return Output(
        folder=Path(name),
        find_own=partial(list_saved, unchanged=unchanged),
        inputs=tuple(list_inputs(inputs)),
        overwrite=overwrite,
        index=SUMMARY,
        failure=f"The result cannot be written to {name}",
    )


def list_saved(folder: Path, unchanged: str | None = None) -> list[str]:
    """List the possible files of a result that its summary names.

    The digest of the result in the folder must be equal to that of an ``unchanged`` result.
    """
    if unchanged is not None and find_digest(folder) != unchanged:
        raise OutputError(f"Another process replaced the result in {folder}, so nothing was written. Update it again.")
    with suppress(OSError, ValueError, TypeError, KeyError, InputError):
        summary = read_summary(folder)
        listed = summary["files"] if "allalike" in summary["versions"] else []
        return [name for name in listed if _own_files().fullmatch(name)]
    return []


def names_input(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> bool:
    """Return whether the summary of a saved result lists a path among its inputs; the inputs are not opened."""
    with suppress(OSError, ValueError, TypeError, KeyError, InputError):
        listed = read_summary(Path(folder))["inputs"]
        return not {os.fspath(path), str(Path(path).absolute()), os.path.realpath(path)}.isdisjoint(listed)
    return False


@cache
def _own_files() -> re.Pattern[str]:
    """Return the pattern of the paths that may belong to a result.

    >>> names = ["details/groups.csv", "labels/t1.png", "truth.parquet/part-00000.parquet", "doccano/import.jsonl"]
    >>> all(map(_own_files().fullmatch, names))
    True
    >>> names = ["notes.txt", "labels/notes.txt", "labels/../t1.png", "groups.csv", "coco/notes.json", "labels"]
    >>> any(map(_own_files().fullmatch, names))
    False
    """
    names = [name for file_format in FORMATS for name in result_names(file_format)]
    parts = [f"{name}/*.parquet" for name in names if name.endswith(".parquet")]  # of a table written in parts
    further = [f"{name}/{pattern}" for name in WRITERS for pattern in WRITERS[name].files]
    return re.compile(
        "|".join(re.escape(name).replace(r"\*", "[^/]*") for name in (*names, REPORT, *parts, *_PARTS, *further))
    )


def table_output(path: str | os.PathLike[str], *, inputs: tuple[Path, ...] = (), overwrite: bool = False) -> Output:
    """Return the output file of a comparison or a plan, which may replace an earlier one."""

    def is_own(start: str) -> bool:
        head = set(start.partition("\n")[0].strip().split(","))
        return head >= _COMPARISON or head == _PLAN

    return _file_output(path, "table.csv", is_own, inputs, overwrite=overwrite)


def write_table(
    table: pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    inputs: tuple[Path, ...] = (),
    overwrite: bool = False,
    safe_csv: bool = False,
) -> Path:
    """Write a table as CSV atomically and return its path.

    An earlier comparison or plan is replaced. Another file is replaced only with ``overwrite``, and an input never.
    ``safe_csv`` puts an apostrophe before texts that a spreadsheet would interpret as formulas.
    """
    target = Path(path)
    with table_output(path, inputs=inputs, overwrite=overwrite).staged([target.name]) as stage:
        if safe_csv:
            table = table.map(lambda cell: guard_text(cell) if isinstance(cell, str) else cell)
        table.to_csv(stage / target.name, index=False)
    return target


def list_output(
    path: str | os.PathLike[str], ids: Iterable[object], *, inputs: tuple[Path, ...] = (), overwrite: bool = False
) -> Output:
    """Return the output file of a list of ids, one per line, which may replace a list of the same ids."""
    known = set(map(str, ids))
    if odd := next((each for each in known if len(each.splitlines()) > 1), None):
        raise OutputError(f"The id {odd!r} contains a line break, but the list has one id per line. Rename the worker.")

    def is_own(start: str) -> bool:
        *whole, rest = start.split("\n")
        return set(whole) <= known and any(each.startswith(rest) for each in known)

    return _file_output(path, "list.txt", is_own, inputs, overwrite=overwrite)


def _file_output(
    path: str | os.PathLike[str],
    example: str,
    is_own: Callable[[str], bool],
    inputs: tuple[Path, ...],
    *,
    overwrite: bool,
) -> Output:
    """Return the output for one file; ``is_own`` decides from the start of an existing file whether to replace it."""
    target, what = Path(path), example.partition(".")[0]
    if not os.fspath(path):
        raise OutputError(f"The path of the {what} is ''. Name a file, such as {example}.")
    if (address := find_address(path)) is not None:
        raise OutputError(f"The {what} cannot be written to {address}, which is not a local file. Name a local file.")
    if target.is_dir():
        raise OutputError(f"The {what} cannot be written to {os.fspath(path)}, which is a folder. Name a file in it.")
    return Output(
        folder=target.parent,
        find_own=lambda folder: [target.name] if is_own(_read_start(folder / target.name)) else [],
        inputs=tuple(list_inputs(inputs)),
        overwrite=overwrite,
        failure=f"The {what} cannot be written to {os.fspath(path)}",
    )


def _read_start(path: Path) -> str:
    """Return the start of a text file, or an empty text for anything else."""
    if not path.is_file():  # opening a pipe would block
        return ""
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(1000)
    except (OSError, ValueError):
        return ""
