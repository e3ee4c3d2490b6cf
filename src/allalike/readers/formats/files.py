"""Options of reading: how answers are read, the same wherever answers are named."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from allalike._core.options import Options, choice, flag, option
from allalike._core.registry import did_you_mean
from allalike.errors import OptionError
from allalike.readers.formats.encodings import find_name

BOOKS = (".xlsx", ".xlsm")
MANIFEST = "manifest.csv"  # of a folder of masks


class ReadOptions(TypedDict, total=False):
    """Read options, as documented by `allalike.read`: functions of answers take these as keywords.

    The usual values, and what they may be, are those of `Scan` and of `Files`.
    """

    columns: Mapping[str, str] | None
    wide: str | None
    duplicates: str | None
    missing: str
    na_values: Iterable[str] | None
    abstain_label: Any
    label_map: Any
    tool: str | None
    question: str | None
    worker_from: str | None
    encoding: str | None
    decimal: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    layout: str | None
    query: str | None
    table: str | None


READ_OPTIONS = tuple(ReadOptions.__annotations__)


def _check_encoding(value: Any, name: str) -> str:
    """Return the name of an encoding of text, as Python knows it."""
    try:
        return find_name(value)
    except (LookupError, TypeError, ValueError) as error:
        raise OptionError(
            f"{name} is {value!r}. Name one such as utf-8, latin-1, cp1252, utf-16 or shift_jis."
        ) from error


@dataclass(frozen=True, kw_only=True)
class Files(Options):
    """Options for reading files; the parameters are those of `allalike.read`.

    ``golden`` is for exports whose tool marks gold labels: what is marked is no answer then, but known.
    """

    tool: str | None = None
    question: str | None = None
    worker_from: str | None = choice(None, "filename")
    encoding: str | None = option(None, _check_encoding)
    decimal: str = choice(".", ",")
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    layout: str | None = choice(None, "tasks/workers", "workers/tasks")
    query: str | None = None
    table: str | None = None
    golden: bool = flag(False)


def list_words(na_values: Any, name: str) -> tuple[str, ...]:
    """Return the texts that say that there is no label."""
    several = isinstance(na_values, Iterable) and not isinstance(na_values, str)
    words = tuple(na_values) if several else (na_values,)
    if not all(isinstance(word, str) for word in words):
        raise OptionError(
            f"{name} is {na_values!r}. Give the texts that say that there is no label, such as ['NA', '?']."
        )
    return words


def list_labels(abstain_label: Any, _: str) -> tuple[Any, ...]:
    """Return the labels that mean no answer."""
    return tuple(abstain_label) if isinstance(abstain_label, list | tuple | set | frozenset) else (abstain_label,)


def check_read_options(function: Callable[..., Any], how: Mapping[str, Any]) -> None:
    """Refuse an option that a function does not have, and name those that it has."""
    for name in how:
        if name not in READ_OPTIONS:
            own = inspect.signature(function).parameters.values()
            known = [*(option.name for option in own if option.kind is option.KEYWORD_ONLY), *READ_OPTIONS]
            hint = did_you_mean(name, known)
            raise OptionError(f"allalike.{function.__name__} has no option {name!r}.{hint} It has {', '.join(known)}.")
