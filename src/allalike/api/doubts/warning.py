"""A doubt, and the warnings that are given."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from allalike.errors import DataNote, DataWarning
from allalike.readers.proposals import find_other_readings
from allalike.telling.answers import list_notes
from allalike.telling.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Doubt", "note", "warn_of"]


@dataclass(frozen=True)
class Doubt:
    """A reason to wonder whether the answers are what was meant, and whether nothing can come of them if not."""

    what: str
    severe: bool = False


def warn_of(doubts: Iterable[Doubt], *, stacklevel: int, source: Any = None) -> None:
    """Give a `DataWarning` for each doubt that is severe, in the name of a caller so many levels up.

    The first of them says in which other ways the source of the answers can be read.
    """
    for place, doubt in enumerate(doubt for doubt in doubts if doubt.severe):
        others = find_other_readings(source) if place == 0 else ()
        warnings.warn(DataWarning(doubt.what, proposals=others), stacklevel=stacklevel + 1)


def note(summary: Mapping[str, Any], doubts: Iterable[Doubt], *, stacklevel: int) -> None:
    """Give a `DataNote` for all that was left out or looks strange, but for what `warn_of` said."""
    said = {doubt.what for doubt in doubts if doubt.severe}
    for remark in list_notes(Summary.from_dict(summary)):
        if remark.sentence not in said:
            warnings.warn(DataNote(remark.sentence), stacklevel=stacklevel + 1)
