"""Consensus: how often each worker agrees with what the others agree on, and whether workers differ at all.

For each answer, leave its worker's voice out; v are the weighted votes of the others on the task, V their sum. She
**hits** if her label is the winner of the others (shared among winners that tie), her **share** is v_l / V, and the
consensus of the others is as strong as

    o = max(0, (max v / V - 1/k) / (1 - 1/k))^2.

Her accuracy is her mean hit, weighted by o, and pulled towards that of the crowd by s0 answers,

    a_w = (sum o hit + s0 c abar) / (sum o + s0 c),    abar = sum o hit / sum o over all,    c = mean o,

and w = max(0, (k a_w - 1)/(k - 1)), her distance from a guess, is her weight in the next of three rounds.

s0 says how far workers can be told apart. Hits and shares, less their mean on the task, vary between workers and
within them; F is the ratio of both variances, the larger one of hits and shares. It is 1 where all are alike, and (of
two answers to a task both hit or none does, so there the mean of the whole crowd is taken away)

    s0 = (answers of a usual worker) / (F - 1)

is the moment estimate of the strength of a Beta prior of their accuracies. Where F <= 1 they are not told apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.block import find_answer_weights, sum_by
from allalike._core.blocks.pairs import compare_variances
from allalike._core.compiled import calls
from allalike._core.compiled.library import compiled
from allalike.methods.steps.ballots import count_others

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.blocks.problems import Problems
    from allalike.answers.gold import History
    from allalike.engines import Run

ALIKE = 1e6  # the strength of the prior where workers are not told apart
_MIN_STRENGTH = 4.0
_ROUNDS = 3
_EPS = 1e-12
_CORE_REST = 0.02  # the weight of those who are not in the core


@dataclass(frozen=True)
class Consensus:
    """What agreement says of the workers."""

    weight: Floats
    accuracy: Floats
    strength: Floats
    ratio: Floats


def find_consensus(run: Run, answers: Floats, k: int, group: Array) -> Consensus:
    """Weigh workers by how they agree with the consensus of the others, in three rounds.

    Whether workers differ is asked of groups, of which each has the number of one of its members.
    """
    problems = run.problems
    weight = np.ones(problems.n_workers)
    for _ in range(_ROUNDS):
        sums = run.sum(partial(agreement_sums, k=k), weight)
        ratio, usual = _compare_agreement(_by_group(sums, group), problems)
        strength = np.full(len(ratio), ALIKE)
        differ = ratio > 1
        strength[differ] = np.clip(usual[differ] / (ratio[differ] - 1), _MIN_STRENGTH, ALIKE)
        heard = problems.add(sums["strength"]) > 0
        strength[~heard] = ALIKE
        strength = np.minimum(strength, _strength_of(run.history))
        accuracy = _accuracy(sums, strength, answers, problems, run.history)
        odds = np.maximum((k * accuracy - 1) / (k - 1), 0.0)
        total = problems.total(odds)
        weight = np.where(total > 0, odds * problems.size / np.where(total > 0, total, 1.0), 1.0)
    return Consensus(np.where(problems.spread(heard), weight, 1.0), accuracy, strength, ratio)


def find_agreement(run: Run, consensus: Consensus, weight: Floats, answers: Floats, k: int) -> Floats:
    """Return how often each worker is right, as far as others with these weights can tell."""
    sums = run.sum(partial(hit_sums, k=k), weight)
    return _accuracy(sums, consensus.strength, answers, run.problems, run.history)


def core_weights(
    accuracy: Floats, answers: Floats, fraction: float, problems: Problems, agree: Callable[[Floats], Floats]
) -> Floats:
    """Give weight to the best workers who together gave this share of the answers, found in three rounds.

    The first begins with accuracies, and ``agree`` says how often workers are right as far as such a core can tell.
    """
    weight = _weigh_core(accuracy, answers, fraction, problems)
    for _ in range(_ROUNDS - 1):
        before, weight = weight, _weigh_core(agree(weight), answers, fraction, problems)
        if np.array_equal(before, weight):
            break
    return weight


def _weigh_core(accuracy: Floats, answers: Floats, fraction: float, problems: Problems) -> Floats:
    return np.where(accuracy >= _least_of_core(accuracy, answers, fraction, problems) - _EPS, 1.0, _CORE_REST)


@compiled(calls.agreement_sums)
def agreement_sums(block: Block, weights: Floats, *, k: int) -> dict[str, Floats]:
    """Add up, per worker, how she agrees with the others: weighted hits, and the moments of hits and of shares.

    >>> from allalike._core.blocks.block import Block
    >>> agreement_sums(Block.of([[0, 1], [0, 1], [1, 1]]), np.ones(3), k=2)["hits"]
    array([1., 1., 1.])
    """
    said = _compare(block, weights, k)
    voice, size = said.voice, said.size
    two = size < 3 - _EPS
    stretch = block.to_answers(np.where(two, 1.0, np.sqrt(size / np.maximum(size - 1, _EPS))))
    of_two = np.where(block.to_answers(two), voice, 0.0)
    sums = {
        **_add_hits(block, said),
        "answers": block.per_worker(voice),
        "pairs": block.per_worker(of_two),
    }
    for name, values in (("hit", said.hit), ("share", said.share)):
        heard = voice * values
        mean = np.where(two, 0.0, block.per_task(heard) / size)
        deviation = (values - block.to_answers(mean)) * stretch
        sums[name] = block.per_worker(voice * deviation)
        sums[f"{name} squared"] = block.per_worker(voice * deviation**2)
        sums[f"{name} of two"] = block.per_worker(of_two * values) if two.any() else sums["pairs"]
        sums[f"{name} of all"] = block.per_worker(heard)
    return sums


@compiled(calls.hit_sums)
def hit_sums(block: Block, weights: Floats, *, k: int) -> dict[str, Floats]:
    """Add up, per worker, weighted hits and their weights alone."""
    return _add_hits(block, _compare(block, weights, k))


class _Compared(NamedTuple):
    """The answers of a block beside those of the others: hits, shares, o, and the voices of those who have others.

    ``size`` has the voices of each task.
    """

    hit: Floats
    share: Floats
    strength: Floats
    voice: Floats
    size: Floats


def _compare(block: Block, weights: Floats, k: int) -> _Compared:
    voice = find_answer_weights(block).weight
    own, top, total, hit = count_others(block, voice * weights.take(block.worker), block.label, k)
    counted = total > _EPS
    safe = np.where(counted, total, 1.0)
    share = np.where(counted, own / safe, 0.0)
    strength = np.where(counted, np.maximum(0.0, (top / safe - 1 / k) / (1 - 1 / k)) ** 2, 0.0)
    size = block.per_task(voice)
    return _Compared(hit, share, strength, np.where(block.to_answers(size >= 2 - _EPS), voice, 0.0), size)


def _add_hits(block: Block, said: _Compared) -> dict[str, Floats]:
    strength = said.voice * said.strength
    return {"hits": block.per_worker(strength * said.hit), "strength": block.per_worker(strength)}


def _accuracy(
    sums: dict[str, Floats], strength: Floats, answers: Floats, problems: Problems, past: History | None
) -> Floats:
    hits, heard = sums["hits"], sums["strength"]
    all_hits, all_heard = problems.add(hits), problems.add(heard)
    each = all_heard / problems.add(answers)
    prior, mean = problems.spread(strength * each), problems.spread(all_hits / np.maximum(all_heard, 1e-9))
    if past is not None:
        earlier = problems.spread(each) * past.answers
        hits, heard = hits + earlier * (1 - past.fault), heard + earlier
    told = heard + prior
    return np.where(told > 0, (hits + prior * mean) / np.where(told > 0, told, 1.0), mean)


def _strength_of(past: History | None) -> float:
    """Return how many answers the crowd's accuracy counts beside a worker's own, by how workers differed before."""
    mean, variance = (0.0, 0.0) if past is None else past.spread
    return max(mean * (1 - mean) / variance - 1, _MIN_STRENGTH) if variance > 0 else ALIKE


def _by_group(sums: dict[str, Floats], group: Array) -> dict[str, Floats]:
    return {name: sum_by(group, values, len(group)) for name, values in sums.items()}


def _compare_agreement(sums: dict[str, Floats], problems: Problems) -> tuple[Floats, Floats]:
    """Return, per problem, F of hits or of shares, whichever is larger, and the answers of a usual worker."""
    answers, pairs = sums["answers"], sums["pairs"]
    total, found = np.maximum(problems.add(answers), 1.0), []
    for name in ("hit", "share"):
        mean = problems.spread(problems.add(sums[f"{name} of all"]) / total)
        values = sums[name] - pairs * mean
        squares = sums[f"{name} squared"] - mean * (2 * sums[f"{name} of two"] - pairs * mean)
        found.append(compare_variances(values, squares, answers, problems))
    return np.maximum(*(each.ratio(least=_EPS, otherwise=1.0) for each in found)), found[0].usual


def _least_of_core(accuracy: Floats, answers: Floats, fraction: float, problems: Problems) -> Floats:
    """Return, per worker, the accuracy of the last of the best who give this share of her problem's answers."""
    number = np.repeat(np.arange(len(problems.sizes)), problems.sizes)
    order = np.lexsort((-accuracy, number))
    given = np.cumsum(answers[order])
    before = np.concatenate([[0.0], given])[problems.starts]
    share = (given - problems.spread(before)) / problems.total(answers)
    below = problems.add(share < fraction).astype(np.int64)
    last = problems.starts + np.minimum(np.maximum(below, 1), problems.sizes - 1)
    return problems.spread(accuracy[order][last])
