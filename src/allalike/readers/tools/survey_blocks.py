"""Blocks of surveys: the questions that have one scale.

The rows of a matrix are a block: they are called alike but for a number or brackets at the end, and share answers. So
are questions anywhere with exactly the same answers, such as yes and no. All others stand alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from allalike.readers.tools.sheets import BLANKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["find_blocks", "stem_of"]

_ENDING = re.compile(r"(\s*\[[^\[\]]*\]|_\d+)$")
_MAX_SHOWN = 3  # answers in the name of a block


def stem_of(name: str) -> str:
    """Return the name of a question without that of its part.

    >>> stem_of("Q2_1"), stem_of("How much? [tea]"), stem_of("Q2")
    ('Q2', 'How much?', 'Q2')
    """
    return _ENDING.sub("", name)


def find_blocks(columns: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the block of each question, given what was answered.

    >>> said = {"Q1_1": ["low", "high"], "Q1_2": ["high", "mid"], "Q2": ["yes", "no"], "Q3": ["No", "Yes"], "Q4": ["5"]}
    >>> find_blocks(said)
    {'Q1_1': 'Q1', 'Q1_2': 'Q1', 'Q2': 'no, yes', 'Q3': 'no, yes', 'Q4': 'Q4'}
    """
    scales = {name: _scale(cells) for name, cells in columns.items()}
    stems: dict[str, list[str]] = {}
    for name in columns:
        stems.setdefault(stem_of(name), []).append(name)
    blocks = {
        name: stem
        for stem, names in stems.items()
        for name in names
        if len(names) > 1 and _overlap(name, names, scales)
    }
    alone: dict[frozenset[str], list[str]] = {}
    for name in columns:
        if name not in blocks:
            alone.setdefault(scales[name], []).append(name)
    for scale, names in alone.items():
        shared = len(names) > 1 and len(scale) > 1
        blocks |= {name: _called(scale) if shared else name for name in names}
    return {name: blocks[name] for name in columns}


def _scale(cells: Sequence[str]) -> frozenset[str]:
    return frozenset(cell.strip().casefold() for cell in cells if cell.strip() not in BLANKS)


def _overlap(name: str, names: Sequence[str], scales: Mapping[str, frozenset[str]]) -> bool:
    """Tell whether a part of a question has answers in common with the other parts."""
    return any(scales[name] & scales[other] for other in names if other != name)


def _called(scale: frozenset[str]) -> str:
    shown = sorted(scale)
    return ", ".join(shown[:_MAX_SHOWN]) + (", ..." if len(shown) > _MAX_SHOWN else "")
