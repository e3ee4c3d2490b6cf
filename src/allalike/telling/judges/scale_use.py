"""Scale use: who scores higher than the others, and whether that was taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike.telling.remark import Remark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["remark_scale_use", "remark_shared_offset"]

_N_NAMED = 2


def remark_scale_use(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say who uses the scale in another way than the others, and what was done about it.

    >>> eve = {"judge": "eve", "offset": 1.5, "low": 1.2, "high": 1.8}
    >>> told = {"corrected": ["offsets"], "can_correct": True, "offsets": [eve]}
    >>> for remark in remark_scale_use({"panel": {"scale_use": told}}):
    ...     print(remark.sentence)
    Scale use: eve scores 1.5 higher than the others (1.2 to 1.8). Offsets were taken away before the panel decided.
    >>> told = {"corrected": [], "can_correct": True, "offsets": []}
    >>> [remark.sentence for remark in remark_scale_use({"panel": {"scale_use": told}})]
    ['Scale use: no judge clearly scores higher or lower than the others, and scores stay as they are.']
    """
    told = found["panel"].get("scale_use")
    if told is None:
        return
    named = told["offsets"][:_N_NAMED]
    if not named:
        yield Remark(f"Scale use: no judge clearly scores higher or lower than the others{_say_plain(told)}.")
        return
    yield Remark(
        f"Scale use: {'; '.join(_say_offsets(told['offsets']))}.{_say_correction(told)}",
        names=[each["judge"] for each in named],
    )


def remark_shared_offset(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say what all judges share, and was taken away.

    >>> told = {"known": 60, "offset": 0.5, "low": 0.4, "high": 0.6, "slope": 1.0, "before": 0.61, "after": 0.36}
    >>> for remark in remark_shared_offset({"panel": {"shared_offset": told}}):
    ...     print(remark.sentence)
    The panel is 0.5 above 60 known truths (0.4 to 0.6), which was taken away from all scores: truths that did not tell
    it are 0.36 from the panel instead of 0.61.
    """
    told = found["panel"].get("shared_offset")
    if told is None:
        return
    way, (low, high) = ("above", "below")[told["offset"] < 0], sorted([told["low"], told["high"]], key=abs)
    line = "" if told["slope"] == 1 else f", and its differences are stretched by {told['slope']:.3g}"
    yield Remark(
        f"The panel is {abs(told['offset']):.3g} {way} {told['known']:,} known truths ({_unsigned(low, told)} to"
        f" {_unsigned(high, told)}), which was taken away from all scores{line}: truths that did not tell it are"
        f" {told['after']:.3g} from the panel instead of {told['before']:.3g}."
    )


def _unsigned(limit: float, told: Mapping[str, Any]) -> str:
    """Write a limit in the direction of the offset."""
    return f"{-limit if told['offset'] < 0 else limit:.3g}"


def _say_plain(told: Mapping[str, Any]) -> str:
    return "" if told["corrected"] else ", and scores stay as they are"


def _say_offsets(named: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in named[:_N_NAMED]:
        low, high = sorted(abs(each[end]) for end in ("low", "high"))
        way = "higher" if each["offset"] > 0 else "lower"
        yield f"{each['judge']} scores {abs(each['offset']):.3g} {way} than the others ({low:.3g} to {high:.3g})"
    if len(named) > _N_NAMED:
        yield f"and {len(named) - _N_NAMED:,} more"


def _say_correction(told: Mapping[str, Any]) -> str:
    if told["corrected"]:
        return " Offsets were taken away before the panel decided."
    if told["can_correct"]:
        return " Scores stay as they are, for judges predict each other no better without it."
    return ""
