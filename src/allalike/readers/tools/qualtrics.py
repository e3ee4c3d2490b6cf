"""Qualtrics: the responses to a survey."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from allalike.readers.tools.survey_columns import plain_name
from allalike.readers.tools.surveys import SurveyForm, SurveyTool

if TYPE_CHECKING:
    from allalike.readers.tools.base import Peek

__all__ = ["Qualtrics"]

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
