"""Shown: what answers look like at a prompt, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.columns.objects import shorten
from allalike._core.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["say_columns", "say_left_out", "show_answers"]

_LEFT_OUT = {
    "missing_dropped": ("Dropped", "row", "without a label"),
    "abstained_dropped": ("Left out", "row", "with a label for 'no answer'"),
    "repeats_added": ("Added up", "further answer", "of a worker to a task"),
    "repeats_set_aside": ("Set aside", "repeated answer", "of a worker to a task"),
}


def show_answers(
    counts: str, rows: Iterable[tuple[Any, Any, Any]], columns: Mapping[str, str], notes: Mapping[str, Any]
) -> str:
    """Say how many answers there are, show some of them, and say what was recognised and left out.

    >>> print(show_answers("2 answers", [("ada", 7, "x")], {"worker": "who"}, {"missing_dropped": 3}))
    Answers: 2 answers.
    Columns: 'who' is the worker.
      worker 'ada', task 7: 'x'
    Dropped 3 rows without a label.
    """
    guessed = {option: value for option, value in notes.get("guessed", {}).items() if option != "columns"}
    columns = {**notes.get("guessed", {}).get("columns", {}), **columns}
    found = ", ".join(f"{option} {value!r}" for option, value in guessed.items())
    lines = [
        f"Answers: {counts}.",
        *([f"Columns: {say_columns(columns)}."] if columns else []),
        *(f"  worker {shorten(worker)}, task {shorten(task)}: {shorten(label)}" for worker, task, label in rows),
        *([f"Recognised: {found}."] if found else []),
        *(say_left_out(what, notes[what]) for what in _LEFT_OUT if notes.get(what)),
        *notes.get("remarks", ()),
    ]
    return "\n".join(lines)


def say_left_out(what: str, number: int) -> str:
    """Say how many rows or answers were dealt with in a way that has a name.

    >>> say_left_out("missing_dropped", 1), say_left_out("repeats_set_aside", 20)
    ('Dropped 1 row without a label.', 'Set aside 20 repeated answers of a worker to a task.')
    """
    done, noun, which = _LEFT_OUT[what]
    return f"{done} {count(number, noun)} {which}."


def say_columns(columns: Mapping[str, str]) -> str:
    """Say which column is which.

    >>> say_columns({"worker": "who", "label": "said"})
    "'who' is the worker, 'said' is the label"
    """
    return ", ".join(f"{name!r} is the {role}" for role, name in columns.items())
