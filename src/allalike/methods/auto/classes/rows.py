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
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.compiled import calls
from allalike._core.compiled.library import compiled

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike._core.blocks.problems import Problems
    from allalike.answers.history import History

__all__ = ["LEVELS", "ConfusionRows", "estimate_rows", "estimate_shares"]

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
    """The probabilities of answers.

    Parameters
    ----------
    logarithm
        Of each worker: that of each probability, a row per label and a column per state, a class together with a level.
    confusion
        Of each worker: a row per label and a column per class, over all levels.
    shift
        Of each problem, class and level: by how many logits being right is more probable there.
    strength
        Of each problem: how many answers the expected rows count beside a worker's own.
    """

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
