"""Model: a kind of truth, a population of workers, and the noise with which they answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.columns.column import Column
from allalike._core.columns.values import arrow_of
from allalike._core.options import Options
from allalike.noise.populations import Population, as_population, drawn_from

if TYPE_CHECKING:
    import numpy as np

    from allalike._core.blocks.block import Array, Floats
    from allalike.domains import Domain, Encoding

__all__ = ["Model", "Parameters"]

Parameters = dict[str, "Floats"]


@dataclass(frozen=True, kw_only=True)
class Model(Options, ABC):
    """A kind of crowd: it draws truths, workers, and an answer of a worker to a task.

    The parameters of a worker are what her population gives her, such as a standard deviation; her fault is the
    distance to the truth that follows from them. `usual_tasks` is how many tasks are drawn unless asked otherwise, and
    `pictures` tells whether labels are image files.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    usual_tasks: ClassVar[int] = 100
    pictures: ClassVar[bool] = False
    population: Population | str = drawn_from("normal")

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """The kind of label."""

    @property
    def flag(self) -> str:
        """The kind of label, as ``--domain`` takes it."""
        return self.domain.name

    @property
    def size(self) -> int:
        """How many values a label has."""
        return 1

    @property
    def encoding(self) -> Encoding:
        """The encoding of all labels that can be drawn, of which the drawn labels are codes."""
        return self.domain.learn(Column("label", []))

    @abstractmethod
    def truths(self, tasks: int, rng: np.random.Generator) -> Array:
        """Draw the truth of each task."""

    @abstractmethod
    def parameters(self, workers: int, rng: np.random.Generator) -> Parameters:
        """Draw the parameters of each worker."""

    @abstractmethod
    def answers(self, truth: Array, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Draw one answer for each truth, by a worker with these parameters."""

    @abstractmethod
    def faults(self, parameters: Parameters) -> Floats:
        """Return how far from the truth each worker is on average."""

    def column(self, labels: Array) -> Any:
        """Return labels as a table holds them."""
        return arrow_of(labels)

    def draw(self, population: Population | str, workers: int, rng: np.random.Generator) -> Floats:
        """Draw from a population."""
        return as_population(population).draw(workers, rng)
