"""Method: a way to turn answers into weights."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.options import Options
from allalike.errors import ConvergenceWarning

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike.domains import Domain, Encoding
    from allalike.engines import News, Run
    from allalike.methods.insight import Faults, Signal, VoiceGroups

__all__ = ["Decide", "Method", "Weighing"]

Decide = Callable[..., "dict[str, Array]"]


@dataclass(frozen=True, kw_only=True)
class Weighing:
    """What a method found out about the workers, and how it decides a task.

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
        The kernel that finds the truths of a block from weights, faults and the parameters; without it, the domain's
        rule.
    parameters
        What `decide` needs beside weights and faults, with one row per worker.
    probabilities
        The kernel that returns how probable each class is, per task, from the same arrays, where the method knows.
    error_rate
        How often each worker errs, where the method knows.
    confusion
        Of each worker, how probably she gives each label (a row) to a task of each class (a column), where it knows.
    signal
        How much each worker's answers say about the tasks, where that was looked at.
    groups
        Who speaks with one voice, and who has none, where that was looked at.
    screening
        What else the method saw before it weighed anybody, for `Method.weigh_blindly`.
    trust
        How sure the faults are, where the method asks for it.
    confidence
        How it was found how sure truths are, where that is a probability.
    expect
        What returns how often truths are expected to be right if there were only the answers of another run, some of
        the same; where that is known.
    columns
        What else the table of workers says of each; by default what the domain has to say.
    notes, choices
        What was done and why, for the summary, and what was chosen for the rule by which tasks are decided.
    state
        What the method itself needs in order to `Method.go_on` from here.
    """

    disparity: Floats
    fault: Floats
    weight: Floats
    iterations: int = 1
    converged: bool = True
    decide: Decide | None = None
    parameters: tuple[Floats, ...] = ()
    probabilities: Decide | None = None
    error_rate: Floats | None = None
    confusion: Floats | None = None
    signal: Signal | None = None
    groups: VoiceGroups | None = None
    screening: Any = None
    trust: Faults | None = None
    confidence: Mapping[str, Any] | None = None
    expect: Callable[[Run], float] | None = None
    columns: Mapping[str, Floats] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, Any] = field(default_factory=dict)
    state: Any = None


@dataclass(frozen=True, kw_only=True)
class Method(Options, ABC):
    """A method: a way to turn answers into weights, with its options as fields.

    `summary` is one line for lists, `needs` says in words which labels it serves, and `uses_history`
    whether it uses what is known of workers from earlier answers.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    needs: ClassVar[str] = "labels that have a distance"
    uses_history: ClassVar[bool] = False

    def serves(self, labels: Domain | Encoding) -> bool:
        """Tell whether the method can deal with such labels."""
        return True

    @abstractmethod
    def weigh(self, run: Run) -> Weighing:
        """Weigh the workers of a run."""

    def go_on(self, run: Run, earlier: Weighing, news: News) -> Weighing:
        """Weigh the workers of a run to which answers were added, given what was found before and what is new.

        A method that learns from each task once looks at the new ones only; all others start over.
        """
        return self.weigh(run)

    def weigh_blindly(self, run: Run, weighing: Weighing) -> Weighing:
        """Weigh as if no truth were known, beside a weighing that used them; `without_gold` says how."""
        return self.without_gold().weigh(run)

    def without_gold(self) -> Method:
        """Return the method as it is where nobody knows a truth, so that gold can tell how good it is."""
        return self

    def plainly(self) -> Method:
        """Return the method as published, in which everyone speaks for herself; only auto knows more."""
        return self

    def limit_reached(self, weighing: Weighing) -> ConvergenceWarning | None:
        """Return the warning that is due if the rounds ended at their limit."""
        if weighing.converged:
            return None
        return ConvergenceWarning(
            f"{self.name} stopped at its limit of {weighing.iterations} rounds; more may change the weights."
        )

    def describe(self) -> dict[str, Any]:
        """Return the name of this method and its options, for a summary."""
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"name": self.name, "options": options}
