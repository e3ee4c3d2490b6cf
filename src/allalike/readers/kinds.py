"""Guess the kind of labels, where it is clear."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike.domains import DOMAINS, Categorical, Domain, Real
from allalike.errors import LabelError

if TYPE_CHECKING:
    from allalike.columns import Column

__all__ = ["guess_domain"]

_FEW = 20  # as many different whole numbers are classes; more are numbers
_SAMPLE = 1 << 16


def guess_domain(labels: Column) -> Domain:
    """Return the domain of these labels, or ask.

    Truth values, whole numbers with at most 20 different values, and strings that repeat are classes; other numbers
    are real.

    >>> from allalike.columns import Column
    >>> guess_domain(Column.of_objects("label", [1, 2, 1])).name
    'categorical'
    >>> guess_domain(Column.of_objects("label", [1.5, 2.0])).name
    'real'
    >>> guess_domain(Column.of_objects("label", ["a long text", "another one"]))
    Traceback (most recent call last):
    allalike.errors.LabelError: It is unclear what kind of labels these are: 2 different ones in 2 answers, such as
    'a long text'. Say it with domain= (--domain): categorical, real, ...
    """
    kind = labels.kind
    if kind == "text" and labels.text and labels.is_numeric():
        kind = "whole" if labels.is_whole() else "number"
    if kind == "number" or (kind == "whole" and not _few(labels)):
        return Real()
    if kind in ("whole", "truth value"):
        return Categorical()
    return _guess_words(labels)


def _few(labels: Column) -> bool:
    return labels.n_distinct(_SAMPLE) <= _FEW and labels.n_distinct() <= _FEW


def _guess_words(labels: Column) -> Domain:
    answers = len(labels)
    odd = labels.text_among_numbers() if labels.text else None
    if odd is not None:
        raise LabelError(
            f"Most labels are numbers, but that in row {odd[0]} is {odd[1]!r}. Correct it, or say what they are with"
            " domain= (--domain): categorical or real."
        )
    values = labels.factors[1]
    if len(values) < answers and len(values) <= max(_FEW, answers / 2):
        return Categorical()
    raise LabelError(
        f"It is unclear what kind of labels these are: {len(values):,} different ones in {answers:,} answers, such as"
        f" {str(values[0])[:60]!r}. Say it with domain= (--domain): {', '.join(DOMAINS)}."
    )
