"""Guesses: how far an answer is from the others if it has nothing to do with its task.

An answer to another task is such an answer: it is what the crowd says, but not about this. So D, the distance of a
guess, is the mean distance of answers to different tasks. It is measured on pairs of a sample of the tasks, and on all
pairs where these are few, so that neither names nor the order of rows matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike.engines.sample import sample_tasks
from allalike.errors import LabelError

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike.domains import Kernels
    from allalike.engines import Run

__all__ = ["find_guess_distances"]

_SAMPLE_ANSWERS = 2000
_PAIRS = 20_000


def find_guess_distances(run: Run) -> Floats:
    """Return, per problem, how far a guess is from the answers to its task.

    It is infinite for numbers, which may count from anywhere in each task, and where nothing is known: where there is
    one task, or where labels of different tasks cannot be compared, and the domain does not know it either.

    >>> import allalike
    >>> rows = [("ada", 1, {"x", "y"}), ("bob", 1, {"x"}), ("ada", 2, {"y"}), ("bob", 2, {"z"})]
    >>> find_guess_distances(allalike.Memory().load(allalike.read(rows, domain="set")))
    array([0.875])
    """
    n_problems, noise = len(run.problems.sizes), run.encoding.noise
    if noise.weighting == "inverse":
        return np.full(n_problems, np.inf)
    unknown = np.inf if noise.chance is None else noise.chance
    sample = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False)
    blocks = [block for block in sample.blocks if block.n_tasks]
    if not blocks:
        return np.full(n_problems, unknown)
    code, worker = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("label", "worker"))
    task = np.repeat(np.arange(sample.n_tasks), np.concatenate([block.sizes for block in blocks]))
    problem = np.repeat(np.arange(n_problems), run.problems.sizes)[worker]
    rows = np.argsort(problem, kind="stable")
    parts = np.split(rows, np.searchsorted(problem[rows], np.arange(1, n_problems)))
    return np.array([_mean_distance(code[part], task[part], run.kernels, unknown) for part in parts])


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
