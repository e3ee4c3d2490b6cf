"""Measure objects against their bars: ratios of CPU time, taken in one run.

A crowd draws boxes in pictures, a little off and sometimes not at all. All distances between the answers to a picture
are found once as this package does, once by a plain loop over the boxes with scipy's assignment, and once with the
overlaps of two answers by numpy and the same assignment. Then all boxes are grouped and fused (and compared, which is
not left out here), and by ``weighted_boxes_fusion`` of ensemble-boxes for each picture, if that is installed. The
program ends with an error if a bar is missed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

import allalike
from allalike._core.blocks.block import Ties
from allalike._core.blocks.pairs import PairDistances
from allalike.domains.objects.objects import list_members, number_pairs
from measuring import cpu

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Block

_CUT = 0.3


@dataclass(frozen=True)
class Crowd:
    """So many workers who draw so many boxes in so many pictures, and the bars: times a loop, numpy, and fusion."""

    workers: int
    pictures: int
    boxes: int
    loop: float
    numpy: float
    fusion: float

    def draw(self) -> list[list[list[list[float]]]]:
        """Return the boxes of each worker, picture by picture, in a unit square."""
        rng = np.random.default_rng(0)
        side = 0.5 / np.sqrt(self.boxes)
        drawn = []
        for _ in range(self.pictures):
            corner = rng.random((self.boxes, 2)) * (1 - side)
            true = np.concatenate([corner, corner + side * rng.uniform(0.6, 1.2, (self.boxes, 2))], axis=1)
            answers = []
            for _ in range(self.workers):
                seen = true[rng.random(self.boxes) < 0.9]
                blurred = seen + rng.normal(0, side / 12, seen.shape)
                answers.append(np.clip(np.sort(blurred.reshape(-1, 2, 2), axis=1).reshape(-1, 4), 0, 1).tolist())
            drawn.append(answers)
        return drawn


def overlap(a: list[float], b: list[float]) -> float:
    """Return the overlap of two boxes, in plain Python."""
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if wide <= 0 or high <= 0:
        return 0.0
    both = wide * high
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def loop(drawn: list[list[list[list[float]]]]) -> list[float]:
    """Compare all pairs of answers by a loop over their boxes."""
    found = []
    for answers in drawn:
        for left, right in combinations(answers, 2):
            table = np.array([[overlap(a, b) for b in right] for a in left]).reshape(len(left), len(right))
            found.append(assign(table))
    return found


def by_numpy(drawn: list[list[Any]]) -> list[float]:
    """Compare all pairs of answers with the overlaps by numpy."""
    found = []
    for answers in drawn:
        for one, other in combinations([np.array(boxes).reshape(-1, 4) for boxes in answers], 2):
            corner = np.maximum(one[:, None, :2], other[None, :, :2])
            sides = np.clip(np.minimum(one[:, None, 2:], other[None, :, 2:]) - corner, 0, None)
            both = sides.prod(axis=2)
            area, rest = ((each[:, 2:] - each[:, :2]).prod(axis=1) for each in (one, other))
            found.append(assign(both / (area[:, None] + rest[None] - both)))
    return found


def assign(table: Any) -> float:
    """Return the distance from the overlaps of two answers."""
    table = np.where(table >= _CUT, table, 0.0)
    size = sum(table.shape)
    return 1 - 2 * float(table[linear_sum_assignment(table, maximize=True)].sum()) / size if size else 0.0


def measure_distances(block: Block, encoding: Any) -> list[float]:
    """Compare all pairs of answers as this package does."""
    domain, labels = encoding.domain, list(block.label)
    store = domain._pack(labels)
    stored = replace(block, label=np.arange(len(labels)))
    members = list_members(stored, store)
    edges = domain._meet(members)
    pair = number_pairs(stored, members, edges)
    pairs = PairDistances.of(stored, lambda i, j: domain._measure(members, edges, pair, i, j))
    found: list[float] = pairs.distance[: len(pairs.distance) // 2].tolist()
    return found


def fuse_all(block: Block, encoding: Any) -> None:
    """Group and fuse all boxes as this package does."""
    encoding.kernels.aggregate(encoding.prepare(block), np.ones(block.n_workers), np.ones(block.n_workers), ties=Ties())


def fuse_each(drawn: list[list[Any]], fusion: Callable[..., Any]) -> None:
    """Fuse the boxes of each picture as ensemble-boxes does."""
    for answers in drawn:
        seen = [boxes for boxes in answers if boxes]
        fusion(seen, [[1.0] * len(b) for b in seen], [[0] * len(b) for b in seen], iou_thr=0.55, skip_box_thr=0.0)


def main() -> int:
    """Print the ratios; return 1 if a bar is missed."""
    try:
        from ensemble_boxes import weighted_boxes_fusion as fusion
    except ImportError:
        fusion = None
    missed = 0
    for crowd in (Crowd(10, 1000, 10, 12, 4, 6), Crowd(10, 100, 50, 20, 1.5, 6), Crowd(5, 1000, 3, 1, 1, 2.5)):
        drawn = crowd.draw()
        rows = [(w, t, boxes) for t, answers in enumerate(drawn) for w, boxes in enumerate(answers)]
        answers = allalike.read(rows, domain="boxes")
        [block] = answers.blocks(len(rows))
        ours = measure_distances(block, answers.encoding)
        assert np.allclose(loop(drawn[:20]), ours[: len(loop(drawn[:20]))], rtol=0, atol=1e-12)
        fast = cpu(partial(measure_distances, block, answers.encoding), 3)
        slow, medium = cpu(partial(loop, drawn), 1), cpu(partial(by_numpy, drawn), 1)
        figures = {"loop": slow / fast, "numpy": medium / fast}
        if fusion is not None:
            whole = cpu(partial(fuse_all, block, answers.encoding), 3)
            figures["fusion"] = cpu(partial(fuse_each, drawn, fusion), 1) / whole
        missed += sum(ratio < getattr(crowd, name) for name, ratio in figures.items())
        told = ", ".join(f"{name} {ratio:.1f} (at least {getattr(crowd, name)})" for name, ratio in figures.items())
        print(f"{crowd.workers} workers, {crowd.pictures} pictures, {crowd.boxes} boxes: {told}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
