"""A matrix of distances between workers, for those who have no answers at hand but know how far they are apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from allalike.domains.base import Domain
from allalike.hashing import mix
from allalike.noise import General
from allalike.values import Values, arrow_of

if TYPE_CHECKING:
    from allalike.blocks import Array, Block, Floats
    from allalike.columns import Column

__all__ = ["Matrix"]


@dataclass(frozen=True, kw_only=True)
class Matrix(Domain):
    """Look up how far answers are apart; `allalike.weigh` uses it, with one task to which everyone's answer is herself.

    Parameters
    ----------
    distances
        One row and one column per worker; NaN where two workers have no task in common.
    farthest
        The distance of workers who have nothing in common, where that is known.

    >>> from allalike.blocks import Block
    >>> import numpy as np
    >>> matrix = Matrix(distances=np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 3.0], [4.0, 3.0, 0.0]]))
    >>> matrix.peer_sums(Block.of([[0], [1], [2]]), np.ones(3))
    {'distance': array([5., 4., 7.]), 'weight': array([2., 2., 2.])}
    """

    name: ClassVar[str] = "matrix"
    summary: ClassVar[str] = "distances between workers instead of answers"
    rules: ClassVar[tuple[str, ...]] = ("best worker",)
    distances: Floats
    farthest: float | None = None

    @property
    def model(self) -> General:
        """Expect nothing in particular."""
        return General(farthest=self.farthest)

    def resolve(self, labels: Column) -> Self:
        """Return the domain as it is."""
        return self

    def encode(self, labels: Column) -> Array:
        """Read the labels as places in the matrix."""
        return labels.numbers.astype(np.int64)

    encode_gold = encode

    def decode(self, codes: Array) -> Values:
        """Return the places in the matrix."""
        return Values(arrow_of(codes))

    def prepare(self, block: Block) -> Block:
        """Hash the places, so that ties can be drawn."""
        return block.with_prepared(label_hash=mix(np.arange(len(self.distances), dtype=np.uint64)))

    def apart(self, left: Array, right: Array) -> Floats:
        """Look the distances up."""
        return self.distances[left, right]

    def peer_sums(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Multiply the matrix with the weights."""
        distances = self.distances[np.ix_(block.label, block.label)]
        peers = ~np.isnan(distances) & ~np.eye(len(distances), dtype=np.bool_)
        return {"distance": np.where(peers, distances, 0.0) @ weights, "weight": peers @ weights}
