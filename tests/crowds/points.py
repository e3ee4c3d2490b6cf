"""A crowd that clicks on things: good workers hit almost all of them, bad workers are far off, overlook and invent."""

from typing import Any

import numpy as np

from crowds.things import look

CLASSES = ["cell", "dirt"]


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw up to three points for each worker and task; the first two workers answer everything."""
    return [
        (worker, task, [dict(zip(("x", "y", "class"), click, strict=True)) for click in sorted(clicks)])
        for worker, task, clicks in look(seed, n, m, missing, (0.2, 2.5), _click)
    ]


def _click(rng: np.random.Generator, place: int, blur: float, care: float) -> tuple[float, float, str]:
    name = CLASSES[place % 2] if rng.random() < care else CLASSES[1 - place % 2]
    x, y = (round(float(20 * place + off), 3) for off in rng.normal(0, blur, 2))
    return x, y, name
