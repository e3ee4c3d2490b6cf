r"""Score changes: which judge scores in another way since an earlier panel, beyond chance.

**Tasks that both panels have seen.** If a judge did not change, what she said then might as well be what she says now,
so that the difference of both lies symmetrically around 0. So do the differences of her distances to the others (to the
median of all their scores, then and now), and to known truths. Each is tested by signed ranks (Wilcoxon: Individual
comparisons by ranking methods. 1945), which no single score can decide.

**Other tasks.** Her score less the median of the others, her distance to this median less the mean of all judges, and
her distance to known truths are compared between earlier and later tasks (Welch's test); who changed is left out, as
`allalike.api.judges.changes` has it. Levels count as numbers, one after the other.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike.api.judges.changes import Change, compare_leaving_out, compare_means, compare_parts
from allalike.api.judges.trials import find_limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike._core.blocks.block import Floats
    from allalike.api.judges.changes import Said

__all__ = ["OFF", "OFF_TRUTH", "SCORES", "compare_scores"]

SCORES, OFF, OFF_TRUTH = "scores", "off", "off truth"
_MIN_CHANGED = 10  # scores, of which signed ranks are near to normal
_DIGITS = 9


def compare_scores(said: Said, numbers: Floats) -> list[Change]:
    """Test each judge on all tasks, and on each group of them.

    Parameters
    ----------
    said
        The scores of two panels, as places among labels.
    numbers
        The number that each label stands for.
    """
    known = np.append(numbers, np.nan)  # the last stands for no label
    return compare_parts(said, partial(_compare_part, known=known))


def _compare_part(said: Said, group: str, *, known: Floats) -> Iterator[Change]:
    both, other = said.only(said.shared), said.only(~said.shared)
    if len(both.tasks):
        yield from _compare_shared(known[both.then], known[both.now], known[both.truth], group)
    if len(other.tasks):
        yield from _compare_others(known[other.then], known[other.now], known[other.truth], group)


def _compare_shared(then: Floats, now: Floats, truth: Floats, group: str) -> Iterator[Change]:
    for judge in range(then.shape[1]):
        one, two = then[:, judge], now[:, judge]
        middle = _find_median(np.column_stack([np.delete(table, judge, axis=1) for table in (then, now)]))
        yield from _test_pairs(judge, group, SCORES, one, two)
        for what, reference in ((OFF, middle), (OFF_TRUTH, truth)):
            yield from _test_pairs(judge, group, what, np.abs(one - reference), np.abs(two - reference))


def _test_pairs(judge: int, group: str, what: str, then: Floats, now: Floats) -> Iterator[Change]:
    here = ~np.isnan(then + now)
    if here.any():
        change, n = (now - then)[here].round(_DIGITS), int(here.sum())
        means = float(then[here].mean()), float(now[here].mean())
        yield Change(judge, group, "both", what, *means, n, n, _test_signed_ranks(change), *find_limits(change))


def _test_signed_ranks(change: Floats) -> float:
    """Return how probable it is that differences around 0 lie so much on one side (Wilcoxon's test, normal).

    >>> _test_signed_ranks(np.arange(1.0, 21)), _test_signed_ranks(np.tile([-1.0, 1.0], 10))
    (8.85...e-05, 1.0)
    """
    from scipy.special import ndtr
    from scipy.stats import rankdata

    change = change[change != 0]
    if len(change) < _MIN_CHANGED:
        return 1.0
    rank = rankdata(np.abs(change)) * np.sign(change)
    return float(2 * ndtr(-abs(rank.sum()) / np.sqrt(np.square(rank).sum())))


def _compare_others(then: Floats, now: Floats, truth: Floats, group: str) -> Iterator[Change]:
    for what, relate in ((SCORES, _find_relative), (OFF, _find_relative_off)):
        for judge, told in compare_leaving_out(then, now, relate):
            yield Change(judge, group, "other", what, *told)
    for judge in range(then.shape[1]):
        off = [np.abs(table[:, judge] - truth) for table in (then, now)]
        one, two = (each[~np.isnan(each)] for each in off)
        if len(one) and len(two):
            counts = float(one.mean()), float(two.mean()), len(one), len(two)
            yield Change(judge, group, "other", OFF_TRUTH, *counts, *compare_means(one, two))


def _find_relative(scores: Floats) -> Floats:
    """Return, of each task, by how much each judge is above the median of the others; NaN if nobody else is there.

    >>> _find_relative(np.array([[1.0, 2.0, 6.0], [1.0, np.nan, np.nan]]))
    array([[-3. , -1.5,  4.5],
           [ nan,  nan,  nan]])
    """
    others = [_find_median(np.delete(scores, judge, axis=1)) for judge in range(scores.shape[1])]
    return np.asarray(scores - np.column_stack(others))


def _find_relative_off(scores: Floats) -> Floats:
    off = np.abs(_find_relative(scores))
    there = ~np.isnan(off)
    mean = np.where(there, off, 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return np.asarray(off - mean[:, None])


def _find_median(scores: Floats) -> Floats:
    """Return the median of each row, NaN where nobody scored."""
    there = ~np.isnan(scores).all(axis=1)
    found = np.full(len(scores), np.nan)
    if there.any():
        found[there] = np.nanmedian(scores[there], axis=1)
    return found
