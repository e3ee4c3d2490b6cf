"""Truths: how many there are, how they were found, how sure they are, and how far from those that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike._core.words import count
from allalike.telling.remark import Remark, name_some, percent, share, two_digits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike.telling.summary import (
        AlikeGroup,
        Correlation,
        HowRead,
        HowSure,
        LabelKind,
        OtherReading,
        Silent,
        Summary,
        Suspects,
    )

TOLD_BY = {
    "gold": "measured on known truths",
    "halves": "estimated from two halves of the workers",
    "pairs": "estimated from pairs of answers",
    "answers": "estimated from answers that were held out",
}
_VOTES, _MIDDLES = ("plurality", "majority"), ("mean", "median", "geometric median", "medoid")


def list_facts(summary: Summary) -> list[str]:
    """Say in short phrases what was read and how.

    >>> from allalike.telling.summary import Summary
    >>> found = {"answers": 3, "workers": 3, "tasks": 1, "domain": {"name": "categorical", "classes": 2}}
    >>> list_facts(Summary.from_dict({**found, "method": {"name": "auto"}}))
    ['3 answers', '3 workers', '1 task', 'categorical labels of 2 classes', 'method auto']
    """
    classes, method = summary.domain.classes, summary.method.name
    return [
        count(summary.answers, "answer"),
        count(summary.workers, "worker"),
        count(summary.tasks, "task"),
        f"{summary.domain.name} labels" + (f" of {count(classes, 'class')}" if classes else ""),
        *([f"method {method}"] if method else []),
    ]


def say_counts(answers: int, workers: int, tasks: int) -> str:
    """Say how many answers of whom to what there are.

    >>> say_counts(4000, 12, 1)
    '4,000 answers of 12 workers to 1 task'
    """
    return f"{count(answers, 'answer')} of {count(workers, 'worker')} to {count(tasks, 'task')}"


def say_voices(summary: Summary) -> str:
    """Say how many independent answers those to a task are worth, if that is known."""
    voices = summary.confidence.voices_per_task if summary.confidence else None
    return f"worth about {voices:.2g} voices, which are independent answers" if voices else ""


def name_unweighted(domain: LabelKind) -> str:
    """Name the aggregation without weights: the majority vote of classes, the unweighted mean or median of numbers.

    >>> from allalike.telling.summary import LabelKind
    >>> [name_unweighted(LabelKind(name="", rule=rule)) for rule in ("plurality", "median", "borda")]
    ['majority vote', 'unweighted median', 'unweighted answer']
    """
    if domain.rule in _VOTES:
        return "majority vote"
    return f"unweighted {domain.rule if domain.rule in _MIDDLES else 'answer'}"


def say_changes(summary: Summary, *, recurring: bool) -> list[str]:
    """Say how many labels weights changed, and how many ties were broken; not of numbers, most of which change."""
    if summary.changed and not recurring:
        return []
    part = share(summary.changed, summary.tasks)
    return [
        f"{summary.changed:,} of {count(summary.tasks, 'label')} ({part}) differ from the"
        f" {name_unweighted(summary.domain)}{say_ties(summary)}."
    ]


def say_ties(summary: Summary) -> str:
    """Say in how many tasks a tie was broken; nothing if there were none.

    >>> from allalike.telling.summary import Summary
    >>> found = {"answers": 4, "workers": 2, "tasks": 2, "domain": {"name": "categorical"}}
    >>> say_ties(Summary.from_dict({**found, "tied": 1})), say_ties(Summary.from_dict(found))
    ('; a tie was broken in 1 task', '')
    """
    return f"; a tie was broken in {count(summary.tied, 'task')}" if summary.tied else ""


def remark_sureness(summary: Summary, unweighted: float | None = None) -> Iterator[Remark]:
    """Say how sure the truths are, how sure unweighted ones would be if that is known, and how many are left out."""
    if sure := summary.confidence:
        yield Remark(_say_sureness(sure, unweighted if summary.changed else None, known=summary.gold is not None))
    if summary.abstained is not None:
        part = share(summary.abstained, summary.tasks)
        yield Remark(
            f"{count(summary.abstained, 'truth')} ({part}) less sure than {summary.min_confidence:g}"
            f" {'stays' if summary.abstained == 1 else 'stay'} empty.",
            "min_confidence",
        )


def _say_sureness(sure: HowSure, unweighted: float | None, *, known: bool) -> str:
    """Say how many truths should be right, unless no task has two answers that tell it.

    >>> from allalike.telling.summary import HowSure
    >>> _say_sureness(HowSure(mean=0.999, told_by="halves", answers_per_task=3.0), 0.9, known=True)
    'Over 99 % of the truths should be right, and 90 % of the majority vote (estimated from two halves of the workers).'
    >>> _say_sureness(HowSure(mean=0.75, told_by="pairs", answers_per_task=1.0), None, known=False)
    'Nobody can tell how many truths are right: no task has two answers. Some known truths (gold=) can.'
    """
    if sure.answers_per_task == 1 and sure.told_by != "gold":
        return "Nobody can tell how many truths are right: no task has two answers. Some known truths (gold=) can."
    right = percent(sure.mean)
    about = f"About {right}" if right[0].isdigit() else right.capitalize()
    plain = "" if unweighted is None else f", and {percent(unweighted)} of the majority vote"
    unseen = "" if known else " Mistakes that most share do not show; some known truths (gold=) do."
    return f"{about} of the truths should be right{plain} ({TOLD_BY[sure.told_by]}).{unseen}"


def remark_gold(summary: Summary) -> Iterator[Remark]:
    """Say how large the error against known truths is, and how well disparity told it."""
    gold = summary.gold
    if gold is None or gold.error is None:
        return
    yield Remark(
        f"Error against the gold of {count(gold.tasks, 'task')}: {gold.error:.4g}; unweighted"
        f" {gold.unweighted_error:.4g}."
    )
    if gold.disparity_predicts:
        yield Remark(say_correlation(gold.disparity_predicts))


def say_correlation(found: Correlation) -> str:
    """Say how well the distance to the others told who errs."""
    return (
        f"Distance to the others predicts who errs with a rank correlation of {found.rank_correlation:.2f}"
        f" ({found.low:.2f} to {found.high:.2f}; {found.workers:,} workers)."
    )


def remark_reading(summary: Summary) -> list[Remark]:
    """Say how the answers were read, and whether they can be read otherwise as well."""
    reading, name = summary.reading, summary.method.name
    if reading is None:
        return []
    told = _say_reading(summary, reading), _say_known(reading)
    said = "; ".join(each for each in told if each)
    return [*([Remark(f"{name}: {said}.")] if said else []), *_remark_second(reading.second_reading)]


def _say_known(reading: HowRead) -> str:
    """Say what known truths make of it."""
    told = reading.known_truths
    if not told:
        return ""
    number, sets = count(told["tasks"], "known truth"), "sets" if told["tasks"] == 1 else "set"
    return f"{number} {sets} how much the crowd and each worker count"


def _say_reading(summary: Summary, reading: HowRead) -> str:
    unweighted = name_unweighted(summary.domain)
    if reading.workers == "alike":
        drawn = reading.taken == "everyone the same" or reading.known_truths  # ties as without weights, or not at all
        ties = "; a tie goes to those who are closer to the others" if summary.tied and not drawn else ""
        return f"{unweighted}, because workers are alike{ties}"
    if reading.fields is not None:
        return "workers are weighed in each field alone; their weight is the mean over the fields"
    if reading.taken == "everyone the same":
        return f"{unweighted}, because {reading.why}"
    if reading.taken == "vote":
        return f"{unweighted}, because {reading.why or 'a split-half test does not support weights'}"
    if reading.f_ratio is None:
        return ""
    if reading.taken == "weighted vote":
        return "weighted majority vote, because a split-half test supports the weights"
    if not reading.start:
        return f"workers are weighted, and together count like {summary.effective_workers:,.1f} equal ones"
    return "workers are weighted, because a split-half test supports the weights"


def say_second_reading(second: OtherReading) -> str:
    """Say how well another reading fits, and what it would change."""
    more = "less" if second.nats >= 0 else "more, which is not enough"
    return (
        f"Two readings: another one fits about as well ({abs(second.nats):.1f} nats {more}) and decides"
        f" {count(second.tasks, 'task')} ({100 * second.share:.0f} %) otherwise. Agreement cannot tell which is true;"
        " the truths of a few tasks can"
    )


def _remark_second(second: OtherReading | None) -> Iterator[Remark]:
    if second is None:
        return
    yield Remark(f"{say_second_reading(second)} (gold=).")
    one, other = (", ".join(map(str, each)) for each in (second.leaders, second.its_leaders))
    yield Remark(f"  This one is led by {one}; the other by {other}.", names=[*second.leaders, *second.its_leaders])


# Changes: what became of a result when answers were added: truths that turned, workers who changed, new copies.


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


# Crowd: who copies, whose answers say nothing about the tasks, who is worse than others, and who is hardly known.


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
