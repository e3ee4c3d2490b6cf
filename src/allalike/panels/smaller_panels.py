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

from collections.abc import Callable, Sequence
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


def search_panels(verdicts: Verdicts, part: Marks) -> list[Members]:
    """Return the best panel of each size on these tasks, the first if equal; the last is the whole panel."""
    n = verdicts.n_judges

    def mean(panel: Members) -> float:
        return round(float(verdicts.worth(panel)[part].mean()), _DIGITS)

    if n <= _MAX_TRIED:
        return [max(combinations(range(n), size), key=mean) for size in range(1, n + 1)]
    path: list[Members] = [()]
    for _ in range(min(_MAX_SIZE, n - 1)):
        more = [tuple(sorted((*path[-1], judge))) for judge in range(n) if judge not in path[-1]]
        path.append(max(more, key=mean))
    return [*path[1:], tuple(range(n))]


def cross_validate(verdicts: Verdicts, fold: Any, choose: Callable[[Marks], Sequence[Members]]) -> Floats:
    """Return the worth, by panel and task, of the panels that ``choose`` selects on the other folds."""
    numbers, parts = np.unique(fold), []
    for number in numbers:
        inside = fold == number
        chosen = choose(~inside if len(numbers) > 1 else inside)
        parts.append((inside, [verdicts.worth(panel)[inside] for panel in chosen]))
    worth = np.empty((len(parts[0][1]), len(fold)))
    for inside, values in parts:
        worth[:, inside] = values
    return worth


def find_sizes(verdicts: Verdicts) -> pd.DataFrame:
    """Return the best panel of each size, and its worth on held-out tasks."""
    whole, half = verdicts.whole, verdicts.task_hash >> np.uint64(63)
    members = search_panels(verdicts, np.ones(len(half), bool))
    held_out = (
        [*cross_validate(verdicts, half, lambda part: search_panels(verdicts, part)[:-1])] if len(members) > 1 else []
    )
    rows = [(worth.mean(), *find_mean_limits(whole - worth)) for worth in (*held_out, whole)]
    return pd.DataFrame(rows, columns=["worth", "lost_ci_low", "lost_ci_high"]).assign(members=pd.Series(members))


def _find_smallest(worth: Floats, retain: float) -> int:
    """Return the position of the first size that retains this share of the worth, otherwise the last position."""
    enough = np.flatnonzero(worth >= retain * worth[-1] * (1 - TOLERANCE))
    return int(enough[0]) if len(enough) else len(worth) - 1


def describe_sizes(
    verdicts: Verdicts, run: Run, *, retain: float, price: Floats | None, known: Floats, error: Floats | None
) -> Statistics:
    """Return the smallest panel that retains nearly all of the worth, a row per size, and costs.

    ``known`` is the error rate of each judge, or its distance to the truth, by gold labels. ``error`` is the estimated
    error rate of each judge.
    """
    sizes, judges, unit = find_sizes(verdicts), run.workers, verdicts.unit
    worth, members = sizes["worth"].to_numpy(), sizes["members"]
    place, whole, errors = _find_smallest(worth, retain), float(worth[-1]), np.asarray(verdicts.error_of(worth))
    smallest = SmallestPanel(
        size=len(members[place]),
        members=tuple(judges[judge] for judge in members[place]),
        retain=retain,
        retained=float(worth[place]) / whole if whole > 0 else 1.0,
        lost=(sizes["lost_ci_low"][place], sizes["lost_ci_high"][place]),
        worth=worth[place],
        error=errors[place],
    )
    facts: dict[str, Any] = {"worth_from": "gold" if verdicts.by_gold else "panel", "worth": whole}
    facts |= {"smallest": smallest, "error_unit": unit, "error": errors[-1]}
    columns, values = dict[str, Any](accuracy=1 - known), {"accuracy": worth}
    if isinstance(verdicts, ScoreVerdicts):
        is_known = verdicts.by_gold or bool(np.any(verdicts.target[1]))  # or the panel has a standard error
        facts |= {"error": errors[-1] if is_known else None, "guess_error": float(verdicts.error_of(0.0))}
        columns, values = {f"known_{unit}": known}, {unit: errors, "worth": worth}
    columns["in_smallest_panel"] = np.isin(np.arange(len(judges)), members[place])
    table = pd.DataFrame(
        {
            "size": members.map(len),
            "members": ["; ".join(str(judges[judge]) for judge in panel) for panel in members],
            **values,
            "retained": divide(worth, np.full(len(sizes), whole)),
            **{name: sizes[name] for name in ("lost_ci_low", "lost_ci_high")},
        }
    )
    if price is not None:
        columns |= {"price": price, "cost": price * run.answer_counts}
        cost = table["cost"] = members.map(lambda panel: columns["cost"][list(panel)].sum())
        per_correct: dict[str, float] = {}
        if error is not None:
            table["cost_per_correct"] = divide(cost.to_numpy(), worth * run.n_tasks)
            columns["cost_per_correct"] = divide(price, 1 - (known if verdicts.by_gold else error))
            panel, smaller = table["cost_per_correct"].iloc[[-1, place]]
            per_correct = {"panel_per_correct": panel, "smallest_per_correct": smaller}
        facts["cost"] = Costs(panel=cost.iloc[-1], smallest=cost.iloc[place], **per_correct)
    return Statistics(facts, {"sizes": table}, columns)


def recommend(verdicts: Verdicts, retain: float, judges: Values) -> Statistics:
    """Compare the whole panel, a smaller one and one judge by cross-validation; empty with too few gold labels."""
    n = verdicts.n_judges
    if not verdicts.by_gold or n < 2:
        return Statistics({})

    def choose(part: Marks) -> list[Members]:
        """Select the whole panel, a smaller one, and a judge on these tasks."""
        path = search_panels(verdicts, part)
        worth = np.array([verdicts.worth(panel)[part].mean() for panel in path])
        return [path[-1], path[0], path[_find_smallest(worth, retain)]]

    fold = verdicts.task_hash >> np.uint64(63) if n > _MAX_TRIED else mix(verdicts.task_hash) % np.uint64(_FOLDS)
    names = ["whole panel", "one judge", "smaller panel"]
    held_out = cross_validate(verdicts, fold, choose)
    chosen = dict(zip(names, choose(np.ones(len(fold), bool)), strict=True))
    lost = pd.DataFrame((held_out[0] - held_out).T, columns=names)
    mean, error = lost.mean(), lost.sem()
    best, reason = str(mean.idxmin()), "better"
    if mean[best] + _ONE_SIDED * error[best] >= 0:
        close = [name for name in names if mean[name] + _ONE_SIDED * error[name] <= _MARGIN]
        best, reason = min(close, key=lambda name: len(chosen[name])), "not worse"
    options = tuple(
        PanelOption(
            name=name,
            members=tuple(judges[judge] for judge in chosen[name]),
            error=float(verdicts.error_of(worth.mean())),
        )
        for name, worth in zip(names, held_out, strict=True)
    )
    facts = Recommendation(chosen=best, reason="default" if best == "whole panel" else reason, options=options)
    return Statistics({"recommendation": facts})
