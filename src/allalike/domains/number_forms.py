"""Forms of numbers: how they are written where that is not 1234.5.

A form is the number 1234.5 as the labels would have it:

    1,234.5      1.234,5 €      1234,5      1 234.5 km      $1234.5      1234.5%      <1234.5

It says what stands between thousands and before the fraction, which unit stands before or behind the number, and with a
``<`` that bounds such as ``<46``, ``>= 3`` and ``~46`` are read as the numbers that they name. The unit may be missing
in a label, and so may the marks between thousands; everything else is as the form has it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from allalike._core.late import pa, pc
from allalike.errors import OptionError

BOUND = "[<>≤≥~≈]=?"
_FORM = re.compile(r"(?P<bound><?)(?P<before>\D*?)1(?P<thousands>[,.' ]?)234(?P<decimal>[.,])5(?P<behind>\D*)")
_SIGN, _EXPONENT = "[-+\u2212]?", "(?:[eE][-+]?[0-9]+)?"
_BLANK = r"[\s\x{00a0}\x{202f}]*"  # as Arrow writes it


@dataclass(frozen=True)
class NumberForm:
    """How numbers are written: marks between thousands and before the fraction, a unit, and whether there are bounds.

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
        """Read a form, or raise ValueError."""
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
        """What a number looks like, with its signs and its digits in groups, as Arrow reads patterns."""
        groups = rf"[0-9]{{1,3}}(?:{_class_of(self.thousands)}[0-9]{{3}})+|" if self.thousands else ""
        fraction = rf"(?:{re.escape(self.decimal)}[0-9]*)?"
        digits = rf"(?:{groups}[0-9]+){fraction}|{re.escape(self.decimal)}[0-9]+"
        unit = f"(?:{_escape(self.unit)})?{_BLANK}" if self.unit else ""
        bound = f"(?:{BOUND})?{_BLANK}" if self.bounds else ""
        head, tail = (unit, "") if self.before else ("", _BLANK + unit)
        return rf"^{_BLANK}{bound}({_SIGN}){head}({_SIGN})((?:{digits}){_EXPONENT}){tail}{_BLANK}$"

    def read(self, texts: Any) -> Any:
        """Return an Arrow array of texts as numbers; what is written otherwise is null.

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
        """Return texts as numbers, and None for what is written otherwise."""
        return list(self.read(texts).to_pylist())

    def parse(self, value: Any) -> float:
        """Return a number, or a text in this form, as a float; raise ValueError with the reason if it is neither."""
        if isinstance(value, str):
            found = self.parse_texts(pa.array([value]))[0]
        else:
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            found = float(value) if number else None
        if found is None or not np.isfinite(found):
            raise ValueError(f"it is no number that is written as {self}; correct it, or say that labels are classes")
        return found


def check_form(value: Any, name: str) -> str:
    """Return a form as it is written, if it is one.

    >>> check_form("1234.5kg", "form")
    '1234.5 kg'
    >>> check_form("kg", "form")
    Traceback (most recent call last):
    allalike.errors.OptionError: form is 'kg'. Write the number 1234.5 as the labels have it: '1,234.5 kg', '1.234,5 €'.
    """
    try:
        return str(NumberForm.of(value))
    except (ValueError, AttributeError, TypeError):
        raise OptionError(
            f"{name} is {value!r}. Write the number 1234.5 as the labels have it: '1,234.5 kg', '1.234,5 €'."
        ) from None


def _marks_of(thousands: str) -> str:
    """Return the characters that stand for a mark between thousands."""
    return {" ": " \u00a0\u2009\u202f", "'": "'\u2019"}.get(thousands, thousands)


def _class_of(thousands: str) -> str:
    return f"[{_marks_of(thousands)}]"


def _escape(unit: str) -> str:
    return re.escape(unit).replace(r"\ ", " ")
