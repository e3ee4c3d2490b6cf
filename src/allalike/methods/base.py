"""Method: a way to turn answers into weights."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.options import Options
from allalike.errors import ConvergenceWarning
from allalike.methods.insight import Insight

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run

Decide = Callable[..., "dict[str, Array]"]


@dataclass(frozen=True)
class Rounds:
    """How many rounds a method took, and whether it ended before it reached its limit.

    >>> Rounds(7).note, Rounds(15, converged=False).note
    ('', 'stopped at its limit of 15 rounds; more may change the weights')
    """

    iterations: int = 1
    converged: bool = True

    @property
    def note(self) -> str:
        """What there is to say of rounds that ended at their limit; nothing of others."""
        stopped = f"stopped at its limit of {self.iterations} rounds; more may change the weights"
        return "" if self.converged else stopped


@dataclass(frozen=True)
class DecisionRule:
    """How a method decides tasks by itself, and not by the rule of the domain."""

    decide: Decide | None = None
    parameters: tuple[Floats, ...] = ()
    probabilities: Decide | None = None
    choices: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Skill:
    """What a method knows of each worker beside her fault."""

    error_rate: Floats | None = None
    confusion: Floats | None = None
    columns: Mapping[str, Floats] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Weighing:
    """What a method found out about the workers, and how it decides a task."""

    disparity: Floats
    fault: Floats
    weight: Floats
    rounds: Rounds = field(default_factory=Rounds)
    decision: DecisionRule = field(default_factory=DecisionRule)
    skill: Skill = field(default_factory=Skill)
    notes: Mapping[str, Any] = field(default_factory=dict)
    insight: Insight = field(default_factory=Insight)

    @property
    def arguments(self) -> tuple[Floats, ...]:
        """What kernels that decide are given: weights, faults and the parameters."""
        return (self.weight, self.fault, *self.decision.parameters)

    def decide_on(self, run: Run) -> Decide:
        """Return the kernel that decides the tasks of a run: the method's own, or the rule of the domain."""
        return self.decision.decide or partial(run.kernels.aggregate, ties=run.ties)


@dataclass(frozen=True, kw_only=True)
class Method(Options, ABC):
    """A method: a way to turn answers into weights, with its options as fields.

    `summary` is one line for lists, and `needs` says in words which labels it serves.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    needs: ClassVar[str] = "labels that have a distance"

    def serves(self, labels: Domain | Encoding) -> bool:
        """Return whether the method can deal with such labels."""
        return True

    @abstractmethod
    def weigh(self, run: Run) -> Weighing:
        """Weigh the workers of a run."""

    def describe(self) -> dict[str, Any]:
        """Return the name of this method and its options, for a summary."""
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"name": self.name, "options": options}


@dataclass(frozen=True, kw_only=True)
class Informed(Method):
    """A method that uses what is known beside the answers: truths, the past of workers, and who copies from whom."""

    @abstractmethod
    def plainly(self) -> Method:
        """Return the method in which everyone speaks for herself."""

    @abstractmethod
    def without_gold(self) -> Method:
        """Return the method as it is where nobody knows a truth, so that gold can tell how good it is."""

    @abstractmethod
    def weigh_blindly(self, run: Run, weighing: Weighing) -> Weighing:
        """Weigh as if no truth were known, beside a weighing that used them."""


def without_gold(method: Method) -> Method:
    """Return the method as it is where nobody knows a truth; most do not ask for any."""
    return method.without_gold() if isinstance(method, Informed) else method


def limit_reached(method: Method, weighing: Weighing) -> ConvergenceWarning | None:
    """Return the warning that is due if the rounds ended at their limit."""
    note = weighing.rounds.note
    return ConvergenceWarning(f"{method.name} {note}.") if note else None
