"""Base classes of methods for estimating worker weights and labels."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from allalike._core.options import Options
from allalike.domains import Domain, Encoding
from allalike.engines import Run
from allalike.errors import ConvergenceWarning
from allalike.methods.fit import Fit


@dataclass(frozen=True, kw_only=True)
class Method(Options, ABC):
    """An estimator of worker weights and labels; its fields are its options.

    `summary` is a one-line description for lists, and `needs` describes the label types that the method accepts.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    needs: ClassVar[str] = "labels that have a distance"

    def serves(self, labels: Domain | Encoding) -> bool:
        """Return whether the method accepts this label type."""
        return True

    @abstractmethod
    def fit(self, run: Run) -> Fit:
        """Estimate the weights of the workers of a run."""

    def describe(self) -> dict[str, Any]:
        """Return the name and the options of this method, for the summary."""
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"name": self.name, "options": options}


@dataclass(frozen=True, kw_only=True)
class ScreeningMethod(Method):
    """A method that screens workers for copies, and learns from gold labels and worker histories."""

    @abstractmethod
    def without_screening(self) -> Method:
        """Return the method without screening, so that all workers count as independent."""

    @abstractmethod
    def without_gold(self) -> Method:
        """Return the method without gold labels, so that gold labels can measure its accuracy."""

    @abstractmethod
    def fit_without_gold(self, run: Run) -> Fit:
        """Estimate the weights without gold labels."""


def without_gold(method: Method) -> Method:
    """Return the method without gold labels; most methods never use them."""
    return method.without_gold() if isinstance(method, ScreeningMethod) else method


def limit_reached(method: Method, fit: Fit) -> ConvergenceWarning | None:
    """Return a warning if the rounds stopped at their maximum number, and None otherwise."""
    return ConvergenceWarning(f"{method.name} {fit.limit_note}.") if fit.limit_note else None
