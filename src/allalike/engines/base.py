"""Engine: where kernels run. An engine loads answers and gives a run, on which methods sum kernels over all blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.progress import report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from allalike.answers import Answers
    from allalike.blocks import Array, Block, Floats, Kernel
    from allalike.crowds import Crowds
    from allalike.domains import Domain
    from allalike.ties import Ties
    from allalike.values import Values

__all__ = ["Engine", "Run"]


class Engine(ABC):
    """Load answers."""

    name: ClassVar[str]

    @abstractmethod
    def load(self, answers: Answers, ties: Ties) -> Run:
        """Cut the answers into blocks, and prepare these."""


class Run(ABC):
    """Apply kernels to all blocks. This is all that a method sees of the answers."""

    workers: Values
    domain: Domain
    crowds: Crowds
    ties: Ties

    @abstractmethod
    def sum(self, kernel: Kernel, *params: Floats) -> dict[str, Floats]:
        """Add up the named arrays of ``kernel(block, *params)``, which have one row per worker.

        Each parameter has one row per worker too, and a kernel gets the rows of the block's workers.
        """

    @abstractmethod
    def pairs(self, kernel: Kernel) -> dict[str, Any]:
        """Add up the named sparse matrices of ``kernel(block)``, which have a row and a column per worker."""

    @abstractmethod
    def collect(self, kernel: Kernel, *params: Floats) -> dict[str, Array]:
        """Join the named arrays of ``kernel(block, *params)``, which have one row per task, in the order of tasks."""

    @abstractmethod
    def map(self, change: Callable[[Block], Block]) -> Run:
        """Return a run over changed blocks, for a method that needs something of its own in every round."""

    def rounds(self, limit: int) -> Iterator[int]:
        """Count the rounds of a method, and report them."""
        for number in range(1, limit + 1):
            report("round", number, limit)
            yield number
