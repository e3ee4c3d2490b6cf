"""Wanted error: the cheapest panel whose verdicts err no more than is allowed.

Panels are looked at by what they cost: the prices of their judges, or where nobody named any, how many they are. At
each cost, each half of the tasks chooses the best panel that costs no more, and the **other** half says how much it
errs (`allalike.api.judges.trials`): a panel that was chosen for a small error by chance has a larger one there. The
lowest cost at which the error is no larger than wanted is taken, and all tasks say who is in the panel. The limits are
those of the mean over tasks (normal, 95 %); the error itself may be above what is wanted where the upper limit is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.ties import TOLERANCE
from allalike.api.judges.trials import find_limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Floats
    from allalike._core.columns.values import Values
    from allalike.api.judges.finding import Columns
    from allalike.api.judges.trials import Judges, Trials

__all__ = ["WantedError", "find_wanted"]


@dataclass(frozen=True)
class WantedError:
    """The cheapest panel that errs no more than is wanted, or the best there is.

    Parameters
    ----------
    wanted
        The error that is allowed.
    members
        Who is in the panel; nobody if no panel errs so little.
    error, low, high
        The error of that panel, or of the best, on tasks that did not choose it, with limits.
    cost
        What it costs, if prices are known.
    judges
        Who the judges are.
    """

    wanted: float
    members: Judges
    error: float
    low: float
    high: float
    cost: float | None
    judges: Values

    def describe(self) -> dict[str, Any]:
        """Tell who is in it, and how much it errs."""
        told = {
            "max_error": self.wanted,
            "reached": bool(self.members),
            "members": [self.judges[judge] for judge in self.members],
            "error": self.error,
            "limits": [self.low, self.high],
        }
        return {"wanted": told if self.cost is None else {**told, "cost": self.cost}}

    def tables(self) -> dict[str, Columns]:
        """Return nothing: it is in the summary."""
        return {}

    def judge_columns(self) -> Columns:
        """Say who is in it."""
        return {"in_wanted": np.isin(np.arange(len(self.judges)), self.members)}


def find_wanted(
    trials: Trials, error_of: Callable[[float], float], wanted: float, price: Floats | None, judges: Values
) -> WantedError:
    """Find the cheapest panel that errs no more than is wanted.

    Parameters
    ----------
    trials
        What panels are worth.
    error_of
        What returns the error that a mean worth stands for.
    wanted
        The error that is allowed.
    price
        What all answers of each judge cost, if it is known.
    judges
        Who the judges are.

    >>> from allalike._core.columns.values import text_column
    >>> from allalike.api.judges.trials import Trials
    >>> skill, hashes = np.array([0.9, 0.8, 0.5]), np.arange(4, dtype=np.uint64) << np.uint64(62)
    >>> trials = Trials(3, hashes, lambda who: np.full(4, skill[list(who)].max()))
    >>> names = text_column(["ada", "bob", "eve"])
    >>> find_wanted(trials, lambda worth: 1 - worth, 0.2, np.array([5.0, 1.0, 1.0]), names).members
    (1,)
    >>> find_wanted(trials, lambda worth: 1 - worth, 0.01, None, names).describe()["wanted"]["reached"]
    False
    """
    each = np.ones(trials.n_judges) if price is None else price
    panels = [trials.list_panels(part) for part in [*range(len(trials.choosers)), -1]]
    costs = [np.array([each[list(panel)].sum() for panel in some]) for some in panels]
    best = (np.inf, np.zeros(1))
    for budget in _list_budgets(trials, panels[-1], costs[-1], max(map(np.min, costs))):
        *chosen, members = (
            trials.best([panel for panel, cost in zip(some, those, strict=True) if cost <= budget], part)
            for part, (some, those) in enumerate(zip(panels, costs, strict=True))
        )
        found = trials.try_out(chosen)
        error = float(error_of(found.mean()))
        if error < best[0]:
            best = error, found
        if error <= wanted * (1 + TOLERANCE):
            cost = None if price is None else float(price[list(members)].sum())
            return WantedError(wanted, members, error, *_limits(found, error_of), cost, judges)
    return WantedError(wanted, (), best[0], *_limits(best[1], error_of), None, judges)


def _list_budgets(trials: Trials, panels: list[Judges], costs: Floats, least: float) -> list[float]:
    """List the costs at which a better panel can be had, on all tasks."""
    order = np.lexsort((np.array([len(panel) for panel in panels], np.float64), costs))
    worth = np.array([trials.mean(panels[place], -1) for place in order])
    before = np.maximum.accumulate(np.concatenate([[-np.inf], worth[:-1]]))
    return sorted({max(float(cost), least) for cost in costs[order][worth > before]})


def _limits(found: Floats, error_of: Callable[[float], float]) -> tuple[float, float]:
    low, high = find_limits(found)
    return float(error_of(high)), float(error_of(low))
