"""Asking: how judges were asked, where that is more than once for each task, and what counts as a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping  # noqa: TC003 (a typed dictionary is looked into)
from dataclasses import dataclass
from typing import Any, cast

from allalike._core.options import check_choice
from allalike.errors import OptionError
from allalike.readers import ReadOptions

__all__ = ["ANSWERS", "PLACES", "HowAsked", "JuryOptions", "split_options"]

ANSWERS, PLACES = "answers", "places"
_OWN = ("order", "sample", "about", "tie", "verdicts")


class JuryOptions(ReadOptions, total=False):
    """How verdicts are read: as answers are, and how judges were asked, as `allalike.jury` tells of each option."""

    order: str | None
    sample: str | None
    about: str | None
    tie: Any
    verdicts: Iterable[Any] | None


@dataclass(frozen=True)
class HowAsked:
    """How judges were asked.

    Parameters
    ----------
    order
        The column that tells in which of two orders a pair was shown.
    sample
        The column that tells the samples of one judge on one task apart.
    about
        Whether verdicts name ``answers``, whatever the order, or the ``places`` in which these were shown.
    tie
        The label that means a tie.
    verdicts
        The labels that are verdicts; all others cannot be read. If there are none, all are verdicts.
    """

    order: str | None = None
    sample: str | None = None
    about: str | None = None
    tie: Any = None
    verdicts: tuple[Any, ...] = ()

    @property
    def names(self) -> dict[str, str]:
        """The columns beside judge, task and label."""
        named = {"order": self.order, "sample": self.sample}
        return {role: name for role, name in named.items() if name is not None}

    @property
    def needs_rows(self) -> bool:
        """Whether verdicts are looked at row by row before they count."""
        return bool(self.names or self.verdicts)


def split_options(how: Mapping[str, Any]) -> tuple[HowAsked, ReadOptions]:
    """Return how judges were asked, and the options of reading.

    >>> split_options({"order": "shown", "missing": "drop"})
    (HowAsked(order='shown', sample=None, about=None, tie=None, verdicts=()), {'missing': 'drop'})
    """
    own = {name: how[name] for name in _OWN if how.get(name) is not None}
    if "about" in own:
        check_choice(own["about"], (ANSWERS, PLACES), "about")
        if "order" not in own:
            raise OptionError("about says what verdicts name where pairs were shown in two orders. Name the column.")
    if own.get("order", "") == own.get("sample"):
        raise OptionError(f"order and sample are both {own['order']!r}. Name two columns, or one of them.")
    if "verdicts" in own:
        given = own["verdicts"]
        own["verdicts"] = tuple(each.strip() for each in given.split(",")) if isinstance(given, str) else tuple(given)
    return HowAsked(**own), cast("ReadOptions", {name: value for name, value in how.items() if name not in _OWN})
