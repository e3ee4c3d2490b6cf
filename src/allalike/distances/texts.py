"""Distances between texts: 1 - GLEU, shared tokens, and edit distance.

GLEU (Wu et al. 2016, "Google's neural machine translation system", section 4) counts all n-grams of one to four tokens
of a text together. It is the number of n-grams shared by two texts (the sum of the smaller counts) divided by their
number in the longer text: the minimum of precision and recall. It is symmetric, and for nonempty texts it is equal to
nltk's ``sentence_gleu`` with one reference. An empty text has the maximum distance to all others.

The Jaccard distance of token sets is 1 - |A and B| / |A or B|. It ignores order and repetition: "dog bites man" and
"man bites dog" are equal. The edit distance (Levenshtein 1966) is the number of inserted, deleted and replaced
characters over the length of the longer text. Under all three, two empty texts are equal, and synonyms count as errors.

Bags of tokens or n-grams are rows of a sparse matrix of counts. scipy computes the smaller counts of many pairs of rows
by merging sorted rows; pairs are processed in chunks to limit memory.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Floats
from allalike._core.lazy_imports import sparse
from allalike.distances.jaccard import chunks

Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]

LONGEST = 4  # maximum number of tokens in an n-gram of GLEU
_LARGEST_CODE = 1 << 60
_ENTRIES_AT_ONCE = 1 << 20
_EDITS_AT_ONCE = 1 << 16  # pairs
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
class Bags:
    """Texts as rows of a sparse matrix of counts, and the total count of each text."""

    counts: Any
    totals: Ints


def pack(texts: Iterable[list[str]], longest: int = 1) -> Bags:
    """Count the n-grams of tokenised texts up to a length; for single tokens, repetitions are ignored.

    An n-gram is a number whose digits are token codes. Before numbers become too large, those that occur are
    renumbered.
    """
    number: defaultdict[str, int] = defaultdict(count().__next__)
    tokens = [np.fromiter(map(number.__getitem__, text), np.int64, len(text)) for text in texts]
    lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
    first = np.concatenate([np.empty(0, np.int64), *tokens])
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(first))  # tokens to the end of the text
    base = bound = max(len(number), 1)
    codes, parts = first, []
    for n in range(1, longest + 1):
        if n > 1:
            if bound > _LARGEST_CODE // base:
                distinct, codes = np.unique(codes, return_inverse=True)
                bound = len(distinct)
            codes = codes[:-1] * base + first[n - 1 :]
            bound *= base
        ends = np.append(0, np.cumsum(np.maximum(lengths - n + 1, 0)))
        own = codes[left[: len(codes)] >= n]
        part = sparse.csr_array((np.ones(len(own), np.int32), own, ends), shape=(len(lengths), bound))
        part.sum_duplicates()
        if longest == 1:
            part.data[:] = 1
        part.data = part.data.astype(np.min_scalar_type(part.data.max(initial=0)))
        parts.append(part)
    counts = sparse.hstack(parts, format="csr")
    return Bags(counts, np.asarray(counts.sum(axis=1, dtype=np.int64)))


def _shared(bags: Bags, i: Places, j: Places) -> Ints:
    """Sum the smaller counts of texts i[k] and j[k], for all k."""
    entries = np.diff(bags.counts.indptr) + 1  # empty texts also need memory
    found = np.empty(len(i), np.int64)
    for part in chunks(entries[i] + entries[j], _ENTRIES_AT_ONCE):
        found[part] = bags.counts[i[part]].minimum(bags.counts[j[part]]).sum(axis=1)
    return found


def gleu(bags: Bags, i: Places, j: Places) -> Floats:
    """Compute 1 - GLEU between texts i[k] and j[k], for all k.

    >>> texts = pack([text.split() for text in ("the cat sat", "the cat sat on the mat", "a dog", "", "")], LONGEST)
    >>> gleu(texts, np.array([0, 1, 1, 1, 3]), np.array([1, 1, 2, 3, 4])).round(3)
    array([0.667, 0.   , 1.   , 1.   , 0.   ])
    """
    most = np.maximum(bags.totals[i], bags.totals[j])
    return np.asarray(1 - np.where(most > 0, _shared(bags, i, j), 1) / np.maximum(most, 1), np.float64)


def jaccard(bags: Bags, i: Places, j: Places) -> Floats:
    """Compute the Jaccard distance between the tokens of texts i[k] and j[k], for all k.

    >>> texts = pack([["dog", "bites", "man"], ["man", "bites", "dog"], ["man", "sleeps"], [], []])
    >>> jaccard(texts, np.array([0, 0, 0, 3]), np.array([1, 2, 3, 4]))
    array([0.  , 0.75, 1.  , 0.  ])
    """
    common = _shared(bags, i, j)
    union = bags.totals[i] + bags.totals[j] - common
    return np.asarray(1 - np.where(union > 0, common, 1) / np.maximum(union, 1), np.float64)


def edit(texts: list[str], i: Places, j: Places) -> Floats:
    """Compute the edit distance between texts i[k] and j[k] over the length of the longer one, for all k.

    rapidfuzz compares 64 characters at a time. The computing time is proportional to the product of the lengths.

    >>> edit(["kitten", "sitting", "", ""], np.array([0, 0, 2]), np.array([1, 2, 3])).round(3)
    array([0.429, 1.   , 0.   ])
    """
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cpdist

    found = np.empty(len(i))
    for begin in range(0, len(i), _EDITS_AT_ONCE):
        pairs = slice(begin, begin + _EDITS_AT_ONCE)
        left, right = ([texts[k] for k in places[pairs]] for places in (i, j))
        found[pairs] = cpdist(left, right, scorer=Levenshtein.normalized_distance, dtype=np.float64, workers=1)
    return found


Distance = Callable[[Bags, Places, Places], Floats]
BAGS: dict[str, tuple[int, Distance]] = {
    "gleu": (LONGEST, gleu),
    "tokens": (1, jaccard),
}
