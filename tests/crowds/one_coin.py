"""Crowds of one-coin workers, each of whom is right with a probability of her own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike import Result
from crowds.samples import Row


def drawn(
    n: int, m: int, k: int, accuracy: Any, seed: int, share: float = 1.0, shares: Sequence[float] | None = None
) -> tuple[list[Row], dict[int, int]]:
    """Draw a crowd of one-coin workers; classes have equal shares, or these."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=m) if shares is None else rng.choice(k, m, p=shares)
    right = rng.random((n, m)) < np.broadcast_to(accuracy, n)[:, None]
    said = np.where(right, truth, (truth + rng.integers(1, k, (n, m))) % k)
    asked = rng.random((n, m)) < share
    return [(f"w{i:02d}", j, int(said[i, j])) for i, j in np.argwhere(asked).tolist()], dict(enumerate(truth.tolist()))


def draw_matrix(seed: int, n: int, m: int, k: int, worst: float) -> npt.NDArray[np.int64]:
    """Draw answers of workers from good to bad, in which each class occurs; -1 is missing."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, m)
    right = rng.random((n, m)) < np.linspace(0.9, worst, n)[:, None]
    matrix = np.where(right, truth, rng.integers(0, k, (n, m)))
    matrix[rng.random((n, m)) < 0.3] = -1
    matrix[:2] = np.maximum(matrix[:2], 0)
    matrix[0, :k] = np.arange(k)
    return matrix


def error(result: Result, truth: dict[int, int]) -> float:
    return float((result.truth["label"] != result.truth["task"].map(truth)).mean())
