"""A crowd that fills in forms: a colour, a size and some tags; good workers err in few fields, bad ones in many."""

from typing import Any

import numpy as np

COLOURS = ("red", "green", "blue", "black")
TAGS = ("new", "old", "rare", "sold")
FIELDS = {"colour": "categorical", "size": "real", "tags": "set"}


def answers(seed: int, n: int, m: int, missing: float) -> list[tuple[str, str, Any]]:
    """Draw a record for each worker and task; where answers are missing, so are a third of the sizes."""
    rng = np.random.default_rng(seed)
    colour, size, tags = rng.integers(4, size=m), rng.normal(20, 5, m).round(1), rng.random((m, 4)) < 0.5
    fault = rng.uniform(0.05, 0.6, n)[:, None]
    said = np.where(rng.random((n, m)) < fault, rng.integers(4, size=(n, m)), colour)
    measured = (size + fault * rng.normal(0, 4, (n, m))).round(1)
    named = tags ^ (rng.random((n, m, 4)) < fault[..., None] / 2)
    present = rng.random((n, m)) >= missing
    present[:2] = True
    empty = rng.random((n, m)) < (1 / 3 if missing else 0.0)
    return [
        (
            f"w{i:03d}",
            f"t{j:04d}",
            {
                "colour": COLOURS[said[i, j]],
                **({} if empty[i, j] else {"size": float(measured[i, j])}),
                "tags": [TAGS[k] for k in np.flatnonzero(named[i, j])],
            },
        )
        for i, j in np.argwhere(present)
    ]
