"""Advice: next steps in order of expected benefit, each with its evidence and a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.text_format import count
from allalike.methods.auto.next_labels import rank_tasks
from allalike.report.report_data import brief
from allalike.result.commands import complete_command
from allalike.result.messages import format_alternative_model, format_evidence, format_few
from allalike.result.tables import next_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allalike.report.report_data import Material

_MAX_NAMED = 8
UNCERTAIN = 0.8  # labels with less confidence are worth another answer
_WANTED_GOLD = 20  # gold labels that intervals of error rates need
_FLAGS = {
    "uninformative": "Their answers do not depend on the tasks.",
    "worse than the crowd": "They make more errors than others on the same tasks, beyond chance.",
}

Advice = dict[str, Any]


def advise(material: Material, *, single: int, uncertain: int) -> list[Advice]:
    """Return the next steps: title, reason, workers and tasks concerned, and a command.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("ada", 2, "x")])
    >>> [each["title"] for each in advise(result._material(), single=1, uncertain=2)][:2]
    ['Label 20 random tasks', 'Collect more answers for 2 tasks']
    """
    return [
        *_about_gold(material),
        *_about_alternative(material),
        *_about_tasks(material, single, uncertain),
        *_about_copies(material),
        *_about_flags(material),
    ]


def _give(title: str, text: str, command: str = "", workers: Sequence[Any] = (), tasks: Sequence[Any] = ()) -> Advice:
    named = {"workers": list(workers[:_MAX_NAMED]), "tasks": list(tasks[:_MAX_NAMED])}
    return {"title": title, "text": text, "command": command, **named}


def _command(material: Material, options: Mapping[str, Any]) -> str:
    """Return the command of the result with further options, or the call if it was made in Python.

    It is empty after an update, because the command does not contain the added answers, and for options that panels
    lack.
    """
    if material.summary.changes or (material.panel and "screening" in options):
        return ""
    if material.result.command:
        return complete_command(material.result.command, options)
    shown = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"allalike.{'jury' if material.panel else 'discover'}(...{shown})" if shown else ""


def _gold(material: Material) -> dict[str, str]:
    """Return the option that names gold labels, unless there are some already."""
    column = material.run.notes.get("gold_column")
    return {} if material.run.n_gold else {"gold": "gold.csv" if column is None else f"column:{column}"}


def _about_gold(material: Material) -> Iterator[Advice]:
    known = material.run.n_gold
    if known < _WANTED_GOLD:
        text = (
            "Answers do not reveal errors that most workers share. Label a random sample of tasks yourself: with"
            f" {_WANTED_GOLD} gold labels, error rates have 95 % intervals, and confidences are calibrated"
            f"{f' ({known:,} so far)' if known else ''}."
        )
        yield _give(f"Label {_WANTED_GOLD} random tasks", text, _command(material, _gold(material)))


def _about_alternative(material: Material) -> Iterator[Advice]:
    model = material.summary.model
    if model is not None and model.alternative is not None:
        second = model.alternative
        workers = [*second.leaders, *second.its_leaders]
        command = _command(material, _gold(material))
        yield _give("Two solutions fit about equally well", f"{format_alternative_model(second)}.", command, workers)


def _about_tasks(material: Material, single: int, uncertain: int) -> Iterator[Advice]:
    table = next_columns(rank_tasks(material.result.found.pieces(), _MAX_NAMED), material.fit)
    if not len(table["task"]) or not (single or uncertain):
        return
    gains = np.asarray(table["gain"])
    gain = brief(gains[np.isfinite(gains)].mean(), 2) if np.isfinite(gains).any() else None
    reasons = [
        f"{count(uncertain, 'label')} with a confidence below {UNCERTAIN:g}." if uncertain else "",
        f"{count(single, 'task')} with only one answer, which cannot be compared." if single else "",
        "Another answer helps most on the first tasks of details/next_tasks.csv.",
        f"It raises the probability of a correct label by about {100 * gain:.2g} percentage points." if gain else "",
    ]
    title = f"Collect more answers for {count(max(single, uncertain), 'task')}"
    yield _give(title, " ".join(filter(None, reasons)), tasks=table["task"].tolist())


def _about_copies(material: Material) -> Iterator[Advice]:
    groups = material.fit.copy_groups
    copies = [group for group in groups.groups if group.copies] if groups is not None else []
    if copies:
        first = copies[0]
        text = (
            f"{count(len(copies), 'copy group')} with {sum(len(group.members) for group in copies):,} workers. The"
            f" first group has {format_evidence(first.common, first.rare)} (p = {first.p_value:.1g}). Each group counts"
            " once; --no-screening counts all workers."
        )
        workers = [material.run.workers[number] for number in first.members]
        yield _give("Check workers who copy from each other", text, _command(material, {"screening": False}), workers)


def _about_flags(material: Material) -> Iterator[Advice]:
    answers, flags = material.run.answer_counts, material.flags
    for flag, reason in _FLAGS.items():
        who = np.array([number for number, words in enumerate(flags) if flag in words], np.intp)
        who = who[np.argsort(-answers[who], kind="stable")]
        if len(who):
            text = f"{reason} They gave {100 * answers[who].sum() / answers.sum():.2g} % of the answers."
            workers = [material.run.workers[int(number)] for number in who]
            title = f"Check {count(len(who), 'worker')} who {'is' if len(who) == 1 else 'are'} {flag}"
            yield _give(title, text, workers=workers)
    few = sum("few answers" in words for words in flags)
    if few * 4 >= len(flags):
        yield _give("Assign the same tasks to several workers", f"{format_few(few, len(flags))}.")
