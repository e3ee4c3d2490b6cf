"""Smaller panels of scores: how far the panel is from the truth, who is needed, and what that saves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.telling.remark import Remark, name_some
from allalike.telling.summary import Summary
from allalike.telling.truths import remark_reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["remark_scores", "remark_smallest_scores"]

_N_NAMES = 4
_UNITS = {"rmse": "RMSE", "distance": "mean distance"}
_ARTICLES = {"rmse": "an", "distance": "a"}


def remark_scores(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say how many scores there are, and how far from the truth the panel is."""
    panel = found["panel"]
    if "worth" not in panel:
        return
    summary = Summary.from_dict(found)
    yield Remark(
        f"{summary.answers:,} verdicts of {count(summary.workers, 'judge')} on {count(summary.tasks, 'task')}"
        f" ({summary.domain.name}), {summary.answers / summary.tasks:.3g} per task."
    )
    yield from remark_reading(summary)
    unit, gold = _UNITS[panel["error_unit"]], summary.gold
    if gold is not None and gold.error is not None and gold.unweighted_error is not None:
        read = math.sqrt if panel["error_unit"] == "rmse" else float
        yield Remark(
            f"Its {unit} to the truth is {read(gold.error):.3g} on {count(gold.tasks, 'task')} with known truths,"
            f" {read(gold.unweighted_error):.3g} if everyone counts the same, {panel['guess_error']:.3g} between two"
            " tasks."
        )
    elif panel["error"] is not None:
        yield Remark(
            f"Its {unit} to the truth should be about {panel['error']:.3g}; between two tasks it is"
            f" {panel['guess_error']:.3g}."
        )


def remark_smallest_scores(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say who is in the smallest panel that keeps nearly all, how far it is from the truth, and what it costs."""
    panel = found["panel"]
    if "worth" not in panel:
        return
    told, everybody, unit = panel["smallest"], found["workers"], panel["error_unit"]
    what = f"Smallest panel that keeps {100 * told['keep']:g} %"
    if told["size"] == everybody:
        yield Remark(f"{what}: all of them.")
    else:
        to = "the whole panel" if panel["error"] is None else f"the truth, all of them {panel['error']:.3g}"
        yield Remark(
            f"{what}: {told['size']:,} of {everybody:,}: {name_some(told['members'], told['size'], _N_NAMES)}. On tasks"
            f" that did not choose them, such panels have {_ARTICLES[unit]} {_UNITS[unit]} of {told['error']:.3g} to"
            f" {to}.",
            names=told["members"],
        )
    if "cost" in panel:
        few = f"; the smallest panel {panel['cost']['smallest']:,.6g}" if told["size"] < everybody else ""
        yield Remark(f"Cost: all judges {panel['cost']['panel']:,.6g}{few}.")
