"""Exports of surveys: Qualtrics, Google Forms, LimeSurvey and SurveyMonkey.

They have one row for each person and one column for each question, beside columns that are no questions.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.errors import ColumnError, InputError
from allalike.readers.column_names import pick_columns
from allalike.readers.formats.encodings import read_text
from allalike.readers.formats.failures import check_gaps, guard
from allalike.readers.formats.files import BOOKS
from allalike.readers.formats.spreadsheets import read_sheet
from allalike.readers.tools.base import Peek, Tool, make_tool
from allalike.readers.tools.frame import build_table
from allalike.readers.tools.sheets import as_column, is_blank, is_number
from allalike.readers.tools.survey_questions import (
    CONSENT,
    UNTICKED,
    WORDS,
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
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.source import Source

_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(\D.*)?")
_WRITTEN = "free text or dates"
_SECONDS = frozenset({"durationinseconds", "interviewtime", "totaltime", "duration"})


@dataclass
class SurveyForm:
    """Responses to a survey: a name for each column, and a row for each person.

    ``texts`` are the questions, where names are codes; ``aside`` are columns that belong to no question, and ``checks``
    the right answers to attention checks.
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


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The columns of a tool's surveys that are no questions, by patterns.

    ``heads`` are plain names of columns, of which files have one of these sets; ``ids`` those with the id of a
    response; ``known`` those that each response has. ``beside`` are names as they are written.
    """

    known: re.Pattern[str]
    beside: re.Pattern[str]
    heads: tuple[set[str], ...] = ()
    ids: tuple[str, ...] = ()
    has_codes: bool = False  # before a point, and the text of the question behind it
    recognises: Callable[[Peek], bool] | None = None
    find_worker: Callable[[SurveyForm], str | None] | None = None

    def code(self, name: str) -> str:
        """Return the plain name of a column, or that of its code."""
        code, mark, _ = name.partition(". ")
        return plain_name(code if mark and self.has_codes else name)

    def is_known(self, name: str) -> bool:
        """Return whether a column is about the person or the response, and not a question."""
        return bool(self.known.fullmatch(self.code(name)) or self.beside.fullmatch(name))

    def is_here(self, peek: Peek) -> bool:
        """Return whether a file has the columns of each response, in its first row or in the second."""
        rows = [{self.code(name) for name in row} for row in peek.rows[:2]]
        return any(head <= row for head in self.heads for row in rows)

    def worker(self, form: SurveyForm) -> str | None:
        """Return the column with the id of a person, if there is one."""
        return next((name for name in form.names if self.code(name) in self.ids), None)


def survey_tool(name: str, title: str, layout: Layout) -> Callable[[Callable[[SurveyForm], None]], type[Tool]]:
    """Make a tool of a function that prepares a form: it removes rows that are no answers, and names columns."""
    recognises = layout.recognises or layout.is_here
    return lambda prepare: make_tool(SurveyTool, name, title, recognises, prepare, layout=layout)


class SurveyTool(Tool):
    """A tool whose exports have a row for each person; its reader prepares the form."""

    reader: ClassVar[Any]
    layout: ClassVar[Layout]

    def open(self, paths: Sequence[Path], files: Files) -> Source:
        """Open exports as one table."""
        form = _join([_read_form(path, files, self.reader, several=len(paths) > 1) for path in paths])
        return _open_form(self, form, self.layout, files)


def _open_form(tool: Tool, form: SurveyForm, layout: Layout, files: Files) -> Source:
    """Open a form as answers of people to questions; columns that are no questions stay beside them."""
    worker = (layout.find_worker or layout.worker)(form)
    reasons = {name: _find_reason(form, layout, name) for name in form.names if name != worker}
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
    answers |= ticks
    given = [(name, row) for name in answers for row, cell in enumerate(answers[name]) if not is_blank(cell)]
    if not given:
        raise InputError(f"{form.where} has no answer to any of {_shorten(list(answers))}.")
    number, task, label, block, look = (
        _unused(name, form.names) for name in ("row", "question", "answer", "block", "careless")
    )
    about = {name: form.cells(name) for name in form.names if name not in answers}
    if worker is None:
        worker, about[number] = number, form.numbers
    about[look] = ["yes" if row in careless else "no" for row in range(len(form.rows))]
    people = {about[worker][row]: why for row, why in careless.items()}
    if people:
        listed = [f"{name} ({'; '.join(why)})" for name, why in people.items()]
        form.remarks.append(f"Look at the answers of {_shorten(listed, most=5, width=200)}.")

    def load(name: str) -> list[str]:
        if name in about:
            return [about[name][row] for _, row in given]
        if name == label:
            return [answers[question][row].strip() for question, row in given]
        return [question if name == task else blocks[question] for question, _ in given]

    return build_table(
        tool,
        [*about, block, task, label],
        lambda name: as_column(load(name)),
        form.where,
        (worker, task, label),
        guessed={"wide": "workers", "missing": "drop"},
        text=True,
        remarks=tuple(form.remarks),
        scales=block,
        careless=people,
    )


def _read_form(path: Path, files: Files, prepare: Callable[[SurveyForm], None], *, several: bool) -> SurveyForm:
    names, *rows = _read_rows(path, files)
    form = SurveyForm(str(path), names, rows)
    prepare(form)
    form.names = _number_twice(form.names)
    if not form.rows:
        raise InputError(f"{path} has questions, but no answers.")
    form.numbers = [f"{path.stem} {number}" if several else str(number) for number in range(1, len(form.rows) + 1)]
    return form


def _join(forms: Sequence[SurveyForm]) -> SurveyForm:
    """Put forms one below the other; a question that a form does not have is open."""
    if len(forms) == 1:
        return forms[0]
    names = list(dict.fromkeys(name for form in forms for name in form.names))
    return SurveyForm(
        f"{forms[0].where} and {len(forms) - 1} more",
        names,
        [list(row) for form in forms for row in zip(*map(form.cells, names), strict=True)],
        [number for form in forms for number in form.numbers],
        list(dict.fromkeys(remark for form in forms for remark in form.remarks)),
        {name: text for form in forms for name, text in form.texts.items()},
        {name for form in forms for name in form.aside},
    )


def _read_rows(path: Path, files: Files) -> list[list[str]]:
    if not path.is_file():
        raise InputError(f"{path} is no file.")

    def read() -> list[list[str]]:
        if Peek(path).ending in BOOKS:
            return read_sheet(path)
        text = read_text(path, files.encoding)
        delimiter = max(",\t;|", key=text.partition("\n")[0].count)
        return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]

    try:
        rows: list[list[str]] = guard(path, "text with columns", read)
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as text with columns: {error}.") from error
    if not rows:
        raise InputError(f"{path} is empty.")
    check_gaps(len(rows) * len(rows[0]) - sum(map(len, rows)), str(path))
    return rows


def _find_reason(form: SurveyForm, layout: Layout, name: str) -> str | None:
    """Return why a column is no question, in a word or none; an attention check is noted."""
    texts = sorted({name, form.texts.get(name, name)})
    if name not in form.aside and any(map(asks_who, texts)):
        return "who people are"
    if name in form.aside or layout.is_known(name):
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
    if files.include:
        questions = [name for name in form.names if _matches(name, files.include)]
    else:
        questions = [name for name, reason in reasons.items() if reason is None]
        questions = questions or [name for name, reason in reasons.items() if reason == _WRITTEN]
        groups: dict[str, list[str]] = {}
        for name, reason in sorted(reasons.items(), key=lambda item: not item[1]):  # those with a reason first
            if name not in questions:
                groups.setdefault(reason or "", []).append(name)
        listed = [_shorten(names) + (f" ({reason})" if reason else "") for reason, names in groups.items()]
        form.remarks += [f"These columns are not taken as questions: {'; '.join(listed)}."] if listed else []
    questions = [name for name in questions if not _matches(name, files.exclude)]
    if not questions:
        like = f"like {', '.join(files.include)}" if files.include else "that is a question"
        raise InputError(f"{form.where} has no column {like}. It has: {', '.join(form.names)}.")
    return questions


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
    """List the first names, cut to a width, and the number of the others."""
    listed = ", ".join(name if len(name) <= width else f"{name[: width - 3]}..." for name in names[:most])
    return listed + (f" and {len(names) - most} more" if len(names) > most else "")


# Qualtrics.

_IMPORT_ID = '{"ImportId":'
_DATES = {"startdate", "enddate"}
_HEADS = re.compile(r"startdate|enddate|responseid|recordeddate|finished")  # which a row below the names repeats
_PREVIEW = re.compile(r"survey (preview|test|preview spam)|spam|1|2|8|9|17", re.IGNORECASE)
_QUALTRICS = Layout(
    heads=tuple({"startdate", "enddate", also} for also in ("responseid", "recordeddate", "responseset")),
    ids=("responseid",),
    known=re.compile(
        r"startdate|enddate|status|responsetype|ipaddress|progress|durationinseconds|finished|recordeddate|responseid"
        r"|recipient(last|first)name|recipientemail|external(data)?reference|location(latitude|longitude|accuracy)"
        r"|distributionchannel|userlanguage|responseset|name|email"
    ),
    beside=re.compile(
        r".*_(TEXT|First Click|Last Click|Page Submit|Click Count|Browser|Version|Operating System|Resolution)"
        r"|.*_DO(_.*)?|Q_.*|SC\d+|Q\d+_(Id|Name|Size|Type)|.* - (Parent )?Topics",
    ),
)


@survey_tool("qualtrics", "Qualtrics", _QUALTRICS)
def qualtrics(form: SurveyForm) -> None:
    """Read responses to a survey (CSV, TSV): ResponseId and a column for each question.

    The worker is ``ResponseId``, and each question a task. The rows of question texts and import ids below the names
    are no answers; previews, tests and spam, embedded data, timings and free text are left out.
    """
    first, second = ({plain_name(name) for name in row} for row in (form.names, (form.rows or [[]])[0]))
    if not first >= _DATES and second >= _DATES:  # V1, V2, ... of older exports
        form.names = [under or name for name, under in zip(form.names, form.rows[0], strict=False)]
    while form.rows:
        cells = [(name, cell.replace(" ", "")) for name, cell in zip(form.names, form.rows[0], strict=False)]
        if any(cell.startswith(_IMPORT_ID) for _, cell in cells):
            asked = {name for name, cell in cells if cell.startswith(f'{_IMPORT_ID}"QID')}
            form.aside = {name for name, cell in cells if asked and cell and name not in asked}
        elif any(_HEADS.fullmatch(plain_name(name)) and plain_name(name) == plain_name(cell) for name, cell in cells):
            form.texts = dict(zip(form.names, form.rows[0], strict=False))
        else:
            break
        del form.rows[0]
    status = next((name for name in form.names if plain_name(name) in ("status", "responsetype")), "")
    states = zip(form.rows, form.cells(status), strict=True)
    rows = [row for row, state in states if not _PREVIEW.fullmatch(state.strip())]
    if out := len(form.rows) - len(rows):
        form.remarks.append(f"{out:,} of {len(form.rows):,} rows are previews, tests or spam and are left out.")
        form.rows = rows


# Google Forms.

_MAIL = re.compile(f"({WORDS['before an address']})?({WORDS['address']})")
_TIME = re.compile(r"\s*\d{1,4}[-/.年]\s?\d{1,2}[-/.月].*\d")
_MIN_NEW = 0.8  # this share of addresses must be new, for some people answer twice


def _is_google(peek: Peek) -> bool:
    """Return whether a file begins with times, and has names that people wrote to be read."""
    if len(peek.rows) < 2 or len(peek.names) < 3 or not _GOOGLE.known.fullmatch(plain_name(peek.names[0])):
        return False
    names = [name.strip() for name in peek.names[1:]]
    written = [name for name in names if " " in name or name.endswith(("?", "？", ":", "]"))]  # noqa: RUF001
    asks = 2 * len(written) >= len(names) or any(map(_is_about_person, names))
    rows = peek.rows[1:50]
    cells = [cell.strip() for row in rows for cell in row[1:] if cell.strip()]
    measures = all(map(is_number, cells)) and any("." in cell for cell in cells)
    dated = any(row and _TIME.match(row[0]) for row in rows)
    return asks and dated and not measures and not _is_log(peek.names)


def _is_about_person(name: str) -> bool:
    return _GOOGLE.is_known(name) or _MAIL.fullmatch(plain_name(name)) is not None or asks_who(name)


def _is_log(names: list[str]) -> bool:
    """Return whether a table names a worker, a task and a label, and is a log of answers."""
    try:
        pick_columns(names, {}, "")
    except ColumnError:
        return False
    return True


def _find_person(form: SurveyForm) -> str | None:
    """Return the column of addresses, which few give twice, or else of names, if all have one of their own."""
    addresses = [name for name in form.names if _MAIL.fullmatch(plain_name(name))]
    names = [name for name in form.names if plain_name(name).endswith("name") and _is_about_person(name)]
    for name in (*addresses, *names):
        people = [cell.strip() for cell in form.cells(name)]
        if all(people) and len(set(people)) >= len(people) * (_MIN_NEW if name in addresses else 1):
            return name
    return None


_GOOGLE = Layout(
    known=re.compile(f"{WORDS['time of an answer']}|({WORDS['before an address']})?({WORDS['address']})"),
    beside=re.compile(r"\s*(.*\[(Score|Feedback)\]|Score|Total score)\s*", re.IGNORECASE),
    recognises=_is_google,
    find_worker=_find_person,
)


@survey_tool("google-forms", "Google Forms", _GOOGLE)
def google_forms(form: SurveyForm) -> None:
    """Read responses to a form (CSV): Timestamp and a column for each question.

    The worker is the e-mail address, the name if all have one of their own, or the number of the row; each question is
    a task. The time, scores, comments and columns that ask who a person is are left out.
    """


# LimeSurvey and SurveyMonkey.

_LIMESURVEY = Layout(
    heads=({"lastpage", "submitdate"}, {"lastpage", "datesubmitted"}),
    ids=("id", "responseid"),
    known=re.compile(
        r"id|responseid|submitdate|datesubmitted|lastpage|startlanguage|seed|token|accesscode|startdate|datestarted"
        r"|datestamp|datelastaction|ipaddr|ipaddress|refurl|referrerurl|interviewtime|totaltime"
    ),
    beside=re.compile(r"groupTime.*|.*Time|Group time: .*|Question time: .*|(?s:.*)\[other\]"),
    has_codes=True,
)


@survey_tool("limesurvey", "LimeSurvey", _LIMESURVEY)
def limesurvey(form: SurveyForm) -> None:
    """Read responses to a survey (CSV): id, submitdate, lastpage and a column for each question.

    The worker is the id of the response, and each question or sub-question a task. Heads are codes, texts, or both.
    """


_SURVEYMONKEY = Layout(
    heads=(
        {"respondentid", "collectorid"},
        {"respondentid", "startdate", "enddate"},
        {"respondentid", "datecreated", "datemodified"},
    ),
    ids=("respondentid",),
    known=re.compile(
        r"respondentid|collectorid|startdate|enddate|datecreated|datemodified|ipaddress|emailaddress|firstname|lastname"
        r"|customdata1?|customvalue"
    ),
    beside=re.compile(r"(?s:.*)\(please specify\)\]"),
)


@survey_tool("surveymonkey", "SurveyMonkey", _SURVEYMONKEY)
def surveymonkey(form: SurveyForm) -> None:
    """Read all responses to a survey (CSV): Respondent ID and columns for each question.

    The worker is ``Respondent ID``, and each column a task. The two rows of names, questions and below them the options
    of each, become one.
    """
    worker = _SURVEYMONKEY.worker(form)
    if not form.rows or (form.cells(worker)[0] if worker else form.rows[0][0]).strip():
        return
    options = form.rows.pop(0)
    question, names = "", []
    for name, option in zip(form.names, [*options, *[""] * len(form.names)], strict=False):
        question = name.strip() or question
        whole = plain_name(option) in ("response", "openendedresponse", "")
        names.append(question if whole else f"{question} [{option.strip()}]")
    form.names = names
