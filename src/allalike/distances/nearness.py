"""Search for nearby points by a k-d tree.

Points of different cells, such as images, are never near each other. Each cell has its own coordinate on an additional
axis, with gaps larger than any radius of interest. Within a cell this axis has no effect, so a single tree suffices.
"""

import math

import numpy as np

from allalike._core.blocks.block import Floats
from allalike.distances.matching import Places

_NEIGHBOURS = 8  # neighbours considered per point
_SHARE_DOUBLED = 0.01  # share of points that a worker may mark twice


def find_near(points: Floats, cell: Places, radius: float) -> tuple[Places, Places]:
    """Return all distinct pairs of points in the same cell within the radius, up to rounding.

    >>> find_near(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]]), np.array([0, 0, 1]), 5.0)
    (array([0]), array([1]))
    """
    from scipy.spatial import cKDTree

    if len(points) < 2:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    reach = radius * (1 + 1e-9)
    tree = cKDTree(np.column_stack([points, 2 * reach * (cell - cell.min())]))
    pairs = tree.query_pairs(reach, output_type="ndarray")
    return pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)


def suggest_radius(points: Floats, answer: Places) -> float | None:
    """Suggest the largest distance between two points on the same object, or None without evidence.

    Workers do not mark the same object twice. The radius is therefore the distance below which pairs of points in the
    same answer amount to one percent of all points, rounded to two digits.

    >>> suggest_radius(np.array([[0.0], [7.0], [20.0]]), np.array([0, 0, 0]))
    7.0
    >>> suggest_radius(np.array([[0.0], [7.0], [20.0]]), np.array([0, 1, 2])) is None
    True
    """
    from scipy.spatial import cKDTree

    extent = float(np.ptp(points, axis=0).max(initial=0.0)) if len(points) else 0.0
    if extent == 0:
        return None
    tree = cKDTree(np.column_stack([points / extent, 4.0 * points.shape[1] * answer]))
    neighbours = min(_NEIGHBOURS + 1, len(points))
    _, other = tree.query(tree.data, k=list(range(2, neighbours + 1)))
    one = np.repeat(np.arange(len(points)), neighbours - 1)
    other = np.asarray(other).ravel()
    own = answer[one] == answer[other]
    pairs = np.unique(np.sort(np.stack([one, other], axis=1)[own], axis=1), axis=0)
    gaps = np.sort(np.linalg.norm((points[pairs[:, 0]] - points[pairs[:, 1]]) / extent, axis=1)) * extent
    apart = gaps[max(math.ceil(_SHARE_DOUBLED * len(points)) - 1, 0) :]
    apart = apart[apart > 0]
    return float(f"{apart[0]:.2g}") if len(apart) else None
