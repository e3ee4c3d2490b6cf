"""Samples: how steady judges are, and how many samples are enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.telling.remark import Remark, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["remark_samples"]


def remark_samples(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say how often two samples are the same, and how many of them keep nearly all.

    >>> least = {"judge": "gpt", "steadiness": 0.8, "low": 0.75, "high": 0.84}
    >>> told = {"most": 5, "steadiness": 0.9, "least_steady": least, "enough": 2, "keep": 0.99}
    >>> told |= {"right_from": "panel", "panel": {"1": 0.96, "2": 0.99, "5": 1.0}}
    >>> for remark in remark_samples({"panel": {"samples": told}}):
    ...     print(remark.sentence)
    Samples: two of one judge are the same 90 % of the time; of gpt, the least steady, 80 % (75 to 84 %).
    2 of 5 samples per judge keep 99 % of what all say; 1 keeps 96 %.
    """
    told = found["panel"].get("samples")
    if told is None:
        return
    least = told["least_steady"]
    if told.get("unit") == "correlation":
        yield Remark(
            f"Samples: two of one judge on a task correlate by {told['steadiness']:.2f}; those of {least['judge']}, the"
            f" least steady, by {least['steadiness']:.2f} ({least['low']:.2f} to {least['high']:.2f}).",
            names=[least["judge"]],
        )
        yield from _remark_enough(told)
        return
    yield Remark(
        f"Samples: two of one judge are the same {percent(told['steadiness'])} of the time; of {least['judge']}, the"
        f" least steady, {percent(least['steadiness'])} ({100 * least['low']:.0f} to {100 * least['high']:.0f} %).",
        names=[least["judge"]],
    )
    yield from _remark_enough(told)


def _remark_enough(told: Mapping[str, Any]) -> Iterator[Remark]:
    worth = "of what is right with all" if told["right_from"] == "gold" else "of what all say"
    alone, whole = told["panel"]["1"], told["panel"][str(told["most"])]
    one = "" if told["enough"] == 1 or not whole else f"; 1 keeps {percent(alone / whole)}"
    if told["enough"] == told["most"]:
        yield Remark(f"All {count(told['most'], 'sample')} per judge are needed to keep {100 * told['keep']:g} %{one}.")
        return
    verb = "keeps" if told["enough"] == 1 else "keep"
    yield Remark(
        f"{told['enough']:,} of {told['most']:,} samples per judge {verb} {100 * told['keep']:g} % {worth}{one}."
    )
