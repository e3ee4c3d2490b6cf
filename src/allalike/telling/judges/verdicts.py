"""Verdicts: how many there are, how often the panel is right, and what cannot be known without truths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.telling.remark import Remark, percent
from allalike.telling.summary import Summary
from allalike.telling.truths import remark_reading, say_ties

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["remark_limits", "remark_verdicts"]


def remark_verdicts(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say how many verdicts there are, what they are worth, and how often the panel is right."""
    if "accuracy" not in found["panel"]:
        return
    summary = Summary.from_dict(found)
    sure = summary.confidence
    assert sure is not None
    worth = f", worth about {sure.voices_per_task:.2g} voices" if sure.voices_per_task else ""
    yield Remark(
        f"{summary.answers:,} verdicts of {count(summary.workers, 'judge')} on {count(summary.tasks, 'task')}"
        f" ({summary.domain.name})."
    )
    yield Remark(
        f"Panel: {sure.answers_per_task:.3g} verdicts per task{worth}; {summary.changed:,} labels differ from the"
        f" majority vote{say_ties(summary)}."
    )
    yield from remark_reading(summary)
    yield _remark_rightness(summary, found["panel"])
    if summary.abstained is not None:
        yield Remark(
            f"It abstains from {summary.abstained:,} tasks that are less sure than {summary.min_confidence:g}."
        )


def _remark_rightness(summary: Summary, panel: Mapping[str, Any]) -> Remark:
    gold, sure, error = summary.gold, summary.confidence, panel["calibration_error"]
    assert sure is not None
    if gold is None or gold.error is None or gold.unweighted_error is None:
        return Remark(f"It should be right {percent(sure.mean)} of the time.")
    mended = "" if error["mended"] == error["own"] else f", mended by known truths {error['mended']:.3f}"
    others = f"the majority vote on {percent(1 - gold.unweighted_error)}"
    right = percent(1 - gold.error)
    if panel["accuracy_from"] == "gold":
        right, others = percent(panel["accuracy"]), f"without any on {right}, {others}"
    return Remark(
        f"It is right on {right} of {count(gold.tasks, 'task')} with known truths (each decided without its own),"
        f" {others}; its probabilities are {error['own']:.3f} off{mended}."
    )


def remark_limits(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say what cannot be known."""
    if "gold" in (found["panel"].get(name) for name in ("accuracy_from", "worth_from")):
        yield Remark("What is known here is known of tasks like those with known truths.")
    else:
        yield Remark(
            "Without known truths (gold=, 50 or more) nobody can tell errors that all judges share from truth: a panel"
            " of one family agrees with itself, and looks sure."
        )
