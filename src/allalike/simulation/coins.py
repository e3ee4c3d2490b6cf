"""Classes that workers mistake for each other, with one probability or with two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike._core.columns.values import arrow_of
from allalike._core.options import check_choice, share, whole
from allalike.domains import Categorical, Domain, Encoding
from allalike.noise import OneCoin, Population, TwoCoin
from allalike.noise.base import check_within
from allalike.noise.populations import drawn_from
from allalike.simulation.base import Model, Parameters

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats

__all__ = ["OneCoinModel", "TwoCoinModel"]


@dataclass(frozen=True, kw_only=True)
class OneCoinModel(Model):
    """Classes, as many of each as possible alike, that each worker mistakes with a probability of her own.

    Parameters
    ----------
    population
        The probabilities of error.
    classes
        How many classes there are; every wrong one is as likely.

    >>> from allalike.simulation import pool
    >>> crowd = pool(OneCoinModel(classes=3, population="fixed(values=0)"), workers=1, tasks=6, seed=1)
    >>> crowd.labels, crowd.truth
    (array([[0, 1, 2, 1, 0, 2]]), array([0, 1, 2, 1, 0, 2]))
    """

    name: ClassVar[str] = "one-coin"
    summary: ClassVar[str] = "classes with a probability of error per worker; options population, classes"
    classes: int = whole(2, least=2)

    @property
    def domain(self) -> Domain:
        """Classes."""
        return Categorical(classes=self.classes)

    @property
    def flag(self) -> str:
        """Classes, and how many."""
        return f"categorical(classes={self.classes})"

    @property
    def encoding(self) -> Encoding:
        """Know all classes, be they answered or not."""
        from allalike._core.columns.column import Column

        return self.domain.learn(Column("label", arrow_of(np.arange(self.classes))))

    def truths(self, tasks: int, rng: np.random.Generator) -> Array:
        """Shuffle the classes."""
        return rng.permutation(np.arange(tasks) % self.classes)

    def parameters(self, workers: int, rng: np.random.Generator) -> Parameters:
        """Draw a probability of error."""
        return {"error": check_within(self.draw(self.population, workers, rng), 1, "The error of a worker")}

    def answers(self, truth: Array, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Toss a coin for each answer."""
        return OneCoin(classes=self.classes).draw(truth, parameters["error"], rng)

    def faults(self, parameters: Parameters) -> Floats:
        """Return the probability of error."""
        return parameters["error"]


@dataclass(frozen=True, kw_only=True)
class TwoCoinModel(OneCoinModel):
    """Classes 0 and 1, one of which workers mistake more often than the other.

    Parameters
    ----------
    population
        The probabilities of a false alarm: of answering 1 where the truth is 0.
    misses
        The probabilities of a miss: of answering 0 where the truth is 1.
    prevalence
        The share of tasks whose truth is 1.

    >>> from allalike.simulation import pool
    >>> pool(TwoCoinModel(population="fixed(values=0.1)", misses="fixed(values=0.5)"), workers=1, tasks=4).faults
    array([0.3])
    """

    name: ClassVar[str] = "two-coin"
    summary: ClassVar[str] = "two classes with false alarms and misses; options population, misses, prevalence"
    population: Population | str = drawn_from("normal(mean=0.15, sd=0.1)")
    misses: Population | str = drawn_from("normal(mean=0.4, sd=0.15)")
    prevalence: float = share(0.5)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(str(self.classes), ("2",), "classes")

    def truths(self, tasks: int, rng: np.random.Generator) -> Array:
        """Shuffle the classes."""
        return rng.permutation((np.arange(tasks) < round(self.prevalence * tasks)).astype(np.int64))

    def parameters(self, workers: int, rng: np.random.Generator) -> Parameters:
        """Draw two probabilities of error."""
        pairs = {"false_alarm": self.population, "miss": self.misses}
        return {
            name: check_within(self.draw(p, workers, rng), 1, f"The {name} of a worker") for name, p in pairs.items()
        }

    def answers(self, truth: Array, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Toss the coin that belongs to the truth."""
        return TwoCoin().draw(truth, np.stack([parameters["false_alarm"], parameters["miss"]], axis=-1), rng)

    def faults(self, parameters: Parameters) -> Floats:
        """Return the probability of error in a task of which nothing is known."""
        return (1 - self.prevalence) * parameters["false_alarm"] + self.prevalence * parameters["miss"]
