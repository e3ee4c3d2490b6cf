"""The interface of aggregation rules."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, Ties


@dataclass(frozen=True)
class Decision:
    """Per task: the label, its confidence and standard error, whether it was chosen at random, and further results."""

    label: Array
    confidence: Floats
    error: Floats
    tied: Array
    more: Mapping[str, Array] = field(default_factory=dict)

    def columns(self) -> dict[str, Array]:
        """Return all results by name."""
        return {"label": self.label, "confidence": self.confidence, "error": self.error, "tied": self.tied, **self.more}


@dataclass(frozen=True)
class Rule:
    """An aggregation rule: ``decide(block, weights, faults, ties)`` returns prepared labels."""

    name: str
    decide: Callable[[Block, Floats, Floats, Ties], Decision]

    def __str__(self) -> str:
        return self.name

    @property
    def summary(self) -> str:
        """A description of the rule in one line."""
        return (self.decide.__doc__ or "").splitlines()[0]


def find_rule(rules: Sequence[Rule], chosen: str | Rule) -> Rule:
    """Return the rule with this name, or a custom rule unchanged."""
    return next(rule for rule in rules if rule.name == chosen) if isinstance(chosen, str) else chosen


def unknown(n_tasks: int) -> Floats:
    """Return NaN for each task."""
    return np.full(n_tasks, np.nan)


def split_by_task(parts: Sequence[object], task: Array, n_tasks: int) -> npt.NDArray[np.object_]:
    """Collect the parts of each task, which are sorted by task, in a tuple.

    >>> split_by_task(["a", "b", "c"], np.array([0, 2, 2]), 3)
    array([('a',), (), ('b', 'c')], dtype=object)
    """
    ends = np.cumsum(np.bincount(task, minlength=n_tasks)).tolist()
    labels = np.empty(n_tasks, object)
    for number, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
        labels[number] = tuple(parts[begin:end])
    return labels
