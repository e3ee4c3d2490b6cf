"""Inference of whether numbers are classes, levels or measurements, and of their notation."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.lazy_imports import late_pattern
from allalike.domains import DOMAINS, Domain
from allalike.domains.written_labels import NumberForm
from allalike.errors import LabelError, Proposal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike._core.columns.factors import Codes
    from allalike.answers.answers import Sample

OR_CLASSES = "If labels are either correct or wrong, use domain='categorical'."
SAMPLE_ROWS = 1 << 16
MAX_CLASSES = 20  # more distinct numbers are not classes, unless they are final answers
_MIN_RECURRENCE, _MIN_FRACTION_RECURRENCE = 2, 3  # answers per class, for integers and for fractions
_MIN_EQUAL_SHARE = 0.15  # final answers: share of equal pairs within tasks,
_MIN_EQUAL_RATIO = 8  # ratio of this share to that of all pairs,
_MIN_MEDIAN_GAP = 0.15  # and relative distance of the other answers from the median of their task,
_CLEAR_EQUAL_SHARE, _CLEAR_MEDIAN_GAP = 0.3, 0.05  # which may be smaller if more pairs are equal
_MIN_PAIRS = 20
_LEVELS = (5, 11)  # levels of a scale: their number,
_MIN_ORDER = 0.7  # rank correlation of their closeness with their co-occurrence in tasks,
_MIN_MIXED = 5  # and pairs of different answers to a task, per pair of levels
_CODES = (-9, -99, -999, -9999, -99999, 77, 88, 99, 888, 999, 8888, 9999, 99999)  # codes that often mean "no answer"
_FAR = 3  # ratio of their distance from other numbers to the range of these


def guess_numbers(labels: Column, answers: int, sample: Sample | None) -> Domain:
    """Return the label type of numbers: categorical, ordinal or real; ask about codes such as -999."""
    _ask_codes(labels.numbers)
    if labels.n_distinct(SAMPLE_ROWS) <= MAX_CLASSES and labels.n_distinct() <= MAX_CLASSES:
        values = labels.factors[1]
        numbers = np.sort(Column("label", values.data).numbers)
        whole = bool(np.all(numbers == np.round(numbers)))
        in_a_row = whole and _LEVELS[0] <= len(numbers) <= _LEVELS[1] and bool(np.all(np.diff(numbers) == 1))
        if sample is not None and in_a_row and _are_levels(*sample()):
            return DOMAINS["ordinal"]()
        written_whole = not any(mark in str(value) for value in values.tolist() for mark in ".eE")
        least = _MIN_RECURRENCE if whole else _MIN_FRACTION_RECURRENCE
        return DOMAINS["categorical" if written_whole or answers >= least * len(values) else "real"]()
    if sample is None:
        return DOMAINS["real"]()
    first, tasks = sample()
    _ask_codes(first.numbers)
    return DOMAINS["categorical" if _are_final_answers(first.numbers, tasks) else "real"]()


def _ask_codes(numbers: Any) -> None:
    """Ask about numbers that often mean "no answer", if they are far from all others."""
    codes = [code for code in _CODES if (numbers == code).any()]
    if not codes or not len(others := numbers[~np.isin(numbers, codes)]):
        return
    low, high = float(others.min()), float(others.max())
    least = {code: (1 if code < 0 <= low else _FAR) * (high - low) for code in codes}
    far = [code for code in codes if max(low - code, code - high) >= least[code]]
    if far and high > low:
        raise LabelError(
            f"The labels contain {' and '.join(map(str, far))}, far from all others, which are between {low:g} and"
            f" {high:g}. If this means 'no answer', exclude it. Otherwise use domain='real' or domain='categorical'.",
            abstain_label=far[0] if len(far) == 1 else tuple(far),
        )


def _are_levels(labels: Column, tasks: Codes) -> bool:
    """Return whether numbers are levels: the closer two levels are, the more often a task has both, relative to chance.

    Classes have arbitrary numbers, so class 2 may be confused with 5 as often as with 3.
    """
    levels, place = np.unique(labels.numbers, return_inverse=True)
    counts = np.zeros((int(tasks.max(initial=0)) + 1, len(levels)))
    np.add.at(counts, (tasks, place), 1.0)
    low, high = np.triu_indices(len(levels), 1)
    both, totals = (counts.T @ counts)[low, high], counts.sum(axis=0)
    if len(low) < 2 or both.sum() < _MIN_MIXED * len(low):
        return False
    near, often = (_rank(each) for each in (levels[low] - levels[high], both / (totals[low] * totals[high])))
    return bool(near @ often >= _MIN_ORDER * np.sqrt((near @ near) * (often @ often)) > 0)


def _rank(values: Any) -> Any:
    """Return the centred ranks of values; ties share the mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - counts / 2)[place] - len(values) / 2


def _are_final_answers(numbers: Any, tasks: Codes) -> bool:
    """Return whether numbers are final answers: often equal to others of their task, and otherwise far from them.

    Measurements are close to each other and rarely equal; ratings are often equal in different tasks as well.
    """

    def count_pairs(sizes: Any) -> float:
        return float((sizes * (sizes - 1.0) / 2).sum())

    order = np.lexsort((numbers, tasks))
    numbers, tasks = numbers[order], tasks[order]
    begins = np.flatnonzero(np.append(True, tasks[1:] != tasks[:-1]))
    sizes = np.diff(np.append(begins, len(tasks)))
    new = np.append(True, (tasks[1:] != tasks[:-1]) | (numbers[1:] != numbers[:-1]))
    pairs, equal = count_pairs(sizes), count_pairs(np.bincount(np.cumsum(new) - 1))
    everywhere = count_pairs(np.unique(numbers, return_counts=True)[1]) / max(count_pairs(np.array(len(numbers))), 1)
    if pairs < _MIN_PAIRS or equal < _MIN_EQUAL_SHARE * pairs or equal < _MIN_EQUAL_RATIO * everywhere * pairs:
        return False
    median = np.repeat(numbers[begins + (sizes - 1) // 2], sizes)
    far = numbers != median
    gaps = np.abs(numbers - median)[far] / np.maximum(np.abs(numbers), np.abs(median))[far]
    least = _CLEAR_MEDIAN_GAP if equal >= _CLEAR_EQUAL_SHARE * pairs else _MIN_MEDIAN_GAP
    return not len(gaps) or bool(np.median(gaps) >= least)


# Notations of numbers: a unit, thousands separators, a decimal comma, bounds. A notation must fit every label.

_CURRENCY = r"US\$|A\$|C\$|R\$|[$€£¥₹₽₩₺₪฿₴]|USD|EUR|GBP|JPY|CHF|CAD|AUD|CNY|INR|RUB|PLN|BRL|SEK|NOK|DKK"
_UNITS = (
    "% ‰ ° °c °f kg mg µg ug lb lbs oz tons? tonnes km cm mm µm nm mi miles? ft feet inch(?:es)? yd px pt em ms"
    " secs? seconds? mins? minutes? hrs? hours? days? weeks? months? years? yrs? ml cl dl lit(?:er|re)s? km/h kmh mph"
    " m/s kwh? mw [kmg]?hz [kmgt]b kcal cal kj h?pa kpa bar psi bpm rpm dba? ppm ppb pct percent m² km² ha m³"
    " dollars euros?"
)
_UNIT = rf"{_CURRENCY}|[gmshtlL]|(?i:{'|'.join(_UNITS.split())})\.?"  # single letters in this case only
_NUMBER = late_pattern(
    rf"\s*[-+\u2212]?\s*(?P<before>{_CURRENCY})?\s*[-+\u2212]?"
    rf"(?P<digits>\d(?:[\d.,'\u2019 \u00a0\u2009\u202f]*\d)?|[.,]\d+)\s*(?(before)|(?P<behind>{_UNIT})?)\s*"
)
_MARKS = (("", "."), (",", "."), (" ", "."), ("'", "."), ("", ","), (".", ","), (" ", ","), ("'", ","))
_MAX_CHARACTERS = 100  # of a number with its unit
_FEW_ITEMS, _SMALL = 20, 20  # number and size of items up to which numbers such as 1,2 may be sets
_MAX_ODD = 0.2  # share of the labels that may not be numbers, if others have units


def find_number_form(texts: Sequence[str]) -> NumberForm | None:
    """Return the notation if all texts are numbers; None if they are not, or are plain numbers; ask if unclear."""
    if not any(any(map(str.isdigit, text)) and not text.strip()[:1].islower() for text in texts):
        return None  # before the slow compilation of the pattern
    matches = [_NUMBER.fullmatch(text) if len(text) <= _MAX_CHARACTERS else None for text in texts]
    numbers = [number for number in matches if number is not None]
    first: dict[str, re.Match[str]] = {}  # the first number with each unit
    for number in numbers:
        first.setdefault(_read_unit(number).unit.casefold(), number)
    if odd := [text for text, number in zip(texts, matches, strict=True) if number is None]:
        if len(first) == 1 and "" not in first and len(odd) <= _MAX_ODD * len(texts):
            raise LabelError(
                f"Most labels are numbers such as {numbers[0][0]!r}, but {odd[0]!r} is not a number. If it means"
                " 'no answer', exclude it.",
                abstain_label=odd[0] if len(odd) == 1 else tuple(odd),
            )
        return None
    units = [_read_unit(number) for unit, number in first.items() if unit]
    form = _find_marks(numbers, units[0] if units else NumberForm()) if len(units) < 2 else None
    if len(first) > 1:
        shown = ", ".join(f"{_read_unit(number).unit or 'none'} in {number[0]!r}" for number in [*first.values()][:3])
        raise LabelError(
            f"The labels have different units: {shown}. Convert all labels to one unit. {OR_CLASSES}",
            proposals=[Proposal({"domain": f'real(form="{form or units[0]}")'})] if len(units) == 1 else (),
        )
    return None if form == NumberForm() else form


def _read_unit(number: re.Match[str]) -> NumberForm:
    return NumberForm(unit=number["before"] or number["behind"] or "", before=bool(number["before"]))


def _find_marks(numbers: Sequence[re.Match[str]], form: NumberForm) -> NumberForm | None:
    """Return the notation with the separators that fit all numbers; None if none fits, and ask if two do."""
    digits = {re.sub("[\u00a0\u2009\u202f]", " ", number["digits"]).replace("\u2019", "'") for number in numbers}
    fitting = []
    for thousands, decimal in _MARKS:
        groups = rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|" if thousands else ""
        pattern = re.compile(rf"(?:{groups}\d+)(?:{re.escape(decimal)}\d+)?|{re.escape(decimal)}\d+")
        if all(map(pattern.fullmatch, digits)):
            fitting.append(replace(form, thousands=thousands, decimal=decimal))
    if not fitting:
        return None
    best = fitting[0]
    other = next((each for each in fitting if each.decimal != best.decimal), None)
    marked = next((number[0] for number in numbers if re.search("[.,]", number["digits"])), None)
    if other is None or marked is None:
        if marked is not None and best == NumberForm(decimal=","):
            _ask_sets(digits, marked)
        return best
    look_decimal = any(text.startswith("0,") or (len(text) > 3 and text.isdecimal()) for text in digits)
    if best.thousands == "," and not look_decimal:  # 45,511, and neither 0,511 nor 4500
        return best
    if best == form and not re.fullmatch(_CURRENCY, form.unit):  # 45.511
        return best
    likelier, other = (other, best) if best.thousands == "," else (best, other)
    raise LabelError(
        f"Numbers such as {marked!r} are ambiguous: 1234.5 may be written as {likelier} or as {other}, and all labels"
        " fit both notations.",
        domain=f'real(form="{likelier}")',
    )


def _ask_sets(digits: set[str], example: str) -> None:
    """Ask whether numbers with a decimal comma, such as 1,2, are instead sets of small numbers."""
    sets = [text.split(",") for text in digits]
    items = {item for each in sets for item in each}
    if len(items) > _FEW_ITEMS or any(not item or str(int(item)) != item or int(item) > _SMALL for item in items):
        return
    rising = all(int(each[0]) < int(each[-1]) for each in sets if len(each) > 1)
    ways = ['real(form="1234,5")', 'set(separator=",")']
    raise LabelError(
        f"Labels such as {example!r} may be numbers with a decimal comma, {ways[0]}, or sets of items, {ways[1]}.",
        domain=ways[rising],
    )
