"""Method: a way to turn answers into weights."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike.blocks import Array, Block, Floats
    from allalike.domains import Domain
    from allalike.engines import Run

__all__ = ["Method", "Weighing"]


@dataclass(frozen=True, kw_only=True)
class Weighing:
    """Hold what a method found out about the workers, and how it decides a task.

    Parameters
    ----------
    disparity
        Each worker's unweighted average distance to the others.
    fault
        The method's estimate of her distance to the truth.
    weight
        How much she counts; the weights of a crowd sum to 1.
    iterations, converged
        How many rounds it took, and whether it would have gone on.
    decide
        The kernel that finds the truths of a block from weights and faults; without it, the domain's rule.
    """

    disparity: Floats
    fault: Floats
    weight: Floats
    iterations: int = 1
    converged: bool = True
    decide: Callable[[Block, Floats, Floats], dict[str, Array]] | None = None


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """Be a way to turn answers into weights."""

    name: ClassVar[str]
    summary: ClassVar[str]

    def serves(self, domain: Domain) -> bool:
        """Tell whether the method can deal with such labels."""
        return True

    @abstractmethod
    def weigh(self, run: Run) -> Weighing:
        """Weigh the workers of a run."""

    def describe(self) -> dict[str, Any]:
        """Say in a summary what this method is, with its options."""
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"name": self.name, "options": options}
