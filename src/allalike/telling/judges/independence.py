"""Independence: how many voices the judges are worth, and the truths that nobody gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike._core.words import count
from allalike.telling.remark import Remark, share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["remark_independence"]


def remark_independence(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say what all judges are worth together, who adds most and least, and where no panel can be right.

    >>> panel = {"voices": {"all": 2.4, "most": "eve", "least": "bob"}, "ceiling": {"known": 200, "missed": 8}}
    >>> for remark in remark_independence({"workers": 6, "panel": panel}):
    ...     print(remark.sentence)
    Independent voices: 6 judges count like 2.4, by known truths; eve errs most on its own, bob least.
    Ceiling: no judge reaches 8 of 200 known truths (4.0 %), and no panel of them does.
    """
    voices, ceiling = (found["panel"].get(name) for name in ("voices", "ceiling"))
    if voices and voices["all"] is not None:
        who = f"; {voices['most']} errs most on its own, {voices['least']} least" if "most" in voices else ""
        yield Remark(
            f"Independent voices: {count(found['workers'], 'judge')} count like {voices['all']:.2g}, by known"
            f" truths{who}.",
            names=[voices[name] for name in ("most", "least") if name in voices],
        )
    if ceiling and ceiling["missed"]:
        known, missed = ceiling["known"], ceiling["missed"]
        yield Remark(
            f"Ceiling: no judge reaches {missed:,} of {known:,} known truths ({share(missed, known)}), and no panel of"
            " them does."
        )
