"""Voting: all rules that turn the weighted rankings of a task into one ranking, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import group_labels
from allalike._core.blocks.pairs import AnswerHashes
from allalike.domains.rankings.bradley_terry import bradley_terry
from allalike.domains.rankings.elimination import minimax, ranked_pairs, stv
from allalike.domains.rankings.kemeny import kemeny, slater
from allalike.domains.rankings.scoring import borda, bucklin, copeland, maximin, plurality, schulze, veto
from allalike.rules.vote import best_worker
from allalike.rules.vote import plurality as most_given

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Block, Floats, Ties
    from allalike.rules.base import Decision


def modal(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Take the ranking that was given with the largest total weight (Caragiannis, Procaccia and Shah 2014).

    It needs many answers: with few, all rankings differ.

        label = the ranking r with the largest sum_i w_i [x_i = r]

    It works with hundreds of answers of a few items each, where it finds the mode whatever the noise is. It fails
    with few.

    >>> import allalike
    >>> from allalike.domains.rankings.ranking import Ranking
    >>> rows = [("ada", 1, "a>b>c"), ("bob", 1, "c>b>a"), ("eve", 1, "c>b>a")]
    >>> allalike.discover(rows, domain=Ranking(rule="modal"), method="UA").truth["label"].tolist()
    [['c', 'b', 'a']]
    """
    hashes, first, code = np.unique(block[AnswerHashes].hashes, return_index=True, return_inverse=True)
    some = block.label[first]
    order = np.argsort(some, kind="stable") if some.ndim == 1 else np.lexsort(some.T[::-1])
    distinct, hashes = block.label[first[order]], hashes[order]
    coded = replace(block, label=np.argsort(order)[code])
    found = most_given(coded.keeping(group_labels(coded, hashes)), weights, faults, ties)
    return replace(found, label=distinct[found.label])


VOTING: dict[str, Callable[[Block, Floats, Floats, Ties], Decision]] = {
    "borda": borda,
    "plurality": plurality,
    "veto": veto,
    "copeland": copeland,
    "kemeny": kemeny,
    "slater": slater,
    "modal": modal,
    "minimax": minimax,
    "best worker": best_worker,
    "maximin": maximin,
    "schulze": schulze,
    "ranked pairs": ranked_pairs,
    "bucklin": bucklin,
    "stv": stv,
    "bradley terry": bradley_terry,
}
