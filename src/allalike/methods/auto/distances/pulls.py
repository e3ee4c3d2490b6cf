"""Test whether weighting numeric labels rewards hedging, or shifts all labels the same way.

A worker is close to the others because their errors are small, or because they stay near the middle: a forecast of 0.5
is never far from any other. And where answers are skewed, the low ones are close to each other, right or wrong. So
weights by distance may change more than noise. With the plain mean U_t of a task, and the shares s_i of its answers
with weights and p_i without, answer i moves the label of its task by (s_i - p_i) (x_i - U_t). For a worker w, with the
mean u_i of the other answers to the task,

    level_w = sum (s_i - p_i) (x_i - U_t),    slope_w = sum (s_i - p_i) * (cov_w(x_i - u_i, u_i) + v_w)

measure by how much their weight moves all labels the same way, and by how much it spreads them. u_i does not contain
the worker's own answer, but it is in both factors of the covariance. So v_w, the mean variance of the errors in u_i, is
added: it is known from the scatter of the other answers. Then independent errors have slope 0 on average, however
unequal they are. Tasks with two answers have no scatter. There v_w is what makes the mean over all workers 0, which is
too large for workers who are close to the others by chance: if all tasks have two answers, and workers few, hedging is
hardly found.

Workers are independent of each other, tasks need not be, so the variance is estimated between workers (Liang and Zeger
1986: clusters):

    z = sum_w level_w / sqrt(sum_w level_w^2),    and the same for the slope.

A slope clearly below 0 is a crowd whose heavy workers hedge. A level clearly different from 0 is a choice between high
and low workers, which distances cannot make, unless the slope is clearly above 0: then light workers know little about
the tasks. Chance makes one level in twenty clear, however many answers there are. So the square of the shift is also
compared with the variance that weights remove from a label: a small shift costs less than weights gain.
A group of copies is one worker. For vectors, the slope is that of inner products, and z^2 of the level the mean over
all coordinates that move.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.blocks.voices import find_voices, without_own

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Block, Floats
    from allalike._core.blocks.problems import Problems
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run
    from allalike.methods.insight import VoiceGroups

__all__ = ["Pull", "find_pull", "has_levels"]

_ROUNDING = 1e-9


class Pull(NamedTuple):
    """How clearly weights move labels, per problem.

    Parameters
    ----------
    level
        How clearly they move all labels the same way, in standard errors, without sign.
    slope
        How clearly they move labels apart, in standard errors; below 0 towards each other.
    shift
        Square of the mean movement of all labels, as a multiple of the variance that weights remove from a label;
        infinite where they remove none.
    """

    level: Floats
    slope: Floats
    shift: Floats


def has_levels(encoding: Encoding) -> bool:
    """Return whether labels are numbers, or vectors of them, or levels in an order.

    >>> import allalike
    >>> [has_levels(allalike.read([("ada", 1, 2)], domain=name).encoding) for name in ("real", "ordinal", "text")]
    [True, True, False]
    """
    return encoding.noise.weighting == "inverse" or (encoding.n_classes is not None and not encoding.nominal)


def find_pull(run: Run, weight: Floats, groups: VoiceGroups) -> Pull:
    """Compute how clearly weights move the labels of tasks whose answers have these voices.

    >>> import allalike
    >>> from allalike.methods.insight import VoiceGroups
    >>> rows = [(worker, task, task * worker) for worker in range(1, 9) for task in range(5)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="real"))
    >>> pull = find_pull(run, 1.0 / np.arange(1, 9), VoiceGroups.everyone(8))  # who hedges more weighs more
    >>> pull.level.round(1), pull.slope.round(1), pull.shift.round(1)
    (array([1.7]), array([-1.7]), array([inf]))
    """
    problems = run.problems
    first = run.sum(partial(_mean_sums, kernels=run.kernels))
    tasks = np.maximum(problems.add(first["tasks"]), 1.0)
    middle = problems.add(first["mean"]) / tasks[:, None]
    sums = run.sum(partial(_pull_sums, kernels=run.kernels), weight, problems.spread(middle), _find_unit(run))
    each = {name: _by_group(groups.number, values) for name, values in sums.items()}
    answers = _above_zero(each["answers"].sum(axis=1))
    slope = each["moved"][:, 0] * _find_slopes(each, problems) / answers
    slope_z = problems.add(slope) / np.sqrt(_above_zero(problems.add(slope**2)))
    shift = problems.add(each["level"]) ** 2
    clear = shift / _above_zero(problems.add(each["level"] ** 2))
    level_z = np.sqrt(clear.sum(axis=1) / np.maximum((clear > 0).sum(axis=1), 1))
    removed = problems.add(each["removed"][:, 0] * each["squares"][:, 0] / answers) * tasks
    return Pull(level_z, slope_z, np.where(removed > 0, shift.sum(axis=1) / _above_zero(removed), np.inf))


def _by_group(number: npt.NDArray[np.intp], values: Floats) -> Floats:
    return np.column_stack([sum_by(number, column, len(number)) for column in values.T])


def _find_slopes(each: dict[str, Floats], problems: Problems) -> Floats:
    """Return, per worker, answers times the covariance of x - u and u, without the variance of the errors in u.

    Of tasks with three answers and more, the errors in u are known from their scatter. Of pairs they are not, and the
    mean of the covariance over all workers takes their place.
    """
    answers = each["answers"]
    n_coordinates = each["means"].shape[1] // 2
    means = (each["differences"] * each["means"]).reshape(len(answers), 2, n_coordinates).sum(axis=2)
    covariance = each["products"] - means / _above_zero(answers)
    twice = answers > 1 + _ROUNDING  # once is no covariance
    several, pairs = np.where(twice, covariance * answers / np.where(twice, answers - 1, 1.0), 0.0).T
    scatter, paired = np.where(twice, np.column_stack([each["scatter"][:, 0], answers[:, 1]]), 0.0).T
    usual = problems.total(pairs) / _above_zero(problems.total(paired))
    return np.asarray(several + scatter + pairs - usual * paired)


def _find_unit(run: Run) -> Floats:
    """Return a usual difference between two answers, in which squares are neither huge nor tiny."""
    sums = run.unweighted_peer_sums
    usual = run.problems.total(sums["distance"]) / np.maximum(run.problems.total(sums["weight"]), 1.0)
    return np.sqrt(_above_zero(usual))


def _above_zero(values: Floats) -> Floats:
    return np.where(values > 0, values, 1.0)


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


def _pull_sums(block: Block, weight: Floats, middle: Floats, unit: Floats, *, kernels: Kernels) -> dict[str, Floats]:
    """Add up, per worker, how their weight moves labels, and how their answers vary with the mean of the others."""
    number, share, heavy = _numbers(block, weight, kernels)
    number = (number - middle.take(block.worker, axis=0)) / unit.take(block.worker)[:, None]
    plain = block.to_answers(block.per_task(share[:, None] * number))
    voice = find_voices(block).voice
    rows = voice[:, None] * np.column_stack([np.ones(len(number)), number])
    own, others = _divide(block, rows)
    _, squares = _divide(block, rows * own)  # of the others, each group once
    n_others, n_pairs = others[:, 0], others[:, 0] ** 2 - squares[:, 0]
    mean = others[:, 1:] / _above_zero(others[:, :1])
    several = n_pairs > _ROUNDING
    of_pairs = (others[:, 1:] ** 2 - squares[:, 1:]).sum(axis=1) / np.where(several, n_pairs, 1.0)
    scatter = np.where(several, (mean**2).sum(axis=1) - of_pairs, 0.0)  # variance of the errors in the mean
    sizes = voice[:, None] * np.column_stack([several, (n_others > _ROUNDING) & ~several])
    counted = sizes.sum(axis=1)
    shares = np.column_stack([share, heavy])
    variance = shares * _divide(block, shares)[0]
    difference = number - mean
    values = {
        "level": (heavy - share)[:, None] * (number - plain),
        "moved": np.where(counted > 0, heavy - share, 0.0)[:, None],
        "removed": np.where(counted > 0, variance[:, 0] - variance[:, 1], 0.0)[:, None],
        "answers": sizes,
        "differences": _outer(sizes, difference),
        "means": _outer(sizes, mean),
        "products": sizes * (difference * mean).sum(axis=1, keepdims=True),
        "scatter": (counted * scatter)[:, None],
        "squares": (counted * (difference**2).sum(axis=1))[:, None],
    }
    return {name: _columns(block, each) for name, each in values.items()}


def _outer(sizes: Floats, values: Floats) -> Floats:
    return (sizes[:, :, None] * values[:, None, :]).reshape(len(values), -1)


def _divide(block: Block, rows: Floats) -> tuple[Floats, Floats]:
    """Return, per answer, the sum of rows over its own group in its task, and over all others."""
    total = block.per_task(rows)
    others = without_own(block, total, rows)
    return block.to_answers(total) - others, others


def _columns(block: Block, values: Floats) -> Floats:
    return np.column_stack([block.per_worker(column) for column in values.T])
