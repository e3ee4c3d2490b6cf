"""Comparisons: how far the answers to each task are apart, and what becomes of that when a worker leaves.

Krippendorff calls an answer pairable if somebody else answered its task. With n_u answers to task u and the mean
distance p_u of its pairs, every one of its answers counts once:

    D_o = sum_u n_u p_u / sum_u n_u,    over the tasks with two or more answers.

A task contributes to such sums alone, so they are added over blocks on any engine. If a worker leaves, each of her
tasks loses one answer and its distances, both of which are known from the sum S_u of its distances and hers, d:

    p_u = S_u / (n_u (n_u - 1))    becomes    (S_u - 2 d) / ((n_u - 1)(n_u - 2)),

and the last two answers to a task go together, for none of them is pairable alone. Pairs whose distance is unknown do
not count in the mean, and a task without a known one is not pairable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Kernels

__all__ = ["Compared", "Leaving", "compare_tasks", "count_within", "find_leaving", "find_paired", "go_together"]

Flags = npt.NDArray[np.bool_]


class Compared(NamedTuple):
    """The distances within tasks.

    Parameters
    ----------
    distance, peers
        Of each answer: the sum of its distances to the others, and how many of them are known.
    total, known
        Of each task: the sum of both.
    paired
        Of each task: whether its answers are pairable.
    mean
        Of each task: the mean distance of a pair; 0 where there is none.
    """

    distance: Floats
    peers: Floats
    total: Floats
    known: Floats
    paired: Flags
    mean: Floats


def compare_tasks(block: Block, kernels: Kernels) -> Compared:
    """Compare the answers to each task with each other; tasks that do not count are not paired.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "x")]
    >>> run = allalike.Memory().load(allalike.read(rows))
    >>> found = compare_tasks(run.blocks[0], run.kernels)
    >>> found.paired, found.mean.round(2)
    (array([ True, False]), array([0.67, 0.  ]))
    """
    distance, peers = kernels.peer_distances(block, np.ones(block.n_workers))
    total, known = block.per_task(distance), block.per_task(peers)
    paired = known > 0 if block.live is None else (known > 0) & block.live
    mean = np.where(paired, total, 0.0) / np.where(paired, known, 1.0)
    return Compared(distance, peers, total, known, paired, mean)


def find_paired(block: Block, *, kernels: Kernels) -> dict[str, Array]:
    """Name the tasks of a block by their hashes, and tell which of them are paired."""
    return {"hash": block.task_hash, "paired": compare_tasks(block, kernels).paired}


class Leaving(NamedTuple):
    """What goes if the worker of an answer leaves, for all pairable answers.

    Parameters
    ----------
    rows
        Which answers are pairable; a slice if all are.
    answers, observed
        By how much less there are of pairable answers, and of n_u p_u.
    before
        Of each task of the block: what n_u p_u is.
    stays
        Whether the others of its task are still pairable.
    """

    rows: npt.NDArray[np.intp] | slice
    answers: Floats
    observed: Floats
    before: Floats
    stays: Flags


def find_leaving(block: Block, kernels: Kernels) -> Leaving:
    """Find what goes with each answer.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "x"), ("bob", 2, "y")]
    >>> run = allalike.Memory().load(allalike.read(rows))
    >>> found = find_leaving(run.blocks[0], run.kernels)
    >>> found.answers, found.observed
    (array([1., 1., 1., 2., 2.]), array([0., 0., 2., 2., 2.]))
    """
    found = compare_tasks(block, kernels)
    rows = slice(None) if found.paired.all() else np.flatnonzero(block.to_answers(found.paired))
    size = block.sizes.astype(np.float64)
    left, total, known, before = size - 1, found.total, found.known, size * found.mean
    peers = left
    unknown = bool((known < size * left).any())
    if unknown:  # what goes is not the same for all answers to a task, but for their distances
        left, total, known, before = (block.to_answers(each) for each in (left, total, known, before))
        peers = found.peers
    stays = known > 2 * peers
    factor = np.divide(left, known - 2 * peers, out=np.zeros(len(left)), where=stays)
    answers, base, slope = np.where(stays, 1.0, left + 1), before - total * factor, 2 * factor
    if not unknown:
        stays, answers, base, slope = (block.to_answers(each) for each in (stays, answers, base, slope))
    observed = base + slope * found.distance
    return Leaving(rows, answers[rows], observed[rows], size * found.mean, stays[rows])


def count_within(block: Block, found: Leaving) -> dict[str, Floats]:
    """Return by how much less the distances of answers to the same task sum up to, and how many such pairs there are.

    >>> from allalike._core.blocks.block import Block
    >>> two, three = np.full(2, 2.0), np.full(2, 3.0)
    >>> count_within(Block.of([[0], [1]]), Leaving(slice(None), two, three, three[:1], np.array([False, False])))
    {'within': array([3., 3.]), 'pairs': array([2., 2.])}
    """
    left = block.to_answers(block.sizes - 1.0)[found.rows]
    others = np.where(found.stays, left - 1, 0.0)
    before = block.to_answers(found.before)[found.rows]
    within = left * before - others * (before - found.observed)
    return {"within": within, "pairs": left * (left + 1 - others)}


def go_together(block: Block, found: Leaving) -> tuple[Array, Array | slice]:
    """Return pairs of a worker and an answer that goes with her: her own, and those that are not pairable without it.

    >>> from allalike._core.blocks.block import Block
    >>> block = Block.of([[0, 0], [1, 1]])
    >>> go_together(block, Leaving(slice(None), *np.ones((3, 4)), np.array([True, True, False, False])))
    (array([0, 1, 0, 0, 1, 1]), array([0, 1, 2, 3, 2, 3]))
    """
    if found.stays.all():
        return block.worker[found.rows], found.rows
    rows = np.arange(len(block.worker))[found.rows]
    own, last = rows[found.stays], rows[~found.stays]
    task = np.searchsorted(block.starts, last, side="right") - 1
    sizes = block.sizes[task]
    others = np.arange(sizes.sum()) + np.repeat(block.starts[task] - (np.cumsum(sizes) - sizes), sizes)
    return np.concatenate([block.worker[own], np.repeat(block.worker[last], sizes)]), np.concatenate([own, others])
