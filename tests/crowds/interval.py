"""A crowd that marks intervals: good workers put boundaries almost right, bad workers far off."""

from typing import Any

import numpy as np


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw one to three intervals for each worker and task; the first two workers answer everything."""
    rng = np.random.default_rng(seed)
    blur = rng.uniform(1, 25, n)
    truth = [np.sort(rng.choice(400, 2 * rng.integers(1, 4), replace=False)) for _ in range(m)]
    present = rng.random((n, m)) >= missing
    present[:2] = True
    rows = []
    for i, j in np.argwhere(present):
        bounds = np.sort(np.rint(truth[j] + rng.normal(0, blur[i], len(truth[j]))).astype(int))
        rows.append((f"w{i:03d}", f"t{j:04d}", bounds.reshape(-1, 2).tolist()))
    return rows
