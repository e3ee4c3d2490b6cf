"""Crowd: who copies, whose answers say nothing about the tasks, who is worse than others, and who is hardly known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike._core.words import count
from allalike.telling.remark import Remark, name_some, share, two_digits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike.telling.summary import AlikeGroup, Silent, Summary, Suspects

__all__ = ["remark_crowd", "say_evidence", "say_few"]

_N_SHOWN = 3  # groups, and workers who are worse


def remark_crowd(summary: Summary) -> Iterator[Remark]:
    """Say whose answers carry no signal, and who copies, with the evidence."""
    trust = summary.trust
    if trust is None:
        return
    if parts := trust.parts:
        yield Remark(
            f"Parts: the answers fall into {parts.number:,} parts without a common task, the largest with"
            f" {count(parts.largest, 'worker')}. Workers of different parts cannot be compared."
        )
    if trust.no_signal.workers:
        yield _remark_silent(trust.no_signal)
    if trust.look_at:
        yield _remark_suspects(trust.look_at)
    yield from map(_remark_group, trust.groups[:_N_SHOWN])
    if len(trust.groups) > _N_SHOWN:
        yield Remark(f"  and {sum(trust.n_groups.values()) - _N_SHOWN:,} more groups (see the table of groups).")


def _remark_silent(empty: Silent) -> Remark:
    names, first = [each.worker for each in empty.named], empty.named[0]
    done = "do not count (with plain=True they do)" if empty.silenced else "count all the same, being few"
    return Remark(
        f"No signal: what {name_some(names, empty.workers)} answer{'s' if empty.workers == 1 else ''} does not depend"
        f" on the tasks (signal {first.signal:.3f} with error {first.error:.3f}); they gave"
        f" {100 * empty.share_of_answers:.0f} % of the answers and {done}.",
        names=names,
    )


def _remark_suspects(worse: Suspects) -> Remark:
    limits = [f"{each.worker} ({two_digits(each.low)} to {two_digits(each.high)})" for each in worse.named]
    return Remark(
        f"Look at: {name_some(limits, worse.workers, _N_SHOWN)} {'has' if worse.workers == 1 else 'have'} a larger"
        f" {worse.unit.replace('_', ' ')} than the crowd ({two_digits(worse.crowd)}), by more than chance explains.",
        names=[each.worker for each in worse.named],
    )


def _remark_group(group: AlikeGroup) -> Remark:
    who, seen = name_some(group.members, group.size), say_evidence(group.common, group.shared_rare)
    if group.kind == "copies":
        chance = f"by chance with probability {group.probability:.1g}"
        said = f"Copies: {who} count as one voice ({seen}; {chance}; plain=True counts each)."
    else:
        said = f"Alike: {who} answer alike ({seen}), but nothing shows that they copy: each counts."
    return Remark(said, names=group.members)


def say_evidence(common: int, rare: int) -> str:
    """Say what speaks for copies.

    >>> say_evidence(40, 12)
    '40 common tasks, 12 with a rare answer in common'
    """
    return f"{count(common, 'common task')}, {rare:,} with a rare answer in common"


def say_few(few: int, workers: int) -> str:
    """Say how many workers share so few answers with others that little is known about them.

    >>> say_few(1, 4)
    '1 of 4 workers (25.0 %) has fewer than 5 answers to tasks that others answered, too: little is known about her'
    """
    have, them = ("has", "her") if few == 1 else ("have", "them")
    return (
        f"{few:,} of {workers:,} workers ({share(few, workers)}) {have} fewer than 5 answers to tasks that others"
        f" answered, too: little is known about {them}"
    )
