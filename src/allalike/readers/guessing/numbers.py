"""Labels that are numbers: whether they are classes, levels or measurements, and the form in which they are written."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike.domains import DOMAINS, Domain
from allalike.domains.written_labels import BOUND, NumberForm
from allalike.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike._core.columns.factors import Codes
    from allalike.answers.stream import Sample

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
_MIN_MIXED = 5  # and each two levels have this many pairs of different answers to a task
_CODES = (-9, -99, -999, -9999, -99999, 77, 88, 99, 888, 999, 8888, 9999, 99999)  # which often stand for no answer,
_FAR = 3  # where they are so many times as far from other numbers as these are from each other


def guess_numbers(labels: Column, answers: int, sample: Sample | None) -> Domain:
    """Return the label type of numbers: classes, levels, or real; ask about codes such as -999 among them.

    >>> said = Column.of_objects("label", [1, 2, 2, 3, 3, 4, 4, 5] * 20)
    >>> tasks = np.arange(160) // 2
    >>> guess_numbers(said, 160, None).name, guess_numbers(said, 160, lambda: (said, tasks)).name
    ('categorical', 'ordinal')
    """
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
    others = numbers[~np.isin(numbers, codes)] if codes else numbers[:0]
    if not len(others):
        return
    low, high = float(others.min()), float(others.max())
    least = {code: (1 if code < 0 <= low else _FAR) * (high - low) for code in codes}
    far = [code for code in codes if max(low - code, code - high) >= least[code]]
    if far and high > low:
        raise LabelError(
            f"Among the labels stands {' and '.join(map(str, far))}, far from all others, which are from {low:g} to"
            f" {high:g}. If that means 'no answer', leave it out; if it is an answer, say domain='real' or"
            " domain='categorical'.",
            abstain=far[0] if len(far) == 1 else tuple(far),
        )


def _are_levels(labels: Column, tasks: Codes) -> bool:
    """Return whether numbers are levels: the nearer two of them are, the more often a task has both, beyond chance.

    Numbers of classes are in any order, so that one which is confused with 2 is as often 5 as 3.
    """
    levels, place = np.unique(labels.numbers, return_inverse=True)
    counts = np.zeros((int(tasks.max(initial=0)) + 1, len(levels)))
    np.add.at(counts, (tasks, place), 1.0)
    low, high = np.triu_indices(len(levels), 1)
    both, said = (counts.T @ counts)[low, high], counts.sum(axis=0)
    if len(low) < 2 or both.sum() < _MIN_MIXED * len(low):
        return False
    near, often = (_rank(each) for each in (levels[low] - levels[high], both / (said[low] * said[high])))
    return bool(near @ often >= _MIN_ORDER * np.sqrt((near @ near) * (often @ often)) > 0)


def _rank(values: Any) -> Any:
    """Return the ranks of values less their mean; those that are the same share theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - counts / 2)[place] - len(values) / 2


def _are_final_answers(numbers: Any, tasks: Codes) -> bool:
    """Return whether numbers are right or wrong: often the same as others of their task, and else far from them.

    Measurements of a thing are close to each other and seldom the same; ratings are the same in all tasks.
    """
    order = np.lexsort((numbers, tasks))
    numbers, tasks = numbers[order], tasks[order]
    new_task = np.append(True, tasks[1:] != tasks[:-1])
    begins = np.flatnonzero(new_task)
    sizes = np.diff(np.append(begins, len(tasks)))
    new_number = new_task | np.append(True, numbers[1:] != numbers[:-1])
    pairs, equal = _count_pairs(sizes), _count_pairs(np.bincount(np.cumsum(new_number) - 1))
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


# Forms of numbers: a unit, marks between thousands, a decimal comma, bounds. Of the few ways to write numbers, those
# that fit every label are left. Where two are left that differ, or labels have different units, it is asked.

_CURRENCY = r"US\$|A\$|C\$|R\$|[$€£¥₹₽₩₺₪฿₴]|USD|EUR|GBP|JPY|CHF|CAD|AUD|CNY|INR|RUB|PLN|BRL|SEK|NOK|DKK"
_WORDS = (
    "% ‰ ° °c °f kg mg µg ug lb lbs oz ton tons tonnes km cm mm µm nm mi mile miles ft feet inch inches yd px pt em"
    " sec secs second seconds ms min mins minute minutes hr hrs hour hours day days week weeks month months year years"
    " yr yrs ml cl dl liter liters litre litres km/h kmh mph m/s kw kwh mw hz khz mhz ghz kb mb gb tb kcal cal kj pa"
    " hpa kpa bar psi bpm rpm db dba ppm ppb pct percent m² km² ha m³ dollars euros euro"
)
_UNIT = rf"{_CURRENCY}|[gmshtlL]|(?i:{'|'.join(_WORDS.split())})\.?"  # single letters in this case only
_NUMBER = re.compile(
    rf"\s*(?P<bound>{BOUND})?\s*[-+\u2212]?\s*(?P<before>{_CURRENCY})?\s*[-+\u2212]?"
    rf"(?P<digits>\d(?:[\d.,'\u2019 \u00a0\u2009\u202f]*\d)?|[.,]\d+)\s*(?(before)|(?P<behind>{_UNIT})?)\s*"
)
_MARKS = (("", "."), (",", "."), (" ", "."), ("'", "."), ("", ","), (".", ","), (" ", ","), ("'", ","))
_LONGEST = 100  # characters of a number with its unit
_MOST_ODD = 0.2  # of the labels may be no numbers, where others have units, for them to be asked about
_FEW_ITEMS, _SMALL = 20, 20  # numbers such as 1,2 may be sets of so few items that are so small


def find_number_form(texts: Sequence[str]) -> NumberForm | None:
    """Return how numbers are written if all texts are numbers, and nothing if they are none or plain; or ask.

    >>> str(find_number_form(["1.245,26 €", "7 €"])), find_number_form(["17", "007"])
    ('1.234,5 €', None)
    """
    read = [_NUMBER.fullmatch(text) if len(text) <= _LONGEST else None for text in texts]
    numbers = [number for number in read if number is not None]
    first: dict[str, re.Match[str]] = {}  # the first number with each unit
    for number in numbers:
        first.setdefault(_unit_of(number).unit.casefold(), number)
    odd = [text for text, number in zip(texts, read, strict=True) if number is None]
    if odd:
        if len(first) == 1 and "" not in first and len(odd) <= _MOST_ODD * len(texts):
            raise LabelError(
                f"Most labels are numbers such as {numbers[0][0]!r}, but {odd[0]!r} is none. If it means that there is"
                " no answer, leave it out.",
                abstain=odd[0] if len(odd) == 1 else tuple(odd),
            )
        return None
    bare = first.pop("", None)
    if len(first) > 1:
        shown = ", ".join(f"{_unit_of(number).unit} in {number[0]!r}" for number in [*first.values()][:3])
        raise LabelError(
            f"The labels have different units: {shown}. Write all of them in one unit. If they are right or wrong, and"
            " not near or far, say domain='categorical'."
        )
    example = next(iter(first.values()), numbers[0])
    form = _find_marks(numbers, _unit_of(example))
    if first and bare is not None:
        raise LabelError(
            f"Some labels have a unit, such as {example[0]!r}, and others have none, such as {bare[0]!r}. If all are"
            f" meant in {_unit_of(example).unit}, say so.",
            domain=f'real(form="{form or _unit_of(example)}")',
        )
    bounds = [number[0] for number in numbers if number["bound"]]
    if form is not None and bounds:
        raise LabelError(
            f"{len(bounds):,} of {len(numbers):,} different labels are bounds or rough, such as {bounds[0]!r}, and the"
            f" others numbers. They can be read as the numbers that they name, or be left out: abstain={bounds[0]!r}.",
            domain=f'real(form="{replace(form, bounds=True)}")',
        )
    return None if form == NumberForm() else form


def _unit_of(number: re.Match[str]) -> NumberForm:
    return NumberForm(unit=number["before"] or number["behind"] or "", before=bool(number["before"]))


def _find_marks(numbers: Sequence[re.Match[str]], form: NumberForm) -> NumberForm | None:
    """Return the form with the marks that all numbers have; nothing if no marks fit all, and ask if two do."""
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
    """Ask where numbers with a comma before the fraction may as well be sets of small numbers, such as 1,2."""
    sets = [text.split(",") for text in digits]
    items = {item for each in sets for item in each}
    if len(items) > _FEW_ITEMS or any(not item or str(int(item)) != item or int(item) > _SMALL for item in items):
        return
    rising = all(int(each[0]) < int(each[-1]) for each in sets if len(each) > 1)
    raise LabelError(
        f'Labels such as {example!r} may be numbers with a comma before the fraction, real(form="1234,5"), or sets'
        ' of items, set(separator=",").',
        domain='set(separator=",")' if rising else 'real(form="1234,5")',
    )
