"""Classes in a tree, such as ``animal/bird/owl``: an answer *animal* for an owl is correct but less precise.

A class is its path from the root, and an answer may stop at any depth. The distance between two classes is

    d(a, b) = 1 - 2 depth(last common ancestor) / (depth a + depth b)

(Wu and Palmer 1994): the Dice distance between sets of ancestors (`allalike.distances.tree_paths`). Classes below the
root have depth 1. The estimate is found by descending the tree as long as a majority of the weight agrees
(`allalike.rules.descent`).

This label type works for species, diagnoses and other classes that can be more or less specific. It fails if classes on
distant branches are easily confused: their distance is as large as for any other error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from allalike._core.blocks.block import Block
from allalike._core.limits import MAX_DEPTH
from allalike._core.options import option
from allalike.distances import tree_paths
from allalike.domains.pairwise import Pairwise
from allalike.domains.spelling import check_separator
from allalike.errors import OptionError
from allalike.noise import General
from allalike.rules.base import Rule
from allalike.rules.descent import descend, find_branches
from allalike.rules.vote import CHOICES


@dataclass(frozen=True, kw_only=True)
class Tree(Pairwise):
    """Classes in a tree, compared by the share of their paths that differs.

    A label is the path of a class from the root, such as ``animal/bird/owl``. If ``parents`` is given, a label is a
    class name. Inner classes are allowed.

    Parameters
    ----------
    separator
        Separator between the names in a path; whitespace around names is ignored.
    parents
        Parent of each class: ``{"owl": "bird", "bird": "animal"}``. Labels are then class names.
    rule
        Aggregation rule: ``descent``, ``medoid`` or ``best worker``.

    >>> import allalike
    >>> rows = [("ada", 1, "animal/bird/owl"), ("bob", 1, "animal/bird"), ("eve", 1, "animal/cat")]
    >>> found = allalike.discover(rows, domain=Tree(), method="UA").truth
    >>> found["label"].tolist(), found["confidence"].round(3).tolist()
    (['animal/bird'], [0.667])
    """

    name: ClassVar[str] = "tree"
    summary: ClassVar[str] = "classes in a tree, animal/bird/owl; share of the paths that differs (Wu-Palmer)"
    rules: ClassVar[tuple[Rule, ...]] = (Rule("descent", descend), *CHOICES)
    distances: ClassVar[tuple[str, ...]] = ("wu-palmer",)
    noise: ClassVar[General] = General(farthest=1.0)
    recurring: ClassVar[bool] = True
    separator: str = option("/", check_separator)
    parents: Any = ()
    _pack = staticmethod(tree_paths.pack)
    _compare = staticmethod(tree_paths.distance)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = dict(self.parents) if isinstance(self.parents, Mapping | tuple | list) else None
        if given is None or not all(isinstance(name, str) for pair in given.items() for name in pair):
            raise OptionError("parents must be a mapping from names to names, such as {'owl': 'bird'}.")
        object.__setattr__(self, "parents", tuple(given.items()))
        for name in given:
            self._climb(name)

    @cached_property
    def _above(self) -> dict[str, str]:
        return dict(self.parents)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(name for pair in self.parents for name in pair)

    def _climb(self, name: str) -> tuple[str, ...]:
        way = [name]
        while (above := self._above.get(way[-1])) is not None:
            if above in way:
                raise OptionError(f"parents is not a tree: {above!r} is its own ancestor. Remove the cycle.")
            if len(way) == MAX_DEPTH:
                raise OptionError(f"parents has more than {MAX_DEPTH} levels above {name!r}. Remove levels.")
            way.append(above)
        return tuple(reversed(way))

    def _parse(self, value: Any) -> tuple[str, ...]:
        """Return the path of a class from the root.

        >>> Tree()._parse("animal / cat"), Tree(parents={"cat": "animal"})._parse("cat")
        (('animal', 'cat'), ('animal', 'cat'))
        """
        if not isinstance(value, str):
            raise ValueError("a class in a tree is text, such as 'animal/bird/owl'")
        if self.parents:
            name = value.strip()
            if name not in self._names:
                raise ValueError("it is not in parents; add it there, or correct it")
            return self._climb(name)
        way = tuple(name.strip() for name in value.strip().removesuffix(self.separator).split(self.separator))
        if len(way) > MAX_DEPTH:
            raise ValueError(
                f"it has {len(way):,} levels, and at most {MAX_DEPTH} are allowed; shorten it, or set another separator"
            )
        if not all(way):
            raise ValueError("a name in its path is empty")
        return way

    def _present(self, parsed: tuple[str, ...], common: Any) -> str:
        return parsed[-1] if self.parents else self.separator.join(parsed)

    def _prepare_rule(self, block: Block, store: tree_paths.Ways) -> list[object]:
        return [find_branches(block, store.ways, store.nodes)] if self.rule == "descent" else []
