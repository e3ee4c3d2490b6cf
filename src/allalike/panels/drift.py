"""Drift: what changed since an earlier panel, judges and rate, as a panel tells of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import text_column
from allalike.errors import InputError
from allalike.methods.auto.sureness.intervals import adjust_probabilities
from allalike.panels.changes import (
    SIGNIFICANT,
    Change,
    Said,
    compare_leaving_out,
    compare_means,
    compare_parts,
    compare_said,
    line_up,
)
from allalike.panels.finding import divide
from allalike.panels.rates import Rate, subtract_rates
from allalike.panels.trials import find_limits
from allalike.panels.verdicts import NOBODY, choose_good

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Floats
    from allalike.domains import Encoding
    from allalike.panels.finding import Columns
    from allalike.panels.verdicts import Earlier, KeptVerdicts


# Score changes: which judge scores in another way since an earlier panel, beyond chance.
#
# **Tasks that both panels have seen.** If a judge did not change, what she said then might as well be what she says
# now, so that the difference of both lies symmetrically around 0. So do the differences of her distances to the
# others (to the median of all their scores, then and now), and to known truths. Each is tested by signed ranks
# (Wilcoxon: Individual comparisons by ranking methods. 1945), which no single score can decide.
#
# **Other tasks.** Her score less the median of the others, her distance to this median less the mean of all judges, and
# her distance to known truths are compared between earlier and later tasks (Welch's test); who changed is left out, as
# `allalike.panels.changes` has it. Levels count as numbers, one after the other.


SCORES, OFF, OFF_TRUTH = "scores", "off", "off truth"
_MIN_CHANGED = 10  # scores, of which signed ranks are near to normal
_DIGITS = 9


def compare_scores(said: Said, numbers: Floats) -> list[Change]:
    """Test each judge on all tasks, and on each group of them."""
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


_MAX_NAMED = 20  # changes, and judges who came or went, in a summary


@dataclass(frozen=True)
class Drift:
    """What changed since an earlier panel."""

    earlier: Earlier
    kept: KeptVerdicts
    judges: Sequence[str]
    encoding: Encoding
    good: Sequence[Any] | None = None
    rate: Rate | None = None

    @cached_property
    def said(self) -> Said:
        """Return the verdicts of both side by side."""
        said = line_up(self.earlier.verdicts, self.kept)
        if not said.judges:
            raise InputError(
                f"No judge of the panel in {self.earlier.folder} is in this one, so that nobody can have changed. Its"
                f" judges are: {', '.join(sorted({*self.earlier.verdicts.judge})[:_MAX_NAMED])}."
            )
        return said

    @cached_property
    def changes(self) -> list[Change]:
        """Return all tests."""
        if self.encoding.nominal:
            return compare_said(self.said, self._good_labels)
        return compare_scores(self.said, self._numbers)

    @cached_property
    def _numbers(self) -> Floats:
        """The number that each label of both panels stands for; of levels their place."""
        encoding, labels = self.encoding, self.said.labels
        try:
            if encoding.n_classes is None:
                return np.array([*map(float, labels)])
            levels = encoding.decode(np.arange(encoding.n_labels)).tolist()
            place = {str(level): float(code) for code, level in enumerate(levels)}
            return np.array([place[label] for label in labels])
        except (KeyError, ValueError) as error:
            raise InputError(
                f"The panel in {self.earlier.folder} has a label that is none of these: {error}. Name all levels of"
                " both panels: domain='ordinal(levels=[...])'."
            ) from None

    @cached_property
    def _good_labels(self) -> list[str] | None:
        """The labels of both panels that are good."""
        if self.good is None or self.encoding.nominal:
            return None if self.good is None else [*map(str, self.good)]
        is_good = choose_good(self.encoding, self.good)(self._numbers)
        return [label for label, here in zip(self.said.labels, is_good, strict=True) if here]

    @cached_property
    def probability(self) -> Floats:
        """How probable each change is, for all tests together."""
        return adjust_probabilities(np.array([each.probability for each in self.changes]))

    def describe(self) -> dict[str, Any]:
        """Name the judges who changed, and tell what became of the rate."""
        then, now = {*self.earlier.verdicts.judge}, {*self.kept.judge}
        rows = self._rows()
        found = [row for row in rows if row["found"]]
        told = {
            "since": self.earlier.folder,
            "judges": len(self.said.judges),
            "shared_tasks": int(self.said.shared.sum()),
            "tests": len(rows),
            "found": len(found),
            "drifted": [self.said.judges[judge] for judge in self._drifted],
            "named": found[:_MAX_NAMED],
            "new_judges": sorted(now - then)[:_MAX_NAMED],
            "gone_judges": sorted(then - now)[:_MAX_NAMED],
        }
        return {"drift": {**told, **self._describe_rate()}}

    def tables(self) -> dict[str, Columns]:
        """Return a row for each test, the most improbable first."""
        rows = self._rows()
        texts = ("judge", "group", "tasks", "what")
        columns: dict[str, Any] = {name: text_column([row[name] for row in rows]) for name in texts}
        numbers = ("before", "now", "low", "high", "n_before", "n_now", "probability", "found")
        kinds = (float, float, float, float, int, int, float, bool)
        columns |= {
            name: np.array([row[name] for row in rows], kind) for name, kind in zip(numbers, kinds, strict=True)
        }
        return {"drift": columns}

    def judge_columns(self) -> Columns:
        """Return on which share of the tasks in both panels each judge says something else, and whether she drifted."""
        said = self.said
        both = (said.then != NOBODY) & (said.now != NOBODY)
        other = (both & (said.then != said.now)).sum(axis=0)
        shares = divide(other.astype(np.float64), both.sum(axis=0).astype(np.float64))
        changed = dict(zip(said.judges, shares.tolist(), strict=True))
        drifted = {said.judges[judge] for judge in self._drifted}
        return {
            "changed": np.array([changed.get(judge, math.nan) for judge in self.judges]),
            "drifted": np.array([judge in drifted for judge in self.judges]),
        }

    @cached_property
    def _drifted(self) -> list[int]:
        found = self.probability < SIGNIFICANT
        return sorted({each.judge for each, is_found in zip(self.changes, found, strict=True) if is_found})

    def _rows(self) -> list[dict[str, Any]]:
        order = np.argsort(self.probability, kind="stable").tolist()
        found, judges = self.probability < SIGNIFICANT, self.said.judges
        return [
            {
                **self.changes[place]._asdict(),
                "judge": judges[self.changes[place].judge],
                "probability": float(self.probability[place]),
                "found": bool(found[place]),
            }
            for place in order
        ]

    def _describe_rate(self) -> dict[str, Any]:
        before = self.earlier.rate
        good = self._good_labels
        if self.rate is None or self.good is None or good is None or before is None:
            return {}
        if sorted(map(str, before["good"])) != sorted(map(str, self.good)):
            return {"rate": {"other_good": before["good"]}}
        then, now = _read_rate(before), self.rate
        told = {"before": then.describe(), "now": now.describe(), "difference": subtract_rates(now, then).describe()}
        effect = _find_effect(self.said, good, self._drifted)
        return {"rate": {**told, **({} if effect is None else {"effect": effect})}}


def _read_rate(told: Mapping[str, Any]) -> Rate:
    return Rate(*(math.nan if told[name] is None else float(told[name]) for name in Rate._fields))


def _find_effect(said: Said, good: Sequence[str], drifted: Sequence[int]) -> float | None:
    """Return by how much changed judges move the share that a vote calls good, on tasks that both panels have seen."""
    shared = said.only(said.shared)
    if not drifted or not len(shared.tasks):
        return None
    is_good = np.array([*(label in good for label in said.labels), False])
    back = shared.now.copy()
    for judge in drifted:
        back[:, judge] = np.where(shared.then[:, judge] == NOBODY, back[:, judge], shared.then[:, judge])
    return _vote(shared.now, is_good) - _vote(back, is_good)


def _vote(said: npt.NDArray[np.intp], is_good: npt.NDArray[np.bool_]) -> float:
    """Return the share of tasks that most judges call good; half a task where as many do as do not."""
    for_it = is_good[said].sum(axis=1) - 0.5 * (said != NOBODY).sum(axis=1)
    return float((0.5 + 0.5 * np.sign(for_it)).mean())
