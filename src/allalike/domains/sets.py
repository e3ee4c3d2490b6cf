"""Sets: unordered labels with several elements, such as tags.

    d(A, B) = 1 - |A and B| / |A or B|,   and 0 if both are empty (Jaccard 1901)

The estimated label is the set of elements named by more than half of the weight (`allalike.rules.majority`), or an
answer.

Sets work for tags, symptoms and multiple-choice questions. They fail if workers name different parts of a large set:
each element is then named by few workers, and the estimate is small. Elements that are similar but not equal, such as
cat and cats, count as different.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import chain, starmap, zip_longest
from typing import Any, ClassVar

import numpy as np

from allalike._core.blocks.block import Block
from allalike._core.options import option
from allalike.distances import jaccard
from allalike.domains.contract import Marks
from allalike.domains.pairwise import Pairwise
from allalike.domains.spelling import check_separator, read_json, read_name, split_items, write_json
from allalike.errors import LabelError
from allalike.noise import General
from allalike.rules.base import Rule
from allalike.rules.majority import element_majority, name_elements
from allalike.rules.vote import CHOICES

_TYPE_NAMES = {str: "text", int: "a whole number", tuple: "a tuple"}


@dataclass(frozen=True, kw_only=True)
class Set(Marks, Pairwise):
    """Sets, compared by Jaccard distance: the share of their union that belongs to only one of them.

    A label is a list, tuple or set, or text: a JSON list, or elements with a separator between them. Elements are
    strings, integers or tuples of these, all of the same type. Repeated elements count once, and ``[]`` is the empty
    set. Estimates are sorted lists, and JSON in files.

    Parameters
    ----------
    separator
        Separator of the elements in text, such as ``";"``; whitespace around elements is ignored. Without a separator,
        text must be a JSON list.
    rule
        Aggregation rule: ``majority``, ``medoid`` or ``best worker``.

    >>> import allalike
    >>> rows = [("ada", 1, "cat;dog"), ("bob", 1, "dog;cow"), ("eve", 1, "dog")]
    >>> allalike.discover(rows, domain=Set(separator=";"), method="UA").truth["label"].tolist()
    [['dog']]
    """

    name: ClassVar[str] = "set"
    summary: ClassVar[str] = "sets: JSON lists, or texts with a separator; Jaccard distance"
    rules: ClassVar[tuple[Rule, ...]] = (Rule("majority", element_majority), *CHOICES)
    distances: ClassVar[tuple[str, ...]] = ("jaccard",)
    noise: ClassVar[General] = General(farthest=1.0)  # random sets share no element with the others
    separator: str | None = option(None, check_separator)
    _pack = staticmethod(jaccard.pack)
    _compare = staticmethod(jaccard.distance)
    _text = staticmethod(write_json)

    def _parse(self, value: Any) -> tuple[Any, ...]:
        if type(value) is int and self.separator is not None:  # every set of a file is a single number
            value = str(value)
        return in_order(self._split(value) if isinstance(value, str) else value)

    def _split(self, text: str) -> list[Any]:
        if self.separator is not None:
            return [] if text.strip() == "[]" else split_items(text, self.separator)
        if not text.lstrip().startswith("["):
            raise ValueError('it is not a JSON list; for text such as "a;b", set separator=";"')
        return list(read_json(text, list))

    def _find_common(self, parsed: list[Any]) -> Any:
        """Return an example of the common element type, or None without elements."""
        filled = [elements for elements in parsed if elements]
        nested = any(type(elements[0]) is tuple for elements in filled)
        return self._join_common(chain(*filled) if nested else (elements[0] for elements in filled))

    def _join_common(self, commons: Iterable[Any]) -> Any:
        return reduce(_alike, commons, None)

    def _prepare_rule(self, block: Block, store: jaccard.Sets) -> list[object]:
        if self.rule != "majority":
            return []
        answer, place = jaccard.ranges(store.first[block.label], store.first[block.label + 1])
        return [name_elements(block, answer, store.codes[place], store.elements)]

    def count_marks(self, answer: Any, truth: Any) -> dict[Any, tuple[int, int, int]]:
        return {each: (each in answer and each in truth, each in answer, each in truth) for each in {*answer, *truth}}

    def _present(self, parsed: Any, common: Any) -> list[Any]:
        return list(parsed)


def in_order(value: Any) -> tuple[Any, ...]:
    """Return the sorted distinct elements of a list or set, or raise ValueError with the reason."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, list | tuple | set | frozenset):
        raise ValueError("a set must be a list, or text that contains a list")
    elements = {_element(element) for element in value}
    if len({type(element) for element in elements}) > 1:
        raise ValueError("its elements have different types")
    try:
        return tuple(sorted(elements))
    except TypeError:
        raise ValueError("its elements cannot be sorted, because they contain different types") from None


def _element(value: Any) -> Any:
    return tuple(map(_element, value)) if isinstance(value, list | tuple) else read_name(value, "its element")


def _alike(one: Any, other: Any) -> Any:
    """Return the smaller of two elements, or the one that is not None; raise an error if their types differ."""
    if one is None or other is None:
        return other if one is None else one
    if type(one) is not type(other):
        raise LabelError(
            f"The elements of the sets have different types: {one!r} is {_TYPE_NAMES[type(one)]}, {other!r} is"
            f" {_TYPE_NAMES[type(other)]}. Give all elements the same type."
        )
    return tuple(starmap(_alike, zip_longest(one, other))) if isinstance(one, tuple) else min(one, other)
