"""A kind of label of one's own: paths in a tree, such as animal/cat/lynx, compared by what they share of the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from allalike.domains.pairwise import Pairwise
from allalike.extending import Array, Floats
from allalike.rules import Rule
from allalike.rules.vote import best_worker, medoid

Path = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Paths(Pairwise):
    """Paths in a tree: d(a, b) = 1 - 2 |common beginning| / (|a| + |b|), which is 0 for equal paths."""

    name: ClassVar[str] = "path"
    summary: ClassVar[str] = "paths in a tree; the share of the way that they have in common"
    rules: ClassVar[tuple[Rule, ...]] = (Rule("medoid", medoid), Rule("best worker", best_worker))
    distances: ClassVar[tuple[str, ...]] = ("way",)
    separator: str = "/"

    def _parse(self, value: Any) -> Path:
        """Split a path at its separators."""
        if not isinstance(value, str) or not value:
            raise ValueError("a path is a text, such as 'animal/cat'")
        return tuple(value.split(self.separator))

    def _present(self, parsed: Path, common: Any) -> str:
        """Join a path again."""
        return self.separator.join(parsed)

    def _pack(self, parsed: list[Path]) -> list[Path]:
        """Keep the paths."""
        return parsed

    def _compare(self, left: list[Path], i: Array, right: list[Path], j: Array) -> Floats:
        """Compare paths pair by pair."""
        return np.array([way(left[a], right[b]) for a, b in zip(i, j, strict=True)], np.float64)


def way(one: Path, other: Path) -> float:
    """Measure the share of two ways that is not common."""
    common = next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return 1 - 2 * common / (len(one) + len(other))
