"""Drift: which judges changed since an earlier panel, on which tasks, beyond chance, and what became of the rate.

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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.late import pd
from allalike._core.system.addresses import find_folder
from allalike._core.system.tables import unguard_text
from allalike.errors import InputError
from allalike.methods.auto.sureness.intervals import NORMAL_QUANTILE, adjust_probabilities, find_wilson_limits
from allalike.panels.panel import PanelFacts, list_columns
from allalike.panels.rates import Rate, choose_good
from allalike.panels.smaller_panels import find_mean_limits
from allalike.panels.verdicts import NOBODY, divide, find_ids, sample_block
from allalike.result.inputs.saved_files import SUMMARY, check_complete, check_own_file, read_summary
from allalike.telling.panel_summary import PanelSummary
from allalike.telling.schemas import JsonForm, describe_form, find_misfit
from allalike.telling.summary import LabelKind

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from allalike._core.blocks.block import Array, Floats
    from allalike.domains import Encoding
    from allalike.engines import Run, TaskTable
    from allalike.panels.verdicts import Codes, Marks

SIGNIFICANT = 0.01
_MAX_LABELS = 10  # that are tested one by one
_MIN_TASKS = 10  # on each side of a comparison of different tasks
_MIN_JUDGES = 3
_MIN_CHANGED = 10  # scores, of which signed ranks are near to normal
_MAX_NAMED = 20  # changes, and judges who came or went, in a summary
_DIGITS = 9
_KEPT_DIGITS = 12  # of numbers, of which sums and differences leave traces in the last ones
_KEPT = ["judge", "task", "label", "truth", "group"]
_EARLIER = JsonForm(
    "What is read of the summary of an earlier panel.",
    {"panel": PanelSummary, "domain": LabelKind, "files": tuple[str, ...], "safe_csv?": bool},
)


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
    """Return labels as text; a gold label that no judge gave is as good as unknown."""
    if encoding.numeric:
        return np.array([f"{each:.{_KEPT_DIGITS}g}" for each in encoding.decode(label).tolist()], object)
    names = np.array([*map(str, encoding.decode(np.arange(encoding.n_labels)).tolist()), ""], object)
    return np.asarray(names[label])


class Earlier(NamedTuple):
    """A panel that was saved: its verdicts, the type of its labels, and its rate, if it had one."""

    folder: str
    verdicts: pd.DataFrame
    kind: str
    rate: Mapping[str, Any] | None


def read_earlier(folder: str | os.PathLike[str]) -> Earlier:
    """Read the verdicts that a panel saved.

    >>> read_earlier("nowhere")
    Traceback (most recent call last):
    allalike.errors.InputError: There is no panel in nowhere. Name a folder that 'allalike jury' wrote.
    """
    summary = _read_summary(find_folder(folder))
    names = [name for name in ("verdicts.csv", "verdicts.parquet") if name in summary.get("files", [])]
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
    if summary.get("safe_csv") is True:
        table = table.map(unguard_text)
    return Earlier(str(folder), table, str(summary.get("domain", {}).get("name", "")), summary["panel"].get("rate"))


def _read_summary(folder: Path) -> Any:
    check_complete(folder)
    check_own_file(folder / SUMMARY)
    try:
        summary = read_summary(folder)
    except OSError:
        raise InputError(f"There is no panel in {folder}. Name a folder that 'allalike jury' wrote.") from None
    except (ValueError, TypeError):
        summary = {}
    if find_misfit(summary, describe_form(_EARLIER)) is not None:
        raise InputError(f"{folder / SUMMARY} is not the summary of a panel. Name a folder that 'allalike jury' wrote.")
    return summary


@dataclass(frozen=True)
class BothPanels:
    """Verdicts of two panels as tables of codes of labels: a row per task, a column per judge in both."""

    judges: Sequence[str]
    labels: Sequence[str]
    then: Codes
    now: Codes
    truth: Codes
    group: npt.NDArray[np.object_]

    @classmethod
    def of(cls, before: pd.DataFrame, now: pd.DataFrame) -> BothPanels:
        """Line up the verdicts of the judges who are in both panels."""
        both = pd.concat([before, now], keys=["then", "now"], names=["panel"]).reset_index("panel")
        judges = sorted({*before["judge"]} & {*now["judge"]})
        labels = sorted({*both["label"], *both["truth"]} - {""})
        tasks = sorted({*both["task"]})
        code = {label: place for place, label in enumerate(labels)} | {"": NOBODY}
        known = both.assign(code=both["label"].map(code), truth=both["truth"].map(code))
        said = known.drop_duplicates(["panel", "task", "judge"], keep="last").pivot(
            index="task", columns=["panel", "judge"], values="code"
        )
        tables = [
            said.reindex(index=tasks, columns=pd.MultiIndex.from_product([[panel], judges])).fillna(NOBODY)
            for panel in ("then", "now")
        ]
        truth = known[known["truth"] != NOBODY].groupby("task")["truth"].last().reindex(tasks, fill_value=NOBODY)
        group = known[known["group"] != ""].groupby("task")["group"].last().reindex(tasks, fill_value="")
        then, later = (table.to_numpy(np.intp) for table in tables)
        return cls(judges, labels, then, later, truth.to_numpy(np.intp), group.to_numpy(object))

    @property
    def shared(self) -> Marks:
        """Which tasks both panels have seen."""
        return np.asarray((self.then != NOBODY).any(axis=1) & (self.now != NOBODY).any(axis=1))

    def only(self, tasks: Marks) -> BothPanels:
        """Return some tasks."""
        names = ("then", "now", "truth", "group")
        return replace(self, **{name: getattr(self, name)[tasks] for name in names})

    def number_within_tasks(self) -> BothPanels:
        """Number the labels of each task anew, so that numbers are small however many labels there are."""
        codes = np.column_stack([self.then, self.now, self.truth])
        order = np.argsort(codes, axis=1, kind="stable")
        ranked = np.take_along_axis(codes, order, axis=1)
        rank = np.cumsum(np.diff(ranked, axis=1, prepend=ranked[:, :1]) > 0, axis=1)
        slots = np.empty_like(codes)
        np.put_along_axis(slots, order, rank + np.where(ranked[:, :1] == NOBODY, NOBODY, 0), axis=1)
        n = len(self.judges)
        return BothPanels(self.judges, (), slots[:, :n], slots[:, n : 2 * n], slots[:, -1], self.group)


class Change(NamedTuple):
    """A test of a judge: on which tasks, what about it, how often then and now, the probability, and an interval."""

    judge: int
    group: str
    tasks: str  # both, or other
    what: str  # says a label, agrees, right; scores, off, off truth
    before: float
    now: float
    n_before: int
    n_now: int
    probability: float
    low: float  # of the change
    high: float


_NUMBERS = dict.fromkeys(("before", "now", "low", "high"), float) | dict.fromkeys(("judge", "n_before", "n_now"), int)
Tests = Callable[[BothPanels, str], Iterable[Change]]


def find_class_changes(both: BothPanels, good: Sequence[str] | None = None) -> list[Change]:
    """Test each judge on all tasks, and on each group of them; if some labels are good, nothing else matters."""
    if good is not None:
        is_good = np.array([*(label in good for label in both.labels), False])  # the last stands for no label
        then, now, truth = (
            np.where(codes == NOBODY, NOBODY, is_good[codes]).astype(np.intp)
            for codes in (both.then, both.now, both.truth)
        )
        both = BothPanels(both.judges, ("other", "good"), then, now, truth, both.group)
    labels = [1] if good is not None else range(len(both.labels)) if len(both.labels) <= _MAX_LABELS else []
    return _compare_parts(both, partial(_compare_shared_classes, labels=labels), _compare_other_classes)


def find_score_changes(both: BothPanels, numbers: Floats) -> list[Change]:
    """Test each judge on all tasks, and on each group of them, by the numbers of labels."""
    known = np.append(numbers, np.nan)  # the last stands for no label
    return _compare_parts(
        both, partial(_compare_shared_scores, known=known), partial(_compare_other_scores, known=known)
    )


def _compare_parts(both: BothPanels, shared: Tests, other: Tests) -> list[Change]:
    """Return the tests of all tasks and of each group, on tasks in both panels and on others, with verdicts of both."""
    groups = sorted({*both.group} - {""})
    parts = [("", both), *((name, both.only(both.group == name)) for name in groups)]
    tests: list[Change] = []
    for name, part in parts:
        tests += shared(part.only(part.shared), name) if part.shared.any() else ()
        tests += other(part.only(~part.shared), name) if not part.shared.all() else ()
    return [each for each in tests if each.n_before and each.n_now]


def _compare_shared_classes(both: BothPanels, group: str, *, labels: Sequence[int]) -> Iterator[Change]:
    own = both.number_within_tasks()
    votes = _count_votes([own.then, own.now])
    for judge in range(len(both.judges)):
        then, now = both.then[:, judge], both.now[:, judge]
        there = (then != NOBODY) & (now != NOBODY)
        for label in labels:
            yield _test_flips(judge, group, f"says {both.labels[label]}", then[there] == label, now[there] == label)
        then, now = own.then[:, judge], own.now[:, judge]
        for what, reference in (("agrees", _find_plurality(votes, then, now)), ("right", own.truth)):
            here = there & (reference != NOBODY)
            yield _test_flips(judge, group, what, then[here] == reference[here], now[here] == reference[here])


def _test_flips(judge: int, group: str, what: str, then: Marks, now: Marks) -> Change:
    """Test whether changes go in one direction: McNemar's exact test."""
    from scipy.stats import binom

    n, up, down = len(then), int((now & ~then).sum()), int((then & ~now).sum())
    probability = min(1.0, 2 * float(binom.cdf(min(up, down), up + down, 0.5)))
    gain, loss = (up + 1) / (n + 2), (down + 1) / (n + 2)
    half = NORMAL_QUANTILE * math.sqrt(max(gain + loss - (gain - loss) ** 2, 0.0) / (n + 2))
    limits = max(gain - loss - half, -1.0), min(gain - loss + half, 1.0)
    return Change(judge, group, "both", what, _mean(then), _mean(now), n, n, probability, *limits)


def _compare_other_classes(both: BothPanels, group: str) -> Iterator[Change]:
    from scipy.stats import fisher_exact

    both = both.number_within_tasks()
    for judge in range(len(both.judges)):
        hits = []
        for table in (both.then, both.now):
            here = (table[:, judge] != NOBODY) & (both.truth != NOBODY)
            hits.append(table[here, judge] == both.truth[here])
        if all(map(len, hits)):
            shares, n = np.array([side.mean() for side in hits]), np.array([float(len(side)) for side in hits])
            table = np.array([[side.sum(), (~side).sum()] for side in hits])
            then, now = (Rate(*map(float, each)) for each in zip(shares, *find_wilson_limits(shares, n), strict=True))
            counts = then.estimate, now.estimate, len(hits[0]), len(hits[1])
            limits = now.minus(then)[1:]
            yield Change(judge, group, "other", "right", *counts, float(fisher_exact(table).pvalue), *limits)
    for judge, means in _compare_leaving_out(both.then, both.now, _find_agreement):
        yield Change(judge, group, "other", "agrees", *means)


def _count_votes(tables: Sequence[Codes]) -> npt.NDArray[np.int64]:
    """Count, per task, the verdicts for each label, and in the last column those that nobody gave."""
    n_labels = max((int(table.max(initial=NOBODY)) for table in tables), default=NOBODY) + 1
    votes = np.zeros((len(tables[0]), n_labels + 1), np.int64)
    for table in tables:
        for column in table.T:
            votes[np.arange(len(column)), column] += 1
    return votes


def _find_plurality(votes: npt.NDArray[np.int64], *own: Codes) -> Codes:
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


def _find_agreement(said: Codes) -> Floats:
    """Return, per task, the share of the others that agrees with each judge, minus the mean of that; NaN if unknown.

    >>> _find_agreement(np.array([[0, 0, 1], [0, NOBODY, 0], [0, NOBODY, NOBODY]])).round(2)
    array([[ 0.17,  0.17, -0.33],
           [ 0.  ,   nan,  0.  ],
           [  nan,   nan,   nan]])
    """
    there = said != NOBODY
    others = there.sum(axis=1, keepdims=True) - 1
    same = np.take_along_axis(_count_votes([said]), said, axis=1) - 1
    return _subtract_mean(np.where(there & (others > 0), same / np.maximum(others, 1), np.nan))


def _subtract_mean(table: Floats) -> Floats:
    there = ~np.isnan(table)
    mean = np.where(there, table, 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return np.asarray(table - mean[:, None])


Means = tuple[float, float, int, int, float, float, float]


def _compare_leaving_out(then: Array, now: Array, relate: Callable[[Any], Floats]) -> Iterator[tuple[int, Means]]:
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


def _compare_means(then: Floats, now: Floats) -> Means:
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


def _compare_shared_scores(both: BothPanels, group: str, *, known: Floats) -> Iterator[Change]:
    tables = known[both.then], known[both.now]
    truth = known[both.truth]
    for judge in range(len(both.judges)):
        then, now = (table[:, judge] for table in tables)
        middle = _find_median(np.column_stack([np.delete(table, judge, axis=1) for table in tables]))
        yield from _test_pairs(judge, group, "scores", then, now)
        for what, reference in (("off", middle), ("off truth", truth)):
            yield from _test_pairs(judge, group, what, np.abs(then - reference), np.abs(now - reference))


def _test_pairs(judge: int, group: str, what: str, then: Floats, now: Floats) -> Iterator[Change]:
    here = ~np.isnan(then + now)
    if here.any():
        change, n = (now - then)[here].round(_DIGITS), int(here.sum())
        means = float(then[here].mean()), float(now[here].mean())
        yield Change(judge, group, "both", what, *means, n, n, _test_signed_ranks(change), *find_mean_limits(change))


def _test_signed_ranks(change: Floats) -> float:
    """Return how probable it is that differences around 0 lie so much on one side (Wilcoxon's test, normal)."""
    from scipy.special import ndtr
    from scipy.stats import rankdata

    change = change[change != 0]
    if len(change) < _MIN_CHANGED:
        return 1.0
    rank = rankdata(np.abs(change)) * np.sign(change)
    return float(2 * ndtr(-abs(rank.sum()) / np.sqrt(np.square(rank).sum())))


def _compare_other_scores(both: BothPanels, group: str, *, known: Floats) -> Iterator[Change]:
    then, now, truth = known[both.then], known[both.now], known[both.truth]
    distance: Callable[[Floats], Floats] = lambda scores: _subtract_mean(np.abs(_find_relative(scores)))  # noqa: E731
    for what, relate in (("scores", _find_relative), ("off", distance)):
        for judge, means in _compare_leaving_out(then, now, relate):
            yield Change(judge, group, "other", what, *means)
    for judge in range(then.shape[1]):
        one, two = (np.abs(table[:, judge] - truth) for table in (then, now))
        yield Change(judge, group, "other", "off truth", *_compare_means(one, two))


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
    earlier: Earlier, kept: pd.DataFrame, run: Run, good: Sequence[Any] | None, rate: Rate | None
) -> PanelFacts:
    """Return the judges who changed, a row per test, the most improbable first, and the change of the rate."""
    encoding, both = run.encoding, _line_up(earlier, kept, run.domain.name)
    numbers = None if encoding.nominal else _read_numbers(both.labels, encoding, earlier.folder)
    good_labels = None if good is None else [*map(str, good)]
    if good is not None and numbers is not None:
        is_good = choose_good(encoding, good)(numbers)
        good_labels = [label for label, here in zip(both.labels, is_good, strict=True) if here]
    changes = find_class_changes(both, good_labels) if numbers is None else find_score_changes(both, numbers)
    adjusted = adjust_probabilities(np.array([each.probability for each in changes]))
    table = pd.DataFrame(changes, columns=Change._fields).astype(_NUMBERS)
    table = table.assign(probability=adjusted, found=adjusted < SIGNIFICANT)
    drifted = sorted({*table.loc[table["found"], "judge"]})
    table["judge"] = [both.judges[judge] for judge in table["judge"]]
    table = table.iloc[np.argsort(adjusted, kind="stable")]
    found, then, now = table[table["found"]], {*earlier.verdicts["judge"]}, {*kept["judge"]}
    notes: dict[str, Any] = {
        "since": earlier.folder,
        "judges": len(both.judges),
        "shared_tasks": int(both.shared.sum()),
        "tests": len(table),
        "found": len(found),
        "drifted": [both.judges[judge] for judge in drifted],
        "named": found.head(_MAX_NAMED).to_dict("records"),
        "new_judges": sorted(now - then)[:_MAX_NAMED],
        "gone_judges": sorted(then - now)[:_MAX_NAMED],
    }
    if rate is not None and good is not None and good_labels is not None and earlier.rate is not None:
        notes["rate"] = _compare_rates(earlier.rate, rate, good, _find_effect(both, good_labels, drifted))
    there = (both.then != NOBODY) & (both.now != NOBODY)
    other = (there & (both.then != both.now)).sum(axis=0).astype(np.float64)
    shares = dict(zip(both.judges, divide(other, there.sum(axis=0).astype(np.float64)).tolist(), strict=True))
    judges = [*map(str, run.workers.tolist())]
    columns = {
        "changed": np.array([shares.get(judge, math.nan) for judge in judges]),
        "drifted": np.isin(judges, notes["drifted"]),
    }
    names = ["judge", "group", "tasks", "what", "before", "now", "low", "high", "n_before", "n_now", "probability"]
    return PanelFacts({"drift": notes}, {"drift": list_columns(table[[*names, "found"]])}, columns)


def _line_up(earlier: Earlier, kept: pd.DataFrame, kind: str) -> BothPanels:
    """Line up an earlier panel and this one, which must have labels of one type and a judge in common."""
    if earlier.kind != kind:
        raise InputError(
            f"The labels of the panel in {earlier.folder} are {earlier.kind}, and these are {kind}, so that they cannot"
            " be compared. Name a panel on the same kind of labels, or read both alike with domain=."
        )
    both = BothPanels.of(earlier.verdicts, kept)
    if not both.judges:
        raise InputError(
            f"No judge of the panel in {earlier.folder} is in this one, so that nobody can have changed. Its"
            f" judges are: {', '.join(sorted({*earlier.verdicts['judge']})[:_MAX_NAMED])}."
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


def _compare_rates(before: Mapping[str, Any], now: Rate, good: Sequence[Any], effect: float | None) -> dict[str, Any]:
    if sorted(map(str, before["good"])) != sorted(map(str, good)):
        return {"other_good": before["good"]}
    then = Rate(*(math.nan if before[name] is None else float(before[name]) for name in Rate._fields))
    rates = {"before": then._asdict(), "now": now._asdict(), "difference": now.minus(then)._asdict()}
    return rates if effect is None else {**rates, "effect": effect}


def _find_effect(both: BothPanels, good: Sequence[str], drifted: Sequence[int]) -> float | None:
    """Return by how much changed judges move the share that the majority calls good, on tasks in both panels."""
    shared = both.only(both.shared)
    if not drifted or not len(shared.then):
        return None
    is_good = np.array([*(label in good for label in both.labels), False])
    back = shared.now.copy()
    for judge in drifted:
        back[:, judge] = np.where(shared.then[:, judge] == NOBODY, back[:, judge], shared.then[:, judge])
    shares = []
    for said in (shared.now, back):  # half a task where as many call it good as do not
        majority = is_good[said].sum(axis=1) - 0.5 * (said != NOBODY).sum(axis=1)
        shares.append(float((0.5 + 0.5 * np.sign(majority)).mean()))
    return shares[0] - shares[1]
