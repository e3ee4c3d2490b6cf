"""Finding: one thing that is known of a panel beside its verdicts.

Each is found by a module of its own, and says what it has to say in three places: in the summary, in tables, and as
columns of the table of judges. A panel only puts them together, and the sentences are those of `telling.judges`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values

__all__ = ["Columns", "Finding", "divide", "ratio"]

Columns = Mapping[str, "Values | Array"]


class Finding(Protocol):
    """What a panel is told about itself."""

    def describe(self) -> Mapping[str, Any]:
        """Return what stands in the summary, as what JSON can hold; unknown numbers are NaN."""

    def tables(self) -> Mapping[str, Columns]:
        """Return the tables that are saved, by name, each as its columns."""

    def judge_columns(self) -> Columns:
        """Return columns with a row for each judge."""


def divide(upper: Floats, lower: Floats) -> Floats:
    """Divide, with NaN where there is nothing to divide by.

    >>> divide(np.array([1.0, 1.0]), np.array([2.0, 0.0]))
    array([0.5, nan])
    """
    known = lower > 0
    return np.where(known, upper / np.where(known, lower, 1.0), np.nan)


def ratio(upper: float, lower: float) -> float:
    """Divide one number by another, with NaN where there is nothing to divide by."""
    return upper / lower if lower > 0 else math.nan
