"""Things that a crowd sees: good workers almost all of them, bad workers overlook some and invent others."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Draw = Callable[[np.random.Generator, int, float, float], Any]


def look(
    seed: int, n: int, m: int, missing: float, blurs: tuple[float, float], draw: Draw
) -> Iterator[tuple[str, str, list[Any]]]:
    """Draw up to three things for each worker and task, far from each other; the first two workers answer everything.

    ``draw(rng, place, blur, care)`` draws one thing as a worker of such blur and care does.
    """
    rng = np.random.default_rng(seed)
    blur, care = rng.uniform(*blurs, n), rng.uniform(0.6, 0.95, n)
    truth = [rng.integers(0, 3, rng.integers(0, 4)) for _ in range(m)]
    present = rng.random((n, m)) >= missing
    present[:2] = True
    for i, j in np.argwhere(present):
        seen = [place for place in truth[j] if rng.random() < care[i]]
        seen += [3] if rng.random() > care[i] else []
        yield f"w{i:03d}", f"t{j:04d}", [draw(rng, int(place), blur[i], care[i]) for place in seen]
