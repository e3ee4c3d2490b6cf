"""A crowd that says where things are: good workers are some kilometres off, bad workers hundreds."""

from typing import Any

import numpy as np


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw latitude and longitude for each worker and task; the first two workers answer everything."""
    rng = np.random.default_rng(seed)
    truth = np.stack([rng.uniform(-60, 60, m), rng.uniform(-180, 180, m)], axis=1)
    said = truth + rng.uniform(0.1, 3, n)[:, None, None] * rng.standard_normal((n, m, 2))
    present = rng.random((n, m)) >= missing
    present[:2] = True
    return [
        (f"w{i:03d}", f"t{j:04d}", [round(float(said[i, j, 0]), 4), round((float(said[i, j, 1]) + 180) % 360 - 180, 4)])
        for i, j in np.argwhere(present)
    ]
