"""Written numbers and dates: thousands separators, decimal marks, units, bounds, order of day and month.

A form is the number 1234.5 in the notation of the labels:

    1,234.5      1.234,5 €      1234,5      1 234.5 km      $1234.5      1234.5%      <1234.5

It defines the thousands separator, the decimal mark and the unit before or after the number. With ``<``, bounds such as
``<46``, ``>= 3`` and ``~46`` are read as the numbers they contain. Labels may omit the unit and the thousands
separators; everything else must match the form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from allalike._core.lazy_imports import pa, pc
from allalike.errors import OptionError

BOUND = "[<>≤≥~≈]=?"
_FORM = re.compile(r"(?P<bound><?)(?P<before>\D*?)1(?P<thousands>[,.' ]?)234(?P<decimal>[.,])5(?P<behind>\D*)")
_SIGN, _EXPONENT = "[-+\u2212]?", "(?:[eE][-+]?[0-9]+)?"
_BLANK = r"[\s\x{00a0}\x{202f}]*"  # in the syntax of Arrow


@dataclass(frozen=True)
class NumberForm:
    """The notation of numbers: thousands separator, decimal mark, unit, and whether bounds are allowed.

    >>> NumberForm.of("$1,234.5").parse("$12,000"), NumberForm.of("1.234,5 kg").parse("-2.500,25 kg")
    (12000.0, -2500.25)
    >>> str(NumberForm(decimal=",", unit="€", before=False)), NumberForm(bounds=True).parse("< 46")
    ('1234,5 €', 46.0)
    """

    thousands: str = ""
    decimal: str = "."
    unit: str = ""
    before: bool = False
    bounds: bool = False

    @classmethod
    def of(cls, written: str) -> NumberForm:
        """Parse a form, or raise ValueError."""
        found = _FORM.fullmatch(written.strip())
        before, behind = (found["before"].strip(), found["behind"].strip()) if found else ("", "")
        if found is None or found["thousands"] == found["decimal"] or (before and behind):
            raise ValueError(written)
        return cls(found["thousands"], found["decimal"], before or behind, bool(before), bool(found["bound"]))

    def __str__(self) -> str:
        number = f"1{self.thousands}234{self.decimal}5"
        close = "" if self.unit in ("%", "‰", "°") else " "
        unit = self.unit and (f"{self.unit}{number}" if self.before else f"{number}{close}{self.unit}")
        return f"{'<' * self.bounds}{unit or number}"

    @cached_property
    def _pattern(self) -> str:
        """The regular expression of a number with sign and digit groups, in the syntax of Arrow."""
        groups = rf"[0-9]{{1,3}}(?:[{_marks_of(self.thousands)}][0-9]{{3}})+|" if self.thousands else ""
        fraction = rf"(?:{re.escape(self.decimal)}[0-9]*)?"
        digits = rf"(?:{groups}[0-9]+){fraction}|{re.escape(self.decimal)}[0-9]+"
        written = re.escape(self.unit).replace(r"\ ", " ")
        unit = f"(?:{written})?{_BLANK}" if self.unit else ""
        bound = f"(?:{BOUND})?{_BLANK}" if self.bounds else ""
        head, tail = (unit, "") if self.before else ("", _BLANK + unit)
        return rf"^{_BLANK}{bound}({_SIGN}){head}({_SIGN})((?:{digits}){_EXPONENT}){tail}{_BLANK}$"

    def read(self, texts: Any) -> Any:
        """Convert an Arrow array of texts to numbers; texts in another notation become null.

        >>> import pyarrow as pa
        >>> NumberForm.of("1,234.5%").read(pa.array(["46%", "1,000.5 %", "46,5%"])).to_pylist()
        [46.0, 1000.5, None]
        """
        texts = texts.cast(pa.large_string())
        plain = pc.replace_substring_regex(texts, self._pattern, r"\1\2\3")
        for mark in _marks_of(self.thousands):
            plain = pc.replace_substring(plain, mark, "")
        for mark, point in ((self.decimal, "."), ("\u2212", "-"), ("+", "")):
            plain = pc.replace_substring(plain, mark, point) if mark != point else plain
        fits = pc.and_not(pc.match_substring_regex(texts, self._pattern), pc.match_substring(plain, "--"))
        return pc.cast(pc.if_else(fits, plain, None), pa.float64())

    def parse_texts(self, texts: Any) -> list[float | None]:
        """Convert texts to numbers; texts in another notation become None."""
        return list(self.read(texts).to_pylist())

    def parse(self, value: Any) -> float:
        """Convert a number, or a text in this form, to a float; otherwise raise ValueError with the reason."""
        if isinstance(value, str):
            found = self.parse_texts(pa.array([value]))[0]
        else:
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            found = float(value) if number else None
        if found is None or not np.isfinite(found):
            raise ValueError(f"it is not a number of the form {self}; correct it, or declare that labels are classes")
        return found


def check_form(value: Any, name: str) -> str:
    """Return the normalised text of a valid form.

    >>> check_form("1234.5kg", "form")
    '1234.5 kg'
    >>> check_form("kg", "form")
    Traceback (most recent call last):
    allalike.errors.OptionError: form is 'kg'. Write the number 1234.5 as in the labels: '1,234.5 kg', '1.234,5 €'.
    """
    try:
        return str(NumberForm.of(value))
    except (ValueError, AttributeError, TypeError):
        raise OptionError(
            f"{name} is {value!r}. Write the number 1234.5 as in the labels: '1,234.5 kg', '1.234,5 €'."
        ) from None


def _marks_of(thousands: str) -> str:
    """Return all characters equivalent to a thousands separator."""
    return {" ": " \u00a0\u2009\u202f", "'": "'\u2019"}.get(thousands, thousands)


# Forms of dates other than ISO 8601.
#
# A form is the last day of 2024 in the notation of the labels:
#
#     31/12/2024      12/31/2024      31.12.2024      2024/12/31      31 Dec 2024      December 31, 2024
#
# A time of day may follow a date, as in ``31/12/2024 23:59``. Month names are English. Years may have two digits, as in
# ``31/12/24``: 69 to 99 mean the last century, as in POSIX.


DATE_FORMS = (
    *("31/12/2024", "12/31/2024", "31.12.2024", "31-12-2024", "12-31-2024", "2024/12/31", "2024.12.31"),
    *("31 Dec 2024", "31 December 2024", "Dec 31, 2024", "December 31, 2024", "31-Dec-2024"),
)  # recognised automatically
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
    """Return a form if it is valid.

    >>> check_date_form("31.12.2024", "form")
    '31.12.2024'
    >>> check_date_form("dd/mm", "form")
    Traceback (most recent call last):
    allalike.errors.OptionError: form is 'dd/mm'. Write the last day of 2024 as in the labels, such as '31/12/2024' or
    '12/31/2024'.
    """
    found = (
        sorted({"24": "2024"}.get(token, token) for token in _TOKEN.findall(value)) if isinstance(value, str) else []
    )
    if found not in (["12", "2024", "31"], ["2024", "31", "Dec"], ["2024", "31", "December"]):
        raise OptionError(
            f"{name} is {value!r}. Write the last day of 2024 as in the labels, such as '31/12/2024' or '12/31/2024'."
        )
    return str(value)


def read_date(text: str, form: str) -> str:
    """Convert a date to ISO 8601; return text in another notation unchanged.

    >>> read_date("1/2/2024 9:30", "31/12/2024"), read_date("Feb 1, 2024", "Dec 31, 2024"), read_date("x", "31/12/2024")
    ('2024-02-01T09:30', '2024-02-01', 'x')
    >>> read_date("1/2/24", "31/12/24"), read_date("1.2.99", "31.12.24")
    ('2024-02-01', '1999-02-01')
    """
    found = _pattern_of(form).fullmatch(text.strip())
    parts = found.groupdict() if found else {}
    month = int(parts.get("month") or 0)
    if name := (parts.get("name") or "").casefold():
        month = next((number for number, each in enumerate(_MONTHS, 1) if each.casefold().startswith(name)), 0)
    if found is None or not month:
        return text
    time = parts["time"] or ""
    clock = f"T{time.rjust(len(time) + (time.find(':') == 1), '0')}" if time else ""
    year, century = parts["year"], "" if len(parts["year"]) == 4 else 19 if int(parts["year"]) >= _LAST_CENTURY else 20
    return f"{century}{year}-{month:02d}-{int(parts['day']):02d}{clock}"


def write_date(text: str, form: str) -> str:
    """Format an ISO date or time in a form.

    >>> write_date("2024-02-01", "31/12/2024"), write_date("2024-02-01T09:30:00", "Dec 31, 2024")
    ('01/02/2024', 'Feb 01, 2024 09:30:00')
    """
    day, _, time = text.partition("T")
    year, month, date = day.split("-")
    name = _MONTHS[int(month) - 1]
    tokens = {"2024": year, "24": year[-2:], "31": date, "12": month, "Dec": name[:3], "December": name}
    return _TOKEN.sub(lambda token: tokens[token[0]], form) + (f" {time}" if time else "")


@cache
def _pattern_of(form: str) -> re.Pattern[str]:
    pieces = zip([*map(re.escape, _TOKEN.split(form))], [*_TOKEN.findall(form), ""], strict=True)
    return re.compile("".join(piece + _GROUPS.get(token, "") for piece, token in pieces) + _TIME)
