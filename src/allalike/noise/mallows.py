"""Mallows noise on rankings: the further from the truth, the less likely.

A ranking with K pairs in the wrong order has a probability proportional to phi^K (Mallows 1957): phi = 0 is the
truth itself, phi = 1 any order alike. Repeated insertion draws such a ranking exactly (Doignon, Pekec and
Regenwetter 2004): the items come in their true order, and the i-th is inserted v places before the end of those that
are there, with a probability proportional to phi^v, v < i. Each such place is one more pair in the wrong order, so

    E[K] = sum over i = 1..q of  (sum of v phi^v) / (sum of phi^v),   v = 0..i-1.

The likelihood of a ranking is phi^K, hence workers whose phi is known are best weighed by -log(phi), and the best
ranking is Kemeny's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike.noise.base import Noise, check_within

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike._core.blocks.problems import Problems

__all__ = ["Mallows"]

_MIN_PHI = 0.001  # a smaller phi would weigh too much


@dataclass(frozen=True, kw_only=True)
class Mallows(Noise):
    """Rankings that scatter around the truth; a worker's fault is her phi.

    >>> import numpy as np
    >>> Mallows().sample(np.array([[2, 0, 1]]), np.zeros(1))
    array([[[2, 0, 1]]])
    """

    name: ClassVar[str] = "Mallows"

    @property
    def chance(self) -> float:
        """How many of the pairs a guess has in the wrong order."""
        return 0.5

    def weight(self, fault: Floats, problems: Problems) -> Floats:
        """Weigh by the logarithm of the likelihood."""
        weight: Floats = -np.log(np.clip(fault, _MIN_PHI, 1.0))
        return weight

    def expected_distance(self, phi: Floats, items: int) -> Floats:
        """Return the expected Kendall tau distance to the truth, as a share of all pairs.

        >>> import numpy as np
        >>> (6 * Mallows().expected_distance(np.array([0.3, 0.65, 0.9, 1.0]), 4)).round(4)
        array([0.972 , 2.1033, 2.7723, 3.    ])
        """
        places = np.arange(items)
        chances = check_within(phi, 1, "phi")[..., None] ** places
        wrong = np.cumsum(places * chances, axis=-1) / np.cumsum(chances, axis=-1)
        distance: Floats = wrong.sum(axis=-1) / max(items * (items - 1) / 2, 1)
        return distance

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> Array:
        """Insert the items of each true order, best first, one after the other."""
        order, phi = np.asarray(truth), check_within(faults, 1, "phi")
        items, shape = order.shape[-1], np.broadcast_shapes(order.shape[:-1], phi.shape)
        with np.errstate(divide="ignore"):  # at phi = 0 and 1, limits that no draw can tell from these
            log_phi = np.clip(np.log(phi), -700.0, -1e-15)
        position = np.zeros((items, *shape), np.int16)
        for i in range(1, items):
            # It goes back at most v places where a uniform draw is below (1 - phi^(v+1)) / (1 - phi^(i+1)).
            back = np.log1p(rng.random(shape) * np.expm1((i + 1) * log_phi)) / log_phi
            position[i] = i - np.minimum(back.astype(np.int16), i)
            position[:i] += position[:i] >= position[i]
        answers = np.empty((*shape, items), order.dtype)
        for place, item in zip(position, np.moveaxis(order, -1, 0), strict=True):
            np.put_along_axis(answers, place[..., None], np.broadcast_to(item, shape)[..., None], axis=-1)
        return answers
