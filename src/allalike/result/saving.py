"""Saving: a result as files in a folder, or as a page, whole or not at all.

A page gets its tables as columns: those in pandas, whose import takes as long as the report, are for users.
"""

from __future__ import annotations

import json
import shutil
import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.columns.values import Values, table_of
from allalike._core.options import check_choice
from allalike._core.system.files import list_files
from allalike._core.system.tables import FORMATS, guard_table, write_tables
from allalike.errors import OptionError, ReportWarning, UnsupportedError
from allalike.frames import Frame
from allalike.methods.auto.sureness.next_labels import rank_tasks
from allalike.readers.formats.files import Files
from allalike.report.material import Material
from allalike.result.inputs.saved_files import STATE
from allalike.result.quality import Rated
from allalike.result.summaries import group_columns
from allalike.result.tables import (
    list_truths,
    next_columns,
    object_table,
    probability_table,
    truth_table,
    worker_columns,
)
from allalike.result.targets import (
    REPORT,
    find_writers,
    list_output,
    page_output,
    result_names,
    result_output,
    written_names,
)
from allalike.result.writers import Findings
from allalike.telling.summary import Summary

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    import pyarrow as pa

    from allalike._core.blocks.block import Array
    from allalike.engines import Piece, Run, TaskTable
    from allalike.methods import Weighing
    from allalike.reliability.agreement import Agreement
    from allalike.result.inputs.opening import Basis

_MAX_NEXT = 100_000  # tasks that are listed to be asked next
_NOTE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="generator" content="allalike">
<title>allalike report</title>
<p>{}</p>
"""
_MAX_NEXT_ON_PAGE = 100  # tasks that a report may name as the next


class Saved(Rated[Frame], ABC):
    """What can be saved: truths that were found in a run, and the workers that were weighed.

    >>> import allalike
    >>> isinstance(allalike.discover([("ada", 1, "x"), ("bob", 1, "x")]), Saved)
    True
    """

    posteriors: Callable[[], TaskTable] | None
    inputs: tuple[Path, ...]
    basis: Basis | None
    files: Files | None
    sources: tuple[str, ...]

    @property
    @abstractmethod
    def probabilities(self) -> Frame:
        """How probable each class is, one row per task, where `posteriors` finds it."""

    @abstractmethod
    def material(self) -> Material:
        """Return what a report is made of."""

    def _need_posteriors(self) -> TaskTable:
        """Return how probable each class is, per task, if the method says so."""
        if self.posteriors is None:
            method = Summary.from_dict(self.summary).method.name
            able = "DS, DS-1, IBCC, EBCC, BWA, GLAD and MACE do"
            raise UnsupportedError(f"{method} does not say how probable each class is. {able}.")
        return self.posteriors()

    def material_with(self, tables: Mapping[str, Mapping[str, Values | Array]], notes: Mapping[str, Any]) -> Material:
        """Return what a report is made of, with the tables of a panel, and with notes in the summary."""
        return replace(self.material(), panel=tables, summary=Summary.from_dict({**self.summary, **notes}))

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        format: str = "csv",  # noqa: A002
        to: Iterable[str] = (),
        overwrite: bool = False,
        report: bool = False,
        safe_csv: bool = False,
        probabilities: bool = False,
        answers: bool = True,
    ) -> list[Path]:
        """Write truth, workers, groups, next tasks, quality and summary into a folder, whole or not; return the paths.

        The files of an earlier result, which its summary lists, make way; all else in the folder stays.

        >>> import allalike, tempfile
        >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in result.save(folder + "/out")]
        ['truth.csv', 'workers.csv', 'groups.csv', 'next.csv', 'quality.csv', 'confusion.csv', 'summary.json']
        """
        how: dict[str, Any] = {"overwrite": overwrite, "report": report, "safe_csv": safe_csv, "answers": answers}
        return self.save_with({}, {}, folder, format=format, to=to, probabilities=probabilities, **how)

    def save_with(
        self,
        tables: Mapping[str, Mapping[str, Values | Array]],
        notes: Mapping[str, Any],
        folder: str | os.PathLike[str],
        *,
        format: str = "csv",  # noqa: A002
        to: Iterable[str] = (),
        overwrite: bool = False,
        report: bool = False,
        safe_csv: bool = False,
        probabilities: bool = False,
        answers: bool = True,
        changes: Mapping[str, Values | Array] | None = None,
        unchanged: str | None = None,
    ) -> list[Path]:
        """Write as `save` does, with further tables, by their names, and with notes in the summary.

        A table of truths among them takes the place of the one that was found. The result may be one that others were
        added to: then it has a table of ``changes``, and takes the place of no other but one that is ``unchanged``.
        """
        from allalike.result.flags import flag_columns, put_flagged_first
        from allalike.telling.schemas import name_schema

        run, weighing, encoding = self.run, self.weighing, self.run.encoding
        output = result_output(folder, inputs=self.inputs, overwrite=overwrite, unchanged=unchanged)
        truth, workers, groups, ahead, objects, soft, summary = result_names(check_choice(format, FORMATS, "format"))
        looked = weighing.insight.groups is not None
        basis, dates = self._date()
        notes = {**notes, **dates}
        every = {**self.rated, **tables, **({} if changes is None else {"changes": changes})}
        more = {f"{name}.{format}": columns for name, columns in every.items()}
        posteriors = self._need_posteriors() if probabilities else None
        optional = {groups: looked, ahead: True, objects: encoding.things is not None, soft: probabilities}
        optional |= {**dict.fromkeys(more, True), REPORT: report, summary: True}
        if safe_csv and format != "csv":
            raise OptionError(f"safe_csv is for tables of text, and format is {format!r}. Leave one of them out.")
        optional.pop(truth, None)
        names = [truth, workers, *(name for name, there in optional.items() if there)]
        to = [to] if isinstance(to, str) else list(to)
        writers = find_writers(to).values()
        dressed = guard_table if safe_csv else _as_it_is
        for writer in writers:
            writer.check(run.domain.name, self.inputs)
        with output.staged([*names, *written_names(writers)]) as stage:
            rows = partial(truth_table, encoding=encoding, weighing=weighing, folder=stage)
            if truth not in more:
                self.found.write(stage / truth, partial(_dress, rows, dressed))
            flagged = flag_columns(run, weighing, self.found, self.summary)
            write_tables(stage / workers, [dressed(table_of(put_flagged_first(flagged)))])
            if looked:
                write_tables(stage / groups, [dressed(table_of(group_columns(run, weighing)))])
            asked = rank_tasks(self.found.pieces(), _MAX_NEXT)
            write_tables(stage / ahead, [dressed(table_of(next_columns(asked, weighing)))])
            if encoding.things is not None:
                listed = partial(object_table, things=encoding.things)
                self.found.write(stage / objects, partial(_dress, listed, dressed))
            if posteriors is not None:
                posteriors.write(stage / soft, partial(_dress, partial(probability_table, encoding=encoding), dressed))
            for name, columns in more.items():
                write_tables(stage / name, [dressed(table_of(columns))])
            for writer in writers:
                (stage / writer.name).mkdir()
                writer.write(self._findings(flagged, safe_csv=safe_csv), stage / writer.name)
            if report:
                _put_page_or_note(partial(self.material_with, tables, notes), stage / REPORT)
            further = [f"{writer.name}/{name}" for writer in writers for name in list_files(stage / writer.name)]
            why = "" if answers else "that was asked for"
            how = {"format": format, "to": to, "report": report, "probabilities": probabilities}
            kept = self._keep(stage / STATE, basis, None if tables else {**how, "safe_csv": safe_csv}, why)
            said = {"state": kept, **notes, **({"safe_csv": True} if safe_csv else {})}
            described = {
                "schema": name_schema("discover"),
                **self.summary,
                **said,
                **({"inputs": list(self.sources)} if self.sources else {}),
                "files": [*list_files(stage), summary],
            }
            text = json.dumps(described, indent=2, ensure_ascii=False)
            (stage / summary).write_text(f"{text}\n", encoding="utf-8")
        return [output.folder / name for name in (*names, *further)]

    def _date(self) -> tuple[Basis | None, dict[str, Any]]:
        """Return what it was found from, with the date, and what a summary says of several ones."""
        from allalike.result.inputs.state import find_date

        if self.basis is None:
            return None, {}
        basis = self.basis.dated(find_date(), self.summary.get("changes", {}).get("turned"))
        several = len(basis.generations) > 1
        return basis, {"generations": list(basis.generations)} if several else {}

    def _keep(self, folder: Path, basis: Basis | None, how: Mapping[str, Any] | None, why: str) -> dict[str, Any]:
        """Write what the result can be loaded from, and how it is saved; or say why that cannot be, or is not."""
        from allalike.result.inputs.state import FORMAT, write_state

        groups = self.weighing.insight.groups
        if basis is None or why:
            return {"not_kept": why or "its numbers were moved"}
        copies = [
            [self.run.workers[n] for n in group.members] for group in (groups.found if groups else ()) if group.copies
        ]
        said: dict[str, Any] = {name: self.summary[name] for name in ("warnings", "changes") if name in self.summary}
        try:
            write_state(folder, basis, self.found.pieces(), copies, {**said, "saved": how})
        except (TypeError, ValueError) as error:
            shutil.rmtree(folder)
            return {"not_kept": str(error)}
        return {"format": FORMAT}

    def save_block_list(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> list[Any]:
        """Write the ids of workers whose answers are better left out, one a line, into a file; return them.

        They are those whom ``workers.csv`` flags ``block``, with the reasons. The file is empty if there are none, and
        may take the place of an earlier list of workers.

        >>> import allalike, tempfile
        >>> said = {"ada": "xyzxyzxyzx", "bob": "xyzxyzxyzz", "eve": "zzzzzzzzzz"}
        >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     allalike.discover(rows).save_block_list(folder + "/block.txt")
        ['eve']
        """
        from allalike.result.flags import flag_workers, list_reasons

        ids = self.run.workers.tolist()
        reasons = list_reasons(self.run, self.weighing, self.found, self.summary)
        flags = flag_workers(self.run, self.weighing, reasons)
        blocked = list(dict.fromkeys(each for each, flag in zip(ids, flags, strict=True) if flag == "block"))
        output = list_output(path, ids, inputs=self.inputs, overwrite=overwrite)
        with output.staged([Path(path).name]) as stage:
            (stage / Path(path).name).write_text("".join(f"{each}\n" for each in blocked), encoding="utf-8")
        return blocked

    def _findings(self, flagged: Mapping[str, Values | Array], *, safe_csv: bool) -> Findings:
        """Return what writers for other tools may tell."""
        run, weighing = self.run, self.weighing
        listed = zip(*(flagged[name].tolist() for name in ("worker", "flag", "reason")), strict=True)
        read = {name: known for name, known in self.summary.get("guessed", {}).items() if name in ("tool", "tag")}
        return Findings(
            domain=run.domain.name,
            truths=lambda: list_truths(self.found.pieces(), run.encoding, weighing),
            blocked={worker: reason.split(", ") for worker, flag, reason in listed if flag == "block"},
            inputs=self.inputs,
            files=replace(self.files or Files(), **read),
            model=f"allalike {Summary.from_dict(self.summary).versions['allalike']}",
            safe_csv=safe_csv,
        )


def _as_it_is(table: pa.Table) -> pa.Table:
    return table


def _dress(rows: Callable[[Piece], pa.Table], dressed: Callable[[pa.Table], pa.Table], piece: Piece) -> pa.Table:
    """Return a piece as a table as it is to be written; made of functions that other machines know, too."""
    return dressed(rows(piece))


def gather_material(
    run: Run,
    weighing: Weighing,
    found: TaskTable,
    summary: Mapping[str, Any],
    agreement: Agreement | None,
    command: tuple[str, ...],
) -> Material:
    """Return what a report is made of."""
    from allalike.reliability.agreement import measure_scales

    return Material(
        run=run,
        weighing=weighing,
        found=found,
        summary=Summary.from_dict(summary),
        workers=worker_columns(run, weighing),
        next_tasks=next_columns(rank_tasks(found.pieces(), _MAX_NEXT_ON_PAGE), weighing),
        agreement=agreement,
        effects=None if agreement is None else agreement.alpha - agreement.found.without,
        command=command,
        scales={} if agreement is None else measure_scales(run),
    )


def _put_page(material: Material, path: Path) -> None:
    """Write a page to a path where nothing is."""
    from allalike.report.page import render

    path.write_text(render(material), encoding="utf-8")


def _put_page_or_note(material: Callable[[], Material], path: Path) -> None:
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
