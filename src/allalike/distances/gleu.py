"""Text distance 1 - GLEU (Wu et al. 2016, "Google's neural machine translation system", section 4).

All n-grams of one to four tokens of a text are counted together. GLEU is the number of n-grams shared by two texts (the
sum of the smaller counts) divided by their number in the longer text: the minimum of precision and recall. It is
symmetric, and for nonempty texts it is equal to nltk's ``sentence_gleu`` with one reference. Two empty texts are equal,
and an empty text has the maximum distance to all others.

Short texts have few n-grams, so a single different word increases the distance substantially. Synonyms count as errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike._core.late import sparse
from allalike.distances.tokens import Bags, Ints, Places, TokenCodes, number, shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from allalike._core.blocks.block import Floats

LONGEST = 4  # maximum number of tokens in an n-gram
_LARGEST_CODE = 1 << 60


def sequences(tokens: TokenCodes) -> Iterator[tuple[Ints, Ints, int]]:
    """For each n, yield the codes of all n-grams, text by text, their number per text, and an upper bound on codes.

    An n-gram is a number whose digits are token codes. Before numbers become too large, those that occur are
    renumbered.
    """
    base = max(tokens.n_codes, 1)
    codes, bound = tokens.codes, base
    left = np.repeat(np.cumsum(tokens.lengths), tokens.lengths) - np.arange(len(codes))  # tokens to the end of the text
    for length in range(1, LONGEST + 1):
        if length > 1:
            if bound > _LARGEST_CODE // base:
                distinct, codes = np.unique(codes, return_inverse=True)
                bound = len(distinct)
            codes = codes[:-1] * base + tokens.codes[length - 1 :]
            bound *= base
        yield codes[left[: len(codes)] >= length], np.maximum(tokens.lengths - length + 1, 0), bound


def pack(texts: Iterable[list[str]]) -> Bags:
    """Convert tokenised texts to counts of n-grams of one to four tokens."""
    tokens = number(texts)
    parts, totals = [], np.zeros(len(tokens.lengths), np.int64)
    for codes, lengths, bound in sequences(tokens):
        ends = np.concatenate([[0], np.cumsum(lengths)])
        part = sparse.csr_array((np.ones(len(codes), np.int32), codes, ends), shape=(len(lengths), bound))
        part.sum_duplicates()
        part.data = part.data.astype(np.min_scalar_type(part.data.max(initial=0)))
        parts.append(part)
        totals += lengths
    return Bags(sparse.hstack(parts, format="csr"), totals)


def distance(bags: Bags, i: Places, j: Places) -> Floats:
    """Compute distances between texts i[k] and j[k], for all k.

    >>> texts = pack([text.split() for text in ("the cat sat", "the cat sat on the mat", "a dog", "", "")])
    >>> distance(texts, np.array([0, 1, 1, 1, 3]), np.array([1, 1, 2, 3, 4])).round(3)
    array([0.667, 0.   , 1.   , 1.   , 0.   ])
    """
    most = np.maximum(bags.totals[i], bags.totals[j])
    return np.asarray(1 - np.where(most > 0, shared(bags, i, j), 1) / np.maximum(most, 1), np.float64)
