"""Drift: judges who changed since an earlier panel, and the change of the rate.

**Tasks that both panels have seen.** If a judge did not change, changes in either direction are equally probable. So of
the tasks on which its verdict changed those count on which it now gives a label that it did not give, agrees with the
others (the plurality of all their verdicts, then and now), or is right by gold labels; against those on which it is the
other way round. That is McNemar's test, in its exact form. Of scores, differences lie symmetrically around 0, and so do
those of distances to the others (to the median of all their scores, then and now) and to gold labels. Each is tested by
signed ranks (Wilcoxon: Individual comparisons by ranking methods. 1945), which no single score can decide.

**Other tasks** may be harder than the earlier ones, so that everybody agrees less. Gold labels show how often a judge
is right then and now (Fisher's exact test), or how far it is from them (Welch's test). Where three judges are in both
panels, the share of the others that agrees with it, minus the mean of that for all judges, is compared between the
earlier and the later tasks (Welch's test); of scores, its score less the median of the others, and its distance to this
median less the mean of all judges. The judge with the largest significant change is left out, and the remaining ones
are compared again, because one who changed makes others look changed.

Each test has a 95 % confidence interval of the change: those of Bonett and Price (2012) for pairs, Newcombe's (1998)
for two shares, and Welch's for two means. With groups of tasks, each is tested alone, too. Probabilities are adjusted
for all tests (Holm 1979), and a change below 0.01 is one. Levels count as numbers, one after the other.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats
from allalike._core.late import pd
from allalike._core.system.addresses import find_folder
from allalike._core.system.tables import unguard_text
from allalike.domains import Encoding
from allalike.engines import Run, TaskTable
from allalike.errors import InputError
from allalike.methods.auto.uncertainty import NORMAL_QUANTILE, adjust_probabilities, find_wilson_limits
from allalike.panels.rates import Estimate, choose_good
from allalike.panels.smaller_panels import find_mean_limits
from allalike.panels.summary import Drift, PanelSummary, RateChange
from allalike.panels.verdicts import NO_LABEL, Codes, Marks, Statistics, divide, find_ids, sample_block
from allalike.result.saved import SUMMARY, check_complete, check_own_file, read_summary
from allalike.result.summary import LabelKind

SIGNIFICANT = 0.01
_MAX_LABELS = 10  # that are tested one by one
_MIN_TASKS = 10  # on each side of a comparison of different tasks
_MIN_JUDGES = 3
_MIN_CHANGED = 10  # scores, for the normal approximation of signed ranks
_MAX_NAMED = 20  # changes, and judges who came or went, in a summary
_DIGITS = 9
_KEPT_DIGITS = 12  # of numbers, of which sums and differences leave traces in the last ones
_KEPT = ["judge", "task", "label", "truth", "group"]


# Kept verdicts: a frame with a row per verdict, all of it text; an unknown truth or group is empty. Of many verdicts
# those on some whole tasks are kept, chosen by the hashes of their ids, so that another run keeps the same tasks.


def keep_verdicts(run: Run, found: TaskTable, n_answers: int, groups: Mapping[str, str]) -> pd.DataFrame:
    """Return about so many verdicts of a run."""
    block = sample_block(run, n_answers)
    ids = np.array([*map(str, find_ids(found, block.task_hash).tolist())], object)
    truth = np.full(block.n_tasks, "", object)
    truth[block.gold_task] = _write_labels(run.encoding, block.gold_label)
    group = np.array([groups.get(each, "") for each in ids], object)
    judges = np.array([*map(str, run.workers.tolist())], object)
    labels, task = _write_labels(run.encoding, block.label), block.task
    columns = judges[block.worker], ids[task], labels, truth[task], group[task]
    return pd.DataFrame(dict(zip(_KEPT, columns, strict=True)), dtype=object)


def _write_labels(encoding: Encoding, label: Array) -> npt.NDArray[np.object_]:
    """Return labels as text; a gold label that no judge gave is as unknown."""
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
    """A saved panel: its verdicts, the type of its labels, and its rate, if it had one."""

    folder: str
    verdicts: pd.DataFrame
    domain: str
    rate: Any


def read_earlier(folder: str | os.PathLike[str]) -> Earlier:
    """Read the verdicts that a panel saved.

    >>> read_earlier("nowhere")
    Traceback (most recent call last):
    allalike.errors.InputError: There is no panel in nowhere. Name a folder that 'allalike jury' wrote.
    """
    place = find_folder(folder)
    check_complete(place)
    check_own_file(place / SUMMARY)
    try:
        summary = msgspec.convert(read_summary(place), _SavedSummary)
    except OSError:
        raise InputError(f"There is no panel in {place}. Name a folder that 'allalike jury' wrote.") from None
    except (ValueError, TypeError):
        raise InputError(
            f"{place / SUMMARY} is not the summary of a panel. Name a folder that 'allalike jury' wrote."
        ) from None
    names = [name for name in ("verdicts.csv", "verdicts.parquet") if name in summary.files]
    if not names:
        raise InputError(
            f"The panel in {folder} kept no verdicts to compare with: only classes, numbers and levels are kept, and"
            " older versions kept none. Run 'allalike jury' on its files again."
        )
    path = Path(folder, names[0])
    try:
        check_own_file(path)
        if path.suffix == ".parquet":
            table = pd.read_parquet(path)[_KEPT].astype(str).astype(object)
        else:
            table = pd.read_csv(path, dtype=str, keep_default_na=False)[_KEPT].astype(object)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"The verdicts of the earlier panel, {path}, cannot be read: {error}") from None
    if summary.safe_csv:
        table = table.map(unguard_text)
    return Earlier(str(folder), table, summary.domain.name, summary.panel.rate)


class BothPanels(NamedTuple):
    """Verdicts of two panels as codes of labels: a row per task, a column per judge in both."""

    judges: Sequence[str]
    labels: Sequence[str]
    then: Codes
    now: Codes
    truth: Codes
    group: npt.NDArray[np.object_]

    @classmethod
    def of(cls, before: pd.DataFrame, now: pd.DataFrame) -> Self:
        """Align the verdicts of the judges who are in both panels."""
        both = pd.concat([before, now], keys=["then", "now"], names=["panel"]).reset_index("panel")
        judges = sorted({*before["judge"]} & {*now["judge"]})
        labels = sorted({*both["label"], *both["truth"]} - {""})
        tasks = sorted({*both["task"]})
        code = {label: place for place, label in enumerate(labels)} | {"": NO_LABEL}
        known = both.assign(code=both["label"].map(code), truth=both["truth"].map(code))
        verdicts = known.drop_duplicates(["panel", "task", "judge"], keep="last").pivot(
            index="task", columns=["panel", "judge"], values="code"
        )
        columns = pd.MultiIndex.from_product([["then", "now"], judges])
        tables = verdicts.reindex(index=tasks, columns=columns).fillna(NO_LABEL).to_numpy(np.intp)
        truth = known[known["truth"] != NO_LABEL].groupby("task")["truth"].last().reindex(tasks, fill_value=NO_LABEL)
        group = known[known["group"] != ""].groupby("task")["group"].last().reindex(tasks, fill_value="")
        then, later = np.hsplit(tables, 2)
        return cls(judges, labels, then, later, truth.to_numpy(np.intp), group.to_numpy(object))

    @property
    def shared(self) -> Marks:
        """Which tasks both panels have seen."""
        return np.asarray((self.then != NO_LABEL).any(axis=1) & (self.now != NO_LABEL).any(axis=1))

    def only(self, tasks: Marks) -> BothPanels:
        """Return some tasks."""
        names = ("then", "now", "truth", "group")
        return self._replace(**{name: getattr(self, name)[tasks] for name in names})


class Change(NamedTuple):
    """A test of a judge: tasks, quantity, its means then and now, the probability, and an interval of the change."""

    judge: int
    group: str
    tasks: str  # both, or other
    what: str  # says a label, agrees, right; scores, off, off truth
    before: float
    now: float
    n_before: int
    n_now: int
    probability: float
    low: float
    high: float


_SHOWN = [
    "judge",
    "group",
    "tasks",
    "what",
    "before",
    "now",
    "low",
    "high",
    "n_before",
    "n_now",
    "probability",
    "found",
]
_NUMBERS = dict.fromkeys(("before", "now", "low", "high"), float) | dict.fromkeys(("judge", "n_before", "n_now"), int)
Test = tuple[float, float, int, int, float, float, float]  # all but the first four of a change
Tests = Callable[[BothPanels], "Iterator[tuple[int, str, Test]]"]


def find_class_changes(both: BothPanels, good: Sequence[str] | None = None) -> list[Change]:
    """Test each judge on all tasks, and on each group of them; if some labels are good, only this matters."""
    if good is not None:
        is_good = np.array([*(label in good for label in both.labels), NO_LABEL])  # the last stands for no label
        codes = {name: is_good[getattr(both, name)].astype(np.intp) for name in ("then", "now", "truth")}
        both = both._replace(labels=("other", "good"), **codes)
    labels = [1] if good is not None else range(len(both.labels)) if len(both.labels) <= _MAX_LABELS else []
    return _test_parts(both, partial(_compare_shared_classes, labels=labels), _compare_other_classes)


def find_score_changes(both: BothPanels, numbers: Floats) -> list[Change]:
    """Test each judge on all tasks, and on each group of them, by the numbers of labels."""
    known = np.append(numbers, np.nan)  # the last stands for no label
    return _test_parts(both, *(partial(test, known=known) for test in (_compare_shared_scores, _compare_other_scores)))


def _test_parts(both: BothPanels, shared: Tests, other: Tests) -> list[Change]:
    """Return the tests of all tasks and of each group, on tasks in both panels and on others, with verdicts of both."""
    groups = sorted({*both.group} - {""})
    found = []
    for name, part in [("", both), *((name, both.only(both.group == name)) for name in groups)]:
        for tasks, chosen, test in (("both", part.shared, shared), ("other", ~part.shared, other)):
            if chosen.any():
                tests = test(part.only(chosen))
                found += [Change(judge, name, tasks, what, *numbers) for judge, what, numbers in tests]
    return [each for each in found if each.n_before and each.n_now]


def _compare_shared_classes(both: BothPanels, *, labels: Sequence[int]) -> Iterator[tuple[int, str, Test]]:
    n = len(both.judges)
    verdicts = np.hstack([both.then, both.now])
    same = _find_same(verdicts)
    for judge in range(n):
        then, now = both.then[:, judge], both.now[:, judge]
        there = (then != NO_LABEL) & (now != NO_LABEL)
        for label in labels:
            yield judge, f"says {both.labels[label]}", _test_flips(then[there] == label, now[there] == label)
        others = np.delete(np.arange(2 * n), [judge, n + judge])
        plurality = _find_plurality(verdicts[:, others], same[:, others][:, :, others].sum(axis=2))
        for what, reference in (("agrees", plurality), ("right", both.truth)):
            here = there & (reference != NO_LABEL)
            yield judge, what, _test_flips(then[here] == reference[here], now[here] == reference[here])


def _find_same(verdicts: Codes) -> Marks:
    """Return, per task and pair of columns, whether both have the same label."""
    return np.asarray((verdicts[:, :, None] == verdicts[:, None]) & (verdicts != NO_LABEL)[:, None])


def _find_plurality(verdicts: Codes, votes: Array) -> Codes:
    """Return the label with most votes, given those for each verdict; -1 if there is none, or there are two."""
    if not verdicts.size:
        return np.full(len(verdicts), NO_LABEL, np.intp)
    most = votes.max(axis=1, keepdims=True)
    leading = (votes == most) & (most > 0)
    label = verdicts[np.arange(len(verdicts)), votes.argmax(axis=1)]
    alone = ((verdicts == label[:, None]) | ~leading).all(axis=1)
    return np.where(alone & (most[:, 0] > 0), label, NO_LABEL)


def _test_flips(then: Marks, now: Marks) -> Test:
    """Test whether changes go in one direction: McNemar's exact test."""
    from scipy.stats import binom

    n, up, down = len(then), int((now & ~then).sum()), int((then & ~now).sum())
    probability = min(1.0, 2 * float(binom.cdf(min(up, down), up + down, 0.5)))
    gain, loss = (up + 1) / (n + 2), (down + 1) / (n + 2)
    half = NORMAL_QUANTILE * math.sqrt(max(gain + loss - (gain - loss) ** 2, 0.0) / (n + 2))
    limits = max(gain - loss - half, -1.0), min(gain - loss + half, 1.0)
    return _mean(then), _mean(now), n, n, probability, *limits


def _compare_other_classes(both: BothPanels) -> Iterator[tuple[int, str, Test]]:
    from scipy.stats import fisher_exact

    for judge in range(len(both.judges)):
        hits = []
        for table in (both.then, both.now):
            here = (table[:, judge] != NO_LABEL) & (both.truth != NO_LABEL)
            hits.append(table[here, judge] == both.truth[here])
        if all(map(len, hits)):
            shares, n = np.array([side.mean() for side in hits]), np.array([float(len(side)) for side in hits])
            probability = float(fisher_exact(np.array([[side.sum(), (~side).sum()] for side in hits])).pvalue)
            then, now = (
                Estimate(*map(float, each)) for each in zip(shares, *find_wilson_limits(shares, n), strict=True)
            )
            sizes = len(hits[0]), len(hits[1])
            yield judge, "right", (then.estimate, now.estimate, *sizes, probability, *now.minus(then)[1:])
    for judge, test in _compare_leaving_out(both.then, both.now, _find_agreement):
        yield judge, "agrees", test


def _find_agreement(verdicts: Codes) -> Floats:
    """Return, per task, the share of the others that agrees with each judge, minus its mean; NaN if unknown.

    >>> _find_agreement(np.array([[0, 0, 1], [0, NO_LABEL, 0], [0, NO_LABEL, NO_LABEL]])).round(2)
    array([[ 0.17,  0.17, -0.33],
           [ 0.  ,   nan,  0.  ],
           [  nan,   nan,   nan]])
    """
    there = verdicts != NO_LABEL
    others = there.sum(axis=1, keepdims=True) - 1
    same = _find_same(verdicts).sum(axis=2) - 1
    return _subtract_mean(np.where(there & (others > 0), same / np.maximum(others, 1), np.nan))


def _subtract_mean(table: Floats) -> Floats:
    there = ~np.isnan(table)
    mean = np.where(there, table, 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return np.asarray(table - mean[:, None])


def _compare_leaving_out(then: Array, now: Array, relate: Callable[[Any], Floats]) -> Iterator[tuple[int, Test]]:
    """Compare judges on different tasks relative to the others; those who changed are left out, one by one."""
    left = list(range(then.shape[1]))
    while len(left) >= _MIN_JUDGES:
        sides = [relate(table[:, left]).round(_DIGITS) for table in (then, now)]
        tests = [_compare_means(*(side[:, place] for side in sides)) for place in range(len(left))]
        changed = [place for place, each in enumerate(tests) if each[4] * len(left) < SIGNIFICANT]
        first = max(changed, key=lambda place: abs(tests[place][1] - tests[place][0]), default=None)
        for place in range(len(left)) if first is None else [first]:
            yield left[place], tests[place]
        if first is None:
            return
        del left[first]


def _compare_means(then: Floats, now: Floats) -> Test:
    """Compare two means: by Welch's test, or by a permutation where nothing varies; too few tasks show nothing."""
    from scipy.stats import ttest_ind

    then, now = then[~np.isnan(then)], now[~np.isnan(now)]
    means = _mean(then), _mean(now), len(then), len(now)
    if min(len(then), len(now)) < _MIN_TASKS:
        return *means, 1.0, math.nan, math.nan
    if max(np.ptp(then), np.ptp(now)) > 0:
        test = ttest_ind(now, then, equal_var=False)
        low, high = test.confidence_interval()
        return *means, float(test.pvalue), float(low), float(high)
    change = float(now[0] - then[0])
    return *means, (2 / math.comb(len(then) + len(now), len(then)) if change else 1.0), change, change


def _compare_shared_scores(both: BothPanels, *, known: Floats) -> Iterator[tuple[int, str, Test]]:
    tables, truth = (known[both.then], known[both.now]), known[both.truth]
    for judge in range(len(both.judges)):
        then, now = (table[:, judge] for table in tables)
        middle = _find_median(np.column_stack([np.delete(table, judge, axis=1) for table in tables]))
        sides = {"scores": (then, now)}
        sides |= {what: (abs(then - at), abs(now - at)) for what, at in (("off", middle), ("off truth", truth))}
        for what, (before, after) in sides.items():
            here = ~np.isnan(before + after)
            if here.any():
                change, n = (after - before)[here].round(_DIGITS), int(here.sum())
                means = float(before[here].mean()), float(after[here].mean())
                yield judge, what, (*means, n, n, _test_signed_ranks(change), *find_mean_limits(change))


def _test_signed_ranks(change: Floats) -> float:
    """Return how probable it is that differences around 0 lie so much on one side (Wilcoxon's test, normal)."""
    from scipy.special import ndtr
    from scipy.stats import rankdata

    change = change[change != 0]
    if len(change) < _MIN_CHANGED:
        return 1.0
    rank = rankdata(np.abs(change)) * np.sign(change)
    return float(2 * ndtr(-abs(rank.sum()) / np.sqrt(np.square(rank).sum())))


def _compare_other_scores(both: BothPanels, *, known: Floats) -> Iterator[tuple[int, str, Test]]:
    then, now, truth = known[both.then], known[both.now], known[both.truth]
    distance: Callable[[Floats], Floats] = lambda scores: _subtract_mean(np.abs(_find_relative(scores)))  # noqa: E731
    for what, relate in (("scores", _find_relative), ("off", distance)):
        for judge, test in _compare_leaving_out(then, now, relate):
            yield judge, what, test
    for judge in range(then.shape[1]):
        yield judge, "off truth", _compare_means(*(np.abs(table[:, judge] - truth) for table in (then, now)))


def _find_relative(scores: Floats) -> Floats:
    """Return, per task, by how much each judge is above the median of the others; NaN without another.

    >>> _find_relative(np.array([[1.0, 2.0, 6.0], [1.0, np.nan, np.nan]]))
    array([[-3. , -1.5,  4.5],
           [ nan,  nan,  nan]])
    """
    others = [_find_median(np.delete(scores, judge, axis=1)) for judge in range(scores.shape[1])]
    return np.asarray(scores - np.column_stack(others))


def _find_median(scores: Floats) -> Floats:
    """Return the median of each row, NaN without a score."""
    there = ~np.isnan(scores).all(axis=1)
    median = np.full(len(scores), np.nan)
    if there.any():
        median[there] = np.nanmedian(scores[there], axis=1)
    return median


def _mean(values: Marks | Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def describe_drift(
    earlier: Earlier, kept: pd.DataFrame, run: Run, good: Sequence[Any] | None, rate: Estimate | None
) -> Statistics:
    """Return the judges who changed, a row per test, the most improbable first, and the change of the rate."""
    encoding, both = run.encoding, _align(earlier, kept, run.domain.name)
    good_labels = None if good is None else [*map(str, good)]
    if encoding.nominal:
        changes = find_class_changes(both, good_labels)
    else:
        numbers = _read_numbers(both.labels, encoding, earlier.folder)
        changes = find_score_changes(both, numbers)
        if good is not None:
            good_labels = [
                label for label, own in zip(both.labels, choose_good(encoding, good)(numbers), strict=True) if own
            ]
    table = pd.DataFrame(changes, columns=Change._fields).astype(_NUMBERS)
    adjusted = adjust_probabilities(table["probability"].to_numpy(np.float64))
    table = table.assign(probability=adjusted, found=adjusted < SIGNIFICANT)
    drifted = sorted({*table.loc[table["found"], "judge"]})
    table["judge"] = [both.judges[judge] for judge in table["judge"]]
    table = table.iloc[np.argsort(adjusted, kind="stable")]
    found, then, now = table[table["found"]], {*earlier.verdicts["judge"]}, {*kept["judge"]}
    changed_rate = None
    if rate is not None and good is not None and good_labels is not None and earlier.rate is not None:
        changed_rate = _compare_rates(earlier.rate, rate, good, _find_effect(both, good_labels, drifted))
    facts = Drift(
        since=earlier.folder,
        judges=len(both.judges),
        shared_tasks=int(both.shared.sum()),
        tests=len(table),
        found=len(found),
        drifted=tuple(both.judges[judge] for judge in drifted),
        named=tuple(found.head(_MAX_NAMED).to_dict("records")),  # type: ignore[arg-type]
        new_judges=tuple(sorted(now - then)[:_MAX_NAMED]),
        gone_judges=tuple(sorted(then - now)[:_MAX_NAMED]),
        rate=changed_rate,
    )
    judges = [*map(str, run.workers.tolist())]
    changed = _find_changed_shares(both).reindex(judges).to_numpy(np.float64)
    columns = {"changed": changed, "drifted": np.isin(judges, facts.drifted)}
    return Statistics({"drift": facts}, {"drift": table[_SHOWN]}, columns)


def _find_changed_shares(both: BothPanels) -> pd.Series[float]:
    """Return, per judge, the share of the tasks in both panels with another verdict."""
    there = (both.then != NO_LABEL) & (both.now != NO_LABEL)
    other = (there & (both.then != both.now)).sum(axis=0).astype(np.float64)
    return pd.Series(divide(other, there.sum(axis=0)), index=list(both.judges))


def _align(earlier: Earlier, kept: pd.DataFrame, domain: str) -> BothPanels:
    """Align an earlier panel and this one, which must have labels of one type and a judge in common."""
    if earlier.domain != domain:
        raise InputError(
            f"The labels of the panel in {earlier.folder} are {earlier.domain}, and these are {domain}, so that they"
            " cannot be compared. Name a panel on the same label type, or read both alike with domain=."
        )
    both = BothPanels.of(earlier.verdicts, kept)
    if not both.judges:
        raise InputError(
            f"This panel and the one in {earlier.folder} have no judge in common. Its judges are:"
            f" {', '.join(sorted({*earlier.verdicts['judge']})[:_MAX_NAMED])}."
        )
    return both


def _read_numbers(labels: Sequence[str], encoding: Encoding, folder: str) -> Floats:
    """Return the number that each label of both panels stands for; of levels their place."""
    try:
        if encoding.n_classes is None:
            return np.array([*map(float, labels)])
        levels = encoding.decode(np.arange(encoding.n_labels)).tolist()
        place = {str(level): float(code) for code, level in enumerate(levels)}
        return np.array([place[label] for label in labels])
    except (KeyError, ValueError) as error:
        raise InputError(
            f"The panel in {folder} has a label that is none of these: {error}. Name all levels of"
            " both panels: domain='ordinal(levels=[...])'."
        ) from None


def _compare_rates(before: Any, now: Estimate, good: Sequence[Any], effect: float | None) -> RateChange:
    if sorted(map(str, before.good)) != sorted(map(str, good)):
        return RateChange(other_good=before.good)
    then = Estimate(*(math.nan if each is None else each for each in (before.estimate, before.low, before.high)))
    return RateChange(before=then.facts, now=now.facts, difference=now.minus(then).facts, effect=effect)


def _find_effect(both: BothPanels, good: Sequence[str], drifted: Sequence[int]) -> float | None:
    """Return by how much changed judges move the share that the majority calls good, on tasks in both panels."""
    shared = both.only(both.shared)
    if not drifted or not len(shared.then):
        return None
    is_good = np.array([*(label in good for label in both.labels), False])
    back = shared.now.copy()
    for judge in drifted:
        back[:, judge] = np.where(shared.then[:, judge] == NO_LABEL, back[:, judge], shared.then[:, judge])
    shares = []
    for verdicts in (shared.now, back):  # half a task for a draw
        majority = is_good[verdicts].sum(axis=1) - 0.5 * (verdicts != NO_LABEL).sum(axis=1)
        shares.append(float((0.5 + 0.5 * np.sign(majority)).mean()))
    return shares[0] - shares[1]
