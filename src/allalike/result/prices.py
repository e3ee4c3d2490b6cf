"""Prices of the answers of each worker or judge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.errors import InputError, OptionError
from allalike.readers.formats.source import cells
from allalike.readers.sources import open_table

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats

_WORKER_COLUMNS = ("worker", "judge", "model")
_FORM = "Prices are a mapping, or a table with the columns worker and price"
_MAX_NAMED = 5


def read_prices(source: Any) -> dict[str, float]:
    """Return the price of an answer of each judge, from a mapping, a table or its path.

    A table has a column worker (or judge, or model) and a column price.

    >>> read_prices({"ada": 0.002, "bob": "0.01"})
    {'ada': 0.002, 'bob': 0.01}
    """
    if isinstance(source, Mapping):
        return {str(judge): _check_price(judge, price) for judge, price in source.items()}
    try:
        table = open_table(source)
    except InputError as error:
        raise InputError(f"{_FORM}, and these cannot be read. {error}") from None
    name = next((column for column in _WORKER_COLUMNS if column in table.names), None)
    if name is None or "price" not in table.names:
        raise InputError(f"{_FORM}; these are there: {', '.join(table.names)}.")
    judges, prices = (cells(column) for column in table.load([name, "price"]).values())
    costs: dict[str, float] = {}
    for row, (judge, price) in enumerate(zip(map(str, judges), prices, strict=True), start=1):
        if judge in costs:
            raise InputError(f"The prices name {judge!r} twice, the second time in row {row}. Keep one of them.")
        costs[judge] = _check_price(judge, price)
    return costs


def find_prices(prices: Mapping[str, float], judges: Sequence[Any]) -> Floats:
    """Return the prices of these judges; missing prices and prices of others are refused.

    >>> find_prices({"bob": 2.0, "ada": 1.0}, ["ada", "bob"])
    array([1., 2.])
    """
    names = [str(judge) for judge in judges]
    if strangers := [judge for judge in prices if judge not in names]:
        raise OptionError(
            f"There is a price of {_list_names(strangers)}, but no such judge. The judges are {_list_names(names)}."
        )
    if missing := [name for name in names if name not in prices]:
        raise OptionError(
            f"There is no price of {_list_names(missing)}. Give one for every judge, 0 where it costs nothing."
        )
    return np.array([prices[name] for name in names])


def _check_price(judge: Any, price: Any) -> float:
    try:
        value = float(price)
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise OptionError(f"The price of {str(judge)!r} is {price!r}. It must be a number, 0 or more.")
    return value


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(map(repr, names[:_MAX_NAMED])) + more
