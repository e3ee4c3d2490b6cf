"""Blocks of surveys: the questions that have one scale.

The rows of a matrix are a block: their names differ only in a number or in brackets at the end, and they share answers.
Blocks and single questions are joined where all their answers are levels of one scale in words, of which each may use
other levels; where they are ratings in the same usual range (1 to 5, 1 to 7, 0 to 10); and where they have exactly the
same answers, such as yes and no.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from allalike.readers.rating_scales import find_range, order_levels, read_ratings
from allalike.readers.tools.sheets import BLANKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

__all__ = ["find_blocks", "find_matrices", "stem_of"]

_ENDING = re.compile(r"(\s*\[[^\[\]]*\]|_\d+)$")
_MAX_SHOWN = 3  # answers in the name of a block


def stem_of(name: str) -> str:
    """Return the name of a question without that of its part.

    >>> stem_of("Q2_1"), stem_of("How much? [tea]"), stem_of("Q2")
    ('Q2', 'How much?', 'Q2')
    """
    return _ENDING.sub("", name)


def find_matrices(columns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the rows of each matrix, by the name that they share.

    >>> find_matrices({"Q1_1": ["low", "high"], "Q1_2": ["high", "mid"], "Q1_3": ["tea"], "Q2": ["yes", "no"]})
    {'Q1': ['Q1_1', 'Q1_2']}
    """
    levels = {name: _levels(cells) for name, cells in columns.items()}
    stems: dict[str, list[str]] = {}
    for name in columns:
        stems.setdefault(stem_of(name), []).append(name)
    matrices = {
        stem: [name for name in names if any(levels[name] & levels[other] for other in names if other != name)]
        for stem, names in stems.items()
    }
    return {stem: names for stem, names in matrices.items() if names}


def find_blocks(columns: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the block of each question, given what was answered.

    >>> said = {"Q1_1": ["low", "high"], "Q1_2": ["high", "medium"], "Q2": ["yes", "no"], "Q3": ["No", "Yes"]}
    >>> find_blocks(said)
    {'Q1_1': 'Q1', 'Q1_2': 'Q1', 'Q2': 'no, yes', 'Q3': 'no, yes'}
    >>> find_blocks({"Is it?": ["Agree", "Neutral"], "Was it?": ["Disagree"], "Rate it": ["5", "7"], "Again": ["6"]})
    {'Is it?': 'disagree to agree', 'Was it?': 'disagree to agree', 'Rate it': '5 to 7', 'Again': '5 to 7'}
    """
    matrices = list(find_matrices(columns).values())
    rows = {name for names in matrices for name in names}
    groups = [*matrices, *([name] for name in columns if name not in rows)]
    levels = [frozenset[str]().union(*(_levels(columns[name]) for name in names)) for names in groups]
    joined: dict[object, list[tuple[list[str], set[str]]]] = {}
    for names, own in sorted(zip(groups, levels, strict=True), key=lambda group: -len(group[1])):
        kind = _find_type(own)
        same_type = joined.setdefault(kind or names[0], [])
        alike = [group for group in same_type if _find_type(group[1] | own) == kind]
        if alike:
            most = max(alike, key=lambda group: len(group[1] & own))
            most[0].extend(names)
            most[1].update(own)
        else:
            same_type.append((list(names), set(own)))
    blocks = {name: _name_block(names, own) for each in joined.values() for names, own in each for name in names}
    return {name: blocks[name] for name in columns}


def _levels(cells: Sequence[str]) -> frozenset[str]:
    return frozenset(cell.strip().casefold() for cell in cells if cell.strip() not in BLANKS)


def _find_type(levels: Set[str]) -> object:
    """Return what answers to questions of one scale have in common; nothing for one answer that is not a level."""
    if order_levels(levels):
        return "words"
    return find_range(levels) or (frozenset(levels) if len(levels) > 1 else None)


def _name_block(names: Sequence[str], levels: Set[str]) -> str:
    stems = {stem_of(name) for name in names}
    if len(names) == 1 or len(stems) == 1:
        return names[0] if len(names) == 1 else stems.pop()
    if ordered := order_levels(levels) or tuple(read_ratings(levels)):
        return f"{ordered[0]} to {ordered[-1]}"
    shown = sorted(levels)
    return ", ".join(shown[:_MAX_SHOWN]) + (", ..." if len(shown) > _MAX_SHOWN else "")
