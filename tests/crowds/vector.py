"""A crowd that gives points in space: good workers are close to the truth, bad workers far off."""

from typing import Any

import numpy as np


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw a vector of three numbers for each worker and task; the first two workers answer everything."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 3, (m, 3))
    points = truth + rng.uniform(0.1, 2, n)[:, None, None] * rng.standard_normal((n, m, 3))
    present = rng.random((n, m)) >= missing
    present[:2] = True
    return [(f"w{i:03d}", f"t{j:04d}", points[i, j].tolist()) for i, j in np.argwhere(present)]
