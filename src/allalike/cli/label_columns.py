"""Label columns: one, or several of which each gives a result of its own, or which are fields of one record."""

from __future__ import annotations

import re
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from allalike.domains.contract import field_names
from allalike.errors import ColumnError, InputError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike.readers import Scan

__all__ = ["choose_label", "choose_labels", "name_folders"]

_MAX_NAME = 100  # characters of the name of a folder
_DEVICES = re.compile("(con|prn|aux|nul|com[0-9]|lpt[0-9])([.].*)?", re.IGNORECASE)  # which Windows keeps for itself


def choose_labels(source: Scan, wanted: Sequence[str]) -> list[Scan]:
    """Name the same answers once for each label column that is wanted, by its name or by a pattern.

    Where labels are records whose fields are not named, several columns are the fields of one.

    >>> from allalike.readers import scan
    >>> table = {"worker": ["ada"], "task": [1], "is.cat": ["x"], "is.dog": ["y"]}
    >>> [each.columns["label"] for each in choose_labels(scan(table), ["is.*"])]
    ['is.cat', 'is.dog']
    """
    if not wanted:
        return [source]
    if source.wide is not None:
        raise OptionError(
            f"--label {wanted[0]} names a column of labels, but in a matrix (--wide) all columns are. Choose some of"
            " them with --only and --skip."
        )
    names = [name for each in wanted for name in (_matching(source, each) if _is_pattern(each) else [each])]
    names, domain = list(dict.fromkeys(names)), source.domain
    if len(names) > 1 and domain and domain.record and domain.record.is_open and not field_names(domain):
        return [replace(source, domain=replace(domain, fields=names))]  # type: ignore[call-arg]
    return [replace(source, columns={**source.columns, "label": name}) for name in names]


def choose_label(source: Scan, wanted: Sequence[str]) -> Scan:
    """Name answers with the one label column that is wanted; several are refused."""
    found = choose_labels(source, wanted)
    if len(found) > 1:
        listed = [each.columns["label"] for each in found]
        raise InputError(
            f"These are {len(found)} columns of labels: {', '.join(map(repr, listed))}. Compare methods on one of them"
            " at a time.",
            columns={"label": listed[0]},
        )
    return found[0]


def _is_pattern(name: str) -> bool:
    return "*" in name or "?" in name


def _matching(source: Scan, pattern: str) -> list[str]:
    """Return the columns that a pattern means, or itself if a column is called so."""
    table = source.table()
    if pattern in table.names:
        return [pattern]
    others = [name for name in table.names if name not in source.columns.values()]
    form = pattern.replace("[", "[[]")  # which names have, and patterns of ours have not
    if found := [name for name in others if fnmatchcase(name, form)]:
        return found
    raise ColumnError(
        f"{table.where} has no column like {pattern!r}. It has: {', '.join(map(repr, table.names))}.",
        columns={"label": None},
    )


def name_folders(names: Sequence[str]) -> list[str]:
    """Make a folder's name of each column's, such as every file system can have, and none twice.

    >>> name_folders(["Answer.emotion", "is it/a cat?", "IS it:a cat ", "..", "con"])
    ['Answer.emotion', 'is it_a cat', 'IS it_a cat-2', 'column', 'con_']
    """
    folders: dict[str, None] = {}
    for name in names:
        plain = re.sub(r"[^\w .+@=,()-]", "_", name)[:_MAX_NAME].strip(" ._") or "column"
        plain = f"{plain}_" if _DEVICES.fullmatch(plain) else plain
        taken, number, folder = {each.casefold() for each in folders}, 2, plain
        while folder.casefold() in taken:
            folder, number = f"{plain}-{number}", number + 1
        folders[folder] = None
    return list(folders)
