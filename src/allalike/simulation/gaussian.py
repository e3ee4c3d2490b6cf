"""Numbers with Gaussian errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike._core.options import choice, number
from allalike.domains import Domain, Real
from allalike.noise import Gaussian, Population
from allalike.noise.base import check_within
from allalike.noise.populations import drawn_from
from allalike.simulation.base import Model, Parameters

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats

__all__ = ["GaussianModel"]


@dataclass(frozen=True, kw_only=True)
class GaussianModel(Model):
    """Numbers that are answered with Gaussian errors.

    Parameters
    ----------
    population
        What each worker's errors are like, as `reading` says.
    reading
        Whether the population gives standard deviations (``sd``) or variances (``variance``).
    spread
        The standard deviation of the truths, around 0.
    bias
        The population of the workers' mean errors; by default nobody has one.

    >>> from allalike.simulation import pool
    >>> pool(GaussianModel(population="fixed(values=3)"), workers=2, tasks=5).faults
    array([9., 9.])
    """

    name: ClassVar[str] = "gaussian"
    summary: ClassVar[str] = "numbers with Gaussian errors; options population, reading (sd, variance), spread, bias"
    population: Population | str = drawn_from("normal(mean=1.0, sd=0.5, high=10.0)")
    reading: str = choice("sd", "variance")
    spread: float = number(2.0, least=0)
    bias: Population | str = drawn_from("fixed(values=0)")

    @property
    def domain(self) -> Domain:
        """Numbers."""
        return Real()

    def truths(self, tasks: int, rng: np.random.Generator) -> Array:
        """Draw numbers around 0."""
        return rng.normal(0, self.spread, tasks)

    def parameters(self, workers: int, rng: np.random.Generator) -> Parameters:
        """Draw a standard deviation and a bias."""
        drawn = check_within(self.draw(self.population, workers, rng), np.inf, f"The {self.reading} of a worker")
        sd = drawn if self.reading == "sd" else np.sqrt(drawn)
        return {"sd": sd, "bias": self.draw(self.bias, workers, rng)}

    def answers(self, truth: Array, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Add errors."""
        return Gaussian().draw(truth + parameters["bias"], parameters["sd"] ** 2, rng)

    def faults(self, parameters: Parameters) -> Floats:
        """Return the mean squared error."""
        return parameters["sd"] ** 2 + parameters["bias"] ** 2
