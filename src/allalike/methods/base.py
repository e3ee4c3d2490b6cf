"""Method: an estimator of worker weights and labels."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.options import Options
from allalike.errors import ConvergenceWarning

if TYPE_CHECKING:
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run
    from allalike.methods.fit import Fit


@dataclass(frozen=True, kw_only=True)
class Method(Options, ABC):
    """A method: an estimator of worker weights and labels, with its options as fields.

    `summary` is one line for lists, and `needs` the label types that it accepts.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    needs: ClassVar[str] = "labels that have a distance"

    def serves(self, labels: Domain | Encoding) -> bool:
        """Return whether the method accepts such labels."""
        return True

    @abstractmethod
    def fit(self, run: Run) -> Fit:
        """Estimate the weights of the workers of a run."""

    def describe(self) -> dict[str, Any]:
        """Return the name of this method and its options, for a summary."""
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"name": self.name, "options": options}


@dataclass(frozen=True, kw_only=True)
class ScreeningMethod(Method):
    """A method that screens the workers for copies first, and learns from gold labels and worker histories."""

    @abstractmethod
    def without_screening(self) -> Method:
        """Return the method without screening: every worker counts, and independently."""

    @abstractmethod
    def without_gold(self) -> Method:
        """Return the method without gold labels, which can then measure its accuracy."""

    @abstractmethod
    def fit_without_gold(self, run: Run) -> Fit:
        """Fit as if there were no gold labels."""


def without_gold(method: Method) -> Method:
    """Return the method without gold labels; most methods do not use any."""
    return method.without_gold() if isinstance(method, ScreeningMethod) else method


def limit_reached(method: Method, fit: Fit) -> ConvergenceWarning | None:
    """Return a warning if the rounds stopped at their limit."""
    return ConvergenceWarning(f"{method.name} {fit.limit_note}.") if fit.limit_note else None
