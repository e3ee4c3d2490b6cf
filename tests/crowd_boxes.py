"""A crowd that draws boxes: good workers draw them almost right, bad workers blur, overlook and invent them."""

from __future__ import annotations

from typing import Any

import numpy as np

CLASSES = ["cat", "dog"]


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw up to three boxes for each worker and task; the first two workers answer everything."""
    rng = np.random.default_rng(seed)
    blur, care = rng.uniform(0.3, 3, n), rng.uniform(0.6, 0.95, n)
    truth = [rng.integers(0, 3, rng.integers(0, 4)) for _ in range(m)]  # the places of things, far from each other
    present = rng.random((n, m)) >= missing
    present[:2] = True
    rows = []
    for i, j in np.argwhere(present):
        seen = [place for place in truth[j] if rng.random() < care[i]]
        seen += [3] if rng.random() > care[i] else []
        boxes = sorted((_draw(rng, int(place), blur[i], care[i]) for place in seen), key=lambda box: box["x1"])
        rows.append((f"w{i:03d}", f"t{j:04d}", boxes))
    return rows


def _draw(rng: np.random.Generator, place: int, blur: float, care: float) -> dict[str, Any]:
    sides = np.array([0, 0, 10, 10]) + 20 * place + rng.normal(0, blur, 4).clip(-4, 4)
    name = CLASSES[place % 2] if rng.random() < care else CLASSES[1 - place % 2]
    return {**dict(zip(("x1", "y1", "x2", "y2"), sides.round(3).tolist(), strict=True)), "class": name}
