"""Exports of surveys: Qualtrics, Google Forms, LimeSurvey and SurveyMonkey.

They have one row for each person and one column for each question, beside columns that are none.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, ClassVar

from allalike.errors import ColumnError, InputError
from allalike.readers.column_names import pick_columns
from allalike.readers.formats.encodings import read_text
from allalike.readers.formats.failures import check_gaps, guard
from allalike.readers.formats.files import BOOKS
from allalike.readers.formats.spreadsheets import read_sheet
from allalike.readers.formats.tables import Table
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.sheets import as_column, is_blank, is_number
from allalike.readers.tools.surveys import (
    CONSENT,
    UNTICKED,
    asks_who,
    fill_ticks,
    find_blocks,
    find_careless,
    find_instructed,
    find_matrices,
    is_written,
    plain_name,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files

    Names = dict[str, str]
    Cells = dict[str, list[str]]
    Reasons = dict[int, list[str]]

_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(\D.*)?")
_WRITTEN = "free text or dates"
_SECONDS = frozenset({"durationinseconds", "interviewtime", "totaltime", "duration"})
_MIN_NEW = 0.8  # this share of addresses must be new, for some people answer twice
_IMPORT_ID = '{"ImportId":'
_DATES = {"startdate", "enddate"}
_HEADS = re.compile(r"startdate|enddate|responseid|recordeddate|finished")  # which a row below the names repeats
_PREVIEW = re.compile(r"survey (preview|test|preview spam)|spam|1|2|8|9|17", re.IGNORECASE)


@dataclass
class SurveyForm:
    """Responses to a survey: a name for each column, and a row for each person.

    ``texts`` are what was asked, where names are codes; ``aside`` are columns that belong to no question, and
    ``checks`` the right answers to checks of attention.
    """

    where: str
    names: list[str]
    rows: list[list[str]]
    numbers: list[str] = field(default_factory=list)  # of the rows, for people without an id
    remarks: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    aside: set[str] = field(default_factory=set)
    checks: dict[str, str] = field(default_factory=dict)

    def cells(self, name: str) -> list[str]:
        """Return the cells of a column; those that a row does not reach are empty, as is a column of another form."""
        place = self.names.index(name) if name in self.names else len(self.names)
        return [row[place] if place < len(row) else "" for row in self.rows]


class SurveyTool(Tool):
    """A tool whose exports are matrices of people and questions, with some columns that every response has."""

    heads: ClassVar[tuple[set[str], ...]] = ()  # plain names of columns, of which files have one of these sets
    ids: ClassVar[tuple[str, ...]] = ()  # plain names of columns with the id of a response
    known: ClassVar[re.Pattern[str]]  # plain names of columns that every response has
    beside: ClassVar[re.Pattern[str]]  # names of other columns that are no questions

    def code(self, name: str) -> str:
        """Return the plain name of a column."""
        return plain_name(name)

    def recognises(self, peek: Peek) -> bool:
        """Return whether a file has the columns that every response has, in its first row or in the second."""
        rows = [{self.code(name) for name in row} for row in peek.rows[:2]]
        return any(head <= row for head in self.heads for row in rows)

    def is_about(self, name: str) -> bool:
        """Return whether a column tells something about the person or the form, and is no question."""
        return bool(self.known.fullmatch(self.code(name)) or self.beside.fullmatch(name))

    def find_worker(self, form: SurveyForm) -> str | None:
        """Return the column with the id of a person, if there is one."""
        return next((name for name in form.names if self.code(name) in self.ids), None)

    def prepare(self, form: SurveyForm) -> None:
        """Take away the rows that are no answers, and give names to columns that have none."""

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open exports as answers of people to questions; columns that are no questions stay beside them."""
        form = self._read(paths, files)
        worker = self.find_worker(form)
        reasons = {name: self._find_reason(form, name) for name in form.names if name != worker}
        questions = _choose_questions(form, reasons, files)
        answers = {name: form.cells(name) for name in questions}
        blocks, ticks = find_blocks(answers), fill_ticks(answers)
        matrices = find_matrices({name: cells for name, cells in answers.items() if name not in ticks})
        if ticks:
            form.remarks.append(f"Options that were not ticked are {UNTICKED!r}, of {_shorten(list(ticks))}.")
        seconds = next((name for name in form.names if plain_name(name.partition(".")[0]) in _SECONDS), "")
        careless = find_careless(
            {name: (form.checks[name], form.cells(name)) for name in form.checks if name not in questions},
            {stem: [answers[name] for name in names] for stem, names in matrices.items()},
            form.cells(seconds),
        )
        return self._stack(form, worker, answers | ticks, blocks, careless)

    def _stack(self, form: SurveyForm, worker: str | None, answers: Cells, blocks: Names, careless: Reasons) -> Table:
        """Return a table with a row for each answer, beside the columns that are no questions."""
        blanks = {cell for cells in answers.values() for cell in set(cells) if is_blank(cell)}
        given = [(name, row) for name, cells in answers.items() for row, cell in enumerate(cells) if cell not in blanks]
        if not given:
            raise InputError(f"Nobody in {form.where} has answered any of {_shorten(list(answers))}.")
        added = ("row", "question", "answer", "block", "careless")
        number, task, label, block, look = (_unused(name, form.names) for name in added)
        about = {name: form.cells(name) for name in form.names if name not in answers}
        if worker is None:
            worker, about[number] = number, form.numbers
        about[look] = ["yes" if row in careless else "no" for row in range(len(form.rows))]
        reasons = {about[worker][row]: why for row, why in careless.items()}
        if reasons:
            people = [f"{name} ({'; '.join(why)})" for name, why in reasons.items()]
            form.remarks.append(f"Look at the answers of {_shorten(people, most=5, width=200)}.")

        def stack(name: str) -> list[str]:
            if name in about:
                return [about[name][row] for _, row in given]
            if name == label:
                return [answers[question][row].strip() for question, row in given]
            return [question if name == task else blocks[question] for question, _ in given]

        return Table(
            [*about, block, task, label],
            lambda asked, _: {name: as_column(stack(name)) for name in asked},
            form.where,
            text=True,
            roles={"worker": worker, "task": task, "label": label},
            guessed={"tool": self.name, "wide": "workers", "missing": "drop"},
            remarks=tuple(form.remarks),
            scales=block,
            careless=reasons,
        )

    def _read(self, paths: Sequence[Path], files: Files) -> SurveyForm:
        """Read files one below the other."""
        forms = []
        for path in paths:
            names, *rows = _read_rows(path, files)
            form = SurveyForm(str(path), names, rows)
            self.prepare(form)
            form.names = _number_twice(form.names)
            if not form.rows:
                raise InputError(f"{path} has questions, but no answers.")
            stem = f"{path.stem} " if len(paths) > 1 else ""
            form.numbers = [f"{stem}{number}" for number in range(1, len(form.rows) + 1)]
            forms.append(form)
        if len(forms) == 1:
            return form
        names = list(dict.fromkeys(name for form in forms for name in form.names))
        columns = [[cell for form in forms for cell in form.cells(name)] for name in names]
        return SurveyForm(
            f"{paths[0]} and {len(paths) - 1} more",
            names,
            list(map(list, zip(*columns, strict=True))),
            [number for form in forms for number in form.numbers],
            list(dict.fromkeys(remark for form in forms for remark in form.remarks)),
            {name: text for form in forms for name, text in form.texts.items()},
            {name for form in forms for name in form.aside},
        )

    def _find_reason(self, form: SurveyForm, name: str) -> str | None:
        """Return why a column is no question, in a word or none; a check of attention is noted."""
        texts = sorted({name, form.texts.get(name, name)})
        if name not in form.aside and any(map(asks_who, texts)):
            return "who people are"
        if name in form.aside or self.is_about(name):
            return ""
        if any(map(CONSENT.search, texts)):
            return "consent"
        filled = [cell.strip() for cell in form.cells(name) if not is_blank(cell)]
        right = next(filter(None, (find_instructed(text, sorted(set(filled))) for text in texts)), None)
        if right is not None:
            form.checks[name] = right
            return "a check of attention"
        written = filled and (is_written(texts, filled) or all(map(_DATE.fullmatch, filled)))
        return _WRITTEN if written else None


def _choose_questions(form: SurveyForm, reasons: Mapping[str, str | None], files: Files) -> list[str]:
    """Return the columns that are questions, by their names or because there is no reason against them."""
    if files.only:
        questions = [name for name in form.names if _matches(name, files.only)]
    else:
        questions = [name for name, reason in reasons.items() if reason is None]
        questions = questions or [name for name, reason in reasons.items() if reason == _WRITTEN]
        form.remarks += _describe_others({name: why or "" for name, why in reasons.items() if name not in questions})
    questions = [name for name in questions if not _matches(name, files.skip)]
    if not questions:
        like = f"like {', '.join(files.only)}" if files.only else "that is a question"
        raise InputError(f"{form.where} has no column {like}. It has: {', '.join(form.names)}.")
    return questions


def _describe_others(reasons: Mapping[str, str]) -> list[str]:
    """Say in one sentence which columns are no questions: those first that ask something, with the reason."""
    groups: dict[str, list[str]] = {}
    for name, reason in sorted(reasons.items(), key=lambda item: not item[1]):
        groups.setdefault(reason, []).append(name)
    listed = [_shorten(names) + (f" ({reason})" if reason else "") for reason, names in groups.items()]
    return [f"These columns are not taken as questions: {'; '.join(listed)}."] if listed else []


def _read_rows(path: Path, files: Files) -> list[list[str]]:
    if not path.is_file():
        raise InputError(f"{path} is no file.")

    def read() -> list[list[str]]:
        if Peek(path).ending in BOOKS:
            return read_sheet(path)
        text = read_text(path, files.encoding)
        first = text.partition("\n")[0]
        delimiter = max(",\t;|", key=first.count)
        return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]

    try:
        rows: list[list[str]] = guard(path, "text with columns", read)
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as text with columns: {error}.") from error
    if not rows:
        raise InputError(f"{path} is empty.")
    check_gaps(len(rows) * len(rows[0]) - sum(map(len, rows)), str(path))
    return rows


def _number_twice(names: Sequence[str]) -> list[str]:
    """Number names that occur before, and those that are empty."""
    seen: dict[str, int] = {}
    different = []
    for place, name in enumerate(names, start=1):
        head = name.strip() or f"column {place}"
        seen[head] = seen.get(head, 0) + 1
        different.append(head if seen[head] == 1 else f"{head} ({seen[head]})")
    return different


def _unused(name: str, taken: Collection[str]) -> str:
    return next(each for each in (name, *(f"{name} {n}" for n in range(2, len(taken) + 3))) if each not in taken)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def _shorten(names: Sequence[str], most: int = 12, width: int = 40) -> str:
    """List the first names, of which long ones are cut, and say how many more there are."""
    listed = ", ".join(name if len(name) <= width else f"{name[: width - 3]}..." for name in names[:most])
    return listed + (f" and {len(names) - most} more" if len(names) > most else "")


class Qualtrics(SurveyTool):
    """The responses to a survey of Qualtrics.

    >>> Qualtrics().is_about("Duration (in seconds)"), Qualtrics().is_about("Q12")
    (True, False)
    """

    name = "qualtrics"
    title = "Qualtrics"
    summary = "responses to a survey (CSV, TSV): ResponseId and a column for each question"
    heads = tuple({"startdate", "enddate", also} for also in ("responseid", "recordeddate", "responseset"))
    ids = ("responseid",)
    known = re.compile(
        r"startdate|enddate|status|responsetype|ipaddress|progress|durationinseconds|finished|recordeddate|responseid"
        r"|recipient(last|first)name|recipientemail|external(data)?reference|location(latitude|longitude|accuracy)"
        r"|distributionchannel|userlanguage|responseset|name|email"
    )
    beside = re.compile(
        r".*_(TEXT|First Click|Last Click|Page Submit|Click Count|Browser|Version|Operating System|Resolution)"
        r"|.*_DO(_.*)?|Q_.*|SC\d+|Q\d+_(Id|Name|Size|Type)|.* - (Parent )?Topics",
    )

    def prepare(self, form: SurveyForm) -> None:
        """Take away the rows of question texts and import ids, and the responses that are no participant's."""
        first, second = ({plain_name(name) for name in row} for row in (form.names, (form.rows or [[]])[0]))
        if not first >= _DATES and second >= _DATES:  # V1, V2, ... of older exports
            form.names = [under or name for name, under in zip(form.names, form.rows[0], strict=False)]
        while form.rows:
            cells = [(name, cell.replace(" ", "")) for name, cell in zip(form.names, form.rows[0], strict=False)]
            if any(cell.startswith(_IMPORT_ID) for _, cell in cells):
                asked = {name for name, cell in cells if cell.startswith(f'{_IMPORT_ID}"QID')}
                form.aside = {name for name, cell in cells if asked and cell and name not in asked}
            elif any(
                _HEADS.fullmatch(plain_name(name)) and plain_name(name) == plain_name(cell) for name, cell in cells
            ):
                form.texts = dict(zip(form.names, form.rows[0], strict=False))
            else:
                break
            del form.rows[0]
        status = next((name for name in form.names if plain_name(name) in ("status", "responsetype")), None)
        states = form.cells(status) if status else [""] * len(form.rows)
        rows = [row for row, state in zip(form.rows, states, strict=True) if not _PREVIEW.fullmatch(state.strip())]
        if out := len(form.rows) - len(rows):
            form.remarks.append(f"{out:,} of {len(form.rows):,} rows are previews, tests or spam and are left out.")
            form.rows = rows


class GoogleForms(SurveyTool):
    """The responses to a form of Google Forms, as the spreadsheet has them.

    >>> GoogleForms().is_about("What is your name?"), GoogleForms().is_about("Is the sky blue?")
    (True, False)
    """

    name = "google-forms"
    title = "Google Forms"
    summary = "responses to a form (CSV): Timestamp and a column for each question"
    known = re.compile(
        r"timestamp|zeitstempel|horodateur|marcatemporal|carimbodedatahora|informazionicronologiche|sygnaturaczasowa"
        r"|tijdstempel|tidstämpel|tidsstempel|aikaleima|zamandamgası|отметкавремени|タイムスタンプ|时间戳记|時間戳記"  # noqa: RUF001
        r"|타임스탬프"
    )
    beside = re.compile(r"\s*(.*\[(Score|Feedback)\]|Score|Total score)\s*", re.IGNORECASE)
    mail = re.compile(
        r"(your|student|work)?(emailaddress|email|emailid|username|mailaddress|mail|adressemail|correoelectr[oó]nico"
        r"|direcci[oó]ndecorreoelectr[oó]nico|nomdutilisateur|nombredeusuario|nomedeusu[aá]rio|benutzername"
        r"|emailadresse)"
    )
    date = re.compile(r"\s*\d{1,4}[-/.年]\s?\d{1,2}[-/.月].*\d")

    def recognises(self, peek: Peek) -> bool:
        """Return whether a file begins with times, and has names that people wrote to be read."""
        if len(peek.rows) < 2 or len(peek.names) < 3 or not self.known.fullmatch(plain_name(peek.names[0])):
            return False
        names = [name.strip() for name in peek.names[1:]]
        written = [name for name in names if " " in name or name.endswith(("?", "？", ":", "]"))]  # noqa: RUF001
        asks = 2 * len(written) >= len(names) or any(map(self.is_about, names))
        rows = peek.rows[1:50]
        cells = [cell.strip() for row in rows for cell in row[1:] if cell.strip()]
        measures = all(map(is_number, cells)) and any("." in cell for cell in cells)
        dated = any(row and self.date.match(row[0]) for row in rows)
        return asks and dated and not measures and not _is_log(peek.names)

    def is_about(self, name: str) -> bool:
        """Return whether a column is the time, a score, or asks who the person is."""
        return super().is_about(name) or self.mail.fullmatch(plain_name(name)) is not None or asks_who(name)

    def find_worker(self, form: SurveyForm) -> str | None:
        """Return the column of addresses, which few give twice, or else of names, if all have one of their own."""
        addresses = [name for name in form.names if self.mail.fullmatch(plain_name(name))]
        names = [name for name in form.names if plain_name(name).endswith("name") and self.is_about(name)]
        for name in (*addresses, *names):
            people = [cell.strip() for cell in form.cells(name)]
            if all(people) and len(set(people)) >= len(people) * (_MIN_NEW if name in addresses else 1):
                return name
        return None


def _is_log(names: list[str]) -> bool:
    """Return whether a table names a worker, a task and a label, and is a log of answers."""
    try:
        pick_columns(names, {}, "")
    except ColumnError:
        return False
    return True


class LimeSurvey(SurveyTool):
    """The responses to a survey of LimeSurvey.

    >>> LimeSurvey().is_about("submitdate. Date submitted"), LimeSurvey().is_about("G1Q1[SQ001]")
    (True, False)
    """

    name = "limesurvey"
    title = "LimeSurvey"
    summary = "responses to a survey (CSV): id, submitdate, lastpage and a column for each question"
    heads = ({"lastpage", "submitdate"}, {"lastpage", "datesubmitted"})
    ids = ("id", "responseid")
    known = re.compile(
        r"id|responseid|submitdate|datesubmitted|lastpage|startlanguage|seed|token|accesscode|startdate|datestarted"
        r"|datestamp|datelastaction|ipaddr|ipaddress|refurl|referrerurl|interviewtime|totaltime"
    )
    beside = re.compile(r"groupTime.*|.*Time|Group time: .*|Question time: .*|(?s:.*)\[other\]")

    def code(self, name: str) -> str:
        """Return the code of a column, without its text where a name has both."""
        code, mark, _ = name.partition(". ")
        return plain_name(code if mark else name)


class SurveyMonkey(SurveyTool):
    """All responses to a survey of SurveyMonkey.

    >>> SurveyMonkey().is_about("Respondent ID"), SurveyMonkey().is_about("How was it?")
    (True, False)
    """

    name = "surveymonkey"
    title = "SurveyMonkey"
    summary = "all responses to a survey (CSV): Respondent ID and columns for each question"
    heads = (
        {"respondentid", "collectorid"},
        {"respondentid", "startdate", "enddate"},
        {"respondentid", "datecreated", "datemodified"},
    )
    ids = ("respondentid",)
    known = re.compile(
        r"respondentid|collectorid|startdate|enddate|datecreated|datemodified|ipaddress|emailaddress|firstname|lastname"
        r"|customdata1?|customvalue"
    )
    beside = re.compile(r"(?s:.*)\(please specify\)\]")

    def prepare(self, form: SurveyForm) -> None:
        """Join the two rows of names: questions, and below them the options of each."""
        worker = self.find_worker(form)
        if not form.rows or (form.cells(worker)[0] if worker else form.rows[0][0]).strip():
            return
        options = form.rows.pop(0)
        question, names = "", []
        for name, option in zip(form.names, [*options, *[""] * len(form.names)], strict=False):
            question = name.strip() or question
            whole = plain_name(option) in ("response", "openendedresponse", "")
            names.append(question if whole else f"{question} [{option.strip()}]")
        form.names = names
