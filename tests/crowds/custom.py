"""A crowd that reads words of six letters; words are as far apart as the share of letters that differ."""

from typing import Any

import numpy as np


def distance(left: str, right: str) -> float:
    return sum(a != b for a, b in zip(left, right, strict=True)) / len(left)


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 26, (m, 6))
    errs = rng.random((n, m, 6)) < rng.uniform(0.05, 0.7, n)[:, None, None]
    read = np.where(errs, rng.integers(0, 26, (n, m, 6)), words)
    present = rng.random((n, m)) >= missing
    present[:2] = True
    return [
        (f"w{i:03d}", f"t{j:04d}", "".join(chr(97 + letter) for letter in read[i, j])) for i, j in np.argwhere(present)
    ]
