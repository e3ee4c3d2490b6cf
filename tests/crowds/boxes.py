"""A crowd that draws boxes: good workers draw them almost right, bad workers blur, overlook and invent them."""

from typing import Any

import numpy as np

from crowds.things import look

CLASSES = ["cat", "dog"]


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw up to three boxes for each worker and task; the first two workers answer everything."""
    return [
        (worker, task, sorted(boxes, key=lambda box: box["x1"]))
        for worker, task, boxes in look(seed, n, m, missing, (0.3, 3), _draw)
    ]


def _draw(rng: np.random.Generator, place: int, blur: float, care: float) -> dict[str, Any]:
    sides = np.array([0, 0, 10, 10]) + 20 * place + rng.normal(0, blur, 4).clip(-4, 4)
    name = CLASSES[place % 2] if rng.random() < care else CLASSES[1 - place % 2]
    return {**dict(zip(("x1", "y1", "x2", "y2"), sides.round(3).tolist(), strict=True)), "class": name}
