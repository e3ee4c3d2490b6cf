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
