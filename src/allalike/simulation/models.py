"""Models of simulated crowds: ground truth, worker population and noise, by label type."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats
from allalike._core.columns.column import Column
from allalike._core.columns.values import arrow_of
from allalike._core.lazy_imports import pa, pc
from allalike._core.limits import MAX_ITEMS
from allalike._core.options import Options, check_choice, choice, number, share, whole
from allalike.distances import lengths, overlap
from allalike.distances.matching import Collections
from allalike.domains import Bitmap, Categorical, Domain, Encoding, Interval, Ranking, Real
from allalike.errors import OptionError
from allalike.simulation.populations import Population, as_population, drawn_from

Parameters = dict[str, "Floats"]


@dataclass(frozen=True, kw_only=True)
class Model(Options, ABC):
    """A model of a crowd, which samples true labels, workers and answers.

    The parameters of a worker, such as a standard deviation, are sampled from the population. They determine the fault,
    the expected distance to the true label. `usual_tasks` is the default number of tasks, and `pictures` is True if
    labels are image files.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    usual_tasks: ClassVar[int] = 100
    pictures: ClassVar[bool] = False
    population: Population | str = drawn_from("normal")

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """The label type."""

    @property
    def flag(self) -> str:
        """The label type, as in ``--domain``."""
        return self.domain.name

    @property
    def size(self) -> int:
        """The number of values of a label."""
        return 1

    @property
    def encoding(self) -> Encoding:
        """The encoding of all possible labels; sampled labels are codes of this encoding."""
        return self.domain.learn(Column("label", []))

    @abstractmethod
    def truths(self, tasks: int, rng: np.random.Generator) -> Array:
        """Sample the true label of each task."""

    @abstractmethod
    def parameters(self, workers: int, rng: np.random.Generator) -> Parameters:
        """Sample the parameters of each worker."""

    @abstractmethod
    def answers(self, truth: Array, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Sample one answer for each true label, given the parameters of its worker."""

    @abstractmethod
    def faults(self, parameters: Parameters) -> Floats:
        """Return each worker's expected distance to the truth."""

    def column(self, labels: Array) -> Any:
        """Return labels as a column of a table."""
        return arrow_of(labels)

    def draw(self, population: Population | str, workers: int, rng: np.random.Generator) -> Floats:
        """Sample from a population."""
        return as_population(population).draw(workers, rng)


def check_within(values: Any, most: float, what: str) -> Floats:
    """Return the values as an array, after checking that all are between 0 and a limit.

    >>> check_within([0.5, 1.5], 1, "An error probability")
    Traceback (most recent call last):
    allalike.errors.OptionError: An error probability must be between 0 and 1, but one is 1.5.
    """
    array = np.asarray(values, np.float64)
    fits = (array >= 0) & (array <= most)
    if not fits.all():
        limit = f"between 0 and {most:g}" if np.isfinite(most) else "at least 0"
        raise OptionError(f"{what} must be {limit}, but one is {array[~fits].flat[0]:g}.")
    return array


# Ids and labels as columns of a table.


def id_column(letter: str, number: int) -> pa.Array:
    """Return ids numbered from 1, padded to equal length so that they sort numerically.

    >>> id_column("w", 10).to_pylist()[-2:]
    ['w09', 'w10']
    """
    width = len(str(number))
    return pa.array([f"{letter}{k:0{width}}" for k in range(1, number + 1)], pa.large_string())


def item_names(items: int) -> list[str]:
    """Return letters as names of items, or numbered names for more than 26 items.

    >>> item_names(3), item_names(27)[-1]
    (['a', 'b', 'c'], 'i27')
    """
    return list(ascii_lowercase[:items]) if items <= len(ascii_lowercase) else id_column("i", items).to_pylist()


# Classes, with one or two error probabilities per worker.


@dataclass(frozen=True, kw_only=True)
class OneCoinModel(Model):
    """Equally frequent classes, with one error probability per worker.

    >>> from allalike.simulation import simulate
    >>> drawn = simulate(OneCoinModel(classes=3, population="fixed(values=0)"), workers=1, tasks=6, seed=1).drawn
    >>> drawn.label, drawn.truth
    (array([0, 1, 2, 1, 0, 2]), array([0, 1, 2, 1, 0, 2]))
    """

    name: ClassVar[str] = "one-coin"
    summary: ClassVar[str] = "classes with one error probability per worker; options population, classes"
    classes: int = whole(2, least=2)

    @property
    def domain(self) -> Domain:
        """Classes."""
        return Categorical(classes=self.classes)

    @property
    def flag(self) -> str:
        """The label type with its number of classes."""
        return f"categorical(classes={self.classes})"

    @property
    def encoding(self) -> Encoding:
        """The encoding of all classes."""
        return self.domain.learn(Column("label", arrow_of(np.arange(self.classes))))

    def truths(self, tasks: int, rng: np.random.Generator) -> Array:
        """Shuffle the classes."""
        return rng.permutation(np.arange(tasks) % self.classes)

    def parameters(self, workers: int, rng: np.random.Generator) -> Parameters:
        """Sample error probabilities."""
        return {"error": check_within(self.draw(self.population, workers, rng), 1, "The error of a worker")}

    def answers(self, truth: Array, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Replace true classes by other classes with the given probability."""
        wrong = rng.random(len(truth)) < parameters["error"]
        return np.asarray((truth + wrong * rng.integers(1, self.classes, len(truth))) % self.classes)

    def faults(self, parameters: Parameters) -> Floats:
        """Return the error probability."""
        return parameters["error"]


@dataclass(frozen=True, kw_only=True)
class TwoCoinModel(OneCoinModel):
    """Classes 0 and 1, with different error probabilities.

    >>> from allalike.simulation import simulate
    >>> simulate(TwoCoinModel(population="fixed(values=0.1)", misses="fixed(values=0.5)"), workers=1, tasks=4).faults
    {'w1': 0.3}
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
        """Sample two error probabilities per worker."""
        pairs = {"false_alarm": self.population, "miss": self.misses}
        return {
            name: check_within(self.draw(p, workers, rng), 1, f"The {name} of a worker") for name, p in pairs.items()
        }

    def answers(self, truth: Array, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Replace true classes with the error probability of the class."""
        wrong = rng.random(len(truth)) < np.where(truth == 1, parameters["miss"], parameters["false_alarm"])
        return np.where(wrong, 1 - truth, truth)

    def faults(self, parameters: Parameters) -> Floats:
        """Return the mean error probability over tasks."""
        return (1 - self.prevalence) * parameters["false_alarm"] + self.prevalence * parameters["miss"]


# Numbers with Gaussian errors.


@dataclass(frozen=True, kw_only=True)
class GaussianModel(Model):
    """Numbers with Gaussian errors.

    >>> from allalike.simulation import simulate
    >>> simulate(GaussianModel(population="fixed(values=3)"), workers=2, tasks=5).faults
    {'w1': 9.0, 'w2': 9.0}
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
        """Sample numbers around 0."""
        return rng.normal(0, self.spread, tasks)

    def parameters(self, workers: int, rng: np.random.Generator) -> Parameters:
        """Sample a standard deviation and a bias."""
        drawn = check_within(self.draw(self.population, workers, rng), np.inf, f"The {self.reading} of a worker")
        sd = drawn if self.reading == "sd" else np.sqrt(drawn)
        return {"sd": sd, "bias": self.draw(self.bias, workers, rng)}

    def answers(self, truth: Array, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Add errors."""
        return np.asarray(truth + parameters["bias"] + parameters["sd"] * rng.standard_normal(len(truth)))

    def faults(self, parameters: Parameters) -> Floats:
        """Return the mean squared error."""
        return parameters["sd"] ** 2 + parameters["bias"] ** 2


# Rankings with Mallows noise.
#
# A ranking with K discordant pairs has a probability proportional to phi^K (Mallows 1957): phi = 0 always yields the
# truth, and phi = 1 a uniform distribution. Repeated insertion samples such rankings exactly (Doignon, Pekec and
# Regenwetter 2004). Items are inserted in their true order, the i-th item v places before the end with a probability
# proportional to phi^v, v < i. Each place adds one discordant pair, so
#
#     E[K] = sum over i = 1..q of  (sum of v phi^v) / (sum of phi^v),   v = 0..i-1.


@dataclass(frozen=True, kw_only=True)
class MallowsModel(Model):
    """Rankings of items with Mallows noise.

    >>> from allalike.simulation import simulate
    >>> simulate(MallowsModel(items=4), workers=3, tasks=1).answers.n_answers
    3
    """

    name: ClassVar[str] = "mallows"
    summary: ClassVar[str] = "rankings with Mallows noise; options population (of phi), items"
    population: Population | str = drawn_from("normal(mean=0.65, sd=0.15, outside='clip')")
    items: int = whole(6, least=2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.items > MAX_ITEMS:
            raise OptionError(f"items is {self.items}, but at most {MAX_ITEMS} items can be ranked. Use fewer items.")

    @property
    def domain(self) -> Domain:
        """Rankings."""
        return Ranking()

    @property
    def size(self) -> int:
        """Number of items."""
        return self.items

    @property
    def encoding(self) -> Encoding:
        """The encoding of the items."""
        return self.domain.learn(Column("label", [item_names(self.items)]))

    def truths(self, tasks: int, rng: np.random.Generator) -> Array:
        """Shuffle the items of each task."""
        return rng.permuted(np.tile(np.arange(self.items, dtype=np.int16), (tasks, 1)), axis=1)

    def parameters(self, workers: int, rng: np.random.Generator) -> Parameters:
        """Sample Mallows' phi."""
        return {"phi": check_within(self.draw(self.population, workers, rng), 1, "The phi of a worker")}

    def answers(self, truth: Array, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Insert the items of each true ranking one by one, best first."""
        n, items = truth.shape
        with np.errstate(divide="ignore"):  # clipping at phi = 0 and 1 does not change any sample
            log_phi = np.clip(np.log(parameters["phi"]), -700.0, -1e-15)
        position = np.zeros((items, n), np.int16)
        for i in range(1, items):
            # P[at most v places back] = (1 - phi^(v+1)) / (1 - phi^(i+1))
            back = np.log1p(rng.random(n) * np.expm1((i + 1) * log_phi)) / log_phi
            position[i] = i - np.minimum(back.astype(np.int16), i)
            position[:i] += position[:i] >= position[i]
        answers = np.empty_like(truth)
        np.put_along_axis(answers, position.T, truth, axis=1)
        return answers

    def faults(self, parameters: Parameters) -> Floats:
        """Return the expected Kendall tau distance, normalised by the number of pairs."""
        places = np.arange(self.items)
        chances = parameters["phi"][:, None] ** places
        wrong = np.cumsum(places * chances, axis=1) / np.cumsum(chances, axis=1)
        return np.asarray(wrong.sum(axis=1) / max(self.items * (self.items - 1) / 2, 1))

    def column(self, labels: Array) -> Any:
        """Return rankings as text, such as c>a>b."""
        names = pa.array(item_names(self.items), pa.string()).take(arrow_of(labels.ravel()))
        starts = arrow_of(np.arange(0, labels.size + 1, self.items, dtype=np.int32))
        return pc.binary_join(pa.ListArray.from_arrays(starts, names), ">").cast("large_string")


# Intervals and masks.


_GRID, _TRIALS = 24, 100  # number of shifts for which faults are measured, and tasks per shift
_MAX_TRUTH_VALUES = 5_000_000  # in the true labels of these tasks


@dataclass(frozen=True, kw_only=True)
class _Shape(Model):
    """A model that moves boundaries; the fault is measured on separate tasks."""

    @abstractmethod
    def distance_between(self, answers: Array, truth: Array) -> Floats:
        """Return the Jaccard distance of each answer to its truth."""

    def parameters(self, workers: int, rng: np.random.Generator) -> Parameters:
        """Sample the standard deviation of boundary errors."""
        return {"shift": check_within(self.draw(self.population, workers, rng), np.inf, "The shift of a worker")}

    def faults(self, parameters: Parameters) -> Floats:
        """Measure the mean distance for several shifts, and interpolate."""
        shift, rng = parameters["shift"], np.random.default_rng(0)
        grid = np.unique(np.linspace(shift.min(), shift.max(), _GRID))
        distance = np.zeros(len(grid))
        trials = max(4, min(_TRIALS, _MAX_TRUTH_VALUES // self.size))
        for truth in self.truths(trials, rng)[:, None]:
            answers = self.answers(truth, {"shift": grid}, rng)
            distance += self.distance_between(answers, np.broadcast_to(truth, answers.shape)) / trials
        fault: Floats = np.interp(shift, grid, distance)
        return fault


@dataclass(frozen=True, kw_only=True)
class IntervalModel(_Shape):
    """Sets of intervals between integers; workers move the bounds.

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
            raise OptionError(f"{self.intervals} intervals do not fit on a line of length {self.length}. Use fewer.")

    @property
    def domain(self) -> Domain:
        """Sets of intervals."""
        return Interval()

    @property
    def size(self) -> int:
        """Number of bounds."""
        return 2 * self.intervals

    def truths(self, tasks: int, rng: np.random.Generator) -> Array:
        """Sample distinct bounds in ascending order."""
        bounds = 2 * self.intervals
        free = rng.integers(0, self.length - bounds + 2, (tasks, bounds))
        return (np.sort(free, axis=1) + np.arange(bounds)).reshape(tasks, self.intervals, 2)

    def answers(self, truth: Array, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Move the bounds by Gaussian errors, sort them, and omit missed intervals."""
        shift = parameters["shift"][:, None, None]
        shape = np.broadcast_shapes(truth.shape, shift.shape)
        moved = np.rint(truth + shift * rng.standard_normal(shape)).clip(0, self.length).astype(np.int64)
        answers: Array = np.sort(moved.reshape(len(moved), -1), axis=1).reshape(shape)
        missed = rng.random(shape[:-1]) < self.miss
        answers[..., 1] = np.where(missed, answers[..., 0], answers[..., 1])
        return answers

    def distance_between(self, answers: Array, truth: Array) -> Floats:
        """Return Jaccard distances of lengths."""
        rows = np.arange(len(answers))
        return lengths.distance(_unions(answers), rows, _unions(truth), rows)

    def column(self, labels: Array) -> Any:
        """Return nonempty intervals as JSON."""
        held = [[pair for pair in label if pair[0] < pair[1]] for label in labels.tolist()]
        return pa.array(map(json.dumps, held), pa.large_string())


@dataclass(frozen=True, kw_only=True)
class MaskModel(_Shape):
    """Masks of ellipses with random outlines.

    >>> from allalike.simulation import simulate
    >>> simulate(MaskModel(height=32, width=40), workers=2, tasks=3).drawn.label.shape
    (6, 32, 40)
    """

    name: ClassVar[str] = "masks"
    summary: ClassVar[str] = "masks with random outlines; options population, height, width, grain, specks"
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
        """Number of pixels."""
        return self.height * self.width

    def truths(self, tasks: int, rng: np.random.Generator) -> Array:
        """Sample ellipses with random direction and a centre near the middle."""
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

    def answers(self, truth: Array, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Move the outlines by a smooth random field, and flip random pixels.

        A pixel belongs to the answer if its distance to the outline (positive inside) plus the field is positive. The
        field is Gaussian, and its standard deviation is the worker's shift. It is sampled on a coarse grid and
        interpolated with weights whose squares sum to 1, so its variance is constant.
        """
        shift = parameters["shift"][:, None, None]
        n = max(len(truth), len(shift))
        rows, columns = (_interpolation(size, self.grain) for size in truth.shape[-2:])
        field = rows @ rng.standard_normal((n, rows.shape[1], columns.shape[1])) @ columns.T
        answers: Array = _inside(truth) + shift * field > 0
        return answers ^ (rng.random(answers.shape) < self.specks) if self.specks else answers

    def distance_between(self, answers: Array, truth: Array) -> Floats:
        """Return Jaccard distances of pixels."""
        area, common = answers.sum(axis=(1, 2)), (answers & truth).sum(axis=(1, 2))
        return overlap.jaccard(area, truth.sum(axis=(1, 2)), common)

    def column(self, labels: Array) -> Any:
        """Return a list of masks."""
        return list(labels)


def _unions(bounds: Array) -> Collections:
    """Remove empty intervals."""
    held = bounds[..., 1] > bounds[..., 0]
    first = np.concatenate([[0], np.cumsum(held.sum(axis=1))])
    return Collections(first, bounds[held].astype(np.float64), np.zeros(int(held.sum()), np.int64), [None])


def _inside(pixels: npt.NDArray[np.bool_]) -> Floats:
    """Return the distance from each pixel to the outline, positive inside.

    Pixels beyond the border count as outside; an empty mask stays empty.
    """
    depth, before = np.empty(pixels.shape), None
    for place in np.ndindex(pixels.shape[:-2]):
        same = before is not None and np.array_equal(pixels[place], pixels[before])  # answers to the same task
        depth[place] = depth[before] if same else _depth(np.pad(pixels[place], 1))[1:-1, 1:-1]
        before = place
    return depth


def _depth(mask: npt.NDArray[np.bool_]) -> Floats:
    from scipy import ndimage

    distance: Any = ndimage.distance_transform_edt
    inner = distance(mask) - distance(~mask) if mask.any() else np.full(mask.shape, -np.inf)
    depth: Floats = inner - np.where(mask, 0.5, -0.5)
    return depth


def _interpolation(size: int, grain: int) -> Floats:
    """Return interpolation weights from a coarse grid to pixels; their squares sum to 1 per pixel."""
    pixel, point = np.arange(size)[:, None] / grain, np.arange(-(-(size - 1) // grain) + 1)
    weights = np.maximum(0.0, 1 - np.abs(pixel - point))
    rows: Floats = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    return rows
