"""Intervals: segments of a text or a recording, and other labels with a start and an end.

    d(A, B) = 1 - length(A and B) / length(A or B),   and 0 if both are empty

A label is the set of points that it covers, so touching intervals are merged. The estimated label is the set of points
covered by more than half of the weight (`allalike.rules.majority`).

Intervals work if coverage matters, such as speech in a recording or toxic words in a text. They fail if the number of
intervals or their exact boundaries matter (use `allalike.Spans`), and for events so short that answers do not overlap
(use `allalike.Points` on one axis).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from allalike._core.blocks.block import Block
from allalike.distances import lengths
from allalike.distances.jaccard import ranges
from allalike.distances.matching import Collections
from allalike.domains.pairwise import Pairwise
from allalike.domains.spelling import read_list, read_number, write_json
from allalike.noise import General
from allalike.rules.base import Rule
from allalike.rules.majority import find_boundaries, point_majority
from allalike.rules.vote import CHOICES

_LARGEST_WHOLE = 1 << 53  # larger whole numbers are not exact


@dataclass(frozen=True, kw_only=True)
class Interval(Pairwise):
    """Unions of intervals, compared by Jaccard distance: the share of the total length covered by only one of them.

    A label is a list of pairs ``[[start, end], ...]``, or such a list as JSON text. An interval includes its start and
    excludes its end. Intervals that overlap or touch are merged, and empty ones are removed. ``[]`` covers nothing. If
    all bounds are integers, estimated bounds are integers as well.

    Parameters
    ----------
    rule
        Aggregation rule: ``majority``, ``medoid`` or ``best worker``.

    >>> import allalike
    >>> rows = [("ada", 1, [[0, 4]]), ("bob", 1, [[2, 6]]), ("eve", 1, [[2, 4], [8, 9]])]
    >>> allalike.discover(rows, domain=Interval(), method="UA").truth["label"].tolist()
    [[[2, 4]]]
    """

    name: ClassVar[str] = "interval"
    summary: ClassVar[str] = "unions of intervals [[start, end], ...]; Jaccard distance of lengths"
    rules: ClassVar[tuple[Rule, ...]] = (Rule("majority", point_majority), *CHOICES)
    distances: ClassVar[tuple[str, ...]] = ("jaccard",)
    noise: ClassVar[General] = General(farthest=1.0)  # random labels share no point with the others
    _pack = staticmethod(lengths.pack)
    _compare = staticmethod(lengths.distance)
    _text = staticmethod(write_json)

    def _parse(self, value: Any) -> tuple[tuple[Any, Any], ...]:
        return _merged(sorted(map(_pair, read_list(value, "it must be a list of intervals such as [[0, 5], [7, 9]]"))))

    def _find_common(self, parsed: list[Any]) -> bool:
        return all(isinstance(bound, int) for label in parsed for pair in label for bound in pair)

    def _join_common(self, commons: Iterable[bool]) -> bool:
        return all(commons)

    def _key(self, parsed: Any) -> object:
        return tuple((float(begin), float(end)) for begin, end in parsed)

    def _prepare_rule(self, block: Block, store: Collections) -> list[object]:
        if self.rule != "majority":
            return []
        answer, place = ranges(store.first[block.label], store.first[block.label + 1])
        return [find_boundaries(block, answer, *store.geometry[place].T)]

    def _present(self, parsed: Any, common: bool) -> list[list[Any]]:
        number = int if common else float
        return [[number(begin), number(end)] for begin, end in parsed]


def _pair(value: Any) -> tuple[Any, Any]:
    """Parse one interval."""
    pair = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise ValueError(f"an interval must be a pair [start, end], not {value!r}")
    begin, end = map(_bound, pair)
    if end < begin:
        raise ValueError(f"the interval [{begin}, {end}] ends before it starts")
    return begin, end


def _bound(value: Any) -> Any:
    number = read_number(value, "the bound")
    if isinstance(number, int) and abs(number) > _LARGEST_WHOLE:
        raise ValueError("a bound exceeds 2**53, above which whole numbers are not exact; subtract an offset")
    return number


def _merged(pairs: list[tuple[Any, Any]]) -> tuple[tuple[Any, Any], ...]:
    """Merge intervals that overlap or touch, and remove empty ones."""
    merged: list[tuple[Any, Any]] = []
    for begin, end in pairs:
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        elif end > begin:
            merged.append((begin, end))
    return tuple(merged)
