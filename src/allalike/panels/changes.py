r"""Changes: which judge changed since an earlier panel, on which kind of task, beyond chance.

**Tasks that both panels have seen.** A judge who did not change may say now what she said then, or the other way round:
if she is not the same each time, changes in either direction are equally probable. So of the tasks on which she changed
those count on which she now gives a label that she did not give, those on which she now agrees with the others (the
plurality of all their verdicts, then and now), and those on which she now is right, where truths are known; against
those on which it is the other way round. That is McNemar's test, in its exact form. It does not matter whether the
others changed.

**Other tasks** may be harder than the earlier ones, so that everybody agrees less. Known truths tell how often she is
right then and now (Fisher's exact test). Where three judges are in both panels, the share of the others that agrees
with her, minus the mean of that for all judges, is compared between the earlier and the later tasks (Welch's test). The
judge with the largest change that is none of chance is left out, and the remaining ones are looked at again, lest one
who changed makes others look changed.

Each test has limits of 95 % for the change: those of Bonett and Price (2012) for pairs, Newcombe's (1998) for two
shares, and Welch's for two means.

With groups of tasks, each is looked at alone, too. Probabilities of all tests together are those of Holm (1979), and a
change below 0.01 is one. A judge who says something else at random, and as often right, is none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike.methods.auto.sureness.intervals import NORMAL_QUANTILE, find_wilson_limits
from allalike.panels.rates import Rate, subtract_rates
from allalike.panels.verdicts import NOBODY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike.panels.verdicts import KeptVerdicts

    Means = tuple[float, float, int, int, float, float, float]

SIGNIFICANT = 0.01
_MAX_LABELS = 10  # that are looked at one by one
_MIN_TASKS = 10  # on each side of a comparison of different tasks
_MIN_JUDGES = 3
_DIGITS = 9


class Change(NamedTuple):
    """A test of one judge: on which tasks, what about her, how often then and now, how probable that is, and limits."""

    judge: int
    group: str
    tasks: str  # both, or other
    what: str  # a label, "agrees" or "right"
    before: float
    now: float
    n_before: int
    n_now: int
    probability: float
    low: float  # of the change
    high: float


@dataclass(frozen=True)
class Said:
    """Verdicts of two panels as tables of numbers: a row for each task, a column for each judge in both."""

    judges: Sequence[str]
    tasks: Sequence[str]
    labels: Sequence[str]
    then: npt.NDArray[np.intp]
    now: npt.NDArray[np.intp]
    truth: npt.NDArray[np.intp]
    group: npt.NDArray[np.object_]

    @property
    def shared(self) -> npt.NDArray[np.bool_]:
        """Which tasks both panels have seen."""
        return np.asarray((self.then != NOBODY).any(axis=1) & (self.now != NOBODY).any(axis=1))

    def only(self, tasks: npt.NDArray[np.bool_]) -> Said:
        """Return what was said of some tasks."""
        names = [task for task, here in zip(self.tasks, tasks, strict=True) if here]
        cut = (self.then[tasks], self.now[tasks], self.truth[tasks], self.group[tasks])
        return Said(self.judges, names, self.labels, *cut)

    def within_tasks(self) -> Said:
        """Number the labels of each task anew, so that numbers are small however many labels there are."""
        codes = np.column_stack([self.then, self.now, self.truth])
        order = np.argsort(codes, axis=1, kind="stable")
        ranked = np.take_along_axis(codes, order, axis=1)
        rank = np.cumsum(np.diff(ranked, axis=1, prepend=ranked[:, :1]) > 0, axis=1)
        slots = np.empty_like(codes)
        np.put_along_axis(slots, order, rank + np.where(ranked[:, :1] == NOBODY, NOBODY, 0), axis=1)
        n = len(self.judges)
        return Said(self.judges, self.tasks, (), slots[:, :n], slots[:, n : 2 * n], slots[:, -1], self.group)


def line_up(before: KeptVerdicts, now: KeptVerdicts) -> Said:
    """Put the verdicts of the judges who are in both panels side by side.

    >>> from allalike.panels.verdicts import KeptVerdicts
    >>> def keep(*rows):
    ...     return KeptVerdicts(*(np.array(column, object) for column in zip(*rows)))
    >>> said = line_up(keep(("ada", "1", "x", "", "")), keep(("ada", "1", "y", "y", ""), ("bob", "1", "x", "y", "")))
    >>> said.judges, said.then.tolist(), said.now.tolist(), said.truth.tolist()
    (['ada'], [[0]], [[1]], [1])
    """
    judges = sorted({*before.judge} & {*now.judge})
    tasks = sorted({*before.task, *now.task})
    labels = sorted({*before.label, *now.label, *before.truth, *now.truth} - {""})
    truth, group = np.full(len(tasks), NOBODY, np.intp), np.full(len(tasks), "", object)
    for part in (before, now):
        task, known = _number(part.task, tasks), _number(part.truth, labels)
        truth[task[known != NOBODY]] = known[known != NOBODY]
        group[task[part.group != ""]] = part.group[part.group != ""]
    then, later = (_spread(part, judges, tasks, labels) for part in (before, now))
    return Said(judges, tasks, labels, then, later, truth, group)


def _spread(
    part: KeptVerdicts, judges: Sequence[str], tasks: Sequence[str], labels: Sequence[str]
) -> npt.NDArray[np.intp]:
    task, judge, label = _number(part.task, tasks), _number(part.judge, judges), _number(part.label, labels)
    table = np.full((len(tasks), len(judges)), NOBODY, np.intp)
    here = judge != NOBODY
    table[task[here], judge[here]] = label[here]
    return table


def _number(values: npt.NDArray[np.object_], names: Sequence[str]) -> npt.NDArray[np.intp]:
    """Return the places of texts among some names; -1 for those that are not there."""
    place = {name: code for code, name in enumerate(names)}
    return np.array([place.get(value, NOBODY) for value in values], np.intp)


def compare_said(said: Said, good: Sequence[str] | None = None) -> list[Change]:
    """Test each judge on all tasks, and on each group of them."""
    if good is not None:  # and nothing else matters
        said = _join_labels(said, good)
    return compare_parts(said, partial(_compare_part, binary=good is not None))


def compare_parts(said: Said, compare: Callable[[Said, str], Iterable[Change]]) -> list[Change]:
    """Return the tests of all tasks, and of each group of them, for which there are verdicts of both panels."""
    groups = sorted({*said.group} - {""})
    parts = [("", np.ones(len(said.tasks), bool)), *((name, said.group == name) for name in groups)]
    tests = (each for name, tasks in parts for each in compare(said.only(tasks), name))
    return [each for each in tests if each.n_before and each.n_now]


def _join_labels(said: Said, good: Sequence[str]) -> Said:
    is_good = np.array([*(label in good for label in said.labels), False])  # the last stands for no label
    then, now, truth = (
        np.where(codes == NOBODY, NOBODY, is_good[codes]).astype(np.intp) for codes in (said.then, said.now, said.truth)
    )
    return Said(said.judges, said.tasks, ("other", "good"), then, now, truth, said.group)


def _compare_part(said: Said, group: str, *, binary: bool) -> Iterator[Change]:
    if said.shared.any():
        yield from _compare_shared(said.only(said.shared), group, binary=binary)
    if not said.shared.all():
        yield from _compare_others(said.only(~said.shared).within_tasks(), group)


def _compare_shared(said: Said, group: str, *, binary: bool) -> Iterator[Change]:
    labels = [1] if binary else range(len(said.labels)) if len(said.labels) <= _MAX_LABELS else []
    own = said.within_tasks()
    everybody = _count_votes([own.then, own.now])
    for judge in range(len(said.judges)):
        then, now = said.then[:, judge], said.now[:, judge]
        both = (then != NOBODY) & (now != NOBODY)
        for label in labels:
            yield _count_changes(judge, group, f"says {said.labels[label]}", then[both] == label, now[both] == label)
        then, now = own.then[:, judge], own.now[:, judge]
        for what, reference in (("agrees", _lead(everybody, then, now)), ("right", own.truth)):
            here = both & (reference != NOBODY)
            yield _count_changes(judge, group, what, then[here] == reference[here], now[here] == reference[here])


def _count_changes(
    judge: int, group: str, what: str, then: npt.NDArray[np.bool_], now: npt.NDArray[np.bool_]
) -> Change:
    """Test whether changes go in one direction: McNemar's exact test."""
    from scipy.stats import binom

    n, up, down = len(then), int((now & ~then).sum()), int((then & ~now).sum())
    probability = min(1.0, 2 * float(binom.cdf(min(up, down), up + down, 0.5)))
    gain, loss = (up + 1) / (n + 2), (down + 1) / (n + 2)
    half = NORMAL_QUANTILE * math.sqrt(max(gain + loss - (gain - loss) ** 2, 0.0) / (n + 2))
    limits = max(gain - loss - half, -1.0), min(gain - loss + half, 1.0)
    return Change(judge, group, "both", what, _mean(then), _mean(now), n, n, probability, *limits)


def _compare_others(said: Said, group: str) -> Iterator[Change]:
    from scipy.stats import fisher_exact

    for judge in range(len(said.judges)):
        then, now = (_find_hits(table[:, judge], said.truth) for table in (said.then, said.now))
        if len(then) and len(now):
            table = np.array([[side.sum(), (~side).sum()] for side in (then, now)])
            counts = _mean(then), _mean(now), len(then), len(now)
            limits = subtract_rates(_limit(now), _limit(then))[1:]
            yield Change(judge, group, "other", "right", *counts, float(fisher_exact(table).pvalue), *limits)
    yield from _compare_agreement(said, group)


def _compare_agreement(said: Said, group: str) -> Iterator[Change]:
    """Compare how much others agree with each judge, more than with all."""
    for judge, told in compare_leaving_out(said.then, said.now, _find_relative):
        yield Change(judge, group, "other", "agrees", *told)


def _limit(hits: npt.NDArray[np.bool_]) -> Rate:
    low, high = find_wilson_limits(np.array([hits.mean()]), np.array([float(len(hits))]))
    return Rate(_mean(hits), float(low[0]), float(high[0]))


def compare_leaving_out(then: Array, now: Array, relate: Callable[[Any], Floats]) -> Iterator[tuple[int, Means]]:
    """Compare judges on different tasks by the measure of the others; who changed is left out, one by one."""
    left = list(range(then.shape[1]))
    while len(left) >= _MIN_JUDGES:
        sides = [relate(table[:, left]) for table in (then, now)]
        told = [_test_relative(*(side[:, place] for side in sides)) for place in range(len(left))]
        changed = [place for place, each in enumerate(told) if each[4] * len(left) < SIGNIFICANT]
        first = max(changed, key=lambda place: abs(told[place][1] - told[place][0]), default=None)
        for place in range(len(left)) if first is None else [first]:
            yield left[place], told[place]
        if first is None:
            return
        del left[first]


def _find_relative(said: npt.NDArray[np.intp]) -> Floats:
    """Return, of each task, which share of the others agrees with each judge, minus the mean of that; NaN if unknown.

    >>> _find_relative(np.array([[0, 0, 1], [0, NOBODY, 0], [0, NOBODY, NOBODY]])).round(2)
    array([[ 0.17,  0.17, -0.33],
           [ 0.  ,   nan,  0.  ],
           [  nan,   nan,   nan]])
    """
    votes, there = _count_votes([said]), said != NOBODY
    others = there.sum(axis=1, keepdims=True) - 1
    known = there & (others > 0)
    same = np.take_along_axis(votes, said, axis=1) - 1
    share = np.where(known, same / np.maximum(others, 1), 0.0)
    mean = share.sum(axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
    return np.where(known, share - mean, np.nan)


def _test_relative(then: Floats, now: Floats) -> Means:
    then, now = (side[~np.isnan(side)].round(_DIGITS) for side in (then, now))
    return _mean(then), _mean(now), len(then), len(now), *compare_means(then, now)


def compare_means(then: Floats, now: Floats) -> tuple[float, float, float]:
    """Return how probable so different means are, and the limits of their difference.

    It is Welch's test, or that of a permutation where nothing varies; of few tasks, nothing is said.

    >>> compare_means(np.zeros(10), np.ones(10)), compare_means(np.zeros(10), np.zeros(10))[0]
    ((1.08...e-05, 1.0, 1.0), 1.0)
    """
    from scipy.stats import ttest_ind

    if min(len(then), len(now)) < _MIN_TASKS:
        return 1.0, math.nan, math.nan
    if max(np.ptp(then), np.ptp(now)) > 0:
        found = ttest_ind(now, then, equal_var=False)
        low, high = found.confidence_interval()
        return float(found.pvalue), float(low), float(high)
    change = float(now[0] - then[0])
    return 2 / math.comb(len(then) + len(now), len(then)) if change else 1.0, change, change


def _count_votes(tables: Sequence[npt.NDArray[np.intp]]) -> npt.NDArray[np.int64]:
    """Count, of each task, the verdicts for each label, and in the last column those that nobody gave."""
    n_labels = max((int(table.max(initial=NOBODY)) for table in tables), default=NOBODY) + 1
    votes = np.zeros((len(tables[0]), n_labels + 1), np.int64)
    for table in tables:
        for column in table.T:
            votes[np.arange(len(column)), column] += 1
    return votes


def _lead(votes: npt.NDArray[np.int64], *own: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the label that most of the others gave; -1 if there is none, or there are two."""
    others, rows = votes.copy(), np.arange(len(votes))
    for column in own:
        others[rows, column] -= 1
    others = others[:, :-1]
    if not others.size:
        return np.full(len(votes), NOBODY, np.intp)
    most = others.max(axis=1)
    alone = (others == most[:, None]).sum(axis=1) == 1
    return np.where(alone & (most > 0), others.argmax(axis=1), NOBODY)


def _find_hits(said: npt.NDArray[np.intp], reference: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    here = (said != NOBODY) & (reference != NOBODY)
    return np.asarray(said[here] == reference[here])


def _mean(values: npt.NDArray[np.bool_] | Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
