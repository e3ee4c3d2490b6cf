"""Rows: how probably each worker gives each label to a task of each class and level.

The **M step** of LEVELS. N_w[l,c,g] says how often worker w probably answered l to tasks of class c and level g. What a
worker's own answers do not tell is borrowed, step by step, from those like her:

- the crowd's confusion X[l,c] of all answers, with 10 k answers of one coin beside them;
- her accuracy a_w, pulled to the crowd's by s0 answers, moves the diagonal of X by as many logits as she is better:
  these are the rows M_w that are expected of her;
- her own answers count beside st of M_w, where st makes the answers of all workers most likely (Dirichlet-multinomial);
- a level moves the diagonal of everybody's rows by the same number of logits, shift[c,g].
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import adds_in_place
from allalike._core.compiled import calls
from allalike._core.compiled.calls import cells_of, keep_cells
from allalike._core.compiled.library import compiled
from allalike.methods.steps.ballots import add_up, by_problem, count_ballots, row_sums, softmax, vote_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.blocks.problems import Problems
    from allalike.answers.gold import History

LEVELS = 3
_LOW = 1e-3  # no probability of being right is closer to 0 or 1
_LEAST = 1e-6  # of a label's probability
_CROWD_PRIOR = 10.0  # answers, times k, beside each row of the crowd's confusion
_LEVEL_PRIOR = 50.0  # answers beside the accuracy of a class and level
_ROW_PRIOR = 50.0  # answers beside a worker's own to tasks of a class and level
_SHARE_PRIOR = 20.0  # tasks beside the shares of classes and levels
_NOTHING = 1e-12  # answers
_STRENGTHS = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256, 1024.0])


@dataclass(frozen=True)
class ConfusionRows:
    """The probabilities of answers."""

    logarithm: Floats
    confusion: Floats
    shift: Floats
    strength: Floats


def estimate_rows(
    counts: Floats,
    answers: Floats,
    strength: Floats,
    problems: Problems,
    past: History | None = None,
    near: Floats | None = None,
) -> ConfusionRows:
    """Return the most probable rows, from expected answers, the strength of the prior of accuracies, and the past.

    ``near`` has the strengths of expected rows that were found before, beside which they are looked for.
    """
    n, k, _ = counts.shape
    by_level = counts.reshape(n, k, k, LEVELS)
    said = np.einsum("wlcg->wlc", by_level)
    right = np.einsum("wcc->w", said)
    mean = np.clip((problems.add(right) + 1) / (problems.add(answers) + k), _LOW, 1 - _LOW)
    if past is not None:
        right, answers = right + past.answers * (1 - past.fault), answers + past.answers
    expected = _expected_rows(said, right, answers, strength, mean, problems)
    # her own answers beside st of those expected of her
    beside = _likeliest_strength(said, expected, problems, near)
    own = said + problems.spread(beside)[:, None, None] * expected
    own /= own.sum(axis=1, keepdims=True)
    # a level moves the diagonal by shift[c, g]
    shift = _shifts(problems.add(by_level), mean)
    return ConfusionRows(_complete_rows(by_level, own, problems.spread(shift)).reshape(n, k, -1), own, shift, beside)


@compiled(calls.complete_rows)
def _complete_rows(by_level: Floats, own: Floats, shift: Floats) -> Floats:
    """Return the logarithms of rows, of what a worker does at each level beside what she does at all of them."""
    each = np.arange(own.shape[1])
    diagonal = _sigmoid(_logit(own[:, each, each])[:, :, None] + shift)
    wrong = own.copy()
    wrong[:, each, each] = 0
    wrong /= np.maximum(wrong.sum(axis=1, keepdims=True), 1e-12)
    rows: Floats = wrong[:, :, :, None] * (1 - diagonal)[:, None]
    rows[:, each, each] = diagonal
    rows *= _ROW_PRIOR
    rows += by_level
    rows /= rows.sum(axis=1, keepdims=True)
    np.maximum(rows, _LEAST, out=rows)
    return np.log(rows, out=rows)


def estimate_shares(asked: Floats, k: int) -> Floats:
    """Return how frequent each state is, from how often it was probably asked, with a row per problem."""
    table = asked.reshape(-1, k, LEVELS)
    tasks = table.sum(axis=(1, 2))[:, None]
    by_class = (table.sum(axis=2) + 1) / (tasks + k)
    by_level = (table.sum(axis=1) + 1) / (tasks + LEVELS)
    share: Floats = table + _SHARE_PRIOR * by_class[:, :, None] * by_level[:, None] + 1e-3
    share /= share.sum(axis=(1, 2), keepdims=True)
    return share.reshape(len(asked), -1)


def _expected_rows(
    said: Floats, right: Floats, answers: Floats, strength: Floats, mean: Floats, problems: Problems
) -> Floats:
    """Return M_w: the crowd's confusion, with the diagonal moved by as many logits as a worker is better."""
    k = said.shape[1]
    each = np.arange(k)
    coin = np.broadcast_to(((1 - mean) / (k - 1))[:, None, None], (len(mean), k, k)).copy()
    coin[:, each, each] = mean[:, None]
    crowd = problems.add(said) + _CROWD_PRIOR * k * coin
    crowd /= crowd.sum(axis=1, keepdims=True)
    prior = problems.spread(strength)
    accuracy = (right + prior * problems.spread(mean)) / (answers + prior)
    better = _logit(accuracy) - problems.spread(_logit(mean))
    diagonal = np.clip(_sigmoid(problems.spread(_logit(crowd[:, each, each])) + better[:, None]), _LOW, 1 - _LOW)
    crowd[:, each, each] = 0
    crowd /= crowd.sum(axis=1, keepdims=True)
    rows = problems.spread(crowd) * (1 - diagonal)[:, None]
    rows[:, each, each] = diagonal
    return rows


def _likeliest_strength(said: Floats, expected: Floats, problems: Problems, near: Floats | None) -> Floats:
    """Return, per problem, the strength with the largest likelihood of the expected answers.

    The likelihood has one peak, which is climbed from the strengths that were found before, or from the middle.
    """

    def likelihood(strength: float) -> Floats:
        return problems.add(_weigh_strength(said, expected, strength))

    begin = _STRENGTHS[len(_STRENGTHS) // 2] if near is None else np.unique(near)
    known = {int(place): likelihood(_STRENGTHS[place]) for place in np.atleast_1d(np.searchsorted(_STRENGTHS, begin))}
    while True:
        places = sorted(known)
        table = np.array([known[place] for place in places])
        best = np.array(places)[table.argmax(axis=0)]
        beside = {int(place) + step for place in np.unique(best) for step in (-1, 1)} - known.keys()
        wanted = [place for place in beside if 0 <= place < len(_STRENGTHS)]
        if not wanted:
            likeliest: Floats = _STRENGTHS[best]
            return likeliest
        known |= {place: likelihood(_STRENGTHS[place]) for place in wanted}


@compiled(calls.weigh_strength)
def _weigh_strength(said: Floats, expected: Floats, strength: float) -> Floats:
    """Return the log likelihood of each worker's answers beside so many of those that are expected of her.

    >>> _weigh_strength(np.array([[[1.0, 0.0], [0.0, 0.0]]]), np.full((1, 2, 2), 0.5), 2.0).round(9)
    array([-0.69314718])
    """
    from scipy.special import gammaln

    asked = said.sum(axis=1)
    inside = np.where(said > _NOTHING, gammaln(strength * expected + said) - gammaln(strength * expected), 0.0)
    outside = np.where(asked > _NOTHING, gammaln(strength) - gammaln(strength + asked), 0.0)
    likelihood: Floats = inside.sum(axis=(1, 2)) + outside.sum(axis=1)
    return likelihood


def _shifts(answered: Floats, mean: Floats) -> Floats:
    """Return, per problem, class and level, by how many logits being right is more probable than for the class."""
    k = answered.shape[1]
    each = np.arange(k)
    right, asked = answered[:, each, each], answered.sum(axis=1)
    prior = mean[:, None] * k
    by_level = (right.sum(axis=1) + prior) / (asked.sum(axis=1) + k)
    by_class = _logit((right.sum(axis=2) + prior) / (asked.sum(axis=2) + k))[:, :, None]
    predicted = _sigmoid(by_class + (_logit(by_level) - _logit(mean)[:, None])[:, None])
    return _logit((right + _LEVEL_PRIOR * predicted) / (asked + _LEVEL_PRIOR)) - by_class


def _logit(share: Floats) -> Floats:
    share = np.clip(share, _LOW, 1 - _LOW)
    return np.log(share / (1 - share))


def _sigmoid(logit: Floats) -> Floats:
    return 1 / (1 + np.exp(-logit))


# States: how probable each class and level of a task is; the E step of LEVELS, and what its rounds begin with.
#
#     P_ts ~ pi_s prod_i C_(w_i)[l_i, s],    s = (class c, level g),
#
# for the rows C of the workers and the shares pi of the states. Rounds begin with probabilities of the classes alone,
# which are split into levels by how much the answers to a task disagree: r_t is the rank of 1 - sum of squared shares
# of the votes, from 0 to 1, and level g has the share exp(-(G r_t - g - 1/2)^2) before these are made to sum to 1.


_STATES_LEAST = 1e-12
_STATES_NOTHING: Mapping[str, Floats] = MappingProxyType({})  # the sums before the first block


@dataclass(frozen=True)
class TaskLevels:
    """Of each task: how probable each level is before anything else is known."""

    share: Floats


def disagreement(block: Block, *, k: int) -> dict[str, Array]:
    """Return, per task, how probably two of its answers differ; and a worker of its problem."""
    shares = vote_shares(block, np.ones(block.n_workers), k=k)
    first = block.first_worker
    worker = first if isinstance(block.workers, slice) else block.workers[first]
    return {"disagreement": 1 - np.square(shares).sum(axis=1), "worker": worker}


def find_ranks(disagreement: Floats, problem: Array) -> Floats:
    """Return the rank of each task within its problem, from 0 to 1; equal ones share their mean rank.

    >>> find_ranks(np.array([0.0, 0.5, 0.5]), np.zeros(3, int))
    array([0.  , 0.75, 0.75])
    """
    rounded = disagreement.round(12)
    order = np.lexsort((rounded, problem))
    new = np.concatenate([[True], (np.diff(rounded[order]) > 0) | (np.diff(problem[order]) > 0)])
    group = np.cumsum(new) - 1
    size = np.bincount(group)
    middle = np.cumsum(size) - size + (size - 1) / 2
    tasks = np.bincount(problem)
    first = np.cumsum(tasks) - tasks
    rank = np.empty(len(order))
    rank[order] = middle[group]
    ranks: Floats = (rank - first[problem]) / np.maximum(tasks[problem] - 1, 1)
    return ranks


def find_levels(rank: Floats) -> Floats:
    """Return how probable each level of a task is, from its rank.

    >>> find_levels(np.array([0.0, 0.75])).round(2)
    array([[0.88, 0.12, 0.  ],
           [0.03, 0.37, 0.6 ]])
    """
    share = np.exp(-((LEVELS * rank[:, None] - np.arange(LEVELS) - 0.5) ** 2))
    split: Floats = share / row_sums(share)[:, None]
    return split


@adds_in_place
def begin(
    block: Block,
    *params: Floats,
    classes: Callable[..., Floats],
    k: int,
    ranks: tuple[Floats, Floats] | None = None,
    into: Mapping[str, Floats] = _STATES_NOTHING,
) -> dict[str, Floats]:
    """Count with probabilities of the classes, split into levels: those that the block keeps, or by their ranks."""
    block = keep_cells(block, k=k)
    if ranks is None:
        levels = block[TaskLevels].share
    else:
        levels = find_levels(np.interp(disagreement(block, k=k)["disagreement"], *ranks))
    states = (classes(block, *params, k=k)[:, :, None] * levels[:, None]).reshape(block.n_tasks, -1)
    return count_ballots(block, states, k=k, into=into)


@compiled(calls.posterior)
def posterior(block: Block, rows: Floats, shares: Floats, *, k: int) -> tuple[Floats, Floats]:
    """Return how probable each state of each task is, and the log likelihood of its answers; both are logarithms."""
    return softmax(add_up(cells_of(block, k), rows) + shares.take(block.first_worker, axis=0))


@adds_in_place
def count_states(
    block: Block,
    rows: Floats,
    shares: Floats,
    *,
    k: int,
    into: Mapping[str, Floats] = _STATES_NOTHING,
) -> dict[str, Floats]:
    """Count with the posterior, and add up the log likelihoods of answers."""
    block = keep_cells(block, k=k)
    states, likelihood = posterior(block, rows, shares, k=k)
    return {
        **count_ballots(block, states, k=k, into=into),
        "likelihood": by_problem(block, likelihood),
    }


def classes_of(states: Floats, k: int) -> Floats:
    """Add up the levels of each class."""
    classes: Floats = np.einsum("tcg->tc", states.reshape(len(states), k, -1))
    return classes


def class_posterior(block: Block, rows: Floats, shares: Floats, *, k: int) -> Floats:
    """Return how probable each class is."""
    return classes_of(posterior(block, rows, shares, k=k)[0], k)
