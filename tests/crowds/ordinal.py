"""A crowd that rates on a scale of five levels: a worker's rating is the truth plus an error of hers, rounded."""

from typing import Any

import numpy as np


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw a level from 1 to 5 for each worker and task; the first two workers answer everything."""
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0.3, 2, n)[:, None] * rng.standard_normal((n, m))
    levels = np.clip(np.rint(rng.integers(1, 6, m) + noise), 1, 5)
    present = rng.random((n, m)) >= missing
    present[:2] = True
    return [(f"w{i:03d}", f"t{j:04d}", int(levels[i, j])) for i, j in np.argwhere(present)]
