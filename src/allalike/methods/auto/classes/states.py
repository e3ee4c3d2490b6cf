"""States: how probable each class and level of a task is; the E step of LEVELS, and what its rounds begin with.

    P_ts ~ pi_s prod_i C_(w_i)[l_i, s],    s = (class c, level g),

for the rows C of the workers and the shares pi of the states. Rounds begin with probabilities of the classes alone,
which are split into levels by how much the answers to a task disagree: r_t is the rank of 1 - sum of squared shares of
the votes, from 0 to 1, and level g has the share exp(-(G r_t - g - 1/2)^2) before these are made to sum to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import adds_in_place
from allalike._core.compiled import calls
from allalike._core.compiled.cells import cells_of, keep_cells
from allalike._core.compiled.library import compiled
from allalike.methods.auto.classes.rows import LEVELS
from allalike.methods.steps.ballots import add_up, by_problem, count_ballots, row_sums, softmax, vote_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allalike._core.blocks.block import Array, Block, Floats

__all__ = [
    "TaskLevels",
    "begin",
    "class_posterior",
    "classes_of",
    "count_states",
    "disagreement",
    "find_levels",
    "find_ranks",
    "posterior",
]

_LEAST = 1e-12
_NOTHING: Mapping[str, Floats] = MappingProxyType({})  # the sums before the first block


@dataclass(frozen=True)
class TaskLevels:
    """Of each task: how probable each level is before anything else is known."""

    share: Floats


def disagreement(block: Block, *, k: int) -> dict[str, Array]:
    """Return, per task, how probably two of its answers differ; and a worker of its problem."""
    shares = vote_shares(block, np.ones(block.n_workers), k=k)
    first = block.first_worker
    worker = first if isinstance(block.workers, slice) else block.workers[first]
    return {"disagreement": 1 - np.square(shares).sum(axis=1), "worker": worker}


def find_ranks(disagreement: Floats, problem: Array) -> Floats:
    """Return the rank of each task within its problem, from 0 to 1; equal ones share their mean rank.

    >>> find_ranks(np.array([0.0, 0.5, 0.5]), np.zeros(3, int))
    array([0.  , 0.75, 0.75])
    """
    rounded = disagreement.round(12)
    order = np.lexsort((rounded, problem))
    new = np.concatenate([[True], (np.diff(rounded[order]) > 0) | (np.diff(problem[order]) > 0)])
    group = np.cumsum(new) - 1
    size = np.bincount(group)
    middle = np.cumsum(size) - size + (size - 1) / 2
    tasks = np.bincount(problem)
    first = np.cumsum(tasks) - tasks
    rank = np.empty(len(order))
    rank[order] = middle[group]
    ranks: Floats = (rank - first[problem]) / np.maximum(tasks[problem] - 1, 1)
    return ranks


def find_levels(rank: Floats) -> Floats:
    """Return how probable each level of a task is, from its rank.

    >>> find_levels(np.array([0.0, 0.75])).round(2)
    array([[0.88, 0.12, 0.  ],
           [0.03, 0.37, 0.6 ]])
    """
    share = np.exp(-((LEVELS * rank[:, None] - np.arange(LEVELS) - 0.5) ** 2))
    split: Floats = share / row_sums(share)[:, None]
    return split


@adds_in_place
def begin(
    block: Block,
    *params: Floats,
    classes: Callable[..., Floats],
    k: int,
    ranks: tuple[Floats, Floats] | None = None,
    into: Mapping[str, Floats] = _NOTHING,
) -> dict[str, Floats]:
    """Count with probabilities of the classes, split into levels: those that the block keeps, or by their ranks."""
    block = keep_cells(block, k=k)
    if ranks is None:
        levels = block[TaskLevels].share
    else:
        levels = find_levels(np.interp(disagreement(block, k=k)["disagreement"], *ranks))
    states = (classes(block, *params, k=k)[:, :, None] * levels[:, None]).reshape(block.n_tasks, -1)
    return count_ballots(block, states, k=k, into=into)


@compiled(calls.posterior)
def posterior(block: Block, rows: Floats, shares: Floats, *, k: int) -> tuple[Floats, Floats]:
    """Return how probable each state of each task is, and the log likelihood of its answers; both are logarithms."""
    return softmax(add_up(cells_of(block, k), rows) + shares.take(block.first_worker, axis=0))


@adds_in_place
def count_states(
    block: Block,
    rows: Floats,
    shares: Floats,
    *,
    k: int,
    into: Mapping[str, Floats] = _NOTHING,
) -> dict[str, Floats]:
    """Count with the posterior, and add up the log likelihoods of answers."""
    block = keep_cells(block, k=k)
    states, likelihood = posterior(block, rows, shares, k=k)
    return {
        **count_ballots(block, states, k=k, into=into),
        "likelihood": by_problem(block, likelihood),
    }


def classes_of(states: Floats, k: int) -> Floats:
    """Add up the levels of each class."""
    classes: Floats = np.einsum("tcg->tc", states.reshape(len(states), k, -1))
    return classes


def class_posterior(block: Block, rows: Floats, shares: Floats, *, k: int) -> Floats:
    """Return how probable each class is."""
    return classes_of(posterior(block, rows, shares, k=k)[0], k)
