"""Judges: pairs of answers that language models, or people, compared.

Where a judge saw a pair twice, in both orders, she has one answer: what she said both times, or the one decision where
she was undecided the other time; a tie where she contradicted herself.
"""

from __future__ import annotations

__all__ = ["combine"]


def combine(votes: list[int]) -> int:
    """Return the sign of the votes, of which each is 1 for the first of a pair, -1 for the second and 0 for neither.

    >>> combine([1, 1]), combine([1, 0]), combine([1, -1])
    (1, 1, 0)
    """
    total = sum(votes)
    return (total > 0) - (total < 0)
