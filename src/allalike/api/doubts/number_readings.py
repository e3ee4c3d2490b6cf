"""Readings of known numbers: whether they are in the unit of the answers, and in which one they may be.

Crowds over- and underestimate, but in 26 public crowds by no more than a factor of 2. So known truths that are ten
times off, or off by exactly a pound in kilograms, are in another unit; and those that lie outside of nearly all answers
by the same number are counted from another one. The constants were chosen with all of these crowds in view.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike.api.doubts.class_readings import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from allalike._core.blocks.block import Floats

__all__ = ["KnownNumbers", "list_number_readings"]

_MIN_TASKS, _MIN_TIGHT = 5, 8
_MAX_INSIDE = 0.2  # of the truths that lie among the answers as they are
_MIN_RATIO = 5.0  # of truths and answers that are a power of ten apart
_MAX_SPREAD, _MAX_MISS = 0.7, 0.8  # of these ratios, in logarithms
_TIGHT = 0.05  # the same, of other factors
_MAX_LEFT = 0.15  # of the distance to the answers that is left
_MIN_CORRELATION = 0.8
_UNITS = {
    "*2.54": "inches are read as centimetres",
    "/2.54": "centimetres are read as inches",
    "*0.3048": "feet are read as metres",
    "/0.3048": "metres are read as feet",
    "*1.609344": "miles are read as kilometres",
    "/1.609344": "kilometres are read as miles",
    "*0.45359237": "pounds are read as kilograms",
    "/0.45359237": "kilograms are read as pounds",
    "*60": "each number is multiplied by 60",
    "/60": "each number is divided by 60",
    "*3600": "each number is multiplied by 3600",
    "/3600": "each number is divided by 3600",
}
_DEGREES = {
    "*1.8+32": ("Celsius is read as Fahrenheit", 1.8, 32.0),
    "*0.555555556-17.777777778": ("Fahrenheit is read as Celsius", 1 / 1.8, -32 / 1.8),
    "+273.15": ("Celsius is read as Kelvin", 1.0, 273.15),
    "-273.15": ("Kelvin is read as Celsius", 1.0, -273.15),
}


@dataclass(frozen=True)
class KnownNumbers:
    """Known numbers of some tasks, and the plain truths, the smallest and the largest answers beside them."""

    known: Floats
    found: Floats
    low: Floats
    high: Floats

    def agree(self, numbers: Floats) -> int:
        """Count the tasks whose truth lies among the answers."""
        room = 1e-9 * np.maximum(np.abs(self.low), np.abs(self.high))
        return int(((numbers >= self.low - room) & (numbers <= self.high + room)).sum())


def list_number_readings(numbers: KnownNumbers) -> list[Reading]:
    """List other readings that the answers clearly speak for, that with which most tasks agree first.

    >>> found = np.array([1500.0, 2100.0, 900.0, 4000.0, 3300.0])
    >>> numbers = KnownNumbers(np.array([1.4, 2.2, 1.0, 4.1, 3.0]), found, 0.8 * found, 1.2 * found)
    >>> list_number_readings(numbers)
    [Reading(what='each number is multiplied by 1000', gold_map='*1000', agree=5)]
    """
    n_tasks, inside = len(numbers.known), numbers.agree(numbers.known)
    if n_tasks < _MIN_TASKS or inside > _MAX_INSIDE * n_tasks:
        return []
    listed = [Reading(what, text, numbers.agree(read)) for what, text, read in _propose(numbers)]
    return sorted((each for each in listed if each.agree > inside), key=lambda each: -each.agree)


def _propose(numbers: KnownNumbers) -> Iterator[tuple[str, str, Floats]]:
    yield from _factors(numbers.known, numbers.found)
    yield from _shifts(numbers.known, numbers.found)


def _factors(known: Floats, found: Floats) -> Iterator[tuple[str, str, Floats]]:
    """Multiply by a power of ten, or by the ratio of two units."""
    same = known * found > 0
    if same.mean() < 0.9:
        return
    ratios = np.log(found[same] / known[same])
    ratio = float(np.median(ratios))
    spread = float(np.median(np.abs(ratios - ratio)))
    power = round(ratio / np.log(10))
    if power and abs(ratio) >= np.log(_MIN_RATIO) and spread <= _MAX_SPREAD and _is_near(ratio, 10.0**power, _MAX_MISS):
        text, done = f"{10 ** abs(power)}", "multiplied" if power > 0 else "divided"
        yield f"each number is {done} by {text}", f"{'*' if power > 0 else '/'}{text}", known * 10.0**power
    for text, what in _UNITS.items() if len(known) >= _MIN_TIGHT and spread <= 2 * _TIGHT else ():
        factor = float(text[1:]) if text[0] == "*" else 1 / float(text[1:])
        if _is_near(ratio, factor, _TIGHT):
            yield what, text, known * factor


def _is_near(ratio: float, factor: float, most: float) -> bool:
    return abs(ratio - float(np.log(factor))) <= most


def _shifts(known: Floats, found: Floats) -> Iterator[tuple[str, str, Floats]]:
    """Add a whole number, or change degrees."""
    if not _go_together(known, found):
        return
    step = _round_step(found - known)
    if step and np.all(known == np.round(known)) and _fits(known, found, known + step):
        yield f"{abs(step)} is {'added to' if step > 0 else 'taken from'} each number", f"{step:+d}", known + step
    for text, (what, factor, plus) in _DEGREES.items():
        if _fits(known, found, known * factor + plus):
            yield what, text, known * factor + plus


def _round_step(apart: Floats) -> int:
    """Return the whole number with the fewest digits by which numbers are apart, as far as these tell."""
    middle = float(np.median(apart))
    spread = float(np.median(np.abs(apart - middle)))
    steps = (round(middle / unit) * unit for unit in (10**power for power in range(9, -1, -1)))
    return next((step for step in steps if step and abs(step - middle) <= spread), round(middle))


def _go_together(known: Floats, found: Floats) -> bool:
    from scipy.stats import rankdata

    one, two = rankdata(known), rankdata(found)
    return bool(np.ptp(one) and np.ptp(two) and np.corrcoef(one, two)[0, 1] >= _MIN_CORRELATION)


def _fits(known: Floats, found: Floats, read: Floats) -> bool:
    left: npt.NDArray[np.float64] = np.abs(found - read)
    return bool(np.median(left) <= _MAX_LEFT * np.median(np.abs(found - known)))
