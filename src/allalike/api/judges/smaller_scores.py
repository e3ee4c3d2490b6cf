"""Smaller panels of scores: how far from the truth the best panel of each size is, and what it costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import text_column
from allalike.api.judges.finding import divide

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.api.judges.finding import Columns
    from allalike.api.judges.scores import Scores
    from allalike.api.judges.smaller_panels import Prices
    from allalike.api.judges.trials import Sizes

__all__ = ["SmallerScores"]


@dataclass(frozen=True)
class SmallerScores:
    """What panels of each size are worth, and the smallest that keeps nearly all.

    Parameters
    ----------
    found
        What panels of each size are worth, from 0 for the verdict on another task to 1 for the truth.
    scores
        The tasks that say so.
    keep
        Which share of the whole panel's worth the smallest one keeps.
    known_error
        Of each judge: her error where truths are known; NaN where they are not.
    prices
        What judges cost, if it is known.
    """

    found: Sizes
    scores: Scores
    keep: float
    known_error: Floats
    prices: Prices | None = None

    @property
    def unit(self) -> str:
        """What an error is called."""
        return "rmse" if self.scores.is_square else "distance"

    def describe(self) -> dict[str, Any]:
        """Tell of the smallest panel, and what it costs beside all judges."""
        place, found = self.found.smallest(self.keep), self.found
        told = {
            "worth_from": "gold" if self.scores.by_gold else "panel",
            "error_unit": self.unit,
            "error": self._errors(found.whole),
            "guess_error": self._errors(0.0, always=True),
            "worth": found.whole,
            "smallest": {
                "size": len(self._members),
                "members": [self.judges[judge] for judge in self._members],
                "keep": self.keep,
                "worth": float(found.worth[place]),
                "error": self._errors(float(found.worth[place]), always=True),
                "kept": float(found.worth[place] / found.whole) if found.whole > 0 else 1.0,
                "lost": [float(found.low[place]), float(found.high[place])],
                "agreement": float(found.agreement[place]),
            },
        }
        if self.prices is None:
            return told
        all_, few = (self.prices.of(who) for who in (tuple(range(len(self.judges))), self._members))
        return {**told, "cost": {"panel": all_, "smallest": few}}

    def tables(self) -> dict[str, Columns]:
        """Return a row for each size of a panel."""
        found = self.found
        columns: dict[str, Values | Array] = {
            "size": np.array([len(members) for members in found.members]),
            "members": text_column(
                ["; ".join(str(self.judges[judge]) for judge in members) for members in found.members]
            ),
            self.unit: np.array([self._errors(float(worth), always=True) for worth in found.worth]),
            "worth": found.worth,
            "kept": divide(found.worth, np.full(len(found.worth), found.whole)),
            "lost_low": found.low,
            "lost_high": found.high,
            "agreement": found.agreement,
        }
        if self.prices is not None:
            columns["cost"] = np.array([self.prices.of(members) for members in found.members])
        return {"sizes": columns}

    def judge_columns(self) -> Columns:
        """Say how far each judge is from known truths, who is in the smallest panel, and what each costs."""
        members = np.isin(np.arange(len(self.judges)), self._members)
        columns: dict[str, Values | Array] = {f"known_{self.unit}": self.known_error, "in_smallest": members}
        if self.prices is not None:
            columns |= {"price": self.prices.price, "cost": self.prices.price * self.prices.answers}
        return columns

    @property
    def judges(self) -> Values:
        """Who the judges are."""
        return self.scores.run.workers

    @property
    def _members(self) -> tuple[int, ...]:
        return self.found.members[self.found.smallest(self.keep)]

    def _errors(self, worth: float, *, always: bool = False) -> float:
        """Return the error of a worth; that of the whole panel is not known without truths, unless it has limits."""
        known = always or self.scores.by_gold or bool(self.scores.own.any())
        return float(self.scores.error_of(worth)) if known else math.nan
