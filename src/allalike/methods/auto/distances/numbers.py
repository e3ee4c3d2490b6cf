"""Numbers: between which limits the truth of a task lies, and by how much a worker is too high or too low.

A weighted mean x^ = sum w_i x_i / W of answers whose errors are independent and have the variances f_i has the variance
sum w_i^2 f_i / W^2. The variances are estimates, tasks differ in difficulty, and errors have heavier tails than Gauss
thought. So they are tried on what is known: each answer is predicted from the others to its task, and

    s = mean of (x_i - x^_-i)^2 / (f_i + var(x^_-i))

should be 1. With s f_i in place of f_i the limits x^ +- 1.96 sd hold in 95 of 100 tasks, on average over all tasks. A
group of workers with one voice counts as one answer, in x^ as in what is held out.

They fail where errors are shared: if all thermometers hang in the sun, they agree about the wrong temperature. The same
is true of a bias, the mean of x_i - x^_-i over a worker's answers: what all have in common is not seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.block import AnswerWeights, find_answer_weights, number_within_tasks, sum_by
from allalike.methods.auto.sureness.intervals import NORMAL_QUANTILE, TAIL
from allalike.methods.auto.voices import by_answer, voices_of, with_voices

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike.domains import Kernels
    from allalike.engines import Run
    from allalike.methods.insight import VoiceGroups

_ROUNDING = 1e-9


class Biases(NamedTuple):
    """By how much each worker is too high, on average, and the limits of it; NaN where nobody can say."""

    bias: Floats
    low: Floats
    high: Floats


class _Parts(NamedTuple):
    """Of each answer: the deviation from the mean of the others, its variance, and whether there are others.

    Of each task: the variance of its mean.
    """

    deviation: Floats
    variance: Floats
    heard: Array
    of_mean: Floats


def find_variances(run: Run, weight: Floats, fault: Floats) -> Floats:
    """Return the variance of each worker's answers: her fault, stretched to what the answers that are held out show.

    >>> import allalike
    >>> rows = [("ada", 1, 0.0), ("bob", 1, 2.0), ("ada", 2, 5.0), ("bob", 2, 3.0)]
    >>> run = allalike.Memory().load(allalike.read(rows))
    >>> find_variances(run, np.ones(2), np.ones(2))
    array([2., 2.])
    """
    sums = run.sum(_held_out_sums, weight, fault)
    square, answers = (run.problems.total(sums[name]) for name in ("square", "answers"))
    stretch = np.where((answers > 0) & (square > 0), square / np.where(answers > 0, answers, 1.0), 1.0)
    return np.asarray(stretch * fault)


def find_truth_limits(
    block: Block, weight: Floats, variance: Floats, label: Floats, error: Floats, *, groups: VoiceGroups | None = None
) -> dict[str, Floats]:
    """Return the limits of each task's truth, given the weighted mean and its error; a rule without error has none.

    VoiceGroups that are known have one voice, be it that the block knows it already or not.

    >>> from allalike._core.blocks.block import Block
    >>> find_truth_limits(Block.of([[1.0], [3.0]]), np.ones(2), np.full(2, 2.0), np.array([2.0]), np.ones(1))
    {'low': array([0.04003602]), 'high': array([3.95996398])}
    """
    heard = block if groups is None else with_voices(block, groups=groups)
    width = NORMAL_QUANTILE * np.sqrt(_compare(heard, weight, variance).of_mean)
    width = np.where(np.isnan(error), np.nan, width)
    return {"low": label - width, "high": label + width}


def find_biases(run: Run, weight: Floats) -> Biases:
    """Return by how much each worker is too high, as the weighted mean of the others to her tasks shows it.

    >>> import allalike
    >>> rows = [("ada", 1, 0.0), ("bob", 1, 2.0), ("ada", 2, 5.0), ("bob", 2, 8.0)]
    >>> find_biases(allalike.Memory().load(allalike.read(rows)), np.ones(2)).bias
    array([-2.5,  2.5])
    """
    from scipy.special import stdtrit

    first = run.unweighted_peer_sums
    usual = run.problems.total(first["distance"]) / np.maximum(run.problems.total(first["weight"]), 1.0)
    unit = np.where(usual > 0, np.sqrt(usual), 1.0)
    sums = run.sum(_deviation_sums, weight, unit)
    answers = np.where(sums["answers"] > 0, sums["answers"], np.nan)
    bias = sums["deviation"] / answers
    freedom = np.where(answers > 1, answers - 1, np.nan)
    spread = np.maximum(sums["square"] - answers * bias**2, 0.0) / freedom
    width = stdtrit(freedom, 1 - TAIL) * np.sqrt(spread / answers)
    return Biases(bias * unit, (bias - width) * unit, (bias + width) * unit)


def _held_out_sums(block: Block, weight: Floats, fault: Floats) -> dict[str, Floats]:
    parts = _compare(block, weight, fault)
    told = parts.heard & (parts.variance > 0)
    square = np.where(told, parts.deviation**2 / np.where(told, parts.variance, 1.0), 0.0)
    return {"square": block.per_worker(square), "answers": block.per_worker(told.astype(np.float64))}


def _deviation_sums(block: Block, weight: Floats, unit: Floats) -> dict[str, Floats]:
    parts = _compare(block, weight, np.zeros(block.n_workers))
    deviation = np.where(parts.heard, parts.deviation, 0.0) / unit.take(block.worker)
    return {
        "deviation": block.per_worker(deviation),
        "square": block.per_worker(deviation**2),
        "answers": block.per_worker(parts.heard.astype(np.float64)),
    }


def _compare(block: Block, weight: Floats, fault: Floats) -> _Parts:
    """Compare each answer with the mean of the other groups; the errors of a group are taken for the same one."""
    variance = fault.take(block.worker)
    own, _ = by_answer(block).answer_weights(weight.take(block.worker) * find_answer_weights(block).weight)
    inside, moment, error = own, own * block.label, own * np.sqrt(variance)
    once = own, moment, error**2
    if AnswerWeights in block:
        group = block[AnswerWeights].group
        inside, moment, error = (sum_by(group, each, len(group))[group] for each in (inside, moment, error))
        share = 1 / np.bincount(group)[group]
        once = share * inside, share * moment, share * error**2
    total, mean, square = (block.per_task(each) for each in once)
    others = block.to_answers(total) - inside
    heard = others > _ROUNDING * block.to_answers(total)
    others = np.where(heard, others, 1.0)
    middle = (block.to_answers(mean) - moment) / others
    noise = np.maximum(block.to_answers(square) - error**2, 0.0) / others**2
    return _Parts(block.label - middle, variance + noise, heard, square / total**2)


# Decisions with voices: a task's truth where a group of copiers counts as one, and who is silent not at all.
#
# An answer counts weight / g if g of its worker's group answered the task. A group errs together, so its answers have
# the variance of one of them, and not of their mean. Where nobody who answered has a voice, the answers count the
# same.


_LEAST_ERROR = 0.01


def decide_by_voices(
    block: Block, weights: Floats, faults: Floats, number: Floats, silent: Floats, *, kernels: Kernels, ties: Ties
) -> dict[str, Array]:
    """Find the truths of a block by the domain's rule, given the group of each worker, and whether she is silent.

    >>> import allalike
    >>> from allalike._core.blocks.block import Ties
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 0.0), ("bob", 1, 0.0), ("eve", 1, 3.0)]))
    >>> one = np.ones(3)
    >>> found = decide_by_voices(
    ...     run.blocks[0], one, one, np.array([0.0, 0.0, 2.0]), np.zeros(3), kernels=run.kernels, ties=Ties())
    >>> found["label"], found["error"].round(3)
    (array([1.5]), array([0.707]))
    """
    own = number.take(block.worker).astype(np.intp)
    voice = voices_of(block, own, silent.take(block.worker) > 0).weight
    variance = faults.take(block.worker) / np.where(voice > 0, voice, 1.0)
    return kernels.aggregate(by_answer(block), voice * weights.take(block.worker), variance, ties=ties)


def decide_surely(
    block: Block,
    weights: Floats,
    faults: Floats,
    number: Floats,
    silent: Floats,
    again: Floats,
    *,
    kernels: Kernels,
    ties: Ties,
    k: int,
) -> dict[str, Array]:
    """Find the truths of labels of which k are known, as likely right as their share in the votes is found again.

    ``again`` says of each worker's problem on what share of the tasks another crowd would decide the same, and how
    often a typical worker errs (`allalike.methods.auto.sureness.intervals`). With n answers, of whose weight label l
    has the share s_l, it is right with the probability that it has if each errs so often, and any other label is as
    likely then,

        p_l ~ ((1 - e) (k - 1) / e)^(n s_l).

    ``second`` is how probable the next label is, be it one that nobody gave.
    """
    found = decide_by_voices(block, weights, faults, number, silent, kernels=kernels, ties=ties)
    share, error = again.take(block.first_worker, axis=0).T
    error = np.clip(error, _LEAST_ERROR, 1 - 1 / k)
    slot, labels = number_within_tasks(block)
    voice = voices_of(block, number.take(block.worker).astype(np.intp), silent.take(block.worker) > 0).weight
    votes = block.per_task((voice * weights.take(block.worker))[:, None] * np.eye(int(labels.max()))[slot])
    weight = votes.sum(axis=1)
    odds = np.log((1 - error) * (k - 1) / error) * block.per_task(voice) / np.where(weight > 0, weight, 1.0)
    score = odds[:, None] * votes
    top = score.max(axis=1)
    given = np.where(np.arange(score.shape[1]) < labels[:, None], np.exp(score - top[:, None]), 0.0)
    sure = 1 / (given.sum(axis=1) + (k - labels) * np.exp(-top))
    unnamed = np.where(k > labels, np.exp(-top), 0.0)
    rival = np.sort(np.column_stack([given, unnamed]), axis=1)[:, -2]
    return {
        **found,
        "confidence": share * sure + (1 - share) / k,
        "second": share * sure * rival + (1 - share) / k,
    }
