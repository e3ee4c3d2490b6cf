"""Smaller panels: what the best panel of each size is worth and costs, and the smallest that errs little enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.ties import TOLERANCE
from allalike._core.columns.values import text_column
from allalike.api.judges.finding import divide, ratio

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.api.judges.finding import Columns
    from allalike.api.judges.trials import Judges, Sizes

__all__ = ["Prices", "SmallerPanels", "WantedError"]


@dataclass(frozen=True)
class Prices:
    """What an answer of each judge costs, how many she gave, and how often she is right."""

    price: Floats
    answers: Floats
    right: Floats

    def of(self, members: tuple[int, ...]) -> float:
        """Return what some judges cost together."""
        judges = list(members)
        return float((self.price[judges] * self.answers[judges]).sum())

    def judge_columns(self) -> Columns:
        """Return price, cost, and cost of a correct verdict."""
        cost_per_correct = divide(self.price, self.right)
        return {"price": self.price, "cost": self.price * self.answers, "cost_per_correct": cost_per_correct}


@dataclass(frozen=True)
class SmallerPanels:
    """What panels of each size are worth, and the smallest that keeps nearly all.

    Parameters
    ----------
    found
        What panels of each size are worth.
    judges, n_tasks
        Who the judges are, and how many tasks there are.
    keep
        Which share of the whole panel's worth the smallest one keeps.
    by_gold
        Whether known truths say what panels are worth, and not the probabilities of the whole panel.
    prices
        What judges cost, if it is known.
    """

    found: Sizes
    judges: Values
    n_tasks: int
    keep: float
    by_gold: bool
    prices: Prices | None = None

    def describe(self) -> dict[str, Any]:
        """Tell of the smallest panel, and what it costs beside all judges."""
        place, found = self.found.smallest(self.keep), self.found
        smallest = {
            "size": len(self._members),
            "members": [self.judges[judge] for judge in self._members],
            "keep": self.keep,
            "accuracy": float(found.worth[place]),
            "kept": float(found.worth[place] / found.whole) if found.whole else 1.0,
            "lost": [float(found.low[place]), float(found.high[place])],
            "agreement": float(found.agreement[place]),
        }
        told = {"accuracy_from": "gold" if self.by_gold else "panel", "accuracy": found.whole, "smallest": smallest}
        if self.prices is None:
            return told
        all_, few = (self.prices.of(who) for who in (tuple(range(len(self.judges))), self._members))
        cost = {
            "panel": all_,
            "panel_per_correct": ratio(all_, self.n_tasks * found.whole),
            "smallest": few,
            "smallest_per_correct": ratio(few, self.n_tasks * float(found.worth[place])),
        }
        return {**told, "cost": cost}

    def tables(self) -> dict[str, Columns]:
        """Return a row for each size of a panel."""
        found, ids = self.found, self.judges
        columns: dict[str, Values | Array] = {
            "size": np.array([len(members) for members in found.members]),
            "members": text_column(["; ".join(str(ids[judge]) for judge in members) for members in found.members]),
            "accuracy": found.worth,
            "kept": divide(found.worth, np.full(len(found.worth), found.whole)),
            "lost_low": found.low,
            "lost_high": found.high,
            "agreement": found.agreement,
        }
        if self.prices is not None:
            cost = np.array([self.prices.of(members) for members in found.members])
            columns |= {"cost": cost, "cost_per_correct": divide(cost, found.worth * self.n_tasks)}
        return {"sizes": columns}

    def judge_columns(self) -> Columns:
        """Say who is in the smallest panel, and what each costs."""
        members = np.isin(np.arange(len(self.judges)), self._members)
        return {"in_smallest": members, **({} if self.prices is None else self.prices.judge_columns())}

    @property
    def _members(self) -> tuple[int, ...]:
        return self.found.members[self.found.smallest(self.keep)]


@dataclass(frozen=True)
class WantedError:
    """The smallest panel that errs no more than is wanted, or the best there is.

    Parameters
    ----------
    wanted
        The error that is allowed.
    members
        Who is in the panel; nobody if no panel errs so little.
    error
        The error of that panel, or of the best, on tasks that did not choose it.
    judges
        Who the judges are.
    """

    wanted: float
    members: Judges
    error: float
    judges: Values

    @classmethod
    def of(cls, sizes: Sizes, errors: Floats, wanted: float, judges: Values) -> WantedError:
        """Find the first size whose error is small enough.

        >>> from allalike._core.columns.values import text_column
        >>> from allalike.api.judges.trials import Sizes
        >>> sizes = Sizes(((1,), (0, 1)), np.array([0.8, 0.9]), np.ones(2), np.zeros(2), np.zeros(2), 0.9)
        >>> names = text_column(["ada", "bob"])
        >>> found = [WantedError.of(sizes, 1 - sizes.worth, most, names) for most in (0.2, 0)]
        >>> [(each.members, round(each.error, 6)) for each in found]
        [((1,), 0.2), ((), 0.1)]
        """
        enough = np.flatnonzero(errors <= wanted * (1 + TOLERANCE))
        place = int(enough[0]) if len(enough) else int(np.argmin(errors))
        return cls(wanted, sizes.members[place] if len(enough) else (), float(errors[place]), judges)

    def describe(self) -> dict[str, Any]:
        """Tell who is in it, and how much it errs."""
        members = [self.judges[judge] for judge in self.members]
        told = {"max_error": self.wanted, "reached": bool(self.members), "members": members, "error": self.error}
        return {"wanted": told}

    def tables(self) -> dict[str, Columns]:
        """Return nothing: it is in the summary."""
        return {}

    def judge_columns(self) -> Columns:
        """Say who is in it."""
        return {"in_wanted": np.isin(np.arange(len(self.judges)), self.members)}
