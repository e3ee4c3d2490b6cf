"""Domain: a kind of label, as the user chooses it.

A domain says how a label is parsed and shown, which distances and rules there are, and which noise it expects. It knows
nothing of the labels at hand: `Domain.learn` looks at them, and returns an `Encoding`. How encoded labels are compared
and aggregated is known to the `Kernels`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from allalike._core.options import Options
from allalike._core.registry import did_you_mean
from allalike.domains.spelling import Spelling
from allalike.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from allalike._core.blocks.block import Array
    from allalike._core.columns.column import Column
    from allalike._core.columns.values import Values
    from allalike.domains.encoding import Encoding
    from allalike.noise import Noise
    from allalike.rules.base import Rule

__all__ = ["Domain"]


@dataclass(frozen=True, kw_only=True)
class Domain(Options, ABC):
    """A kind of label, with the options that the user chose.

    Every domain has a ``rule``, the name of one of its `rules` or a `Rule` of the user's own, and a ``distance``, one
    of its `distances`; the first of each is the default. `numeric` says that a label is one number, `reads_numbers`
    that it is written as one, and `repeats` what becomes of a worker's further answers to a task unless the user says
    it. `compares` says that a comparison of two things is a label.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    rules: ClassVar[tuple[Rule, ...]]
    distances: ClassVar[tuple[str, ...]]
    numeric: ClassVar[bool] = False
    reads_numbers: ClassVar[bool] = False
    repeats: ClassVar[str] = "first"
    compares: ClassVar[bool] = False
    rule: str | Rule = ""
    distance: Any = ""

    def __post_init__(self) -> None:
        """Take the first rule and the first distance unless others are asked for."""
        super().__post_init__()
        if isinstance(self.rule, str):
            self._choose("rule", tuple(rule.name for rule in self.rules))
        if isinstance(self.distance, str):
            self._choose("distance", self.distances)

    def _choose(self, option: str, choices: tuple[str, ...]) -> None:
        chosen = getattr(self, option) or choices[0]
        if chosen not in choices:
            hint = did_you_mean(chosen, choices)
            raise UnknownNameError(
                f"The {self.name} domain has no {option} called {chosen!r}.{hint} It has: {', '.join(choices)}."
            )
        object.__setattr__(self, option, chosen)  # before anybody has seen it

    def choosing(self, choices: Mapping[str, str]) -> Self:
        """Return the domain with another distance or rule; unless a rule was asked for, it is one that fits."""
        fitting = {"rule": ""} if self.rule == self.rules[0].name else {}
        return replace(self, **{**fitting, **choices}) if choices else self

    @abstractmethod
    def learn(self, labels: Column) -> Encoding:
        """Find out what the labels have in common, such as the classes that occur."""

    @property
    @abstractmethod
    def noise(self) -> Noise:
        """The noise that this domain expects."""

    @property
    def n_classes(self) -> int | None:
        """How many classes there are, 0 if that is to be counted, and None where labels are no classes."""
        return None

    @property
    def spelling(self) -> Spelling:
        """What is done with each different label when labels are read: nothing, unless they are classes."""
        return Spelling(strip=False)

    @property
    def recurring(self) -> bool:
        """Whether truths found in two ways can well be the same label: classes, orders, or one of the answers.

        Numbers hardly ever are the same, nor are labels that are put together from parts of the answers.
        """
        return True

    @property
    def parts(self) -> tuple[tuple[str, Domain | None], ...]:
        """The fields of a label, where it has some, each with its kind; a kind that is None is still to be guessed."""
        return ()

    @property
    def field_names(self) -> tuple[str, ...]:
        """The names of the fields of a label, where it has some; they may be columns of a table."""
        return tuple(name for name, _ in self.parts)

    @property
    def is_open(self) -> bool:
        """Whether something of the domain is still to be guessed, when labels are seen."""
        return False

    def close(self, labels: Column, guess: Callable[[Column, Array], Domain]) -> Domain:
        """Return the domain with all that was open; ``guess`` tells the domain of what some rows of the labels hold."""
        return self

    @property
    def spec(self) -> str:
        """How the domain is written where it is named, as after it was guessed."""
        return self.name

    @property
    def power(self) -> int:
        """Which power of a length distances are, where they have no largest value: 2 if they are squares; else 0."""
        return 0

    @property
    def aggregation(self) -> Rule:
        """The rule by which a task's labels become one."""
        chosen = self.rule
        return next(rule for rule in self.rules if rule.name == chosen) if isinstance(chosen, str) else chosen

    @property
    def splits(self) -> bool:
        """Whether one answer may stand for several, which `split` then makes of it."""
        return False

    def split(self, columns: Mapping[str, Column]) -> dict[str, Column]:
        """Return answers of which one stands for several, such as a map with several objects, one by one.

        The columns are task and label, and worker unless these are known truths.
        """
        return dict(columns)

    def export(self, labels: Values, tasks: Values, folder: Path) -> Values:
        """Return labels as they go into a table; those that are files are written to the folder."""
        return labels

    def describe(self) -> dict[str, Any]:
        """Return what a summary says of this domain."""
        return {"name": self.name, "distance": self.distance, "rule": str(self.rule)}
