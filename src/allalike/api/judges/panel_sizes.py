"""Panels: the fewest judges who keep nearly all of what the whole panel is worth.

Some of the judges decide a task by the sum of their log odds (Nitzan and Paroush: Optimal decision rules in uncertain
dichotomous choice situations. 1982), as they are known from the whole panel. What such a verdict is worth is how
probable it is that it is right: by the probabilities of the whole panel, or 1 and 0 where truths are known. Labels with
the same score are worth their mean, and a task that nobody of them answered nothing.

`allalike.api.judges.trials` says how panels are searched, and tried on tasks that did not choose them.

Without known truths, worth is agreement with the whole panel, by as much as this is sure. It does not fall where all
are wrong, and a small panel of judges who share an error with the whole one seems to keep all. The panel of all judges
is the whole panel, which may decide otherwise than by log odds: a smaller one must come up to it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.ties import TOLERANCE
from allalike.api.judges.trials import Trials
from allalike.api.judges.verdicts import NOBODY, Verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Floats
    from allalike.api.judges.trials import Sizes

__all__ = ["find_sizes", "judge_panel"]


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
    agree = partial(judge_panel, verdicts, odds, worth=_agreement(verdicts))
    trials = Trials(verdicts.n_judges, verdicts.task_hash, partial(judge_panel, verdicts, odds, worth=worth))
    return trials.find_sizes(whole, agree)


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
