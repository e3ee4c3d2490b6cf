"""Prices: what an answer of each judge costs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.late import pd
from allalike.errors import InputError, OptionError

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats

__all__ = ["find_prices", "read_prices"]

_JUDGES = ("worker", "judge", "model")
_MAX_NAMED = 5


def read_prices(source: Any) -> dict[str, float]:
    """Return the price of an answer of each judge, from a mapping, a table or its path.

    A table has a column worker (or judge, or model) and a column price.

    >>> read_prices({"ada": 0.002, "bob": "0.01"})
    {'ada': 0.002, 'bob': 0.01}
    """
    if isinstance(source, Mapping):
        return {str(judge): _check(judge, price) for judge, price in source.items()}
    table = _read(os.fspath(source)) if isinstance(source, str | os.PathLike) else source
    columns = list(getattr(table, "columns", ()))
    name = next((column for column in _JUDGES if column in columns), None)
    if name is None or "price" not in columns:
        there = f"; these are there: {', '.join(map(str, columns))}" if columns else f", not a {type(source).__name__}"
        raise InputError(f"Prices are a mapping, or a table with the columns worker and price{there}.")
    judges = [str(judge) for judge in table[name]]
    for place, judge in enumerate(judges):
        if judge in judges[:place]:
            raise InputError(f"The prices name {judge!r} twice, the second time in row {place + 1}. Keep one of them.")
    return {judge: _check(judge, price) for judge, price in zip(judges, table["price"], strict=True)}


def find_prices(prices: Mapping[str, float], judges: Sequence[Any]) -> Floats:
    """Return the prices of these judges; each must have one, and nobody else may.

    >>> find_prices({"bob": 2.0, "ada": 1.0}, ["ada", "bob"])
    array([1., 2.])
    """
    names = [str(judge) for judge in judges]
    if strangers := [judge for judge in prices if judge not in names]:
        raise OptionError(f"There is a price of {_list(strangers)}, but no such judge. The judges are {_list(names)}.")
    if missing := [name for name in names if name not in prices]:
        raise OptionError(f"There is no price of {_list(missing)}. Give one for every judge, 0 where it costs nothing.")
    return np.array([prices[name] for name in names])


def _read(path: str) -> Any:
    if not Path(path).is_file():  # to open a pipe is to wait for whoever writes to it
        raise InputError(f"The prices {path} cannot be read: there is no such file.")
    try:
        if path.endswith(".parquet"):
            return pd.read_parquet(path)
        return pd.read_csv(path, dtype=dict.fromkeys(_JUDGES, str), keep_default_na=False)
    except (OSError, ValueError) as error:
        raise InputError(f"The prices {path} cannot be read: {error}") from None


def _check(judge: Any, price: Any) -> float:
    try:
        value = float(price)
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise OptionError(f"The price of {str(judge)!r} is {price!r}. It must be a number, 0 or more.")
    return value


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(map(repr, names[:_MAX_NAMED])) + more
