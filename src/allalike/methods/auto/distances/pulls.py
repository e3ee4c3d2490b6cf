"""Pulls: whether weights move the truths of numbers in a way that agreement cannot judge.

Who is near the others errs little, or keeps to the middle: who says 0.5 of every forecast is never far from anybody.
And where answers are skewed, the low ones are near each other, be they right or not. So weights by nearness may change
more than noise. With the plain mean U_t of a task, and the shares s_i of its answers by weights and p_i without, each
answer moves the truth by c_i = (s_i - p_i) (x_i - U_t). Added up over the answers of a worker,

    level_w = sum c_i,    slope_w = sum c_i (U_t - mean of U),

say by how much her weight moves all truths the same way, and by how much it spreads them. Workers are independent of
each other, tasks need not be, so what chance does shows between workers (Liang and Zeger 1986: clusters):

    z = sum_w level_w / sqrt(sum_w level_w^2),    and so for the slope.

A slope clearly below 0 is a crowd whose heavy workers hedge. A level clearly off 0 is a choice between high and low
workers, which nearness cannot make, unless the slope is clearly above 0: then light workers say little of the tasks.
A group of copiers is one worker. Of vectors, the slope is that of products, and z^2 of the level the mean over all
coordinates that move.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.blocks.voices import find_voices

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run
    from allalike.methods.insight import VoiceGroups

__all__ = ["Pull", "find_pull", "has_levels"]


class Pull(NamedTuple):
    """How clearly weights move truths, of each problem, in standard errors.

    Parameters
    ----------
    level
        By how much all the same way, whichever it is.
    slope
        By how much away from each other; below 0 towards each other.
    """

    level: Floats
    slope: Floats


def has_levels(encoding: Encoding) -> bool:
    """Tell whether labels are numbers, or vectors of them, or levels in an order.

    >>> import allalike
    >>> [has_levels(allalike.read([("ada", 1, 2)], domain=name).encoding) for name in ("real", "ordinal", "text")]
    [True, True, False]
    """
    return encoding.noise.weighting == "inverse" or (encoding.n_classes is not None and not encoding.nominal)


def find_pull(run: Run, weight: Floats, groups: VoiceGroups) -> Pull:
    """Find how clearly weights move the truths of numbers whose answers have these voices.

    >>> import allalike
    >>> from allalike.methods.insight import VoiceGroups
    >>> rows = [(worker, task, task * worker) for worker in range(1, 9) for task in range(5)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="real"))
    >>> pull = find_pull(run, 1.0 / np.arange(1, 9), VoiceGroups.everyone(8))  # who hedges more weighs more
    >>> pull.level.round(1), pull.slope.round(1)
    (array([1.7]), array([-1.7]))
    """
    problems, group = run.problems, groups.number
    first = run.sum(partial(_mean_sums, kernels=run.kernels))
    middle = problems.add(first["mean"]) / np.maximum(problems.add(first["tasks"]), 1.0)[:, None]
    sums = run.sum(partial(_pull_sums, kernels=run.kernels), weight, problems.spread(middle))
    together = {name: np.column_stack([sum_by(group, each, len(group)) for each in sums[name].T]) for name in sums}
    together = {name: each / _above_zero(np.abs(each).max(axis=0)) for name, each in together.items()}  # or overflow
    total, squares = ({name: problems.add(each**power) for name, each in together.items()} for power in (1, 2))
    z = {name: total[name] / np.sqrt(_above_zero(squares[name])) for name in total}
    moved = np.maximum((squares["level"] > 0).sum(axis=1), 1)
    return Pull(np.sqrt((z["level"] ** 2).sum(axis=1) / moved), z["slope"][:, 0])


def _above_zero(squares: Floats) -> Floats:
    return np.where(squares > 0, squares, 1.0)


def _numbers(block: Block, weight: Floats, kernels: Kernels) -> tuple[Floats, Floats, Floats]:
    """Return the numbers of each answer, its share in its task without weights, and with them."""
    number = kernels.restore_answers(block, np.arange(len(block.label))).reshape(len(block.label), -1)
    voice = find_voices(block).voice
    own = voice * weight.take(block.worker)
    shares = (part / block.to_answers(_above_zero(block.per_task(part))) for part in (voice, own))
    return number.astype(np.float64), *shares  # type: ignore[return-value]


def _mean_sums(block: Block, *, kernels: Kernels) -> dict[str, Floats]:
    """Add up the plain means of tasks."""
    number, share, _ = _numbers(block, np.ones(block.n_workers), kernels)
    return {"mean": _columns(block, share[:, None] * number), "tasks": block.per_worker(share)}


def _pull_sums(block: Block, weight: Floats, middle: Floats, *, kernels: Kernels) -> dict[str, Floats]:
    """Add up, per worker, how her weight moves the truths, and how it spreads them."""
    number, share, heavy = _numbers(block, weight, kernels)
    number = number - middle.take(block.worker, axis=0)
    mean = block.to_answers(block.per_task(share[:, None] * number))
    moves = (heavy - share)[:, None] * (number - mean)
    return {"level": _columns(block, moves), "slope": _columns(block, (moves * mean).sum(axis=1, keepdims=True))}


def _columns(block: Block, values: Floats) -> Floats:
    return np.column_stack([block.per_worker(column) for column in values.T])
