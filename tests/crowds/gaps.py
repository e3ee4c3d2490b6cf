"""Rankings with ties and gaps; some workers answer a task twice."""

from typing import Any

import numpy as np


def ranked(seed: int = 0, n: int = 6, m: int = 8, repeated: bool = False) -> list[tuple[str, str, Any]]:
    """Draw ranks of some of five items, of which neighbours may be tied."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[str, str, Any]] = []
    for task in range(m):
        for worker in range(n):
            for _ in range(1 + (repeated and bool(rng.random() < 0.4))):
                seen = rng.permutation(5)[: rng.integers(2, 6)]
                noisy = seen + rng.normal(0, 0.3 + worker / 2, len(seen))
                ranks = {f"i{item}": round(place) for item, place in zip(seen, noisy, strict=True)}
                rows.append((f"w{worker}", f"t{task}", ranks))
    return rows
