"""Informed agreement of the workers with each other, and the weights from which EM starts.

For each answer, leave its worker out; v are the weighted votes of the others on the task. The answer **hits** if its
label is the winner of the others (shared among winners that tie), and c is the probability that an answer drawn from
the worker's own label frequencies hits. The majority of the others is as clear as

    o = max(0, (max v / sum v - 1/k) / (1 - 1/k))^2.

The informed skill of a worker is the part of the agreement beyond chance that they reach,

    skill = sum o (hit - c) / sum o (1 - c),

shrunk towards that of the crowd. A worker who always gives the same label, or whose answers do not depend on the task,
has skill 0 however often they agree (Cohen 1960). Skills are the weights of the next of three rounds: the consensus.

An F test compares the variance of agreement between workers with that within them. From F follows also how strongly
skills are shrunk: by (answers of a typical worker) / (F - 1).

A **core** contains the best workers who gave a certain share of the answers, found in three rounds of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike.methods.steps.ballots import count_votes, row_peaks, row_sums

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.answers.gold import History
    from allalike.engines import Run

CONSENSUS = "consensus"
CORES = (0.5, 0.35, 0.25, 0.18, 0.125)  # shares of the answers
EQUAL = 1e6  # strength of the shrinkage of workers who do not differ
_MIN_STRENGTH = 4.0
_ROUNDS = 3
_FREQUENCY_PRIOR = 2.0  # answers of a typical worker beside a worker's own label frequencies
_REST = 0.02  # weight of the workers outside of a core
_EPS = 1e-12


@dataclass(frozen=True)
class ClassCrowd:
    """A run whose labels are classes, and how often each worker gave each label."""

    run: Run
    counts: Floats

    @classmethod
    def of(cls, run: Run) -> ClassCrowd:
        """Count the labels of a run."""
        return cls(run, run.sum(partial(_count_labels, k=run.encoding.n_labels))["counts"])

    @property
    def k(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[1])

    @property
    def answers(self) -> Floats:
        """Number of answers of each worker."""
        return row_sums(self.counts)

    @property
    def frequencies(self) -> Floats:
        """Label frequencies of each worker, shrunk towards those of the crowd."""
        crowd = self.counts.sum(axis=0) / max(self.counts.sum(), 1.0)
        own: Floats = (self.counts + _FREQUENCY_PRIOR * crowd) / (self.answers + _FREQUENCY_PRIOR)[:, None]
        return own


@dataclass(frozen=True)
class VoteAgreement:
    """Informed skill per worker, strength of its shrinkage, F of the comparison of workers and its p-value."""

    skill: Floats
    strength: float
    ratio: float = 1.0
    p_value: float = 1.0


def _count_labels(block: Block, *, k: int) -> dict[str, Floats]:
    counts = np.bincount(block.worker * k + block.label, minlength=block.n_workers * k).astype(np.float64)
    return {"counts": counts.reshape(-1, k)}


def find_starts(crowd: ClassCrowd, only: str = "") -> tuple[VoteAgreement, dict[str, Floats]]:
    """Return the agreement with the consensus, and the weights of the consensus and of its cores, or of one of them.

    The F test is that of the first round, in which all workers count the same.
    """
    first = agreement = measure_agreement(crowd, np.ones(len(crowd.counts)))
    weight = _normalise(agreement.skill, crowd.answers)
    for _ in range(_ROUNDS - 1):
        agreement = measure_agreement(crowd, weight)
        weight = _normalise(agreement.skill, crowd.answers)
    agreement = replace(first, skill=agreement.skill, strength=agreement.strength)
    starts = {CONSENSUS: weight} if only in ("", CONSENSUS) else {}
    for share in CORES:
        if only in ("", name := f"core {share:g}"):
            starts[name] = _find_core(crowd, weight, agreement.strength, share)
    return agreement, starts


def _normalise(skill: Floats, answers: Floats) -> Floats:
    weight = np.where(answers > 0, np.maximum(skill, 0.0), 0.0)
    total = weight.sum()
    return weight * ((answers > 0).sum() / total) if total > 0 else np.ones(len(skill))


def _find_core(crowd: ClassCrowd, weight: Floats, strength: float, share: float) -> Floats:
    for _ in range(_ROUNDS):
        skill = measure_agreement(crowd, weight, strength).skill
        skill = np.where(crowd.answers > 0, skill, -np.inf)
        order = np.argsort(-skill, kind="stable")
        given = np.cumsum(crowd.answers[order]) / crowd.answers.sum()
        last = min(max(2, int(np.searchsorted(given, share)) + 1), len(order)) - 1
        before, weight = weight, np.where(skill >= skill[order[last]] - _EPS, 1.0, _REST)
        if np.array_equal(before, weight):
            break
    return weight


def measure_agreement(crowd: ClassCrowd, weight: Floats, strength: float | None = None) -> VoteAgreement:
    """Measure the informed skill of the workers, and with it the strength of the shrinkage unless that is given.

    >>> import allalike
    >>> labels = {"ada": "xyxyxyxy", "bob": "xyxyxyxy", "eve": "xyxyxyyx", "lea": "xxxxxxxx"}
    >>> rows = [(worker, task, label) for worker, own in labels.items() for task, label in enumerate(own)]
    >>> crowd = ClassCrowd.of(allalike.Memory().load(allalike.read(rows)))
    >>> measure_agreement(crowd, np.ones(4), strength=4.0).skill.round(1)
    array([0.8, 0.8, 0.5, 0.1])
    """
    run, past = crowd.run, crowd.run.history
    kernel = partial(agreement_sums, k=crowd.k, moments=strength is None)
    sums = run.sum(kernel, weight, crowd.frequencies)
    gained, possible, clear = (sums[name] for name in ("gained", "possible", "clear"))
    ratio = p_value = 1.0
    if strength is None:
        ratio, typical, p_value = _compare_workers(sums)
        differ = ratio > 1 and clear.sum() > 0
        strength = float(np.clip(typical / (ratio - 1), _MIN_STRENGTH, EQUAL)) if differ else EQUAL
        strength = min(strength, strength_of(past))
    mean = max(float(gained.sum()), 0.0) / max(float(possible.sum()), 1e-9)
    answers = max(float(crowd.answers.sum()), 1.0)
    prior = strength * possible.sum() / answers
    if past is not None:
        chance = 1 - possible.sum() / max(float(clear.sum()), _EPS)
        earlier = clear.sum() / answers * past.answers
        gained, possible = gained + earlier * (1 - past.fault - chance), possible + earlier * (1 - chance)
    skill = (gained + prior * mean) / np.maximum(possible + prior, _EPS)
    return VoteAgreement(skill, strength, ratio, p_value)


def strength_of(past: History | None) -> float:
    """Return the strength of the shrinkage that follows from the differences of workers in earlier answers."""
    mean, variance = (0.0, 0.0) if past is None else past.spread
    return max(mean * (1 - mean) / variance - 1, _MIN_STRENGTH) if variance > 0 else EQUAL


def agreement_sums(block: Block, weight: Floats, frequencies: Floats, *, k: int, moments: bool) -> dict[str, Floats]:
    """Add up, per worker, the agreement with the others beyond chance, and the moments for the F test."""
    each = np.arange(len(block.label))
    others = block.to_answers(count_votes(block, weight, k=k))
    others[each, block.label] -= weight.take(block.worker)
    total, top = row_sums(others), row_peaks(others)
    winner = (others >= top[:, None] - _EPS).astype(np.float64)
    winner /= row_sums(winner)[:, None]
    chance = np.einsum("al,al->a", winner, frequencies.take(block.worker, axis=0))
    compared = block.to_answers(block.sizes > 1)
    safe = np.where(total > _EPS, total, 1.0)
    clear = np.where(compared & (total > _EPS), np.maximum(0.0, (top / safe - 1 / k) / (1 - 1 / k)) ** 2, 0.0)
    parts = {"gained": clear * (winner[each, block.label] - chance), "possible": clear * (1 - chance), "clear": clear}
    if moments:
        share = np.where(compared & (total > _EPS), others[each, block.label] / safe, 0.0)
        pair = block.sizes == 2
        scale = np.where(pair, 0.0, np.sqrt(block.sizes / np.maximum(block.sizes - 1, 1)))
        deviation = (share - block.to_answers(block.per_task(share) / block.sizes)) * block.to_answers(scale)
        of_pair = block.to_answers(pair).astype(np.float64)
        parts |= {
            "answers": compared.astype(np.float64),
            "share": share,
            "deviation": deviation,
            "square": deviation**2,
            "pairs": of_pair,
            "pair share": of_pair * share,
            "pair square": of_pair * share**2,
        }
    return {name: block.per_worker(values) for name, values in parts.items()}


def _compare_workers(sums: dict[str, Floats]) -> tuple[float, float, float]:
    """Return F of the workers' agreement, the number of answers of a typical worker, and the p-value.

    Agreement is measured beside its mean on the task. Of two answers to a task both agree or none does, so beside the
    mean of the crowd.
    """
    answers, pairs = sums["answers"], sums["pairs"]
    total, n = answers.sum(), int((answers > 0).sum())
    if n < 3 or total <= n:
        return 1.0, 1.0, 1.0
    mean = sums["share"].sum() / total
    values = sums["deviation"] + sums["pair share"] - pairs * mean
    squares = sums["square"] + sums["pair square"] - 2 * mean * sums["pair share"] + pairs * mean**2
    own = values / np.maximum(answers, 1.0)
    between = (answers * (own - values.sum() / total) ** 2).sum() / (n - 1)
    within = (squares - answers * own**2).sum() / (total - n)
    ratio = float(between / max(within, _EPS))
    typical = float((total - (answers**2).sum() / total) / (n - 1))
    return ratio, typical, _exceed_f(n - 1, float(total - n), ratio)


def _exceed_f(between: float, within: float, ratio: float) -> float:
    """Return the probability that F with these degrees of freedom exceeds a ratio, as ``scipy.special.fdtrc``.

    A regularized incomplete beta function by its continued fraction (DLMF 8.17.22). Importing scipy takes longer than
    everything else that is done with a small table.

    >>> round(_exceed_f(2, 10.0, 4.1028), 4), round(_exceed_f(30, 200.0, 0.9), 4)
    (0.05, 0.6202)
    """
    a, b, x = within / 2, between / 2, within / (within + between * ratio)
    if x >= 1:
        return 1.0
    mirrored = x > (a + 1) / (a + b + 2)  # where the other tail converges faster
    if mirrored:
        a, b, x = b, a, 1 - x
    scale = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    fraction = front = 1.0
    back = 0.0
    for step in range(10_000):
        m = step // 2
        if step == 0:
            term = 1.0
        elif step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        front, back = 1 + term / front, 1 / (1 + term * back)
        fraction *= front * back
        if step and abs(front * back - 1) < 1e-15:
            break
    tail = scale * (fraction - 1) / a
    return 1 - tail if mirrored else tail
