"""Answers: what was recognised in them, what was left out, and what looks strange."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike._core.words import count
from allalike.answers.answers import say_columns, say_left_out
from allalike.telling.remark import Remark, share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allalike.telling.summary import LabelKind, Summary

NUMBERS = "The labels are"  # so a warning begins that says what the kind of label says, too
_SAID_OTHERWISE = ("columns", "layout", "domain", "engine", "missing")
_KINDS = {
    "real": "numbers: a truth is a mean; for a vote: domain='categorical'.",
    "date": "dates: a truth is a mean; for a vote: domain='categorical'.",
    "ordinal": (
        "levels of a scale, for answers to a task are near each other: a truth is a median; for a vote:"
        " domain='categorical', for a mean: domain='real'."
    ),
}
_WRITTEN = {
    "real": "numbers, as written: a truth is a mean; for a vote: domain='categorical'.",
    "date": "dates, as written: a truth is a mean; for a vote: domain='categorical'.",
    "ordinal": "levels of a scale in words: a truth is a median; for a vote: domain='categorical'.",
    "set": "sets of items; for a vote on whole labels: domain='categorical'.",
    "ranking": "rankings of items, best first; for a vote on whole labels: domain='categorical'.",
}  # where the way in which labels are written told the kind
_PLURALS = {
    **{name: f"{name}s" for name in ("set", "ranking", "text", "record", "vector", "interval", "place")},
    "probability": "probabilities",
    "bitmap": "masks",
}
_CLASSES = "classes, though they are numbers: a truth is a vote; for a mean: domain='real'."
_RATINGS = " If they are ratings, their order is not used; it is with domain='ordinal'."


def remark_answers(summary: Summary) -> list[Remark]:
    """Say what was recognised, and what was set aside.

    >>> from allalike.telling.summary import Summary
    >>> found = {"answers": 2, "workers": 1, "tasks": 2, "domain": {"name": "real"}, "guessed": {"encoding": "cp1252"}}
    >>> remark_answers(Summary.from_dict({**found, "repeats_set_aside": 3}))[0]
    Remark(sentence='Recognised: encoding cp1252.', option='encoding', value='cp1252', names=(), words=())
    """
    return [*_recognised(summary), *_quorum(summary.domain), *_left_out(summary)]


def remark_doubts(summary: Summary) -> list[Remark]:
    """Say what looks strange, but for what `remark_answers` says of numbers."""
    return [Remark(said) for said in summary.warnings if not said.startswith(NUMBERS)]


def list_notes(summary: Summary) -> list[Remark]:
    """Say what was left out, what a reader remarked, and what looks strange."""
    return [*_left_out(summary), *map(Remark, summary.remarks), *map(Remark, summary.warnings)]


def _recognised(summary: Summary) -> Iterator[Remark]:
    guessed = summary.guessed
    if columns := guessed.get("columns"):
        yield Remark(f"Recognised: {say_columns(columns)}.", "columns", columns)
    for option, value in guessed.items():
        if option not in _SAID_OTHERWISE:
            yield Remark(f"Recognised: {_describe(option, str(value))}.", option, value)
    if layout := guessed.get("layout"):
        yield _lie(layout)
    if name := guessed.get("domain"):
        yield _name_kind(name, summary.domain.numbers)
    if engine := guessed.get("engine"):
        yield Remark(
            "Note: the files are larger than half of the free memory, so the answers are kept on disk"
            f" (engine='{engine}'; engine='memory' overrides)."
        )


def _describe(option: str, value: str) -> str:
    """Say what was found out about a file.

    >>> _describe("encoding", "cp1252"), _describe("wide", "tasks"), _describe("tool", "toloka")
    ('encoding cp1252', 'a matrix, one row per task', 'an export of Toloka')
    """
    from allalike.readers.tools import TOOLS

    if option == "tool":
        return f"an export of {TOOLS[value].title if value in TOOLS else value}"
    if option == "wide":
        return f"a matrix, one row per {value.removesuffix('s')}"
    if option == "repeats":
        return "several rows are one answer"
    return f"{option.replace('_', ' ')} {value}"


def _lie(layout: str) -> Remark:
    """Say how masks lie in a folder.

    >>> _lie("tasks/workers").sentence, _lie("manifest.csv").sentence
    ('Recognised: masks lie as tasks/workers.', 'Read: the masks that manifest.csv names.')
    """
    if "/" not in layout:
        return Remark(f"Read: the masks that {layout} names.")
    return Remark(f"Recognised: masks lie as {layout}.", "layout", layout)


def _name_kind(name: str, numbers: str) -> Remark:
    """Say which kind of label was recognised, and what that means where labels are numbers, or written in a form.

    >>> _name_kind('set(separator=";")', "").sentence
    "Recognised: the labels are sets of items; for a vote on whole labels: domain='categorical'."
    """
    if name in _KINDS:
        return Remark(f"Recognised: the labels are {_KINDS[name]}")
    if name == "categorical" and numbers:
        return Remark(f"Recognised: the labels are {_CLASSES}{_RATINGS if numbers == 'in a row' else ''}")
    if "(" in name and (written := _WRITTEN.get(name.partition("(")[0])):
        return Remark(f"Recognised: the labels are {written}", "domain", name)
    return Remark(f"Recognised: the labels are {_PLURALS.get(name, name)}.", "domain", name)


def _quorum(domain: LabelKind) -> list[Remark]:
    """Say which quorum was chosen; the summary has how good each was.

    >>> from allalike.telling.summary import LabelKind
    >>> _quorum(LabelKind(name="boxes", quorum=0.4, quorum_curve={"0.40": 0.71428, "0.45": 0.6}))[0].sentence
    "quorum: 0.40 (chosen; fixed with domain='boxes(quorum=0.5)')."
    """
    if domain.quorum_curve is None:
        return []
    radius = f"radius={domain.radius:g}, " if domain.radius else ""
    return [Remark(f"quorum: {domain.quorum:.2f} (chosen; fixed with domain='{domain.name}({radius}quorum=0.5)').")]


def _left_out(summary: Summary) -> Iterator[Remark]:
    if summary.missing_dropped:
        yield Remark(say_left_out("missing_dropped", summary.missing_dropped), "missing", "drop")
    if summary.abstained_dropped:
        yield Remark(say_left_out("abstained_dropped", summary.abstained_dropped), "abstain")
    if unparsed := summary.unparsed:
        part = f"{count(unparsed.labels, 'label')} ({share(unparsed.labels, unparsed.of)})"
        yield Remark(f"Left out {part} in which no answer was found, such as {unparsed.example!r}.")
    for what, number, word in (
        ("repeats_added", summary.repeats_added, "how"),
        ("repeats_set_aside", summary.repeats_set_aside, "which"),
    ):
        if number:
            yield Remark(f"{say_left_out(what, number).removesuffix('.')} (repeats= says {word}).")
