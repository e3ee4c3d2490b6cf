"""Messages about correlated errors, independence, pivotal judges and position bias."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.telling.remark import Remark, name_some, percent, share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_N_GROUPS, _N_NAMES = 3, 4


def remark_bonds(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say how many pairs are wrong together, and name the first pair and groups.

    >>> pairs = {"looked_at": 3, "found": 0, "tasks": 20, "named": [], "groups": []}
    >>> [remark.sentence for remark in remark_bonds({"workers": 3, "panel": {"pairs": pairs}})]
    ['Wrong together: no pair of 3 more than others, on 20 tasks whose truth is known or sure.']
    """
    pairs = found["panel"]["pairs"]
    if "worth" in found["panel"]:
        return
    if not pairs["looked_at"] or not pairs["tasks"]:
        few = "no task is sure enough" if pairs["looked_at"] else f"there are {count(found['workers'], 'judge')}"
        yield Remark(f"Wrong together: not looked for, because {few}.")
        return
    where = f"on {pairs['tasks']:,} tasks whose truth is known or sure"
    if not pairs["found"]:
        yield Remark(f"Wrong together: no pair of {pairs['looked_at']:,} more than others, {where}.")
        return
    first, groups = pairs["named"][0], pairs["groups"]
    yield Remark(
        f"Wrong together: {pairs['found']:,} of {pairs['looked_at']:,} pairs, {where}. First {first['judge']} and"
        f" {first['other']}: {first['together']:,} wrong answers in common, {first['expected']:.3g} expected"
        f" ({first['low']:.2g} to {first['high']:.2g} times as many).",
        names=[first["judge"], first["other"]],
    )
    yield from remark_groups(groups)


def remark_groups(groups: Sequence[Sequence[Any]]) -> Iterator[Remark]:
    """Name the first groups.

    >>> [remark.sentence for remark in remark_groups([["ada", "bob"], ["eve", "kim"], ["a", "b"], ["c", "d"]])]
    ['- ada, bob', '- eve, kim', '- a, b', '- and 1 more group']
    """
    for group in groups[:_N_GROUPS]:
        yield Remark(f"- {name_some(group, len(group), _N_NAMES)}", names=group)
    if len(groups) > _N_GROUPS:
        yield Remark(f"- and {count(len(groups) - _N_GROUPS, 'more group')}")


# Off together: whose scores err the same way.


def remark_off_together(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say how many pairs are off together, and name the first pair and groups.

    >>> pairs = {"looked_at": 15, "found": 0, "tasks": 80, "named": [], "groups": []}
    >>> [remark.sentence for remark in remark_off_together({"workers": 6, "panel": {"worth": 1.0, "pairs": pairs}})]
    ['Wrong together: no pair of 15 more than others, on 80 tasks.']
    """
    panel = found["panel"]
    if "worth" not in panel:
        return
    pairs = panel["pairs"]
    if not pairs["looked_at"]:
        yield Remark(f"Wrong together: not looked for with {count(found['workers'], 'judge')} and such labels.")
        return
    where = f"on {count(pairs['tasks'], 'task')}"
    if not pairs["found"]:
        yield Remark(f"Wrong together: no pair of {pairs['looked_at']:,} more than others, {where}.")
        return
    first = pairs["named"][0]
    yield Remark(
        f"Wrong together: {pairs['found']:,} of {pairs['looked_at']:,} pairs, {where}. First {first['judge']} and"
        f" {first['other']}: their errors correlate by {first['correlation']:.2f} more than those of other pairs"
        f" ({first['low']:.2f} to {first['high']:.2f}).",
        names=[first["judge"], first["other"]],
    )
    yield from remark_groups(pairs["groups"])


# Independence: how many voices the judges are worth, and the truths that nobody gave.


def remark_independence(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say what all judges are worth together, who adds most and least, and where no panel can be right.

    >>> panel = {"voices": {"all": 2.4, "most": "eve", "least": "bob"}, "ceiling": {"known": 200, "missed": 8}}
    >>> for remark in remark_independence({"workers": 6, "panel": panel}):
    ...     print(remark.sentence)
    Independent voices: 6 judges count like 2.4, by known truths; eve errs most on its own, bob least.
    Ceiling: no judge reaches 8 of 200 known truths (4.0 %), and no panel of them does.
    """
    voices, ceiling = (found["panel"].get(name) for name in ("voices", "ceiling"))
    if voices and voices["all"] is not None:
        who = f"; {voices['most']} errs most on its own, {voices['least']} least" if "most" in voices else ""
        yield Remark(
            f"Independent voices: {count(found['workers'], 'judge')} count like {voices['all']:.2g}, by known"
            f" truths{who}.",
            names=[voices[name] for name in ("most", "least") if name in voices],
        )
    if ceiling and ceiling["missed"]:
        known, missed = ceiling["known"], ceiling["missed"]
        yield Remark(
            f"Ceiling: no judge reaches {missed:,} of {known:,} known truths ({share(missed, known)}), and no panel of"
            " them does."
        )


# Pivotal tasks: how many verdicts one judge decides, and who does.


_N_NAMED = 2


def remark_pivotal(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say on how many tasks the verdict turns without one judge, and who decides most of them.

    >>> judges = [{"judge": "ada", "decides": 20, "right": 0.75}, {"judge": "bob", "decides": 9, "right": None}]
    >>> told = {"tasks": 24, "of": 100, "share": 0.24, "judges": judges}
    >>> for remark in remark_pivotal({"panel": {"pivotal": told}}):
    ...     print(remark.sentence)
    One judge decides 24 of 100 tasks (24.0 %), listed in pivotal: ada 20 (right on 75 %), bob 9.
    """
    told = found["panel"].get("pivotal")
    if told is None or not told["tasks"]:
        return
    named = told["judges"][:_N_NAMED]
    who = [f"{each['judge']} {each['decides']:,}{_say_right(each['right'])}" for each in named]
    more = len(told["judges"]) - len(named)
    yield Remark(
        f"One judge decides {told['tasks']:,} of {told['of']:,} tasks ({share(told['tasks'], told['of'])}), listed in"
        f" pivotal: {', '.join(who)}{f' and {more:,} more' if more else ''}.",
        names=[each["judge"] for each in named],
    )


def _say_right(right: float | None) -> str:
    return "" if right is None else f" (right on {percent(right)})"


# Orders: how often judges say the same in both, and who follows the position.


def remark_orders(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say how steady verdicts are against the order, and who follows the position most.

    >>> named = [{"judge": "gpt", "bias": 0.2, "low": 0.12, "high": 0.27}]
    >>> told = {"about": "places", "first_order": "AB", "pairs": 200, "same": 150, "known": True}
    >>> told |= {"one_order": 12, "follow": 1, "named": named}
    >>> for remark in remark_orders({"panel": {"orders": told}}):
    ...     print(remark.sentence)
    Both orders: the same verdict on 75 % of 200 pairs; the others count as a tie, or not at all.
    12 verdicts in one order only count as they are, and may follow the position.
    Verdicts name places: labels are those of the order 'AB' (about='answers' reads them otherwise).
    Position: 1 judge follows it, most gpt, who prefers the first place in 70 % of verdicts (62 to 77 %).
    """
    told = found["panel"].get("orders")
    if told is None:
        return
    if not told["pairs"]:
        yield Remark("Both orders: no judge has a verdict in both on any task.")
    else:
        same = percent(told["same"] / told["pairs"])
        yield Remark(
            f"Both orders: the same verdict on {same} of {count(told['pairs'], 'pair')}; the others count as a tie, or"
            " not at all."
        )
    if told["one_order"]:
        yield Remark(
            f"{count(told['one_order'], 'verdict')} in one order only count as they are, and may follow the position."
        )
    if told["about"] == "places":
        yield Remark(
            f"Verdicts name places: labels are those of the order {told['first_order']!r} (about='answers' reads them"
            " otherwise)."
        )
    if not told["known"]:
        return
    if not told["named"]:
        yield Remark("Position: no judge is seen to follow it.")
        return
    first = told["named"][0]
    place = "first" if first["bias"] > 0 else "second"
    middle, *limits = sorted([0.5 + abs(first["bias"])]) + sorted(0.5 + abs(first[name]) for name in ("low", "high"))
    yield Remark(
        f"Position: {count(told['follow'], 'judge')} follow{'s' if told['follow'] == 1 else ''} it, most"
        f" {first['judge']}, who prefers the {place} place in {percent(middle)} of verdicts"
        f" ({100 * limits[0]:.0f} to {100 * limits[1]:.0f} %).",
        names=[first["judge"]],
    )
