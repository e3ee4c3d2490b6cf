"""Survey exports: Qualtrics, Google Forms, LimeSurvey and SurveyMonkey."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from allalike.errors import ColumnError
from allalike.readers.column_names import pick_columns
from allalike.readers.tools.surveys import SurveyForm, SurveyTool, asks_who, plain_name

if TYPE_CHECKING:
    from allalike.readers.tools.base import Peek

_ABOUT_NAMES = """
    startdate enddate status responsetype ipaddress progress durationinseconds finished recordeddate responseid
    recipientlastname recipientfirstname recipientemail externalreference externaldatareference locationlatitude
    locationlongitude locationaccuracy distributionchannel userlanguage responseset name email
"""
_ABOUT = frozenset(_ABOUT_NAMES.split())
_HEADS = frozenset({"startdate", "enddate", "responseid", "recordeddate", "finished"})
_NO_QUESTION = re.compile(
    r".*_(TEXT|First Click|Last Click|Page Submit|Click Count|Browser|Version|Operating System|Resolution)"
    r"|.*_DO(_.*)?|Q_.*|SC\d+|Q\d+_(Id|Name|Size|Type)|.* - (Parent )?Topics",
)
_IMPORT_ID = '{"ImportId":'
_PREVIEWS = ("survey preview", "survey test", "spam", "survey preview spam", "1", "2", "8", "9", "17")


class Qualtrics(SurveyTool):
    """The responses to a survey of Qualtrics.

    >>> Qualtrics().is_about("Duration (in seconds)"), Qualtrics().is_about("Q12")
    (True, False)
    """

    name = "qualtrics"
    title = "Qualtrics"
    summary = "responses to a survey (CSV, TSV): ResponseId and a column for each question"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has the columns that every response has."""
        rows = peek.rows[:2]
        heads = [{plain_name(name) for name in row} for row in rows]
        return any(
            {"startdate", "enddate"} <= row and bool(row & {"responseid", "recordeddate", "responseset"})
            for row in heads
        )

    def prepare(self, form: SurveyForm) -> None:
        """Take away the rows of question texts and import ids, and the responses that are no participant's."""
        if not _is_metadata(form.names) and form.rows and _is_metadata(form.rows[0]):  # V1, V2, ... of older exports
            form.names = [under or name for name, under in zip(form.names, form.rows[0], strict=False)]
        imports: list[str] = []
        while form.rows and (_is_import_row(form.rows[0]) or _is_head_row(form.names, form.rows[0])):
            row = form.rows.pop(0)
            if _is_import_row(row):
                imports = row
            else:
                form.texts = dict(zip(form.names, row, strict=False))
        form.aside = _find_embedded(form.names, imports)
        form.leave_out(_find(form.names, "status", "responsetype"), _PREVIEWS, "are previews, tests or spam")

    def is_about(self, name: str) -> bool:
        """Tell whether a column is one that every response has, a time, or a written text."""
        return plain_name(name) in _ABOUT or _NO_QUESTION.fullmatch(name) is not None

    def find_worker(self, form: SurveyForm) -> str | None:
        """Return the column with the id of the response."""
        return _find(form.names, "responseid")


def _is_metadata(names: list[str]) -> bool:
    return {"startdate", "enddate"} <= {plain_name(name) for name in names}


def _is_import_row(row: list[str]) -> bool:
    return any(cell.replace(" ", "").startswith(_IMPORT_ID) for cell in row)


def _is_head_row(names: list[str], row: list[str]) -> bool:
    """Tell whether a row repeats heads instead of answering."""
    pairs = [(plain_name(name), plain_name(cell)) for name, cell in zip(names, row, strict=False)]
    return any(name == cell and name in _HEADS for name, cell in pairs)


def _find_embedded(names: list[str], imports: list[str]) -> frozenset[str]:
    """Return the columns that belong to no question, if the file says which do."""
    pairs = [(name, cell.replace(" ", "")) for name, cell in zip(names, imports, strict=False)]
    asked = {name for name, cell in pairs if cell.startswith(_IMPORT_ID + '"QID')}
    return frozenset(name for name, cell in pairs if cell and name not in asked) if asked else frozenset()


def _find(names: list[str], *wanted: str) -> str | None:
    return next((name for name in names if plain_name(name) in wanted), None)


# Google Forms: the responses to a form, as the spreadsheet has them.


_TIME_NAMES = """
    timestamp zeitstempel horodateur marcatemporal carimbodedatahora informazionicronologiche sygnaturaczasowa
    tijdstempel tidstämpel tidsstempel aikaleima zamandamgası отметкавремени タイムスタンプ 时间戳记 時間戳記 타임스탬프
"""  # noqa: RUF001
_TIMES = frozenset(_TIME_NAMES.split())
_ENDS = ("?", "？", ":", "]")  # noqa: RUF001
_DATE = re.compile(r"\d{1,4}[-/.年]\s?\d{1,2}[-/.月].*\d")
_MAIL = re.compile(
    r"(your|student|work)?(emailaddress|email|emailid|username|mailaddress|mail|adressemail|correoelectr[oó]nico"
    r"|direcci[oó]ndecorreoelectr[oó]nico|nomdutilisateur|nombredeusuario|nomedeusu[aá]rio|benutzername|emailadresse)"
)
_MIN_NEW = 0.8  # this share of addresses must be new, for some people answer twice
_GOOGLE_FORMS_NO_QUESTION = re.compile(r".*\[(Score|Feedback)\]|Score|Total score|Total Score", re.IGNORECASE)


class GoogleForms(SurveyTool):
    """The responses to a form of Google Forms.

    >>> GoogleForms().is_about("What is your name?"), GoogleForms().is_about("Is the sky blue?")
    (True, False)
    """

    name = "google-forms"
    title = "Google Forms"
    summary = "responses to a form (CSV): Timestamp and a column for each question"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file begins with times, and has heads that people wrote to be read."""
        if len(peek.rows) < 2 or len(peek.names) < 3 or plain_name(peek.names[0]) not in _TIMES:
            return False
        heads = [name.strip() for name in peek.names[1:]]
        written = [head for head in heads if " " in head or head.endswith(_ENDS)]
        asks = 2 * len(written) >= len(heads) or any(self.is_about(head) for head in heads)
        cells = [cell.strip() for row in peek.rows[1:50] for cell in row[1:] if cell.strip()]
        measures = all(map(_is_number, cells)) and any("." in cell for cell in cells)
        dated = [row for row in peek.rows[1:50] if row and _DATE.match(row[0].strip())]
        return asks and bool(dated) and not measures and not _is_long(peek.names)

    def prepare(self, form: SurveyForm) -> None:
        """Leave rows as they are."""

    def is_about(self, name: str) -> bool:
        """Tell whether a column is the time, a score, or asks who the person is."""
        plain = plain_name(name)
        about = _MAIL.fullmatch(plain) or _GOOGLE_FORMS_NO_QUESTION.fullmatch(name.strip())
        return plain in _TIMES or about is not None or asks_who(name)

    def find_worker(self, form: SurveyForm) -> str | None:
        """Return the column of addresses, which few give twice, or else of names, if all have one of their own."""
        addresses = [name for name in form.names if _MAIL.fullmatch(plain_name(name))]
        names = [name for name in form.names if plain_name(name).endswith("name") and self.is_about(name)]
        for name in dict.fromkeys([*addresses, *names]):
            people = [cell.strip() for cell in form.column(name)]
            if all(people) and len(set(people)) >= len(people) * (_MIN_NEW if name in addresses else 1):
                return name
        return None


def _is_long(names: list[str]) -> bool:
    """Tell whether a table names a worker, a task and a label, and is a log of answers."""
    try:
        pick_columns(names, {}, "")
    except ColumnError:
        return False
    return True


def _is_number(cell: str) -> bool:
    return cell.replace(".", "", 1).removeprefix("-").isdigit()


# LimeSurvey: the responses to a survey.


_LIME_ABOUT_NAMES = """
    id responseid submitdate datesubmitted lastpage startlanguage seed token accesscode startdate datestarted
    datestamp datelastaction ipaddr ipaddress refurl referrerurl interviewtime totaltime
"""
_LIME_ABOUT = frozenset(_LIME_ABOUT_NAMES.split())
_LIME_TIMES = re.compile(r"(groupTime.*|.*Time)|(Group time: .*|Question time: .*)")


class LimeSurvey(SurveyTool):
    """The responses to a survey of LimeSurvey.

    >>> LimeSurvey().is_about("submitdate. Date submitted"), LimeSurvey().is_about("G1Q1[SQ001]")
    (True, False)
    """

    name = "limesurvey"
    title = "LimeSurvey"
    summary = "responses to a survey (CSV): id, submitdate, lastpage and a column for each question"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has the columns that every response has, by code or by text."""
        heads = {_code(name) for name in peek.names}
        return {"submitdate", "lastpage"} <= heads or {"datesubmitted", "lastpage"} <= heads

    def prepare(self, form: SurveyForm) -> None:
        """Leave rows as they are."""

    def is_about(self, name: str) -> bool:
        """Tell whether a column is one that every response has, or a time."""
        return _code(name) in _LIME_ABOUT or _LIME_TIMES.fullmatch(name) is not None or name.endswith("[other]")

    def find_worker(self, form: SurveyForm) -> str | None:
        """Return the column with the id of the response."""
        return next((name for name in form.names if _code(name) in ("id", "responseid")), None)


def _code(name: str) -> str:
    """Return the code of a column, without its text where a head has both."""
    code, mark, _ = name.partition(". ")
    return plain_name(code if mark else name)


# SurveyMonkey: all responses to a survey.


_MONKEY_ABOUT_NAMES = """
    respondentid collectorid startdate enddate datecreated datemodified ipaddress emailaddress firstname lastname
    customdata1 customdata customvalue
"""
_MONKEY_ABOUT = frozenset(_MONKEY_ABOUT_NAMES.split())
_BESIDE = ({"collectorid"}, {"startdate", "enddate"}, {"datecreated", "datemodified"})
_WHOLE = frozenset({"response", "openendedresponse", ""})


class SurveyMonkey(SurveyTool):
    """All responses to a survey of SurveyMonkey.

    >>> SurveyMonkey().is_about("Respondent ID"), SurveyMonkey().is_about("How was it?")
    (True, False)
    """

    name = "surveymonkey"
    title = "SurveyMonkey"
    summary = "all responses to a survey (CSV): Respondent ID and columns for each question"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether a file has respondents, with their collectors or the times at which they answered."""
        names = {plain_name(name) for name in peek.names}
        return "respondentid" in names and any(also <= names for also in _BESIDE)

    def prepare(self, form: SurveyForm) -> None:
        """Join the two rows of heads: questions, and below them the options of each."""
        who = next((place for place, name in enumerate(form.names) if plain_name(name) == "respondentid"), 0)
        if not form.rows or (form.rows[0][who : who + 1] or [""])[0].strip():
            return
        options = form.rows.pop(0)
        question, names = "", []
        for name, option in zip(form.names, [*options, *[""] * len(form.names)], strict=False):
            question = name.strip() or question
            names.append(question if plain_name(option) in _WHOLE else f"{question} [{option.strip()}]")
        form.names = names

    def is_about(self, name: str) -> bool:
        """Tell whether a column is one that every response has."""
        return plain_name(name) in _MONKEY_ABOUT or name.endswith("(please specify)]")

    def find_worker(self, form: SurveyForm) -> str | None:
        """Return the column with the id of the respondent."""
        return next((name for name in form.names if plain_name(name) == "respondentid"), None)
