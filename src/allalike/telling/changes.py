"""Changes: what became of a result when answers were added: truths that turned, workers who changed, new copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike._core.words import count
from allalike.telling.remark import Remark, name_some, share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike.telling.summary import Summary

__all__ = ["list_generations", "remark_changes"]

_N_NAMED = 5


def remark_changes(summary: Summary) -> Iterator[Remark]:
    """Say what changed, if answers were added.

    >>> from allalike.telling.summary import Summary
    >>> found = {"answers": 9, "workers": 3, "tasks": 4, "domain": {"name": "categorical"}}
    >>> told = {"answers": 2, "turned": 1, "of": 3, "truths": [{"task": "t1", "before": "x", "now": "y"}], "tested": 1}
    >>> worse = {"worker": "ada", "what": "worse", "before": 0.1, "now": 0.4, "answers_before": 20, "answers_now": 10,
    ...          "low": 0.1, "high": 0.5, "probability": 0.002}
    >>> for remark in remark_changes(Summary.from_dict({**found, "changes": {**told, "workers": [worse]}})):
    ...     print(remark.sentence)
    2 answers were added.
    1 of 3 truths (33.3 %) turned: task t1 from x to y.
    ada got worse: farther from the truth than others by 0.4, before by 0.1 (10 and 20 answers; the difference is
    0.1 to 0.5, probability 0.002).
    """
    told = summary.changes
    if told is None:
        return
    aside = f"; {_say(told.set_aside, 'repeated answer')} set aside" if told.set_aside else ""
    yield Remark(f"{_say(told.answers, 'answer')} added{aside}.")
    if told.labels:
        yield Remark(f"Nobody gave these labels before: {name_some(told.labels, len(told.labels))}.")
    if told.turned is None:
        yield Remark("Nobody can say which truths turned: of such labels, all move a little each time.")
    else:
        some = [f"task {each.task} from {each.before} to {each.now}" for each in told.truths[:_N_NAMED]]
        listed = f": {name_some(some, told.turned, _N_NAMED)}" if some else ""
        part = f" ({share(told.turned, told.of)})" if told.turned else ""
        yield Remark(f"{told.turned:,} of {count(told.of, 'truth')}{part} turned{listed}.")
    for each in told.workers[:_N_NAMED]:
        where = "farther from" if each.now > 0 else "nearer to"
        yield Remark(
            f"{each.worker} got {each.what}: {where} the truth than others by {abs(each.now):.2g}, before by"
            f" {each.before:.2g} ({each.answers_now:,} and {count(each.answers_before, 'answer')}; the difference is"
            f" {each.low:.2g} to {each.high:.2g}, probability {each.probability:.2g}).",
            names=[each.worker],
        )
    if told.tested and not told.workers:
        yield Remark(f"None of {count(told.tested, 'worker')} with ten new answers and ten old ones changed.")
    for members in told.copies[:_N_NAMED]:
        yield Remark(f"New copies: {name_some(members, len(members))}.", names=members)


def _say(number: int, what: str) -> str:
    return f"{count(number, what)} {'was' if number == 1 else 'were'}"


def list_generations(summary: Summary) -> list[tuple[str, ...]]:
    """Return a row for each time that a result was saved: the date, counts, and how many truths turned.

    >>> from allalike.telling.summary import Summary
    >>> found = {"answers": 9, "workers": 3, "tasks": 4, "domain": {"name": "categorical"}}
    >>> row = {"when": "2026-03-01T09:30:00Z", "answers": 9000, "workers": 3, "tasks": 4, "turned": None}
    >>> list_generations(Summary.from_dict({**found, "generations": [row]}))
    [('2026-03-01 09:30', '9,000', '3', '4', '')]
    """
    return [
        (
            each.when[:16].replace("T", " "),
            *(f"{number:,}" for number in (each.answers, each.workers, each.tasks)),
            "" if each.turned is None else f"{each.turned:,}",
        )
        for each in summary.generations
    ]
