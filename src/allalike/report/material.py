"""Material: what a report is made of, handed over by the result that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing
    from allalike.telling.summary import Summary

__all__ = ["Agreed", "Columns", "Material"]

Columns = Mapping[str, "Values | Array"]


class Agreed(Protocol):
    """What a report says of how much workers agree; what is not defined is None, and what cannot be known is NaN."""

    @property
    def run(self) -> Run:
        """The answers, where they are."""

    @property
    def alpha(self) -> float:
        """Krippendorff's alpha."""

    @property
    def low(self) -> float:
        """Its lower limit, of 95 %."""

    @property
    def high(self) -> float:
        """Its upper limit, of 95 %."""

    @property
    def ordinal(self) -> tuple[float, float, float]:
        """Krippendorff's ordinal alpha, of levels, and its limits."""

    def coefficients(self, *, pairs: bool = True) -> dict[str, float | None]:
        """Return all coefficients by their names."""


@dataclass(frozen=True, kw_only=True)
class Material:
    """A result in its parts, so that a report need not know who holds them together.

    Parameters
    ----------
    run
        The answers, where they are.
    weighing
        What the method found out about the workers.
    found
        The truths, one row per task.
    summary
        Counts, settings, versions, and what was done and why.
    workers, next_tasks
        The columns of the table of workers, and of that of the first tasks to be asked next.
    agreement, effects
        How much the workers agree, and how much each adds to it; nothing where every task is a problem of its own.
    command
        The words of the command that found it, behind the name of the program; none if it was found in Python.
    panel
        The tables of a panel of judges, by name, if the workers are one.
    scales
        How much the workers of a survey agree on each of its scales.
    quality
        The table of precision, recall and the like of each worker and tag, if there is one.

    >>> import allalike
    >>> material = allalike.discover([("ada", 1, "x"), ("bob", 1, "x")]).material()
    >>> material.workers["worker"].tolist(), material.summary.tasks
    (['ada', 'bob'], 1)
    """

    run: Run
    weighing: Weighing
    found: TaskTable
    summary: Summary
    workers: Columns
    next_tasks: Columns
    agreement: Agreed | None
    effects: Floats | None
    command: tuple[str, ...] = ()
    panel: Mapping[str, Columns] = field(default_factory=dict)
    scales: Mapping[str, Agreed] = field(default_factory=dict)
    quality: Columns = field(default_factory=dict)
