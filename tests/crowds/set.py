"""A crowd that names sets: good workers forget and invent few elements, bad workers many."""

from typing import Any

import numpy as np

ELEMENTS = [f"e{k:02d}" for k in range(12)]


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw a list of elements for each worker and task; the first two workers answer everything."""
    rng = np.random.default_rng(seed)
    truth = rng.random((m, len(ELEMENTS))) < 0.4
    wrong = rng.random((n, m, len(ELEMENTS))) < rng.uniform(0.02, 0.4, n)[:, None, None]
    named = truth ^ wrong
    present = rng.random((n, m)) >= missing
    present[:2] = True
    return [
        (f"w{i:03d}", f"t{j:04d}", [ELEMENTS[k] for k in np.flatnonzero(named[i, j])]) for i, j in np.argwhere(present)
    ]
