"""Copeland's rule as the paper's tables have it: a draw counts against the true order.

The paper compares each pair of items in their true order, and gives the point to the first only if more than half of
the weight is behind it. So an exact tie is always a mistake. An even number of equal workers ties often and weighted
workers never do, which makes every weighted method look far better than UA. The rule needs the truth, so it is of no
use outside of experiments; `allalike.Ranking` has the fair one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from allalike.domains import Ranking
from allalike.errors import GoldError, UnsupportedError
from allalike.rules import Rule
from allalike.rules.ballots import Ballots, Found, decide

if TYPE_CHECKING:
    from allalike.blocks import Block, Floats
    from allalike.domains import Domain
    from allalike.rules import Decision
    from allalike.ties import Ties

__all__ = ["BIASED", "BiasedRanking", "biased_copeland"]

BIASED = "copeland, ties are errors"


def biased_copeland(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Sort the items by the number of others that they beat; a draw is won by the item that is truly worse.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b"), ("bob", 1, "b>a")]
    >>> allalike.discover(rows, domain=BiasedRanking(rule=BIASED), method="UA", gold={1: "a>b"}).truth["label"].tolist()
    [['b', 'a']]
    """
    if len(block.gold_task) < block.n_tasks:
        raise GoldError("The biased rule of Copeland needs the truth of every task.")

    def find(votes: Ballots) -> Found:
        truth = block.gold_label[votes.part.prepared["tasks"], : votes.n_items]
        place = np.argsort(truth, axis=1)  # of the items in the order of their codes, as in the ballots
        truly_worse = np.sign(place[:, :, None] - place[:, None, :])
        margin = np.sign(votes.margin)
        return votes.by_score(np.where(margin == 0, truly_worse, margin).sum(axis=2))

    return decide(block, weights, ties, find)


@dataclass(frozen=True, kw_only=True)
class BiasedRanking(Ranking):
    """Compare rankings, and have the biased rule among others.

    >>> [rule.name for rule in BiasedRanking.rules][-1]
    'copeland, ties are errors'
    """

    rules: ClassVar[tuple[Rule, ...]] = (*Ranking.rules, Rule(BIASED, biased_copeland))

    @classmethod
    def like(cls, domain: Domain) -> Self:
        """Return this domain with the items of another, and the biased rule."""
        if not isinstance(domain, Ranking):
            raise UnsupportedError(f"The rule {BIASED!r} is for rankings, and not for {domain.name} labels.")
        return cls(rule=BIASED, distance=domain.distance)._with(domain.items, domain.longest)
