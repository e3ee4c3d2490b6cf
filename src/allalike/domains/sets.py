"""Sets: labels that name some of many things, in no order.

    d(A, B) = 1 - |A and B| / |A or B|,   and 0 if both are empty (Jaccard 1901)

The truth holds the elements that more than half of the weight names (`allalike.rules.majority`), or is one of the sets.

It works for tags, symptoms, all that apply of a list. It fails where workers name different parts of a large truth:
most elements are then named by few, and the truth is small; and where elements are alike but not equal, such as cat and
cats.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce
from itertools import chain, starmap, zip_longest
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.options import option
from allalike.distances import jaccard
from allalike.domains.contract import Marks
from allalike.domains.pairwise import Pairwise
from allalike.domains.spelling import check_separator, json_list, read_name, split_items
from allalike.errors import LabelError
from allalike.noise import General
from allalike.rules.base import Rule
from allalike.rules.majority import element_majority, name_elements
from allalike.rules.vote import CHOICES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allalike._core.blocks.block import Block

_TYPE_NAMES = {str: "a text", int: "a whole number", tuple: "a tuple"}


@dataclass(frozen=True, kw_only=True)
class Set(Marks, Pairwise):
    """Sets, compared by Jaccard distance: the share of all their elements that is in one of them only.

    A label is a list, tuple or set, or a text: a JSON list, or elements with a separator between them. Elements are
    texts, whole numbers or tuples of these, all of one type. A list that names an element twice names it; ``[]`` is
    the empty set. A set comes back as a list in order, and as JSON in files.

    Parameters
    ----------
    separator
        Separator of the elements of a text, such as ``";"``; space around elements is ignored.
        Without it, a text must be a JSON list.
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
    noise: ClassVar[General] = General(farthest=1.0)  # worthless sets share nothing with the others
    separator: str | None = option(None, check_separator)
    _pack = staticmethod(jaccard.pack)
    _compare = staticmethod(jaccard.distance)

    def _parse(self, value: Any) -> tuple[Any, ...]:
        if type(value) is int and self.separator is not None:  # a text file whose sets all are one number
            value = str(value)
        return in_order(self._split(value) if isinstance(value, str) else value)

    def _split(self, text: str) -> list[Any]:
        if self.separator is not None:
            return [] if text.strip() == "[]" else split_items(text, self.separator)
        if not text.lstrip().startswith("["):
            raise ValueError('it is no JSON list; if it is a text like "a;b", say so with separator=";"')
        return json_list(text)

    def _find_common(self, parsed: list[Any]) -> Any:
        """Return an element that shows of which type all elements are, or None where there are none."""
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

    def count_marks(self, said: Any, truth: Any) -> dict[Any, tuple[int, int, int]]:
        return {each: (each in said and each in truth, each in said, each in truth) for each in {*said, *truth}}

    def _present(self, parsed: Any, common: Any) -> list[Any]:
        return list(parsed)

    def _text(self, label: Any) -> str:
        return json.dumps(label, ensure_ascii=False)


def in_order(value: Any) -> tuple[Any, ...]:
    """Return the elements of a list or set in order, each once, or raise ValueError with the reason."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, list | tuple | set | frozenset):
        raise ValueError("a set must be a list, or a text that is one")
    elements = {_element(element) for element in value}
    if len({type(element) for element in elements}) > 1:
        raise ValueError("its elements are of different types")
    try:
        return tuple(sorted(elements))
    except TypeError:
        raise ValueError("its elements have no order, for they hold different types") from None


def _element(value: Any) -> Any:
    return tuple(map(_element, value)) if isinstance(value, list | tuple) else read_name(value, "its element")


def _alike(one: Any, other: Any) -> Any:
    """Return the smaller of two elements, or the other of one and nothing; refuse those of different types."""
    if one is None or other is None:
        return other if one is None else one
    if type(one) is not type(other):
        raise LabelError(
            f"The elements of the sets are of different types: {one!r} is {_TYPE_NAMES[type(one)]}, {other!r} is"
            f" {_TYPE_NAMES[type(other)]}. Give all of them the same type."
        )
    return tuple(starmap(_alike, zip_longest(one, other))) if isinstance(one, tuple) else min(one, other)
