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
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats
from allalike._core.lazy_imports import pd
from allalike._core.system.addresses import find_folder
from allalike._core.system.tables import unguard_text
from allalike.domains import Encoding
from allalike.engines import Run, TaskTable
from allalike.errors import InputError
from allalike.panels.summary import MAX_NAMED, ConfidenceInterval, Drift, JudgeChange, PanelSummary, Rate, RateChange
from allalike.panels.verdicts import Marks, Statistics, divide, find_mean_limits, sample_block
from allalike.result.saved import SUMMARY, check_complete, check_own_file, read_summary
from allalike.result.summary import LabelKind

SIGNIFICANT = 0.01
_MIN_TASKS = 10  # on each side of a comparison of different tasks
_MIN_JUDGES = 3
_DIGITS = 9
_KEPT_DIGITS = 12  # of numbers, whose last digits contain rounding errors
_KEPT = ["judge", "task", "label", "truth"]
_KEPT_FILES = [f"{folder}verdicts.{kind}" for folder in ("details/", "") for kind in ("csv", "parquet")]
_COLUMNS = ["judge", "what", "tasks", "before", "now", "ci_low", "ci_high", "n_before", "n_now", "p_value"]


# Kept verdicts: a frame of texts with a row per verdict; an unknown truth is empty. A sample of whole tasks is kept, by
# the hashes of their ids, so that another run keeps the same tasks.


def keep_verdicts(run: Run, verdicts: TaskTable, n_answers: int) -> pd.DataFrame:
    """Return about ``n_answers`` verdicts of a run."""
    block, tasks = sample_block(run, n_answers), verdicts.joined().tasks
    places = pd.Index(tasks.hashes()).get_indexer(pd.Index(block.task_hash))
    ids, judges = (np.array([*map(str, names.tolist())], object) for names in (tasks.take(places), run.workers))
    truth = np.full(block.n_tasks, "", object)
    truth[block.gold_task] = _write_labels(run.encoding, block.gold_label)
    columns = judges[block.worker], ids[block.task], _write_labels(run.encoding, block.label), truth[block.task]
    return pd.DataFrame(dict(zip(_KEPT, columns, strict=True)), dtype=object)


def _write_labels(encoding: Encoding, label: Array) -> npt.NDArray[np.object_]:
    """Return labels as text; a gold label that no judge gave is empty."""
    if encoding.numeric:
        return np.array([f"{each:.{_KEPT_DIGITS}g}" for each in encoding.decode(label).tolist()], object)
    names = np.array([*map(str, encoding.decode(np.arange(encoding.n_labels)).tolist()), ""], object)
    return np.asarray(names[label])


class _SavedSummary(msgspec.Struct):
    panel: PanelSummary
    domain: LabelKind
    files: tuple[str, ...]
    safe_csv: bool = False


class Earlier(NamedTuple):
    """A saved panel: verdicts, label type, and rate if it was estimated."""

    folder: str
    verdicts: pd.DataFrame
    domain: str
    rate: Rate | None


def read_earlier(folder: str | os.PathLike[str]) -> Earlier:
    """Read the verdicts that a panel saved."""
    place = find_folder(folder)
    check_complete(place)
    check_own_file(place / SUMMARY)
    try:
        summary = msgspec.convert(read_summary(place), _SavedSummary)
        path = next(place / name for name in _KEPT_FILES if name in summary.files)
        check_own_file(path)
    except StopIteration:
        raise InputError(
            f"The panel in {folder} saved no verdicts to compare with. Only classes, numbers and levels are saved."
        ) from None
    except OSError:
        raise InputError(f"There is no panel in {place}. Name a folder that 'allalike jury' wrote.") from None
    except (ValueError, TypeError, KeyError):
        raise InputError(
            f"{place / SUMMARY} is not a panel summary of this version. Run 'allalike jury' on its files again, or name"
            " another folder."
        ) from None
    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, dtype=str, na_filter=False)
        table = table[_KEPT].astype(str).astype(object)
    except (OSError, ValueError, KeyError):
        raise InputError(f"{path} cannot be read. Run 'allalike jury' on its files again.") from None
    table = table.map(unguard_text) if summary.safe_csv else table
    return Earlier(str(folder), table, summary.domain.name, summary.panel.rate)


class BothPanels(NamedTuple):
    """Verdicts of two panels: a row per task, a column per judge in both; class codes or scores, NaN if missing."""

    judges: Sequence[str]
    then: Floats
    now: Floats
    truth: Floats
    scored: bool

    @classmethod
    def of(cls, before: pd.DataFrame, now: pd.DataFrame, number: Callable[[str], float] | None = None) -> Self:
        """Align the verdicts by the judges in both panels; ``number`` parses a score from its label."""
        judges = sorted({*before["judge"]} & {*now["judge"]})
        labels = sorted({*before["label"], *now["label"], *before["truth"], *now["truth"]} - {""})
        value = {label: float(code) if number is None else number(label) for code, label in enumerate(labels)}
        both = pd.concat([before, now], keys=["then", "now"], names=["panel"]).reset_index("panel")
        verdicts = both.assign(label=both["label"].map(value), truth=both["truth"].map(value))
        verdicts = verdicts.drop_duplicates(["panel", "task", "judge"], keep="last")
        table = verdicts.pivot(index="task", columns=["panel", "judge"], values="label")
        columns = pd.MultiIndex.from_product([["then", "now"], judges])
        then, later = np.hsplit(table.reindex(columns=columns).to_numpy(np.float64), 2)
        truth = verdicts.groupby("task")["truth"].last().to_numpy(np.float64)
        return cls(judges, then, later, truth, number is not None)

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
        then, now = both.then[:, judge], both.now[:, judge]
        others = _find_consensus(np.delete(both_panels, [judge, n + judge], axis=1), scored=scored)
        for name, reference in zip(names, (others, both.truth), strict=True):
            sides = [_compare(own, reference, scored=scored) for own in (then, now)]
            rows.append((judge, name, "both", *_test_pairs(*(side[shared] for side in sides))))
        if scored:
            rows.append((judge, "score", "both", *_test_pairs(then[shared], now[shared])))
        rows.append((judge, names[1], "other", *_test_means(*(side[~shared] for side in sides))))
    rows += [(judge, names[0], "other", *test) for judge, test in _compare_leaving_out(both, _find_relative)]
    if scored:
        rows += [(judge, "score", "other", *test) for judge, test in _compare_leaving_out(both, _subtract_consensus)]
    table = pd.DataFrame(rows, columns=_COLUMNS)
    return table[(table["n_before"] > 0) & (table["n_now"] > 0)].reset_index(drop=True)


def _find_consensus(verdicts: Floats, *, scored: bool) -> Floats:
    """Return, per task, the median or the majority vote; NaN if there is none, or for a tie."""
    if scored:
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
        others = there.sum(axis=1, keepdims=True) - 1
        equal = (_count_equal(verdicts) - 1).astype(np.float64)
        value = np.where(there, divide(equal, others), np.nan)
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
    from scipy.stats import binomtest

    known = ~np.isnan(then + now)
    then, now = then[known], now[known]
    change = (now - then).round(_DIGITS)
    if not len(change):
        return (math.nan,) * 4 + (0, 0, 1.0)
    up, down = int((change > 0).sum()), int((change < 0).sum())
    p_value = binomtest(up, up + down).pvalue if up + down else 1.0
    return float(then.mean()), float(now.mean()), *find_mean_limits(change), len(then), len(now), float(p_value)


def _test_means(then: Floats, now: Floats) -> tuple[Any, ...]:
    """Compare the means of different tasks by Welch's test; p = 1 if there are too few, or equal values."""
    from scipy.stats import ttest_ind

    then, now = then[~np.isnan(then)].round(_DIGITS), now[~np.isnan(now)].round(_DIGITS)
    means = tuple(float(each.mean()) if len(each) else math.nan for each in (then, now))
    if min(len(then), len(now)) < _MIN_TASKS or max(np.ptp(then), np.ptp(now)) == 0:
        return *means, math.nan, math.nan, len(then), len(now), 1.0
    test = ttest_ind(now, then, equal_var=False)
    low, high = test.confidence_interval()
    return *means, float(low), float(high), len(then), len(now), float(test.pvalue)


def describe_drift(earlier: Earlier, kept: pd.DataFrame, run: Run, rate: Rate | None) -> Statistics:
    """Return the judges who changed, a row per test, the smallest p-value first, and the change in the rate."""
    both = _align(earlier, kept, run)
    table = find_changes(both)
    table["p_value"] = np.minimum(table["p_value"] * len(table), 1.0)
    table["changed"] = table["p_value"] < SIGNIFICANT
    table["judge"] = [both.judges[judge] for judge in table["judge"]]
    table = table.sort_values("p_value", kind="stable")
    named = table.loc[table["changed"], _COLUMNS].head(MAX_NAMED).to_dict("records")
    then, now = {*earlier.verdicts["judge"]}, {*kept["judge"]}
    facts = Drift(
        baseline=earlier.folder,
        judges=len(both.judges),
        shared_tasks=int(both.shared.sum()),
        tests=len(table),
        drifted=tuple(sorted({*table.loc[table["changed"], "judge"]})),
        named=tuple(JudgeChange(**{str(key): value for key, value in row.items()}) for row in named),
        new_judges=tuple(sorted(now - then)[:MAX_NAMED]),
        gone_judges=tuple(sorted(then - now)[:MAX_NAMED]),
        rate=None if earlier.rate is None or rate is None else compare_rates(earlier.rate, rate),
    )
    judges, known = [*map(str, run.workers.tolist())], ~np.isnan(both.then + both.now)
    other = divide(((both.then != both.now) & known).sum(axis=0).astype(np.float64), known.sum(axis=0))
    changed = pd.Series(other, index=list(both.judges)).reindex(judges).to_numpy()
    columns = {"changed": changed, "drifted": np.isin(judges, facts.drifted)}
    return Statistics({"drift": facts}, {"drift": table}, columns)


def _align(earlier: Earlier, kept: pd.DataFrame, run: Run) -> BothPanels:
    """Align an earlier panel and this one; both need the same label type and a common judge."""
    if earlier.domain != run.domain.name:
        raise InputError(
            f"The labels of the panel in {earlier.folder} are {earlier.domain}, but these are {run.domain.name}. Name a"
            " panel with the same label type, or read both with the same domain=."
        )
    number: Callable[[str], float] | None = None if run.encoding.nominal else float
    if run.encoding.n_classes is not None and not run.encoding.nominal:
        levels = run.encoding.decode(np.arange(run.encoding.n_labels)).tolist()
        number = {str(level): float(code) for code, level in enumerate(levels)}.__getitem__
    try:
        both = BothPanels.of(earlier.verdicts, kept, number)
    except (KeyError, ValueError) as error:
        raise InputError(
            f"The panel in {earlier.folder} has a label that this one does not have: {error}. Name all levels of"
            " both panels: domain='ordinal(levels=[...])'."
        ) from None
    if not both.judges:
        raise InputError(
            f"This panel and the one in {earlier.folder} have no judge in common. Its judges are:"
            f" {', '.join(sorted({*earlier.verdicts['judge']})[:MAX_NAMED])}."
        )
    return both


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
