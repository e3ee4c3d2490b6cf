"""Measure parts against their bars: packing, drawing crowds, and refusing what is too long.

Ratios are of CPU time, taken in one run; seconds are CPU seconds. The program ends with an error if a bar is missed.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import allalike
from allalike import Text
from allalike._core.system.processes import pack, unpack
from allalike.errors import LabelError
from allalike.simulation import simulate
from measuring import cpu

if TYPE_CHECKING:
    from collections.abc import Iterator

MODELS = ("real SYN.N", "k=4 SYN", "two-coin", "ranking SYN.N", "intervals")
LENGTH = 100_000  # of arrays that are packed


def packing_ratios() -> tuple[float, float]:
    """Return what packing and unpacking arrays like those of a block costs, of what copying them costs."""
    rng = np.random.default_rng(0)
    arrays = [
        np.arange(0, LENGTH + 1, 10),
        np.tile(np.arange(10, dtype=np.int32), LENGTH // 10),
        rng.integers(0, 4, LENGTH),
        np.sort(rng.integers(0, LENGTH // 2, LENGTH)),
        rng.integers(0, 4, LENGTH // 3).astype(np.int32),
    ]
    data = pack(arrays)
    copying = cpu(lambda: [array.copy() for array in arrays], 15)
    return cpu(lambda: pack(arrays), 15) / copying, cpu(lambda: unpack(data), 15) / copying


def draw(name: str) -> None:
    """Draw a million answers."""
    drawn = simulate(name, workers=1000, tasks=100_000, answers_per_task=10).drawn
    assert len(drawn.label) == 1_000_000


def refuse(distance: str) -> None:
    """Compare texts of which one is far too long."""
    rows = [("ada", 1, "short"), ("bob", 1, "word " * 1_000_000)]
    with suppress(LabelError):
        allalike.discover(rows, domain=Text(distance=distance))
        raise AssertionError("a text of five megabytes was compared")


def figures() -> Iterator[tuple[str, float, float]]:
    """Yield what is measured, its figure and its bar."""
    packing, unpacking = packing_ratios()
    yield "packing arrays / copying them", packing, 20.0
    yield "unpacking arrays / copying them", unpacking, 6.0
    for name in MODELS:
        yield f"seconds for a million answers of {name}", cpu(partial(draw, name)), 3.0
    for distance in Text.distances:
        yield f"seconds to refuse a text of 5 MB by {distance}", cpu(partial(refuse, distance)), 2.0


def main() -> None:
    """Measure, print and judge."""
    missed = 0
    print("parts, CPU")
    for name, figure, bar in figures():
        missed += figure > bar
        print(f"  {'missed' if figure > bar else 'kept  '}  {name:50s} {figure:8.3f}  (at most {bar:.3f})")
    sys.exit(f"{missed} bars missed" if missed else 0)


if __name__ == "__main__":
    main()
