"""A crowd that tells two classes apart."""

from typing import Any

import numpy as np

from crowds.errors import draw_one_coin


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    rng = np.random.default_rng(seed)
    matrix = draw_one_coin(rng.integers(0, 2, m), rng.uniform(0.05, 0.45, n), seed, classes=2)
    present = rng.random((n, m)) >= missing
    present[:2] = True
    return [(f"w{i:03d}", f"t{j:04d}", int(matrix[i, j])) for i, j in np.argwhere(present)]
