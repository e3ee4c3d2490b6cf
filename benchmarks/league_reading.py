"""What can be read from the league table, in words; every figure and every name in them is computed."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from league_figures import Data, League

__all__ = ["CLASSES", "DEFAULT", "PAPER", "PLAIN", "read_figures"]

CLASSES = ("Two classes", "More than two classes")
DEFAULT, PLAIN, PAPER = "auto", "auto --plain", "iP-TD"
_PROXIMITY = ("P-TD", "P-TD-AK", PAPER)
_MODELS = ("DS", "DS-1", "IBCC", "EBCC", "BWA", "LA", "GLAD", "MACE")
_CLEAR = 0.02  # a difference of errors that is worth a word
_MARGIN = "two points and two tasks or more"
_SAME = 1e-9


def read_figures(league: League) -> str:
    """Say who is ahead, and where the default and proximity win and lose."""
    classes = [one for title in CLASSES for one in league.groups.get(title, [])]
    others = [one for one in league.data if one.domain != "categorical"]
    said = [
        f"{DEFAULT}, the method that `discover` takes unless told otherwise, {_beside(league, league.data, DEFAULT)}",
        _means(league, classes),
        _won(league, classes),
        _misled(league, classes),
        _against_rival(league, classes),
        _plainly(league),
        _other_kinds(league, others),
        f"{PAPER}, the paper's, {_beside(league, league.data, PAPER)}",
        _alike(league),
        _against_confusions(league, classes),
        _undecided(league),
        _time(league, classes),
    ]
    points = "\n".join(f"- {sentence}" for sentence in said if sentence)
    opening = "Mean ranks among our methods, by kind of label; less is better:"
    return f"## In short\n\n{opening}\n\n{_places(league)}\n\n{points}"


def _places(league: League) -> str:
    """List, for each kind of label, who is first and where the default, proximity and the plain aggregate are."""
    shown = (DEFAULT, PLAIN, *_PROXIMITY, "UA")
    lines = [
        f"| labels | data sets | methods | first | {' | '.join(shown)} |",
        "| --- |" + " ---: |" * 2 + " --- |" + " ---: |" * len(shown),
    ]
    for title, data in league.groups.items():
        found = league.mean_ranks(data, theirs=False)
        first = [name for name, rank in found.items() if rank <= min(found.values()) + _SAME]
        ranks = [f"{found[name]:.2f}" if name in found else "" for name in shown]
        best = f"{', '.join(first)} {min(found.values()):.2f}"
        lines.append(f"| {title} | {len(data)} | {len(found)} | {best} | {' | '.join(ranks)} |")
    return "\n".join(lines)


def _beside(league: League, data: Sequence[Data], method: str, other: str = "UA") -> str:
    """Count where a method is better than another, as good and worse."""
    both = [one for one in data if _gap(league, one, method, other) is not None]
    less, same, more = ([one for one in both if sign == _sign(league, one, method, other)] for sign in (-1, 0, 1))
    unweighted = ", which weighs all workers alike," if other == "UA" else ""
    return (
        f"has a smaller error than {other}{unweighted} on {len(less)} of {len(both)} data sets, the same on"
        f" {len(same)}, and a larger one on {len(more)}{_list(more)}."
    )


def _sign(league: League, data: Data, one: str, other: str = "UA") -> int:
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


def _means(league: League, classes: Sequence[Data]) -> str:
    """Average over the sets of classes; who has no figure on some of them stands beside the default on the others."""
    whole, parts = [], []
    for method in (DEFAULT, PLAIN, "UA", *_PROXIMITY, *_MODELS, "OA"):
        played = [one for one in classes if league.error(one, method) is not None]
        if played == classes:
            whole.append(f"{method} {_mean(league, played, method)}")
        elif played:
            default = f"{DEFAULT} {_mean(league, played, DEFAULT)} there"
            parts.append(f"{method} {_mean(league, played, method)} on the {len(played)} where it was done ({default})")
    if not whole:
        return ""
    small = [one for one in classes if one.gold < 50]
    return (
        f"Percent right on average over all {len(classes)} data sets of two or several classes:"
        f" {', '.join([*whole, *parts])}. OA weighs workers by the very gold that it is judged by: with few tasks it is"
        f" better than anyone can hope to be. In {len(small)} of these data, fewer than 50 tasks have gold, and a"
        " single one counts for more than two points: small differences there say little."
    )


def _won(league: League, classes: Sequence[Data]) -> str:
    ahead = _ahead(league, classes, DEFAULT, "UA")
    if not ahead:
        return ""
    return f"Where {DEFAULT} wins against a plain vote, by {_MARGIN}: {_both(league, ahead, 'UA', DEFAULT, PAPER)}."


def _misled(league: League, classes: Sequence[Data]) -> str:
    behind = _ahead(league, classes, "UA", DEFAULT)
    if not behind:
        none = f"On none of these sets is it worse than a plain vote by {_MARGIN}; elsewhere it may be."
        return none if classes else ""
    best = ", ".join(f"{' and '.join(sorted(league.best(one)))} on {one.name}" for one in behind)
    unlike = "; but it is not they who are close to the others" if all(one.alike <= 0 for one in behind) else ""
    return (
        f"Where it loses to a plain vote, by {_MARGIN}: {_both(league, behind, 'UA', DEFAULT, PAPER, 'OA')}. As OA"
        f" shows, there are good workers{unlike}. Best is {best}."
    )


def _against_rival(league: League, classes: Sequence[Data]) -> str:
    """Compare the default with whoever else is right most often on average, of ours and theirs."""
    rivals = [one for one in league.competing(classes, theirs=True) if one not in (DEFAULT, PLAIN)] if classes else []
    if not rivals:
        return ""
    best = min(rivals, key=lambda one: sum(league.error(data, one) or 0.0 for data in classes))
    ahead, behind = _ahead(league, classes, DEFAULT, best), _ahead(league, classes, best, DEFAULT)
    won = f" Clearly ahead, by {_MARGIN}, it is on {_both(league, ahead, best, DEFAULT)}." if ahead else ""
    lost = f" Clearly behind on {_both(league, behind, best, DEFAULT)}." if behind else ""
    return (
        f"Of all others, ours and theirs, {best} is right most often on these {len(classes)} data sets"
        f" ({_mean(league, classes, best)}). Beside it, {DEFAULT} {_beside(league, classes, DEFAULT, best)}{won}{lost}"
    )


def _plainly(league: League) -> str:
    """Say what it changes to look for copies and for workers whose answers say nothing."""
    ahead, behind = _ahead(league, league.data, DEFAULT, PLAIN), _ahead(league, league.data, PLAIN, DEFAULT)
    said = _changes(league, ahead, behind, PLAIN)
    looks = f"Unless told `--plain`, {DEFAULT} looks for copies and for workers whose answers say nothing."
    return f"{looks} By {_MARGIN}, or by two percent of other labels, this makes it {said}." if said else ""


def _alike(league: League) -> str:
    """Say whether good workers are alike."""
    unlike = [one for one in league.data if one.alike <= 0]
    worse = [one for one in unlike if _sign(league, one, PAPER) > 0]
    exceptions = f" It is not in {len(unlike)}{_list(unlike)}, and {PAPER} is worse than UA in {len(worse)} of these."
    return (
        "Are good workers alike? The rank correlation of a worker's disparity and her distance to gold (*alike* in the"
        f" last table) is positive in {len(league.data) - len(unlike)} data sets; its median is"
        f" {median(one.alike for one in league.data):.2f}.{exceptions if unlike else ''}"
    )


def _against_confusions(league: League, classes: Sequence[Data]) -> str:
    behind, ahead = _ahead(league, classes, "DS", PAPER), _ahead(league, classes, PAPER, "DS")
    if not behind:
        return ""
    won = f" The other way round, {PAPER} is ahead on {_both(league, ahead, 'DS', PAPER)}." if ahead else ""
    return (
        f"Where {PAPER} loses to DS, by {_MARGIN}: {_both(league, behind, 'DS', PAPER)}. DS learns which classes"
        f" each worker confuses, and that some are rare; a fault is one number, and cannot say so.{won}"
    )


def _other_kinds(league: League, others: Sequence[Data]) -> str:
    ahead, behind = (_ahead(league, others, *pair) for pair in ((DEFAULT, "UA"), ("UA", DEFAULT)))
    said = _changes(league, ahead, behind, "UA")
    return f"On other labels than classes, {DEFAULT} is by two percent or more {said}." if said else ""


def _changes(league: League, ahead: Sequence[Data], behind: Sequence[Data], other: str) -> str:
    """Say where the default is better than another method, and where worse."""
    both = (("better", ahead), ("worse", behind))
    return ", and ".join(f"{word} on {_both(league, found, other, DEFAULT)}" for word, found in both if found)


def _undecided(league: League) -> str:
    """Name data on which methods cannot be told apart."""

    def is_tied(one: Data) -> bool:
        return not any(_sign(league, one, method, "UA") for method in league.competing([one], theirs=False))

    same = [one for one in league.data if is_tied(one)]
    return f"All of our methods with a figure are equally good on {len(same)} data sets{_list(same)}." if same else ""


def _time(league: League, classes: Sequence[Data]) -> str:
    if not classes:
        return ""
    every = [DEFAULT, PLAIN, *_PROXIMITY, *_MODELS, *league.methods(classes, ours=False)]
    shown = [f"{name} {league.seconds(classes, name):.1f}" for name in every]
    return f"CPU seconds for these {len(classes)} sets of classes, without what has no figure: {', '.join(shown)}."


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
