"""Smaller panels: what the best panel of each size is worth and costs, and which judges decide tasks on their own.

The best of many panels looks better than it is, so each half of the tasks, by the hashes of their ids, chooses its
panels, and the **other** half measures them. All tasks choose the panel that is named. Of ten judges and less, all
panels are tried. Of more, the next judge is the one who adds most, the first of equals. The confidence interval of what
is lost against the whole panel is that of the mean difference per task (normal, 95 %).

Without gold labels, worth is agreement with the whole panel, by as much as this is sure. It does not fall where all are
wrong, and a small panel of judges who share an error with the whole one seems to keep all. The panel of all judges is
the whole panel, which may decide in another way than a smaller one: these must come up to it.

**Pivotal tasks.** A judge with whom and without whom every verdict is the same is not needed there, however good it is
(pivotal voters; Shapley and Shubik: A method for evaluating the distribution of power in a committee system. 1954).
Classes change if the labels with the most evidence are others, or no longer alone. Levels and rankings change if the
verdict is another one. Numbers always move a little: they change if they leave the 95 % confidence interval of the
whole panel, and vectors if they move by more than twice their standard error. These are the tasks for a second look,
and for gold labels: there it shows whether the judge who decides is right.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import TOLERANCE
from allalike._core.columns.values import text_column
from allalike._core.late import pd
from allalike.panels.panel import PanelFacts, list_columns
from allalike.panels.verdicts import NORMAL, Scores, divide, find_ids, ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.engines import Run, TaskTable
    from allalike.panels.verdicts import LeftOut, Marks, Sample

_MAX_TRIED = 10  # judges of whom all panels are tried
_MAX_SIZE = 20  # judges in a panel; beyond it, the next size is all of them
_DIGITS = 9  # beyond which means are equal
_MAX_NAMED = 20  # judges that a summary names

Members = tuple[int, ...]


def find_sizes(sample: Sample) -> pd.DataFrame:
    """Return the best panel of each size, and what such panels are worth on tasks that did not choose them."""
    half = (sample.task_hash >> np.uint64(63)).astype(bool)
    choosers = [part for part in (half, ~half) if part.any()]
    means: dict[Members, Floats] = {}

    def mean(panel: Members) -> Floats:
        """Return what a panel is worth to each half, and to all."""
        if panel not in means:
            value = sample.worth(panel)
            each = [*(value[chooser].mean() for chooser in choosers), value.mean()]
            means[panel] = np.round(each, _DIGITS)
        return means[panel]

    whole, rows = sample.whole, []
    paths = [_search(sample.n_judges, lambda panel, part=part: mean(panel)[part]) for part in range(len(choosers) + 1)]
    for members, *chosen in zip(paths[-1][:-1], *(path[:-1] for path in paths[:-1]), strict=True):
        value, agreement = np.empty(len(whole)), np.empty(len(whole))
        for panel, chooser in zip(chosen, choosers, strict=True):
            tried = ~chooser if len(choosers) > 1 else chooser
            value[tried], agreement[tried] = sample.worth(panel)[tried], sample.agreement(panel)[tried]
        rows.append((members, value.mean(), agreement.mean(), *find_mean_limits(whole - value)))
    rows.append((tuple(range(sample.n_judges)), whole.mean(), 1.0, 0.0, 0.0))
    return pd.DataFrame(rows, columns=["members", "worth", "agreement", "lost_low", "lost_high"])


def _search(n: int, worth: Any) -> list[Members]:
    """Return the best panel of each size, the first of equals."""
    if n <= _MAX_TRIED:
        return [max(combinations(range(n), size), key=worth) for size in range(1, n + 1)]
    path: list[Members] = [()]
    for _ in range(min(_MAX_SIZE, n - 1)):
        more = [tuple(sorted((*path[-1], judge))) for judge in range(n) if judge not in path[-1]]
        path.append(max(more, key=worth))
    return [*path[1:], tuple(range(n))]


def find_mean_limits(values: Floats) -> tuple[float, float]:
    """Return the 95 % confidence interval of a mean.

    >>> find_mean_limits(np.array([1.0, 1.0]))
    (1.0, 1.0)
    """
    error = NORMAL * values.std() / np.sqrt(max(len(values), 1))
    return float(values.mean() - error), float(values.mean() + error)


def find_smallest(sizes: pd.DataFrame, keep: float) -> int:
    """Return the place of the first size that keeps such a share of the worth, or of the last."""
    worth = sizes["worth"].to_numpy()
    enough = np.flatnonzero(worth >= keep * worth[-1] * (1 - TOLERANCE))
    return int(enough[0]) if len(enough) else len(worth) - 1


def describe_sizes(
    sample: Sample, run: Run, sizes: pd.DataFrame, *, keep: float, price: Floats | None, known: Floats
) -> PanelFacts:
    """Return the smallest panel that keeps nearly all, a row per size, and what judges and panels cost.

    ``known`` is how often each judge is right, or how far it is from gold labels.
    """
    judges, whole, place = run.workers, float(sizes["worth"].iloc[-1]), find_smallest(sizes, keep)
    few: Any = sizes.iloc[place]
    worth, scored = float(few["worth"]), isinstance(sample, Scores)
    smallest = {
        "size": len(few["members"]),
        "members": [judges[judge] for judge in few["members"]],
        "keep": keep,
        **({"worth": worth, "error": float(sample.error_of(worth))} if scored else {"accuracy": worth}),
        "kept": worth / whole if whole > 0 else 1.0,
        "lost": [float(few["lost_low"]), float(few["lost_high"])],
        "agreement": float(few["agreement"]),
    }
    table = pd.DataFrame(
        {
            "size": sizes["members"].map(len),
            "members": ["; ".join(str(judges[judge]) for judge in members) for members in sizes["members"]],
            **_name_worths(sample, sizes["worth"].to_numpy()),
            "kept": divide(sizes["worth"].to_numpy(), np.full(len(sizes), whole)),
            **{name: sizes[name] for name in ("lost_low", "lost_high", "agreement")},
        }
    )
    columns: dict[str, Values | Array] = {"in_smallest": np.isin(np.arange(len(judges)), few["members"])}
    if isinstance(sample, Scores):
        columns = {f"known_{sample.unit}": known, **columns}
    facts = PanelFacts(
        {**_describe_whole(sample, whole), "smallest": smallest}, {"sizes": list_columns(table)}, columns
    )
    return facts if price is None else _add_costs(facts, run, sizes, place, price, None if scored else known)


def _add_costs(
    facts: PanelFacts, run: Run, sizes: pd.DataFrame, smallest: int, price: Floats, right: Floats | None
) -> PanelFacts:
    """Add what judges and panels cost, and a correct verdict if it is known how often judges are right."""
    own = price * run.answer_counts.astype(np.float64)
    cost = np.array([own[list(members)].sum() for members in sizes["members"]])
    correct = sizes["worth"].to_numpy() * run.n_tasks
    costs: dict[str, float] = {}
    for name, place in (("panel", -1), ("smallest", smallest)):
        costs[name] = float(cost[place])
        if right is not None:
            costs[f"{name}_per_correct"] = ratio(costs[name], float(correct[place]))
    table, judges = {**facts.tables["sizes"], "cost": cost}, {**facts.judges, "price": price, "cost": own}
    if right is not None:
        table["cost_per_correct"], judges["cost_per_correct"] = divide(cost, correct), divide(price, right)
    return PanelFacts({**facts.notes, "cost": costs}, {"sizes": table}, judges)


def _name_worths(sample: Sample, worth: Floats) -> dict[str, Floats]:
    if isinstance(sample, Scores):
        return {sample.unit: np.asarray(sample.error_of(worth)), "worth": worth}
    return {"accuracy": worth}


def _describe_whole(sample: Sample, whole: float) -> dict[str, Any]:
    source = "gold" if sample.by_gold else "panel"
    if not isinstance(sample, Scores):
        return {"accuracy_from": source, "accuracy": whole}
    is_known = sample.by_gold or bool(sample.own.any())  # or the whole panel has a confidence interval
    return {
        "worth_from": source,
        "error_unit": sample.unit,
        "error": float(sample.error_of(whole)) if is_known else math.nan,
        "guess_error": float(sample.error_of(0.0)),
        "worth": whole,
    }


def describe_wanted(sample: Sample, sizes: pd.DataFrame, wanted: float, judges: Values) -> PanelFacts:
    """Return the smallest panel that errs no more than is wanted, or the error of the best if there is none."""
    worth = sizes["worth"].to_numpy()
    errors = np.asarray(sample.error_of(worth))
    enough = np.flatnonzero(errors <= wanted * (1 + TOLERANCE))
    place = int(enough[0]) if len(enough) else int(np.argmin(errors))
    members: Sequence[int] = sizes["members"].iloc[place] if len(enough) else ()
    names = [judges[judge] for judge in members]
    notes = {"max_error": wanted, "reached": bool(names), "members": names, "error": float(errors[place])}
    return PanelFacts({"wanted": notes}, {}, {"in_wanted": np.isin(np.arange(len(judges)), members)})


def describe_pivotal(left: LeftOut, sample: Sample, judges: Values, found: TaskTable) -> PanelFacts:
    """Return the tasks that one judge decides, the least sure first, and how many of them each judge decides."""
    turns, hashes = left.turns, sample.task_hash
    decides = turns.sum(axis=0).astype(np.int64)
    known: Marks = turns & ~np.isnan(left.right)
    right = divide(np.where(known, left.right, 0.0).sum(axis=0), known.sum(axis=0).astype(np.float64))
    some = np.flatnonzero(turns.any(axis=1))
    some = some[np.lexsort((hashes[some], left.order[some]))]
    names = np.array([str(judge) for judge in judges.tolist()], object)
    table: dict[str, Values | Array] = {
        "task": find_ids(found, hashes[some]),
        **{name: column[some] for name, column in left.columns.items()},
        "decided_by": text_column(["; ".join(names[row]) for row in turns[some]]),
    }
    named = [
        {"judge": judges[int(judge)], "decides": int(decides[judge]), "right": float(right[judge])}
        for judge in np.argsort(-decides, kind="stable")[:_MAX_NAMED]
        if decides[judge]
    ]
    share = ratio(float(len(some)), float(len(turns)))
    notes = {"tasks": len(some), "of": len(turns), "share": share, "judges": named}
    return PanelFacts({"pivotal": notes}, {"pivotal": table}, {"decides": decides, "decides_right": right})
