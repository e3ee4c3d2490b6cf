"""Texts such as translations, transcripts and summaries; the estimated label is one of the answers.

    gleu:    d = 1 - GLEU, based on shared n-grams of one to four tokens (Wu et al. 2016)
    edit:    d = insertions, deletions and replacements / length of the longer text (Levenshtein 1966)
    tokens:  d = 1 - tokens in both / tokens in either (Jaccard)

Texts cannot be averaged, so the estimated label is an answer: the medoid, which has the smallest weighted distance to
all answers, or the answer by the best worker.

These distances work if good texts resemble each other: transcripts under `edit`, translations of a sentence under
`gleu`, keyword lists under `tokens`. They fail for paraphrases, which are as distant as nonsense. For paraphrases, use
`allalike.Custom` with a semantic distance, or `allalike.Vector` with embeddings.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from allalike._core.blocks.block import Floats
from allalike._core.limits import MAX_EDITED_CHARACTERS, MAX_TEXT_CHARACTERS
from allalike._core.options import choice, flag
from allalike.distances import texts
from allalike.distances.texts import Bags, Places
from allalike.domains.pairwise import Pairwise
from allalike.noise import General
from allalike.rules.base import Rule
from allalike.rules.vote import CHOICES

_SPLIT = {"spaces": texts.split_spaces, "words": texts.split_words}
_MAX_CHARACTERS = {"gleu": MAX_TEXT_CHARACTERS, "edit": MAX_EDITED_CHARACTERS, "tokens": MAX_TEXT_CHARACTERS}


@dataclass(frozen=True)
class _Texts:
    """Original texts, and the same texts packed for comparisons."""

    original: list[str]
    packed: Bags | list[str]


@dataclass(frozen=True, kw_only=True)
class Text(Pairwise):
    """Texts, compared by GLEU, edit distance or shared tokens.

    Parameters
    ----------
    distance
        ``gleu`` (1 - GLEU), ``edit`` (Levenshtein distance divided by the length of the longer text) or ``tokens``
        (Jaccard distance of the sets of tokens).
    rule
        Aggregation rule: ``medoid`` or ``best worker``.
    lower
        Whether to ignore case.
    tokens
        Tokenisation for ``gleu`` and ``tokens``: ``spaces`` splits at every single space, ``words`` splits into words
        and punctuation marks.

    A text may have up to a million characters, or a hundred thousand for ``edit``.

    >>> import allalike
    >>> rows = [("ada", 1, "the cat sat on a mat"), ("bob", 1, "The cat sat there"),
    ...         ("cyd", 1, "A cat sat on the mat"), ("eve", 1, "no idea")]
    >>> allalike.discover(rows, domain=Text(lower=True)).truth["label"].tolist()
    ['the cat sat on a mat']
    """

    name: ClassVar[str] = "text"
    summary: ClassVar[str] = "texts such as translations; 1 - GLEU, edit distance, or shared tokens"
    rules: ClassVar[tuple[Rule, ...]] = CHOICES
    distances: ClassVar[tuple[str, ...]] = ("gleu", "edit", "tokens")
    noise: ClassVar[General] = General(farthest=1.0)  # the distance between unrelated texts
    lower: bool = flag(False)
    tokens: str = choice(*_SPLIT)

    def _parse(self, value: Any) -> str:
        if type(value) is int:  # all texts of a file are numbers
            value = str(value)
        if not isinstance(value, str):
            raise ValueError("it is not text")
        longest = _MAX_CHARACTERS[self.distance]
        if len(value) > longest:
            raise ValueError(
                f"it has {len(value):,} characters; the maximum for distance {self.distance!r} is {longest:,}"
                f" ({longest / 1e6:g} MB)"
            )
        return value

    def _key(self, parsed: str) -> str:
        return parsed.lower() if self.lower else parsed

    def _pack(self, parsed: list[str]) -> _Texts:
        compared = [text.lower() for text in parsed] if self.lower else parsed
        if self.distance == "edit":
            return _Texts(parsed, compared)
        longest, _ = texts.BAGS[self.distance]
        return _Texts(parsed, texts.pack(map(_SPLIT[self.tokens], compared), longest))

    def _compare(self, left: _Texts, i: Places, right: _Texts, j: Places) -> Floats:
        if left is not right:
            (here, i), (there, j) = (np.unique(places, return_inverse=True) for places in (i, j))
            both = [*(left.original[k] for k in here), *(right.original[k] for k in there)]
            left, j = self._pack(both), j + len(here)
        if isinstance(left.packed, list):
            return texts.edit(left.packed, i, j)
        _, distance = texts.BAGS[self.distance]
        return distance(left.packed, i, j)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "lower": self.lower, "tokens": self.tokens}
