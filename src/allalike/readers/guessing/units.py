"""Units: numbers that are written with one, or with marks between thousands, a comma, or as bounds.

The form of all labels is found by trial: of the few ways to write numbers, those that fit every label are left. Where
two are left that differ, or labels have different units, it is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from allalike.domains.written_labels import BOUND, NumberForm
from allalike.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Sequence

_CURRENCIES = r"US\$|A\$|C\$|R\$|[$€£¥₹₽₩₺₪฿₴]|USD|EUR|GBP|JPY|CHF|CAD|AUD|CNY|INR|RUB|PLN|BRL|SEK|NOK|DKK"
_WORDS = (
    "% ‰ ° °c °f kg mg µg ug lb lbs oz ton tons tonnes km cm mm µm nm mi mile miles ft feet inch inches yd px pt em"
    " sec secs second seconds ms min mins minute minutes hr hrs hour hours day days week weeks month months year years"
    " yr yrs ml cl dl liter liters litre litres km/h kmh mph m/s kw kwh mw hz khz mhz ghz kb mb gb tb kcal cal kj pa"
    " hpa kpa bar psi bpm rpm db dba ppm ppb pct percent prozent m² km² ha m³ dollars euros euro eur usd"
    " gbp chf jpy pln rub cad aud cny inr brl jahre jahr tage tag stunden minuten sekunden ans an jours heures años año"
    " dias horas anni anno лет год кг км см мм 元 円 年 岁 公斤 米"
)
_LETTERS = frozenset(("g", "m", "s", "h", "t", "l", "L"))  # units of one letter, in this case only
_UNITS = frozenset(_WORDS.split())
_LABEL = re.compile(
    rf"(?P<bound>{BOUND})?\s*[-+\u2212]?\s*(?P<before>{_CURRENCIES})?\s*[-+\u2212]?"
    r"(?P<number>\d(?:[\d.,'\u2019 \u00a0\u2009\u202f]*\d)?|[.,]\d+)(?P<blank>\s*)(?P<behind>\D*)"
)
_UNIT = re.compile(r"[^\W\d_]{1,20}(?:[./ ]?[^\W\d_]{1,10})?[²³]?\.?|[%‰°]|°[CFcf]|[$€£¥₹₽₩₺₪฿₴]")
_MARKS = (("", "."), (",", "."), (" ", "."), ("'", "."), ("", ","), (".", ","), (" ", ","), ("'", ","))
_LIKE_SPACE, _LIKE_QUOTE = re.compile("[\u00a0\u2009\u202f]"), "\u2019"
_OTHER_SIZE = 20  # numbers without a unit that are so many times larger or smaller are hardly meant in it
_MOST_ODD = 0.2  # of the labels may be no numbers, where others have units, for them to be asked about
_FEW_ITEMS, _SMALL = 20, 20  # numbers such as 1,2 may be sets of so few items that are so small


@dataclass(frozen=True)
class _Number:
    """A label that is a number: its digits and marks, its unit, and whether it is a bound."""

    text: str
    digits: str
    unit: str = ""
    before: bool = False
    bound: bool = False


def find_number_form(texts: Sequence[str]) -> NumberForm | None:
    """Return how numbers are written if all texts are numbers, and nothing if they are none or plain; or ask.

    >>> for texts in (["46%", "5 %"], ["$11.45", "$3"], ["45,511", "500"], ["45,511", "45,5"], ["1.245,26 €"]):
    ...     print(find_number_form(texts))
    1234.5%
    $1234.5
    1,234.5
    1234,5
    1.234,5 €
    >>> find_number_form(["x17", "x18"]) is find_number_form(["17", "007"]) is None
    True
    >>> find_number_form(["45 kg", "99 lb"])
    Traceback (most recent call last):
    allalike.errors.LabelError: The labels have different units: kg in '45 kg', lb in '99 lb'. Write all of them in one
    unit. If they are right or wrong, and not near or far, say domain='categorical'.
    """
    read = [_read(text) for text in texts]
    numbers = [number for number in read if number is not None]
    if len(numbers) < len(read):
        _ask_odd(texts, read)
        return None
    unit = _find_unit(numbers)
    if unit is None:
        return None
    form = _find_marks(numbers, NumberForm(unit=unit.unit, before=unit.before))
    if form is None:
        return None
    _ask_bounds(numbers, form)
    return None if form == NumberForm() else form


def _read(text: str) -> _Number | None:
    found = _LABEL.fullmatch(text.strip())
    if found is None:
        return None
    behind = found["behind"].strip()
    if behind and (found["before"] or not _may_be_unit(behind, apart=bool(found["blank"]))):
        return None
    digits = _LIKE_SPACE.sub(" ", found["number"]).replace(_LIKE_QUOTE, "'")
    return _Number(text, digits, found["before"] or behind, bool(found["before"]), bool(found["bound"]))


def _may_be_unit(word: str, *, apart: bool) -> bool:
    if _is_known(word):
        return True
    return _UNIT.fullmatch(word) is not None and (apart or len(word) > 1)


def _is_known(word: str) -> bool:
    currency = re.fullmatch(_CURRENCIES, word) is not None
    return currency or word in _LETTERS or (word.rstrip(".").casefold() in _UNITS)


def _find_unit(numbers: Sequence[_Number]) -> _Number | None:
    """Return a number that has the unit of all, or none of them; nothing if words behind numbers are no units."""
    first: dict[str, _Number] = {}
    for number in numbers:
        first.setdefault(number.unit.casefold(), number)
    bare = first.pop("", None)
    if not first:
        return bare
    if len(first) == 1:
        (unit,) = first.values()
        if bare is None:
            return unit if _is_known(unit.unit) or len(numbers) > 1 else None
        if _is_known(unit.unit):
            form = _find_marks(numbers, NumberForm(unit=unit.unit, before=unit.before)) or NumberForm(unit=unit.unit)
            _refuse_other_sizes(
                unit, [[each for each in numbers if bool(each.unit) == has] for has in (True, False)], form
            )
            raise LabelError(
                f"Some labels have a unit, such as {unit.text!r}, and others have none, such as {bare.text!r}. If all"
                f" are meant in {unit.unit}, say so.",
                domain=f'real(form="{form}")',
            )
    if len(first) > 1 and all(_is_known(number.unit) for number in first.values()):
        shown = ", ".join(f"{number.unit} in {number.text!r}" for number in list(first.values())[:3])
        raise LabelError(
            f"The labels have different units: {shown}. Write all of them in one unit. If they are right or wrong, and"
            " not near or far, say domain='categorical'."
        )
    return None


def _refuse_other_sizes(unit: _Number, groups: Sequence[Sequence[_Number]], form: NumberForm) -> None:
    """Stop where numbers without a unit are all much larger or smaller than those with one, as 0.46 beside 46%."""
    try:
        having, bare = ([abs(form.parse(each.text)) for each in group if not each.bound] for group in groups)
    except ValueError:  # of numbers in another form
        return
    smaller, larger = sorted((having, bare), key=lambda sizes: max(sizes, default=0.0))
    if smaller and larger and _OTHER_SIZE * median(smaller) < median(larger) and max(smaller) < min(larger):
        raise LabelError(
            f"Some labels are in {unit.unit}, such as {unit.text!r}, and others, such as {groups[1][0].text!r}, have no"
            f" unit and are all much {'smaller' if smaller is bare else 'larger'}: they are hardly meant in"
            f" {unit.unit}. Write all of them in one way."
        )


def _find_marks(numbers: Sequence[_Number], form: NumberForm) -> NumberForm | None:
    """Return the form with the marks that all numbers have; nothing if no marks fit all, and ask if two do."""
    digits = {number.digits for number in numbers}
    fitting = [
        replace(form, thousands=thousands, decimal=decimal)
        for thousands, decimal in _MARKS
        if all(map(_pattern(thousands, decimal).fullmatch, digits))
    ]
    if not fitting:
        return None
    best = fitting[0]
    other = next((each for each in fitting[1:] if each.decimal != best.decimal), None)
    if other is None or not any(mark in text for text in digits for mark in ".,"):
        return _check_sets(numbers, best)
    if best.thousands == "," and not _look_decimal(digits):  # 45,511 and nothing that says otherwise
        return best
    if best == form and not (form.unit and re.fullmatch(_CURRENCIES, form.unit)):  # 45.511
        return best
    example = next(number.text for number in numbers if "." in number.digits or "," in number.digits)
    first, second = (other, best) if best.thousands == "," else (best, other)
    raise LabelError(
        f"Numbers such as {example!r} can be read in two ways: as {first}, or as {second}, of which each is 1234.5 as"
        " the labels would have it.",
        domain=f'real(form="{first}")',
    )


def _pattern(thousands: str, decimal: str) -> re.Pattern[str]:
    groups = rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|" if thousands else ""
    return re.compile(rf"(?:{groups}\d+)(?:{re.escape(decimal)}\d+)?|{re.escape(decimal)}\d+")


def _look_decimal(digits: set[str]) -> bool:
    """Tell whether some number speaks against commas between thousands: 0,511, or 4500 without a comma."""
    return any(text.startswith("0,") or (len(text) > 3 and text.isdecimal()) for text in digits)


def _check_sets(numbers: Sequence[_Number], form: NumberForm) -> NumberForm:
    """Ask where numbers with a comma before the fraction may as well be sets of small numbers, such as 1,2."""
    if form.unit or form.decimal != "," or form.thousands:
        return form
    pieces = [number.digits.split(",") for number in numbers]
    items = {piece for each in pieces for piece in each}
    if len(items) > _FEW_ITEMS or any(not item or str(int(item)) != item or int(item) > _SMALL for item in items):
        return form
    rising = all(int(each[0]) < int(each[-1]) for each in pieces if len(each) > 1)
    example = next(number.text for number, each in zip(numbers, pieces, strict=True) if len(each) > 1)
    raise LabelError(
        f'Labels such as {example!r} may be numbers with a comma before the fraction, real(form="1234,5"), or sets'
        ' of items, set(separator=",").',
        domain='set(separator=",")' if rising else 'real(form="1234,5")',
    )


def _ask_bounds(numbers: Sequence[_Number], form: NumberForm) -> None:
    """Ask what to do with bounds, if there are any."""
    bounds = [number.text for number in numbers if number.bound]
    if bounds:
        rough = bounds[0].strip()[0] in "~≈"
        raise LabelError(
            f"{len(bounds):,} of {len(numbers):,} different labels are {'rough' if rough else 'bounds'}, such as"
            f" {bounds[0]!r}, and the others numbers. {'It' if rough else 'A bound'} can be read as the number that it"
            f" names, or be left out: abstain={bounds[0]!r}.",
            domain=f'real(form="{replace(form, bounds=True)}")',
        )


def _ask_odd(texts: Sequence[str], read: Sequence[_Number | None]) -> None:
    """Ask about the few labels that are no numbers, where most have the same unit."""
    units = Counter(number.unit.casefold() for number in read if number is not None)
    unit, often = max(units.items(), key=lambda item: item[1], default=("", 0))
    odd = [text for text, number in zip(texts, read, strict=True) if number is None]
    if unit and _is_known(unit) and often == len(read) - len(odd) and len(odd) <= _MOST_ODD * len(texts):
        example = next(number.text for number in read if number is not None)
        raise LabelError(
            f"Most labels are numbers such as {example!r}, but {odd[0]!r} is none. If it means that there is no answer,"
            " leave it out.",
            abstain=odd[0] if len(odd) == 1 else tuple(odd),
        )
