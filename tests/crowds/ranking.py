"""A crowd that ranks: good workers swap few neighbours, bad ones many."""

from typing import Any

import numpy as np


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw rankings; tasks have two to six items, partly their own, and the first two workers answer all of them."""
    rng = np.random.default_rng(seed)
    swaps = rng.uniform(0.0, 6.0, n)
    rows = []
    for task in range(m):
        own = rng.integers(0, 3)
        truth = rng.permutation([f"item{own + k}" for k in range(rng.integers(2, 7))])
        for worker in range(n):
            order = truth.tolist()
            for place in rng.integers(0, len(order) - 1, rng.poisson(swaps[worker])):
                order[place], order[place + 1] = order[place + 1], order[place]
            if worker < 2 or rng.random() >= missing:
                rows.append((f"w{worker:03d}", f"t{task:04d}", order))
    return rows
