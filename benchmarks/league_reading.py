"""What can be read from the league table, in words; every figure and every name in them is computed."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from league_figures import Data, League

__all__ = ["CLASSES", "read_figures"]

CLASSES = ("Two classes", "More than two classes")
_OURS = ("P-TD", "P-TD-AK", "iP-TD")
_CLEAR = 0.02  # a difference of errors that is worth a word
_MARGIN = "two points and two tasks or more"
_SAME = 1e-9


def read_figures(league: League) -> str:
    """Say who is ahead, and where proximity wins and loses."""
    classes = [one for title in CLASSES for one in league.groups.get(title, [])]
    others = [one for one in league.data if one.domain != "categorical"]
    said = [
        _beside_unweighted(league),
        _alike(league),
        _won(league, classes),
        _misled(league, classes),
        _against_confusions(league, classes),
        _other_kinds(league, others),
        _undecided(league),
        _time(league, classes),
    ]
    points = "\n".join(f"- {sentence}" for sentence in said if sentence)
    opening = "Mean ranks among our methods, by kind of label; less is better:"
    return f"## In short\n\n{opening}\n\n{_places(league)}\n\n{points}"


def _places(league: League) -> str:
    """List, for each kind of label, who is first and where proximity and the plain aggregate are."""
    lines = [
        f"| labels | data sets | methods | first | {' | '.join(_OURS)} | UA |",
        "| --- |" + " ---: |" * 2 + " --- |" + " ---: |" * 4,
    ]
    for title, data in league.groups.items():
        found = league.mean_ranks(data, theirs=False)
        first = [name for name, rank in found.items() if rank <= min(found.values()) + _SAME]
        shown = [f"{found[name]:.2f}" if name in found else "" for name in (*_OURS, "UA")]
        best = f"{', '.join(first)} {min(found.values()):.2f}"
        lines.append(f"| {title} | {len(data)} | {len(found)} | {best} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _beside_unweighted(league: League) -> str:
    less, same, more = ([one for one in league.data if sign == _sign(league, one)] for sign in (-1, 0, 1))
    return (
        f"iP-TD, the method that `discover` takes unless told otherwise, has a smaller error than UA, which weighs all"
        f" workers alike, on {len(less)} of {len(league.data)} data sets, the same on {len(same)}, and a larger one on"
        f" {len(more)}{_list(more)}."
    )


def _sign(league: League, data: Data, one: str = "iP-TD", other: str = "UA") -> int:
    gap = _gap(league, data, one, other)
    return 0 if gap is None or abs(gap) <= _SAME else 1 if gap > 0 else -1


def _gap(league: League, data: Data, one: str, other: str) -> float | None:
    """Return how much larger the error of one method is; for other labels than classes as a share of the error."""
    left, right = league.error(data, one), league.error(data, other)
    if left is None or right is None:
        return None
    if data.domain == "categorical":
        return left - right
    return (left - right) / right if right else left


def _ahead(league: League, data: Sequence[Data], one: str, other: str) -> list[Data]:
    """Return where a method is clearly better than another, the largest difference first."""
    gaps = {d.name: _gap(league, d, one, other) or 0.0 for d in data}
    return sorted((d for d in data if gaps[d.name] <= _SAME - _clear(d)), key=lambda d: gaps[d.name])


def _clear(data: Data) -> float:
    """Return which difference is worth a word: two percent, and of classes at least two tasks."""
    return max(_CLEAR, 2 / data.gold) if data.domain == "categorical" else _CLEAR


def _alike(league: League) -> str:
    """Say whether good workers are alike."""
    unlike = [one for one in league.data if one.alike <= 0]
    worse = [one for one in unlike if _sign(league, one) > 0]
    exceptions = f" It is not in {len(unlike)}{_list(unlike)}, and iP-TD is worse than UA in {len(worse)} of these."
    return (
        "Are good workers alike? The rank correlation of a worker's disparity and her distance to gold (*alike* in the"
        f" last table) is positive in {len(league.data) - len(unlike)} data sets; its median is"
        f" {median(one.alike for one in league.data):.2f}.{exceptions if unlike else ''}"
    )


def _won(league: League, classes: Sequence[Data]) -> str:
    ahead = _ahead(league, classes, "iP-TD", "UA")
    if not ahead:
        return ""
    every = [
        method for method in ("UA", *_OURS, "DS", "OA") if all(league.error(one, method) is not None for one in classes)
    ]
    means = ", ".join(f"{method} {_mean(league, classes, method)}" for method in every)
    small = [one for one in classes if one.gold < 50]
    return (
        f"Where it wins on two or several classes, by {_MARGIN}: {_both(league, ahead, 'UA', 'iP-TD')}. Percent right"
        f" on average over all {len(classes)}: {means}. OA weighs workers by the very gold that it is judged by: with"
        f" few tasks it is better than anyone can hope to be. In {len(small)} of these data, fewer than 50 tasks have"
        " gold, and a single one counts for more than two points: small differences there say little."
    )


def _misled(league: League, classes: Sequence[Data]) -> str:
    behind = _ahead(league, classes, "UA", "iP-TD")
    if not behind:
        return ""
    best = ", ".join(f"{' and '.join(sorted(league.best(one)))} on {one.name}" for one in behind)
    unlike = "; but it is not they who are close to the others" if all(one.alike <= 0 for one in behind) else ""
    return (
        f"Where it loses to a plain vote, by {_MARGIN}: {_both(league, behind, 'UA', 'iP-TD', 'OA')}. As OA shows,"
        f" there are good workers{unlike}. Best is {best}."
    )


def _against_confusions(league: League, classes: Sequence[Data]) -> str:
    behind, ahead = _ahead(league, classes, "DS", "iP-TD"), _ahead(league, classes, "iP-TD", "DS")
    if not behind:
        return ""
    won = f" The other way round, iP-TD is ahead on {_both(league, ahead, 'DS', 'iP-TD')}." if ahead else ""
    return (
        f"Where it loses to DS, by {_MARGIN}: {_both(league, behind, 'DS', 'iP-TD')}. DS learns which classes"
        f" each worker confuses, and that some are rare; a fault is one number, and cannot say so.{won}"
    )


def _other_kinds(league: League, others: Sequence[Data]) -> str:
    ahead, behind = (_ahead(league, others, *pair) for pair in (("iP-TD", "UA"), ("UA", "iP-TD")))
    said = [
        f"{word} on {_both(league, found, 'UA', 'iP-TD')}"
        for word, found in (("better", ahead), ("worse", behind))
        if found
    ]
    return f"On other labels, iP-TD is by two percent or more {', and '.join(said)}." if said else ""


def _undecided(league: League) -> str:
    """Name data on which methods cannot be told apart."""

    def is_tied(one: Data) -> bool:
        return not any(_sign(league, one, method, "UA") for method in league.competing([one], theirs=False))

    same = [one for one in league.data if is_tied(one)]
    return f"All of our methods are equally good on {len(same)} data sets{_list(same)}." if same else ""


def _time(league: League, classes: Sequence[Data]) -> str:
    if not classes:
        return ""
    both = [*_OURS, "DS", *league.methods(classes, ours=False)]
    shown = [f"{name} {league.seconds(classes, name):.1f}" for name in both]
    return f"CPU seconds for these {len(classes)} sets of classes, without what was stopped: {', '.join(shown)}."


def _both(league: League, data: Sequence[Data], *methods: str) -> str:
    """Write the scores of some methods on each data set."""
    parts = []
    for one in data:
        errors = {method: league.error(one, method) for method in methods}
        scores = [f"{method} {one.score(error)}" for method, error in errors.items() if error is not None]
        parts.append(f"{one.name} ({', '.join(scores)})")
    return ", ".join(parts)


def _list(data: Sequence[Data]) -> str:
    return f" ({', '.join(one.name for one in data)})" if data else ""


def _mean(league: League, data: Sequence[Data], method: str) -> str:
    """Average how many percent of the tasks are right."""
    return f"{100 * (1 - sum(league.error(one, method) or 0.0 for one in data) / len(data)):.1f}"
