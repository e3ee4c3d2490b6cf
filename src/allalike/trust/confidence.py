"""Confidence: how probable it is that a label is right, tempered by answers that were held out.

A worker who errs with probability f, and then gives each of the other k - 1 classes as often, makes her label more
probable by the log odds w = log((1 - f)(k - 1) / f). If errors were independent, the probabilities of the classes of a
task would be as exp(score), where the **one coin** score of a class adds up the odds of the workers who named it. But
tasks are easy and hard, so errors come together, and such probabilities are too sure. A temperature mends that:

    P[c] ~ exp(beta score_c),    0 < beta <= 1.

**Held-out answers** tell beta. Leave an answer out, with those of its worker's whole group; q is what the others then
give to her label. She gives this label with probability q (1 - f) + (1 - q) f / (k - 1). The beta with the largest sum
of the logarithms, each answer as often as it has a voice, is taken. Where 50 truths are known, they tell it instead, by
the likelihood of the labels that were decided for being right or wrong. It is never above 1: answers are held out of
the score, not of the rates and rows behind it, so they always ask for more than is true.

**Error rates** are those of disagreement: two workers with rates f and g differ with probability f + g - f g k/(k - 1).
The rate of the whole crowd follows from how often two answers differ, as if two more pairs had guessed, so that one
pair that agrees is no proof; a worker's own from how often she differs from her peers, pulled to that of the crowd.

The probabilities are calibrated if errors are independent given the difficulty of a task. Errors that workers share,
because a wrong answer is attractive or because they copy, cannot be seen in answers: only known truths show them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike.blocks.block import sum_by
from allalike.blocks.ties import TOLERANCE
from allalike.blocks.voices import find_voices

if TYPE_CHECKING:
    from allalike.blocks.block import Block, Floats
    from allalike.blocks.problems import Problems

__all__ = [
    "BINS",
    "TEMPERATURES",
    "Temperature",
    "choose_temperature",
    "coin_rows",
    "common_error",
    "error_rates",
    "expected_calibration_error",
    "held_out_likelihood",
    "lead",
    "temper",
    "without_own",
]

TEMPERATURES = np.array([0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, *np.arange(3, 11) / 10])
BINS = 10  # of confidences, of which each is compared with how often labels are right
_PRIOR_PAIRS = 2.0  # of answers that are guesses, beside those that are there
_LEAST = 0.01  # no error rate is closer to 0 or 1
_LEAST_SLOPE = 0.05  # of 1 - f k/(k - 1): where peers guess, nothing can be said
_MAX_EXPONENT = 700.0
_SAME = 1e-6  # nats
_TIP = 1e-8  # by how much the label that is decided for is ahead of those that are as probable


@dataclass(frozen=True)
class Temperature:
    """The temperature of each problem, and which scores it belongs to.

    Parameters
    ----------
    beta
        Of each problem: what scores are multiplied by.
    coin
        Of each problem: whether the one coin gives the scores, and not the reading of the answers.
    """

    beta: Floats
    coin: npt.NDArray[np.bool_]


def common_error(disagreement: Floats, k: int) -> Floats:
    """Return how often workers err who are alike, from how often two of them disagree: d = 2 f - f^2 k / (k - 1).

    >>> common_error(np.array([0.0, 0.18, 0.9]), 2)
    array([0. , 0.1, 0.5])
    """
    chance = (k - 1) / k
    errors: Floats = chance * (1 - np.sqrt(np.maximum(1 - disagreement / chance, 0.0)))
    return errors


def error_rates(
    distance: Floats, peers: Floats, answers: Floats, strength: Floats, k: int, problems: Problems
) -> Floats:
    """Return how often each worker errs, from how often she differs from her peers.

    Parameters
    ----------
    distance, peers
        Of each worker: how many peers of her answers differ from her, and how many there are.
    answers
        How many she gave.
    strength
        Of each problem: how many answers of a worker like the crowd count beside her own.
    k
        How many labels there are.
    problems
        The workers of each problem.

    >>> from allalike.blocks.problems import Problems
    >>> differ, met, answers = np.array([30.0, 30.0, 60.0]), np.full(3, 200.0), np.full(3, 100.0)
    >>> error_rates(differ, met, answers, np.array([4.0]), 2, Problems.single(3)).round(2)
    array([0.01, 0.01, 0.36])
    """
    chance = (k - 1) / k
    pairs = problems.total(peers) / 2
    disagreement = (problems.total(distance) / 2 + _PRIOR_PAIRS * chance) / (pairs + _PRIOR_PAIRS)
    mean = common_error(disagreement, k)
    met = peers > 0
    more = np.where(met, distance / np.where(met, peers, 1.0) - disagreement, 0.0)
    told = answers / (answers + problems.spread(strength))
    n = problems.total(met)  # whoever is worse than her peers has better ones
    slope = np.maximum(1 - mean / chance, _LEAST_SLOPE) * np.where(n > 2, (n - 2) / np.maximum(n - 1, 1), 1.0)
    rates: Floats = np.clip(mean + told * more / slope, _LEAST, 1 - _LEAST)
    return rates


def coin_rows(block: Block, error_rate: Floats, *, k: int) -> Floats:
    """Return, per answer, what it adds to the one coin scores of the classes of its task.

    >>> from allalike.blocks.block import Block
    >>> block = Block.of([[0], [1], [1]])
    >>> block.per_task(coin_rows(block, np.array([0.1, 0.2, 0.2]), k=2)).round(2)
    array([[2.2 , 2.77]])
    """
    odds = np.maximum(np.log((1 - error_rate) * (k - 1) / error_rate), 0.0)
    own = find_voices(block).voice * odds.take(block.worker)
    rows: Floats = own[:, None] * np.eye(k)[block.label]
    return rows


def without_own(block: Block, scores: Floats, rows: Floats) -> Floats:
    """Return, per answer, the scores of its task without what her group adds to them: a row per answer.

    >>> from allalike.blocks.block import Block
    >>> without_own(Block.of([[0], [1]]), np.array([[3.0, 5.0]]), np.array([[3.0, 0.0], [0.0, 5.0]]))
    array([[0., 5.],
           [3., 0.]])
    """
    group = find_voices(block).group
    n_groups = int(group.max()) + 1
    if n_groups < len(group):
        table = np.stack([sum_by(group, column, n_groups) for column in rows.T], axis=1)
        rows = table.take(group, axis=0)
    others: Floats = block.to_answers(scores) - rows
    return others


def temper(scores: Floats, beta: Floats) -> Floats:
    """Return the probabilities of the classes, from a row of scores and a temperature for each task.

    >>> temper(np.log([[1.0, 9.0]]), np.array([0.5]))
    array([[0.25, 0.75]])
    """
    heated = scores * beta[:, None]
    share = np.exp(heated - heated.max(axis=1, keepdims=True))
    table: Floats = share / share.sum(axis=1, keepdims=True)
    return table


def held_out_likelihood(block: Block, scores: Floats, error_rate: Floats, *, k: int) -> Floats:
    """Add up, per worker, the log likelihoods of her answers given those of the others, a column per temperature.

    Parameters
    ----------
    block
        The answers.
    scores
        Of each answer: the scores of the classes without hers.
    error_rate
        Of each worker: how often she errs.
    k
        How many labels there are.

    >>> from allalike.blocks.block import Block
    >>> block, rates = Block.of([[0, 1], [0, 1], [0, 1]]), np.full(3, 0.1)
    >>> rows = coin_rows(block, rates, k=2)
    >>> held_out_likelihood(block, without_own(block, block.per_task(rows), rows), rates, k=2)[:, -1].round(2)
    array([-0.23, -0.23, -0.23])
    """
    ahead = scores - scores[np.arange(len(scores)), block.label][:, None]
    rate, voice = error_rate.take(block.worker), find_voices(block).voice
    sums = []
    for beta in TEMPERATURES:
        q = 1 / np.exp(np.minimum(beta * ahead, _MAX_EXPONENT)).sum(axis=1)
        sums.append(block.per_worker(voice * np.log(q * (1 - rate) + (1 - q) * rate / (k - 1))))
    return np.stack(sums, axis=1)


def choose_temperature(coin: Floats, reading: Floats | None, alike: npt.NDArray[np.bool_]) -> Temperature:
    """Choose the temperature of each problem by likelihoods, a row per problem and a column per temperature.

    The reading of the answers gives the scores, but where workers are alike the one coin does; and also where the
    reading needs no tempering, but the one coin, without it too, is more likely: the reading has looked for levels of
    difficulty that few answers to a task do not show, and is not sure enough.

    Parameters
    ----------
    coin, reading
        The likelihoods with the scores of the one coin, and with those of the reading, if there is one.
    alike
        Of each problem: whether its workers are alike.

    >>> likelihood = -np.abs(TEMPERATURES - 0.4)[None]
    >>> choose_temperature(likelihood - 1, likelihood, np.array([False]))
    Temperature(beta=array([0.4]), coin=array([False]))
    """
    if reading is None:
        return Temperature(TEMPERATURES[_likeliest(coin)], np.ones(len(coin), bool))
    best = np.where(alike, _likeliest(coin), _likeliest(reading))
    sharper = (best == len(TEMPERATURES) - 1) & (coin[:, -1] > reading[:, -1])
    return Temperature(TEMPERATURES[best], alike | sharper)


def _likeliest(likelihood: Floats) -> npt.NDArray[np.intp]:
    """Return the place of the largest likelihood in each row: the last of those that are the same."""
    same = likelihood >= likelihood.max(axis=1, keepdims=True) - _SAME
    last: npt.NDArray[np.intp] = same.shape[1] - 1 - same[:, ::-1].argmax(axis=1)
    return last


def lead(table: Floats, belief: Floats) -> Floats:
    """Let the classes that are believed in most be the most probable: those ahead of them share with them.

    Parameters
    ----------
    table
        The probabilities of the classes, a row per task.
    belief
        How much each class is believed in by what decides the task.

    >>> lead(np.array([[0.2, 0.5, 0.3], [0.2, 0.5, 0.3]]), np.array([[0.1, 0.3, 0.6], [0.1, 0.6, 0.3]])).round(3)
    array([[0.2, 0.4, 0.4],
           [0.2, 0.5, 0.3]])
    """
    leads = belief >= belief.max(axis=1, keepdims=True) * (1 - TOLERANCE)
    lowest = np.where(leads, table, np.inf).min(axis=1, keepdims=True)
    pool = leads | (table >= lowest * (1 - TOLERANCE))
    size, ahead = pool.sum(axis=1, keepdims=True), leads.sum(axis=1, keepdims=True)
    mean = np.where(pool, table, 0.0).sum(axis=1, keepdims=True) / size
    behind = size - ahead
    tip = np.where(leads, _TIP, -_TIP * ahead / np.maximum(behind, 1)) * (behind > 0)
    led: Floats = np.where(pool, mean * (1 + tip), table)
    return led


def expected_calibration_error(count: Floats, confidence: Floats, hits: Floats) -> float:
    """Return how far confidences are from how often labels are right, from sums over the labels in each bin.

    >>> expected_calibration_error(np.array([0.0, 10.0]), np.array([0.0, 9.0]), np.array([0.0, 8.0]))
    0.1
    """
    total = float(count.sum())
    return float(np.abs(confidence - hits).sum() / total) if total else float("nan")
