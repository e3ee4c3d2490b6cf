"""Colours such as #ff8800: a kind of label whose distances are sums, so that nobody compares answers pair by pair.

A colour is a point x in a cube, and d(x, y) = |x - y|^2 / 3, from 0 to 1. With W = sum_j w_j, S = sum_j w_j x_j and
Q = sum_j w_j |x_j|^2 over a task, sum_j w_j d(x_i, x_j) = (W |x_i|^2 - 2 x_i S + Q) / 3: linear in the answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from allalike.domains import Domain, Encoding, Kernels
from allalike.extending import TOLERANCE, Array, Block, Column, Floats, Ties, Values
from allalike.noise import General
from allalike.rules import Decision, Rule
from allalike.rules.base import unknown


def mean_colour(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Mix the colours, each by its weight."""
    weight, total = block.answer_weights(weights)
    label = np.add.reduceat(weight[:, None] * block.label, block.starts) / total[:, None]
    return Decision(label, unknown(block.n_tasks), unknown(block.n_tasks), np.zeros(block.n_tasks, np.bool_))


@dataclass(frozen=True, kw_only=True)
class Colours(Domain):
    """Colours, written #rrggbb."""

    name: ClassVar[str] = "colour"
    summary: ClassVar[str] = "colours #rrggbb; squared distance of red, green and blue"
    rules: ClassVar[tuple[Rule, ...]] = (Rule("mean colour", mean_colour),)
    distances: ClassVar[tuple[str, ...]] = ("squared",)
    noise: ClassVar[General] = General(farthest=1.0)
    recurring: ClassVar[bool] = False  # a mixture is hardly ever one of the answers

    def learn(self, labels: Column) -> ColourEncoding:
        """Return the encoding, which is the same for all colours."""
        return ColourEncoding(domain=self)


class ColourKernels(Kernels):
    """Sums over tasks, linear in the number of answers."""

    def distance_between(self, left: Array, right: Array) -> Floats:
        """Measure how far colours are apart."""
        return np.asarray(np.square(left - right).sum(axis=1) / 3)

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        """Add up the distances of each answer to the others of its task, and the weight of these."""
        weight, total = block.answer_weights(weights)
        square = np.square(block.label).sum(axis=1)
        point = block.to_answers(np.add.reduceat(weight[:, None] * block.label, block.starts))
        all_squares = block.to_answers(block.per_task(weight * square))
        distance = block.to_answers(total) * square - 2 * (point * block.label).sum(axis=1) + all_squares
        return np.maximum(distance / 3, 0.0), block.to_answers(total) - weight

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        """Tell where two colours differ by more than rounding."""
        return np.asarray(self.distance_between(left, right) > TOLERANCE**2)


class ColourEncoding(Encoding):
    """Colours as rows of three numbers from 0 to 1."""

    kernels_type: ClassVar[type[Kernels]] = ColourKernels

    def encode(self, labels: Column) -> Floats:
        """Read each different label once; an error of `read` names its row."""
        codes, colours = labels.parsed(read)
        return np.array(colours, np.float64).reshape(-1, 3)[codes]

    def decode(self, codes: Array) -> Values:
        """Write colours."""
        return Values([f"#{bytes(row).hex()}" for row in np.rint(255 * codes).astype(np.uint8)])


def read(value: Any) -> tuple[float, ...]:
    """Return red, green and blue from 0 to 1."""
    try:
        parts = bytes.fromhex(str(value).removeprefix("#"))
    except ValueError:
        parts = b""
    if len(parts) != 3:
        raise ValueError("a colour is a text such as '#ff8800'")
    return tuple(part / 255 for part in parts)
