"""Readings: one way to read the answers, found from one of several starts, and the choice between them.

EM finds the reading that is most likely near where it begins. It begins at the consensus and at the plain votes; at
seven **cores**, the votes of the best workers who gave a share of the answers; and at the posterior of plain
Dawid-Skene, which knows who confuses which classes. The most likely reading wins, but cores and Dawid-Skene only by 3
nats. From it start two **mirrors**, in which the two most probable classes of hard tasks are exchanged, and which win by
10 nats: where most workers are fooled in the same way, the mirror image fits better.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.methods.levels.ballots import ballots_of, by_problem, count_ballots, softmax, vote_shares
from allalike.methods.levels.consensus import core_weights
from allalike.methods.levels.rows import LEVELS, Rows, estimate_rows, estimate_shares
from allalike.methods.levels.states import begin, count_states, mirrored_classes, plain_posterior

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from allalike.blocks.block import Array, Block, Floats
    from allalike.engines import Run
    from allalike.methods.levels.consensus import Consensus

__all__ = ["Reading", "choose", "climb", "find_readings", "improve", "mirror"]

_ROUNDS = 5
_FRACTIONS = (0.5, 0.35, 0.25, 0.18, 0.125, 0.09, 0.0625)  # of the answers, which a core gives
_MARGIN, _MIRROR_MARGIN = 3.0, 10.0  # nats
_CONFUSION_ROUNDS, _CONFUSION_PRIOR = 50, 0.01
_SAME = 1e-6  # nats
_SETTLED = 1e-4  # nats by which the rounds of Dawid-Skene must gain to go on


@dataclass(frozen=True)
class Reading:
    """One reading of the answers, of each problem.

    Parameters
    ----------
    start
        Of each problem: the name of the start from which it was found.
    rows, shares
        The logarithms of the probabilities of answers and of states, with a row per worker.
    found
        The rows, with what they are made of.
    counts
        How often each worker probably gave each label to each state.
    likelihood
        Of each problem: the log likelihood of its answers, and of what is known of its truths.
    score
        Of each problem: the same, less the margin by which it must be more likely than others.
    """

    start: Array
    rows: Floats
    shares: Floats
    found: Rows
    counts: Floats
    likelihood: Floats
    score: Floats


def find_readings(run: Run, consensus: Consensus, answers: Floats, k: int) -> Iterator[Reading]:
    """Find a reading from each start but the mirrors."""
    climb_from = partial(climb, run, answers=answers, strength=consensus.strength, k=k)
    plain = np.ones(run.problems.n_workers)
    yield climb_from("consensus", vote_shares, consensus.weight, margin=0.0)
    yield climb_from("majority", vote_shares, plain, margin=0.0)
    for fraction in _FRACTIONS:
        weights = core_weights(run, consensus, answers, fraction, k)
        yield climb_from(f"core {fraction}", vote_shares, weights, margin=_MARGIN)
    yield climb_from("confusion", plain_posterior, *_find_confusions(run, k), margin=_MARGIN)


def mirror(run: Run, reading: Reading, hardest: int, consensus: Consensus, answers: Floats, k: int) -> Reading:
    """Find the reading from the mirror image of another, on so many of the hardest levels."""
    order = np.argsort(reading.found.shift.mean(axis=1), axis=1, kind="stable")
    hard = np.zeros((len(order), LEVELS))
    np.put_along_axis(hard, order[:, :hardest], 1.0, axis=1)
    params = reading.rows, reading.shares, run.problems.spread(hard)
    return climb(
        run,
        f"mirror {hardest}",
        mirrored_classes,
        *params,
        margin=_MIRROR_MARGIN,
        answers=answers,
        strength=consensus.strength,
        k=k,
    )


def climb(
    run: Run,
    name: str,
    classes: Callable[..., Floats],
    *params: Floats,
    margin: float,
    answers: Floats,
    strength: Floats,
    k: int,
) -> Reading:
    """Find a reading by a few rounds of EM from probabilities of the classes."""
    sums = run.sum(partial(begin, classes=classes, k=k), *params)
    return improve(run, name, sums, rounds=_ROUNDS, margin=margin, answers=answers, strength=strength, k=k)


def improve(
    run: Run,
    name: str,
    sums: dict[str, Floats],
    *,
    rounds: int,
    margin: float,
    answers: Floats,
    strength: Floats,
    k: int,
) -> Reading:
    """Go on with rounds of EM from expected answers."""
    problems = run.problems
    for _ in range(rounds):
        found = estimate_rows(sums["counts"], answers, strength, problems)
        rows = np.log(found.probability)
        shares = problems.spread(np.log(estimate_shares(problems.add(sums["shares"]), k)))
        sums = run.sum(partial(count_states, k=k), rows, shares)
    likelihood = problems.add(sums["likelihood"] + sums["gold"])
    start = np.full(len(likelihood), name, dtype=object)
    return Reading(start, rows, shares, found, sums["counts"], likelihood, likelihood - margin)


def _find_confusions(run: Run, k: int) -> tuple[Floats, Floats]:
    """Return the logarithms of the confusions and class shares of plain Dawid-Skene, from the shares of the votes."""
    problems = run.problems
    sums = run.sum(partial(_count_votes, k=k), np.ones(problems.n_workers))
    before = np.full(len(problems.sizes), -np.inf)
    for _ in range(_CONFUSION_ROUNDS):
        counts = sums["counts"] + _CONFUSION_PRIOR
        rows = np.log(counts / counts.sum(axis=1, keepdims=True))
        asked = problems.add(sums["shares"])
        shares = problems.spread(np.log(asked / asked.sum(axis=1, keepdims=True) + 1e-12))
        sums = run.sum(partial(_count_classes, k=k), rows, shares)
        likelihood = problems.add(sums["likelihood"])
        if (likelihood - before < _SETTLED).all():
            break
        before = likelihood
    return rows, shares


def _count_votes(block: Block, weights: Floats, *, k: int) -> dict[str, Floats]:
    return count_ballots(block, vote_shares(block, weights, k=k), k=k)


def _count_classes(block: Block, rows: Floats, shares: Floats, *, k: int) -> dict[str, Floats]:
    score = ballots_of(block, k).add_up(rows) + shares.take(block.worker[block.starts], axis=0)
    classes, likelihood = softmax(score)
    return {**count_ballots(block, classes, k=k), "likelihood": by_problem(block, likelihood)}


def choose(best: Reading, other: Reading, run: Run) -> Reading:
    """Return, for each problem, the reading with the larger score; the first one unless the other is better."""
    wins = other.score > best.score + _SAME
    if wins.all() or not wins.any():
        return other if wins.any() else best
    of_worker = run.problems.spread(wins)

    def pick(one: Array, two: Array) -> Array:
        flags = wins if len(one) == len(wins) else of_worker
        return np.where(flags.reshape(-1, *[1] * (one.ndim - 1)), two, one)

    def merge(one: Any, two: Any) -> Any:
        fields = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
        return replace(
            one,
            **{
                name: (merge if dataclasses.is_dataclass(value) else pick)(value, getattr(two, name))
                for name, value in fields.items()
            },
        )

    merged: Reading = merge(best, other)
    return merged
