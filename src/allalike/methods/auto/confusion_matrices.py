"""Confusion matrices with levels of difficulty, estimated by EM.

Dawid and Skene (1979) give each worker a confusion matrix and each task a class. This model also gives each task a
**level** of difficulty, and shrinks the matrices towards each other. The state of a task is s = (class c, level g):

    E step:  P_ts ~ pi_s prod_i C_(w_i)[l_i, s],        M step:  N_w[l, c, g] = sum of P_t(c,g) over answers l by w.

The matrices C follow from the expected counts N in four steps, each a prior for the next:

- the crowd's confusion matrix X[l, c] comes from all answers, plus 10 k prior answers per class with the mean accuracy;
- each worker's accuracy a_w is shrunk towards the crowd's by s0 prior answers. Its logit minus the crowd's logit is
  added to the diagonal of X, which gives the worker's prior matrix M_w;
- the worker's answers are added to st M_w, where st maximises the Dirichlet-multinomial likelihood of all answers;
- a level shifts the diagonals of all workers by the same number of logits, shift[c, g].

EM starts from shares of weighted votes, which are split into G levels by disagreement: r_t in [0, 1] is the rank of one
minus the sum of squared vote shares, and the share of level g is proportional to exp(-(G r_t - g - 1/2)^2).

**Starts.** For each answer, v are the weighted votes of the other workers on the task. The answer is a hit if its label
wins among them (a share of a hit if labels tie). c is the probability that a label drawn from the worker's own label
frequencies is a hit. The clarity of the other workers' majority is

    o = max(0, (max v / sum v - 1/k) / (1 - 1/k))^2.

The informed skill of a worker is the achieved share of the possible agreement beyond chance,

    skill = sum o (hit - c) / sum o (1 - c),

shrunk towards the crowd's. A worker who always gives the same label, or whose answers do not depend on the task, has
skill 0, however often they agree (Cohen 1960). In three rounds, skills become the next weights: the consensus.

An F test compares the variance of agreement between workers with the variance within workers. F also determines the
strength of the shrinkage of skills: (answers of a typical worker) / (F - 1).

A **core** contains the best workers who together gave a certain share of the answers. It is found in three rounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, adds_in_place
from allalike._core.columns.values import Values
from allalike.answers.gold import History
from allalike.engines import Run
from allalike.engines.memory import MemoryRun
from allalike.methods.steps.vote_matrix import (
    add_up,
    cells_of,
    count_ballots,
    count_labels,
    count_votes,
    keep_cells,
    row_sums,
    softmax,
    sum_tasks,
    vote_shares,
)

CONSENSUS = "consensus"
CORES = (0.5, 0.35, 0.25, 0.18, 0.125)  # shares of the answers
EQUAL = 1e6  # strength of the shrinkage if workers do not differ
_MIN_STRENGTH = 4.0
_FREQUENCY_PRIOR = 2.0  # prior answers with the crowd's label frequencies
_REST = 0.02  # weight of workers outside a core
_EPS = 1e-12
LEVELS = 3
_ROUNDS = 3
_MARGIN = 3.0  # nats by which the solution of a core must be more likely than the consensus
_LOW = 1e-3  # minimum distance of an accuracy from 0 and 1
_LEAST = 1e-6  # minimum probability of a label
_CROWD_PRIOR = 10.0  # prior answers, times k, in each column of the crowd's confusion matrix
_LEVEL_PRIOR = 50.0  # prior answers for the accuracy of a class and level
_MATRIX_PRIOR = 50.0  # prior answers of a worker per class and level
_SHARE_PRIOR = 20.0  # prior tasks for the shares of classes and levels
_NOTHING = 1e-12  # answers
_STRENGTH_WORKERS = 500  # more workers hardly change the strength
_STRENGTHS = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256, 1024.0])
_USUAL_STRENGTH = len(_STRENGTHS) // 2
_NONE: Floats = np.empty(0)
_EMPTY: Mapping[str, Any] = MappingProxyType({})  # sums before the first block
_MIN_DIFFERENT = 0.2  # share of tasks that an alternative solution decides differently
_MIN_LIKE_VOTES = 0.5  # share of tasks that it decides like the majority vote
_STANDARD_ERRORS = 2.0
_LEADERS = 3


@dataclass(frozen=True)
class ClassCrowd:
    """A run whose labels are classes, and the label counts of each worker."""

    run: Run
    counts: Floats

    @classmethod
    def of(cls, run: Run) -> ClassCrowd:
        """Count the labels of a run."""
        return cls(run, run.sum(partial(count_labels, k=run.encoding.n_labels))["counts"])

    @property
    def k(self) -> int:
        """Number of classes."""
        return int(self.counts.shape[1])

    @cached_property
    def answers(self) -> Floats:
        """Number of answers of each worker."""
        return row_sums(self.counts)

    @cached_property
    def frequencies(self) -> Floats:
        """Label frequencies of each worker, shrunk towards the crowd's."""
        crowd = self.counts.sum(axis=0) / max(self.counts.sum(), 1.0)
        own: Floats = (self.counts + _FREQUENCY_PRIOR * crowd) / (self.answers + _FREQUENCY_PRIOR)[:, None]
        return own


@dataclass(frozen=True)
class VoteAgreement:
    """Informed skill per worker, the strength of its shrinkage, and F and p-value of the test that workers differ."""

    skill: Floats
    strength: float
    ratio: float = 1.0
    p_value: float = 1.0


def find_starts(crowd: ClassCrowd, only: str = "") -> tuple[VoteAgreement, dict[str, Floats]]:
    """Return the agreement with the consensus, and the weights of each start, or of one start (``only``).

    The F test comes from the first round, in which all workers have equal weights.
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
    """Measure the informed skill of the workers and, unless given, the strength of its shrinkage."""
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
    """Return the strength of the shrinkage that follows from worker differences in earlier answers."""
    mean, variance = (0.0, 0.0) if past is None else past.spread
    return max(mean * (1 - mean) / variance - 1, _MIN_STRENGTH) if variance > 0 else EQUAL


def agreement_sums(block: Block, weight: Floats, frequencies: Floats, *, k: int, moments: bool) -> dict[str, Floats]:
    """Sum, per worker, the agreement beyond chance and the moments for the F test."""
    answer = block.label, np.arange(len(block.label))
    others = count_votes(block, weight, k=k).T.take(block.task, axis=1)  # a row per label: columns are slow to compare
    others[answer] -= weight.take(block.worker)
    total, top = others.sum(axis=0), others.max(axis=0)
    winner = others >= top - _EPS
    winners = winner.sum(axis=0)
    chance = np.where(winner, frequencies.T.take(block.worker, axis=1), 0.0).sum(axis=0) / winners
    compared = block.to_answers(block.sizes > 1)
    safe = np.where(total > _EPS, total, 1.0)
    clear = np.where(compared & (total > _EPS), np.maximum(0.0, (top / safe - 1 / k) / (1 - 1 / k)) ** 2, 0.0)
    parts = {"gained": clear * (winner[answer] / winners - chance), "possible": clear * (1 - chance), "clear": clear}
    if moments:
        share = np.where(compared & (total > _EPS), others[answer] / safe, 0.0)
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

    Agreement is measured relative to the task's mean. The only two answers to a task always have equal agreement, so
    theirs is measured relative to the crowd's mean.
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


def _exceed_f(between: int, within: float, ratio: float) -> float:
    """Return the p-value of an F ratio with these degrees of freedom: exact near .01, else by Paulson (1942).

    Decisions at .01 are the same as with the exact value. scipy is slow to import, and most crowds are far from .01.
    """
    a, b, root = 2 / (9 * between), 2 / (9 * within), ratio ** (1 / 3)
    p_value = 0.5 * math.erfc(((1 - b) * root - (1 - a)) / math.sqrt(2 * (b * root**2 + a)))
    if within >= 10 and not 0.005 < p_value < 0.02:
        return p_value
    from scipy.special import fdtrc

    return float(fdtrc(between, within, ratio))


# Solutions ------------------------------------------------------------------------------------------------------------


class Solution(NamedTuple):
    """Log probabilities of answers, log shares of states, confusion matrices, expected hits, and log likelihood.

    ``place`` is the index of st in ``_STRENGTHS``.
    """

    start: str
    rows: Floats = _NONE
    shares: Floats = _NONE
    confusion: Floats = _NONE
    hits: Floats = _NONE
    likelihood: float = -np.inf
    place: int = _USUAL_STRENGTH


@dataclass(frozen=True)
class TaskLevels:
    """Share of each level per task before the first round."""

    share: Floats


def prepare(sample: MemoryRun) -> ClassCrowd:
    """Precompute the cells and task levels that every round needs from the blocks of a sample."""
    k = sample.encoding.n_labels
    disagreement = sample.collect(partial(_measure_disagreement, k=k))["disagreement"]
    _, place, count = np.unique(disagreement.round(12), return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count + 1) / 2)[place] / max(1, len(place) - 1)
    levels = np.exp(-((LEVELS * rank[:, None] - np.arange(LEVELS) - 0.5) ** 2))
    levels /= row_sums(levels)[:, None]
    rest = iter(np.split(levels, np.cumsum([block.n_tasks for block in sample.blocks])[:-1]))
    return ClassCrowd.of(sample.map(lambda block: block.keeping(cells_of(block, k), TaskLevels(next(rest)))))


def _measure_disagreement(block: Block, *, k: int) -> dict[str, Array]:
    return {"disagreement": 1 - row_sums(vote_shares(block, np.ones(block.n_workers), k=k) ** 2)}


def solve(
    crowd: ClassCrowd, agreement: VoteAgreement, starts: Mapping[str, Floats], place: int = _USUAL_STRENGTH
) -> list[Solution]:
    """Return the solutions from all starts, the best first; ``place`` is where the search for st begins."""
    solutions = []
    for name, weight in starts.items():
        solution, sums = Solution(name, place=place), crowd.run.sum(partial(begin, k=crowd.k), weight)
        for number in range(_ROUNDS):
            sums = sums if number == 0 else _count_states(crowd, solution)
            solution = _maximise(crowd, agreement.strength, sums, solution)
        if len(starts) > 1:
            sums = _count_states(crowd, solution)
            hits = np.einsum("wccg->w", sums["counts"].reshape(-1, crowd.k, crowd.k, LEVELS))
            solution = solution._replace(hits=hits, likelihood=float(sums["likelihood"].sum()))
        solutions.append(solution)
    return sorted(solutions, key=lambda each: _MARGIN * (each.start != CONSENSUS) - each.likelihood)


def refine(crowd: ClassCrowd, strength: float, solution: Solution) -> Solution:
    """Continue EM on all answers, from the solution on a sample."""
    for _ in range(_ROUNDS):
        solution = _maximise(crowd, strength, _count_states(crowd, solution), solution)
    return solution


def _count_states(crowd: ClassCrowd, solution: Solution) -> dict[str, Floats]:
    return crowd.run.sum(partial(count_states, k=crowd.k), solution.rows, solution.shares)


def _maximise(crowd: ClassCrowd, strength: float, sums: dict[str, Floats], before: Solution) -> Solution:
    n, k = crowd.counts.shape
    counts = sums["counts"].reshape(n, k, k, LEVELS)
    rows, confusion, place = estimate_rows(counts, crowd.answers, strength, crowd.run.history, before.place)
    shares = np.broadcast_to(_estimate_shares(sums["shares"].sum(axis=0).reshape(k, LEVELS)), (n, k * LEVELS))
    return before._replace(rows=rows, shares=shares, confusion=confusion, place=place)


# M step ---------------------------------------------------------------------------------------------------------------


def estimate_rows(
    counts: Floats, answers: Floats, strength: float, past: History | None, place: int
) -> tuple[Floats, Floats, int]:
    """Return log probabilities of answers (worker, label, state), confusion matrices, and the index of st.

    ``counts`` are expected answers per worker, label, class and level; ``place`` is the index of st in the last round.
    """
    n, k = counts.shape[:2]
    given = np.einsum("wlcg->wlc", counts)
    right = np.einsum("wcc->w", given)
    mean = float(np.clip((right.sum() + 1) / (answers.sum() + k), _LOW, 1 - _LOW))
    if past is not None:
        right, answers = right + past.answers * (1 - past.fault), answers + past.answers
    accuracy = (right + strength * mean) / (answers + strength)
    expected = _expect_matrices(given.sum(axis=0), accuracy, mean)
    place = _find_strength(given, expected, place)
    own = given + _STRENGTHS[place] * expected
    own /= own.sum(axis=1, keepdims=True)
    shift = _estimate_shifts(counts.sum(axis=0), mean)
    return _complete_rows(counts, own, shift).reshape(n, k, -1), own, place


def _expect_matrices(crowd: Floats, accuracy: Floats, mean: float) -> Floats:
    """Return each worker's prior matrix: the crowd's, with its diagonal shifted by the worker's accuracy in logits."""
    k = len(crowd)
    each = np.arange(k)
    crowd = crowd + _CROWD_PRIOR * k * np.where(np.eye(k) > 0, mean, (1 - mean) / (k - 1))
    crowd /= crowd.sum(axis=0)
    better = _logit(accuracy) - _logit(mean)
    diagonal = np.clip(_sigmoid(_logit(crowd[each, each]) + better[:, None]), _LOW, 1 - _LOW)
    crowd[each, each] = 0
    matrices: Floats = (crowd / crowd.sum(axis=0)) * (1 - diagonal)[:, None]
    matrices[:, each, each] = diagonal
    return matrices


def _find_strength(given: Floats, expected: Floats, place: int) -> int:
    """Return the index of the most likely strength, found by hill climbing because the likelihood has one peak."""
    step = max(1, len(given) // _STRENGTH_WORKERS)
    given, expected = given[::step], expected[::step]
    while True:
        places = np.array([place, *range(max(place - 1, 0), min(place + 2, len(_STRENGTHS)))])
        best = int(places[np.argmax(_weigh_strengths(given, expected, _STRENGTHS[places]))])
        if best == place:
            return place
        place = best


def _weigh_strengths(said: Floats, expected: Floats, strengths: Floats) -> Floats:
    """Return the Dirichlet-multinomial log likelihood of all answers for each prior strength."""
    asked, strengths = said.sum(axis=1), strengths[:, None]
    inside = said > _NOTHING
    prior, asked = strengths * expected[inside], asked[asked > _NOTHING]
    terms = _log_gamma(np.concatenate([prior + said[inside], prior, strengths + asked, strengths], axis=1))
    n = prior.shape[1]
    likelihood: Floats = (terms[:, :n] - terms[:, n : 2 * n]).sum(axis=1)
    likelihood -= (terms[:, 2 * n : -1] - terms[:, -1:]).sum(axis=1)
    return likelihood


def _log_gamma(x: Floats) -> Floats:
    """Return the logarithm of the gamma function by Stirling's series at x + 8 (scipy is slow to import)."""
    outer = x * (x + 7)  # x (x + 1) ... (x + 7), from the outside to the inside
    steps = np.log(outer * (outer + 6) * (outer + 10) * (outer + 12))
    above = x + 8
    square = 1 / (above * above)
    series = (1 / 12 + square * (-1 / 360 + square * (1 / 1260 + square * (-1 / 1680 + square / 1188)))) / above
    return np.asarray((above - 0.5) * np.log(above) - above + 0.5 * np.log(2 * np.pi) + series - steps)


def _estimate_shifts(answered: Floats, mean: float) -> Floats:
    """Return, per class and level, the logit of the accuracy minus that of the class over all levels."""
    k = len(answered)
    each = np.arange(k)
    right, asked = answered[each, each], answered.sum(axis=0)
    by_level = (right.sum(axis=0) + mean * k) / (asked.sum(axis=0) + k)
    by_class = _logit((right.sum(axis=1) + mean * k) / (asked.sum(axis=1) + k))[:, None]
    predicted = _sigmoid(by_class + _logit(by_level) - _logit(mean))
    return np.asarray(_logit((right + _LEVEL_PRIOR * predicted) / (asked + _LEVEL_PRIOR)) - by_class)


def _complete_rows(by_level: Floats, own: Floats, shift: Floats) -> Floats:
    """Return log probabilities per level, with the worker's shifted matrix as the prior."""
    each = np.arange(own.shape[1])
    diagonal = _sigmoid(_logit(own[:, each, each])[:, :, None] + shift)
    wrong = own.copy()
    wrong[:, each, each] = 0
    wrong /= np.maximum(wrong.sum(axis=1, keepdims=True), _NOTHING)
    rows: Floats = wrong[:, :, :, None] * (1 - diagonal)[:, None]
    rows[:, each, each] = diagonal
    rows *= _MATRIX_PRIOR
    rows += by_level
    rows /= rows.sum(axis=1, keepdims=True)
    np.maximum(rows, _LEAST, out=rows)
    return np.log(rows, out=rows)


def _estimate_shares(asked: Floats) -> Floats:
    """Return the log share of each state, from the expected numbers of tasks per class and level."""
    tasks = asked.sum()
    by_class = (asked.sum(axis=1) + 1) / (tasks + len(asked))
    by_level = (asked.sum(axis=0) + 1) / (tasks + LEVELS)
    share = asked + _SHARE_PRIOR * np.outer(by_class, by_level) + 1e-3
    logarithm: Floats = np.log(share / share.sum()).ravel()
    return logarithm


def _logit(share: Any) -> Any:
    share = np.minimum(np.maximum(share, _LOW), 1 - _LOW)
    return np.log(share / (1 - share))


def _sigmoid(logit: Any) -> Any:
    return 1 / (1 + np.exp(-logit))


# E step ---------------------------------------------------------------------------------------------------------------


@adds_in_place
def begin(block: Block, weight: Floats, *, k: int, into: Mapping[str, Floats] = _EMPTY) -> dict[str, Floats]:
    """Count answers in proportion to shares of weighted votes, split into the precomputed levels."""
    shares = vote_shares(block, weight, k=k)
    states = (shares[:, :, None] * block[TaskLevels].share[:, None]).reshape(block.n_tasks, -1)
    return count_ballots(block, states, k=k, into=into)


def posterior(block: Block, rows: Floats, shares: Floats, *, k: int) -> tuple[Floats, Floats]:
    """Return the probability of each state per task, and the log likelihood of the task's answers."""
    score = add_up(cells_of(block, k), rows)
    score += shares[:1]
    return softmax(score)


@adds_in_place
def count_states(
    block: Block, rows: Floats, shares: Floats, *, k: int, into: Mapping[str, Floats] = _EMPTY
) -> dict[str, Floats]:
    """Count answers by the posterior, and sum log likelihoods."""
    block = keep_cells(block, k=k)
    states, likelihood = posterior(block, rows, shares, k=k)
    return {**count_ballots(block, states, k=k, into=into), "likelihood": sum_tasks(block, likelihood)}


def class_posterior(block: Block, rows: Floats, shares: Floats, *, k: int) -> Floats:
    """Return the probability of each class per task."""
    states, _ = posterior(block, rows, shares, k=k)
    classes: Floats = np.einsum("tcg->tc", states.reshape(len(states), k, -1))
    return classes


# Alternative solutions ------------------------------------------------------------------------------------------------


def describe_alternative(crowd: ClassCrowd, solutions: list[Solution], workers: Values) -> dict[str, Any] | None:
    """Describe the best alternative solution that fits equally well and decides many tasks differently, if any.

    Two solutions fit equally well if the sum of differences in task log likelihood is within two standard errors of 0
    (Vuong 1989). Agreement then cannot show which solution is right.
    """
    plain = crowd.run.collect(partial(_majority, k=crowd.k))["label"]
    found = [crowd.run.collect(partial(_decide, k=crowd.k), each.rows, each.shares) for each in solutions]
    chosen, rivals = found[0], []
    for solution, other in zip(solutions[1:], found[1:], strict=True):
        lead = chosen["likelihood"] - other["likelihood"]
        differs = other["label"] != chosen["label"]
        close = lead.sum() <= _STANDARD_ERRORS * np.sqrt(len(lead)) * lead.std()
        if close and differs.mean() > _MIN_DIFFERENT and (other["label"] == plain).mean() >= _MIN_LIKE_VOTES:
            rivals.append((float(lead.sum()), differs, solution))
    if not rivals:
        return None
    nats, differs, solution = min(rivals, key=lambda rival: rival[0])
    return {
        "start": solution.start,
        "tasks": int(differs.sum()),
        "share": float(differs.mean()),
        "nats": nats,
        "leaders": _find_leaders(solutions[0], crowd.answers, workers),
        "its_leaders": _find_leaders(solution, crowd.answers, workers),
    }


def _find_leaders(solution: Solution, answers: Floats, workers: Values) -> list[Any]:
    """Return the most accurate workers among those with at least the median number of answers."""
    answered = answers > 0
    often = answered & (answers >= np.median(answers[answered]))
    share = np.where(often, solution.hits / np.maximum(answers, 1.0), 0.0)
    return [workers[int(place)] for place in np.argsort(-share, kind="stable")[:_LEADERS]]


def _majority(block: Block, *, k: int) -> dict[str, Array]:
    return {"label": vote_shares(block, np.ones(block.n_workers), k=k).argmax(axis=1)}


def _decide(block: Block, rows: Floats, shares: Floats, *, k: int) -> dict[str, Array]:
    states, likelihood = posterior(block, rows, shares, k=k)
    label = np.einsum("tcg->tc", states.reshape(len(states), k, -1)).argmax(axis=1)
    return {"label": label, "likelihood": likelihood}
