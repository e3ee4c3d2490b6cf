"""Crowds of one-coin workers, each of whom is right with a probability of her own."""

from typing import Any

import numpy as np

from allalike import Result
from crowds.samples import Row


def drawn(n: int, m: int, k: int, accuracy: Any, seed: int, share: float = 1.0) -> tuple[list[Row], dict[int, int]]:
    """Draw a crowd of one-coin workers."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=m)
    right = rng.random((n, m)) < np.broadcast_to(accuracy, n)[:, None]
    said = np.where(right, truth, (truth + rng.integers(1, k, (n, m))) % k)
    asked = rng.random((n, m)) < share
    return [(f"w{i:02d}", j, int(said[i, j])) for i, j in np.argwhere(asked).tolist()], dict(enumerate(truth.tolist()))


def error(result: Result, truth: dict[int, int]) -> float:
    return float((result.truth["label"] != result.truth["task"].map(truth)).mean())
