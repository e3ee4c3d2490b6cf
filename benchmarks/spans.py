"""Measure spans and points against plain loops: ratios of CPU time, taken in one run.

Ten workers mark ten names in each of 10,000 documents, a little off and sometimes not at all. All distances between the
answers to a document are found once as this package does, and once by a loop over all pairs of spans with scipy's
assignment, over spans that are equal, or over sets of positions; the loop runs on a part of the documents, and its time
is scaled. Then the same with clicks in pictures. The program ends with an error if a bar is missed.
"""

from __future__ import annotations

import math
import sys
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

import allalike
from allalike import Points, Spans
from measuring import cpu
from objects import measure_distances

if TYPE_CHECKING:
    from collections.abc import Callable

Drawn = list[list[list[Any]]]  # of each document, each worker's objects

_WORKERS, _DOCUMENTS, _OBJECTS = 10, 10_000, 10
_LOOPED = 100  # documents of the plain loop
_BAR = 12.0
_RADIUS = 10.0


def mark(documents: int) -> Drawn:
    """Return the spans of each worker, document by document."""
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(documents):
        start = np.sort(rng.integers(0, 2000, _OBJECTS))
        end, tag = start + rng.integers(3, 20, _OBJECTS), rng.integers(0, 4, _OBJECTS)
        answers = []
        for _ in range(_WORKERS):
            begin = np.maximum(start + rng.integers(-2, 3, _OBJECTS) * (rng.random(_OBJECTS) < 0.2), 0)
            seen = rng.random(_OBJECTS) < 0.9
            answers.append([[int(a), int(b), "ABCD"[t]] for a, b, t, s in zip(begin, end, tag, seen, strict=True) if s])
        drawn.append(answers)
    return drawn


def click(documents: int) -> Drawn:
    """Return the clicks of each worker, picture by picture."""
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(documents):
        true = rng.uniform(0, 500, (_OBJECTS, 2))
        answers = [true[rng.random(_OBJECTS) < 0.9] for _ in range(_WORKERS)]
        drawn.append([(seen + rng.normal(0, 2, seen.shape)).tolist() for seen in answers])
    return drawn


def match(left: list[Any], right: list[Any], similarity: Callable[[Any, Any], float]) -> float:
    """Compare all pairs of objects, and match them."""
    if not left or not right:
        return float(bool(left) != bool(right))
    table = np.array([[similarity(one, other) for other in right] for one in left])
    return 1 - 2 * float(table[linear_sum_assignment(table, maximize=True)].sum()) / (len(left) + len(right))


def share(one: list[Any], other: list[Any]) -> float:
    """Return what two spans share of what they cover."""
    both = min(one[1], other[1]) - max(one[0], other[0])
    return both / (one[1] - one[0] + other[1] - other[0] - both) if both > 0 and one[2] == other[2] else 0.0


def near(one: list[float], other: list[float]) -> float:
    """Return how much nearer than the radius two points are."""
    return max(0.0, 1 - math.dist(one, other) / _RADIUS)


def equal(one: list[Any], other: list[Any]) -> float:
    """Tell whether two spans are the same."""
    return float(one == other)


def positions(left: list[Any], right: list[Any]) -> float:
    """Compare the sets of all pairs of a position and a tag."""
    one, other = ({(place, tag) for start, end, tag in spans for place in range(start, end)} for spans in (left, right))
    return 1 - len(one & other) / len(one | other) if one | other else 0.0


def loop(drawn: Drawn, compare: Callable[[list[Any], list[Any]], float]) -> list[float]:
    """Compare all pairs of answers one by one."""
    return [compare(left, right) for answers in drawn for left, right in combinations(answers, 2)]


def main() -> int:
    """Print the ratios; return 1 if the bar is missed."""
    missed = 0
    spans, points = mark(_DOCUMENTS), click(_DOCUMENTS)
    for drawn, domain, compare in (
        (spans, Spans(), partial(match, similarity=share)),
        (spans, Spans(distance="exact"), partial(match, similarity=equal)),
        (spans, Spans(distance="characters"), positions),
        (points, Points(radius=_RADIUS), partial(match, similarity=near)),
    ):
        rows = [(w, t, objects) for t, answers in enumerate(drawn) for w, objects in enumerate(answers)]
        answers = allalike.read(rows, domain=domain)
        [block] = answers.blocks(len(rows))
        ours, plain = measure_distances(block, answers.encoding), loop(drawn[:20], compare)
        assert np.allclose(plain, ours[: len(plain)], rtol=0, atol=1e-12)
        fast = cpu(partial(measure_distances, block, answers.encoding), 2)
        slow = cpu(partial(loop, drawn[:_LOOPED], compare), 1) * _DOCUMENTS / _LOOPED
        missed += slow / fast < _BAR
        print(f"{domain.name}, {domain.distance}: {fast:.2f} s, {slow / fast:.1f} times a loop (at least {_BAR:g})")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
