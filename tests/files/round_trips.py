"""Results written for a tool, and read again."""

from pathlib import Path
from typing import Any

import numpy as np

import allalike
from allalike.result.result import Result

NUMBERS = ("start", "end", "x1", "y1", "x2", "y2")


def truths(found: Result) -> dict[str, Any]:
    """Return labels by task; of objects their numbers, as far as rounding leaves them, and their classes."""

    def plain(label: Any) -> Any:
        if isinstance(label, np.ndarray):
            return label.tolist()
        if isinstance(label, list) and label and isinstance(label[0], dict):
            return [[*(round(each[key], 6) for key in NUMBERS if key in each), each.get("class")] for each in label]
        return label

    return {str(task): plain(label) for task, label in zip(found.truth["task"], found.truth["label"], strict=True)}


def written(found: Result, folder: Path, to: str) -> Path:
    """Save a result for a tool, and return the folder with what is for the tool."""
    found.save(folder / "out", to=to)
    return folder / "out" / to.partition("(")[0]


def again(path: Path | list[Path], like: Result, **how: Any) -> dict[str, Any]:
    """Return the truths of a file that was written, which is one worker's."""
    return truths(allalike.discover(path, domain=like.run.domain, method="UA", **how))


def mask(*rows: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.array([[mark == "#" for mark in row] for row in rows])
