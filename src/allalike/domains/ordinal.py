"""Ordinal labels: ordered levels, such as stars, grades and degrees of agreement.

A label is one of K levels, and x is its index from 0 to K - 1. An error of one level is smaller than an error of two,
but no label lies between two adjacent levels, so a mean of 3.4 stars is not a valid label:

    linear:   d = |x - y| / (K - 1)              the default; minimised by the weighted median
    squared:  d = (x - y)^2 / (K - 1)^2          if large errors are much worse
    hamming:  d = [x != y]                       ignores the order

All distances are 0 if K = 1. Each can be written as a squared distance, so sums over the pairs of a task take linear
time. (For `linear`, a level is a vector of x ones followed by zeros.) The mean distance between two random levels is (K
+ 1) / (3 K) under `linear`, (K + 1) / (6 (K - 1)) under `squared` and 1 - 1/K under `hamming`. A worker at this
distance from the others is uninformative.

Ordinal labels work for ratings, grades and degrees of agreement. They fail if levels do not form a scale: "unsure" is
not between "yes" and "no", so such labels are classes. If some workers are strict and others are lenient, their
deviations count as errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, Ties, group_labels
from allalike._core.columns.column import Column
from allalike._core.columns.values import Values, arrow_of
from allalike._core.lazy_imports import pa
from allalike._core.limits import MAX_LEVELS
from allalike._core.options import choice, option
from allalike._core.registry import did_you_mean
from allalike.distances import absolute, euclidean, hamming
from allalike.domains.categorical import code_type
from allalike.domains.contract import Domain, Encoding, Kernels
from allalike.domains.spelling import Spelling, list_some, match_key
from allalike.errors import LabelError, OptionError
from allalike.noise import General, Noise, OneCoin
from allalike.rules.base import Rule, unknown
from allalike.rules.levels import level_mean, level_median, take_nearest, weigh_levels
from allalike.rules.vote import plurality

_MAX_SHOWN = 12
_MAX_GROUPS = 4  # maximum ratio of groups to answers, for a group per task and level


def _check_levels(levels: Any, name: str) -> tuple[Any, ...]:
    """Return levels as a tuple of distinct numbers or words."""
    if not isinstance(levels, list | tuple) or not levels or not all(isinstance(x, str | int | float) for x in levels):
        raise OptionError(
            f"{name} is {levels!r}. It must list all levels from the lowest to the highest, such as"
            ' levels=["poor", "fair", "good"].'
        )
    keys = [match_key(level) for level in levels]
    twice = next((level for place, level in enumerate(levels) if match_key(level) in keys[:place]), None)
    if twice is not None:
        raise OptionError(f"{name} contains {twice!r} twice. List every level once, from the lowest to the highest.")
    if len(levels) > MAX_LEVELS:
        raise OptionError(f"{name} has {len(levels):,} levels. At most {MAX_LEVELS:,} are allowed. Is it a scale?")
    return tuple(levels)


@dataclass(frozen=True, kw_only=True)
class Ordinal(Domain):
    """Ordered levels, such as ratings, grades and degrees.

    Parameters
    ----------
    levels
        All levels from the lowest to the highest, including unused ones: words or numbers. Default: the integers from
        the smallest to the largest label; all labels must then be integers.
    distance
        ``linear``, the number of levels between two labels divided by the length of the scale; ``squared``, its square;
        or ``hamming``, which ignores the order.
    target
        Quantity to estimate: ``level``, one correct level (the weighted median), or ``mean``, the level nearest to the
        mean of opinions. Default: ``mean`` for panels (`allalike.jury`), ``level`` elsewhere.
    rule
        Aggregation rule: ``median``, ``mean`` (the nearest level) or ``plurality``, all weighted. Default: the rule of
        the target.

    >>> import allalike
    >>> answers = {"ada": [4, 2, 5], "bob": [5, 2, 4], "eve": [1, 1, 5]}
    >>> rows = [(worker, task, label) for worker, labels in answers.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, domain=Ordinal(), method="P-TD")
    >>> result.truth["label"].tolist(), result.truth["within_one"].round(2).tolist()
    ([4, 2, 5], [1.0, 1.0, 1.0])
    >>> result.workers["disparity"].round(3).tolist()
    [0.25, 0.333, 0.417]
    >>> words = ["poor", "fair", "good"]
    >>> rows = [("ada", 1, "good"), ("bob", 1, "fair"), ("eve", 1, "poor")]
    >>> allalike.discover(rows, domain=Ordinal(levels=words)).truth["label"].tolist()
    ['fair']
    """

    name: ClassVar[str] = "ordinal"
    summary: ClassVar[str] = "levels in an order, such as ratings; linear distance, squared or Hamming"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("median", level_median),
        Rule("mean", level_mean),
        Rule("plurality", plurality),
    )
    distances: ClassVar[tuple[str, ...]] = ("linear", "squared", "hamming")
    levels: tuple[Any, ...] | list[Any] | None = option(None, _check_levels)
    target: str | None = choice(None, "level", "mean")

    def __post_init__(self) -> None:
        if not self.rule and self.target == "mean":
            object.__setattr__(self, "rule", "mean")
        super().__post_init__()

    @property
    def n_classes(self) -> int:
        return len(self.levels or ())

    @property
    def spelling(self) -> Spelling:
        return Spelling()

    @property
    def noise(self) -> Noise:
        return General()

    def _parse(self, value: Any) -> int:
        """Return the index of a label among the given levels, or an integer if no levels are given."""
        if self.levels is None:
            text = match_key(value)
            try:
                if isinstance(text, str) and not isinstance(value, bool):
                    return int(text)
            except ValueError:
                pass
            raise ValueError(
                'it is not a whole number; list words in order, such as ordinal(levels=["poor", "fair", "good"])'
            )
        keys = [match_key(level) for level in self.levels]
        if match_key(value) in keys:
            return keys.index(match_key(value))
        hint = did_you_mean(str(value), list(map(str, self.levels)))
        raise ValueError(
            f"it is not one of the levels {list_some(self.levels, _MAX_SHOWN)}.{hint} Correct it, or list all levels"
        )

    def learn(self, labels: Column) -> OrdinalEncoding:
        if self.levels is not None:
            return OrdinalEncoding(domain=self, low=0, n_levels=len(self.levels))
        return OrdinalEncoding(domain=self, low=0, n_levels=0)._with(labels.parsed(self._parse)[1])


@dataclass(frozen=True, kw_only=True)
class OrdinalEncoding(Encoding):
    """The levels; a code is the index of a level. Without given levels, the lowest level is an integer."""

    domain: Ordinal
    low: int
    n_levels: int

    def _with(self, numbers: Sequence[int]) -> Self:
        known = [self.low, self.low + self.n_levels - 1] if self.n_levels else []
        low, high = min([*known, *numbers]), max([*known, *numbers])
        if high - low >= MAX_LEVELS:
            raise LabelError(
                f"The labels are whole numbers from {low} to {high}, more than {MAX_LEVELS:,} levels. If they"
                " are not ratings, use the domain real.",
                domain="real",
            )
        return replace(self, low=low, n_levels=high - low + 1)

    @property
    def kernels(self) -> OrdinalKernels:
        return OrdinalKernels(domain=self.domain, n_levels=self.n_levels)

    @property
    def levels(self) -> Values:
        """All levels in order."""
        given = self.domain.levels
        if given is None:
            return Values(arrow_of(np.arange(self.low, self.low + self.n_levels)))
        if all(isinstance(level, str) for level in given):
            return Values(pa.array(given, pa.large_string()))
        whole = all(isinstance(level, int) and not isinstance(level, bool) for level in given)
        return Values(arrow_of(np.array(given, np.int64))) if whole else Values(list(given))

    @property
    def n_labels(self) -> int:
        return self.n_levels

    @property
    def n_classes(self) -> int:
        return self.n_levels

    @property
    def nominal(self) -> bool:
        return False

    @property
    def noise(self) -> Noise:
        k, distance = self.n_levels, self.domain.distance
        if distance == "hamming":
            return OneCoin(classes=k)
        return General(
            farthest=0.0 if k == 1 else (k + 1) / (3 * k) if distance == "linear" else (k + 1) / (6 * (k - 1))
        )

    @property
    def coordinates(self) -> Floats:
        place, length = np.arange(self.n_levels), max(self.n_levels - 1, 1.0)
        if self.domain.distance == "hamming":
            return np.asarray(np.eye(self.n_levels) / np.sqrt(2.0))
        if self.domain.distance == "squared":
            return np.asarray(place[:, None] / length)
        return np.asarray((place[:, None] > place[:-1]) / np.sqrt(length))

    @property
    def vocabulary(self) -> list[Any]:
        return self.levels.tolist()

    def merge(self, others: Sequence[Self]) -> Self:
        if self.domain.levels is not None:
            return self
        return self._with([end for other in others for end in (other.low, other.low + other.n_levels - 1)])

    def encode(self, labels: Column) -> Array:
        codes, parsed = labels.parsed(self.domain._parse)
        return (np.array(parsed, np.int64) - self.low).astype(code_type(self.n_levels))[codes]

    def encode_gold(self, labels: Column) -> tuple[Self, Array]:
        codes, parsed = labels.parsed(self.domain._parse)
        wider = self if self.domain.levels is not None else self._with(parsed)
        if wider.n_levels > self.n_levels:
            outside = np.array([not self.low <= level < self.low + self.n_levels for level in parsed])
            row = int(np.argmax(outside[codes]))
            raise LabelError(
                f"The gold label {parsed[codes[row]]} in row {labels.row(row)} is outside of the answers, which range"
                f" from {self.low} to {self.low + self.n_levels - 1}. List all levels:"
                f' domain "ordinal(levels={wider.levels.tolist()})".'
            )
        return self, self.encode(labels)

    def remap(self, codes: Array, known: Self) -> Array:
        return (codes.astype(np.int64) + (known.low - self.low)).astype(code_type(self.n_levels))

    def decode(self, codes: Array) -> Values:
        return self.levels.take(codes)

    def truth_columns(self, found: Mapping[str, Array]) -> dict[str, Values | Array]:
        return {"within_one": found["within_one"]} if "within_one" in found else {}

    def prepare(self, block: Block) -> Block:
        most = _MAX_GROUPS if self.n_levels <= absolute.MAX_PRODUCT else 1
        return block.keeping(group_labels(block, self.levels.hashes(), most=most))

    def describe(self) -> dict[str, Any]:
        source = "data" if self.domain.levels is None else "given"
        target = {"mean": "mean", "median": "level"}.get(str(self.domain.rule), "")
        return {
            **super().describe(),
            **({"target": target} if target else {}),
            "levels": self.levels.tolist(),
            "levels_from": source,
        }


@dataclass(frozen=True, kw_only=True)
class OrdinalKernels(Kernels):
    """Sums of distances between levels, linear in the numbers of answers and levels."""

    domain: Ordinal
    n_levels: int

    @property
    def _length(self) -> float:
        """The number of steps from the lowest to the highest level, at least 1."""
        return max(self.n_levels - 1, 1.0)

    def distance_between(self, left: Array, right: Array) -> Floats:
        if self.domain.distance == "hamming":
            return hamming.distance(left, right)
        apart = absolute.distance(left, right) / self._length
        return apart if self.domain.distance == "linear" else np.square(apart)

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        if self.domain.distance == "hamming":
            return hamming.peer_distances(block, weights)
        if self.domain.distance == "linear":
            sums, weight = absolute.level_distances(block, weights)
            return sums / self._length, weight
        sums, weight = euclidean.peer_distances(block, weights)
        return sums / self._length**2, weight

    def aggregate(self, block: Block, weights: Floats, faults: Floats, *, ties: Ties) -> dict[str, Array]:
        """Estimate the level of each task, and the share of weight within one level of it.

        The standard error of a mean, in levels, is known only for the squared distance.
        """
        found = super().aggregate(block, weights, faults, ties=ties)
        variances = self.domain.distance == "squared"
        error = found["error"] * self._length if variances else unknown(block.n_tasks)
        return {**found, "error": error, "within_one": self._within_one(block, weights, found["label"])}

    def take_nearest(self, block: Block, weights: Floats, place: Floats, *, ties: Ties) -> dict[str, Array]:
        """Return the level nearest to a position per task, and the share of weight within one level of it."""
        label, tied = take_nearest(block, weights, np.clip(place, 0, self.n_levels - 1), ties)
        return {"label": label, "tied": tied, "within_one": self._within_one(block, weights, label)}

    def _within_one(self, block: Block, weights: Floats, label: Array) -> Floats:
        weight, total = block.answer_weights(weights)
        return np.asarray(np.minimum(weigh_levels(block, weight, label, 1) / total, 1.0))
