"""Infer whether numbers are classes, levels or measurements, and the form in which they are written."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.late import late_pattern
from allalike.domains import DOMAINS, Domain
from allalike.domains.written_labels import NumberForm
from allalike.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike._core.columns.factors import Codes
    from allalike.answers.answers import Sample

OR_CLASSES = "If they are right or wrong, and not near or far, say domain='categorical'."
SAMPLE_ROWS = 1 << 16
MAX_CLASSES = 20  # more distinct numbers are not classes, unless they are final answers
_MIN_RECURRENCE, _MIN_FRACTION_RECURRENCE = 2, 3  # answers per class, for whole numbers and those with a fraction
_MIN_EQUAL_SHARE = 0.15  # answers are final answers if this share of the pairs within tasks is equal,
_MIN_EQUAL_RATIO = 8  # if that is this many times the share among all pairs,
_MIN_MEDIAN_GAP = 0.15  # and if others are this far from the median of their task, relative to the numbers;
_CLEAR_EQUAL_SHARE, _CLEAR_MEDIAN_GAP = 0.3, 0.05  # where this many are equal, others may be nearer
_MIN_PAIRS = 20
_LEVELS = (5, 11)  # levels of a scale that can be inferred from the answers,
_MIN_ORDER = 0.7  # by the rank correlation of the nearness of levels and how often a task has both,
_MIN_MIXED = 5  # with so many pairs of different answers to a task, per pair of levels
_CODES = (-9, -99, -999, -9999, -99999, 77, 88, 99, 888, 999, 8888, 9999, 99999)  # often mean that there is no answer,
_FAR = 3  # if they are so many times as far from other numbers as these are from each other


def guess_numbers(labels: Column, answers: int, sample: Sample | None) -> Domain:
    """Return the label type of numbers: classes, levels, or real; ask about codes such as -999 among them."""
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
    """Ask about numbers that often stand for no answer, where they are far from all others."""
    codes = [code for code in _CODES if (numbers == code).any()]
    if not codes or not len(others := numbers[~np.isin(numbers, codes)]):
        return
    low, high = float(others.min()), float(others.max())
    least = {code: (1 if code < 0 <= low else _FAR) * (high - low) for code in codes}
    far = [code for code in codes if max(low - code, code - high) >= least[code]]
    if far and high > low:
        raise LabelError(
            f"Among the labels stands {' and '.join(map(str, far))}, far from all others, which are from {low:g} to"
            f" {high:g}. If that means 'no answer', leave it out; if it is an answer, say domain='real' or"
            " domain='categorical'.",
            abstain_label=far[0] if len(far) == 1 else tuple(far),
        )


def _are_levels(labels: Column, tasks: Codes) -> bool:
    """Return whether numbers are levels: the nearer two of them are, the more often a task has both, beyond chance.

    Classes may have any numbers, so that one which is confused with 2 is as often 5 as 3.
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
    """Return the centred ranks of values; ties share theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - counts / 2)[place] - len(values) / 2


def _are_final_answers(numbers: Any, tasks: Codes) -> bool:
    """Return whether numbers are right or wrong: often the same as others of their task, and else far from them.

    Measurements of a thing are close to each other and seldom the same; ratings are the same in all tasks.
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


# Forms of numbers: a unit, separators of thousands, a decimal comma, bounds. Those that fit every label are left.

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
_FEW_ITEMS, _SMALL = 20, 20  # numbers such as 1,2 may be sets of so few items that are so small
_MAX_ODD = 0.2  # share of the labels that may not be numbers, where others have units


def find_number_form(texts: Sequence[str]) -> NumberForm | None:
    """Return how numbers are written if all texts are numbers, and nothing if they are not or plain; or ask."""
    if not any(any(map(str.isdigit, text)) and not text.strip()[:1].islower() for text in texts):
        return None  # before a pattern is compiled that takes longer than the rest
    matches = [_NUMBER.fullmatch(text) if len(text) <= _MAX_CHARACTERS else None for text in texts]
    numbers = [number for number in matches if number is not None]
    first: dict[str, re.Match[str]] = {}  # the first number with each unit
    for number in numbers:
        first.setdefault(_read_unit(number).unit.casefold(), number)
    if odd := [text for text, number in zip(texts, matches, strict=True) if number is None]:
        if len(first) == 1 and "" not in first and len(odd) <= _MAX_ODD * len(texts):
            raise LabelError(
                f"Most labels are numbers such as {numbers[0][0]!r}, but {odd[0]!r} is none. If it means that there is"
                " no answer, leave it out.",
                abstain_label=odd[0] if len(odd) == 1 else tuple(odd),
            )
        return None
    bare = first.pop("", None)
    if len(first) > 1:
        shown = ", ".join(f"{_read_unit(number).unit} in {number[0]!r}" for number in [*first.values()][:3])
        raise LabelError(f"The labels have different units: {shown}. Write all of them in one unit. {OR_CLASSES}")
    example = next(iter(first.values()), numbers[0])
    form = _find_marks(numbers, _read_unit(example))
    if first and bare is not None:
        raise LabelError(
            f"Some labels have a unit, such as {example[0]!r}, and others have none, such as {bare[0]!r}. If all are"
            f" meant in {_read_unit(example).unit}, say so.",
            domain=f'real(form="{form or _read_unit(example)}")',
        )
    return None if form == NumberForm() else form


def _read_unit(number: re.Match[str]) -> NumberForm:
    return NumberForm(unit=number["before"] or number["behind"] or "", before=bool(number["before"]))


def _find_marks(numbers: Sequence[re.Match[str]], form: NumberForm) -> NumberForm | None:
    """Return the form with the separators of all numbers; nothing if none fit all, and ask if two do."""
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
        f"Numbers such as {marked!r} can be read in two ways: as {likelier}, or as {other}, of which each is 1234.5 as"
        " the labels would have it.",
        domain=f'real(form="{likelier}")',
    )


def _ask_sets(digits: set[str], example: str) -> None:
    """Ask whether numbers with a decimal comma are sets of small numbers, such as 1,2."""
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
