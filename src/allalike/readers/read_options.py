"""Options of reading: how answers are read, the same wherever answers are named."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from allalike._core.options import Options, choice, option
from allalike._core.registry import did_you_mean
from allalike.domains import Domain
from allalike.errors import OptionError
from allalike.readers.formats.files import Files


class ReadOptions(TypedDict, total=False):
    """How answers are read, as `allalike.read` tells of each option: what takes answers takes these as keywords."""

    columns: Mapping[str, str] | None
    wide: str | None
    repeats: str | None
    missing: str
    na: Iterable[str] | None
    abstain: Any
    label_map: Any
    tool: str | None
    tag: str | None
    worker_from: str | None
    encoding: str | None
    decimal: str
    only: tuple[str, ...]
    skip: tuple[str, ...]
    layout: str | None
    query: str | None
    table: str | None


READ_OPTIONS = tuple(ReadOptions.__annotations__)


def _list_words(na: Any, name: str) -> tuple[str, ...]:
    """Return the texts that say that there is no label."""
    words = (na,) if isinstance(na, str) else tuple(na) if isinstance(na, Iterable) else (na,)
    if not all(isinstance(word, str) for word in words):
        raise OptionError(f"{name} is {na!r}. Give the texts that say that there is no label, such as ['NA', '?'].")
    return words


def _list_labels(abstain: Any, _: str) -> tuple[Any, ...]:
    return tuple(abstain) if isinstance(abstain, list | tuple | set | frozenset) else (abstain,)


@dataclass(frozen=True, kw_only=True)
class Reading(Options):
    """The values of the options: the usual ones, and what they may be; those of files are in ``files``."""

    columns: Mapping[str, str] = field(default_factory=dict)
    wide: str | None = choice(None, "tasks", "workers")
    repeats: str | None = choice(None, "first", "last", "error", "add", "set")
    missing: str = choice("error", "drop")
    na: tuple[str, ...] | None = option(None, _list_words)
    abstain: tuple[Any, ...] = option((), _list_labels)
    label_map: Any = None
    domain: Domain | None = None
    files: Files = field(default_factory=Files)


def check_read_options(function: Callable[..., Any], how: Mapping[str, Any]) -> None:
    """Refuse an option that a function does not have, and name those that it has."""
    for name in how:
        if name not in READ_OPTIONS:
            own = inspect.signature(function).parameters.values()
            known = [*(option.name for option in own if option.kind is option.KEYWORD_ONLY), *READ_OPTIONS]
            hint = did_you_mean(name, known)
            raise OptionError(f"allalike.{function.__name__} has no option {name!r}.{hint} It has {', '.join(known)}.")


def find_unusual(how: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some options of reading that are not the usual ones.

    >>> find_unusual({"columns": None, "missing": "error", "repeats": "last"})
    {'repeats': 'last'}
    """
    usual = {**vars(Reading()), **vars(Files())}
    given = {name: value for name, value in how.items() if value is not None}
    return {name: value for name, value in given.items() if usual[name] is None or value != usual[name]}
