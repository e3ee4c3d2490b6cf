"""Reliability: how much of what a crowd decides another crowd of its kind would find again.

Beyond chance, two of k labels agree by r(a) = (a - 1/k) / (1 - 1/k), if they are the same with probability a. Let two
answers to a task agree by r_1, and an answer and the vote of all others by r_o. Then

    R = r_o^2 / r_1

is how much the votes of two such crowds agree (Spearman 1904, the correction for attenuation): what one answer does not
tell is taken out of r_o. Where errors are independent, R is far above r_1; where all err together, it is not, because
more answers bring nothing new. So R counts shared errors as truths that are found again: no crowd can see them.

Halves of a crowd agree less than whole crowds do. With h how much two halves agree in some way to decide, and v how
much their votes do, two whole crowds agree in it by H, with the odds

    H / (1 - H) = h / (1 - h) * max(1, R / (1 - R) * (1 - v) / v).

The vote of one or two others tells no more than an answer. With fewer than three others, odds are multiplied by how
many times more answers there are, which holds for independent errors (Spearman 1910, Brown 1910).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.blocks.groups import number_within_tasks
from allalike._core.blocks.voices import find_voices
from allalike.methods.steps.ballots import count_others

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.engines import Run

__all__ = ["Reliability", "count_sides", "find_reliability"]

_MIN_OTHERS = 3.0  # whose vote tells more than one answer
_PRIOR_TASKS = 2.0  # that are guessed, beside those on which it is seen how much is found again
_LEAST = 1e-9
_NEAR = 1e-6  # no agreement beyond chance is closer to 0 or 1


class Reliability(NamedTuple):
    """How reliable the votes of each problem are.

    Parameters
    ----------
    pairs
        How much two answers to a task agree, beyond chance.
    votes
        How much the votes of two crowds would.
    others
        With how many others an answer is compared.
    tasks
        How many tasks tell it.
    k
        How many classes there are.
    """

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
    voice = find_voices(block).voice
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
