"""Surface distances: how far the borders of two masks are apart, in pixels, or in the millimetres of a volume.

The border of a mask are its pixels with a neighbour, side by side, that is off or outside of the picture. With the
distances of each pixel of a border to the nearest of the other, both ways,

    Hausdorff distance        the largest of them (Huttenlocher, Klanderman, Rucklidge 1993)
    at 95 %                   that which 95 % of them do not exceed, so that a stray pixel does not decide
    mean surface distance     their mean, of both ways together (Heimann and others 2009)

Two empty masks are 0 apart; how far an empty one is from another is unknown (NaN).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike._core.masks.packed import Mask

__all__ = ["measure_surfaces"]


def measure_surfaces(left: Mask, right: Mask) -> dict[str, float]:
    """Return the Hausdorff distance, that at 95 %, and the mean surface distance of two masks of one size.

    >>> from allalike._core.masks.packed import Mask
    >>> squares = np.zeros((2, 9, 9), np.bool_)
    >>> squares[0, 2:5, 2:5] = squares[1, 2:5, 4:7] = True
    >>> {name: round(distance, 3) for name, distance in measure_surfaces(*map(Mask.of, squares)).items()}
    {'hausdorff': 2.0, 'hausdorff_95': 2.0, 'surface_distance': 1.0}
    """
    from scipy.spatial import KDTree

    both = np.array([0.0 if left.area == right.area else np.nan])
    if left.area and right.area:
        one, other = _border(left), _border(right)
        both = np.concatenate([KDTree(a).query(b)[0] for a, b in ((other, one), (one, other))])
    found = {"hausdorff": both.max(), "hausdorff_95": np.percentile(both, 95), "surface_distance": both.mean()}
    return {name: float(distance) for name, distance in found.items()}


def _border(mask: Mask) -> Floats:
    """Return where the pixels of a border are, a row each."""
    from scipy import ndimage

    whole = mask.shown()
    (box,) = ndimage.find_objects(whole.view(np.uint8))
    inner = np.pad(whole[box], 1)
    place = np.argwhere(inner & ~ndimage.binary_erosion(inner)) + [side.start for side in box]
    return np.asarray(place * ((1.0, 1.0) if mask.grid is None else mask.grid.spacing), np.float64)
