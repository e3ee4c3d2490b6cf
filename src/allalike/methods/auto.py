"""auto: the truths that agreement can best tell, and never worse than a vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from allalike.methods.base import Method, Weighing
from allalike.methods.levels.classes import weigh_classes

if TYPE_CHECKING:
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run

__all__ = ["Auto"]


@dataclass(frozen=True, kw_only=True)
class Auto(Method):
    """auto."""

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "the most accurate truths that agreement can tell"
    needs: ClassVar[str] = "classes"

    def serves(self, labels: Domain | Encoding) -> bool:
        """Ask for classes."""
        return labels.n_classes is not None

    def weigh(self, run: Run) -> Weighing:
        """Weigh."""
        return weigh_classes(run)
