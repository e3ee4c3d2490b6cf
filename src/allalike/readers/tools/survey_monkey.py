"""SurveyMonkey: all responses to a survey."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike.readers.tools.survey_columns import plain_name
from allalike.readers.tools.surveys import SurveyForm, SurveyTool

if TYPE_CHECKING:
    from allalike.readers.tools.base import Peek

__all__ = ["SurveyMonkey"]

_ABOUT_NAMES = """
    respondentid collectorid startdate enddate datecreated datemodified ipaddress emailaddress firstname lastname
    customdata1 customdata customvalue
"""
_ABOUT = frozenset(_ABOUT_NAMES.split())
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
        return plain_name(name) in _ABOUT or name.endswith("(please specify)]")

    def find_worker(self, form: SurveyForm) -> str | None:
        """Return the column with the id of the respondent."""
        return next((name for name in form.names if plain_name(name) == "respondentid"), None)
