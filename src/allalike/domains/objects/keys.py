"""Keys that identify boxes, points and spans among labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from allalike._core.lazy_imports import late_pattern

BOX_KEYS = {
    ("bbox",): "xywh",
    ("x1", "y1", "x2", "y2"): "xyxy",
    ("xmin", "ymin", "xmax", "ymax"): "xyxy",
    ("left", "top", "right", "bottom"): "xyxy",
    ("x", "y", "width", "height"): "xywh",
}
BOX_CLASS_KEYS = ("class", "label", "category", "category_id", "rectanglelabels")
_BOXES = ({"width", "height"}, {"x2"}, {"bbox"})  # keys that exclude points
SPAN_KEYS = (("start", "end"), ("start_offset", "end_offset"))
TAG = late_pattern(r"O|([BIELSUM])(?:-(.+))?", re.DOTALL)


def is_box(value: Any) -> bool:
    """Return whether an object has the keys of a box."""
    return isinstance(value, dict) and any(set(keys) <= set(value) for keys in BOX_KEYS)


def is_point(value: Any) -> bool:
    """Return whether an object has the keys of a point in two or more dimensions, but not those of a box."""
    return isinstance(value, dict) and {"x", "y"} <= set(value) and not any(keys <= set(value) for keys in _BOXES)


def is_span(value: Any) -> bool:
    """Return whether an object has the keys of a span."""
    return isinstance(value, dict) and any(set(keys) <= set(value) for keys in SPAN_KEYS)


def are_tags(values: Sequence[Any]) -> bool:
    """Return whether a sequence consists of token tags.

    >>> are_tags(["O", "B-PER", "I-PER"]), are_tags(["B-PER", "cat"]), are_tags([])
    (True, False, False)
    """
    return bool(values) and all(isinstance(value, str) and TAG.fullmatch(value) for value in values)
