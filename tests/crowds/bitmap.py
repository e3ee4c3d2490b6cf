"""A crowd that draws masks."""

from typing import Any

import numpy as np
import numpy.typing as npt


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw discs with a shift and with stray pixels, more of both for bad workers; the first two always answer."""
    rng = np.random.default_rng(seed)
    badness = rng.uniform(0, 1, n) ** 2
    rows = []
    for task in range(m):
        height, width = rng.integers(12, 30, 2)
        centre, radius = rng.uniform(0.35, 0.65, 2) * (height, width), rng.uniform(0.2, 0.4) * min(height, width)
        for worker in range(n):
            shift = badness[worker] * rng.normal(0, 3, 2)
            mask = disc(height, width, centre + shift, radius)
            stray = rng.random(mask.shape) < 0.1 * badness[worker]
            if worker < 2 or rng.random() >= missing:
                rows.append((f"w{worker:03d}", f"t{task:04d}", mask ^ stray))
    return rows


def disc(height: int, width: int, centre: npt.ArrayLike, radius: float) -> npt.NDArray[np.bool_]:
    """Return a table of pixels, on within a circle."""
    row, column = np.ogrid[:height, :width]
    top, left = np.asarray(centre)
    inside: npt.NDArray[np.bool_] = (row - top) ** 2 + (column - left) ** 2 <= radius**2
    return inside
