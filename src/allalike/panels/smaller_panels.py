"""Smaller panels: the best panel of each size, its worth and cost, and a recommendation.

The best of many panels is overrated on the tasks that selected it. So panels are selected on each half of the tasks (by
hashes of their ids) and measured on the **other** half. The reported members are selected on all tasks. With up to ten
judges, all panels are tried. With more, the search is greedy: it adds the judge with the largest gain (the first of
equals). The interval of the loss relative to the whole panel is a normal 95 % interval of the mean difference per task.

Without gold labels, worth is agreement with the whole panel, weighted by its confidence. This ignores shared errors.

**Recommendation.** With at least 50 gold labels, ten-fold cross-validation (two-fold above ten judges) compares three
options: the whole panel, the smallest panel that retains nearly all of its worth, and the best single judge. Panel and
judge are selected on the other folds, and their errors are measured on each fold. The whole panel is the default. The
option with the smallest error replaces it if the difference is above 1.645 standard errors (paired, one-sided 5 %).
Otherwise, the smallest option that is worse by at most 0.01 of the worth, tested at the same level, replaces it.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np

from allalike._core.blocks.block import TOLERANCE, Floats
from allalike._core.columns.hashes import mix
from allalike._core.columns.values import Values
from allalike._core.lazy_imports import pd
from allalike.engines import Run
from allalike.panels.summary import Costs, PanelOption, Recommendation, SmallestPanel
from allalike.panels.verdicts import Marks, Members, ScoreVerdicts, Statistics, Verdicts, divide, find_mean_limits

_MAX_TRIED = 10  # judges up to which all panels are tried
_MAX_SIZE = 20  # judges of a panel other than the whole
_DIGITS = 9  # digits to which means are compared
_FOLDS = 10
_ONE_SIDED, _MARGIN = 1.645, 0.01


class Trials:
    """Cached worth of panels per task, and search for the best panels."""

    def __init__(self, verdicts: Verdicts) -> None:
        self.verdicts, self._worth = verdicts, dict[Members, Floats]()

    def worth(self, panel: Members) -> Floats:
        """Return, per task, the worth of a panel."""
        if panel not in self._worth:
            everybody = len(panel) == self.verdicts.n_judges
            self._worth[panel] = self.verdicts.whole if everybody else self.verdicts.worth(panel)
        return self._worth[panel]

    def search(self, part: Marks) -> list[Members]:
        """Return the best panel of each size on these tasks, the first if equal; the last is the whole panel."""
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
    """Return the best panel of each size, and its worth on held-out tasks."""
    verdicts, whole = trials.verdicts, trials.verdicts.whole
    half = (verdicts.task_hash >> np.uint64(63)).astype(bool)
    parts = [part for part in (half, ~half) if part.any()]
    paths = [trials.search(part) for part in (np.ones(len(half), bool), *parts)]
    rows = []
    for members, *chosen in zip(*(path[:-1] for path in paths), strict=True):
        value, agreement = np.empty(len(whole)), np.empty(len(whole))
        for panel, part in zip(chosen, parts, strict=True):
            tried = ~part if len(parts) > 1 else part
            value[tried], agreement[tried] = trials.worth(panel)[tried], verdicts.agreement(panel)[tried]
        rows.append((members, value.mean(), agreement.mean(), *find_mean_limits(whole - value)))
    rows.append((tuple(range(verdicts.n_judges)), whole.mean(), 1.0, 0.0, 0.0))
    return pd.DataFrame(rows, columns=["members", "worth", "agreement", "lost_ci_low", "lost_ci_high"])


def _find_smallest(worth: Floats, retain: float) -> int:
    """Return the position of the first size that retains this share of the worth, otherwise the last position."""
    enough = np.flatnonzero(worth >= retain * worth[-1] * (1 - TOLERANCE))
    return int(enough[0]) if len(enough) else len(worth) - 1


def describe_sizes(
    trials: Trials, run: Run, *, retain: float, price: Floats | None, known: Floats, error: Floats | None
) -> Statistics:
    """Return the smallest panel that retains nearly all of the worth, a row per size, and costs.

    ``known`` is the accuracy of each judge, or its distance to gold labels. ``error`` is the error rate of each judge.
    """
    verdicts, sizes, judges = trials.verdicts, find_sizes(trials), run.workers
    worth, scored = sizes["worth"].to_numpy(), isinstance(verdicts, ScoreVerdicts)
    place, whole, errors = _find_smallest(worth, retain), float(worth[-1]), np.asarray(verdicts.error_of(worth))
    few: Any = sizes.iloc[place]
    smallest = SmallestPanel(
        size=len(few["members"]),
        members=tuple(judges[judge] for judge in few["members"]),
        retain=retain,
        retained=float(worth[place]) / whole if whole > 0 else 1.0,
        lost=(few["lost_ci_low"], few["lost_ci_high"]),
        agreement=few["agreement"],
        worth=worth[place],
        error=errors[place],
    )
    facts: dict[str, Any] = {"worth_from": "gold" if verdicts.by_gold else "panel", "worth": whole}
    facts |= {"smallest": smallest, "error_unit": verdicts.unit, "error": errors[-1]}
    columns = dict[str, Any](in_smallest_panel=np.isin(np.arange(len(judges)), few["members"]))
    if isinstance(verdicts, ScoreVerdicts):
        is_known = verdicts.by_gold or bool(np.any(verdicts.target.error))  # or the panel has a standard error
        facts |= {"error": errors[-1] if is_known else None, "guess_error": float(verdicts.error_of(0.0))}
        columns = {f"known_{verdicts.unit}": known, **columns}
    table = pd.DataFrame(
        {
            "size": sizes["members"].map(len),
            "members": ["; ".join(str(judges[judge]) for judge in members) for members in sizes["members"]],
            **({verdicts.unit: errors, "worth": worth} if scored else {"accuracy": worth}),
            "retained": divide(worth, np.full(len(sizes), whole)),
            **{name: sizes[name] for name in ("lost_ci_low", "lost_ci_high", "agreement")},
        }
    )
    if price is not None:
        columns |= {"price": price, "cost": price * run.answer_counts}
        table["cost"] = [columns["cost"][list(members)].sum() for members in sizes["members"]]
        per_correct: dict[str, float] = {}
        if error is not None:
            table["cost_per_correct"] = divide(table["cost"].to_numpy(), worth * run.n_tasks)
            columns["cost_per_correct"] = divide(price, known if verdicts.by_gold else 1 - error)
            panel, smaller = table["cost_per_correct"].iloc[[-1, place]]
            per_correct = {"panel_per_correct": panel, "smallest_per_correct": smaller}
        cost = table["cost"]
        facts["cost"] = Costs(panel=cost.iloc[-1], smallest=cost.iloc[place], **per_correct)
    return Statistics(facts, {"sizes": table}, columns)


def recommend(trials: Trials, retain: float, judges: Values) -> Statistics:
    """Compare the whole panel, a smaller one and one judge by cross-validation; empty with too few gold labels."""
    verdicts, n = trials.verdicts, trials.verdicts.n_judges
    if not verdicts.by_gold or n < 2:
        return Statistics({})
    fold = verdicts.task_hash >> np.uint64(63) if n > _MAX_TRIED else mix(verdicts.task_hash) % np.uint64(_FOLDS)

    def choose(part: Marks) -> dict[str, Members]:
        """Select a panel and a judge on these tasks."""
        path = trials.search(part)
        worth = np.array([trials.worth(panel)[part].mean() for panel in path])
        return {"smaller panel": path[_find_smallest(worth, retain)], "one judge": path[0]}

    held_out = {"whole panel": verdicts.whole, "one judge": np.empty(len(fold)), "smaller panel": np.empty(len(fold))}
    for number in np.unique(fold):
        for name, members in choose(fold != number).items():
            held_out[name][fold == number] = trials.worth(members)[fold == number]
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
