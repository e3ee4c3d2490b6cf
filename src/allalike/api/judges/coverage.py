"""Coverage: how many tasks a panel answers, and how often it is right, if it abstains where it is less sure.

Where 50 truths and more are known, these say both: confidences that were found without them are mended by a line
through their log odds (`allalike.api.judges.odds`), which four of five parts of the known truths tell for the fifth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats, sum_by
from allalike.api.judges.odds import OddsLine, fit_line, mend

if TYPE_CHECKING:
    from allalike.api.judges.finding import Columns
    from allalike.api.judges.held_out import HeldOut
    from allalike.engines import TaskTable

__all__ = [
    "BINS",
    "LEVELS",
    "MIN_GOLD",
    "Coverage",
    "SureLevels",
    "Sureness",
    "expected_calibration_error",
    "gather_sureness",
]

LEVELS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
MIN_GOLD = 50  # known truths that tell how sure the panel is
_FOLDS = 5
BINS = 10  # of confidences, of which each is compared with how often labels are right


@dataclass(frozen=True)
class Sureness:
    """Of each task: how sure the panel is that did not know its truth, and whether it is right.

    Parameters
    ----------
    confidence
        How probably the panel is right, by what it says itself.
    wrong
        1 where it is wrong, 0 where it is right, NaN where that is not known.
    task_hash
        The hash of the task's id.
    """

    confidence: Floats
    wrong: Floats
    task_hash: npt.NDArray[np.uint64]

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Of which tasks the truth is known."""
        return ~np.isnan(self.wrong)

    @property
    def told_by_gold(self) -> bool:
        """Whether so many truths are known that these tell how sure the panel is."""
        return int(self.known.sum()) >= MIN_GOLD

    def told_by(self, held_out: HeldOut) -> Sureness:
        """Return the same with what is known of tasks that were held out."""
        order = np.argsort(held_out.task_hash, kind="stable")
        place = order[np.minimum(np.searchsorted(held_out.task_hash, self.task_hash, sorter=order), len(order) - 1)]
        here = held_out.task_hash[place] == self.task_hash
        confidence = np.where(here, held_out.sure[place], self.confidence)
        return Sureness(confidence, np.where(here, held_out.wrong[place], self.wrong), self.task_hash)

    def fit(self) -> OddsLine:
        """Return the line that mends confidences, where enough truths are known."""
        if not self.told_by_gold:
            return OddsLine()
        return fit_line(self.confidence[self.known], self.wrong[self.known] == 0)

    def mended(self) -> Sureness:
        """Return the tasks whose truths are known, each mended by others, where these are enough; else all as it is."""
        if not self.told_by_gold:
            return self
        known = self.known
        confidence, wrong, hashes = self.confidence[known], self.wrong[known], self.task_hash[known]
        fold, result = hashes % np.uint64(_FOLDS), np.empty(len(confidence))
        for number in range(_FOLDS):
            inside = fold == number
            line = fit_line(confidence[~inside], wrong[~inside] == 0)
            result[inside] = mend(confidence[inside], line)
        return Sureness(result, wrong, hashes)

    def calibration_error(self) -> float:
        """Return how far confidences are from how often the panel is right, in ten bins; NaN if nothing is known."""
        sure, hit = self.confidence[self.known], 1 - self.wrong[self.known]
        place = np.minimum((sure * BINS).astype(np.intp), BINS - 1)
        return expected_calibration_error(*(sum_by(place, each, BINS) for each in (np.ones(len(sure)), sure, hit)))


@dataclass(frozen=True)
class Coverage:
    """For each level: the share of tasks that are as sure, and how often they are expected to be right, and are."""

    level: Floats
    share: Floats
    expected: Floats
    accuracy: Floats

    @classmethod
    def of(cls, tasks: Sureness, levels: tuple[float, ...] = LEVELS) -> Coverage:
        """Count the tasks that are at least so sure; what is not known is NaN.

        >>> found = Coverage.of(Sureness(np.array([0.6, 0.9]), np.array([1.0, 0.0]), np.arange(2)), (0.0, 0.8, 0.95))
        >>> found.share, found.expected, found.accuracy
        (array([1. , 0.5, 0. ]), array([0.75, 0.9 ,  nan]), array([0.5, 1. , nan]))
        """
        kept = [tasks.confidence >= level for level in levels]
        known = tasks.known
        return cls(
            np.array(levels),
            np.array([each.mean() for each in kept]),
            np.array([_mean(tasks.confidence[each]) for each in kept]),
            np.array([1 - _mean(tasks.wrong[each & known]) for each in kept]),
        )

    def columns(self) -> dict[str, Array]:
        """Return the columns of the table."""
        return {"level": self.level, "share": self.share, "expected": self.expected, "accuracy": self.accuracy}


@dataclass(frozen=True)
class SureLevels:
    """How sure the panel is of each task when it does not know truths, as a panel tells of it.

    Parameters
    ----------
    tasks
        How sure it is of each task, and whether it is right.
    known_right
        Of each judge: how often she is right where the truth is known; NaN where it is not.
    """

    tasks: Sureness
    known_right: Floats

    def describe(self) -> dict[str, Any]:
        """Tell how far probabilities are from how often they are right, and what abstaining costs at each level."""
        mended = self.tasks.mended()
        columns = Coverage.of(mended).columns()
        rows = np.column_stack(list(columns.values())).tolist()
        return {
            "calibration_error": {"own": self.tasks.calibration_error(), "mended": mended.calibration_error()},
            "coverage": [dict(zip(columns, row, strict=True)) for row in rows],
        }

    def tables(self) -> dict[str, Columns]:
        """Return a row for each level."""
        return {"coverage": Coverage.of(self.tasks.mended()).columns()}

    def judge_columns(self) -> Columns:
        """Return how often each judge is right where truths are known."""
        return {"accuracy": self.known_right}


def gather_sureness(found: TaskTable, held_out: HeldOut | None = None) -> Sureness:
    """Take what is known of each task from what the panel found, without truths, or where it can be with others.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")])
    >>> gather_sureness(result.found).known
    array([False])
    """
    pieces = list(found.pieces())
    wrong = [piece.found.get("gold", np.full(len(piece.answers), np.nan)) for piece in pieces]
    found_out = Sureness(
        np.concatenate([piece.found["confidence"] for piece in pieces]),
        np.concatenate(wrong),
        np.concatenate([piece.tasks.hashes() for piece in pieces]),
    )
    return found_out if held_out is None else found_out.told_by(held_out)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def expected_calibration_error(count: Floats, confidence: Floats, hits: Floats) -> float:
    """Return how far confidences are from how often labels are right, from sums over the labels in each bin.

    >>> expected_calibration_error(np.array([0.0, 10.0]), np.array([0.0, 9.0]), np.array([0.0, 8.0]))
    0.1
    """
    total = float(count.sum())
    return float(np.abs(confidence - hits).sum() / total) if total else float("nan")
