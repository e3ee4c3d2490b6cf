"""What a result says in words."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from allalike.cli.commands import write_flag
from allalike.cli.console import keep_whole, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.api.result import Result

__all__ = [
    "confidence_text",
    "few_text",
    "gold_text",
    "guesses",
    "percent",
    "reading_text",
    "share",
    "trust_text",
    "unseen_text",
]

_N_SHOWN_WORKERS = 5
_N_SHOWN_GROUPS = 3
_SAID_OTHERWISE = ("columns", "layout", "domain", "engine", "missing")


def guesses(summary: Mapping[str, Any]) -> list[str]:
    """Say what was guessed or set aside, with the flag that overrides it."""
    lines = []
    guessed = summary.get("guessed", {})
    if "columns" in guessed:
        columns = guessed["columns"]
        flag = visible(shlex.quote(",".join(f"{role}={name}" for role, name in columns.items())))
        listed = ", ".join(f"{name!r} is the {role}" for role, name in columns.items())
        lines.append(f"Recognised: {listed} (--columns {flag}).")
    lines += [_recognised(option, value) for option, value in guessed.items() if option not in _SAID_OTHERWISE]
    if "layout" in guessed:
        lines.append(_layout_text(guessed["layout"]))
    if "domain" in guessed:
        lines.append(_domain_text(guessed["domain"], summary.get("domain", {}).get("numbers", "")))
    lines += _quorum_text(summary.get("domain", {}))
    if "engine" in guessed:
        lines.append(
            "Note: the files are larger than half of the free memory, so the answers are kept on disk (--engine"
            f" {guessed['engine']}; --engine memory overrides)."
        )
    if summary.get("missing_dropped"):
        lines.append(f"Dropped {summary['missing_dropped']:,} rows without a label (--missing drop).")
    if summary.get("abstained_dropped"):
        lines.append(f"Left out {summary['abstained_dropped']:,} rows that mean 'no answer' (--abstain).")
    if unparsed := summary.get("unparsed"):
        lines.append(
            f"Left out {unparsed['labels']:,} labels ({share(unparsed['labels'], unparsed['of'])}) in which no answer"
            f" was found, such as {visible(repr(unparsed['example']))}."
        )
    if summary.get("repeats_added"):
        lines.append(
            f"Added up {summary['repeats_added']:,} further answers of a worker to a task (--repeats says how)."
        )
    if summary.get("repeats_set_aside"):
        lines.append(
            f"Set aside {summary['repeats_set_aside']:,} repeated answers of a worker to a task (--repeats says which)."
        )
    from allalike.api.doubts.doubts import is_about_numbers

    notes = [*summary.get("remarks", ()), *summary.get("warnings", ())]
    return [*lines, *(f"Note: {visible(said)}" for said in notes if not is_about_numbers(said))]


def _layout_text(layout: str) -> str:
    """Say how masks lie in a folder.

    >>> _layout_text("tasks/workers"), _layout_text("manifest.csv")
    ('Recognised: masks lie as tasks/workers (--layout tasks/workers).', 'Read: the masks that manifest.csv names.')
    """
    if "/" not in layout:
        return f"Read: the masks that {layout} names."
    return f"Recognised: masks lie as {layout} (--layout {layout})."


def _recognised(option: str, value: str) -> str:
    """Say what was found out about a file, with the flag that says otherwise.

    >>> _recognised("encoding", "cp1252"), _recognised("wide", "tasks")
    ('Recognised: encoding cp1252 (--encoding cp1252).', 'Recognised: a matrix, one row per task (--wide tasks).')
    """
    from allalike.readers.tools import TOOLS

    what = f"{option.replace('_', ' ')} {visible(value)}"
    if option == "tool":
        what = f"an export of {TOOLS[value].title if value in TOOLS else visible(value)}"
    elif option == "wide":
        what = f"a matrix, one row per {value.removesuffix('s')}"
    return f"Recognised: {what} ({write_flag(option, value)})."


def _domain_text(name: str, numbers: str) -> str:
    """Say which kind of label was recognised, and what that means where labels are numbers."""
    if name == "real":
        return "Recognised: the labels are numbers: a truth is a mean; for a vote: --domain categorical."
    if name == "date":
        return "Recognised: the labels are dates: a truth is a mean; for a vote: --domain categorical."
    if name == "ordinal":
        return (
            "Recognised: the labels are levels of a scale, for answers to a task are near each other: a truth is a"
            " median; for a vote: --domain categorical, for a mean: --domain real."
        )
    if name == "categorical" and numbers:
        order = (
            " If they are ratings, their order is not used; it is with --domain ordinal."
            if numbers == "in a row"
            else ""
        )
        return (
            "Recognised: the labels are classes, though they are numbers: a truth is a vote; for a mean: --domain"
            f" real.{order}"
        )
    return f"Recognised: the labels are {visible(name)} (--domain {visible(shlex.quote(name))})."


def _quorum_text(domain: Mapping[str, Any]) -> list[str]:
    """Say which quorum was chosen; the summary has how good each was.

    >>> _quorum_text({"name": "boxes", "quorum": 0.4, "quorum_curve": {"0.40": 0.71428, "0.45": 0.6}})
    ['quorum: 0.40 (chosen; fixed with --domain "boxes(quorum=0.5)").']
    """
    if "quorum_curve" not in domain:
        return []
    radius = f"radius={domain['radius']:g}, " if domain.get("radius") else ""
    flag = f'--domain "{domain["name"]}({radius}quorum=0.5)"'
    return [f"quorum: {domain['quorum']:.2f} (chosen; fixed with {flag})."]


def confidence_text(summary: Mapping[str, Any], unweighted: float | None = None) -> list[str]:
    """Say how sure the truths are, and how many are not sure enough."""
    lines = []
    if found := summary.get("confidence"):
        from allalike.report.words import TOLD_BY

        source = TOLD_BY[found["told_by"]]
        plain = "" if unweighted is None else f", unweighted ones in {percent(unweighted)}"
        unseen = "" if found["told_by"] == "gold" else "; shared errors are not seen in answers (--gold)"
        lines.append(f"Truths are expected to be right in {percent(found['mean'])}{plain} (told by {source}){unseen}.")
    if "abstained" in summary:
        part = share(summary["abstained"], summary["tasks"])
        lines.append(
            f"{summary['abstained']:,} truths ({part}) are less sure than {summary['min_confidence']:g} and stay empty"
            " (--min-confidence)."
        )
    return lines


_MOST_TIMES = 1000
_UNSEEN = {
    "signal": "Answers without signal were not looked for: there are too many workers and labels.",
    "copies": "Copies were not looked for: there are too many pairs of workers.",
}
_STARTS = {
    "consensus": "the consensus of the workers",
    "known": "the truths that are known",
    "one": "one number a worker, because the memory that is free cannot hold more",
}


_NOT_BORNE_OUT = "two halves of the workers do not bear out any weights"


def _reason(reading: Mapping[str, Any]) -> str:
    return "known truths speak for that" if reading.get("overruled") else "two halves of the workers bear that out"


def reading_text(summary: Mapping[str, Any]) -> list[str]:
    """Say how the answers were read, and whether they can be read otherwise as well."""
    reading, name = summary.get("reading"), summary["method"]["name"]
    if not reading:
        return []
    if reading.get("workers") == "alike":
        return [f"{name}: workers are alike: everyone counts the same."]
    if "fields" in reading:
        return [f"{name}: workers are weighed in each field alone; their weight is the mean over the fields."]
    if reading.get("taken") == "everyone the same":
        return [f"{name}: everyone counts the same, because {reading['why']}."]
    if reading.get("taken") == "vote":
        told = "known truths speak for it" if reading.get("overruled") else _NOT_BORNE_OUT
        why = reading.get("why", told)
        return [f"{name}: a plain vote was taken, because {why}."]
    ratio = reading.get("f_ratio")  # beyond any number where most answers of a worker are equally far from the others
    if ratio is None:
        return []
    times = f"over {_MOST_TIMES:,}" if ratio > _MOST_TIMES else f"{ratio:,.1f}"
    differ = f"workers differ {times} times as much as by chance"
    if reading.get("taken") == "weighted vote":
        return [f"{name}: {differ}; votes were weighed, for {_reason(reading)}."]
    if "start" not in reading:
        return [f"{name}: {differ}; weighed like {summary['effective_workers']:,.1f} equal workers."]
    kind, _, part = reading["start"].partition(" ")
    core = f"the best workers, who gave {100 * float(part):g} % of the answers" if kind == "core" else ""
    lines = [
        f"{name}: {differ}; weights were used, for {_reason(reading)}. The most likely reading"
        f" begins with {core or _STARTS[kind]}."
    ]
    if second := reading.get("second_reading"):
        lines += [
            f"Two readings: another one fits about as well ({abs(second['nats']):.1f} nats"
            f" {'less' if second['nats'] >= 0 else 'more, which is not enough'}) and decides"
            f" {second['tasks']:,} tasks ({100 * second['share']:.0f} %) otherwise. Agreement cannot tell which is"
            " true; the truths of a few tasks can (--gold).",
            f"  This one is led by {_names(second['leaders'])}; the other by {_names(second['its_leaders'])}.",
        ]
    return lines


def trust_text(summary: Mapping[str, Any]) -> list[str]:
    """Say whose answers carry no signal, and who copies, with the evidence."""
    trust = summary.get("trust")
    if not trust:
        return []
    lines, empty = [], trust["no_signal"]
    if parts := trust.get("parts"):
        lines.append(
            f"Parts: the answers fall into {parts['number']:,} parts without a common task, the largest with"
            f" {parts['largest']:,} workers. Workers of different parts cannot be compared."
        )
    if empty["workers"]:
        first = empty["named"][0]
        done = "have no voice (--plain gives it back)" if empty["silenced"] else "keep their voice, being few"
        one = "s" if empty["workers"] == 1 else ""
        lines.append(
            f"No signal: what {_some_names([each['worker'] for each in empty['named']], empty['workers'])} answer{one}"
            f" does not depend on the tasks (signal {first['signal']:.3f} with error {first['error']:.3f});"
            f" they gave {100 * empty['share_of_answers']:.0f} % of the answers and {done}."
        )
    if worse := trust.get("look_at"):
        unit = worse["unit"].replace("_", " ")
        named = ", ".join(
            f"{keep_whole(each['worker'])} ({each['low']:.2g} to {each['high']:.2g})"
            for each in worse["named"][:_N_SHOWN_GROUPS]
        )
        more = worse["workers"] - _N_SHOWN_GROUPS
        lines.append(
            f"Look at: {named}{f' and {more:,} more' if more > 0 else ''} have a larger {unit} than the crowd"
            f" ({worse['crowd']:.2g}), whatever chance did."
        )
    for group in trust["groups"][:_N_SHOWN_GROUPS]:
        who = _some_names(group["members"], group["size"])
        seen = f"{group['common']:,} common tasks, {group['shared_rare']:,} with a rare answer in common"
        chance = f"by chance with probability {group['probability']:.1g}"
        if group["kind"] == "copies":
            lines.append(f"Copies: {who} count as one voice ({seen}; {chance}; --plain counts each).")
        else:
            lines.append(f"Alike: {who} answer alike ({seen}), but nothing shows that they copy: each counts.")
    if len(trust["groups"]) > _N_SHOWN_GROUPS:
        lines.append(
            f"  and {sum(trust['n_groups'].values()) - _N_SHOWN_GROUPS:,} more groups (see the table of groups)."
        )
    return lines


def unseen_text(summary: Mapping[str, Any]) -> list[str]:
    """Say what nobody could look for."""
    reading = summary.get("reading", {})
    return [text for what, text in _UNSEEN.items() if what in reading]


def _some_names(ids: Sequence[Any], number: int) -> str:
    return _names(ids[:_N_SHOWN_WORKERS]) + (
        f" and {number - _N_SHOWN_WORKERS:,} more" if number > _N_SHOWN_WORKERS else ""
    )


def _names(ids: Sequence[Any]) -> str:
    return ", ".join(map(keep_whole, ids))


def gold_text(result: Result) -> list[str]:
    """Say how large the error against known truths is, and how well disparity told it."""
    if "error" not in result.summary.get("gold", {}):
        return []
    gold = result.summary["gold"]
    lines = [
        f"Error against the gold of {gold['tasks']:,} tasks: {gold['error']:.4g}; unweighted"
        f" {gold['unweighted_error']:.4g}."
    ]
    if told := gold.get("disparity_predicts"):
        lines.append(
            f"On the gold, disparity tells who errs with a rank correlation of {told['rank_correlation']:.2f}"
            f" ({told['low']:.2f} to {told['high']:.2f}; {told['workers']:,} workers)."
        )
    return lines


def few_text(result: Result) -> list[str]:
    """Say how many workers share so few answers with others that little is known about them."""
    from allalike.methods.auto.sureness.faults import FEW

    trust = result.weighing.trust
    if trust is None or not trust.few.any():
        return []
    n_few, n_workers = int(trust.few.sum()), len(trust.few)
    return [
        f"{n_few:,} of {n_workers:,} workers ({share(n_few, n_workers)}) have fewer than {FEW} answers that somebody"
        " else answered too: little is known about them (few in the table of workers)."
    ]


def percent(probability: float) -> str:
    """Write how probable something is; nothing that is estimated is certain.

    >>> percent(0.934), percent(0.9999)
    ('93 %', 'over 99 %')
    """
    return "over 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"


def share(part: int, whole: int) -> str:
    """Write a share in percent.

    >>> share(1, 8)
    '12.5 %'
    """
    return f"{100 * part / whole:.1f} %"
