"""Advice: what to do next, in the order in which it pays, each with the evidence and a command.

A result is a list of numbers, and people ask: whom can I trust, what should be labelled again, and is it right. Each
piece of advice is made of what the summary and the tables say, and nothing is recommended without a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.words import count
from allalike.report.material import brief
from allalike.result.commands import complete_command
from allalike.result.messages import say_evidence, say_few, say_second_reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike.report.material import Material

_MAX_NAMED = 8
UNSURE = 0.8  # truths that are less sure are worth another answer
_WANTED_GOLD = 20  # labels from which on error rates have intervals

Advice = dict[str, Any]


def advise(material: Material, flags: list[list[str]], *, single: int, unsure: int) -> list[Advice]:
    """Return what to do next: a title, the reason, the workers and tasks that it is about, and a command.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("ada", 2, "x")])
    >>> [each["title"] for each in advise(result._material(), [[], []], single=1, unsure=2)]
    ['Label 20 random tasks', 'Collect more answers for 2 tasks']
    """
    found = [
        _about_gold(material),
        _about_readings(material),
        _about_tasks(material, single, unsure),
        _about_copies(material),
        _about_flag(material, flags, "uninformative", "Their answers do not depend on the tasks."),
        _about_flag(
            material,
            flags,
            "worse than the crowd",
            "They make more errors than others on the same tasks, beyond chance.",
        ),
        _about_few(material, flags),
    ]
    return [each for each in found if each]


def _command(material: Material, options: Mapping[str, Any]) -> str:
    """Return the command that found this with further options, or the call, if it was found in Python.

    It is nothing where answers were added, of which only the folder knows, and for options that a panel has not.
    """
    judges = bool(material.panel)
    if material.summary.changes or (judges and "plain" in options):
        return ""
    if material.command:
        return complete_command(material.command, options)
    shown = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"allalike.{'jury' if judges else 'discover'}(...{shown})" if shown else ""


def _gold(material: Material) -> dict[str, str]:
    """Return the option that names gold labels, unless there are some already."""
    column = material.run.notes.get("gold_column")
    return {} if material.run.n_gold else {"gold": "gold.csv" if column is None else f"column:{column}"}


def _about_readings(material: Material) -> Advice | None:
    reading = material.summary.model
    if reading is None or reading.second_reading is None:
        return None
    second = reading.second_reading
    return {
        "title": "Two solutions fit about equally well",
        "text": f"{say_second_reading(second)}.",
        "workers": [*second.leaders, *second.its_leaders][:_MAX_NAMED],
        "tasks": [],
        "command": _command(material, _gold(material)),
    }


def _about_tasks(material: Material, single: int, unsure: int) -> Advice | None:
    tasks, gains = material.next_tasks["task"].tolist(), np.asarray(material.next_tasks["gain"])[:_MAX_NAMED]
    if not tasks or not (single or unsure):
        return None
    number = max(single, unsure)
    reasons = [
        f"{count(unsure, 'label')} with a confidence below {UNSURE:g}." if unsure else "",
        f"{count(single, 'task')} with only one answer, which cannot be compared." if single else "",
        "Another answer helps most on the first tasks of details/next_tasks.csv.",
    ]
    gain = brief(gains[np.isfinite(gains)].mean(), 2) if np.isfinite(gains).any() else None
    if gain:
        reasons.append(f"On these it raises the probability of a correct label by about {100 * gain:.2g} %.")
    return {
        "title": f"Collect more answers for {count(number, 'task')}",
        "text": " ".join(filter(None, reasons)),
        "workers": [],
        "tasks": tasks[:_MAX_NAMED],
        "command": "",
    }


def _about_copies(material: Material) -> Advice | None:
    groups = material.weighing.copy_groups
    copies = [] if groups is None else [group for group in groups.groups if group.copies]
    if not copies:
        return None
    first = copies[0]
    members = sum(len(group.members) for group in copies)
    several = count(len(copies), "copy group")
    return {
        "title": "Check workers who copy from each other",
        "text": (
            f"{several} with {members:,} workers. The first group has {say_evidence(first.common, first.rare)}"
            f" (p = {first.p_value:.1g}). Each group counts once; --no-screening counts all workers."
        ),
        "workers": [material.run.workers[number] for number in first.members[:_MAX_NAMED]],
        "tasks": [],
        "command": _command(material, {"screening": False}),
    }


def _about_flag(material: Material, flags: list[list[str]], flag: str, reason: str) -> Advice | None:
    who = np.array([number for number, words in enumerate(flags) if flag in words], np.intp)
    if not len(who):
        return None
    answers = material.run.answer_counts
    who = who[np.argsort(-answers[who], kind="stable")]
    share = 100 * answers[who].sum() / answers.sum()
    return {
        "title": f"Check {count(len(who), 'worker')} who are {flag}",
        "text": f"{reason} They gave {share:.2g} % of the answers.",
        "workers": [material.run.workers[int(number)] for number in who[:_MAX_NAMED]],
        "tasks": [],
        "command": "",
    }


def _about_few(material: Material, flags: list[list[str]]) -> Advice | None:
    few = sum("few answers" in words for words in flags)
    if few * 4 < len(flags):
        return None
    return {
        "title": "Assign the same tasks to several workers",
        "text": f"{say_few(few, len(flags))}.",
        "workers": [],
        "tasks": [],
        "command": "",
    }


def _about_gold(material: Material) -> Advice | None:
    known = material.run.n_gold
    if known >= _WANTED_GOLD:
        return None
    return {
        "title": f"Label {_WANTED_GOLD} random tasks",
        "text": (
            "Answers do not show errors that most workers share. Label some tasks yourself, drawn at random: with"
            f" {_WANTED_GOLD} gold labels, error rates have 95 % intervals, and confidences are calibrated"
            f"{f' ({known:,} so far)' if known else ''}."
        ),
        "workers": [],
        "tasks": [],
        "command": _command(material, _gold(material)),
    }
