"""Populations: distributions of a quality parameter of simulated workers.

The parameter depends on the model: a standard deviation, an error probability, or Mallows' phi.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats
from allalike._core.options import Options, check_number, choice, number, option, share, whole
from allalike._core.registry import make
from allalike.errors import OptionError

Seed: TypeAlias = "int | np.random.Generator"


@dataclass(frozen=True, kw_only=True)
class Population(Options, ABC):
    """A distribution of one parameter per worker."""

    name: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def draw(self, workers: int, seed: Seed = 0) -> Floats:
        """Sample one number per worker."""


@dataclass(frozen=True, kw_only=True)
class Normal(Population):
    """A normal distribution between two bounds.

    Parameters
    ----------
    mean, sd
        Mean and standard deviation of the unbounded distribution.
    low, high
        Bounds.
    outside
        Treatment of values outside the bounds: ``truncate`` resamples them, ``clip`` moves them to the bound, ``fold``
        reflects them at the bound.

    >>> Normal(mean=0.6, sd=0.3, outside="clip").draw(4, seed=1).round(3)
    array([0.704, 0.846, 0.699, 0.209])
    """

    name: ClassVar[str] = "normal"
    summary: ClassVar[str] = "normal distribution between bounds, truncated, clipped or folded there"
    mean: float = number(0.35)
    sd: float = number(0.15, least=1e-12)
    low: float = 0.0
    high: float = 1.0
    outside: str = choice("truncate", "clip", "fold")

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_bounds(self.low, self.high)

    def draw(self, workers: int, seed: Seed = 0) -> Floats:
        """Sample one number per worker."""
        rng = np.random.default_rng(seed)
        if self.outside == "truncate":
            drawn = self.mean + self.sd * self._truncated(rng.random(workers))
        else:
            drawn = rng.normal(self.mean, self.sd, workers)
        if self.outside == "fold":
            drawn = np.where(drawn < self.low, 2 * self.low - drawn, drawn)
            drawn = np.where(drawn > self.high, 2 * self.high - drawn, drawn)
        return np.clip(drawn, self.low, self.high)

    def _truncated(self, uniform: Floats) -> Floats:
        """Transform uniform numbers into truncated normal ones, using the inverse distribution function."""
        from scipy import special

        low, high = (self.low - self.mean) / self.sd, (self.high - self.mean) / self.sd
        sign = -1.0 if low > 0 else 1.0  # the left tail is precise; the right tail rounds to 1
        first, last = np.sort(special.ndtr(np.array([sign * low, sign * high])))
        if not last > first:
            raise OptionError(f"{self} has no probability between its bounds. Change the bounds or the mean.")
        standard: Floats = sign * special.ndtri(first + (last - first) * uniform)
        return standard


@dataclass(frozen=True, kw_only=True)
class HammerSpammer(Population):
    """Each worker is independently good with a given probability, and otherwise bad.

    Parameters
    ----------
    good, bad
        Parameters of a good and of a bad worker.
    share
        Probability that a worker is good. Small crowds may contain no good worker.

    >>> HammerSpammer(good=0.2, bad=0.5, share=0.4).draw(5, seed=1)
    array([0.5, 0.5, 0.2, 0.5, 0.2])
    """

    name: ClassVar[str] = "hammer-spammer"
    summary: ClassVar[str] = "good workers with a given probability, and bad workers otherwise"
    good: float = number(0.2)
    bad: float = number(0.5)
    share: float = share(0.2)

    def draw(self, workers: int, seed: Seed = 0) -> Floats:
        """Sample one number per worker."""
        return np.where(np.random.default_rng(seed).random(workers) < self.share, self.good, self.bad).astype(float)


@dataclass(frozen=True, kw_only=True)
class Uniform(Population):
    """A uniform distribution between two bounds.

    >>> Uniform(low=50, high=200).draw(3, seed=1).round(1)
    array([126.8, 192.6,  71.6])
    """

    name: ClassVar[str] = "uniform"
    summary: ClassVar[str] = "uniform distribution between two bounds"
    low: float = number(0.0)
    high: float = number(1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_bounds(self.low, self.high)

    def draw(self, workers: int, seed: Seed = 0) -> Floats:
        """Sample one number per worker."""
        return np.random.default_rng(seed).uniform(self.low, self.high, workers)


def _numbers(values: Any, option: str) -> tuple[float, ...]:
    listed = values if isinstance(values, tuple | list) else (values,)
    if not listed:
        raise OptionError(f"{option} is empty. Use one number for all workers, or several.")
    return tuple(float(check_number(value, option)) for value in listed)


@dataclass(frozen=True, kw_only=True)
class Fixed(Population):
    """The same number for every worker, or several numbers in turn.

    >>> Fixed(values=(0.1, 0.1, 0.6)).draw(4)
    array([0.1, 0.1, 0.6, 0.1])
    """

    name: ClassVar[str] = "fixed"
    summary: ClassVar[str] = "one number for all workers, or several in turn"
    values: float | tuple[float, ...] = option(0.3, _numbers)

    def draw(self, workers: int, seed: Seed = 0) -> Floats:
        """Return one number per worker; nothing is sampled."""
        return np.resize(np.array(self.values, np.float64), workers)


POPULATIONS: dict[str, type[Population]] = {
    population.name: population for population in (Normal, HammerSpammer, Uniform, Fixed)
}


def as_population(spec: Population | str) -> Population:
    """Return a population, given a population or a name with options in brackets.

    >>> as_population("uniform(low=0.1, high=0.4)")
    Uniform(low=0.1, high=0.4)
    """
    if isinstance(spec, Population):
        return spec
    if not isinstance(spec, str):
        raise OptionError(f"The population is {spec!r}. Choose one of: {', '.join(POPULATIONS)}.")
    return make(spec, POPULATIONS, "population")


def drawn_from(spec: str) -> Population | str:
    """Return a dataclass field for a population, with this default; names are converted to populations."""
    field: Population | str = option(spec, lambda value, name: as_population(value))
    return field


def _check_bounds(low: Any, high: Any) -> None:
    numbers = all(isinstance(bound, Real) and not isinstance(bound, bool) for bound in (low, high))
    if not numbers or not low < high:
        raise OptionError(f"low is {low!r} and high is {high!r}. They must be numbers, and low must be below high.")


# Copiers: workers who copy answers from another worker.


Numbers = npt.NDArray[np.integer]


@dataclass(frozen=True, kw_only=True)
class Copiers(Options):
    """Workers who copy from other workers; the other workers answer independently.

    Parameters
    ----------
    number
        Number of copiers.
    fidelity
        Probability of copying an answer of the source; otherwise copiers answer independently.
    sources
        Number of workers from whom they copy (default: all).

    >>> import numpy as np
    >>> copiers = Copiers(number=2, sources=1)
    >>> source = copiers.appoint(4)
    >>> source
    array([ 1, -1,  1, -1])
    >>> task, worker = np.divmod(np.arange(8), 4)
    >>> copiers.copy(worker, task, np.arange(8), source)[0]
    array([1, 1, 1, 3, 5, 5, 5, 7])
    """

    number: int = whole(0, least=0, called="copiers")
    fidelity: float = share(1.0)
    sources: int | None = whole(None, least=1)

    def appoint(self, workers: int, seed: Seed = 0) -> npt.NDArray[np.int64]:
        """Return the source of each worker, or -1."""
        own = workers - self.number
        if self.number and own < max(self.sources or 1, 1):
            raise OptionError(
                f"{self.number} of {workers} workers copy, so only {max(own, 0)} can be copied. Use fewer copiers or"
                " fewer sources."
            )
        rng = np.random.default_rng(seed)
        order = rng.permutation(workers)
        source = np.full(workers, -1)
        if self.number:
            source[order[: self.number]] = rng.choice(order[self.number :][: self.sources], self.number)
        return source

    def copy(
        self, worker: Numbers, task: Numbers, label: Array, source: Numbers, seed: Seed = 0
    ) -> tuple[Array, Floats]:
        """Return the answers including copies, and the probability that each answer is a copy.

        Answers must be sorted by task and worker, without duplicates. Copiers copy only answers to tasks that their
        source answered.
        """
        place = task.astype(np.int64) * len(source) + worker
        rows = np.flatnonzero(source[worker] >= 0)
        wanted = place[rows] + source[worker[rows]] - worker[rows]
        origin = np.minimum(np.searchsorted(place, wanted), len(place) - 1)
        chance = np.zeros(len(place))
        chance[rows] = np.where(place[origin] == wanted, self.fidelity, 0.0)
        copied = np.random.default_rng(seed).random(len(rows)) < chance[rows]
        answers = label.copy()
        answers[rows[copied]] = label[origin[copied]]
        return answers, chance
