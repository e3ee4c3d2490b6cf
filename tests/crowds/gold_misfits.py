"""Crowds with known truths that are written otherwise than the answers, each in a way of its own."""

from typing import Any, NamedTuple

import numpy as np

_WORKERS, _TASKS = 5, 30


class Misfit(NamedTuple):
    """Answers, known truths that do not fit them, and what says how these are meant."""

    rows: list[tuple[str, str, Any]]
    gold: dict[str, Any]
    gold_map: str


def _of_classes(labels: list[Any], written: list[Any], gold_map: str) -> Misfit:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, len(labels), _TASKS)
    said = np.where(rng.random((_WORKERS, _TASKS)) < 0.85, truth, rng.integers(0, len(labels), (_WORKERS, _TASKS)))
    rows = [(f"w{w}", f"t{t}", labels[said[w, t]]) for w in range(_WORKERS) for t in range(_TASKS)]
    return Misfit(rows, {f"t{t}": written[truth[t]] for t in range(_TASKS)}, gold_map)


MISFITS = {
    "counted from 0": _of_classes([1, 2, 3], [0, 1, 2], "0=1,1=2,2=3"),
    "in other words": _of_classes(["no", "yes"], ["0", "1"], "0=no,1=yes"),
    "swapped": _of_classes(["no", "yes"], ["yes", "no"], "no=yes,yes=no"),
}
