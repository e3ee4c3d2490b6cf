"""Compute weights from distances between workers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import frame_of
from allalike._core.registry import choose
from allalike.answers import Answers
from allalike.domains import Custom
from allalike.engines import Memory, make_ready
from allalike.errors import InputError, UnsupportedError
from allalike.methods import METHODS, Method
from allalike.methods.base import limit_reached
from allalike.result.tables import worker_columns

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from allalike._core.blocks.block import Floats


def weights_from_distances(
    matrix: npt.ArrayLike,
    *,
    workers: Any = None,
    similarity: bool = False,
    method: str | Method = "iP-TD",
) -> pd.DataFrame:
    """Compute weights of workers from a matrix of their distances or similarities.

    A similarity a becomes the distance max(a) - a. With ``weighting="chance"``, the weight is the mean similarity.

    Parameters
    ----------
    matrix
        Symmetric matrix with one row and one column per worker, and NaN for pairs without common tasks. The diagonal
        is ignored.
    workers
        Ids of the workers (default: their numbers).
    similarity
        Whether large numbers mean similar workers.
    method
        As in `discover`.

    >>> weights_from_distances([[0, 1, 4], [1, 0, 3], [4, 3, 0]], workers=["ada", "bob", "eve"], method="P-TD")
      worker  disparity  mean_error  weight
    0    ada        2.5         2.5     0.4
    1    bob        2.0         2.0     0.6
    2    eve        3.5         3.5     0.0
    """
    distances, farthest = _distances(matrix, similarity=similarity)
    n_workers = len(distances)
    ids = Column.of_objects("worker", list(range(n_workers)) if workers is None else list(workers))
    task = Column.of_objects("task", [0] * n_workers)
    label = Column.of_objects("label", list(range(n_workers)))
    if len(ids) != n_workers:
        raise InputError(f"workers has {len(ids)} ids, but the matrix has {n_workers} rows. Give one id per row.")
    domain = Custom(distance=distances, farthest=farthest)
    answers = Answers.of_columns(ids, task, label, domain, duplicates="error")
    chosen = choose(method, METHODS, "method", Method)
    if not chosen.serves(domain):
        raise UnsupportedError(f"{chosen.name} needs answers, not distances. Use allalike.discover.")
    run = make_ready(Memory().load(answers))
    weighing = chosen.fit(run)
    if warning := limit_reached(chosen, weighing):
        warnings.warn(warning, stacklevel=2)
    return frame_of(worker_columns(run, weighing)).drop(columns="answers")


def _distances(matrix: npt.ArrayLike, *, similarity: bool) -> tuple[Floats, float | None]:
    try:
        values = np.array(matrix, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The matrix cannot be read as numbers: {error}.") from None
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not len(values):
        raise InputError(f"The matrix has shape {values.shape}. It needs one row and one column per worker.")
    np.fill_diagonal(values, np.nan)
    if np.isinf(values).any():
        raise InputError("The matrix has an infinite entry. Use NaN for unknown distances.")
    known = values[~np.isnan(values)]
    if not np.allclose(values, values.T, rtol=1e-9, atol=0, equal_nan=True):
        raise InputError("The matrix is not symmetric.")
    farthest = float(known.max()) if similarity and len(known) else None
    values = values if farthest is None else farthest - values
    if (values < 0).any():
        raise InputError("A distance is negative. Use similarity=True if large numbers mean similar workers.")
    np.fill_diagonal(values, 0.0)
    return values, farthest
