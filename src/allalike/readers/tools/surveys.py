"""Surveys: one row for each person and one column for each question, beside columns that are none."""

from __future__ import annotations

import csv
import io
import re
from abc import abstractmethod
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike.errors import InputError
from allalike.readers.formats.encodings import read_text
from allalike.readers.formats.failures import guard
from allalike.readers.formats.spreadsheets import BOOKS, read_sheet
from allalike.readers.formats.tables import Table, join
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.careless import find_fast, find_inattentive, find_straight
from allalike.readers.tools.sheets import BLANKS, as_text, delimiter_of
from allalike.readers.tools.survey_blocks import find_blocks, find_matrices, stem_of
from allalike.readers.tools.survey_columns import asks_consent, asks_who, find_instructed, is_written, plain_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files

__all__ = ["UNTICKED", "SurveyForm", "SurveyTool", "fill_ticks"]

_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(\D.*)?")
_SHOWN = 12  # a remark lists this many names
_CARELESS_SHOWN = 5  # and this many people with reasons
_WRITTEN = "free text or dates"
_SECONDS = frozenset({"durationinseconds", "interviewtime", "totaltime", "duration"})


UNTICKED = "no"
_MARKS = frozenset({"1", "1.0", "y", "x", "true", "checked", "selected"})


@dataclass
class SurveyForm:
    """The answers of one file: a head for each column, what each person said, and which columns are no questions.

    ``texts`` are what was asked, where heads are codes, and ``checks`` the right answers to checks of attention.

    >>> SurveyForm(["Q1"], [["yes"], ["no"]]).column("Q1")
    ['yes', 'no']
    """

    names: list[str]
    rows: list[list[str]]
    remarks: list[str] = field(default_factory=list)
    aside: frozenset[str] = frozenset()
    texts: dict[str, str] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)

    def wording(self, name: str) -> str:
        """Return what a column asked: the last part of its text where it is one of several, or else its name."""
        return self.texts.get(name, name)

    def column(self, name: str) -> list[str]:
        """Return what all said in a column; a short row has said nothing in the last."""
        place = self.names.index(name)
        return [row[place] if place < len(row) else "" for row in self.rows]

    def leave_out(self, name: str | None, values: Iterable[str], why: str) -> None:
        """Leave out the rows with one of these values, in any case, and remark how many there were."""
        if name is None:
            return
        gone = set(values)
        kept = [
            row for row, value in zip(self.rows, self.column(name), strict=True) if value.strip().casefold() not in gone
        ]
        if len(kept) < len(self.rows):
            self.remarks.append(f"{len(self.rows) - len(kept):,} of {len(self.rows):,} rows {why} and are left out.")
            self.rows = kept


class SurveyTool(Tool):
    """A tool whose exports are matrices of people and questions."""

    questions_name: ClassVar[str] = "question"
    answers_name: ClassVar[str] = "answer"

    @abstractmethod
    def prepare(self, form: SurveyForm) -> None:
        """Take away the rows that are no answers, and give names to columns that have none."""

    @abstractmethod
    def is_about(self, name: str) -> bool:
        """Tell whether a column tells something about the person or the form, and is no question."""

    @abstractmethod
    def find_worker(self, form: SurveyForm) -> str | None:
        """Return the column with the id of a person, if there is one."""

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open exports as answers of people to questions; columns that are no questions stay beside them."""
        forms = [_read(path, files) for path in paths]
        asked = [self._ask(form, path, files) for form, path in zip(forms, paths, strict=True)]
        blocks = find_blocks(_join_columns([answers for _, answers in asked]))
        tables = [
            self._stack(form, path, who, answers, blocks, len(paths) > 1)
            for form, path, (who, answers) in zip(forms, paths, asked, strict=True)
        ]
        remarks = [remark for table in tables for remark in table.remarks]
        joined = join(tables)
        return Table(
            joined.names,
            joined.load,
            joined.where,
            text=True,
            roles=tables[0].roles,
            guessed={"tool": self.name, "wide": "workers", "missing": "drop"},
            remarks=tuple(dict.fromkeys(remarks)),
            scales=tables[0].scales,
            careless={who: why for table in tables for who, why in table.careless.items()},
        )

    def _ask(self, form: SurveyForm, path: Path, files: Files) -> tuple[str | None, dict[str, list[str]]]:
        """Return the column with the ids of people, if there is one, and the answers to each question."""
        self.prepare(form)
        form.names = _different(form.names)
        if not form.rows:
            raise InputError(f"{path} has questions, but no answers.")
        worker = self.find_worker(form)
        return worker, {name: form.column(name) for name in self._choose(form, worker, files, path)}

    def _stack(
        self,
        form: SurveyForm,
        path: Path,
        worker: str | None,
        answers: dict[str, list[str]],
        blocks: Mapping[str, str],
        several: bool,
    ) -> Table:
        questions = list(answers)
        ticks = fill_ticks(answers)
        if ticks:
            form.remarks.append(f"Options that were not ticked are {UNTICKED!r}, of {_shortened(list(ticks))}.")
        cells = np.array([[cell.strip() for cell in column] for column in (answers | ticks).values()], dtype=object)
        given = ~np.isin(cells, list(BLANKS))
        if not given.any():
            raise InputError(f"Nobody in {path} has answered any of {_shortened(questions)}.")
        question, row = np.nonzero(given)
        name = worker or "row"
        numbers = [f"{path.stem} {number}" if several else str(number) for number in range(1, len(form.rows) + 1)]
        others = [other for other in form.names if other not in answers]
        about = {other: form.column(other) for other in others} | ({} if worker else {name: numbers})
        matrices = find_matrices({each: column for each, column in answers.items() if each not in ticks})
        careless = self._find_careless(
            form, {stem: [answers[each] for each in rows] for stem, rows in matrices.items()}
        )
        reasons = {about[name][place]: why for place, why in careless.items()}
        form.remarks += _tell_careless(reasons)
        task, label, block, look = (
            _unused(head, about) for head in (self.questions_name, self.answers_name, "block", "careless")
        )
        about[look] = ["yes" if place in careless else "no" for place in range(len(form.rows))]

        def load(asked: Sequence[str]) -> dict[str, Any]:
            values = {
                task: lambda: np.array(questions, dtype=object)[question],
                block: lambda: np.array([blocks[each] for each in questions], dtype=object)[question],
                label: lambda: cells[given],
            }
            return {
                head: as_text(values[head]() if head in values else np.array(about[head], object)[row])
                for head in asked
            }

        roles = {"worker": name, "task": task, "label": label}
        names = [*about, block, task, label]
        told: dict[str, Any] = {"remarks": tuple(form.remarks), "scales": block, "careless": reasons}
        return Table(names, load, str(path), text=True, roles=roles, **told)

    def _find_careless(self, form: SurveyForm, matrices: Mapping[str, list[list[str]]]) -> dict[int, list[str]]:
        """Return the rows of people whose answers deserve a look, each with the reasons."""
        found: dict[int, list[str]] = {}
        for name, right in form.checks.items():
            for row in find_inattentive(form.column(name), right):
                found.setdefault(row, []).append(f"not {right!r} in {name}")
        for stem, columns in matrices.items():
            for row in find_straight(columns):
                found.setdefault(row, []).append(f"the same answer in all of {stem}")
        seconds = next((name for name in form.names if plain_name(name.partition(".")[0]) in _SECONDS), None)
        fast, median = find_fast(form.column(seconds) if seconds else [])
        for row in fast:
            found.setdefault(row, []).append(
                f"{float(form.column(str(seconds))[row]):.0f} s, the median is {median:.0f}"
            )
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    def _choose(self, form: SurveyForm, worker: str | None, files: Files, path: Path) -> list[str]:
        """Return the columns that are questions."""
        reasons = {name: self._find_reason(form, name) for name in form.names if name != worker}
        form.checks = {name: form.checks[name] for name in form.checks if not _matches(name, files.only)}
        if files.only:
            questions = [name for name in form.names if _matches(name, files.only)]
            if not questions:
                raise InputError(f"{path} has no column like {', '.join(files.only)}. It has: {', '.join(form.names)}.")
        else:
            questions = [name for name, reason in reasons.items() if reason is None]
            questions = questions or [name for name, reason in reasons.items() if reason == _WRITTEN]
            form.remarks += _tell_others({name: str(why) for name, why in reasons.items() if name not in questions})
        questions = [name for name in questions if not _matches(name, files.skip)]
        if not questions:
            raise InputError(f"{path} has no column that is a question. It has: {', '.join(form.names)}.")
        return questions

    def _find_reason(self, form: SurveyForm, name: str) -> str | None:
        """Return why a column is no question, in a word or none; a check of attention is noted."""
        texts = {name, form.wording(name)}
        if name not in form.aside and any(map(asks_who, texts)):
            return "who people are"
        if name in form.aside or self.is_about(name):
            return ""
        if any(map(asks_consent, texts)):
            return "consent"
        right = next(filter(None, (find_instructed(text, set(form.column(name))) for text in sorted(texts))), None)
        if right is not None:
            form.checks[name] = right
            return "a check of attention"
        filled = [cell.strip() for cell in form.column(name) if not _is_blank(cell)]
        written = bool(filled) and (is_written(texts, filled) or all(map(_DATE.fullmatch, filled)))
        return _WRITTEN if written else None


def _tell_others(reasons: Mapping[str, str]) -> list[str]:
    """Say in one sentence which columns are no questions: those first that ask something, with the reason.

    >>> _tell_others({"StartDate": "", "Q1": "consent", "Q9": "who people are", "Q10": "who people are"})
    ['These columns are not taken as questions: Q1 (consent); Q9, Q10 (who people are); StartDate.']
    """
    groups: dict[str, list[str]] = {}
    for name, reason in sorted(reasons.items(), key=lambda item: not item[1]):
        groups.setdefault(reason, []).append(name)
    listed = [_shortened(names) + (f" ({reason})" if reason else "") for reason, names in groups.items()]
    return [f"These columns are not taken as questions: {'; '.join(listed)}."] if listed else []


def _tell_careless(reasons: Mapping[str, Sequence[str]]) -> list[str]:
    """Say whose answers deserve a look, and why.

    >>> _tell_careless({"R_7": ["the same answer in all of Q2", "35 s, the median is 540"]})
    ['Look at the answers of 1 person: R_7 (the same answer in all of Q2; 35 s, the median is 540).']
    """
    if not reasons:
        return []
    shown = [f"{name} ({'; '.join(why)})" for name, why in list(reasons.items())[:_CARELESS_SHOWN]]
    more = f" and {len(reasons) - len(shown)} more" if len(reasons) > len(shown) else ""
    people = "1 person" if len(reasons) == 1 else f"{len(reasons):,} people"
    return [f"Look at the answers of {people}: {', '.join(shown)}{more}."]


def _read(path: Path, files: Files) -> SurveyForm:
    if not path.is_file():
        raise InputError(f"There is no file {path}." if not path.exists() else f"{path} is a folder.")
    peek = Peek(path)
    try:
        rows = guard(path, "text with columns", lambda: _read_rows(peek, files))
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as text with columns: {error}.") from error
    if not rows:
        raise InputError(f"{path} is empty.")
    return SurveyForm(rows[0], rows[1:])


def _read_rows(peek: Peek, files: Files) -> list[list[str]]:
    if peek.ending in BOOKS:
        return read_sheet(peek.path)
    lines = io.StringIO(read_text(peek.path, files.encoding), newline="")
    return [row for row in csv.reader(lines, delimiter=delimiter_of(peek)) if row]


def _join_columns(forms: Sequence[Mapping[str, list[str]]]) -> dict[str, list[str]]:
    """Return the answers to each question in all forms."""
    names = dict.fromkeys(name for form in forms for name in form)
    return {name: [cell for form in forms for cell in form.get(name, [])] for name in names}


def _different(names: Sequence[str]) -> list[str]:
    """Number heads that occur before, and those that are empty."""
    seen: dict[str, int] = {}
    different = []
    for place, name in enumerate(names, start=1):
        head = name.strip() or f"column {place}"
        seen[head] = seen.get(head, 0) + 1
        different.append(head if seen[head] == 1 else f"{head} ({seen[head]})")
    return different


def _unused(name: str, taken: Iterable[str]) -> str:
    used = set(taken)
    return next(head for head in (name, *(f"{name} {n}" for n in range(2, len(used) + 3))) if head not in used)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def _shortened(names: Sequence[str]) -> str:
    listed = ", ".join(name if len(name) <= 40 else f"{name[:37]}..." for name in names[:_SHOWN])
    return listed + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def fill_ticks(columns: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the columns of options, in which those that somebody left open who ticked another are no longer empty.

    Options of a question are columns that are called alike but for a number or brackets at the end. Each has one value
    only: the same mark in all of them, or the option's own text.

    >>> fill_ticks({"Q1_1": ["tea", "", ""], "Q1_2": ["milk", "milk", ""], "Q2_1": ["a", "b", ""]})
    {'Q1_1': ['tea', 'no', ''], 'Q1_2': ['milk', 'milk', '']}
    """
    groups: dict[str, dict[str, list[str]]] = {}
    for name, cells in columns.items():
        stem = stem_of(name)
        if stem != name:
            groups.setdefault(stem, {})[name] = cells
    filled: dict[str, list[str]] = {}
    for group in groups.values():
        if _are_ticks(group):
            ticked = [any(not _is_blank(cell) for cell in row) for row in zip(*group.values(), strict=True)]
            for name, cells in group.items():
                pairs = zip(cells, ticked, strict=True)
                filled[name] = [UNTICKED if there and _is_blank(cell) else cell for cell, there in pairs]
    return filled


def _are_ticks(group: Mapping[str, list[str]]) -> bool:
    values = [{cell.strip() for cell in cells if not _is_blank(cell)} for cells in group.values()]
    if len(group) < 2 or any(len(each) > 1 for each in values):
        return False
    marks = [value.casefold() for each in values for value in each]
    return bool(marks) and (set(marks) <= _MARKS or (len(set(marks)) == len(marks) > 1))


def _is_blank(cell: str) -> bool:
    return cell.strip() in BLANKS
