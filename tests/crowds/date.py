"""A crowd that dates letters: good workers are some days off, bad workers months."""

from datetime import date, timedelta
from typing import Any

import numpy as np

FIRST = date(1899, 11, 20)


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw a date for each worker and task; the first two workers answer everything."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 40_000, m)
    said = np.rint(truth + rng.uniform(1, 60, n)[:, None] * rng.standard_normal((n, m))).astype(int)
    present = rng.random((n, m)) >= missing
    present[:2] = True
    return [
        (f"w{i:03d}", f"t{j:04d}", (FIRST + timedelta(days=int(said[i, j]))).isoformat())
        for i, j in np.argwhere(present)
    ]
