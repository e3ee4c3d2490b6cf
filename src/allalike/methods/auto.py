"""auto: the default, which weighs a few classes by their confusions and all other labels by shrunken distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from allalike.methods.base import Method, Weighing
from allalike.methods.levels.classes import weigh_classes
from allalike.methods.shrunken import weigh_distances

if TYPE_CHECKING:
    from allalike.engines import Run

__all__ = ["Auto"]

_MAX_CLASSES = 20  # for whose confusions there are answers enough


@dataclass(frozen=True, kw_only=True)
class Auto(Method):
    """The default: confusions and levels of difficulty for a few classes, shrunken faults for all other labels."""

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "the most accurate truths that agreement can tell"

    def weigh(self, run: Run) -> Weighing:
        """Weigh as these labels allow it."""
        few = run.encoding.n_classes is not None and run.encoding.n_labels <= _MAX_CLASSES
        return weigh_classes(run) if few else weigh_distances(run)
