"""Smaller panels: what the best panel of each size is worth and costs, and the smallest that errs little enough."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import TOLERANCE
from allalike._core.columns.values import text_column
from allalike.panels.finding import divide, ratio
from allalike.panels.trials import Trials
from allalike.panels.verdicts import NOBODY, Verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.panels.finding import Columns
    from allalike.panels.scores import Scores
    from allalike.panels.trials import Judges, Sizes


@dataclass(frozen=True)
class SmallerPanels(ABC):
    """What panels of each size are worth, and the smallest that keeps nearly all."""

    found: Sizes
    judges: Values
    answers: Floats
    keep: float
    price: Floats | None

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Tell of the smallest panel, and what it costs beside all judges."""

    @abstractmethod
    def tables(self) -> dict[str, Columns]:
        """Return a row for each size of a panel."""

    def judge_columns(self) -> Columns:
        """Say who is in the smallest panel, and what each costs."""
        columns: dict[str, Values | Array] = {"in_smallest": np.isin(np.arange(len(self.judges)), self.members)}
        return columns if self.price is None else {**columns, "price": self.price, "cost": self.price * self.answers}

    @property
    def place(self) -> int:
        """The place of the smallest panel among the sizes."""
        return self.found.smallest(self.keep)

    @property
    def members(self) -> Judges:
        """Who is in the smallest panel."""
        return self.found.members[self.place]

    @property
    def cost(self) -> Floats | None:
        """What the panel of each size costs, if prices are known."""
        if self.price is None:
            return None
        each = self.price * self.answers
        return np.array([each[list(members)].sum() for members in self.found.members])

    def describe_smallest(self, **worth: float) -> dict[str, Any]:
        """Tell who is in the smallest panel, what it is worth, and how near it comes to the whole panel."""
        found, place = self.found, self.place
        return {
            "size": len(self.members),
            "members": [self.judges[judge] for judge in self.members],
            "keep": self.keep,
            **worth,
            "kept": float(found.worth[place] / found.whole) if found.whole > 0 else 1.0,
            "lost": [float(found.low[place]), float(found.high[place])],
            "agreement": float(found.agreement[place]),
        }

    def list_sizes(self, **worth: Floats) -> dict[str, Values | Array]:
        """Return a row for each size: its members, what they are worth, and how near they come to the whole panel."""
        found = self.found
        named = ["; ".join(str(self.judges[judge]) for judge in members) for members in found.members]
        columns: dict[str, Values | Array] = {
            "size": np.array([len(members) for members in found.members]),
            "members": text_column(named),
            **worth,
            "kept": divide(found.worth, np.full(len(found.worth), found.whole)),
            "lost_low": found.low,
            "lost_high": found.high,
            "agreement": found.agreement,
        }
        return columns if self.cost is None else {**columns, "cost": self.cost}


@dataclass(frozen=True)
class SmallerPanelsOfClasses(SmallerPanels):
    """Smaller panels of classes, whose worth is how often they are right."""

    n_tasks: int
    right: Floats
    by_gold: bool

    def describe(self) -> dict[str, Any]:
        """Tell of the smallest panel, and what it costs beside all judges."""
        accuracy, whole = float(self.found.worth[self.place]), self.found.whole
        smallest = self.describe_smallest(accuracy=accuracy)
        told = {"accuracy_from": "gold" if self.by_gold else "panel", "accuracy": whole, "smallest": smallest}
        if self.cost is None:
            return told
        all_, few = float(self.cost[-1]), float(self.cost[self.place])
        cost = {
            "panel": all_,
            "panel_per_correct": ratio(all_, self.n_tasks * whole),
            "smallest": few,
            "smallest_per_correct": ratio(few, self.n_tasks * accuracy),
        }
        return {**told, "cost": cost}

    def tables(self) -> dict[str, Columns]:
        """Return a row for each size of a panel."""
        columns = self.list_sizes(accuracy=self.found.worth)
        if self.cost is not None:
            columns["cost_per_correct"] = divide(self.cost, self.found.worth * self.n_tasks)
        return {"sizes": columns}

    def judge_columns(self) -> Columns:
        """Say who is in the smallest panel, and what each, and a correct verdict of each, costs."""
        columns = super().judge_columns()
        return columns if self.price is None else {**columns, "cost_per_correct": divide(self.price, self.right)}


@dataclass(frozen=True)
class SmallerPanelsOfScores(SmallerPanels):
    """Smaller panels of scores, whose worth is from 0 for the verdict on another task to 1 for the truth."""

    scores: Scores
    known_error: Floats

    def describe(self) -> dict[str, Any]:
        """Tell of the smallest panel, and what it costs beside all judges."""
        scores, worth, whole = self.scores, float(self.found.worth[self.place]), self.found.whole
        is_known = scores.by_gold or bool(scores.own.any())  # or the whole panel has limits
        told = {
            "worth_from": "gold" if scores.by_gold else "panel",
            "error_unit": self._unit,
            "error": float(scores.error_of(whole)) if is_known else math.nan,
            "guess_error": float(scores.error_of(0.0)),
            "worth": whole,
            "smallest": self.describe_smallest(worth=worth, error=float(scores.error_of(worth))),
        }
        if self.cost is None:
            return told
        return {**told, "cost": {"panel": float(self.cost[-1]), "smallest": float(self.cost[self.place])}}

    def tables(self) -> dict[str, Columns]:
        """Return a row for each size of a panel."""
        worth = self.found.worth
        return {"sizes": self.list_sizes(**{self._unit: np.asarray(self.scores.error_of(worth)), "worth": worth})}

    def judge_columns(self) -> Columns:
        """Say how far each judge is from known truths, who is in the smallest panel, and what each costs."""
        return {f"known_{self._unit}": self.known_error, **super().judge_columns()}

    @property
    def _unit(self) -> str:
        return "rmse" if self.scores.is_square else "distance"


@dataclass(frozen=True)
class WantedError:
    """The smallest panel that errs no more than is wanted, or the best there is."""

    wanted: float
    members: Judges
    error: float
    judges: Values

    @classmethod
    def of(cls, sizes: Sizes, errors: Floats, wanted: float, judges: Values) -> WantedError:
        """Find the first size whose error is small enough.

        >>> from allalike._core.columns.values import text_column
        >>> from allalike.panels.trials import Sizes
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


# Panels: the fewest judges who keep nearly all of what the whole panel is worth.
#
# Some of the judges decide a task by the sum of their log odds (Nitzan and Paroush: Optimal decision rules in
# uncertain dichotomous choice situations. 1982), as they are known from the whole panel. What such a verdict is worth
# is how probable it is that it is right: by the probabilities of the whole panel, or 1 and 0 where truths are known.
# Labels with the same score are worth their mean, and a task that nobody of them answered nothing.
#
# `allalike.panels.trials` says how panels are searched, and tried on tasks that did not choose them.
#
# Without known truths, worth is agreement with the whole panel, by as much as this is sure. It does not fall where
# all are wrong, and a small panel of judges who share an error with the whole one seems to keep all. The panel of all
# judges is the whole panel, which may decide otherwise than by log odds: a smaller one must come up to it.


def find_sizes(verdicts: Verdicts, odds: Floats, worth: Floats, whole: Floats) -> Sizes:
    """Find what panels of each size are worth.

    >>> from allalike.panels.verdicts import Verdicts
    >>> rng = np.random.default_rng(0)
    >>> wrong = (rng.random((600, 5)) < [0.05, 0.4, 0.4, 0.4, 0.4]).astype(np.intp)
    >>> right, zeros = np.tile([1.0, 0.0], (600, 1)), np.zeros(600, np.intp)
    >>> mixed = np.arange(600, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    >>> table = Verdicts(wrong, right, zeros, np.ones(600), np.ones(600, bool), zeros, mixed)
    >>> sizes = find_sizes(table, np.array([3.0, 0.4, 0.4, 0.4, 0.4]), right, np.ones(600))
    >>> sizes.members[sizes.smallest(0.9)]
    (0,)
    """
    agree = partial(judge_panel, verdicts, odds, worth=_agreement(verdicts))
    trials = Trials(verdicts.n_judges, verdicts.task_hash, partial(judge_panel, verdicts, odds, worth=worth))
    return trials.find_sizes(whole, agree)


def judge_panel(verdicts: Verdicts, odds: Floats, members: Sequence[int], worth: Floats) -> Floats:
    """Return, per task, what the verdict of some of the judges is worth.

    >>> from allalike.panels.verdicts import Verdicts
    >>> said, hashes = np.array([[0, 1, 1], [0, 0, 1], [-1, -1, 0]]), np.zeros(3, np.uint64)
    >>> right, zeros = np.tile([1.0, 0.0], (3, 1)), np.zeros(3, np.intp)
    >>> table = Verdicts(said, right, zeros, np.ones(3), np.ones(3, bool), zeros, hashes)
    >>> judge_panel(table, np.array([1.0, 1.0, 2.5]), [0, 1], right)
    array([0.5, 1. , 0. ])
    """
    return _decide(_add_up(verdicts, odds, members, np.zeros_like(worth)), worth)


def _agreement(verdicts: Verdicts) -> Floats:
    """Return, of each task and label, whether it is that of the whole panel."""
    same: Floats = (np.arange(verdicts.chance.shape[1]) == verdicts.panel[:, None]).astype(np.float64)
    return same


def _add_up(verdicts: Verdicts, odds: Floats, members: Sequence[int], scores: Floats) -> Floats:
    """Return the scores of labels with the log odds of some judges added."""
    scores = scores.copy()
    for judge in members:
        rows = np.flatnonzero(verdicts.said[:, judge] != NOBODY)
        scores[rows, verdicts.said[rows, judge]] += odds[judge]
    return scores


def _decide(scores: Floats, worth: Floats) -> Floats:
    """Return what the labels with the largest scores are worth, on average; nothing where nobody spoke."""
    top = scores.max(axis=1, keepdims=True)
    first: npt.NDArray[np.bool_] = (scores >= top * (1 - TOLERANCE)) & (top > 0)
    value: Floats = (first * worth).sum(axis=1) / np.maximum(first.sum(axis=1), 1)
    return value
