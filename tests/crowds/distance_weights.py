"""Weigh by distances alone, whatever the labels are; and the distances of all answers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from allalike.engines import Run
from allalike.methods import Auto, Fit


def weigh(run: Run, *, plain: bool = False) -> Fit:
    """Fit the workers of a run by the default method."""
    return Auto(screening=not plain).fit(run)


def all_distances(run: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return worker and task of each answer, and the distance of each two answers, of a run of one block."""
    [block] = run.blocks
    n = len(block.label)
    code = run.kernels.restore_answers(block, np.arange(n))
    left, right = np.divmod(np.arange(n * n), n)
    apart = run.kernels.distance_between(code[left], code[right]).reshape(n, n)
    return block.worker, block.to_answers(np.arange(block.n_tasks)), apart
