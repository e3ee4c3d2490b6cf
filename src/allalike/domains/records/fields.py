"""Fields of a record as they are written: names, each with the kind of label that it holds.

    name:text, year:real, tags:set(separator=';'), colour

A field without a kind has one that is still to be guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields as options_of
from typing import Any

from allalike._core.limits import MAX_FIELDS
from allalike._core.options import check_number
from allalike._core.registry import choose
from allalike.domains.contract import Domain
from allalike.errors import OptionError

__all__ = ["NamedKinds", "read_fields", "read_importance", "write_fields"]

NamedKinds = tuple[tuple[str, Domain | None], ...]

_FORM = 'Write it as "name:text, year:real", or as {"name": "text", "year": "real"}.'
_PIECE = re.compile(r"""(?:[^,()'"]|'[^']*'|"[^"]*"|\((?:[^()'"]|'[^']*'|"[^"]*")*\))+""")


def read_fields(given: Any, known: Mapping[str, type[Domain]]) -> NamedKinds:
    """Return the fields that a text, a mapping, names or pairs name, given the domains that there are.

    >>> from allalike.domains import DOMAINS
    >>> fields = read_fields("year: real(rule=median), tags:set(separator=','), colour", DOMAINS)
    >>> [(name, domain and domain.name) for name, domain in fields]
    [('year', 'real'), ('tags', 'set'), ('colour', None)]
    """
    fields = tuple((name, _kind_of(name, kind, known)) for name, kind in _pairs(given))
    names = [name for name, _ in fields]
    if len(names) > MAX_FIELDS:
        raise OptionError(
            f"fields names {len(names):,} fields, and a record has at most {MAX_FIELDS:,}. Leave some out."
        )
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise OptionError(f"The field {twice!r} is named twice. Name each field once.")
    return fields


def _pairs(given: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(given, str):
        pieces = [piece.strip() for piece in _PIECE.findall(given) if piece.strip()]
        if _PIECE.sub("", given).replace(",", ""):
            raise OptionError(f"fields is {given!r}, which cannot be read. {_FORM}")
        pairs: Iterable[Any] = [tuple(part.strip() for part in piece.split(":", 1)) for piece in pieces]
    elif isinstance(given, Mapping):
        pairs = given.items()
    elif isinstance(given, Iterable):
        pairs = given
    else:
        raise OptionError(f"fields is {given!r}. {_FORM}")
    for pair in pairs:
        name, kind = (pair, None) if isinstance(pair, str) else pair if len(pair) == 2 else (*pair, None)
        if not isinstance(name, str) or not name.strip():
            raise OptionError(f"A field is called {name!r}. {_FORM}")
        yield name.strip(), kind


def _kind_of(name: str, kind: Any, known: Mapping[str, type[Domain]]) -> Domain | None:
    if kind is None or kind == "":
        return None
    try:
        return choose(kind, known, "domain", Domain)
    except (OptionError, LookupError) as error:
        raise type(error)(f"The field {name!r}: {error}") from None


def read_importance(given: Any, fields: NamedKinds) -> tuple[tuple[str, float], ...]:
    """Return how much fields count, each by its name, where that is said; without fields they may have any names.

    >>> read_importance({"year": 2}, (("year", None), ("name", None)))
    (('year', 2),)
    """
    importance, names = dict(given), [name for name, _ in fields]
    for name, value in importance.items():
        if names and name not in names:
            raise OptionError(f"importance has {name!r}, which is none of the fields: {', '.join(names)}.")
        if check_number(value, f"The importance of {name!r}", least=0) == 0:
            raise OptionError(f"The importance of {name!r} is 0. Leave the field out with ignore=[{name!r}].")
    return tuple(importance.items())


def write_fields(fields: NamedKinds) -> str:
    """Write fields as they are read.

    >>> from allalike.domains import DOMAINS
    >>> write_fields(read_fields("year: real(rule=median), colour", DOMAINS))
    "year:real(rule='median'), colour"
    """
    return ", ".join(name if domain is None else f"{name}:{_spell(domain)}" for name, domain in fields)


def _spell(domain: Domain) -> str:
    """Write a domain with the options that are not as usual."""
    usual = type(domain)() if domain.name != "custom" else domain
    options = {option.name: getattr(domain, option.name) for option in options_of(domain)}
    chosen = [f"{name}={value!r}" for name, value in options.items() if value != getattr(usual, name)]
    return f"{domain.name}({', '.join(chosen)})" if chosen else domain.name
