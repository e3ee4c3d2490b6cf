"""Shrunken faults: weights from distances alone, for any label, and equal ones where workers are not told apart.

Three rounds, of which the first has equal weights. In each, every answer i of a task is compared with the others,
which weigh w_j. With W = sum_j w_j, y_i = sum_j w_j d_ij / W and v_i = sum_jk w_j w_k d_jk / (2 W^2), without i,

    e_i = y_i - v_i

is how far the answer is from the middle of the others: for squared distances |x_i - mean|^2, and so for every
distance that comes from an inner product, be it Hamming, Kendall tau or cosine. Its mean over her answers is
the worker's fault: her distance to the truth, plus what the middle of the others errs.

**Shrinkage.** With the mean of e in the task taken away, in tasks of d >= 3 answers, z = (e - mean) sqrt(d / (d-1))
varies between workers and within them. F is the ratio of both variances, which is 1 where all workers are alike, and

    s0 = (answers of a usual worker) / (F - 1),    f_w = (sum e + s0 * crowd's mean) / (answers + s0)

pulls every fault towards that of the crowd by as much as workers are not told apart (the moment estimate of empirical
Bayes). Where F <= 1, or where nobody answered twice, all are alike. Because z sums to 0 in each task and is stretched
for it, the variance between n workers is a sum over n, not n - 1. Where all tasks have two answers, whose e are the
same, nothing can be taken away, and F is that of e itself, less its mean in the worker's part: parts are workers whom
no chain of common tasks connects, and what differs between them may be the tasks.

**Weights.** A worker who guesses is D - v away from the middle (D: `allalike.methods.auto.screening`), and
weighs 0:

    w = max(0, (D - v) / f - 1),

which is 1/f for numbers, where D is infinite: the best weights of a mean. So nobody is thrown away for being the last.

**Voices.** A group of copiers counts as one on every task and is compared with others only; who carries no signal does
not count (`allalike.methods.auto.voices`).

It fails like all methods of agreement where the bad workers are alike without being copies. Where many labels are wrong
in their own way, as with many classes and independent errors, it gives weak workers less than the best weights would.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.block import AnswerWeights, sum_by
from allalike._core.blocks.pairs import compare_variances
from allalike.engines.ranges import number_parts
from allalike.engines.sample import sample_tasks
from allalike.methods.auto.voices import give_voices, peer_distances
from allalike.methods.proximity import equal_weights, normalise

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.blocks.problems import Problems
    from allalike.answers.gold import History
    from allalike.domains import Kernels
    from allalike.engines import Run
    from allalike.methods.insight import VoiceGroups

ROUNDS = 3
_MIN_STRENGTH = 1.0  # the crowd counts as one answer of a worker at least, so that no fault is 0 by chance
_ROUNDING = 1e-9  # a share below this is rounding
_PART_ANSWERS = 100_000  # that tell who has tasks in common


class CrowdFaults(NamedTuple):
    """What a round found: the mean fault of each worker's part; per problem the mean v, F (or NaN), and s0."""

    fault: Floats
    middle: Floats
    ratio: Floats
    strength: Floats


class Shrunken(NamedTuple):
    """What the rounds found."""

    fault: Floats
    weight: Floats
    crowd: CrowdFaults

    @property
    def alike(self) -> npt.NDArray[np.bool_]:
        """Of each problem: whether its workers are not told apart."""
        return np.isinf(self.crowd.strength)


def find_shrunken(run: Run, groups: VoiceGroups, guess: Floats, unit: Floats, *, use_gold: bool = False) -> Shrunken:
    """Find faults, pulled to that of the crowd, and weights, given how far a guess is from the answers to its task.

    The unit of distances is that in which squares are neither huge nor tiny. If gold is used, a worker is compared with
    the truths that are known instead of with the others.

    >>> import allalike
    >>> from allalike.methods.insight import VoiceGroups
    >>> wrong = [[1, 1, -1, -1], [1, -1, 1, -1], [-1, 1, 1, -1], [9, 9, 9, 9]]
    >>> rows = [(worker, task, task + wrong[worker][task]) for worker in range(4) for task in range(4)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="real"))
    >>> find_shrunken(run, VoiceGroups.everyone(4), np.array([np.inf]), np.ones(4)).weight.round(2)
    array([0.32, 0.32, 0.32, 0.03])
    """
    problems, speaks = run.problems, ~groups.silent
    heard, parts = give_voices(run, groups), None
    weight = equal_weights(problems)
    for _ in run.rounds(ROUNDS):
        sums = heard.sum(partial(distance_sums, kernels=run.kernels, use_gold=use_gold), weight, unit)
        counted = {name: np.where(speaks, each, 0.0) for name, each in sums.items()}
        if parts is None:
            parts = _find_parts(run, counted)
        crowd = _describe(counted, problems, parts)
        fault = _shrink(sums, crowd, problems, run.history, unit)
        middle = problems.spread(crowd.middle)
        weight = _weigh(fault, problems.spread(guess) / unit - middle, crowd.fault)
        weight = normalise(np.where(speaks, weight, 0.0), problems)
    return Shrunken(fault * unit, weight, crowd)


def _find_parts(run: Run, sums: dict[str, Floats]) -> npt.NDArray[np.intp]:
    """Number the parts of the workers, by a sample of the tasks, if some problem has pairs only; else its problems."""
    problem = run.problems.spread(np.arange(len(run.problems.sizes)))
    if not ((run.problems.add(sums["answers"]) > 0) & (run.problems.add(sums["compared"]) == 0)).any():
        return problem
    blocks = sample_tasks(run, _PART_ANSWERS, with_gold=False).blocks
    first = np.concatenate([each.to_answers(each.worker[each.starts]) for each in blocks])
    return number_parts(len(problem), first, np.concatenate([each.worker for each in blocks]))


def distance_sums(
    block: Block, weights: Floats, unit: Floats, *, kernels: Kernels, use_gold: bool = False
) -> dict[str, Floats]:
    """Add up, per worker, e and v of her answers that have peers, and the moments of e and of z.

    A group of answers counts as one, and its members are not each other's peers. If gold is used, e is the distance to
    the truth where it is known.

    >>> from allalike.domains import Real
    >>> from allalike._core.blocks.block import Block
    >>> from allalike.domains.real import RealKernels
    >>> block = Block.of([[0.0, 3.0], [2.0, 3.0], [4.0, 3.0]])
    >>> distance_sums(block, np.ones(3), np.ones(3), kernels=RealKernels(domain=Real()))["fault"]
    array([9., 0., 9.])
    """
    voices: AnswerWeights | None = block.prepared.get(AnswerWeights)
    own = weights.take(block.worker)
    own = own if voices is None else voices.weight * own
    distance, others = peer_distances(block, weights, kernels=kernels)
    distance = distance / unit.take(block.worker)
    heard = others > _ROUNDING * block.to_answers(block.per_task(own))
    others = np.where(heard, others, np.inf)  # who has no peers is not away from them
    cross = own * distance
    mine = cross if voices is None else sum_by(voices.group, cross, len(cross))[voices.group]
    middle = np.maximum(block.to_answers(block.per_task(cross)) - 2 * mine, 0.0) / (2 * others**2)
    fault = np.maximum(distance / others - middle, 0.0)
    if use_gold and len(block.gold_task):
        fault = _pin_known(block, fault, kernels, unit)
    counts = heard if voices is None else heard & (voices.weight > 0)
    size = block.per_task(counts.astype(np.float64))
    tells = counts & block.to_answers(size > 2)
    mean = block.per_task(np.where(counts, fault, 0.0)) / np.maximum(size, 1.0)
    stretch = np.sqrt(size / np.maximum(size - 1, 1.0))
    deviation = np.where(tells, (fault - block.to_answers(mean)) * block.to_answers(stretch), 0.0)
    return {
        "answers": block.per_worker(heard.astype(np.float64)),
        "fault": block.per_worker(fault),
        "fault squared": block.per_worker(fault**2),
        "middle": block.per_worker(middle),
        "compared": block.per_worker(tells.astype(np.float64)),
        "deviation": block.per_worker(deviation),
        "deviation squared": block.per_worker(deviation**2),
    }


def _pin_known(block: Block, fault: Floats, kernels: Kernels, unit: Floats) -> Floats:
    """Return faults in which answers to tasks whose truth is known are as far from it as they are."""
    row = block.gold_row  # tasks without gold borrow the last truth, and keep their fault
    distance = kernels.distance_to(block, block.gold_label[row]) / unit.take(block.worker)
    return np.where(block.to_answers(row >= 0) & ~np.isnan(distance), distance, fault)


def _describe(sums: dict[str, Floats], problems: Problems, part: Array | None = None) -> CrowdFaults:
    part = problems.spread(np.arange(len(problems.sizes))) if part is None else part
    answers = problems.add(sums["answers"])
    answers = np.where(answers > 0, answers, np.nan)  # without peers, though the distance to a truth may be known
    fault, middle = (problems.add(sums[name]) / answers for name in ("fault", "middle"))
    crowded = problems.add(sums["compared"]) > 0
    of_deviations = compare_variances(
        sums["deviation"], sums["deviation squared"], sums["compared"], problems, lost=0.0
    )
    of_faults = compare_variances(
        sums["fault"],
        sums["fault squared"],
        sums["answers"],
        problems,
        centre=_mean_of(part, sums["fault"], sums["answers"], np.zeros(len(part))),
        lost=_count_parts(part, sums["answers"], problems),
    )
    least = _ROUNDING**2
    ratio = np.where(crowded, of_deviations.ratio(least=least), of_faults.ratio(least=least))
    usual = np.where(crowded, of_deviations.usual, of_faults.usual)
    differ = ratio > 1
    strength = np.full(len(ratio), np.inf)
    strength[differ] = np.maximum(usual[differ] / (ratio[differ] - 1), _MIN_STRENGTH)
    whole = problems.spread(fault)
    mean = np.where(problems.spread(crowded), whole, _mean_of(part, sums["fault"], sums["answers"], whole))
    return CrowdFaults(mean, middle, ratio, strength)


def _mean_of(part: Array, values: Floats, counts: Floats, otherwise: Floats) -> Floats:
    """Return, per worker, the mean of her part, where there is one."""
    total, number = (sum_by(part, each, len(part))[part] for each in (values, counts))
    return np.where(number > 0, total / np.maximum(number, 1.0), otherwise)


def _count_parts(part: Array, answers: Floats, problems: Problems) -> Floats:
    """Return, per problem, how many parts have answers."""
    there = np.flatnonzero(answers > 0)
    first = np.zeros(len(part))
    first[there[np.unique(part[there], return_index=True)[1]]] = 1.0
    return problems.add(first)


def _shrink(
    sums: dict[str, Floats], crowd: CrowdFaults, problems: Problems, past: History | None, unit: Floats
) -> Floats:
    """Pull faults towards the crowd's; who has no peers is like the crowd. Earlier answers count beside these."""
    answers, total, mean, strength = sums["answers"], sums["fault"], crowd.fault, crowd.strength
    if past is not None:
        answers, total = answers + past.answers, total + past.answers * past.fault / unit
        usual, variance = past.spread
        strength = np.minimum(strength, max(usual**2 / variance, _MIN_STRENGTH) if variance > 0 else np.inf)
    own = np.where(answers > 0, total / np.maximum(answers, 1.0), mean)
    return np.asarray(mean + answers / (answers + problems.spread(strength)) * (own - mean))


def _weigh(fault: Floats, guess: Floats, usual: Floats) -> Floats:
    """Return weights; of numbers, a usual worker of any part has 1, however hard its tasks are."""
    usual = np.where(usual > 0, usual, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.isinf(guess), usual / fault, np.where(guess > fault, guess / fault - 1.0, 0.0))
