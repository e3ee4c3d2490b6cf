"""Measure masks against their bars: ratios of CPU time and of memory, taken in one run.

All pairs of 30 masks of 1024 x 1024 pixels are compared, once as this package does, packed, and once by a loop over
the pairs with ``numpy.logical_and`` and ``numpy.logical_or`` on arrays with a byte per pixel. Masks are either what
a crowd draws, discs that differ a little, or noise all over the picture, which is the worst there is for packed
masks that are cut to the object. The program ends with an error if a bar is missed.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from allalike._core.masks import Mask
from allalike.distances import overlap
from measuring import cpu

MASKS, SIDE = 30, 1024
FASTER, SMALLER = 25.0, 1 / 4

Pixels = npt.NDArray[np.bool_]


def drawn(rng: np.random.Generator) -> Pixels:
    """Draw discs around the middle, as wide as half of the picture."""
    row, column = np.ogrid[:SIDE, :SIDE]
    centres, radii = rng.normal(SIDE / 2, SIDE / 50, (MASKS, 2)), rng.normal(SIDE / 4, SIDE / 50, MASKS)
    discs = [(row - y) ** 2 + (column - x) ** 2 < radius**2 for (y, x), radius in zip(centres, radii, strict=True)]
    return np.array(discs)


def noise(rng: np.random.Generator) -> Pixels:
    """Turn on every other pixel, at random."""
    return rng.random((MASKS, SIDE, SIDE)) < 0.5


def loop(masks: Pixels) -> list[float]:
    """Compare all pairs as one does with numpy."""
    return [float(1 - np.logical_and(a, b).sum() / np.logical_or(a, b).sum()) for a, b in combinations(masks, 2)]


def packed(masks: list[Mask]) -> list[float]:
    """Compare all pairs as this package does."""
    common = overlap.common_areas(masks)
    area = common.diagonal()
    i, j = np.triu_indices(len(masks), 1)
    return list(overlap.jaccard(area[i], area[j], common[i, j]))


def main() -> int:
    """Print the ratios; return 1 if a bar is missed."""
    missed = 0
    for make in (drawn, noise):
        masks = make(np.random.default_rng(0))
        stored = [Mask.of(mask) for mask in masks]
        assert np.allclose(loop(masks), packed(stored), rtol=0, atol=1e-12)
        slow, fast = cpu(partial(loop, masks), 2), cpu(partial(packed, stored), 7)
        memory = sum(mask.bits.nbytes for mask in stored) / masks.nbytes
        missed += (slow / fast < FASTER) + (memory > SMALLER)
        print(
            f"{make.__name__}: loop / packed {slow / fast:.0f} (at least {FASTER:.0f}; {slow * 1e3:.0f} and"
            f" {fast * 1e3:.1f} ms), memory packed / bytes {memory:.3f} (at most {SMALLER})"
        )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
