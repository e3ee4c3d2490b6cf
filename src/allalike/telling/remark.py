"""Remark: a sentence on a result, before a face dresses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Remark", "name_some", "percent", "share", "two_digits"]

_N_NAMED = 5


@dataclass(frozen=True)
class Remark:
    """A sentence, and what a face needs to dress it.

    Parameters
    ----------
    sentence
        What there is to say. Options in it are named as Python has them, and `write_options` writes them otherwise.
    option, value
        The option that says the same, as a flag or a button might.
    names
        Ids of workers in it, which are not to be broken, and can be hidden.
    words
        Other words in it that are not to be broken.
    """

    sentence: str
    option: str = ""
    value: Any = ""
    names: Sequence[Any] = ()
    words: Sequence[Any] = ()


def name_some(ids: Sequence[Any], number: int, most: int = _N_NAMED) -> str:
    """Name the first of so many workers; one more is named, too.

    >>> name_some(["ada", "bob"], 2, 1), name_some(list("abcdefg"), 9)
    ('ada, bob', 'a, b, c, d, e and 4 more')
    """
    more = f" and {number - most:,} more" if number > most + 1 else ""
    return ", ".join(map(str, ids[:most] if more else ids)) + more


def percent(probability: float) -> str:
    """Write how probable something is; nothing that is estimated is certain.

    >>> percent(0.934), percent(0.9999)
    ('93 %', 'over 99 %')
    """
    return "over 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"


def share(part: int, whole: int) -> str:
    """Write a share in percent.

    >>> share(1, 8)
    '12.5 %'
    """
    return f"{100 * part / whole:.1f} %"


def two_digits(number: float) -> str:
    """Write a number with two digits that count, and never with an exponent where it is large.

    >>> two_digits(0.0353), two_digits(2.96), two_digits(99.7), two_digits(1786.0), two_digits(1.2e6)
    ('0.035', '3', '100', '1,800', '1,200,000')
    """
    short = float(f"{number:.2g}")
    return f"{short:,.0f}" if abs(short) >= 10 else f"{short:g}"
