"""A crowd that marks names in texts: good workers mark almost all of them, bad workers blur, overlook and invent."""

from typing import Any

import numpy as np

TAGS = ["LOC", "PER"]


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw up to three spans for each worker and task; the first two workers answer everything."""
    rng = np.random.default_rng(seed)
    care = rng.uniform(0.55, 0.95, n)
    truth = [rng.integers(0, 3, rng.integers(0, 4)) for _ in range(m)]  # the places of names, far from each other
    present = rng.random((n, m)) >= missing
    present[:2] = True
    rows = []
    for i, j in np.argwhere(present):
        seen = [place for place in truth[j] if rng.random() < care[i]]
        seen += [3] if rng.random() > care[i] else []
        marks = sorted(_mark(rng, int(place), care[i]) for place in seen)
        rows.append((f"w{i:03d}", f"t{j:04d}", [dict(zip(("start", "end", "class"), m, strict=True)) for m in marks]))
    return rows


def _mark(rng: np.random.Generator, place: int, care: float) -> tuple[int, int, str]:
    blur = rng.integers(-3, 4, 2) * (rng.random(2) > care)
    name = TAGS[place % 2] if rng.random() < care else TAGS[1 - place % 2]
    return int(20 * place + 3 + blur[0]), int(20 * place + 13 + blur[1]), name
