"""Google Forms: the responses to a form, as the spreadsheet has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from allalike.errors import ColumnError
from allalike.readers.column_names import pick_columns
from allalike.readers.tools.survey_columns import asks_who, plain_name
from allalike.readers.tools.surveys import SurveyForm, SurveyTool

if TYPE_CHECKING:
    from allalike.readers.tools.base import Peek

__all__ = ["GoogleForms"]

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
_NO_QUESTION = re.compile(r".*\[(Score|Feedback)\]|Score|Total score|Total Score", re.IGNORECASE)


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
        about = _MAIL.fullmatch(plain) or _NO_QUESTION.fullmatch(name.strip())
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
