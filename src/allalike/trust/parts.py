"""Parts: workers whom no chain of common tasks connects, and who cannot be compared therefore."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["number_parts"]

Numbers = npt.NDArray[np.integer]


def number_parts(n_workers: int, left: Numbers, right: Numbers) -> npt.NDArray[np.intp]:
    """Number the parts of the workers, given the pairs who have a task in common.

    >>> number_parts(4, np.array([0, 1]), np.array([2, 0]))
    array([0, 0, 0, 1])
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    met = sparse.coo_array((np.ones(len(left)), (left, right)), shape=(n_workers, n_workers))
    return np.asarray(connected_components(met, directed=False)[1], np.intp)
