"""Choices: what a person says on the page about her answers, checked before anything is done with it.

They are options of `allalike.read` and `allalike.discover`. Those that name files are not among them: whatever a page
says, no file is read but those that were handed over.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from allalike.errors import OptionError
from allalike.readers import ReadOptions, Scan, scan
from allalike.readers.gold_maps import is_written
from allalike.telling.commands import complete_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


__all__ = ["Choices"]

_ROLES = {"columns": ("worker", "task", "label"), "gold_columns": ("task", "label")}
_OF_FOLDERS = ("layout",)  # a page hands over files, and no folders
_HINTS = get_type_hints(ReadOptions)
_TEXTS = ("domain", *(name for name in _HINTS if _HINTS[name] in (str, str | None) and name not in _OF_FOLDERS))
_LISTS = ("only", "skip", "na", "abstain", "levels")
_MAX_TEXT, _MAX_LIST = 10_000, 1000


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What a person chose.

    Parameters
    ----------
    read
        How the answers are read: options of `allalike.scan`.
    rule, method
        How labels become one, and workers are weighed; those that are not given are the usual ones.
    gold
        The column of the answers' own table that has known truths.
    gold_columns
        Which columns of a file of known truths are which.
    gold_map
        What the labels of known truths mean, written out; it is never a file.
    use_gold
        Whether known truths are evidence, or only measure the error.
    force
        Whether to go on with answers that are hardly what was meant.

    >>> Choices.of({"domain": "real", "columns": {"task": "photo"}, "method": "UA"}).read
    {'columns': {'task': 'photo'}, 'domain': 'real'}
    >>> Choices.of({"levels": ["poor", "good"]}).read
    {'domain': 'ordinal(levels=["poor", "good"])'}
    """

    read: Mapping[str, Any] = field(default_factory=dict)
    rule: str = ""
    method: str = "auto"
    gold: str = ""
    gold_columns: Mapping[str, str] = field(default_factory=dict)
    gold_map: str = ""
    use_gold: bool = True
    force: bool = False

    @classmethod
    def of(cls, given: Any) -> Choices:
        """Check what came from a page; what is empty is not chosen.

        >>> Choices.of({"label_map": "/etc/passwd"})
        Traceback (most recent call last):
        allalike.errors.OptionError: The page asks for 'label_map', which cannot be chosen here.
        """
        if not isinstance(given, dict):
            raise OptionError("The choices of the page are no object of JSON.")
        empty: tuple[Any, ...] = (None, "", [], {}, False)
        chosen = {name: value for name, value in given.items() if value not in empty or name == "use_gold"}
        found = {name: _check(name, value) for name, value in chosen.items()}
        own = {each.name for each in fields(cls)} - {"read"}
        if levels := found.pop("levels", None):
            found["domain"] = f"ordinal(levels={json.dumps(levels, ensure_ascii=False)})"
        read = {name: found[name] for name in ("columns", *_TEXTS, *_LISTS) if name in found}
        return cls(read=read, **{name: value for name, value in found.items() if name in own})

    def name(self, paths: list[str]) -> Scan:
        """Name files with the way to read them."""
        return replace(scan(paths, **self.read), choices={"rule": self.rule} if self.rule else {})

    def name_gold(self, path: str | None) -> str | None:
        """Name the known truths: a file, a column of the answers, or none."""
        return f"column:{self.gold}" if self.gold else path

    def write_command(self, paths: Sequence[str], gold: str | None) -> tuple[str, ...]:
        """Return the words of the command that does the same; of files a page knows the names alone, and no folders.

        >>> Choices.of({"wide": "tasks", "method": "UA"}).write_command(["/tmp/1/a.csv"], None)
        ('discover', 'a.csv', '--wide', 'tasks', '--method', 'UA')
        """
        own = {"rule": self.rule, "method": "" if self.method == "auto" else self.method, "force": self.force}
        known: dict[str, Any] = {"gold": self.name_gold(gold and Path(gold).name)}
        known |= {"gold_columns": self.gold_columns, "gold_map": self.gold_map}
        settles = {name: value for name, value in {**self.read, **own, **known}.items() if value}
        settles |= {} if self.use_gold else {"use_gold": False}
        return tuple(complete_words(["discover", *(Path(path).name for path in paths)], settles))


def _check(name: str, value: Any) -> Any:
    if name in _ROLES:
        if isinstance(value, dict) and set(value) <= set(_ROLES[name]):
            return {role: _check_text(name, column) for role, column in value.items() if column != ""}
    elif name in _LISTS:
        listed = [value] if isinstance(value, str) else value
        if isinstance(listed, list) and len(listed) <= _MAX_LIST:
            return tuple(_check_text(name, each) for each in listed)
    elif name in (*_TEXTS, "rule", "method", "gold"):
        return _check_text(name, value)
    elif name == "gold_map":
        if is_written(value):
            return _check_text(name, value)
    elif name in ("force", "use_gold"):
        if isinstance(value, bool):
            return value
    else:
        raise OptionError(f"The page asks for {name!r}, which cannot be chosen here.")
    raise OptionError(f"{name} is {value!r}, which cannot be chosen here.")


def _check_text(name: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise OptionError(f"{name} is {str(value)[:80]!r}. It must be a text.")
    return value
