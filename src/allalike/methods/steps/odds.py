"""Class probabilities in models in which an answer is evidence only for its own class.

In these models, a wrong answer has the same probability for every true class. If all classes are equally frequent, the
evidence of an answer is its log odds:

    w_ij = log( P[x_ij | x_ij is true] / P[x_ij | another class is true] ),    T_jc ~ exp(sum_i w_ij [x_ij = c]).

Classes without answers to a task have score 0 for it, so only classes with answers are stored.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, LabelGroups, Ties, sum_by
from allalike.methods.steps.vote_matrix import ClassModel
from allalike.rules.base import unknown
from allalike.rules.vote import leading


class Posterior(NamedTuple):
    """Probabilities of each group of equal labels and of a class without answers, and log sum_c exp(score)."""

    share: Floats
    rest: Floats
    evidence: Floats


def add_odds(block: Block, odds: Floats) -> Floats:
    """Return the score of each group of equal labels, given the log odds of each answer."""
    return sum_by(block[LabelGroups].group, odds, len(block[LabelGroups]))


def find_posterior(block: Block, score: Floats, classes: int) -> Posterior:
    """Return T_jc ~ exp(score), given the number of classes.

    >>> from allalike._core.blocks.block import Block
    >>> from allalike._core.blocks.block import group_labels
    >>> block = Block.of([[0, 5], [0, 7], [0, 7]])
    >>> block = block.keeping(group_labels(block, np.arange(10, dtype=np.uint64)))
    >>> find_posterior(block, np.log([8.0, 1.0, 2.0]), 4).share.round(2), find_posterior(block, np.zeros(3), 4).rest
    (array([0.73, 0.2 , 0.4 ]), array([0.25, 0.25]))
    """
    groups = block[LabelGroups]
    unnamed = classes - groups.count
    best = np.maximum.reduceat(score, groups.first)
    best = np.where(unnamed > 0, np.maximum(best, 0.0), best)
    odds = np.exp(score - best[groups.task])
    rest = np.exp(-best)
    total = np.add.reduceat(odds, groups.first) + unnamed * rest
    return Posterior(odds / total[groups.task], rest / total, best + np.log(total))


def take_by_odds(block: Block, odds: Floats, classes: int, ties: Ties) -> dict[str, Array]:
    """Return the most probable class with answers; if all weights are 0, answers count equally.

    If the answers are evidence against every class with answers, return the first class without answers.
    """
    score = add_odds(block, odds)
    posterior = find_posterior(block, score, classes)
    groups, n_labels = block[LabelGroups], len(block[LabelGroups].label_hash)
    named = np.bincount(groups.group, minlength=len(score))  # groups may be empty
    nobody = block.per_task(np.abs(odds)) <= 0
    winner, tied = leading(block, np.where(named > 0, np.where(nobody[groups.task], named, score), -np.inf), ties)
    count, other = _unnamed(block.n_tasks, groups.task[named > 0], groups.label[named > 0])
    refuted = (score[winner] < 0) & (count < n_labels)
    return {
        "label": np.where(refuted, other, groups.label[winner]).astype(np.int32),
        "confidence": np.where(refuted, posterior.rest, posterior.share[winner]),
        "error": unknown(block.n_tasks),
        "tied": np.where(refuted, count < n_labels - 1, tied),
    }


@dataclass(frozen=True)
class OddsModel(ClassModel):
    """A model of the log odds of answers to some number of classes."""

    classes: int

    @abstractmethod
    def find_odds(self, block: Block, *parameters: Floats) -> Floats:
        """Return the log odds of each answer."""

    def decide(
        self, block: Block, weights: Floats, faults: Floats, *parameters: Floats, ties: Ties
    ) -> dict[str, Array]:
        """Return the most probable class of each task, as `take_by_odds` does."""
        return take_by_odds(block, self.find_odds(block, *parameters), self.classes, ties)

    def probabilities(self, block: Block, weights: Floats, faults: Floats, *parameters: Floats) -> dict[str, Array]:
        """Return posteriors, with one row per task and one column per class with answers."""
        posterior = find_posterior(block, add_odds(block, self.find_odds(block, *parameters)), self.classes)
        groups = block[LabelGroups]
        table = np.repeat(posterior.rest[:, None], len(groups.label_hash), axis=1)
        table[groups.task, groups.label] = posterior.share
        return {"probability": table}


def _unnamed(n_tasks: int, task: Array, label: Array) -> tuple[Array, Array]:
    """Return each task's number of labels, and the smallest label without answers; labels are sorted within a task.

    >>> _unnamed(2, np.array([0, 0, 1]), np.array([0, 2, 5]))
    (array([2, 1]), array([1, 0]))
    """
    count = np.bincount(task, minlength=n_tasks)
    first = np.cumsum(count) - count
    place = np.arange(len(task)) - first[task]
    return count, np.minimum.reduceat(np.where(label > place, place, count[task]), first)


# Descent: minimise a smooth convex function with lower bounds. L-BFGS runs on the variables that are not at their
# bounds (Nocedal: Updating quasi-Newton matrices with limited storage. 1980), and each step is projected on the bounds
# (Gafni and Bertsekas: Two-metric projection methods for constrained optimization. 1984). scipy's version takes ten
# times as long on few variables because it starts threads for linear algebra.


_ROUNDS, _REMEMBERED, _HALVINGS = 500, 10, 40
_FLAT = 1e-7  # gradient that counts as 0, relative to the value
_ENOUGH = 1e-4  # minimum decrease, relative to the slope (Armijo)


def descend(lose: Callable[[Floats], tuple[float, Floats]], start: Floats, least: Floats) -> Floats:
    """Minimise a loss under lower bounds.

    >>> centre = np.array([2.0, -3.0])
    >>> descend(lambda x: (float(((x - centre) ** 2).sum()), 2 * (x - centre)), np.ones(2), np.array([-np.inf, 0.0]))
    array([2., 0.])
    """
    here = np.maximum(start, least)
    loss, slope = lose(here)
    moves: deque[tuple[Floats, Floats]] = deque(maxlen=_REMEMBERED)
    for _ in range(_ROUNDS):
        free = (here > least) | (slope < 0)
        down = np.where(free, slope, 0.0)
        if np.abs(down).max(initial=0.0) <= _FLAT * max(1.0, abs(loss)):
            break
        way = -_bend(down, [(free * move, free * turn) for move, turn in moves])
        length = 1.0 if moves else min(1.0, 1 / float(np.abs(down).sum()))
        for _ in range(_HALVINGS):
            there = np.maximum(here + length * way, least)
            found, steep = lose(there)
            if found <= loss + _ENOUGH * float(down @ (there - here)):
                break
            length /= 2
        else:
            break
        moves.append((there - here, steep - slope))
        here, loss, slope = there, found, steep
    return here


def _bend(down: Floats, moves: Iterable[tuple[Floats, Floats]]) -> Floats:
    """Multiply the gradient by the approximate inverse Hessian (two-loop recursion of L-BFGS)."""
    pairs = [(move, turn, 1 / product) for move, turn in moves if (product := float(move @ turn)) > 0]
    way, shares = down.copy(), []
    for move, turn, inverse in reversed(pairs):
        shares.append(inverse * float(move @ way))
        way -= shares[-1] * turn
    if pairs:
        move, turn, inverse = pairs[-1]
        way /= inverse * float(turn @ turn)
    for (move, turn, inverse), share in zip(pairs, reversed(shares), strict=True):
        way += (share - inverse * float(turn @ way)) * move
    return way
