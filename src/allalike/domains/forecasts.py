"""Forecasts as they are written: a probability, a list of them, or a mapping from options to them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from allalike._core.system.json_text import parse_json
from allalike.domains.rankings.items import in_order

__all__ = ["FORMS", "Forecast", "read_forecast", "show_forecast"]

FORMS = {"number": "a number", "list": "a list", "mapping": "a mapping"}
_WANTED = "a forecast is a probability, a list of them, or a mapping from options to them"
_YES_OR_NO = ("no", "yes")
_SUM_TOLERANCE = 0.011  # three numbers with two digits each may add up to 0.99
_ROUNDING_ERROR = 1e-9  # sums that are as close to 1 as that are 1, and their numbers stay as they were written


class Forecast(NamedTuple):
    """One label: the form in which it was given, its options in their order, and their probabilities."""

    form: str
    options: tuple[Any, ...]
    chances: tuple[float, ...]


def read_forecast(value: Any) -> Forecast:
    """Read a forecast; raise ValueError with the reason if it is none.

    >>> read_forecast(0.25)
    Forecast(form='number', options=('no', 'yes'), chances=(0.75, 0.25))
    >>> read_forecast('{"sun": 0.7, "rain": 0.3}')
    Forecast(form='mapping', options=('rain', 'sun'), chances=(0.3, 0.7))
    >>> read_forecast(70)
    Traceback (most recent call last):
    ValueError: 70 is no probability, which is between 0 and 1; if these are percent, divide them by 100
    """
    if isinstance(value, str):
        value = _read_text(value.strip())
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        # in a column of records, all have the options of all tasks, and those of other tasks are empty
        named = {_option(option): chance for option, chance in value.items() if chance is not None}
        return Forecast("mapping", tuple(in_order(named)), _spread(named))
    if isinstance(value, list | tuple):
        return Forecast("list", tuple(range(len(value))), _spread(dict(enumerate(value))))
    yes = _chance(value)
    return Forecast("number", _YES_OR_NO, (1 - yes, yes))


def show_forecast(forecast: Forecast) -> Any:
    """Return a forecast in the form in which it was given.

    >>> show_forecast(Forecast("mapping", ("a", "b"), (0.2, 0.8))), show_forecast(Forecast("number", (), (0.2, 0.8)))
    ({'a': 0.2, 'b': 0.8}, 0.8)
    """
    form, options, chances = forecast
    if form == "number":
        return chances[1]
    return list(chances) if form == "list" else dict(zip(options, chances, strict=True))


def _read_text(text: str) -> Any:
    """Read a number, or JSON."""
    if text.endswith("%"):
        raise ValueError("a probability is between 0 and 1; divide percent by 100")
    try:
        return parse_json(text, object_pairs_hook=_without_repeats) if text[:1] in ("[", "{") else float(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON ({error.msg} at character {error.pos + 1})") from None
    except ValueError as error:
        raise (error if text[:1] == "{" else ValueError(_WANTED)) from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("it names an option twice")
    return dict(pairs)


def _option(option: Any) -> Any:
    """Check the name of an option."""
    if isinstance(option, np.generic):
        option = option.item()
    if isinstance(option, bool) or not isinstance(option, str | int):
        raise ValueError(f"its option {option!r} is neither text nor a whole number")
    if isinstance(option, str):
        option.encode()  # half a character, as "\ud800", can be compared but not written
    return option


def _spread(given: dict[Any, Any]) -> tuple[float, ...]:
    """Return the probabilities of some options in their order, which add up to 1."""
    if not given:
        raise ValueError("it has no options")
    chances = [_chance(given[option]) for option in in_order(given)]
    total = math.fsum(chances)
    if abs(total - 1) > _SUM_TOLERANCE:
        raise ValueError(f"its probabilities add up to {total:.6g}, and not to 1; write 0 for what cannot be")
    return tuple(chances) if abs(total - 1) <= _ROUNDING_ERROR else tuple(chance / total for chance in chances)


def _chance(value: Any) -> float:
    """Check one probability."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        raise ValueError("a truth value is no probability; write 1 for yes and 0 for no")
    if not isinstance(value, int | float):
        raise ValueError(_WANTED)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no probability; a missing answer is a missing row")
    if not -_ROUNDING_ERROR <= value <= 1 + _ROUNDING_ERROR:
        hint = "; if these are percent, divide them by 100" if 1 < value <= 100 else ""
        raise ValueError(f"{value} is no probability, which is between 0 and 1{hint}")
    return min(max(float(value), 0.0), 1.0)
