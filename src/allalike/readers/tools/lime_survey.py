"""LimeSurvey: the responses to a survey."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from allalike.readers.tools.survey_columns import plain_name
from allalike.readers.tools.surveys import SurveyForm, SurveyTool

if TYPE_CHECKING:
    from allalike.readers.tools.base import Peek

__all__ = ["LimeSurvey"]

_ABOUT_NAMES = """
    id responseid submitdate datesubmitted lastpage startlanguage seed token accesscode startdate datestarted
    datestamp datelastaction ipaddr ipaddress refurl referrerurl interviewtime totaltime
"""
_ABOUT = frozenset(_ABOUT_NAMES.split())
_TIMES = re.compile(r"(groupTime.*|.*Time)|(Group time: .*|Question time: .*)")


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
        return _code(name) in _ABOUT or _TIMES.fullmatch(name) is not None or name.endswith("[other]")

    def find_worker(self, form: SurveyForm) -> str | None:
        """Return the column with the id of the response."""
        return next((name for name in form.names if _code(name) in ("id", "responseid")), None)


def _code(name: str) -> str:
    """Return the code of a column, without its text where a head has both."""
    code, mark, _ = name.partition(". ")
    return plain_name(code if mark else name)
