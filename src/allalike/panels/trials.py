"""Trials: what smaller panels are worth, each found on one half of the tasks and tried on the other.

The best of many panels looks better than it is, so each half of the tasks, by the hashes of their ids, chooses its
panels, and the **other** half says what they are worth. All tasks say who is in the panel that is taken.

**Search.** Of ten judges and less, all panels are tried. Of more, the next judge is the one who adds most, the first of
equals. The limits of what is lost against the whole panel are those of the mean difference per task (normal, 95 %).

What a verdict is worth depends on the labels, and only has to be a number per task of which more is better:
`allalike.panels.smaller_panels` has that of classes, `allalike.panels.scores` that of all other labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Floats

_MAX_TRIED = 10  # judges of whom all panels are tried
_MAX_SIZE = 20  # judges in a panel; beyond it, the next size is all of them
_NORMAL = 1.959964  # 95 % of a normal distribution
_DIGITS = 9  # beyond which means are equal

Judges = tuple[int, ...]


@dataclass(frozen=True)
class Sizes:
    """What panels of each size are worth, found on one half of the tasks and tried on the other."""

    members: tuple[Judges, ...]
    worth: Floats
    agreement: Floats
    low: Floats
    high: Floats
    whole: float

    def smallest(self, keep: float) -> int:
        """Return the place of the first size that keeps such a share of the worth, or of the last."""
        enough = np.flatnonzero(self.worth >= keep * self.whole * (1 - TOLERANCE))
        return int(enough[0]) if len(enough) else len(self.members) - 1


@dataclass(frozen=True)
class Trials:
    """Panels of some judges, and what their verdicts are worth.

    >>> right = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
    >>> trials = Trials(3, np.arange(4, dtype=np.uint64) << np.uint64(62), lambda who: right[:, who].mean(axis=1))
    >>> trials.find_path(-1)
    ((2,), (0, 2), (0, 1, 2))
    """

    n_judges: int
    task_hash: npt.NDArray[np.uint64]
    value: Callable[[Judges], Floats]
    _means: dict[Judges, Floats] = field(default_factory=dict)

    @cached_property
    def choosers(self) -> list[npt.NDArray[np.bool_]]:
        """The tasks that choose panels: two halves, or all where one half is empty."""
        half = (self.task_hash >> np.uint64(63)).astype(bool)
        return [part for part in (half, ~half) if part.any()]

    @property
    def everybody(self) -> Judges:
        """The panel of all judges."""
        return tuple(range(self.n_judges))

    def mean(self, members: Judges, part: int) -> float:
        """Return what a panel is worth to a half that chooses; the last part is all tasks."""
        if members not in self._means:
            value = self.value(members)
            self._means[members] = np.array([*(value[chooser].mean() for chooser in self.choosers), value.mean()])
        return float(self._means[members][part])

    def best(self, panels: Sequence[Judges], part: int) -> Judges:
        """Return the panel that is worth most to a half, the first of equals."""
        return panels[int(np.argmax(np.round([self.mean(panel, part) for panel in panels], _DIGITS)))]

    def find_path(self, part: int) -> tuple[Judges, ...]:
        """Return the best panel of each size, as a half sees it."""
        n = self.n_judges
        if n <= _MAX_TRIED:
            return tuple(self.best(list(combinations(range(n), size)), part) for size in range(1, n + 1))
        path: list[Judges] = []
        members: Judges = ()
        for _ in range(min(_MAX_SIZE, n - 1)):
            more = [tuple(sorted((*members, each))) for each in range(n) if each not in members]
            members = self.best(more, part)
            path.append(members)
        return (*path, self.everybody)

    def try_out(self, chosen: Sequence[Judges], value: Callable[[Judges], Floats] | None = None) -> Floats:
        """Return, per task, the value of the panel that the other half chose: by default what it is worth."""
        found = np.empty(len(self.task_hash))
        for members, chooser in zip(chosen, self.choosers, strict=True):
            tried = ~chooser if len(self.choosers) > 1 else chooser
            found[tried] = (value or self.value)(members)[tried]
        return found

    def find_sizes(self, whole: Floats, agree: Callable[[Judges], Floats]) -> Sizes:
        """Find what panels of each size are worth, beside the whole panel."""
        members, paths = self.find_path(-1), [self.find_path(part) for part in range(len(self.choosers))]
        rows = []
        for place in range(len(members) - 1):
            chosen = [path[place] for path in paths]
            found = self.try_out(chosen)
            rows.append((found.mean(), self.try_out(chosen, agree).mean(), *find_limits(whole - found)))
        rows.append((whole.mean(), 1.0, 0.0, 0.0))
        kept, agreement, low, high = np.array(rows).T
        return Sizes(members, kept, agreement, low, high, float(whole.mean()))


def find_limits(values: Floats) -> tuple[float, float]:
    """Return the limits of a mean, of 95 %.

    >>> find_limits(np.array([1.0, 1.0]))
    (1.0, 1.0)
    """
    error = _NORMAL * values.std() / np.sqrt(max(len(values), 1))
    return float(values.mean() - error), float(values.mean() + error)
