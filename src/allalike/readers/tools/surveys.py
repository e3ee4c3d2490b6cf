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
from allalike.readers.tools.questions import is_free_text
from allalike.readers.tools.sheets import BLANKS, as_text, delimiter_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files

__all__ = ["UNTICKED", "SurveyForm", "SurveyTool", "asks_who", "fill_ticks", "plain_name"]

_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(\D.*)?")
_PERSON = re.compile(
    r"(your|the|please|enter|write|what|is|are|student|participant|respondent|full|first|last|sur|nick|user|my|\d)*"
    r"(name|nameandsurname|namesurname|firstnamelastname|vorname|nom|pr[eé]nom|nometpr[eé]nom|nombre|nombrecompleto"
    r"|nome|nomecompleto|email.*|phone|phonenumber|mobilenumber|studentid|rollno|rollnumber|prolificid|participantid"
    r"|age|howoldareyou|agegroup|agerange|dateofbirth|birthdate|birthday|yearofbirth|[aâ]ge|edad|idade|alter"
    r"|gender|sex|genre|sexe|sexo|g[eé]nero|geschlecht|country|nationality|ethnicity|nativelanguage|language"
    r"|education|educationlevel|levelofeducation|occupation|profession)"
)
_SHOWN = 12  # a remark lists this many names


UNTICKED = "no"
_MARKS = frozenset({"1", "1.0", "y", "x", "true", "checked", "selected"})
_OPTION = re.compile(r"(\s*\[[^\[\]]*\]|_\d+)$")


@dataclass
class SurveyForm:
    """The answers of one file: a head for each column, what each person said, and which columns are no questions.

    >>> SurveyForm(["Q1"], [["yes"], ["no"]]).column("Q1")
    ['yes', 'no']
    """

    names: list[str]
    rows: list[list[str]]
    remarks: list[str] = field(default_factory=list)
    aside: frozenset[str] = frozenset()

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
        tables = [self._stack(form, path, files, len(paths) > 1) for form, path in zip(forms, paths, strict=True)]
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
        )

    def _stack(self, form: SurveyForm, path: Path, files: Files, several: bool) -> Table:
        self.prepare(form)
        form.names = _different(form.names)
        if not form.rows:
            raise InputError(f"{path} has questions, but no answers.")
        worker = self.find_worker(form)
        questions, others = self._choose(form, worker, files, path)
        answers = {name: form.column(name) for name in questions}
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
        about = {other: form.column(other) for other in others} | ({} if worker else {name: numbers})
        task, label = (_unused(head, about) for head in (self.questions_name, self.answers_name))

        def load(asked: Sequence[str]) -> dict[str, Any]:
            values = {
                task: lambda: np.array(questions, dtype=object)[question],
                label: lambda: cells[given],
            }
            return {
                head: as_text(values[head]() if head in values else np.array(about[head], object)[row])
                for head in asked
            }

        roles = {"worker": name, "task": task, "label": label}
        return Table([*about, task, label], load, str(path), text=True, roles=roles, remarks=tuple(form.remarks))

    def _choose(self, form: SurveyForm, worker: str | None, files: Files, path: Path) -> tuple[list[str], list[str]]:
        """Return the columns that are questions, and the others."""
        if files.only:
            questions = [name for name in form.names if _matches(name, files.only)]
            if not questions:
                raise InputError(f"{path} has no column like {', '.join(files.only)}. It has: {', '.join(form.names)}.")
        else:
            aside = {worker, *form.aside}
            asked = [name for name in form.names if name not in aside and not (self.is_about(name) or asks_who(name))]
            written = [name for name in asked if _is_no_choice(form.column(name))]
            questions = [name for name in asked if name not in written] or asked
            silent = [name for name in form.names if name not in questions and name != worker]
            if silent:
                form.remarks.append(f"These columns are not taken as questions: {_shortened(silent)}.")
        questions = [name for name in questions if not _matches(name, files.skip)]
        if not questions:
            raise InputError(f"{path} has no column that is a question. It has: {', '.join(form.names)}.")
        return questions, [name for name in form.names if name not in questions]


def plain_name(name: str) -> str:
    """Return a name without what is no letter or digit, in small letters.

    >>> plain_name("Duration (in seconds)")
    'durationinseconds'
    """
    return re.sub(r"[\W_]", "", name.casefold())


def asks_who(name: str) -> bool:
    """Tell whether a question asks who a person is, to which there is no answer that all should give.

    >>> asks_who("What is your age?"), asks_who("Gender"), asks_who("What is the age of the house?")
    (True, True, False)
    """
    return _PERSON.fullmatch(plain_name(name)) is not None


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


def _is_no_choice(cells: Sequence[str]) -> bool:
    """Tell whether a column has dates, or what people wrote themselves."""
    filled = [cell.strip() for cell in cells if cell.strip() not in BLANKS]
    return bool(filled) and (is_free_text(filled) or all(_DATE.fullmatch(cell) for cell in filled))


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
        stem = _OPTION.sub("", name)
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
