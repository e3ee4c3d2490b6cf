"""Opening: answers and known truths, named in whatever way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from allalike.answers import Answers
from allalike.domains.naming import field_names
from allalike.errors import GoldError, OptionError
from allalike.readers import COLUMN, NA, ReadOptions, Scan, find_unusual, gather_gold, open_gold, scan
from allalike.readers.inputs import find_inputs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike.answers.gold import Gold
    from allalike.domains import Domain

__all__ = ["open_source"]


def open_source(
    answers: Any,
    gold: Any,
    gold_columns: Mapping[str, str] | None = None,
    *,
    domain: str | Domain | None = None,
    **how: Unpack[ReadOptions],
) -> tuple[Answers | Scan, Gold | None]:
    """Return answers as they are, or named, and the known truths; those that were read or named say how themselves."""
    if not isinstance(answers, Answers | Scan):
        answers = scan(answers, domain=domain, **how)
    elif given := find_unusual({"domain": domain, **how}):
        name = next(iter(given))
        raise OptionError(
            f"The answers have been read or named already. Give {name} to allalike.read or allalike.scan instead."
        )
    if isinstance(gold, str) and gold.startswith(COLUMN):
        return _open_beside(answers, gold.removeprefix(COLUMN))
    if gold is None and gold_columns:
        raise OptionError(f"gold_columns is {gold_columns!r}, but no gold is given.")
    try:
        known = None if gold is None else open_gold(gold, columns=gold_columns, **_how(answers))
        return answers, known if known is None else _split(known, answers)
    except GoldError as error:
        if not set(answers.inputs) & set(find_inputs(gold)):
            raise
        said = f"{error.args[0]} The gold is the file of the answers: truths in a column of it are {COLUMN}NAME."
        raise GoldError(said, **error.settles) from error


def _open_beside(answers: Answers | Scan, name: str) -> tuple[Scan, Gold]:
    """Return answers, and the truths in a column of their table, which is no worker of a matrix then."""
    if not isinstance(answers, Scan):
        raise GoldError(
            f"The answers have been read already, and the column {name!r} was not. Give what they were read from, or"
            " the truths."
        )
    gold = _split(gather_gold(answers.beside(name), **_spelling(answers)), answers)
    files = replace(answers.files, skip=(*answers.files.skip, name))
    return (answers if answers.wide is None else replace(answers, files=files)), gold


def _split(gold: Gold, answers: Answers | Scan) -> Gold:
    return gold if answers.domain is None else gold.split(answers.domain)


def _how(answers: Answers | Scan) -> dict[str, Any]:
    """Return also the fields that labels have, where these may be columns."""
    return {**_spelling(answers), "fields": field_names(answers.domain)}


def _spelling(answers: Answers | Scan) -> dict[str, Any]:
    """Return the words for no label, and what spellings mean."""
    how = answers.read_options if isinstance(answers, Answers) else vars(answers)
    return {"na": how.get("na") or NA, "label_map": how.get("label_map")}
