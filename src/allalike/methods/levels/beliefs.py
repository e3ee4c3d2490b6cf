"""Beliefs: what is decided for classes, and how probable it is.

Decisions weigh the posterior of the reading and the consensus of the workers (`believe`). Neither is the probability
that the label is right; that is found from the same reading, or from the one coin of each worker, with a temperature
that held-out answers tell (`allalike.trust.confidence`). Decisions do not change by it: where another class is more
probable, it shares with the one that is decided for.

What the kernels need of the workers is one table, ``trust``, with a row for each: her error rate, the temperature of
her problem, whether it is that of the one coin, and the odds of a typical worker; and of a reading its rows, its
shares, and how it is blended.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.blocks.voices import find_voices
from allalike.methods.levels.ballots import ballots_of, softmax, vote_shares
from allalike.methods.levels.states import class_posterior, classes_of
from allalike.methods.steps.most_probable import take_most_probable
from allalike.trust.confidence import (
    BINS,
    TEMPERATURES,
    Temperature,
    choose_temperature,
    coin_rows,
    expected_calibration_error,
    held_out_likelihood,
    lead,
    temper,
    without_own,
)
from allalike.trust.groups import with_voices
from allalike.trust.next_labels import expect_gains
from allalike.trust.voices import count_effective_voices, find_error_correlation

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.blocks.block import Array, Block, Floats
    from allalike.blocks.problems import Problems
    from allalike.blocks.ties import Ties
    from allalike.engines import Run
    from allalike.trust.groups import Groups

__all__ = [
    "Calibration",
    "Evidence",
    "believe",
    "calibrate",
    "decide",
    "decide_plainly",
    "expect_accuracy",
    "plain_probabilities",
    "probabilities",
]

_LEAST = 1e-300  # of a probability before its logarithm
_MIN_GOLD = 50  # known truths that tell the temperature
_FOLDS = 5  # of known truths, of which four tell how sure the fifth is
_MOST_SURE = 0.999  # where a truth may prove that a label is wrong


@dataclass(frozen=True)
class Calibration:
    """How beliefs become probabilities.

    Parameters
    ----------
    trust
        Of each worker: her error rate, and of her problem the temperature, whether it is that of the one coin, and the
        odds of a typical worker.
    correlation
        That of the errors of two answers to a task, where truths are known.
    notes
        What is to be said of it.
    """

    trust: Floats
    correlation: float | None
    notes: dict[str, Any]


@dataclass(frozen=True)
class Evidence:
    """What is known of the workers when truths are to be judged.

    Parameters
    ----------
    error_rate, answers
        Of each worker: how often she errs, and how many voices she has.
    alike
        Of each problem: whether its workers are alike.
    reading
        Rows, shares and blend of the reading, if there is one.
    groups
        Who speaks with one voice.
    k
        How many labels there are.
    """

    error_rate: Floats
    answers: Floats
    alike: npt.NDArray[np.bool_]
    reading: tuple[Floats, ...]
    groups: Groups
    k: int


def calibrate(run: Run, sample: Run, evidence: Evidence, *, use_gold: bool) -> Calibration:
    """Find the temperature of each problem: by held-out answers of a sample, or by 50 known truths and more."""
    problems, k, alike = run.problems, evidence.k, evidence.alike
    rates, reading = evidence.error_rate, evidence.reading
    single = len(problems.sizes) == 1
    spread = partial(_spread, problems=problems, evidence=evidence)
    if use_gold and single and run.n_gold >= _MIN_GOLD:
        sums = run.sum(partial(_gold_likelihood, k=k, ties=run.ties), rates, *reading)
        folds = {name: problems.add(table) for name, table in sums.items()}
        found = _choose({name: table.sum(axis=1) for name, table in folds.items()}, alike)
        others = [_choose({n: t.sum(axis=1) - t[:, fold] for n, t in folds.items()}, alike) for fold in range(_FOLDS)]
        tables = np.stack([spread(each) for each in others], axis=2)
        bins = run.sum(partial(_count_bins, k=k, ties=run.ties), tables, *reading)
        error = expected_calibration_error(*bins["bins"].sum(axis=0).T)
        notes: dict[str, Any] = {"temperature_from": "gold", "calibration_error": error}
        correlation = find_error_correlation(run)
    else:
        sums = sample.sum(partial(_held_out, k=k), rates, *reading[:2])
        found = _choose({name: problems.add(table) for name, table in sums.items()}, alike)
        notes, correlation = {"temperature_from": "answers"}, None
    if single:
        notes = {"temperature": float(found.beta[0]), **notes}
    return Calibration(spread(found), correlation, notes)


def expect_accuracy(run: Run, *, evidence: Evidence) -> float:
    """Return how often truths are expected to be right: their mean confidence, with a temperature of these answers."""
    heard = run.map(partial(with_voices, groups=evidence.groups))
    trust = calibrate(heard, heard, evidence, use_gold=False).trust
    kernel = partial(probabilities, k=evidence.k, groups=evidence.groups)
    nobody = np.ones(run.problems.n_workers)
    table = run.collect(kernel, nobody, nobody, trust, *evidence.reading)["probability"]
    return float(table.max(axis=1).mean())


def _choose(likelihood: dict[str, Floats], alike: npt.NDArray[np.bool_]) -> Temperature:
    return choose_temperature(likelihood["coin"], likelihood.get("reading"), alike)


def _spread(found: Temperature, *, problems: Problems, evidence: Evidence) -> Floats:
    """Return the table of trust, with a row for each worker."""
    rate, answers, k = evidence.error_rate, evidence.answers, evidence.k
    beta, coin = problems.spread(found.beta), problems.spread(found.coin)
    mean = problems.total(answers * rate) / np.maximum(problems.total(answers), _LEAST)
    mean = np.clip(mean, rate.min(), rate.max())
    typical = np.maximum(np.log((1 - mean) * (k - 1) / mean), 0.0)
    return np.column_stack([rate, beta, coin, beta * typical])


def believe(block: Block, *reading: Floats, k: int) -> tuple[Floats, Floats | None]:
    """Return how much each class of each task is believed in, and its posterior; without a reading its votes decide.

    The columns of the blend are how much the posterior and the consensus count, and the weight of each worker in it.
    """
    if not reading:
        return vote_shares(block, np.ones(block.n_workers), k=k), None
    rows, shares, blend = reading
    trusted, agreed = blend.take(block.worker[block.starts], axis=0)[:, :2].T[:, :, None]
    classes, votes = class_posterior(block, rows, shares, k=k), vote_shares(block, blend[:, 2], k=k)
    return (trusted * classes + agreed * votes) / (trusted + agreed), classes


def decide_plainly(
    block: Block, weights: Floats, faults: Floats, *reading: Floats, k: int, ties: Ties
) -> dict[str, Array]:
    """Take the class that is believed in most, and say how much that is."""
    return take_most_probable(block, believe(block, *reading, k=k)[0], ties)


def plain_probabilities(block: Block, weights: Floats, faults: Floats, *reading: Floats, k: int) -> dict[str, Array]:
    """Return how much each class is believed in."""
    return {"probability": believe(block, *reading, k=k)[0]}


def decide(
    block: Block,
    weights: Floats,
    faults: Floats,
    trust: Floats,
    *reading: Floats,
    k: int,
    ties: Ties,
    correlation: float | None,
    groups: Groups,
) -> dict[str, Array]:
    """Take the class that is believed in most; its confidence is the probability that it is right."""
    block = with_voices(block, groups=groups)
    belief, classes = believe(block, *reading, k=k)
    found = take_most_probable(block, belief, ties)
    table = _temper(block, trust, belief, classes, k=k)
    _, beta, _, odds = trust.take(block.worker[block.starts], axis=0).T
    return {
        **found,
        "confidence": table[np.arange(len(table)), found["label"]],
        "voices": count_effective_voices(block, beta, correlation),
        "gain": expect_gains(table, odds),
    }


def probabilities(
    block: Block, weights: Floats, faults: Floats, trust: Floats, *reading: Floats, k: int, groups: Groups
) -> dict[str, Array]:
    """Return how probable each class is."""
    block = with_voices(block, groups=groups)
    return {"probability": _temper(block, trust, *believe(block, *reading, k=k), k=k)}


def _temper(block: Block, trust: Floats, belief: Floats, classes: Floats | None, *, k: int) -> Floats:
    of_task = trust.take(block.worker[block.starts], axis=0)
    scores = block.per_task(coin_rows(block, trust[:, 0], k=k))
    if classes is not None:
        scores = np.where(of_task[:, 2:3] > 0, scores, np.log(np.maximum(classes, _LEAST)))
    return lead(temper(scores, of_task[:, 1]), belief)


def _held_out(block: Block, error_rate: Floats, *reading: Floats, k: int) -> dict[str, Floats]:
    """Add up, per worker, the likelihoods of her answers given those of the others."""
    odds = coin_rows(block, error_rate, k=k)
    found = {"coin": held_out_likelihood(block, without_own(block, block.per_task(odds), odds), error_rate, k=k)}
    if reading:
        rows, shares = reading
        own = find_voices(block).voice[:, None] * rows[block.worker, block.label]
        states = ballots_of(block, k).add_up(rows) + shares.take(block.worker[block.starts], axis=0)
        classes = classes_of(softmax(without_own(block, states, own))[0], k)
        found["reading"] = held_out_likelihood(block, np.log(np.maximum(classes, _LEAST)), error_rate, k=k)
    return found


def _gold_likelihood(block: Block, error_rate: Floats, *reading: Floats, k: int, ties: Ties) -> dict[str, Floats]:
    """Add up, for each fold of the known truths, the likelihoods of labels being right or wrong."""
    belief, classes = believe(block, *reading, k=k)
    task, hit = block.gold_task, _hits(block, belief, ties)
    scores = {"coin": block.per_task(coin_rows(block, error_rate, k=k))}
    if classes is not None:
        scores["reading"] = np.log(np.maximum(classes, _LEAST))
    found = {}
    for name, table in scores.items():
        sure = np.array([_sure(table[task], np.full(len(task), beta), belief[task]) for beta in TEMPERATURES]).T
        sums = np.zeros((block.n_workers, _FOLDS, len(TEMPERATURES)))
        chance = np.where(hit[:, None], sure, 1 - np.minimum(sure, _MOST_SURE))
        np.add.at(sums, (block.worker[block.starts[task]], _folds(block)), np.log(chance))
        found[name] = sums
    return found


def _count_bins(block: Block, trust: Floats, *reading: Floats, k: int, ties: Ties) -> dict[str, Floats]:
    """Count known truths, and add up confidences and hits, by bins of the confidence that the other folds tell."""
    belief, classes = believe(block, *reading, k=k)
    task, fold, first = block.gold_task, _folds(block), block.worker[block.starts[block.gold_task]]
    own = trust[first, :, fold]
    scores = block.per_task(coin_rows(block, trust[:, 0, 0], k=k))[task]
    if classes is not None:
        scores = np.where(own[:, 2:3] > 0, scores, np.log(np.maximum(classes[task], _LEAST)))
    sure = _sure(scores, own[:, 1], belief[task])
    sums = np.zeros((block.n_workers, BINS, 3))
    place = np.minimum((sure * BINS).astype(np.intp), BINS - 1)
    np.add.at(sums, (first, place), np.column_stack([np.ones(len(task)), sure, _hits(block, belief, ties)]))
    return {"bins": sums}


def _sure(scores: Floats, beta: Floats, belief: Floats) -> Floats:
    """Return the confidence of the class that is believed in most."""
    if not len(scores):
        return np.zeros(0)
    confidence: Floats = lead(temper(scores, beta), belief).max(axis=1)
    return confidence


def _hits(block: Block, belief: Floats, ties: Ties) -> Array:
    """Tell which of the known truths are decided for."""
    hits: Array = take_most_probable(block, belief, ties)["label"][block.gold_task] == block.gold_label
    return hits


def _folds(block: Block) -> Array:
    """Put known truths into folds by the hashes of their tasks."""
    return (block.task_hash[block.gold_task] % np.uint64(_FOLDS)).astype(np.intp)
