"""A crowd that clicks on things: good workers hit almost all of them, bad workers are far off, overlook and invent."""

from __future__ import annotations

from typing import Any

import numpy as np

CLASSES = ["cell", "dirt"]


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw up to three points for each worker and task; the first two workers answer everything."""
    rng = np.random.default_rng(seed)
    blur, care = rng.uniform(0.2, 2.5, n), rng.uniform(0.6, 0.95, n)
    truth = [rng.integers(0, 3, rng.integers(0, 4)) for _ in range(m)]  # the places of things, far from each other
    present = rng.random((n, m)) >= missing
    present[:2] = True
    rows = []
    for i, j in np.argwhere(present):
        seen = [place for place in truth[j] if rng.random() < care[i]]
        seen += [3] if rng.random() > care[i] else []
        clicks = sorted(_click(rng, int(place), blur[i], care[i]) for place in seen)
        rows.append((f"w{i:03d}", f"t{j:04d}", [dict(zip(("x", "y", "class"), c, strict=True)) for c in clicks]))
    return rows


def _click(rng: np.random.Generator, place: int, blur: float, care: float) -> tuple[float, float, str]:
    name = CLASSES[place % 2] if rng.random() < care else CLASSES[1 - place % 2]
    x, y = (round(float(20 * place + off), 3) for off in rng.normal(0, blur, 2))
    return x, y, name
