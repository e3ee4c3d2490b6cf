"""auto: the truths that agreement can best tell, and never worse than a vote."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from allalike.methods.base import Method, Weighing
from allalike.methods.levels.classes import weigh_classes
from allalike.methods.unweighted import UA
from allalike.options import flag, whole

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

    sample_answers: int = whole(200_000, least=1)
    use_gold: bool = flag(True)

    def weigh(self, run: Run) -> Weighing:
        """Weigh."""
        if run.encoding.n_labels < 2:
            return UA().weigh(run)
        return weigh_classes(run, sample_answers=self.sample_answers, use_gold=self.use_gold)

    def without_gold(self) -> Auto:
        """Return the method that chooses between readings by agreement alone."""
        return replace(self, use_gold=False)
