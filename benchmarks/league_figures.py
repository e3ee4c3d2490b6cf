"""What the league measured, and who ranks where."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from allalike import METHODS, Auto

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from allalike import Method

__all__ = ["OURS", "Data", "Figure", "League", "ranks"]

OURS: dict[str, Method] = {"auto": Auto(), "auto --plain": Auto(plain=True)}
OURS |= {name: kind() for name, kind in METHODS.items() if name not in OURS}

_GROUPS = (
    "Two classes",
    "More than two classes",
    "Hundreds of classes",
    "Ratings",
    "Numbers",
    "Forecasts",
    "Rankings",
    "Rankings with ties and gaps",
    "Texts",
    "Boxes, spans and points",
    "Records",
    "Masks, sets and others",
)
_TOLERANCE = 1e-9
_SEVERAL = 100  # more classes than this are free answers rather than classes
_REFERENCE = "OA"  # it knows the truth, and does not compete


@dataclass(frozen=True, kw_only=True)
class Data:
    """Describe a data set: its kind of label, and how many workers, tasks, answers and tasks with gold it has.

    ``alike`` is the rank correlation, over workers, of disparity and distance to gold.
    """

    name: str
    domain: str
    classes: int | None
    workers: int
    tasks: int
    answers: int
    gold: int
    alike: float

    @property
    def group(self) -> str:
        """The title under which it is shown.

        >>> Data(name="a", domain="real", classes=None, workers=3, tasks=2, answers=6, gold=2, alike=1).group
        'Numbers'
        """
        if self.domain == "categorical":
            several = "More than two classes" if (self.classes or 0) <= _SEVERAL else "Hundreds of classes"
            return "Two classes" if self.classes == 2 else several
        titles = {
            "ordinal": "Ratings",
            "real": "Numbers",
            "probability": "Forecasts",
            "ranking": "Rankings",
            "ranking with gaps": "Rankings with ties and gaps",
            "text": "Texts",
            "record": "Records",
            **dict.fromkeys(("boxes", "spans", "points"), "Boxes, spans and points"),
        }
        return titles.get(self.domain, "Masks, sets and others")

    def score(self, error: float) -> str:
        """Write an error as the tables have it: classes as percent right, numbers as the root of the mean square.

        Ratings are so many levels off on average.

        >>> Data(name="a", domain="real", classes=None, workers=3, tasks=2, answers=6, gold=2, alike=1).score(2.25)
        '1.50'
        """
        if self.domain == "categorical":
            return f"{100 * (1 - error):.1f}"
        if self.domain == "ordinal":
            return f"{error * max((self.classes or 1) - 1, 1):.3f}"
        if self.domain == "real":
            root = math.sqrt(error)
            return f"{root:.{max(0, 2 - math.floor(math.log10(root)))}f}" if root else "0"
        return f"{error:.3f}"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Hold how far from gold a method was on a data set, and how long it took; or why it could not.

    ``calibration`` is the expected calibration error of its confidences, of classes.
    """

    data: str
    method: str
    error: float | None = None
    seconds: float = 0.0
    calibration: float | None = None
    failure: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether the method is one of this library."""
        return self.method in OURS


@dataclass(frozen=True, kw_only=True)
class League:
    """Hold all figures.

    Parameters
    ----------
    data, figures
        The data sets, and what each method did on them.
    again
        Other readings of these data, which are left out, and why.
    missing
        Data sets that are not here.
    limit, seeds
        How many CPU seconds a method had, and how many draws of ties.
    """

    data: Sequence[Data]
    figures: Sequence[Figure]
    again: Mapping[str, str]
    missing: Sequence[str]
    limit: float
    seeds: int

    @cached_property
    def groups(self) -> dict[str, list[Data]]:
        """The data sets by the title under which they are shown."""
        found = {title: [one for one in self.data if one.group == title] for title in _GROUPS}
        return {title: data for title, data in found.items() if data}

    @cached_property
    def by_name(self) -> dict[tuple[str, str], Figure]:
        """The figures by data set and method."""
        return {(figure.data, figure.method): figure for figure in self.figures}

    def error(self, data: Data, method: str) -> float | None:
        """Return an error, if there is one."""
        figure = self.by_name.get((data.name, method))
        return figure.error if figure else None

    def calibration(self, data: Data, method: str) -> float | None:
        """Return an expected calibration error, if there is one."""
        figure = self.by_name.get((data.name, method))
        return figure.calibration if figure else None

    def methods(self, data: Iterable[Data], *, ours: bool) -> list[str]:
        """Return who played on any of these data."""
        names = {one.name for one in data}
        played = [figure.method for figure in self.figures if figure.data in names and figure.is_ours == ours]
        return [*dict.fromkeys(played)]

    def competing(self, data: Sequence[Data], *, theirs: bool) -> list[str]:
        """Return who can be ranked: who has an error on all of these data, and does not know the truth."""
        every = self.methods(data, ours=True) + (self.methods(data, ours=False) if theirs else [])
        return [one for one in every if one != _REFERENCE and all(self.error(d, one) is not None for d in data)]

    def mean_ranks(self, data: Sequence[Data], *, theirs: bool) -> dict[str, float]:
        """Return the average rank of each who can be ranked, best first."""
        names = self.competing(data, theirs=theirs)
        each = [ranks([self.error(one, name) or 0.0 for name in names]) for one in data]
        average = dict(zip(names, np.mean(each, axis=0).tolist(), strict=True))
        return dict(sorted(average.items(), key=lambda pair: pair[1]))

    def best(self, data: Data) -> set[str]:
        """Return who has the smallest error, of those who do not know the truth."""
        played = [f for f in self.figures if f.data == data.name and f.error is not None and f.method != _REFERENCE]
        place = ranks([figure.error or 0.0 for figure in played])
        return {figure.method for figure, rank in zip(played, place, strict=True) if rank == place.min()}

    def seconds(self, data: Iterable[Data], method: str) -> float:
        """Add up the CPU seconds of a method on these data."""
        return sum(self.by_name[one.name, method].seconds for one in data if (one.name, method) in self.by_name)


def ranks(errors: Sequence[float]) -> npt.NDArray[np.float64]:
    """Rank errors, the smallest first; those that hardly differ share the average of their places.

    >>> ranks([0.5, 0.25, 0.5 + 1e-12, 0.75])
    array([2.5, 1. , 2.5, 4. ])
    """
    from scipy import stats

    order = np.argsort(errors, kind="stable")
    ordered = np.asarray(errors)[order]
    steps = np.diff(ordered) > _TOLERANCE * np.maximum(1.0, np.abs(ordered[1:]))
    level = np.empty(len(order))
    level[order] = np.concatenate([[0], np.cumsum(steps)])
    place: npt.NDArray[np.float64] = stats.rankdata(level)
    return place
