"""Normalised Levenshtein distance between texts: edits over the length of the longer text (Levenshtein 1966).

An edit inserts, deletes or replaces one character (one Unicode code point). Two empty texts are equal. rapidfuzz
computes the distances, 64 characters at a time. The computing time is proportional to the product of the lengths, so
texts of a million characters are infeasible. Reordered words count as edits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike.distances.tokens import Places

_PAIRS_AT_ONCE = 1 << 16


def distance(texts: list[str], i: Places, j: Places) -> Floats:
    """Compute distances between texts i[k] and j[k], for all k.

    >>> distance(["kitten", "sitting", "", ""], np.array([0, 0, 2]), np.array([1, 2, 3])).round(3)
    array([0.429, 1.   , 0.   ])
    """
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cpdist

    found = np.empty(len(i))
    for begin in range(0, len(i), _PAIRS_AT_ONCE):
        pairs = slice(begin, begin + _PAIRS_AT_ONCE)
        left, right = ([texts[k] for k in places[pairs]] for places in (i, j))
        found[pairs] = cpdist(left, right, scorer=Levenshtein.normalized_distance, dtype=np.float64, workers=1)
    return found
