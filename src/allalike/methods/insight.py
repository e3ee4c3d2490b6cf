"""Insight: what the default finds out about a crowd beside faults and weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allalike._core.blocks.block import Floats
    from allalike.engines import Run


@dataclass(frozen=True)
class Group:
    """Workers who are more alike than chance and skill explain."""

    members: tuple[int, ...]
    copies: bool
    common: int
    rare: int
    fidelity: float
    chance: float


@dataclass(frozen=True)
class VoiceGroups:
    """The groups of a run's workers."""

    number: npt.NDArray[np.intp]
    silent: npt.NDArray[np.bool_]
    found: tuple[Group, ...] = ()
    part: npt.NDArray[np.intp] | None = None

    @classmethod
    def everyone(cls, n_workers: int) -> VoiceGroups:
        """Let everybody speak for herself."""
        return cls(np.arange(n_workers), np.zeros(n_workers, bool))

    @property
    def ungrouped(self) -> VoiceGroups:
        """Nobody in a group; who is silent stays so."""
        return VoiceGroups(np.arange(len(self.number)), self.silent)

    def take(self, order: npt.NDArray[np.intp]) -> VoiceGroups:
        """Return the groups of the same workers in another order.

        >>> VoiceGroups(np.array([0, 1, 0]), np.zeros(3, bool)).take(np.array([2, 0, 1])).number
        array([0, 0, 2])
        """
        first = np.full(len(order), len(order))
        np.minimum.at(first, self.number[order], np.arange(len(order)))
        return VoiceGroups(first[self.number[order]], self.silent[order])

    @property
    def has_copies(self) -> bool:
        """Whether some speak with one voice."""
        return bool((self.number != np.arange(len(self.number))).any())

    @property
    def everyone_counts(self) -> bool:
        """Whether nobody copies and nobody is silent."""
        return not self.silent.any() and not self.has_copies

    @property
    def n_parts(self) -> int:
        """How many parts without common tasks the answers have; who is silent is in none, and 1 where nobody knows."""
        return 1 if self.part is None else max(len(np.unique(self.part[~self.silent])), 1)

    @property
    def speaks(self) -> npt.NDArray[np.bool_]:
        """Of each worker: whether she speaks, for herself or first of her group."""
        speaks: npt.NDArray[np.bool_] = (self.number == np.arange(len(self.number))) & ~self.silent
        return speaks


@dataclass(frozen=True)
class Signal:
    """How much the answers of each worker say about the tasks."""

    value: Floats
    error: Floats
    empty: npt.NDArray[np.bool_]
    looked: bool = True

    @classmethod
    def unknown(cls, n_workers: int, *, looked: bool = True) -> Signal:
        """Say nothing about anybody."""
        nothing = np.full(n_workers, np.nan)
        return cls(nothing, nothing, np.zeros(n_workers, bool), looked)


@dataclass(frozen=True)
class Faults:
    """What is known about each worker's fault."""

    unit: str
    shared: npt.NDArray[np.int64]
    fault: Floats
    low: Floats
    high: Floats
    shrunk: Floats
    few: npt.NDArray[np.bool_]
    variance: Floats | None = None

    def best(self, otherwise: Floats) -> Floats:
        """Return the shrunken estimates, or others where labels have no model of faults."""
        return np.where(np.isnan(self.shrunk), otherwise, self.shrunk)

    def limits_around(self, estimate: Floats) -> tuple[Floats, Floats]:
        """Return the limits, moved to an estimate that lies outside of them.

        Another model may read the same answers otherwise. Then either may be right, and so wide is what is not known.

        >>> few, four = np.zeros(1, bool), np.array([4.0])
        >>> faults = Faults("fault", np.array([9]), four, np.array([3.0]), np.array([5.0]), four, few)
        >>> faults.limits_around(np.array([2.0]))
        (array([2.]), array([5.]))
        """
        return np.minimum(self.low, estimate), np.maximum(self.high, estimate)


@dataclass(frozen=True)
class Screening:
    """What is known of a crowd before anybody is weighed."""

    groups: VoiceGroups
    signal: Signal | None
    guess: Floats | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def camps(self) -> bool:
        """Whether the crowd is of two minds, of which either may be right."""
        return "camps" in self.notes


@dataclass(frozen=True, kw_only=True)
class Insight:
    """What the default finds out beside faults and weights, each where it was looked at."""

    signal: Signal | None = None
    groups: VoiceGroups | None = None
    screening: Screening | None = None
    faults: Faults | None = None
    confidence: Mapping[str, Any] | None = None
    expect: Callable[[Run], float] | None = None
