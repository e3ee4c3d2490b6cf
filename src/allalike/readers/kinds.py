"""Kinds: which domain labels belong to, where that is clear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.domains import DOMAINS, Bitmap, Categorical, Domain, Ranking, Real, Set, Text, Vector
from allalike.errors import LabelError
from allalike.masks.files import MaskFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allalike.columns.column import Column
    from allalike.columns.factors import Codes

__all__ = ["guess_domain"]

_MAX_CLASSES = 20  # of whole numbers; if more of them differ, they are numbers
_REGIONS = {"boxes": {"bbox"}, "points": {"x", "y"}, "polygons": {"points"}}
_SAMPLE_ROWS = 1 << 16
_MIN_TEXT_WORDS = 3  # on average, for strings that do not repeat to be texts


def guess_domain(
    labels: Column, parts: Iterable[tuple[Column, Codes]], answers: int, *, where: str = "The table"
) -> Domain:
    """Return the domain of labels, or ask.

    Parameters
    ----------
    labels
        The labels, or every different one once.
    parts
        All labels with the number of each one's task, some whole tasks at a time. It is looked at only where labels
        may be rankings.
    answers
        How many labels there are in all.
    where
        What to call the answers in a message.

    Truth values, whole numbers with at most 20 different values, and strings that repeat are classes; other numbers
    are real; strings of several words that do not repeat are texts. Lists, and strings such as ``a>b>c``, are rankings
    if the answers to a task all order the same items. Sets, masks and arrays are what they are.

    >>> from allalike.columns.column import Column
    >>> def guess(labels):
    ...     column = Column.of_objects("label", labels)
    ...     return guess_domain(column, [(column, np.zeros(len(labels), np.int32))], len(labels)).name
    >>> for labels in ([1, 2, 1], [1.5, 2.0], ["a>b", "b>a"], ["a long text", "another text here"], [{1}, {2}]):
    ...     print(guess(labels))
    categorical
    real
    ranking
    text
    set
    >>> guess(["x17", "x18"])
    Traceback (most recent call last):
    allalike.errors.LabelError: It is unclear what kind of labels these are: 2 different ones in 2 answers, such as
    'x17'. Say it with domain= (--domain): categorical, real, ...
    """
    kind = labels.kind
    if kind == "text" and labels.text and labels.is_numeric():
        kind = "whole" if labels.is_whole() else "number"
    if kind == "number" or (kind == "whole" and not _are_few(labels)):
        return Real()
    if kind in ("whole", "truth value"):
        return Categorical()
    if kind == "object" and (clear := _by_type(labels.data)) is not None:
        return clear
    if kind == "object" and (regions := _name_regions(labels.data)):
        raise LabelError(
            f"{where}: the labels are {regions}, which are not weighed yet. Compare them by a distance of your own"
            " (domain 'custom' in Python), or read another question of the file."
        )
    if _may_be_lists(labels):
        return _guess_lists(labels, parts, answers)
    return _guess_words(labels, answers)


def _are_few(labels: Column) -> bool:
    return labels.n_distinct(_SAMPLE_ROWS) <= _MAX_CLASSES and labels.n_distinct() <= _MAX_CLASSES


def _by_type(values: Any) -> Domain | None:
    """Recognise objects whose type says what they are."""
    tests: dict[type[Domain], Any] = {
        Set: lambda value: isinstance(value, set | frozenset),
        Bitmap: _is_mask,
        Vector: lambda value: isinstance(value, np.ndarray) and value.ndim == 1,
    }
    return next((domain() for domain, test in tests.items() if all(map(test, values))), None)


def _is_mask(value: Any) -> bool:
    picture = isinstance(value, np.ndarray) and value.ndim == 2
    return picture or isinstance(value, MaskFile) or (isinstance(value, dict) and {"size", "counts"} <= set(value))


def _name_regions(values: Any) -> str:
    """Return what lists of regions are, such as boxes; nothing if they are something else.

    >>> _name_regions([[{"bbox": [0, 0, 2, 1]}], []]), _name_regions([[[0, 5, "person"]]]), _name_regions([["a", "b"]])
    ('boxes', 'spans', '')
    """
    if not all(isinstance(value, list) for value in values):
        return ""
    items = [item for value in values for item in value]
    if items and all(isinstance(item, dict) for item in items):
        return next((name for name, keys in _REGIONS.items() if all(keys <= set(item) for item in items)), "objects")
    spans = bool(items) and all(isinstance(item, list | tuple) and len(item) == 3 for item in items)
    tagged = spans and all(item[2] is None or isinstance(item[2], str) for item in items)
    return "spans" if tagged and all(isinstance(end, int | float) for item in items for end in item[:2]) else ""


def _may_be_lists(labels: Column) -> bool:
    """Tell whether all labels are lists, or strings that look like lists or orders."""
    if labels.kind == "object":
        return all(isinstance(value, list | tuple) for value in labels.data)
    if labels.kind != "text":
        return False
    return all(">" in value[1:-1] or value.lstrip().startswith("[") for value in map(str, labels.factors[1].tolist()))


def _guess_lists(labels: Column, parts: Iterable[tuple[Column, Codes]], answers: int) -> Domain:
    if all(_order_the_same(*part) for part in parts):
        return Ranking()
    if labels.kind == "text" and labels.n_distinct() <= _MAX_CLASSES and labels.n_distinct() < answers:
        return Categorical()
    raise LabelError(
        "The labels look like lists, but those of a task do not order the same items. Say what they are with domain="
        " (--domain): ranking, set, interval, vector or bitmap."
    )


def _order_the_same(labels: Column, tasks: Codes) -> bool:
    """Tell whether the labels of each task order the same items."""
    try:
        codes, orders = labels.parsed(Ranking().parse)
    except LabelError:
        return False
    items: dict[int, frozenset[Any]] = {}
    return all(frozenset(orders[c]) == items.setdefault(t, frozenset(orders[c])) for c, t in zip(codes, tasks))  # noqa: B905


def _guess_words(labels: Column, answers: int) -> Domain:
    odd = labels.text_among_numbers() if labels.text else None
    if odd is not None:
        raise LabelError(
            f"Most labels are numbers, but that in row {odd[0]} is {odd[1]!r}. Correct it, or say what they are with"
            " domain= (--domain): categorical or real."
        )
    values = labels.factors[1]
    if len(values) < answers and len(values) <= max(_MAX_CLASSES, answers / 2):
        return Categorical()
    texts = values.tolist()
    if (
        all(isinstance(text, str) for text in texts)
        and np.mean([len(text.split()) for text in texts]) >= _MIN_TEXT_WORDS
    ):
        return Text()
    raise LabelError(
        f"It is unclear what kind of labels these are: {len(values):,} different ones in {answers:,} answers, such as"
        f" {str(values[0])[:60]!r}. Say it with domain= (--domain): {', '.join(DOMAINS)}."
    )
