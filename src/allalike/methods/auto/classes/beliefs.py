"""Beliefs: what is decided for classes, how sure that is, and how often workers err.

What decides is a table p of the classes of each task: the posterior of a hypothesis, or the shares of the votes; where
workers are alike, the posterior if each errs as often as all do. Errors that workers share make p too sure, and cannot
be seen in answers. But the crowd shows on what share a of the tasks another of its kind would decide the same
(`allalike.methods.auto.sureness.intervals`):

    confidence = a max_c p_c + (1 - a) / k

believes in p as far as it is found again, and else in a guess. Where truths are known, these tell how far to follow
that, and whom besides (`known`).

A worker errs where her label is not the truth. With means over her answers to tasks that others have answered, too,

    e = mean(1 - p[label]),    d = mean(1 - (h p + (1 - h) / k))

are her error rate, and how many of the truths that she is compared with are not found again by half of the crowd: h is
the share on which two halves decide the same, or two answers where the votes stand. Her limits are those of Wilson
around e, made wider by d below, for she may be right there, and by 2 d above: errors that most share are hidden, and as
she belongs to most, hers more than those of others.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import find_answer_weights
from allalike.methods.auto.classes.known import pin
from allalike.methods.auto.classes.rows import class_posterior
from allalike.methods.auto.sureness.faults import FEW
from allalike.methods.auto.sureness.intervals import find_wilson_limits
from allalike.methods.auto.sureness.next_labels import expect_gains
from allalike.methods.auto.voices import count_effective_voices, with_voices
from allalike.methods.insight import Faults
from allalike.methods.steps.ballots import count_votes, row_peaks, softmax, take_most_probable, vote_shares

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike._core.blocks.problems import Problems
    from allalike.engines import Run
    from allalike.methods.auto.classes.known import Learned
    from allalike.methods.insight import VoiceGroups

_HIDDEN = 2.0  # times as many errors as are seen to be unsure
_LEAST_APART = 1e-4  # the variance between workers who seem to be the same
_LEAST_ERROR = 0.01  # of a typical worker, whose answers are expected to help


def believe(block: Block, *hypothesis: Floats, k: int) -> Floats:
    """Return how much each class of each task is believed in.

    A hypothesis has the weight of each worker in votes, and where it is more than these also whether it decides, with
    its rows and shares.
    """
    weights, *more = hypothesis
    if not more:
        return vote_shares(block, weights, k=k)
    decides, rows, shares = more
    reads = decides.take(block.first_worker)[:, None] > 0
    if reads.all():
        return class_posterior(block, rows, shares, k=k)
    return np.where(reads, class_posterior(block, rows, shares, k=k), vote_shares(block, weights, k=k))


def decide_plainly(
    block: Block, weights: Floats, faults: Floats, *hypothesis: Floats, k: int, ties: Ties, known: Learned | None
) -> dict[str, Array]:
    """Take the class that is believed in most, and say how much that is."""
    table = plain_probabilities(block, weights, faults, *hypothesis, k=k, known=known)["probability"]
    return take_most_probable(block, table, ties)


def plain_probabilities(
    block: Block, weights: Floats, faults: Floats, *hypothesis: Floats, k: int, known: Learned | None = None
) -> dict[str, Array]:
    """Return how much each class is believed in."""
    belief = believe(block, *hypothesis, k=k)
    return {"probability": belief if known is None else known.tell(block, belief)}


def decide(
    block: Block,
    weights: Floats,
    faults: Floats,
    again: Floats,
    *hypothesis: Floats,
    k: int,
    ties: Ties,
    correlation: float | None,
    groups: VoiceGroups,
    known: Learned | None,
) -> dict[str, Array]:
    """Take the class that is believed in most; its confidence is the probability that it is right.

    ``again`` says of each worker's problem how much of what is decided is found again, also by half of the crowd, how
    often a typical worker errs, and whether all are alike.
    """
    block = with_voices(block, groups=groups)
    belief = _believe_all(block, again, *hypothesis, k=k)
    table = _doubt(block, belief, again)
    if known is not None:
        belief = table = known.tell(block, table)
    found = take_most_probable(block, belief, ties)
    voices = {} if correlation is None else {"voices": count_effective_voices(block, correlation)}
    return {
        **found,
        "confidence": table[np.arange(len(table)), found["label"]],
        "gain": expect_gains(table, _odds(block, again, k)),
        **voices,
    }


def probabilities(
    block: Block,
    weights: Floats,
    faults: Floats,
    again: Floats,
    *hypothesis: Floats,
    k: int,
    groups: VoiceGroups,
    known: Learned | None = None,
) -> dict[str, Array]:
    """Return how probable each class is."""
    block = with_voices(block, groups=groups)
    table = _doubt(block, _believe_all(block, again, *hypothesis, k=k), again)
    return {"probability": table if known is None else known.tell(block, table)}


def _believe_all(block: Block, again: Floats, *hypothesis: Floats, k: int) -> Floats:
    """Return how much each class of each task is believed in, also where all workers are alike."""
    belief = believe(block, *hypothesis, k=k)
    alike = again.take(block.first_worker, axis=0)[:, 3:] > 0
    if not alike.any():
        return belief
    votes = count_votes(block, hypothesis[0], k=k)
    return np.where(alike, softmax(votes * _odds(block, again, k)[:, None])[0], belief)


def _odds(block: Block, again: Floats, k: int) -> Floats:
    """Return, per task, the logarithm of how much more probable the label of a typical worker is than another."""
    error = np.clip(again.take(block.first_worker, axis=0)[:, 2], _LEAST_ERROR, 1 - 1 / k)
    return np.asarray(np.log((1 - error) * (k - 1) / error))


def _doubt(block: Block, belief: Floats, again: Floats, *, by_less: bool = False) -> Floats:
    """Return beliefs as far as they are found again, and else those of a guess."""
    share = again.take(block.first_worker, axis=0)[:, by_less : by_less + 1]
    return np.asarray(share * belief + (1 - share) / belief.shape[1])


def expect_accuracy(run: Run, *, params: tuple[Floats, ...], **how: Any) -> float:
    """Return how often truths are expected to be right: their mean confidence."""
    nobody = np.ones(run.problems.n_workers)
    table = run.collect(partial(probabilities, **how), nobody, nobody, *params)["probability"]
    return float(table.max(axis=1).mean())


def find_errors(run: Run, *params: Floats, **how: Any) -> Faults:
    """Estimate how often workers err, with limits; known truths count for themselves."""
    sums = run.sum(partial(_error_sums, **how), *params)
    shared = np.rint(sums["answers"]).astype(np.int64)
    answers = np.maximum(sums["answers"], 1.0)
    rate, unsure = sums["errors"] / answers, sums["unsure"] / answers
    met = run.problems.total(sums["answers"])
    usual = np.where(met > 0, run.problems.total(sums["errors"]) / np.maximum(met, 1.0), np.nan)
    rate = np.where(shared > 0, rate, np.nan)
    low, high = find_wilson_limits(rate, answers)
    limits = np.maximum(low - unsure, 0.0), np.minimum(high + _HIDDEN * unsure, 1.0)
    pulled = _pull(np.where(shared > 0, rate, usual), usual, sums["answers"], run.problems)
    return Faults("error_rate", shared, rate, *limits, pulled, shared < FEW)


def _pull(rate: Floats, usual: Floats, answers: Floats, problems: Problems) -> Floats:
    """Pull error rates to the crowd's by as much as answers are few: f~ = M + (f - M) t^2/(t^2 + v).

    M is the crowd's rate, v = M (1 - M)/n the variance by chance of who gave n answers, and t^2 that between workers.
    """
    noise = usual * (1 - usual)
    apart = problems.total(answers * np.square(rate - usual) - noise * (answers > 0))
    between = np.maximum(apart / np.maximum(problems.total(answers), 1.0), _LEAST_APART)
    return np.asarray(usual + (rate - usual) * between / (between + noise / np.maximum(answers, 1.0)))


def _error_sums(
    block: Block, again: Floats, *hypothesis: Floats, k: int, groups: VoiceGroups, known: Learned | None
) -> dict[str, Floats]:
    """Add up, per worker, how probably her answers are wrong, and how probably the truths are."""
    heard = with_voices(block, groups=groups)
    belief = _believe_all(heard, again, *hypothesis, k=k)
    met = (heard.per_task(find_answer_weights(heard).weight) > 1).astype(np.float64)
    table = _doubt(block, belief, again, by_less=True)
    if known is not None:
        belief = table = pin(block, known.tell(heard, _doubt(block, belief, again)))
    unsure = met * (1 - row_peaks(table))
    wrong = (met[:, None] * (1 - belief)).ravel().take(block.task * k + block.label)
    return {
        "answers": block.per_worker(block.to_answers(met)),
        "errors": block.per_worker(wrong),
        "unsure": block.per_worker(block.to_answers(unsure)),
    }
