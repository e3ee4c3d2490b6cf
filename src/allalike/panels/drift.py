"""Drift: judges who changed since an earlier panel, and the change in the rate.

A judge is compared with the consensus of the others (majority vote or median score) and with gold labels. Classes are
compared by agreement and accuracy, scores by distance and error. Scores are also compared directly, and levels count as
numbers.

**Tasks in both panels.** An exact sign test (McNemar's for classes) detects changes in one direction. The consensus
contains all verdicts by the others in both panels.

**Other tasks** may be harder than the earlier ones, so that all judges agree less. Welch's test therefore compares
relative values: the agreement of a judge minus the mean of all judges, or the score minus the consensus. It needs three
judges in both panels, and ten tasks in each. One changed judge makes the others appear changed. Therefore the judge
with the largest significant change is removed, and the others are compared again.

P-values are multiplied by the number of tests (Bonferroni). A change is reported if its p-value is below 0.01.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats
from allalike._core.columns.values import text_column
from allalike._core.lazy_imports import pd, stats
from allalike._core.system.addresses import find_folder
from allalike.discover import find_ties, load_run, read_whole
from allalike.engines import Run
from allalike.engines.base import list_answers
from allalike.errors import InputError
from allalike.panels.rates import find_gold
from allalike.panels.summary import MAX_NAMED, ConfidenceInterval, Drift, PanelSummary, Rate, RateChange
from allalike.panels.verdicts import Marks, Statistics, divide, find_mean_limits
from allalike.result.saved import SUMMARY, read_call, read_summary

SIGNIFICANT = 0.01
_MIN_TASKS = 10  # on each side of a comparison of different tasks
_MIN_JUDGES = 3
_DIGITS = 9
_MAX_ANSWERS = 50_000
_HASHES = 2.0**64
_COLUMNS = ["judge", "what", "tasks", "before", "now", "ci_low", "ci_high", "n_before", "n_now", "p_value"]


class Earlier(NamedTuple):
    """A saved panel: its folder, its answers, and its rate if it was estimated."""

    folder: str
    run: Run
    rate: Rate | None


def read_earlier(folder: str | os.PathLike[str]) -> Earlier:
    """Read the verdicts and the rate of a saved panel."""
    saved = read_call(find_folder(folder))
    try:
        panel = msgspec.convert(read_summary(saved.folder)["panel"], PanelSummary)
    except (ValueError, KeyError):
        raise InputError(
            f"{saved.folder / SUMMARY} is not a panel summary of this version. Run 'allalike jury' on its files again,"
            " or name another folder."
        ) from None
    run = load_run(*read_whole(saved.answers, None), saved.gold, find_ties(0, "random"), guessed=False)
    return Earlier(str(folder), run, panel.rate)


def list_verdicts(run: Run, n_answers: int, codes: Mapping[str, float]) -> pd.DataFrame:
    """List about ``n_answers`` verdicts: judge and task as text, label and gold label as number; NaN if unknown.

    Whole tasks are sampled by the hashes of their names, so that the same tasks of another panel are sampled. ``codes``
    are the numbers of classes and levels.
    """
    judges, gold, parts = np.array([*map(str, run.workers.tolist())], object), find_gold(run), []
    numbers = np.array([*(codes[name] for name in _list_labels(run)), np.nan])  # the last: a label that no judge gave

    def evaluate(label: Array) -> Floats:
        decode = run.encoding.decode
        return np.array(decode(label).tolist(), float) if run.encoding.numeric else numbers[label.astype(np.intp)]

    for part in list_answers(run):
        truth, gold = np.split(gold, [part.n_tasks])
        ids, known = text_column([*map(str, part.tasks.tolist())]), ~np.isnan(truth)
        chosen = known | (ids.hashes() / _HASHES <= n_answers / run.answer_counts.sum())
        tasks = np.repeat(np.arange(part.n_tasks), np.diff(part.starts))
        rows = np.flatnonzero(chosen[tasks])
        truth[known] = evaluate(truth[known])
        columns = {"judge": judges[part.worker[rows]], "task": ids.take(tasks[rows]).tolist()}
        columns |= {"label": evaluate(part.label[rows]), "truth": truth[tasks[rows]]}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _list_labels(run: Run) -> list[str]:
    """Return the names of classes or levels."""
    n_labels = 0 if run.encoding.numeric else run.encoding.n_labels
    return [*map(str, run.encoding.decode(np.arange(n_labels)).tolist())]


class BothPanels(NamedTuple):
    """Verdicts of two panels: a row per task, a column per judge in both; class codes or scores, NaN if missing."""

    judges: Sequence[str]
    then: Floats
    now: Floats
    truth: Floats
    scored: bool

    @classmethod
    def of(cls, before: pd.DataFrame, now: pd.DataFrame, *, scored: bool = False) -> Self:
        """Align the verdicts by the judges in both panels."""
        judges = sorted({*before["judge"]} & {*now["judge"]})
        verdicts = pd.concat([before, now], keys=["then", "now"], names=["panel"]).reset_index("panel")
        verdicts = verdicts.drop_duplicates(["panel", "task", "judge"], keep="last")
        table = verdicts.pivot(index="task", columns=["panel", "judge"], values="label")
        columns = pd.MultiIndex.from_product([["then", "now"], judges])
        then, later = np.hsplit(table.reindex(columns=columns).to_numpy(np.float64), 2)
        return cls(judges, then, later, verdicts.groupby("task")["truth"].last().to_numpy(np.float64), scored)

    @property
    def shared(self) -> Marks:
        """Marks of the tasks that are in both panels."""
        return np.asarray((~np.isnan(self.then)).any(axis=1) & (~np.isnan(self.now)).any(axis=1))


def find_changes(both: BothPanels) -> pd.DataFrame:
    """Test all judges for changes; return a row per test."""
    rows: list[tuple[Any, ...]] = []
    n, shared, scored = len(both.judges), both.shared, both.scored
    names = ("distance", "error") if scored else ("agreement", "accuracy")
    both_panels = np.hstack([both.then, both.now])
    for judge in range(n):
        own = both.then[:, judge], both.now[:, judge]
        others = _find_consensus(np.delete(both_panels, [judge, n + judge], axis=1), scored=scored)
        for name, reference in zip(names, (others, both.truth), strict=True):
            sides = [_compare(each, reference, scored=scored) for each in own]
            rows.append((judge, name, "both", *_test_pairs(*(side[shared] for side in sides))))
        rows.append((judge, names[1], "other", *_test_means(*(side[~shared] for side in sides))))
        if scored:
            rows.append((judge, "score", "both", *_test_pairs(*(each[shared] for each in own))))
    rows += [(judge, names[0], "other", *test) for judge, test in _compare_leaving_out(both, _find_relative)]
    if scored:
        rows += [(judge, "score", "other", *test) for judge, test in _compare_leaving_out(both, _subtract_consensus)]
    table = pd.DataFrame(rows, columns=_COLUMNS)
    return table[(table["n_before"] > 0) & (table["n_now"] > 0)].reset_index(drop=True)


def _find_consensus(verdicts: Floats, *, scored: bool) -> Floats:
    """Return, per task, the median or the majority vote; NaN if there is none, or for a tie."""
    if scored or not verdicts.size:
        return pd.DataFrame(verdicts).median(axis=1).to_numpy(np.float64)
    votes = _count_equal(verdicts)
    most = votes.max(axis=1, initial=0)
    is_clear = (most > 0) & ((votes == most[:, None]).sum(axis=1) == most)
    consensus = np.full(len(verdicts), np.nan)
    consensus[is_clear] = verdicts[is_clear, votes[is_clear].argmax(axis=1)]
    return consensus


def _count_equal(verdicts: Floats) -> npt.NDArray[np.intp]:
    """Count, per task and judge, the judges with the same verdict."""
    return np.asarray((verdicts[:, :, None] == verdicts[:, None]).sum(axis=2))


def _compare(own: Floats, reference: Floats, *, scored: bool) -> Floats:
    """Return, per task, the absolute error of a score, or whether a class is the same; NaN if unknown."""
    value = np.abs(own - reference) if scored else (own == reference).astype(np.float64)
    return np.where(np.isnan(own + reference), np.nan, value)


def _subtract_consensus(verdicts: Floats, *, scored: bool) -> Floats:
    """Return the difference between each judge and the consensus of the others."""
    judges = range(verdicts.shape[1])
    others = [_find_consensus(np.delete(verdicts, judge, axis=1), scored=scored) for judge in judges]
    return np.asarray(verdicts - np.column_stack(others))


def _find_relative(verdicts: Floats, *, scored: bool) -> Floats:
    """Return the distance to, or agreement with, the others, minus its mean over all judges."""
    if scored:
        value = np.abs(_subtract_consensus(verdicts, scored=True))
    else:
        there = ~np.isnan(verdicts)
        equal = (_count_equal(verdicts) - 1).astype(np.float64)
        value = np.where(there, divide(equal, there.sum(axis=1, keepdims=True) - 1), np.nan)
    table = pd.DataFrame(value)
    return table.sub(table.mean(axis=1), axis=0).to_numpy(np.float64)


def _compare_leaving_out(both: BothPanels, relate: Callable[..., Floats]) -> list[tuple[int, tuple[Any, ...]]]:
    """Compare judges on different tasks relative to the others; remove those who changed, one by one."""
    left = list(range(len(both.judges)))
    changed: list[tuple[int, tuple[Any, ...]]] = []
    while len(left) >= _MIN_JUDGES:
        sides = [relate(table[~both.shared][:, left], scored=both.scored) for table in (both.then, both.now)]
        tests = [_test_means(*(side[:, place] for side in sides)) for place in range(len(left))]
        significant = [place for place, test in enumerate(tests) if test[-1] * len(left) < SIGNIFICANT]
        if not significant:
            return changed + list(zip(left, tests, strict=True))
        first = max(significant, key=lambda place: abs(tests[place][1] - tests[place][0]))
        changed.append((left.pop(first), tests[first]))
    return changed


def _test_pairs(then: Floats, now: Floats) -> tuple[Any, ...]:
    """Test for a change in one direction by the exact sign test; return columns of `find_changes`."""
    known = ~np.isnan(then + now)
    then, now = then[known], now[known]
    change = (now - then).round(_DIGITS)
    if not len(change):
        return (math.nan,) * 4 + (0, 0, 1.0)
    up, down = int((change > 0).sum()), int((change < 0).sum())
    p_value = stats.binomtest(up, up + down).pvalue if up + down else 1.0
    return float(then.mean()), float(now.mean()), *find_mean_limits(change), len(then), len(now), float(p_value)


def _test_means(then: Floats, now: Floats) -> tuple[Any, ...]:
    """Compare the means of different tasks by Welch's test; p = 1 if there are too few, or equal values."""
    then, now = then[~np.isnan(then)].round(_DIGITS), now[~np.isnan(now)].round(_DIGITS)
    means = tuple(float(each.mean()) if len(each) else math.nan for each in (then, now))
    if min(len(then), len(now)) < _MIN_TASKS or max(np.ptp(then), np.ptp(now)) == 0:
        return *means, math.nan, math.nan, len(then), len(now), 1.0
    test = stats.ttest_ind(now, then, equal_var=False)
    low, high = test.confidence_interval()
    return *means, float(low), float(high), len(then), len(now), float(test.pvalue)


def describe_drift(earlier: Earlier, run: Run, rate: Rate | None) -> Statistics:
    """Return the judges who changed, a row per test, the smallest p-value first, and the change in the rate."""
    codes = _number_labels(earlier, run)
    then, now = (list_verdicts(each, _MAX_ANSWERS, codes) for each in (earlier.run, run))
    both = BothPanels.of(then, now, scored=not run.encoding.nominal)
    if not both.judges:
        raise InputError(
            f"This panel and the one in {earlier.folder} have no judge in common. Its judges are:"
            f" {', '.join(sorted({*then['judge']})[:MAX_NAMED])}."
        )
    table = find_changes(both)
    table["p_value"] = np.minimum(table["p_value"] * len(table), 1.0)
    table["changed"] = table["p_value"] < SIGNIFICANT
    table["judge"] = [both.judges[judge] for judge in table["judge"]]
    table = table.sort_values("p_value", kind="stable")
    changes = table[table["changed"]]
    before, after = {*then["judge"]}, {*now["judge"]}
    facts = Drift(
        baseline=earlier.folder,
        judges=len(both.judges),
        shared_tasks=int(both.shared.sum()),
        tests=len(table),
        drifted=tuple(sorted({*changes["judge"]})),
        named=tuple(changes[_COLUMNS].head(MAX_NAMED).to_dict("records")),  # type: ignore[arg-type]
        new_judges=tuple(sorted(after - before)[:MAX_NAMED]),
        gone_judges=tuple(sorted(before - after)[:MAX_NAMED]),
        rate=None if earlier.rate is None or rate is None else compare_rates(earlier.rate, rate),
    )
    drifted = np.isin([*map(str, run.workers.tolist())], facts.drifted)
    return Statistics({"drift": facts}, {"drift": table}, {"drifted": drifted})


def _number_labels(earlier: Earlier, run: Run) -> dict[str, float]:
    """Number the classes of both panels, or the levels of this one; both need the same label type."""
    name, other = run.domain.name, earlier.run.domain.name
    if name != other:
        raise InputError(
            f"The labels of the panel in {earlier.folder} are {other}, but these are {name}. Name a panel with the same"
            " label type, or read both with the same domain=."
        )
    labels = dict.fromkeys(_list_labels(run))
    unknown = [label for label in _list_labels(earlier.run) if label not in labels]
    if unknown and not run.encoding.nominal:
        raise InputError(
            f"The panel in {earlier.folder} has a label that this one does not have: {unknown[0]!r}. Name all levels of"
            " both panels: domain='ordinal(levels=[...])'."
        )
    return {label: float(code) for code, label in enumerate([*labels, *unknown])}


def compare_rates(then: Rate, now: Rate) -> RateChange:
    """Return the difference between two rates, with the MOVER interval for independent rates."""
    if sorted(map(str, then.positive)) != sorted(map(str, now.positive)):
        return RateChange(other_positive=then.positive)
    sides = [
        ConfidenceInterval(estimate=rate.estimate, ci_low=rate.ci_low, ci_high=rate.ci_high) for rate in (then, now)
    ]
    (before, low, high), (after, below, above) = (np.array(msgspec.structs.astuple(side), float) for side in sides)
    change = float(after - before)
    difference = ConfidenceInterval(
        estimate=change,
        ci_low=change - math.hypot(after - below, high - before),
        ci_high=change + math.hypot(above - after, before - low),
    )
    return RateChange(before=sides[0], now=sides[1], difference=difference)
