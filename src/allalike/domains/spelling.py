"""Spelling: which differences between written labels mean nothing."""

from __future__ import annotations

from dataclasses import dataclass

from allalike._core.extraction import find_extractor

__all__ = ["Spelling", "match_key"]


@dataclass(frozen=True)
class Spelling:
    """What is done with each different label before labels are compared.

    Parameters
    ----------
    strip
        Whether blanks before and behind a label mean nothing.
    lower
        Whether case means nothing.
    extract
        How the label is found in what was written, if it is: one way, or several that follow each other.
    numbers
        Whether labels are written as numbers, so that 1 and 1.0 are one.

    >>> Spelling(lower=True)(" Cat"), Spelling(extract="number")("The answer is 42."), Spelling(extract="number")("No.")
    ('cat', '42', None)
    """

    strip: bool = True
    lower: bool = False
    extract: str | tuple[str, ...] | None = None
    numbers: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether blanks are all that is taken away."""
        return not self.lower and self.extract is None

    def __call__(self, text: str) -> str | None:
        """Return the label that a text means, or nothing if none is found in it."""
        found: str | None = text
        for step in self.steps:
            found = None if found is None else find_extractor(step)(found)
        if found is None:
            return None
        found = found.strip() if self.strip or self.extract is not None else found
        return found.casefold() if self.lower else found

    @property
    def steps(self) -> tuple[str, ...]:
        """The ways in which labels are found in what was written, one after the other."""
        return (self.extract,) if isinstance(self.extract, str) else self.extract or ()


def match_key(value: object) -> object:
    """Return what is the same for 1, 1.0, ``"1"`` and ``"1.0"``; other values, and codes such as ``"01"``, stay.

    >>> [match_key(value) for value in (1, 1.0, "1.0", " 1", "01", "x ", 0.5)]
    ['1', '1', '1', '1', '01', 'x', '0.5']
    """
    text = str(value).strip() if isinstance(value, str | int | float) else None
    if text is None:
        return value
    digits = text.lstrip("+-")
    if not digits[:1].isdigit() or not digits.isascii() or (digits[:1] == "0" and digits[1:2].isdigit()):
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() and abs(number) < 1 << 53 else repr(number)
