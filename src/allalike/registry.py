"""Find a thing by its name, and help those who misspell it."""

from __future__ import annotations

import dataclasses
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeVar

from allalike.errors import OptionError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["check_choice", "check_flag", "check_number", "check_options", "did_you_mean", "find", "make"]

T = TypeVar("T")


def find(name: str, known: Mapping[str, T], kind: str) -> T:
    """Return what has this name, in any case.

    >>> find("p-td", {"P-TD": 1}, "method")
    1
    >>> find("PTD", {"UA": 0, "P-TD": 1}, "method")
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: No method is called 'PTD'. Did you mean 'P-TD'? Known methods: UA, P-TD.
    """
    plain = {key.casefold(): key for key in known}
    if name.casefold() in plain:
        return known[plain[name.casefold()]]
    raise UnknownNameError(
        f"No {kind} is called {name!r}.{did_you_mean(name, known)} Known {kind}s: {', '.join(known)}."
    )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Ask whether a known name was meant, if one is close.

    >>> did_you_mean("meen", ["mean", "median"])
    " Did you mean 'mean'?"
    """
    import difflib

    plain = {key.casefold(): key for key in known}
    close = difflib.get_close_matches(name.casefold(), plain, n=1)
    return f" Did you mean {plain[close[0]]!r}?" if close else ""


def make(spec: str, known: Mapping[str, type[T]], kind: str) -> T:
    """Make a thing from its name, with options in brackets if there are any.

    >>> from allalike.methods import METHODS
    >>> make("iP-TD(max_iter=3)", METHODS, "method").max_iter
    3
    """
    import re

    parts = re.fullmatch(r"\s*([^()]+?)\s*(?:\((.*)\))?\s*", spec, flags=re.DOTALL)
    if parts is None:
        raise UnknownNameError(f"{spec!r} is not the name of a {kind}. Known {kind}s: {', '.join(known)}.")
    cls = find(parts[1], known, kind)
    return cls(**check_options(cls, _options(parts[2] or "", spec), kind))


def choose(given: Any, known: Mapping[str, type[T]], kind: str, base: type[T]) -> T:
    """Return what is given, or make it of its name or its class.

    >>> from allalike.methods import METHODS, PTD, Method
    >>> choose("P-TD", METHODS, "method", Method) == choose(PTD, METHODS, "method", Method) == PTD()
    True
    """
    if isinstance(given, str):
        return make(given, known, kind)
    if isinstance(given, type) and issubclass(given, base):
        return given()
    if isinstance(given, base):
        return given
    raise OptionError(
        f"{given!r} is no {kind}. Give one of the names {', '.join(known)}, or an object of class {base.__name__}."
    )


def check_options(cls: type[Any], options: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the options if the class has all of them."""
    fields = [field.name for field in dataclasses.fields(cls) if field.init]
    for name in options:
        if name not in fields:
            has = f"It has {', '.join(fields)}." if fields else "It has none."
            raise OptionError(f"{kind.capitalize()} {cls.name} has no option {name!r}. {has}")
    return dict(options)


def check_number(value: Any, option: str, *, least: float, whole: bool = False) -> None:
    """Refuse what is no finite number, or too small.

    >>> check_number("a", "rounds", least=1, whole=True)
    Traceback (most recent call last):
    allalike.errors.OptionError: rounds is 'a'. It must be a whole number, at least 1.
    """
    is_number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    if not is_number or not least <= value < float("inf"):
        kind = "whole" if whole else "finite"
        raise OptionError(f"{option} is {value!r}. It must be a {kind} number, at least {least}.")


def check_flag(value: Any, option: str) -> None:
    """Refuse what is neither True nor False; the word 'no' would count as True.

    >>> check_flag("no", "positive")
    Traceback (most recent call last):
    allalike.errors.OptionError: positive is 'no'. It must be True or False.
    """
    if not isinstance(value, bool):
        raise OptionError(f"{option} is {value!r}. It must be True or False.")


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


def _options(text: str, spec: str) -> dict[str, Any]:
    import ast

    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if isinstance(call, ast.Call) and not call.args and all(word.arg for word in call.keywords):
            return {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError):
        pass
    raise OptionError(f"The options in {spec!r} cannot be read. Write them as name(option=value, option='word').")
