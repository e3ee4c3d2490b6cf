"""Surveys: Qualtrics, Google Forms, LimeSurvey and SurveyMonkey.

Exports have one row per person and one column per question, besides metadata. Patterns of names and answers are in
``surveys.json``.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.errors import ColumnError, InputError
from allalike.readers.column_names import pick_columns
from allalike.readers.formats.encodings import read_text
from allalike.readers.formats.files import BOOKS
from allalike.readers.formats.read_errors import check_gaps, guard
from allalike.readers.formats.spreadsheets import read_sheet
from allalike.readers.rating_scales import find_range, order_levels, read_ratings
from allalike.readers.tools.base import FileProbe, Tool, count_up, split_cells
from allalike.readers.tools.frame import build_table
from allalike.readers.tools.sheets import as_column, is_blank, is_number

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.source import Source

    Columns = Mapping[str, Sequence[str]]

_DATA = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_WORDS = {name: "|".join(parts) for name, parts in _DATA.items() if isinstance(parts, list)}
_ADDRESS = re.compile(_WORDS["address"])
_CONSENT, _COMMENTS = (re.compile(_WORDS[name], re.IGNORECASE) for name in ("consent", "comments"))
_PERSON = re.compile(f"({_WORDS['before who people are']})*({_WORDS['who people are']})")
_NOTHING, _YES = (frozenset(_WORDS[name].split("|")) for name in ("nothing to say", "yes"))
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(\D.*)?")
_WRITTEN = "free text or dates"
_SECONDS = frozenset({"durationinseconds", "interviewtime", "totaltime", "duration"})
_MIN_NEW = 0.8  # minimum share of unique addresses, because people may answer twice

_MIN_TEXTS, _TEXT_WORDS, _LONG_WORDS = 4, 3, 8  # minimum number of texts, and average words of texts and long texts
_VERB = re.compile(
    r"\b(?:select|choose|pick|click(?: on)?|mark|tick|check|answer(?: with)?|respond(?: with)?)\b", re.IGNORECASE
)
_LEADING = re.compile(r"^[\s:,]*(?:the |only )*(?:(?:option|answer|response|box|number|word)\b[\s:,]*)?", re.IGNORECASE)
_GOES_ON = ("to", "for", "in", "below", "here", "as", "so", "and")  # words that may follow an answer
_CHECK = re.compile(
    r"attention|\bread (this|the|carefully)|paying|to show|please|this (question|item)|bot\b", re.IGNORECASE
)
_UNTICKED = "no"
_MARKS = frozenset({"1", "1.0", "y", "x", "true", "checked", "selected"})
_ENDING = re.compile(r"(\s*\[[^\[\]]*\]|_\d+)$")
_MAX_SHOWN = 3  # answers in the name of a block
_LEAST_CHANCE, _MIN_ROWS, _MAX_STRAIGHT = 0.01, 3, 0.1  # chance of equal answers; rows of a matrix; share of people
_FAST, _MIN_PEOPLE = 1 / 3, 10  # share of the median time, and people required to estimate it


def _plain(name: str) -> str:
    """Return only the letters and digits of a name, in lower case."""
    return re.sub(r"[\W_]", "", name.casefold())


def _code(name: str) -> str:
    """Return the plain name of a column; for a code followed by a text (``Q1. Is it red?``), that of the code."""
    return _plain(name.partition(". ")[0])


@dataclass
class Form:
    """Responses to a survey: the names of columns, and one row per person.

    ``texts`` are the question texts if names are codes. ``aside`` are columns of metadata, and ``checks`` the correct
    answers to attention checks.
    """

    where: str
    names: list[str]
    rows: list[list[str]]
    numbers: list[str] = field(default_factory=list)  # of the rows, for people without an id
    remarks: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    aside: set[str] = field(default_factory=set)
    checks: dict[str, str] = field(default_factory=dict)

    def find(self, *codes: str) -> str | None:
        """Return the first column with one of these codes, or None."""
        return next((name for name in self.names if _code(name) in codes), None)

    def cells(self, name: str | None) -> list[str]:
        """Return the cells of a column; cells beyond the end of a row, and of an unknown column, are empty."""
        place = self.names.index(name) if name in self.names else len(self.names)
        return [row[place] if place < len(row) else "" for row in self.rows]


class SurveyTool(Tool):
    """A tool with one row per person in its exports; its reader prepares the form.

    ``heads`` are sets of plain column names, and every file contains one of these sets. ``ids`` are columns with the id
    of a response, and ``known`` and ``written`` match names of other columns of metadata.
    """

    heads: ClassVar[list[set[str]]]
    ids: ClassVar[list[str]]
    known: ClassVar[re.Pattern[str]]
    written: ClassVar[re.Pattern[str]]

    def recognises(self, peek: FileProbe) -> bool:
        """Return whether the first or second row of a file contains the tool's columns."""
        rows = [set(map(_code, row)) for row in peek.rows[:2]]
        return any(head <= row for head in self.heads for row in rows)

    def open(self, paths: Sequence[Path], files: Files) -> Source:
        """Open exports as one table: the answers of people to questions, with columns of metadata."""
        form = _read_form(paths, files, self.reader)
        worker = form.find(*self.ids) if self.ids else self.find_person(form)
        reasons = {name: self.find_reason(form, name) for name in form.names if name != worker}
        return self.table(form, worker, _choose_questions(form, reasons, files))

    def table(self, form: Form, worker: str | None, questions: Sequence[str]) -> Source:
        """Return a table with one row per answer: the columns about the person, and block, question and answer."""
        answers = {name: form.cells(name) for name in questions}
        blocks, ticks = find_blocks(answers), fill_ticks(answers)
        careless = _find_careless(form, {name: cells for name, cells in answers.items() if name not in ticks})
        if ticks:
            form.remarks.append(f"Options that were not ticked are {_UNTICKED!r} in {_shorten(list(ticks))}.")
        answers |= ticks
        given = [(name, row) for name in answers for row, cell in enumerate(answers[name]) if not is_blank(cell)]
        if not given:
            raise InputError(f"{form.where} has no answers to {_shorten(list(answers))}. Include other columns.")
        added = (_unused(name, form.names) for name in ("row", "question", "answer", "block", "careless"))
        number, task, label, block, look = added
        about = {name: form.cells(name) for name in form.names if name not in answers}
        if worker is None:
            worker, about[number] = number, form.numbers
        about[look] = ["yes" if row in careless else "no" for row in range(len(form.rows))]
        people = {about[worker][row]: why for row, why in careless.items()}
        if people:
            listed = [f"{name} ({'; '.join(why)})" for name, why in people.items()]
            form.remarks.append(f"Check the answers of {_shorten(listed, most=5, width=200)}.")

        def load(name: str) -> Any:
            if name in about:
                return as_column([about[name][row] for _, row in given])
            if name == label:
                return as_column([answers[question][row].strip() for question, row in given])
            return as_column([question if name == task else blocks[question] for question, _ in given])

        facts = {"scales": block, "notes": {"careless": people}, "guessed": {"wide": "workers", "missing": "drop"}}
        roles = (worker, task, label)
        names = [*about, block, task, label]
        return build_table(self, names, load, form.where, roles, text=True, remarks=tuple(form.remarks), **facts)

    def is_known(self, name: str) -> bool:
        """Return whether a column describes the person or the response."""
        return any(each.fullmatch(_code(name)) for each in (self.known, _ADDRESS)) or bool(self.written.fullmatch(name))

    def find_reason(self, form: Form, name: str) -> str | None:
        """Return why a column is not a question, or None if it is; record the answer to an attention check."""
        texts = sorted({name, form.texts.get(name, name)})
        if name not in form.aside and any(map(_asks_who, texts)):
            return "personal data"
        if name in form.aside or self.is_known(name):
            return "metadata"
        if any(map(_CONSENT.search, texts)):
            return "consent"
        filled = [cell.strip() for cell in form.cells(name) if not is_blank(cell)]
        right = next(filter(None, (find_instructed(text, sorted(set(filled))) for text in texts)), None)
        if right is not None:
            form.checks[name] = right
            return "an attention check"
        written = filled and (is_written(texts, filled) or all(map(_DATE.fullmatch, filled)))
        return _WRITTEN if written else None

    def find_person(self, form: Form) -> str | None:
        """Return the column of addresses with few repetitions, or else the column of unique names, or None."""
        addresses = [name for name in form.names if _ADDRESS.fullmatch(_plain(name))]
        names = [name for name in form.names if _plain(name).endswith("name") and _asks_who(name)]
        for name in (*addresses, *names):
            people = [cell.strip() for cell in form.cells(name)]
            if all(people) and len(set(people)) >= len(people) * (_MIN_NEW if name in addresses else 1):
                return name
        return None


def survey_tool(name: str, title: str, **more: Any) -> Callable[[Callable[[Form], None]], type[Tool]]:
    """Make a tool from a function that prepares a form: it removes rows that are not answers, and names columns."""
    layout = _DATA["layouts"][name]
    more |= {each: re.compile("|".join(layout[each])) for each in ("known", "written")}
    more |= {"heads": [set(head.split()) for head in layout["heads"]], "ids": layout["ids"]}
    return lambda prepare: SurveyTool.made_of(name, title, prepare, **more)


def _read_form(paths: Sequence[Path], files: Files, prepare: Callable[[Form], None]) -> Form:
    """Read and concatenate forms; questions that a form lacks are empty."""
    forms = []
    for path in paths:
        names, *rows = _read_rows(path, files)
        form = Form(str(path), names, rows)
        prepare(form)
        form.names = count_up(name.strip() or f"column {n}" for n, name in enumerate(form.names, start=1))
        if not form.rows:
            raise InputError(f"{path} has questions, but no answers. Export it again with its responses.")
        form.numbers = [f"{path.stem} {n}" if len(paths) > 1 else str(n) for n in range(1, len(form.rows) + 1)]
        forms.append(form)
    if len(forms) == 1:
        return forms[0]
    names = list(dict.fromkeys(name for form in forms for name in form.names))
    joined = Form(f"{paths[0]} and {len(forms) - 1} more", names, [])
    for form in forms:
        joined.rows += map(list, zip(*map(form.cells, names), strict=True))
        joined.numbers += form.numbers
        joined.remarks += [remark for remark in form.remarks if remark not in joined.remarks]
        joined.texts |= form.texts
        joined.aside |= form.aside
    return joined


def _read_rows(path: Path, files: Files) -> list[list[str]]:
    if not path.is_file():
        raise InputError(f"{path} is not a file. Name an exported file.")
    is_book = FileProbe(path).ending in BOOKS
    read = read_sheet if is_book else lambda path: list(filter(None, split_cells(read_text(path, files.encoding))))
    try:
        rows: list[list[str]] = guard(path, "text with columns", lambda: read(path))
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as text with columns: {error}.") from error
    if not rows:
        raise InputError(f"{path} is empty.")
    check_gaps(len(rows) * len(rows[0]) - sum(map(len, rows)), str(path))
    return rows


def _choose_questions(form: Form, reasons: Mapping[str, str | None], files: Files) -> list[str]:
    """Return the columns of questions: the included ones, or else those without a reason for exclusion."""
    if files.include:
        questions = [name for name in form.names if _matches(name, files.include)]
    else:
        questions = [name for name, reason in reasons.items() if reason is None]
        questions = questions or [name for name, reason in reasons.items() if reason == _WRITTEN]
        others: dict[str, list[str]] = {}
        for name, reason in reasons.items():
            if reason and name not in questions:
                others.setdefault(reason, []).append(name)
        listed = [f"{_shorten(names)} ({reason})" for reason, names in others.items()]
        form.remarks += [f"These columns are not read as questions: {'; '.join(listed)}."] if listed else []
    questions = [name for name in questions if not _matches(name, files.exclude)]
    if not questions:
        like = f"like {', '.join(files.include)}" if files.include else "that is a question"
        raise InputError(f"{form.where} has no column {like}. It has: {', '.join(form.names)}. Include one of them.")
    return questions


def _unused(name: str, taken: Collection[str]) -> str:
    return next(each for each in (name, *(f"{name} {n}" for n in range(2, len(taken) + 3))) if each not in taken)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def _shorten(names: Sequence[str], most: int = 12, width: int = 40) -> str:
    """List the first names, truncated to a width, and the number of others."""
    listed = ", ".join(name if len(name) <= width else f"{name[: width - 3]}..." for name in names[:most])
    return listed + (f" and {len(names) - most} more" if len(names) > most else "")


# Detection of questions, and of questions with a common scale.


def _asks_who(name: str) -> bool:
    """Return whether a question asks for personal data, so that there is no common answer."""
    return _PERSON.fullmatch(_plain(name)) is not None


def is_written(texts: Iterable[str], answers: Sequence[str]) -> bool:
    """Return whether answers are free text: they rarely recur, or the question asks for comments."""
    spelled = [answer.strip().casefold() for answer in answers]
    given = [answer for answer in spelled if answer.strip(" .!-") not in _NOTHING and answer.strip(" .!-")]
    different = set(given)
    if all(map(is_number, spelled)) or (given and (order_levels(set(spelled)) or different <= _YES)):
        return False
    words = sum(len(answer.split()) for answer in given) / max(len(given), 1)
    if any(map(_COMMENTS.search, texts)):
        return len(given) < len(spelled) or words >= _TEXT_WORDS or 3 * len(different) > len(given)
    enough = len(given) >= _MIN_TEXTS or words >= _TEXT_WORDS
    return (enough and 2 * len(different) > len(given)) or (words >= _LONG_WORDS and 3 * len(different) > len(given))


def find_instructed(text: str, answers: Collection[str]) -> str | None:
    """Return the answer that an attention check demands, if anyone gave it."""
    if not _CHECK.search(text):
        return None
    right = []
    for verb in _VERB.finditer(text):
        rest = _LEADING.sub("", text[verb.end() :]).strip().lstrip("\"'“‘«").casefold()  # noqa: RUF001
        for answer in answers:
            next_word = re.split(r"\W", rest[len(answer) :].lstrip(), maxsplit=1)[0]
            if rest.startswith(answer.casefold()) and next_word in ("", *_GOES_ON):  # and the answer is complete
                right.append(answer)
    return max(right, key=len, default=None)


def _group_by_stem(names: Iterable[str]) -> dict[str, list[str]]:
    """Group the parts of a question, whose names differ only in a final number or bracket."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_ENDING.sub("", name), []).append(name)
    return groups


def find_matrices(columns: Columns) -> dict[str, list[str]]:
    """Return the rows of each matrix question by their common name."""
    matrices: dict[str, list[str]] = {}
    for stem, names in _group_by_stem(columns).items():
        levels = {name: _levels(columns[name]) for name in names}
        counts = Counter(level for own in levels.values() for level in own)
        rows = [name for name, own in levels.items() if any(counts[level] > 1 for level in own)]
        matrices |= {stem: rows} if rows else {}
    return matrices


def find_blocks(columns: Columns) -> dict[str, str]:
    """Return the name of the block of each question; a block contains the questions with a common scale.

    The rows of a matrix are a block: their names differ only in a final number or bracket, and they share answers.
    Blocks and single questions are joined if all their answers are levels of one scale in words, ratings in the same
    usual range (1 to 5, 1 to 7, 0 to 10), or exactly the same, such as yes and no.
    """
    matrices = list(find_matrices(columns).values())
    rows = {name for names in matrices for name in names}
    groups = [*matrices, *([name] for name in columns if name not in rows)]
    levels = [frozenset[str]().union(*(_levels(columns[name]) for name in names)) for names in groups]
    blocks: list[tuple[object, list[str], set[str]]] = []  # the scale, its questions and its levels
    for names, own in sorted(zip(groups, levels, strict=True), key=lambda group: -len(group[1])):
        scale = _find_scale(own) or names[0]
        fitting = [block for block in blocks if block[0] == scale and _find_scale(block[2] | own) == scale]
        if fitting:
            _, others, known = max(fitting, key=lambda block: len(block[2] & own))
            others += names
            known |= own
        else:
            blocks.append((scale, list(names), set(own)))
    block_of = {name: _name_block(names, own) for _, names, own in blocks for name in names}
    return {name: block_of[name] for name in columns}


def _levels(cells: Sequence[str]) -> frozenset[str]:
    return frozenset(cell.strip().casefold() for cell in set(cells) if not is_blank(cell))


def _find_scale(levels: Set[str]) -> object:
    """Return a key that identifies the scale of levels, or None for a single answer that is not a level."""
    if order_levels(levels):
        return "words"
    return find_range(levels) or (frozenset(levels) if len(levels) > 1 else None)


def _name_block(names: Sequence[str], levels: Set[str]) -> str:
    stems = names if len(names) == 1 else list(_group_by_stem(names))
    if len(stems) == 1:
        return stems[0]
    if ordered := order_levels(levels) or tuple(read_ratings(levels)):
        return f"{ordered[0]} to {ordered[-1]}"
    return ", ".join(sorted(levels)[:_MAX_SHOWN]) + (", ..." if len(levels) > _MAX_SHOWN else "")


def fill_ticks(columns: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the columns of options, with "no" for each option that a person left blank while ticking another.

    Options of a question are columns whose names differ only in a final number or bracket. Each has a single value: the
    same mark in all of them, or the option's own text.
    """
    filled: dict[str, list[str]] = {}
    for stem, names in _group_by_stem(columns).items():
        options = {name: columns[name] for name in names if name != stem}
        levels = [_levels(cells) for cells in options.values()]
        marks = [mark for own in levels for mark in own]
        different = len(set(marks)) == len(marks) > 1
        if len(levels) > 1 and max(map(len, levels)) == 1 and (different or set(marks) <= _MARKS):
            ticked = [not all(map(is_blank, row)) for row in zip(*options.values(), strict=True)]
            for name, cells in options.items():
                rows = zip(cells, ticked, strict=True)
                filled[name] = [_UNTICKED if other and is_blank(cell) else cell for cell, other in rows]
    return filled


# Careless respondents.


def _find_careless(form: Form, answers: Columns) -> dict[int, list[str]]:
    """Return the rows of people whose answers should be checked, with the reasons; most reasons first.

    Three signs need no gold labels: a person failed an **attention check**; gave the **same answer** in all rows of a
    matrix, although the product of the answer's shares in each row is below 1 % and at most a tenth of the people did
    so; or took **less than a third of the median time** (if log times were normal with a deviation of 0.5, 1.4 % of
    careful people would be as fast). Leiner (Too fast, too straight, too weird. Survey Research Methods 2019) compares
    such signs. None of them is proof.
    """
    reasons: dict[int, list[str]] = {}
    for name in [name for name in form.checks if name not in answers]:
        right = form.checks[name]
        for row, cell in enumerate(form.cells(name)):
            if cell.strip().casefold() not in ("", right.casefold()):
                reasons.setdefault(row, []).append(f"not {right!r} in {name}")
    for stem, names in find_matrices(answers).items():
        for row in _find_straight([answers[name] for name in names]):
            reasons.setdefault(row, []).append(f"the same answer in all of {stem}")
    times = form.cells(form.find(*_SECONDS))
    seconds = {row: float(cell) for row, cell in enumerate(times) if is_number(cell) and float(cell) > 0}
    middle = median(seconds.values()) if len(seconds) >= _MIN_PEOPLE else 0.0
    for row, time in seconds.items():
        if time < _FAST * middle:
            reasons.setdefault(row, []).append(f"{time:.0f} s, the median is {middle:.0f}")
    return dict(sorted(reasons.items(), key=lambda item: -len(item[1])))


def _find_straight(columns: Sequence[Sequence[str]]) -> list[int]:
    """Return the people who gave the same answer in all rows of a matrix, although that is improbable."""
    if len(columns) < _MIN_ROWS:
        return []
    counts = [Counter(cells) for cells in columns]
    totals = [sum(number for cell, number in count.items() if not is_blank(cell)) for count in counts]
    rows = []
    for row, cells in enumerate(zip(*columns, strict=True)):
        if len(set(cells)) == 1 and not is_blank(cells[0]):
            shares = [count[cells[0]] / total for count, total in zip(counts, totals, strict=True)]
            rows += [row] if math.prod(shares) < _LEAST_CHANCE else []
    return rows if len(rows) <= _MAX_STRAIGHT * len(columns[0]) else []


# The tools.

_IMPORT_ID = '{"ImportId":'
_DATES = {"startdate", "enddate"}
_HEADS = re.compile(r"startdate|enddate|responseid|recordeddate|finished")  # repeated in a row below the names
_PREVIEW = re.compile(r"survey (preview|test|preview spam)|spam|1|2|8|9|17", re.IGNORECASE)


@survey_tool("qualtrics", "Qualtrics")
def qualtrics(form: Form) -> None:
    """Read responses to a survey (CSV, TSV): ResponseId and a column per question.

    The rows of question texts and import ids below the names are not answers. Previews, tests, spam, embedded data,
    timings and free text are excluded.
    """
    first, second = (set(map(_plain, row)) for row in (form.names, (form.rows or [[]])[0]))
    if not first >= _DATES and second >= _DATES:  # V1, V2, ... of older exports
        form.names = [under or name for name, under in zip(form.names, form.rows[0], strict=False)]
    while form.rows:
        cells = [(name, cell.replace(" ", "")) for name, cell in zip(form.names, form.rows[0], strict=False)]
        if any(cell.startswith(_IMPORT_ID) for _, cell in cells):
            asked = {name for name, cell in cells if cell.startswith(f'{_IMPORT_ID}"QID')}
            form.aside = {name for name, cell in cells if asked and cell and name not in asked}
        elif any(_HEADS.fullmatch(_plain(name)) and _plain(name) == _plain(cell) for name, cell in cells):
            form.texts = dict(zip(form.names, form.rows[0], strict=False))
        else:
            break
        del form.rows[0]
    states = zip(form.rows, form.cells(form.find("status", "responsetype")), strict=True)
    rows = [row for row, state in states if not _PREVIEW.fullmatch(state.strip())]
    if out := len(form.rows) - len(rows):
        form.remarks.append(f"{out:,} of {len(form.rows):,} rows are previews, tests or spam and are excluded.")
        form.rows = rows


_TIME = re.compile(r"\s*\d{1,4}[-/.年]\s?\d{1,2}[-/.月].*\d")


def _is_google(tool: Any, peek: FileProbe) -> bool:
    """Return whether the first column contains times, and column names are questions in natural language."""
    if len(peek.rows) < 2 or len(peek.names) < 3 or not tool.is_known(peek.names[0]):
        return False
    names = [name.strip() for name in peek.names[1:]]
    written = [name for name in names if " " in name or name.endswith(("?", "？", ":", "]"))]  # noqa: RUF001
    asks = 2 * len(written) >= len(names) or any(tool.is_known(name) or _asks_who(name) for name in names)
    rows = peek.rows[1:50]
    cells = [cell.strip() for row in rows for cell in row[1:] if cell.strip()]
    measures = all(map(is_number, cells)) and any("." in cell for cell in cells)
    dated = any(row and _TIME.match(row[0]) for row in rows)
    if not (asks and dated) or measures:
        return False
    try:
        pick_columns(peek.names, {}, "")  # a plain table has names of worker, task and label
    except ColumnError:
        return True
    return False


@survey_tool("google-forms", "Google Forms", recognises=_is_google)
def google_forms(form: Form) -> None:
    """Read responses to a form (CSV): Timestamp and a column per question.

    The worker is the e-mail address, the name if names are unique, or the number of the row. The time, scores, comments
    and personal data are excluded.
    """


@survey_tool("limesurvey", "LimeSurvey")
def limesurvey(form: Form) -> None:
    """Read responses to a survey (CSV): id, submitdate, lastpage and a column per question.

    Each question or sub-question is a task. Column names are codes, texts, or both.
    """


@survey_tool("surveymonkey", "SurveyMonkey")
def surveymonkey(form: Form) -> None:
    """Read all responses to a survey (CSV): Respondent ID and columns per question.

    The two header rows, of questions and of their options, are joined.
    """
    if not form.rows or form.cells(form.find("respondentid") or form.names[0])[0].strip():
        return
    options = form.rows.pop(0)
    question, names = "", []
    for name, option in zip(form.names, [*options, *[""] * len(form.names)], strict=False):
        question = name.strip() or question
        whole = _plain(option) in ("response", "openendedresponse", "")
        names.append(question if whole else f"{question} [{option.strip()}]")
    form.names = names
