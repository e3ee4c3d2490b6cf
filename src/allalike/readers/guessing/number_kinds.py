"""Kinds of numbers: whether they are classes, levels of a scale, or numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike.domains import DOMAINS, Domain
from allalike.errors import LabelError

if TYPE_CHECKING:
    from allalike._core.columns.factors import Codes
    from allalike.answers.stream import Sample

__all__ = ["MAX_CLASSES", "SAMPLE_ROWS", "guess_numbers"]

SAMPLE_ROWS = 1 << 16
MAX_CLASSES = 20  # if more numbers differ, they are no classes, unless they are final answers
_MIN_RECURRENCE = 2  # floats are classes if each different number without a fraction has this many answers on average,
_MIN_FRACTION_RECURRENCE = 3  # and each with a fraction this many
_MIN_EQUAL_SHARE = 0.15  # answers are final answers if this share of the pairs of a task's answers is equal,
_MIN_EQUAL_RATIO = 8  # if that is this many times the share among all pairs,
_MIN_MEDIAN_GAP = 0.15  # and if others are this far from the middle of their task, relative to the numbers;
_CLEAR_EQUAL_SHARE, _CLEAR_MEDIAN_GAP = 0.3, 0.05  # where this many are equal, others may be nearer
_MIN_PAIRS = 20
_LEVELS = (5, 11)  # a scale that is known by its answers has so few and so many levels,
_MIN_ORDER = 0.7  # nearness of levels and how often a task has both have this rank correlation,
_CODES = (-9, -99, -999, -9999, -99999, 77, 88, 99, 888, 999, 8888, 9999, 99999)  # which often stand for no answer,
_FAR = 3  # where they are so many times as far from other numbers as these are from each other
_MIN_MIXED = 5  # and each two levels have this many pairs of different answers to a task


def guess_numbers(labels: Column, answers: int, sample: Sample | None) -> Domain:
    """Return the domain of numbers: classes, levels of a scale, or real; ask about codes such as -999 among them.

    >>> from allalike._core.columns.column import Column
    >>> said = Column.of_objects("label", [1, 2, 2, 3, 3, 4, 4, 5] * 20)
    >>> tasks = np.arange(160) // 2
    >>> guess_numbers(said, 160, None).name, guess_numbers(said, 160, lambda: (said, tasks)).name
    ('categorical', 'ordinal')
    """
    _ask_codes(labels.numbers)
    if labels.n_distinct(SAMPLE_ROWS) <= MAX_CLASSES and labels.n_distinct() <= MAX_CLASSES:
        values = labels.factors[1]
        numbers = Column("label", values.data).numbers
        written_whole = not any(mark in str(value) for value in values.tolist() for mark in ".eE")
        least = _MIN_RECURRENCE if np.all(numbers == np.round(numbers)) else _MIN_FRACTION_RECURRENCE
        if sample is not None and _are_in_a_row(numbers) and _are_levels(*sample()):
            return DOMAINS["ordinal"]()
        return DOMAINS["categorical"]() if written_whole or answers >= least * len(values) else DOMAINS["real"]()
    if sample is None:
        return DOMAINS["real"]()
    first, tasks = sample()
    _ask_codes(first.numbers)
    return DOMAINS["categorical"]() if _are_final_answers(first, tasks) else DOMAINS["real"]()


def _ask_codes(numbers: Any) -> None:
    """Ask about numbers that often stand for no answer, where they are far from all others.

    >>> _ask_codes(np.array([1, 5, 3, 99]))
    Traceback (most recent call last):
    allalike.errors.LabelError: Among the labels stands 99, far from all others, which are from 1 to 5. If that means
    'no answer', leave it out; if it is an answer, say domain='real' or domain='categorical'. Say it with abstain=99.
    >>> _ask_codes(np.array([97, 98, 99]))
    """
    codes = [code for code in _CODES if (numbers == code).any()]
    others = numbers[~np.isin(numbers, codes)] if codes else numbers[:0]
    if not len(others):
        return
    low, high = float(others.min()), float(others.max())
    far = [code for code in codes if _is_far(code, low, high)]
    if far and high > low:
        raise LabelError(
            f"Among the labels stands {' and '.join(map(str, far))}, far from all others, which are from {low:g} to"
            f" {high:g}. If that means 'no answer', leave it out; if it is an answer, say domain='real' or"
            " domain='categorical'.",
            abstain=far[0] if len(far) == 1 else tuple(far),
        )


def _is_far(code: int, low: float, high: float) -> bool:
    gap = max(low - code, code - high)
    return gap >= (1 if code < 0 <= low else _FAR) * (high - low)


def _are_in_a_row(numbers: Any) -> bool:
    """Tell whether different numbers are all whole ones from the smallest to the largest, a few."""
    steps = np.diff(np.sort(numbers))
    return _LEVELS[0] <= len(numbers) <= _LEVELS[1] and bool(
        np.all(steps == 1) and np.all(numbers == np.round(numbers))
    )


def _are_levels(labels: Column, tasks: Codes) -> bool:
    """Tell whether numbers are levels: the nearer two of them are, the more often a task has both, beyond chance.

    Numbers of classes are in any order, so that one which is confused with 2 is as often 5 as 3.
    """
    levels, place = np.unique(labels.numbers, return_inverse=True)
    counts = np.zeros((int(tasks.max(initial=0)) + 1, len(levels)))
    np.add.at(counts, (tasks, place), 1.0)
    low, high = np.triu_indices(len(levels), 1)
    both, said = (counts.T @ counts)[low, high], counts.sum(axis=0)
    if len(low) < 2 or both.sum() < _MIN_MIXED * len(low):
        return False
    near, often = (_ranks(each) for each in (levels[low] - levels[high], both / (said[low] * said[high])))
    return bool(near @ often >= _MIN_ORDER * np.sqrt((near @ near) * (often @ often)) > 0)


def _ranks(values: Any) -> Any:
    """Return the ranks of values less their mean; those that are the same share theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - counts / 2)[place] - len(values) / 2


def _are_final_answers(labels: Column, tasks: Codes) -> bool:
    """Tell whether numbers are right or wrong: often the same as others of their task, and else far from them.

    Measurements of a thing are close to each other and seldom the same; ratings are the same in all tasks.
    """
    numbers = labels.numbers
    order = np.lexsort((numbers, tasks))
    numbers, tasks = numbers[order], tasks[order]
    begins = np.flatnonzero(np.append(True, tasks[1:] != tasks[:-1]))
    sizes = np.diff(np.append(begins, len(tasks)))
    same = np.append(True, (tasks[1:] != tasks[:-1]) | (numbers[1:] != numbers[:-1]))
    pairs, equal = _count_pairs(sizes), _count_pairs(np.bincount(np.cumsum(same) - 1))
    everywhere = _count_pairs(np.unique(numbers, return_counts=True)[1]) / max(_count_pairs(len(numbers)), 1)
    if pairs < _MIN_PAIRS or equal < _MIN_EQUAL_SHARE * pairs or equal < _MIN_EQUAL_RATIO * everywhere * pairs:
        return False
    middle = np.repeat(numbers[begins + (sizes - 1) // 2], sizes)
    far = numbers != middle
    gaps = np.abs(numbers - middle)[far] / np.maximum(np.abs(numbers), np.abs(middle))[far]
    least = _CLEAR_MEDIAN_GAP if equal >= _CLEAR_EQUAL_SHARE * pairs else _MIN_MEDIAN_GAP
    return not len(gaps) or bool(np.median(gaps) >= least)


def _count_pairs(sizes: Any) -> float:
    """Count the pairs within groups of these sizes."""
    sizes = np.asarray(sizes, np.float64)
    return float((sizes * (sizes - 1) / 2).sum())
