"""Asking: how judges were asked, where that is more than once for each task, and what counts as a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from allalike._core.options import check_choice
from allalike.errors import OptionError, UnsupportedError
from allalike.panels.drift import Drift
from allalike.panels.rates import Rates
from allalike.panels.verdicts import Earlier, gather_verdicts, keep_verdicts, read_earlier
from allalike.readers import ReadOptions

if TYPE_CHECKING:
    import os

    from allalike.domains import Encoding
    from allalike.engines import Run, TaskTable
    from allalike.panels.finding import Finding, GroupColumn

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
    """How judges were asked."""

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


# Asked: what is found of a panel only if somebody asks, its rate and what changed, and what a later one will need.


DRAWS = ("random", "truth")
_POSITIVE = ("yes", "pass", "true", "1", "correct", "good")


@dataclass(frozen=True)
class Asked:
    """What somebody asks: which labels are good, how truths were drawn, which groups there are, what to compare with.

    >>> Asked.of("yes", "random", None, None).good
    ['yes']
    """

    good: list[Any] | None = None
    picked_by_truth: bool = False
    groups: GroupColumn | None = None
    earlier: Earlier | None = None
    inferred: bool = False

    @classmethod
    def of(cls, good: Any, gold_drawn: str, groups: GroupColumn | None, since: str | os.PathLike[str] | None) -> Self:
        """Check what was asked, and read the earlier panel."""
        listed = None if good is None else _list(good)
        if listed == []:
            raise OptionError("good is empty. Name the label, or labels, of which to find the rate.")
        by_truth = check_choice(gold_drawn, DRAWS, "gold_drawn") == "truth"
        if by_truth and listed is None:
            raise OptionError(
                "gold_drawn is about the rate of what is good, and nothing is: say with good which label."
            )
        return cls(listed, by_truth, groups, None if since is None else read_earlier(since))

    def infer_good(self, run: Run) -> Asked:
        """Ask for the rate of the positive class of two, if nothing was asked for and gold labels can correct it."""
        positive = find_positive(run.encoding) if self.good is None and run.n_gold else None
        return self if positive is None else replace(self, good=[positive], inferred=True)

    def find(self, run: Run, found: TaskTable, n_answers: int) -> tuple[Finding, ...]:
        """Find it, from what the panel says that does not know truths, and keep about so many verdicts."""
        rates = None
        if self.good is not None:
            groups = None if self.groups is None else self.groups.group(found)
            told_by_panel = gather_verdicts(run, found, self.good)
            rates = Rates(self.good, told_by_panel, groups, self.picked_by_truth, inferred=self.inferred)
        told: list[Finding] = [] if rates is None else [rates]
        if run.encoding.offsets is not None:  # so that nobody knows what judges said
            if self.earlier is not None:
                raise UnsupportedError(
                    "since compares scores as they were given: leave out bias, which takes part of"
                    " them away. The panel does so by itself."
                )
            return tuple(told)
        kept = keep_verdicts(run, found, n_answers, self.groups)
        told.insert(0, kept)
        if self.earlier is not None:
            self.earlier.check(run.domain.name)
            judges = [*map(str, run.workers.tolist())]
            rate = None if rates is None else rates.rate
            told.append(Drift(self.earlier, kept, judges, run.encoding, self.good, rate))
        return tuple(told)


def find_positive(encoding: Encoding) -> Any:
    """Return the one of two classes whose name says that it is the positive one, such as yes or pass; else None.

    >>> import allalike
    >>> [find_positive(allalike.read([("ada", 1, x), ("bob", 1, y)], domain="categorical").encoding)
    ...  for x, y in (("n", "y"), ("No", "Yes"))]
    [None, 'Yes']
    """
    if not encoding.nominal or encoding.n_labels != 2:
        return None
    positive = [each for each in encoding.decode(np.arange(2)).tolist() if str(each).strip().casefold() in _POSITIVE]
    return positive[0] if len(positive) == 1 else None


def _list(good: Any) -> list[Any]:
    return list(good) if isinstance(good, Iterable) and not isinstance(good, str) else [good]
