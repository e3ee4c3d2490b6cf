"""Options: fields of a frozen dataclass, with what they may be beside their default.

A class below `Options` checks its fields once, when an object of it is made:

    max_iter: int = whole(15, least=1)
    tol: float = number(5e-5, least=0)
    weighting: str | None = choice(None, "max", "inverse")

To a type checker each is a plain field with a default; a field of another kind stays as it is. What involves two fields
is checked in a `__post_init__` that calls that of `Options` first.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable
from functools import cache, partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, overload

from allalike._core.limits import MAX_OPTION_CHARACTERS
from allalike.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Options",
    "check_choice",
    "check_flag",
    "check_length",
    "check_number",
    "choice",
    "flag",
    "number",
    "option",
    "share",
    "whole",
]

Check = Callable[[Any, str], Any]
_EXACT = 1 << 53  # below which a float has every whole number
_CHECK = "check"  # the key of a field's check in its metadata


@dataclasses.dataclass(frozen=True)
class Options:
    """A frozen dataclass whose fields are checked when it is made; None is allowed where it is the default.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Search(Options):
    ...     rounds: int = whole(15, least=1)
    >>> Search(rounds=0)
    Traceback (most recent call last):
    allalike.errors.OptionError: rounds is 0. It must be a whole number, at least 1.
    """

    def __post_init__(self) -> None:
        """Check each field, and keep what its check returns."""
        kind: Any = type(self)
        for name, check in _checks(kind).items():
            value = getattr(self, name)
            if value is not None or getattr(kind, name) is not None:
                object.__setattr__(self, name, check(value, name))


@cache
def _checks(cls: type[Any]) -> dict[str, Check]:
    """Return the checks of a class by field; a field that has another default in a class below keeps its check."""
    declared = [
        field for base in reversed(cls.__mro__) for field in vars(base).get("__dataclass_fields__", {}).values()
    ]
    return {field.name: field.metadata[_CHECK] for field in declared if _CHECK in field.metadata}


def option(default: Any, check: Check) -> Any:
    """Make a field whose values go through a check, which is given the value and the name, and returns the value.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Greeting(Options):
    ...     word: str = option("hello", lambda word, name: word.strip())
    >>> Greeting(word=" good evening ")
    Greeting(word='good evening')
    """
    return dataclasses.field(default=default, metadata={_CHECK: check})


@overload
def whole(default: int, *, least: int, called: str | None = None) -> int: ...
@overload
def whole(default: None, *, least: int, called: str | None = None) -> int | None: ...
def whole(default: int | None, *, least: int, called: str | None = None) -> Any:
    """Make a field for a whole number.

    ``called`` is the name that errors use, where it is not that of the field.
    """
    check = partial(check_number, least=least, whole=True)
    return option(default, lambda value, name: check(value, called or name))


@overload
def number(default: float, *, least: float | None = None, below: float | None = None) -> float: ...
@overload
def number(default: None, *, least: float | None = None, below: float | None = None) -> float | None: ...
def number(default: float | None, *, least: float | None = None, below: float | None = None) -> Any:
    """Make a field for a finite number."""
    return option(default, partial(check_number, least=least, below=below))


@overload
def choice(default: str, *others: str) -> str: ...
@overload
def choice(default: None, *others: str) -> str | None: ...
def choice(default: str | None, *others: str) -> Any:
    """Make a field for one of some words, the first of which is the default; it may be None."""
    words = others if default is None else (default, *others)
    return option(default, lambda value, name: check_choice(value, words, name))


def flag(default: bool) -> bool:
    """Make a field that is True or False."""
    made: bool = option(default, check_flag)
    return made


def share(default: float) -> float:
    """Make a field for a number between 0 and 1, such as a probability."""
    made: float = option(default, _check_share)
    return made


def check_number(
    value: Any, option: str, *, least: float | None = None, below: float | None = None, whole: bool = False
) -> Any:
    """Return the value if it is a finite number, and neither too small nor too large.

    >>> check_number("a", "rounds", least=1, whole=True)
    Traceback (most recent call last):
    allalike.errors.OptionError: rounds is 'a'. It must be a whole number, at least 1.
    """
    is_number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    if (
        not is_number
        or not abs(value) <= (math.inf if whole else sys.float_info.max)
        or (least is not None and value < least)
    ):
        limit = "" if least is None else f", at least {least}"
        raise OptionError(f"{option} is {value!r}. It must be a {'whole' if whole else 'finite'} number{limit}.")
    if below is not None and value >= below:
        raise OptionError(f"{option} is {value!r}. It must be less than {below}.")
    return value if whole or abs(value) < _EXACT else float(value)  # larger ones fit no array of whole numbers


def check_length(text: str, name: str) -> str:
    """Return what is written in the place of an option, unless it is longer than any that somebody means.

    >>> check_length("x" * 1001, "The method")
    Traceback (most recent call last):
    allalike.errors.OptionError: The method is written with 1,001 characters. It may have 1,000 at most.
    """
    if len(text) > MAX_OPTION_CHARACTERS:
        raise OptionError(
            f"{name} is written with {len(text):,} characters. It may have {MAX_OPTION_CHARACTERS:,} at most."
        )
    return text


def check_flag(value: Any, option: str) -> bool:
    """Return the value if it is True or False; the word 'no' would count as True.

    >>> check_flag("no", "positive")
    Traceback (most recent call last):
    allalike.errors.OptionError: positive is 'no'. It must be True or False.
    """
    if not isinstance(value, bool):
        raise OptionError(f"{option} is {value!r}. It must be True or False.")
    return value


def check_choice(value: str, choices: Iterable[str], option: str) -> str:
    """Return the value if it is one of the choices.

    >>> check_choice("frist", ["first", "last"], "repeats")
    Traceback (most recent call last):
    allalike.errors.OptionError: repeats is 'frist'. Choose one of: first, last.
    """
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"{option} is {value!r}. Choose one of: {', '.join(choices)}.")
    return value


def _check_share(value: Any, option: str) -> Any:
    if not 0 <= check_number(value, option) <= 1:
        raise OptionError(f"{option} must be between 0 and 1, and one is {value:g}.")
    return value
