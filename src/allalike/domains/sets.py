"""Sets: labels that name some of many things, in no order."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, pairwise, starmap, zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from allalike.distances import jaccard
from allalike.domains.compared import Compared, objects
from allalike.domains.lists import json_list
from allalike.errors import LabelError, OptionError
from allalike.noise import General
from allalike.rules.base import Rule
from allalike.rules.choice import best_worker, medoid
from allalike.rules.elements import element_groups, element_majority

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from allalike.blocks.block import Array, Block, Floats
    from allalike.columns.column import Column

__all__ = ["Set"]

_KINDS = {str: "a text", int: "a whole number", tuple: "a tuple"}


@dataclass(frozen=True, kw_only=True)
class Set(Compared):
    """Compare sets by Jaccard distance: the share of all their elements that is in one of them only.

    A label is a list, tuple or set, or a text: a JSON list, or elements with a separator between them. Elements are
    texts, whole numbers or tuples of these, all of one type. A list that names an element twice names it; ``[]`` is
    the empty set. A set comes back as a list in order, and as JSON in files.

    Parameters
    ----------
    separator
        What stands between the elements of a text, such as ``";"``; space around elements is no part of them.
        Without it, a text must be a JSON list.
    rule
        How a task's sets become one: ``majority``, ``medoid`` or ``best worker``.

    >>> import allalike
    >>> rows = [("ada", 1, "cat;dog"), ("bob", 1, "dog;cow"), ("eve", 1, "dog")]
    >>> allalike.discover(rows, domain=Set(separator=";"), method="UA").truth["label"].tolist()
    [['dog']]
    """

    name: ClassVar[str] = "set"
    summary: ClassVar[str] = "sets: JSON lists, or texts with a separator; Jaccard distance"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("majority", element_majority),
        Rule("medoid", medoid),
        Rule("best worker", best_worker),
    )
    distances: ClassVar[tuple[str, ...]] = ("jaccard",)
    separator: str | None = None
    example: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.separator is not None and (not isinstance(self.separator, str) or not self.separator):
            raise OptionError(f"separator is {self.separator!r}. It must be a text that stands between elements.")

    @property
    def model(self) -> General:
        """Expect that worthless sets share nothing with the others."""
        return General(farthest=1.0)

    def parse(self, value: Any) -> tuple[Any, ...]:
        """Read a set, as a tuple in order."""
        if type(value) is int and self.separator is not None:  # a text file whose sets all are one number
            value = str(value)
        if isinstance(value, str):
            value = self._split(value)
        elif isinstance(value, np.ndarray):
            value = value.tolist()
        if not isinstance(value, list | tuple | set | frozenset):
            raise ValueError("a set must be a list, or a text that is one")  # noqa: TRY004
        elements = {_element(element) for element in value}
        kinds = {type(element) for element in elements}
        if len(kinds) > 1:
            raise ValueError("its elements are of different types")
        try:
            return tuple(sorted(elements))
        except TypeError:
            raise ValueError("its elements have no order, for they hold different types") from None

    def _split(self, text: str) -> list[Any]:
        if self.separator is not None:
            pieces = [] if text.strip() == "[]" else text.split(self.separator)
            return [piece.strip() for piece in pieces if piece.strip()]
        if not text.lstrip().startswith("["):
            raise ValueError('it is no JSON list; if it is a text like "a;b", say so with separator=";"')
        return json_list(text)

    def resolve(self, labels: Column) -> Self:
        """Fix of which type the elements are, by an example."""
        parsed = [label for label in labels.parsed(self.parse)[1] if label]
        nested = any(type(label[0]) is tuple for label in parsed)
        return self._knowing(example=reduce(_alike, chain(*parsed) if nested else (label[0] for label in parsed), None))

    def join(self, parts: Sequence[Self]) -> Self:
        """Refuse shards whose elements are of different types."""
        return self._knowing(example=reduce(_alike, (part.example for part in parts), None))

    def pack(self, parsed: list[Any]) -> jaccard.Sets:
        """Number the elements, and put all sets in one array."""
        return jaccard.pack(parsed)

    def unpack(self, store: jaccard.Sets, places: Array) -> npt.NDArray[np.object_]:
        """Return the sets as tuples in order."""
        begin, end = store.first[places], store.first[places + 1]
        found = [store.elements[code] for code in store.codes[jaccard.ranges(begin, end)[1]]]
        bounds = pairwise([0, *np.cumsum(end - begin).tolist()])
        return objects([tuple(found[first:last]) for first, last in bounds])

    def compare(
        self, left: jaccard.Sets, i: npt.NDArray[np.intp], right: jaccard.Sets, j: npt.NDArray[np.intp]
    ) -> Floats:
        """Count shared elements, for all pairs at once."""
        return jaccard.distance(left, i, right, j)

    def prepare(self, block: Block) -> Block:
        """Compare the answers to each task, and count who names what."""
        block = super().prepare(block)
        if self.rule != "majority":
            return block
        sets: jaccard.Sets = self.store
        answer, place = jaccard.ranges(sets.first[block.label], sets.first[block.label + 1])
        return block.with_prepared(**element_groups(block, answer, sets.codes[place], sets.elements))

    def present(self, parsed: Any) -> list[Any]:
        """Return the elements in order."""
        return list(parsed)

    def text(self, label: Any) -> str:
        """Write a set as a JSON list."""
        return json.dumps(label, ensure_ascii=False)


def _element(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return tuple(map(_element, value))
    if isinstance(value, str):
        value.encode()  # half a character, as "\ud800", can be compared but not written
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"its element {value!r} is neither text nor a whole number")  # noqa: TRY004
    return value


def _alike(one: Any, other: Any) -> Any:
    """Return the smaller of two elements, or the other of one and nothing; refuse those of different types."""
    if one is None or other is None:
        return other if one is None else one
    if type(one) is not type(other):
        raise LabelError(
            f"The elements of the sets are of different types: {one!r} is {_KINDS[type(one)]}, {other!r} is"
            f" {_KINDS[type(other)]}. Give all of them the same type."
        )
    return tuple(starmap(_alike, zip_longest(one, other))) if isinstance(one, tuple) else min(one, other)
