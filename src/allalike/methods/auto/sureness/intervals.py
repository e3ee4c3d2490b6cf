"""Intervals: between which limits a worker's fault lies, in 95 of 100 cases.

A worker's estimated fault f^ scatters around her fault f for three reasons: her own answers are few, those of her peers
err too, and so does what the crowd is compared with. None of it is pulled to the crowd: limits that are shrunk cover
what they should only where all workers come from the population that was assumed.

**Shares** (classes, rankings). With n effective answers, her own part has the variance k f (1 - f) / n, where k is 1
for classes, whose answers are right or wrong, and smaller for rankings, each of which has many pairs. With the variance
B of an answer that comes from peers and V of the crowd, the limits are those f that f^ does not refute,

    (f - f^)^2 <= z^2 [ (k f (1 - f) + B) / n + V ],

a quadratic equation (Wilson 1927, where B = V = 0 and k = 1). So a worker without an error in five answers has not the
fault 0 for sure. Chance may bring f^ below 0 or above 1; if then no share fits, it is taken for 0 or 1.

It fails where errors are shared: copies, or an attractive wrong answer, are not seen in how far answers are apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.block import find_answer_weights, number_within_tasks, sum_by
from allalike.methods.steps.ballots import count_others

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.engines import Run

TAIL = 0.025  # how probably a limit is too high, and as probably the other too low
NORMAL_QUANTILE = 1.959963984540054
_ROUNDING = 1e-9


def find_share_limits(
    fault: Floats, answers: Floats, *, scale: Floats, extra: Floats, common: Floats
) -> tuple[Floats, Floats]:
    """Return the limits of faults that are shares.

    >>> low, high = find_share_limits(np.array([0.0, 0.2]), np.full(2, 10.0), scale=1.0, extra=0.0, common=0.0)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.057]), array([0.278, 0.51 ]))
    """
    square = NORMAL_QUANTILE**2
    own, rest = scale * square / answers, square * (extra / answers + common)
    low, high = _solve_quadratic(fault, own, rest)
    none_fits = np.isnan(low) | (high < 0) | (low > 1)
    if none_fits.any():
        inside = _solve_quadratic(np.clip(fault, 0.0, 1.0), own, rest)
        low, high = np.where(none_fits, inside, (low, high))
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def find_wilson_limits(share: Floats, answers: Floats) -> tuple[Floats, Floats]:
    """Return the limits of shares of so many answers (Wilson 1927).

    >>> low, high = find_wilson_limits(np.array([0.0, 0.2]), np.full(2, 10.0))
    >>> low.round(3), high.round(3)
    (array([0.   , 0.057]), array([0.278, 0.51 ]))
    """
    nothing = np.zeros(len(share))
    return find_share_limits(share, answers, scale=nothing + 1, extra=nothing, common=nothing)


def adjust_probabilities(probabilities: Floats) -> Floats:
    """Adjust the probabilities of several tests for their number (Holm 1979).

    >>> adjust_probabilities(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(probabilities, kind="stable")
    factors = np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(probabilities[order] * factors), 1.0)
    return adjusted


def _solve_quadratic(fault: Floats, own: Floats, rest: Floats) -> tuple[Floats, Floats]:
    """Return between which f the square of f - f^ is at most own f (1 - f) + rest; NaN if there is none."""
    middle = (fault + own / 2) / (1 + own)
    square = middle**2 - (fault**2 - rest) / (1 + own)
    width = np.sqrt(np.where(square < 0, np.nan, square))
    return middle - width, middle + width


# Reliability: how much of what a crowd decides another crowd of its kind would find again.
#
# Beyond chance, two of k labels agree by r(a) = (a - 1/k) / (1 - 1/k), if they are the same with probability a. Let two
# answers to a task agree by r_1, and an answer and the vote of all others by r_o. Then
#
#     R = r_o^2 / r_1
#
# is how much the votes of two such crowds agree (Spearman 1904, the correction for attenuation): what one answer does
# not tell is taken out of r_o. Where errors are independent, R is far above r_1; where all err together, it is not,
# because more answers bring nothing new. So R counts shared errors as truths that are found again: no crowd can see
# them.
#
# Halves of a crowd agree less than whole crowds do. With h how much two halves agree in some way to decide, and v how
# much their votes do, two whole crowds agree in it by H, with the odds
#
#     H / (1 - H) = h / (1 - h) * max(1, R / (1 - R) * (1 - v) / v).
#
# The vote of one or two others tells no more than an answer. With fewer than three others, odds are multiplied by how
# many times more answers there are, which holds for independent errors (Spearman 1910, Brown 1910).


_MIN_OTHERS = 3.0  # whose vote tells more than one answer
_PRIOR_TASKS = 2.0  # that are guessed, beside those on which it is seen how much is found again
_LEAST = 1e-9
_NEAR = 1e-6  # no agreement beyond chance is closer to 0 or 1


class Reliability(NamedTuple):
    """How reliable the votes of each problem are."""

    pairs: Floats
    votes: Floats
    others: Floats
    tasks: Floats
    k: int

    @property
    def error(self) -> Floats:
        """How often a worker errs, if all are alike and errors are independent."""
        return np.asarray((1 - 1 / self.k) * (1 - np.sqrt(self.pairs)))

    def expect_again(self) -> Floats:
        """Return on what share of the tasks another crowd would decide the same by its votes."""
        return self._as_share(self.votes)

    def expect_again_of_one(self) -> Floats:
        """Return on what share of the tasks two answers agree."""
        return self._as_share(self.pairs)

    def extend(self, half: Floats, half_votes: Floats) -> Floats:
        """Return the same for some way to decide, from the shares on which halves agree in it, and in their votes."""
        more = np.maximum(_odds(self.votes) / _odds(_beyond_chance(half_votes, self.k)), 1.0)
        more = np.where(self.others < _MIN_OTHERS, 2.0, more)
        odds = _odds(_beyond_chance(half, self.k)) * more
        return self._as_share(odds / (1 + odds))

    def as_told(self, half: Floats) -> Floats:
        """Return on what share of the tasks halves agree, as far as so many tasks tell it."""
        return self._as_share(_beyond_chance(half, self.k))

    def _as_share(self, beyond: Floats) -> Floats:
        share = beyond + (1 - beyond) / self.k
        return np.asarray((self.tasks * share + _PRIOR_TASKS / self.k) / (self.tasks + _PRIOR_TASKS))


def find_reliability(run: Run, k: int) -> Reliability:
    """Find how reliable the votes of a run with k classes are.

    >>> import allalike
    >>> rows = [(worker, task, int(task % 10 == worker)) for worker in range(5) for task in range(100)]
    >>> found = find_reliability(allalike.Memory().load(allalike.read(rows)), 2)
    >>> found.pairs.round(2), found.votes.round(2), found.error.round(3), found.expect_again().round(2)
    (array([0.6]), array([1.]), array([0.113]), array([0.99]))
    """
    problems, sums = run.problems, run.sum(count_sides)
    met, agreed, sided, others, tasks = (
        problems.add(sums[name]) for name in ("met", "agreed", "sided", "others", "tasks")
    )
    answers = np.maximum(met, 1.0)
    pairs = _beyond_chance(agreed / answers, k)
    attenuated = np.clip(_beyond_chance(sided / answers, k) ** 2 / pairs, pairs, 1 - _NEAR)
    odds = _odds(pairs) * (1 + others / answers)
    votes = np.where(others < _MIN_OTHERS * answers, odds / (1 + odds), attenuated)
    return Reliability(pairs, votes, others / answers, tasks, k)


def count_sides(block: Block) -> dict[str, Floats]:
    """Add up, for each problem, how often answers agree with one of the others to their task, and with their vote.

    >>> from allalike._core.blocks.block import Block
    >>> found = count_sides(Block.of([[0], [1], [1], [1]]))
    >>> {name: float(each.sum()) for name, each in found.items()}
    {'met': 4.0, 'agreed': 2.0, 'sided': 3.0, 'others': 12.0, 'tasks': 1.0}
    """
    slot, labels = number_within_tasks(block)
    voice = find_answer_weights(block).weight
    votes = count_others(block, voice, slot, int(labels.max()))
    met = np.where(votes.total > _LEAST, voice, 0.0)
    of_answers = {
        "met": met,
        "agreed": met * votes.own / np.maximum(votes.total, _LEAST),
        "sided": met * votes.hit,
        "others": met * votes.total,
    }
    found = {name: block.per_task(each) for name, each in of_answers.items()}
    found["tasks"] = (found["met"] > 0).astype(np.float64)
    first = block.first_worker  # a worker of the problem, in whose row its sums stand
    return {name: sum_by(first, each, block.n_workers) for name, each in found.items()}


def _beyond_chance(share: Floats, k: int) -> Floats:
    return np.asarray(np.clip((share - 1 / k) / (1 - 1 / k), _NEAR, 1 - _NEAR))


def _odds(share: Floats) -> Floats:
    return np.asarray(share / (1 - share))
