"""Forms of points: what tools call coordinates and classes, and the key points of COCO.

A bare point is a list of its coordinates, perhaps with a class behind them, which then is a text; on one axis a number
will do. COCO writes the points of a body in one row, ``x, y, v`` for each, and says elsewhere what each is called; v is
0 where a point was not found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.system.json_text import parse_json
from allalike._core.words import count
from allalike.domains.lists import json_list
from allalike.domains.things.parts import read_class, read_number

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AXES", "is_point", "list_points", "name_form", "read_keypoints", "read_point"]

AXES = ("x", "y", "z")
CLASS_KEYS = ("class", "label", "keypointlabels", "tool", "name", "category", "category_id")

_KEYPOINTS = "keypoints"
_BOXES = ({"width", "height"}, {"x2"}, {"bbox"})  # keys of what is no point


def is_point(value: Any) -> bool:
    """Tell whether an object has the keys of a point in two dimensions or more, and not those of a box.

    >>> is_point({"x": 1, "y": 2, "tool": 0}), is_point({"x": 1, "y": 2, "width": 3, "height": 4})
    (True, False)
    """
    return isinstance(value, dict) and {"x", "y"} <= set(value) and not any(keys <= set(value) for keys in _BOXES)


def list_points(value: Any, names: Sequence[str] | None) -> list[Any]:
    """Return the points of an answer as they are written, or raise ValueError with the reason.

    >>> list_points("[[1, 2], [3, 4]]", None), list_points([3.5], None)
    ([[1, 2], [3, 4]], [3.5])
    >>> list_points({"keypoints": [1, 2, 2, 0, 0, 0]}, ["nose", "chin"])
    [[1, 2, 'nose']]
    """
    if isinstance(value, str):
        value = parse_json(value) if value.lstrip().startswith("{") else json_list(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple) and len(value) == 1 and isinstance(value[0], dict) and _KEYPOINTS in value[0]:
        value = value[0]
    if isinstance(value, dict) and _KEYPOINTS in value:
        return read_keypoints(value[_KEYPOINTS], names)
    if not isinstance(value, list | tuple):
        raise ValueError("it must be a list, of which each element is a point")
    flat = names is not None and len(value) > 0 and all(isinstance(each, int | float) for each in value)
    return read_keypoints(value, names) if flat else list(value)


def read_keypoints(row: Any, names: Sequence[str] | None) -> list[Any]:
    """Return the points of a row ``x, y, v, x, y, v, ...``, each with its name, without those that are absent.

    >>> read_keypoints([1, 2, 2, 0, 0], ["nose", "chin"])
    Traceback (most recent call last):
    ValueError: 2 names need 6 numbers x, y, v, and these are 5
    """
    if names is None:
        raise ValueError("what the keypoints are called is not said; say it with names=['nose', ...]")
    if not isinstance(row, list | tuple) or len(row) != 3 * len(names):
        given = len(row) if isinstance(row, list | tuple) else "none"
        raise ValueError(f"{len(names)} names need {3 * len(names)} numbers x, y, v, and these are {given}")
    places = zip(row[::3], row[1::3], row[2::3], names, strict=True)
    return [[x, y, name] for x, y, v, name in places if read_number(v) > 0]


def name_form(things: Sequence[Any]) -> str:
    """Say how many coordinates the first point of an answer has; an empty one may have any number.

    >>> name_form([[1, 2, "cell"]]), name_form([3.5, 7.0]), name_form([{"x": 1, "y": 2, "z": 3}]), name_form([])
    ('in 2 dimensions', 'in 1 dimension', 'in 3 dimensions', '')
    """
    if not things:
        return ""
    return f"in {count(len(read_point(things[0])[0]), 'dimension')}"


def read_point(value: Any) -> tuple[tuple[float, ...], Any]:
    """Return the coordinates and the class of a point, or raise ValueError with the reason.

    >>> read_point([1, 2, "cell"]), read_point(3.5), read_point({"x": 1, "y": 2, "keypointlabels": ["nose"]})
    (((1.0, 2.0), 'cell'), ((3.5,), None), ((1.0, 2.0), 'nose'))
    """
    if isinstance(value, dict):
        return _read_keys(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return (read_number(value),), None
    name = None
    if len(value) > 1 and (value[-1] is None or isinstance(value[-1], str)):
        *value, name = value
    if not value:
        raise ValueError("a point without coordinates is nowhere")
    return tuple(map(read_number, value)), None if name is None else read_class(name)


def _read_keys(point: dict[str, Any]) -> tuple[tuple[float, ...], Any]:
    axes = [axis for axis in AXES if axis in point]
    if axes != list(AXES[: max(len(axes), 1)]):
        raise ValueError(f"the object {point!r} has no coordinates, which are called x, y and z")
    name = next((point[key] for key in CLASS_KEYS if point.get(key) is not None), None)
    if isinstance(name, list | tuple):
        if len(name) != 1:
            raise ValueError(f"a point must have one class, and this has {len(name)}: {name!r}")
        name = name[0]
    return tuple(read_number(point[axis]) for axis in axes), None if name is None else read_class(name)
