"""The distance of a guess: how far labels of different tasks are from each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike.engines.sample import sample_tasks
from allalike.errors import LabelError

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array
    from allalike.domains import Kernels
    from allalike.engines import Run

_GUESS_ANSWERS, _PAIRS = 2000, 20_000


def find_guess_distance(run: Run) -> float:
    """Return how far a guess is from the answers to its task.

    It is infinite for numbers, which may count from anywhere in each task, and where nothing is known: where there is
    one task, or where labels of different tasks cannot be compared, and the domain does not know it either.

    >>> import allalike
    >>> rows = [("ada", 1, {"x", "y"}), ("bob", 1, {"x"}), ("ada", 2, {"y"}), ("bob", 2, {"z"})]
    >>> find_guess_distance(allalike.Memory().load(allalike.read(rows, domain="set")))
    0.875
    """
    noise = run.encoding.noise
    if noise.weighting == "inverse":
        return np.inf
    unknown = np.inf if noise.chance is None else noise.chance
    sample = sample_tasks(run, _GUESS_ANSWERS, with_gold=False)
    blocks = [block for block in sample.blocks if block.n_tasks]
    if not blocks:
        return unknown
    code = np.concatenate([block.label for block in blocks])
    task = np.repeat(np.arange(sample.n_tasks), np.concatenate([block.sizes for block in blocks]))
    return _mean_distance(code, task, run.kernels, unknown)


def _mean_distance(code: Array, task: Array, kernels: Kernels, unknown: float) -> float:
    left, right = pair_up(len(code))
    different = task[left] != task[right]
    try:
        distance = (
            kernels.guess_distances(code[left[different]], code[right[different]]) if different.any() else np.empty(0)
        )
    except LabelError:  # of a user's own function that cannot compare labels of different tasks
        return unknown
    known = distance[~np.isnan(distance)]
    return float(known.mean()) if len(known) else unknown


def pair_up(n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return all pairs of n answers, each once, or some of them in which everyone comes as often.

    >>> pair_up(3)
    (array([0, 1, 2]), array([1, 2, 0]))
    >>> len(pair_up(100)[0]), len(pair_up(1000)[0])
    (4950, 20500)
    """
    most = n // 2  # steps round the circle of answers, after which all pairs were met
    wanted = min(most, _PAIRS // max(n, 1) + 1)
    steps = np.unique(np.linspace(1, most, wanted).astype(np.int64))
    left, step = np.tile(np.arange(n), len(steps)), np.repeat(steps, n)
    once = (2 * step < n) | (left < step)  # half the way round, a pair would be met from both sides
    left, step = left[once], step[once]
    return left, (left + step) % max(n, 1)
