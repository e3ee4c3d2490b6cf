"""A crowd that estimates numbers."""

from typing import Any

import numpy as np

from crowds.errors import draw_gaussian


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    rng = np.random.default_rng(seed)
    matrix = draw_gaussian(rng.normal(0, 2, m), rng.uniform(0.1, 2, n), seed)
    present = rng.random((n, m)) >= missing
    present[:2] = True
    return [(f"w{i:03d}", f"t{j:04d}", float(matrix[i, j])) for i, j in np.argwhere(present)]
