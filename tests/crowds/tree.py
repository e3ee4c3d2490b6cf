"""A crowd that names classes in a tree: bad workers name others, and some stop early."""

from typing import Any

import numpy as np

ANIMALS = ["animal/bird/owl", "animal/bird/swan", "animal/cat/lynx"]
LEAVES = [*ANIMALS, "plant/rose/wild", "plant/tree/oak", "plant/tree/fir"]


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw a class for each worker and task; the first two workers answer everything."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(len(LEAVES), size=m)
    errs = rng.random((n, m)) < rng.uniform(0.05, 0.5, n)[:, None]
    said = np.where(errs, rng.integers(len(LEAVES), size=(n, m)), truth)
    depth = rng.choice([1, 2, 3], p=[0.1, 0.2, 0.7], size=(n, m))
    present = rng.random((n, m)) >= missing
    present[:2] = True
    return [
        (f"w{i:03d}", f"t{j:04d}", "/".join(LEAVES[said[i, j]].split("/")[: depth[i, j]]))
        for i, j in np.argwhere(present)
    ]
