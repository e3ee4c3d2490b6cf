"""Bags of tokens, and the Jaccard distance of token sets: 1 - |A and B| / |A or B|; two empty texts are equal.

Texts are rows of a sparse matrix of counts with a column per token (or per n-gram, see `allalike.distances.gleu`). The
intersection of two texts is the sum of their smaller counts. scipy computes these minima for many pairs of rows by
merging sorted rows. Pairs are processed in chunks to limit memory.

The distance ignores order and repetition: "dog bites man" and "man bites dog" are equal.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain, count, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.late import sparse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from allalike._core.blocks.block import Floats

Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]

_ENTRIES_AT_ONCE = 1 << 20
_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")


def split_spaces(text: str) -> list[str]:
    """Split a text at every single space; consecutive spaces enclose an empty token.

    >>> split_spaces("the cat's mat."), split_spaces("a  b"), split_spaces("")
    (['the', "cat's", 'mat.'], ['a', '', 'b'], [])
    """
    return text.split(" ") if text else []


def split_words(text: str) -> list[str]:
    """Split a text into words and punctuation marks; whitespace is discarded.

    >>> split_words("the cat's  mat."), split_words("")
    (['the', 'cat', "'", 's', 'mat', '.'], [])
    """
    return _WORD_OR_MARK.findall(text)


@dataclass(frozen=True)
class TokenCodes:
    """The tokens of many texts as numbers below ``n_codes``, and their number per text."""

    codes: Ints
    lengths: Ints
    n_codes: int


@dataclass(frozen=True)
class Bags:
    """Texts as rows of a sparse matrix of counts, and the total count of each text."""

    counts: Any
    totals: Ints


def number(texts: Iterable[list[str]]) -> TokenCodes:
    """Number the tokens of many texts in the order of first occurrence.

    >>> found = number([["a", "b", "a"], [], ["b", "c"]])
    >>> found.codes, found.lengths, found.n_codes
    (array([0, 1, 0, 1, 2]), array([3, 0, 2]), 3)
    """
    code: defaultdict[str, int] = defaultdict(count().__next__)
    lengths: list[int] = []

    def measured() -> Iterator[list[str]]:
        for tokens in texts:
            lengths.append(len(tokens))
            yield tokens

    codes = np.fromiter(map(code.__getitem__, chain.from_iterable(measured())), np.int64)
    return TokenCodes(codes, np.array(lengths, np.int64), len(code))


def pack(texts: Iterable[list[str]]) -> Bags:
    """Convert tokenised texts to sets of tokens."""
    tokens = number(texts)
    ends = np.concatenate([[0], np.cumsum(tokens.lengths)])
    shape = len(tokens.lengths), max(tokens.n_codes, 1)
    counts = sparse.csr_array((np.ones(len(tokens.codes), np.int32), tokens.codes, ends), shape=shape)
    counts.sum_duplicates()
    sets = sparse.csr_array((np.ones(counts.nnz, np.int8), counts.indices, counts.indptr), shape=shape)
    return Bags(sets, np.diff(counts.indptr).astype(np.int64))


def shared(bags: Bags, i: Places, j: Places) -> Ints:
    """Sum the smaller counts of texts i[k] and j[k], for all k."""
    entries = np.diff(bags.counts.indptr) + 1  # empty texts also need memory
    done = np.cumsum(entries[i] + entries[j])
    marks = np.arange(_ENTRIES_AT_ONCE, done[-1] if len(done) else 0, _ENTRIES_AT_ONCE)
    bounds = np.unique(np.concatenate([[0], np.searchsorted(done, marks), [len(i)]]))
    found = np.empty(len(i), np.int64)
    for begin, end in pairwise(bounds):
        pairs = slice(begin, end)
        found[pairs] = bags.counts[i[pairs]].minimum(bags.counts[j[pairs]]).sum(axis=1)
    return found


def distance(bags: Bags, i: Places, j: Places) -> Floats:
    """Compute distances between texts i[k] and j[k], for all k.

    >>> texts = pack([["dog", "bites", "man"], ["man", "bites", "dog"], ["man", "sleeps"], [], []])
    >>> distance(texts, np.array([0, 0, 0, 3]), np.array([1, 2, 3, 4]))
    array([0.  , 0.75, 1.  , 0.  ])
    """
    common = shared(bags, i, j)
    union = bags.totals[i] + bags.totals[j] - common
    return np.asarray(1 - np.where(union > 0, common, 1) / np.maximum(union, 1), np.float64)
