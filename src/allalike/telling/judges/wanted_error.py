"""Wanted error: the smallest panel that errs no more than is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike.telling.remark import Remark, name_some

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["remark_wanted"]

_N_NAMES = 4


def remark_wanted(found: Mapping[str, Any]) -> Iterator[Remark]:
    """Say who is in the smallest panel that errs no more than is wanted, or that there is none.

    >>> told = {"max_error": 0.1, "reached": True, "members": ["ada", "eve"], "error": 0.08}
    >>> print(next(remark_wanted({"panel": {"accuracy_from": "gold", "wanted": told}})).sentence)
    Smallest panel with an error of at most 0.1: ada, eve. On tasks that did not choose it, it is 0.08.
    >>> none = {"max_error": 0.01, "reached": False, "error": 0.08}
    >>> print(next(remark_wanted({"panel": {"accuracy_from": "gold", "wanted": none}})).sentence)
    No panel has an error of at most 0.01: the best has 0.08 on tasks that did not choose it.
    """
    panel = found["panel"]
    told = panel.get("wanted")
    if told is None:
        return
    known = "gold" in (panel.get("accuracy_from"), panel.get("worth_from"))
    doubt = "" if known else ", as far as the whole panel can tell"
    error = f"{told['error']:.3g}"
    if not told["reached"]:
        yield Remark(
            f"No panel has an error of at most {told['max_error']:g}: the best has {error} on tasks that did not choose"
            f" it{doubt}."
        )
        return
    who = name_some(told["members"], len(told["members"]), _N_NAMES)
    yield Remark(
        f"Smallest panel with an error of at most {told['max_error']:g}: {who}. On tasks that did not choose it, it"
        f" is {error}{doubt}.",
        names=told["members"],
    )
