"""A crowd that gives the probabilities of two or three options, as mappings: good workers are close to the truth."""

from typing import Any

import numpy as np


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw a forecast for each worker and task; the first two workers answer everything."""
    rng = np.random.default_rng(seed)
    truth, noise = rng.normal(0, 1.5, (m, 3)), rng.uniform(0.1, 1.5, n)[:, None, None]
    chances = np.exp(truth + noise * rng.standard_normal((n, m, 3)))
    chances[:, ::3, 2] = 0.0  # every third task has two options only
    chances /= chances.sum(axis=2, keepdims=True)
    present = rng.random((n, m)) >= missing
    present[:2] = True
    return [(f"w{i:03d}", f"t{j:04d}", _named(chances[i, j].tolist())) for i, j in np.argwhere(present)]


def _named(chances: list[float]) -> dict[str, float]:
    return dict(zip("abc", chances if chances[2] else chances[:2], strict=False))
