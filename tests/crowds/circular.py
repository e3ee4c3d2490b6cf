"""A crowd that tells directions in degrees: good workers are close to the truth, bad workers far off."""

from typing import Any

import numpy as np


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw a direction for each worker and task; the first two workers answer everything."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0, 360, m)
    said = (truth + rng.uniform(5, 70, n)[:, None] * rng.standard_normal((n, m))) % 360
    present = rng.random((n, m)) >= missing
    present[:2] = True
    return [(f"w{i:03d}", f"t{j:04d}", round(float(said[i, j]), 3)) for i, j in np.argwhere(present)]
