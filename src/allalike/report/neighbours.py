"""Neighbours: how far workers are apart, as a map and as a matrix in which those who agree stand together.

The distances are those of the answers at hand, of so many tasks that their pairs can be compared at once; roots where
distances are squares, so that they are lengths. Of the matrix, what lies above the diagonal is kept, one byte a pair: 0
to 254 up to the largest distance, and 255 where two workers have no task in common.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.report.answers import compare_pairs
from allalike.report.brevity import brief
from allalike.report.places import fill_unknown, order_workers, place_workers

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Block, Floats
    from allalike.engines import Run
    from allalike.report.material import Material

__all__ = ["compare_workers", "measure_distances", "pack_matrix"]

_MAX_PAIRS, _MAX_COSTLY_PAIRS = 4_000_000, 200_000


def compare_workers(material: Material, block: Block, shown: npt.NDArray[np.intp]) -> dict[str, Any]:
    """Return the places of workers on a map, and their matrix in the order of a tree; nothing if no two of them met."""
    distances = measure_distances(material.run, block, shown)
    met = float(np.isfinite(distances[np.triu_indices(len(shown), 1)]).mean())
    if not met:
        return {}
    filled = fill_unknown(distances)
    return {
        "places": place_workers(filled, material.weighing.disparity[shown]),
        "met": met,
        "matrix": pack_matrix(distances, order_workers(filled)),
    }


def measure_distances(run: Run, block: Block, shown: npt.NDArray[np.intp]) -> Floats:
    """Return how far each two workers are apart on the tasks at hand, as a length; NaN where they never met.

    >>> import allalike
    >>> from allalike.engines.sample import pick_tasks
    >>> run = allalike.discover([("ada", 1, 2.0), ("bob", 1, 5.0), ("eve", 2, 5.0), ("bob", 2, 5.0)], domain="real").run
    >>> measure_distances(run, pick_tasks(run, np.empty(0, np.uint64), share=1.0), np.arange(3))
    array([[ 0.,  3., nan],
           [ 3.,  0.,  0.],
           [nan,  0.,  0.]])
    """
    cheap = run.encoding.n_classes or run.encoding.numeric
    pairs = np.cumsum(block.sizes.astype(np.float64) ** 2)
    first = max(int(np.searchsorted(pairs, _MAX_PAIRS if cheap else _MAX_COSTLY_PAIRS)), 1)
    tasks = np.arange(min(first, block.n_tasks))
    rows = np.arange(int(block.sizes[tasks].sum()))
    distances = compare_pairs(block.pick(tasks, rows), run.encoding, shown)
    return np.sqrt(distances) if run.domain.distance == "squared" else distances


def pack_matrix(distances: Floats, order: npt.NDArray[np.intp]) -> dict[str, Any]:
    """Return a matrix in an order, one byte a pair.

    >>> packed = pack_matrix(np.array([[0.0, 0.5, np.nan], [0.5, 0.0, 1.0], [np.nan, 1.0, 0.0]]), np.array([2, 1, 0]))
    >>> packed["order"], packed["largest"], list(base64.b64decode(packed["bytes"]))
    ([2, 1, 0], 1, [254, 255, 127])
    """
    above = distances[np.ix_(order, order)][np.triu_indices(len(order), 1)]
    known = np.isfinite(above)
    largest = float(above[known].max(initial=0.0))
    scaled = np.where(known, above, 0.0) * (254 / largest if largest > 0 else 0.0)
    packed = np.where(known, scaled.round(), 255).astype(np.uint8)
    return {
        "order": order.tolist(),
        "largest": brief(largest),
        "bytes": base64.b64encode(packed.tobytes()).decode(),
    }
