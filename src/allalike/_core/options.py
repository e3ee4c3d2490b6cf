"""Options: fields of a frozen dataclass with checked values.

A subclass of `Options` checks its fields when an object is constructed:

    max_iter: int = whole(15, least=1)
    tol: float = number(5e-5, least=0)
    weighting: str | None = choice(None, "max", "inverse")

Other fields are not checked. To check two fields together, override `__post_init__` and call that of `Options` first.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Iterable
from functools import cache, partial
from numbers import Integral, Real
from typing import Any

from allalike._core.limits import MAX_OPTION_CHARACTERS
from allalike.errors import OptionError

Check = Callable[[Any, str], Any]
_EXACT = 1 << 53  # floats represent every integer below this
_CHECK = "check"  # the key of a field's check in its metadata


@dataclasses.dataclass(frozen=True)
class Options:
    """A frozen dataclass that checks its fields at construction; None is allowed where it is the default.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Search(Options):
    ...     rounds: int = whole(15, least=1)
    >>> Search(rounds=0)
    Traceback (most recent call last):
    allalike.errors.OptionError: rounds is 0. It must be a whole number, at least 1.
    """

    def __post_init__(self) -> None:
        """Replace each field by the result of its check."""
        kind: Any = type(self)
        for name, check in _checks(kind).items():
            value = getattr(self, name)
            if value is not None or getattr(kind, name) is not None:
                object.__setattr__(self, name, check(value, name))


@cache
def _checks(cls: type[Any]) -> dict[str, Check]:
    """Return the checks of a class by field; a subclass that only changes a default keeps the check."""
    checks = {}
    for base in reversed(cls.__mro__):
        for field in vars(base).get("__dataclass_fields__", {}).values():
            if _CHECK in field.metadata:
                checks[field.name] = field.metadata[_CHECK]
    return checks


def option(default: Any, check: Check) -> Any:
    """Make a field with a check, which gets the value and the field's name and returns the value to keep."""
    return dataclasses.field(default=default, metadata={_CHECK: check})


def whole(default: int | None, *, least: int, called: str | None = None) -> Any:
    """Make a field for an integer; errors use the name ``called`` if there is one."""
    check = partial(check_number, least=least, whole=True)
    return option(default, lambda value, name: check(value, called or name))


def number(default: float | None, *, least: float | None = None, below: float | None = None) -> Any:
    """Make a field for a finite number."""
    return option(default, partial(check_number, least=least, below=below))


def choice(default: str | None, *others: str) -> Any:
    """Make a field for one of several words; the first is the default, and may be None."""
    words = others if default is None else (default, *others)
    return option(default, lambda value, name: check_choice(value, words, name))


def flag(default: bool) -> Any:
    """Make a field that is True or False; other values, such as 'no', are refused."""

    def check(value: Any, option: str) -> bool:
        if not isinstance(value, bool):
            raise OptionError(f"{option} is {value!r}. It must be True or False.")
        return value

    return option(default, check)


def share(default: float) -> Any:
    """Make a field for a number between 0 and 1, such as a probability."""

    def check(value: Any, option: str) -> Any:
        if not 0 <= check_number(value, option) <= 1:
            raise OptionError(f"{option} is {value:g}. It must be between 0 and 1.")
        return value

    return option(default, check)


def check_number(
    value: Any, option: str, *, least: float | None = None, below: float | None = None, whole: bool = False
) -> Any:
    """Return the value if it is a finite number within its bounds, else raise an error."""
    is_number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    largest = math.inf if whole else sys.float_info.max
    if not is_number or not abs(value) <= largest or (least is not None and value < least):
        limit = "" if least is None else f", at least {least}"
        raise OptionError(f"{option} is {value!r}. It must be a {'whole' if whole else 'finite'} number{limit}.")
    if below is not None and value >= below:
        raise OptionError(f"{option} is {value!r}. It must be less than {below}.")
    return value if whole or abs(value) < _EXACT else float(value)  # larger ones overflow integer arrays


def check_length(text: str, name: str) -> str:
    """Return the text of an option, or raise an error if it is too long."""
    if len(text) > MAX_OPTION_CHARACTERS:
        raise OptionError(f"{name} has {len(text):,} characters. The maximum is {MAX_OPTION_CHARACTERS:,}.")
    return text


def check_choice(value: str, choices: Iterable[str], option: str) -> str:
    """Return the value if it is one of the choices, else raise an error.

    >>> check_choice("frist", ["first", "last"], "duplicates")
    Traceback (most recent call last):
    allalike.errors.OptionError: duplicates is 'frist'. Choose one of: first, last.
    """
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"{option} is {value!r}. Choose one of: {', '.join(choices)}.")
    return value
