"""Forms of dates: how they are written where that is not as ISO 8601 has it.

A form is the last day of 2024 as the labels would have it:

    31/12/2024      12/31/2024      31.12.2024      2024/12/31      31 Dec 2024      December 31, 2024

A time of day may stand behind a date, as in ``31/12/2024 23:59``. Months with names have their English ones. A year may
have two digits, as in ``31/12/24``: those from 69 on are of the last century, as POSIX has it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from allalike.errors import OptionError

__all__ = ["DATE_FORMS", "SHORT_DATE_FORMS", "check_date_form", "read_date", "write_date"]

DATE_FORMS = (
    *("31/12/2024", "12/31/2024", "31.12.2024", "31-12-2024", "12-31-2024", "2024/12/31", "2024.12.31"),
    *("31 Dec 2024", "31 December 2024", "Dec 31, 2024", "December 31, 2024", "31-Dec-2024"),
)  # which are looked for

SHORT_DATE_FORMS = tuple(
    mark.join(order) for mark in "/.-" for order in (("31", "12", "24"), ("12", "31", "24"), ("24", "12", "31"))
)

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_TOKEN = re.compile("2024|24|31|December|Dec|12")
_LAST_CENTURY = 69
_GROUPS = {
    "2024": "(?P<year>[0-9]{4})",
    "24": "(?P<year>[0-9]{2})",
    "31": "(?P<day>[0-9]{1,2})",
    "12": "(?P<month>[0-9]{1,2})",
    "Dec": "(?P<name>[A-Za-z]{3})",
    "December": "(?P<name>[A-Za-z]{3,9})",
}
_TIME = r"(?:[T ,]+(?P<time>[0-9]{1,2}:[0-9]{2}.*))?"


def check_date_form(value: Any, name: str) -> str:
    """Return a form if it is one.

    >>> check_date_form("31.12.2024", "form")
    '31.12.2024'
    >>> check_date_form("dd/mm", "form")
    Traceback (most recent call last):
    allalike.errors.OptionError: form is 'dd/mm'. Write the last day of 2024 as the labels have it, such as '31/12/2024'
    or '12/31/2024'.
    """
    found = (
        sorted({"24": "2024"}.get(token, token) for token in _TOKEN.findall(value)) if isinstance(value, str) else []
    )
    if found not in (["12", "2024", "31"], ["2024", "31", "Dec"], ["2024", "31", "December"]):
        raise OptionError(
            f"{name} is {value!r}. Write the last day of 2024 as the labels have it, such as '31/12/2024' or"
            " '12/31/2024'."
        )
    return str(value)


def read_date(text: str, form: str) -> str:
    """Return a date as ISO 8601 has it; one that is written otherwise stays as it is.

    >>> read_date("1/2/2024 9:30", "31/12/2024"), read_date("Feb 1, 2024", "Dec 31, 2024"), read_date("x", "31/12/2024")
    ('2024-02-01T09:30', '2024-02-01', 'x')
    >>> read_date("1/2/24", "31/12/24"), read_date("1.2.99", "31.12.24")
    ('2024-02-01', '1999-02-01')
    """
    found = _pattern_of(form).fullmatch(text.strip())
    parts = found.groupdict() if found else {}
    month = _number_of(parts["name"]) if parts.get("name") else int(parts.get("month") or 0)
    if found is None or not month:
        return text
    time = parts["time"] or ""
    clock = f"T{time.rjust(len(time) + (time.find(':') == 1), '0')}" if time else ""
    return f"{_whole_year(parts['year'])}-{month:02d}-{int(parts['day']):02d}{clock}"


def write_date(text: str, form: str) -> str:
    """Return an ISO date or time in a form.

    >>> write_date("2024-02-01", "31/12/2024"), write_date("2024-02-01T09:30:00", "Dec 31, 2024")
    ('01/02/2024', 'Feb 01, 2024 09:30:00')
    """
    day, _, time = text.partition("T")
    year, month, date = day.split("-")
    name = _MONTHS[int(month) - 1]
    tokens = {"2024": year, "24": year[-2:], "31": date, "12": month, "Dec": name[:3], "December": name}
    return _TOKEN.sub(lambda token: tokens[token[0]], form) + (f" {time}" if time else "")


def _whole_year(digits: str) -> str:
    if len(digits) == 4:
        return digits
    return f"{19 if int(digits) >= _LAST_CENTURY else 20}{digits}"


@cache
def _pattern_of(form: str) -> re.Pattern[str]:
    pieces = zip([*map(re.escape, _TOKEN.split(form))], [*_TOKEN.findall(form), ""], strict=True)
    return re.compile("".join(piece + _GROUPS.get(token, "") for piece, token in pieces) + _TIME)


def _number_of(name: str) -> int:
    """Return the number of a month, given its name or the first letters of it; 0 if there is none."""
    return next((place for place, month in enumerate(_MONTHS, 1) if month.casefold().startswith(name.casefold())), 0)
