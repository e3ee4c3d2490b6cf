"""Panels: the fewest judges who keep nearly all of what the whole panel is worth.

Some of the judges decide a task by the sum of their log odds (Nitzan and Paroush: Optimal decision rules in uncertain
dichotomous choice situations. 1982), as they are known from the whole panel. What such a verdict is worth is how
probable it is that it is right: by the probabilities of the whole panel, or 1 and 0 where truths are known. Labels with
the same score are worth their mean, and a task that nobody of them answered nothing.

**Search.** Of ten judges and less, all panels are tried. Of more, the next judge is the one who adds most, the first of
equals. The best of many panels looks better than it is, so each half of the tasks, by the hashes of their ids, chooses
its panels, and the **other** half says what panels of this size are worth. The smallest size at which that is a given
share of the worth of the whole panel is taken, and all tasks say who is in it. The limits are those of the mean
difference of both panels per task (normal, 95 %).

Without known truths, worth is agreement with the whole panel, by as much as this is sure. It does not fall where all
are wrong, and a small panel of judges who share an error with the whole one seems to keep all. The panel of all judges
is the whole panel, which may decide otherwise than by log odds: a smaller one must come up to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.ties import TOLERANCE
from allalike.api.judges.verdicts import NOBODY, Verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Floats

__all__ = ["MAX_TRIED", "Sizes", "find_sizes", "judge_panel"]

MAX_TRIED = 10  # judges of whom all panels are tried
_MAX_SIZE = 20  # judges in a panel; beyond it, the next size is all of them
_NORMAL = 1.959964  # 95 % of a normal distribution


@dataclass(frozen=True)
class Sizes:
    """What panels of each size are worth, found on one half of the tasks and tried on the other.

    Parameters
    ----------
    members
        Of each size: the judges of the best panel on all tasks.
    worth, agreement
        Of each size: the mean worth of a verdict, and how often it is that of the whole panel, on tasks that did not
        choose the panel.
    low, high
        The limits of what is lost against the whole panel, of 95 %.
    whole
        The mean worth of the whole panel's verdicts.
    """

    members: tuple[tuple[int, ...], ...]
    worth: Floats
    agreement: Floats
    low: Floats
    high: Floats
    whole: float

    def smallest(self, keep: float) -> int:
        """Return the place of the first size that keeps such a share of the worth, or of the last."""
        enough = np.flatnonzero(self.worth >= keep * self.whole * (1 - TOLERANCE))
        return int(enough[0]) if len(enough) else len(self.members) - 1


def find_sizes(verdicts: Verdicts, odds: Floats, worth: Floats, whole: Floats) -> Sizes:
    """Find what panels of each size are worth.

    Parameters
    ----------
    verdicts
        What the judges said.
    odds
        Of each judge: her log odds.
    worth
        Of each task, and each of its labels: what it is worth to decide for it.
    whole
        Of each task: what the verdict of the whole panel is worth.

    >>> from allalike.api.judges.verdicts import Verdicts
    >>> rng = np.random.default_rng(0)
    >>> wrong = (rng.random((600, 5)) < [0.05, 0.4, 0.4, 0.4, 0.4]).astype(np.intp)
    >>> right, zeros = np.tile([1.0, 0.0], (600, 1)), np.zeros(600, np.intp)
    >>> mixed = np.arange(600, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    >>> table = Verdicts(wrong, right, zeros, np.ones(600), np.ones(600, bool), zeros, mixed)
    >>> sizes = find_sizes(table, np.array([3.0, 0.4, 0.4, 0.4, 0.4]), right, np.ones(600))
    >>> sizes.members[sizes.smallest(0.9)]
    (0,)
    """
    half = (verdicts.task_hash >> np.uint64(63)).astype(bool)
    parts = [part for part in (half, ~half) if part.any()]
    paths = [_find_path(verdicts.only(part), odds, worth[part]) for part in parts]
    tried = [~part if len(parts) > 1 else part for part in parts]
    members = _find_path(verdicts, odds, worth)
    rows = []
    for place in range(len(members) - 1):
        found, same = np.zeros(len(half)), np.zeros(len(half))
        for path, part in zip(paths, tried, strict=True):
            some = verdicts.only(part)
            found[part] = judge_panel(some, odds, path[place], worth[part])
            same[part] = judge_panel(some, odds, path[place], _agreement(some))
        lost = whole - found
        error = _NORMAL * lost.std() / np.sqrt(max(len(lost), 1))
        rows.append((found.mean(), same.mean(), lost.mean() - error, lost.mean() + error))
    rows.append((whole.mean(), 1.0, 0.0, 0.0))
    kept, agreement, low, high = np.array(rows).T
    return Sizes(members, kept, agreement, low, high, float(whole.mean()))


def judge_panel(verdicts: Verdicts, odds: Floats, members: Sequence[int], worth: Floats) -> Floats:
    """Return, per task, what the verdict of some of the judges is worth.

    >>> from allalike.api.judges.verdicts import Verdicts
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


def _find_path(verdicts: Verdicts, odds: Floats, worth: Floats) -> tuple[tuple[int, ...], ...]:
    """Return the best panel of each size."""
    n = verdicts.n_judges
    if n <= MAX_TRIED:
        return tuple(_best(verdicts, odds, worth, list(combinations(range(n), size))) for size in range(1, n + 1))
    path: list[tuple[int, ...]] = []
    scores = np.zeros_like(worth)
    members: tuple[int, ...] = ()
    for _ in range(min(_MAX_SIZE, n - 1)):
        others = [each for each in range(n) if each not in members]
        values = [float(_decide(_add_up(verdicts, odds, [each], scores), worth).mean()) for each in others]
        best = others[int(np.argmax(np.round(values, 9)))]
        scores, members = _add_up(verdicts, odds, [best], scores), tuple(sorted((*members, best)))
        path.append(members)
    return (*path, tuple(range(n)))


def _best(verdicts: Verdicts, odds: Floats, worth: Floats, panels: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the panel that is worth most, the first of equals."""
    values = [float(judge_panel(verdicts, odds, panel, worth).mean()) for panel in panels]
    return tuple(sorted(panels[int(np.argmax(np.round(values, 9)))]))
