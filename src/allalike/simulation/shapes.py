"""Models whose answers cover something: intervals of a line, or pixels of a picture."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.options import share, whole
from allalike.distances import lengths, overlap
from allalike.domains import Bitmap, Domain, Interval
from allalike.errors import OptionError
from allalike.noise import IntervalNoise, MaskNoise, Noise, Population
from allalike.noise.base import check_within
from allalike.noise.populations import drawn_from
from allalike.simulation.base import Model, Parameters
from allalike.simulation.columns import interval_column

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats

__all__ = ["IntervalModel", "MaskModel"]

_GRID, _TRIALS = 24, 100  # for how many shifts a fault is measured, and in how many tasks
_MAX_TRUTH_VALUES = 5_000_000  # in the truths of these tasks


@dataclass(frozen=True, kw_only=True)
class _Shape(Model):
    """A model that moves what the truth covers; how far that is from the truth is measured in tasks of its own."""

    @property
    @abstractmethod
    def noise(self) -> Noise:
        """How answers err, given a shift."""

    @abstractmethod
    def distance_between(self, answers: Array, truth: Array) -> Floats:
        """Return the Jaccard distance of each answer to its truth."""

    def parameters(self, workers: int, rng: np.random.Generator) -> Parameters:
        """Draw how far a worker's bounds are off."""
        return {"shift": check_within(self.draw(self.population, workers, rng), np.inf, "The shift of a worker")}

    def answers(self, truth: Array, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Draw answers."""
        return self.noise.draw(truth, parameters["shift"], rng)

    def faults(self, parameters: Parameters) -> Floats:
        """Measure the mean distance for some shifts, and interpolate."""
        shift, rng = parameters["shift"], np.random.default_rng(0)
        grid = np.unique(np.linspace(shift.min(), shift.max(), _GRID))
        distance = np.zeros(len(grid))
        trials = max(4, min(_TRIALS, _MAX_TRUTH_VALUES // self.size))
        for truth in self.truths(trials, rng)[:, None]:
            answers = self.noise.sample(truth, grid, rng)[:, 0]
            distance += self.distance_between(answers, np.broadcast_to(truth, answers.shape)) / trials
        fault: Floats = np.interp(shift, grid, distance)
        return fault


@dataclass(frozen=True, kw_only=True)
class IntervalModel(_Shape):
    """Sets of intervals between whole numbers, whose bounds workers move.

    Parameters
    ----------
    population
        The standard deviation of a worker's error in each bound.
    length
        Where the line ends that the intervals lie on.
    intervals
        How many intervals a truth has.
    miss
        How likely a worker overlooks an interval.

    >>> from allalike.simulation import simulate
    >>> simulate(IntervalModel(intervals=2), workers=2, tasks=2).truth["label"].tolist()
    ['[[242, 353], [662, 678]]', '[[24, 79], [424, 613]]']
    """

    name: ClassVar[str] = "intervals"
    summary: ClassVar[str] = "sets of intervals with moved bounds; options population, length, intervals, miss"
    population: Population | str = drawn_from("uniform(low=5.0, high=100.0)")
    length: int = whole(1000, least=1)
    intervals: int = whole(3, least=1)
    miss: float = share(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if 2 * self.intervals > self.length + 1:
            raise OptionError(f"{self.intervals} intervals do not fit on a line of length {self.length}.")

    @property
    def domain(self) -> Domain:
        """Sets of intervals."""
        return Interval()

    @property
    def size(self) -> int:
        """Two bounds of each interval."""
        return 2 * self.intervals

    @property
    def noise(self) -> Noise:
        """Move bounds, overlook intervals."""
        return IntervalNoise(length=self.length, miss=self.miss)

    def truths(self, tasks: int, rng: np.random.Generator) -> Array:
        """Draw different bounds, in order."""
        bounds = 2 * self.intervals
        free = rng.integers(0, self.length - bounds + 2, (tasks, bounds))
        return (np.sort(free, axis=1) + np.arange(bounds)).reshape(tasks, self.intervals, 2)

    def distance_between(self, answers: Array, truth: Array) -> Floats:
        """Compare lengths."""
        rows = np.arange(len(answers))
        return lengths.distance(_unions(answers), rows, _unions(truth), rows)

    def column(self, labels: Array) -> Any:
        """Return intervals as JSON."""
        return interval_column(labels)


@dataclass(frozen=True, kw_only=True)
class MaskModel(_Shape):
    """Ellipses in pictures, whose outlines wobble.

    Parameters
    ----------
    population
        The standard deviation of how far a worker's outline is off, in pixels.
    height, width
        The size of the pictures.
    grain
        Over how many pixels an outline is off in the same direction.
    specks
        How likely a pixel is turned over besides.

    >>> from allalike.simulation import pool
    >>> pool(MaskModel(height=32, width=40), workers=2, tasks=3).labels.shape
    (2, 3, 32, 40)
    """

    name: ClassVar[str] = "masks"
    summary: ClassVar[str] = "masks with wobbling outlines; options population, height, width, grain, specks"
    usual_tasks: ClassVar[int] = 20
    pictures: ClassVar[bool] = True
    population: Population | str = drawn_from("uniform(low=0.5, high=6.0)")
    height: int = whole(48, least=1)
    width: int = whole(64, least=1)
    grain: int = whole(8, least=1)
    specks: float = share(0.0)

    @property
    def domain(self) -> Domain:
        """Masks."""
        return Bitmap()

    @property
    def size(self) -> int:
        """All pixels."""
        return self.height * self.width

    @property
    def noise(self) -> Noise:
        """Move outlines, turn pixels over."""
        return MaskNoise(grain=self.grain, specks=self.specks)

    def truths(self, tasks: int, rng: np.random.Generator) -> Array:
        """Draw ellipses of any direction whose centre is near the middle."""
        size = np.array([self.height, self.width])
        centre, radius = rng.uniform(0.35, 0.65, (tasks, 2)) * size, rng.uniform(0.15, 0.35, (tasks, 2)) * size.min()
        angle = rng.uniform(0, np.pi, tasks)[:, None, None]
        row, column = (np.arange(side) + 0.5 for side in size)
        down, across = row[:, None] - centre[:, :1, None], column - centre[:, 1:, None]
        along, aside = (
            down * np.cos(angle) + across * np.sin(angle),
            across * np.cos(angle) - down * np.sin(angle),
        )
        inside: Array = (along / radius[:, :1, None]) ** 2 + (aside / radius[:, 1:, None]) ** 2 <= 1
        return inside

    def distance_between(self, answers: Array, truth: Array) -> Floats:
        """Compare pixels."""
        area, common = answers.sum(axis=(1, 2)), (answers & truth).sum(axis=(1, 2))
        return overlap.jaccard(area, truth.sum(axis=(1, 2)), common)

    def column(self, labels: Array) -> Any:
        """Return the masks as they are."""
        return list(labels)


def _unions(bounds: Array) -> lengths.Unions:
    """Leave out the intervals that hold nothing."""
    held = bounds[..., 1] > bounds[..., 0]
    first = np.concatenate([[0], np.cumsum(held.sum(axis=1))])
    return lengths.Unions(first, bounds[held, 0].astype(np.float64), bounds[held, 1].astype(np.float64))
