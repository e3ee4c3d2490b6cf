"""Smaller panels: the best panel of each size, its worth and cost, and the judges who decide tasks on their own.

The best of many panels looks better than it is, so each half of the tasks, by the hashes of their ids, chooses its
panels, and the **other** half measures them. All tasks choose the panel that is named. Of ten judges and less, all
panels are tried. Of more, the next judge is the one who adds most, the first of equals. The confidence interval of the
loss against the whole panel is that of the mean difference per task (normal, 95 %).

Without gold labels, worth is agreement with the whole panel, weighted by its confidence, which misses shared errors.

**Recommendation.** With 50 gold labels and more, the whole panel, the smallest panel that retains nearly all of its
worth, and the best judge alone are compared by ten-fold cross-validation (two-fold for more than ten judges): the other
folds choose the panel and the judge, and each fold measures their errors. The whole panel is the default. The option
with the smallest error replaces it if the difference is above 1.645 standard errors (paired, one-sided 5 %); otherwise
the smallest option does that is not worse by a margin of 0.01 of the worth, at the same level.

**Pivotal tasks.** A judge with whom and without whom every verdict is the same is not needed there, however good it is
(pivotal voters; Shapley and Shubik: A method for evaluating the distribution of power in a committee system. 1954).
Classes change if the labels with the most evidence are others, or no longer alone. Levels and rankings change if the
verdict is another one, numbers if they leave the 95 % confidence interval of the whole panel, and vectors if they move
by more than twice their standard error. These are the tasks for a second look, and for gold labels.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Floats
from allalike._core.columns.hashes import mix
from allalike._core.columns.values import Values
from allalike._core.late import pd
from allalike.engines import Run, TaskTable
from allalike.panels.summary import (
    Costs,
    PanelOption,
    PivotalJudge,
    PivotalTasks,
    Recommendation,
    SmallestPanel,
    WantedPanel,
)
from allalike.panels.verdicts import (
    NORMAL,
    Marks,
    Members,
    ScoreVerdicts,
    Statistics,
    Verdicts,
    divide,
    find_ids,
    ratio,
)

_MAX_TRIED = 10  # judges of whom all panels are tried
_MAX_SIZE = 20  # judges in a panel; beyond it, the next size is all of them
_DIGITS = 9  # beyond which means are equal
_MAX_NAMED = 20  # judges that a summary names
_FOLDS = 10
_ONE_SIDED, _MARGIN = 1.645, 0.01


class Trials:
    """The worth of panels on each task, computed once, and the best panels on some tasks."""

    def __init__(self, verdicts: Verdicts) -> None:
        self.verdicts, self._worth = verdicts, dict[Members, Floats]()

    def worth(self, panel: Members) -> Floats:
        """Return, per task, the worth of a panel."""
        if panel not in self._worth:
            self._worth[panel] = self.verdicts.worth(panel)
        return self._worth[panel]

    def search(self, part: Marks) -> list[Members]:
        """Return the best panel of each size on some tasks, the first of equals; the last is the whole panel."""
        n = self.verdicts.n_judges

        def mean(panel: Members) -> float:
            return round(float(self.worth(panel)[part].mean()), _DIGITS)

        if n <= _MAX_TRIED:
            return [max(combinations(range(n), size), key=mean) for size in range(1, n + 1)]
        path: list[Members] = [()]
        for _ in range(min(_MAX_SIZE, n - 1)):
            more = [tuple(sorted((*path[-1], judge))) for judge in range(n) if judge not in path[-1]]
            path.append(max(more, key=mean))
        return [*path[1:], tuple(range(n))]


def find_sizes(trials: Trials) -> pd.DataFrame:
    """Return the best panel of each size, and the worth of such panels on tasks that did not choose them."""
    verdicts = trials.verdicts
    half = (verdicts.task_hash >> np.uint64(63)).astype(bool)
    parts = [part for part in (half, ~half) if part.any()]
    whole, rows = verdicts.whole, []
    paths = [trials.search(part) for part in (np.ones(len(half), bool), *parts)]
    for members, *chosen in zip(*(path[:-1] for path in paths), strict=True):
        value, agreement = np.empty(len(whole)), np.empty(len(whole))
        for panel, part in zip(chosen, parts, strict=True):
            tried = ~part if len(parts) > 1 else part
            value[tried], agreement[tried] = trials.worth(panel)[tried], verdicts.agreement(panel)[tried]
        rows.append((members, value.mean(), agreement.mean(), *find_mean_limits(whole - value)))
    rows.append((tuple(range(verdicts.n_judges)), whole.mean(), 1.0, 0.0, 0.0))
    return pd.DataFrame(rows, columns=["members", "worth", "agreement", "lost_low", "lost_high"])


def find_mean_limits(values: Floats) -> tuple[float, float]:
    """Return the 95 % confidence interval of a mean.

    >>> find_mean_limits(np.array([1.0, 1.0]))
    (1.0, 1.0)
    """
    error = NORMAL * values.std() / np.sqrt(max(len(values), 1))
    return float(values.mean() - error), float(values.mean() + error)


def _find_smallest(worth: Floats, keep: float) -> int:
    """Return the place of the first size that retains such a share of the worth, or of the last."""
    enough = np.flatnonzero(worth >= keep * worth[-1] * (1 - TOLERANCE))
    return int(enough[0]) if len(enough) else len(worth) - 1


def describe_sizes(
    verdicts: Verdicts, run: Run, sizes: pd.DataFrame, *, keep: float, price: Floats | None, known: Floats
) -> Statistics:
    """Return the smallest panel that retains nearly all, a row per size, and costs.

    ``known`` is the accuracy of each judge, or its distance to gold labels.
    """
    judges, worth, scored = run.workers, sizes["worth"].to_numpy(), isinstance(verdicts, ScoreVerdicts)
    place, whole, error = _find_smallest(worth, keep), float(worth[-1]), np.asarray(verdicts.error_of(worth))
    few: Any = sizes.iloc[place]
    smallest = SmallestPanel(
        size=len(few["members"]),
        members=tuple(judges[judge] for judge in few["members"]),
        keep=keep,
        kept=float(worth[place]) / whole if whole > 0 else 1.0,
        lost=(few["lost_low"], few["lost_high"]),
        agreement=few["agreement"],
        **({"worth": worth[place], "error": error[place]} if scored else {"accuracy": worth[place]}),
    )
    source = "gold" if verdicts.by_gold else "panel"
    facts: dict[str, Any] = {"accuracy_from": source, "accuracy": whole, "smallest": smallest}
    columns = dict[str, Any](in_smallest=np.isin(np.arange(len(judges)), few["members"]))
    if isinstance(verdicts, ScoreVerdicts):
        is_known = verdicts.by_gold or bool(verdicts.own_error.any())  # or the panel has a confidence interval
        facts = {"worth_from": source, "error_unit": verdicts.unit, "worth": whole, "smallest": smallest}
        facts |= {"error": error[-1] if is_known else None, "guess_error": float(verdicts.error_of(0.0))}
        columns = {f"known_{verdicts.unit}": known, **columns}
    table = pd.DataFrame(
        {
            "size": sizes["members"].map(len),
            "members": ["; ".join(str(judges[judge]) for judge in members) for members in sizes["members"]],
            **({verdicts.unit: error, "worth": worth} if isinstance(verdicts, ScoreVerdicts) else {"accuracy": worth}),
            "kept": divide(worth, np.full(len(sizes), whole)),
            **{name: sizes[name] for name in ("lost_low", "lost_high", "agreement")},
        }
    )
    if price is not None:
        columns |= {"price": price, "cost": price * run.answer_counts}
        table["cost"] = [columns["cost"][list(members)].sum() for members in sizes["members"]]
        if not scored:
            table["cost_per_correct"] = divide(table["cost"].to_numpy(), worth * run.n_tasks)
            columns["cost_per_correct"] = divide(price, known)
        facts["cost"] = _list_costs(table, place)
    return Statistics(facts, {"sizes": table}, columns)


def _list_costs(table: pd.DataFrame, smallest: int) -> Costs:
    names = {"": "cost", "_per_correct": "cost_per_correct"}
    rows = {"panel": len(table) - 1, "smallest": smallest}
    known = {key: table[name] for key, name in names.items() if name in table}
    return Costs(**{f"{row}{key}": column.iloc[place] for row, place in rows.items() for key, column in known.items()})


def describe_wanted(verdicts: Verdicts, sizes: pd.DataFrame, wanted: float, judges: Values) -> Statistics:
    """Return the smallest panel that errs no more than is wanted, or the error of the best if there is none."""
    errors = np.asarray(verdicts.error_of(sizes["worth"].to_numpy()))
    enough = np.flatnonzero(errors <= wanted * (1 + TOLERANCE))
    place = int(enough[0]) if len(enough) else int(np.argmin(errors))
    members = sizes["members"].iloc[place] if len(enough) else ()
    names = tuple(judges[judge] for judge in members)
    facts = WantedPanel(max_error=wanted, reached=bool(names), members=names, error=float(errors[place]))
    return Statistics({"wanted": facts}, {}, {"in_wanted": np.isin(np.arange(len(judges)), members)})


def recommend(trials: Trials, keep: float, judges: Values) -> Statistics:
    """Compare the whole panel, a smaller one and one judge by cross-validation; nothing without enough gold labels."""
    verdicts, n = trials.verdicts, trials.verdicts.n_judges
    if not verdicts.by_gold or n < 2:
        return Statistics({})
    fold = verdicts.task_hash >> np.uint64(63) if n > _MAX_TRIED else mix(verdicts.task_hash) % np.uint64(_FOLDS)

    def choose(part: Marks) -> dict[str, Members]:
        """Choose a panel and a judge by some tasks."""
        path = trials.search(part)
        worth = np.array([*(trials.worth(panel)[part].mean() for panel in path[:-1]), verdicts.whole[part].mean()])
        return {"smaller panel": path[_find_smallest(worth, keep)], "one judge": path[0]}

    held_out = {"whole panel": verdicts.whole, "one judge": np.empty(len(fold)), "smaller panel": np.empty(len(fold))}
    for number in np.unique(fold):
        for name, members in choose(fold != number).items():
            worth = verdicts.whole if len(members) == n else trials.worth(members)
            held_out[name][fold == number] = worth[fold == number]
    chosen = {"whole panel": tuple(range(n)), **choose(np.ones(len(fold), bool))}
    lost = {name: held_out["whole panel"] - value for name, value in held_out.items()}
    mean = {name: float(value.mean()) for name, value in lost.items()}
    error = {name: float(value.std(ddof=1)) / math.sqrt(len(fold)) for name, value in lost.items()}
    best, reason = min(mean, key=lambda name: mean[name]), "better"
    if mean[best] + _ONE_SIDED * error[best] >= 0:
        close = [name for name in mean if mean[name] + _ONE_SIDED * error[name] <= _MARGIN]
        best, reason = min(close, key=lambda name: len(chosen[name])), "not worse"
    options = tuple(
        PanelOption(
            name=name,
            members=tuple(judges[judge] for judge in chosen[name]),
            error=float(verdicts.error_of(value.mean())),
            lost=mean[name],
            standard_error=error[name],
        )
        for name, value in held_out.items()
    )
    facts = Recommendation(chosen=best, reason="default" if best == "whole panel" else reason, options=options)
    return Statistics({"recommendation": facts})


def describe_pivotal(verdicts: Verdicts, judges: Values, found: TaskTable) -> Statistics:
    """Return the tasks that one judge decides, the least confident first, and how many of them each judge decides."""
    without, hashes = verdicts.leave_one_out(), verdicts.task_hash
    changes = without.changes
    decides = changes.sum(axis=0).astype(np.int64)
    known = changes & ~np.isnan(without.right)
    right = divide(np.where(known, without.right, 0.0).sum(axis=0), known.sum(axis=0))
    some = np.flatnonzero(changes.any(axis=1))
    some = some[np.lexsort((hashes[some], without.order[some]))]
    names = np.array([str(judge) for judge in judges.tolist()], object)
    table = pd.DataFrame(
        {
            "task": find_ids(found, hashes[some]).tolist(),
            **{name: column[some] for name, column in without.columns.items()},
            "decided_by": ["; ".join(names[row]) for row in changes[some]],
        }
    )
    order = [judge for judge in np.argsort(-decides, kind="stable")[:_MAX_NAMED].tolist() if decides[judge]]
    facts = PivotalTasks(
        tasks=len(some),
        of=len(changes),
        share=ratio(float(len(some)), float(len(changes))),
        judges=tuple(PivotalJudge(judge=judges[j], decides=int(decides[j]), right=float(right[j])) for j in order),
    )
    return Statistics({"pivotal": facts}, {"pivotal": table}, {"decides": decides, "decides_right": right})
