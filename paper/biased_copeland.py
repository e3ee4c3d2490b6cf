"""Copeland's rule as in the tables of the paper: a tie counts against the true order.

The paper compares each pair of items in their true order, and gives the point to the first only if it has more than
half of the weight. So an exact tie is always an error. Ties are frequent with an even number of equal workers and do
not occur with weights, so every weighted method seems far better than UA. `allalike.Ranking` has the unbiased rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike.domains.rankings.ballots import Ballots, Ranked, voting_rule
from allalike.domains.rankings.codes import unpack
from allalike.domains.rankings.parts import Parts
from allalike.errors import GoldError, UnsupportedError
from allalike.rules import Rule

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats, Ties
    from allalike.rules import Decision

__all__ = ["BIASED", "biased_copeland"]


def biased_copeland(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Sort the items by the number of others that they beat; a draw is won by the item that is truly worse.

    >>> import allalike
    >>> rows = [("ada", 1, "a>b"), ("bob", 1, "b>a")]
    >>> domain = allalike.Ranking(rule=BIASED)
    >>> allalike.discover(rows, domain=domain, method="UA", gold={1: "a>b"}).truth["label"].tolist()
    [['b', 'a']]
    """
    if Parts not in block:
        raise UnsupportedError("The biased rule of Copeland is for rankings, and for no other labels.")
    if len(block.gold_task) < block.n_tasks:
        raise GoldError("The biased rule of Copeland needs the truth of every task.")

    @voting_rule
    def decide(votes: Ballots) -> Ranked:
        place = np.argsort(unpack(block.gold_label[votes.part.tasks]).item.reshape(-1, votes.n_items), axis=1)
        truly_worse = np.sign(place[:, :, None] - place[:, None, :])
        return votes.by_score(np.where(votes.margin == 0, truly_worse, np.sign(votes.margin)).sum(axis=2))

    return decide(block, weights, faults, ties)


BIASED = Rule("copeland, ties are errors", biased_copeland)
