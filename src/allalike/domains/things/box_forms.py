"""Forms of boxes: what tools call the sides of a rectangle and its class.

Bare lists mean what the option ``form`` says. Objects say by their keys what they mean, and ``bbox`` is what COCO means
by it: a corner, the width and the height.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.domains.things.parts import read_class, read_number

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BOX_KEYS", "CLASS_KEYS", "FORMS", "is_box", "name_form", "read_box"]

FORMS = ("xyxy", "xywh", "cxcywh")
BOX_KEYS = {
    ("bbox",): "xywh",
    ("x1", "y1", "x2", "y2"): "xyxy",
    ("xmin", "ymin", "xmax", "ymax"): "xyxy",
    ("left", "top", "right", "bottom"): "xyxy",
    ("x", "y", "width", "height"): "xywh",
}
CLASS_KEYS = ("class", "label", "category", "category_id", "rectanglelabels")


def is_box(value: Any) -> bool:
    """Tell whether an object has the keys of a box.

    >>> is_box({"bbox": [0, 0, 2, 1], "label": "cat"}), is_box({"x": 1, "y": 2})
    (True, False)
    """
    return isinstance(value, dict) and any(set(keys) <= set(value) for keys in BOX_KEYS)


def name_form(things: Sequence[Any], form: str) -> str:
    """Name the form in which boxes are written, or raise ValueError if there are several; nothing if there is none.

    >>> name_form([[0, 0, 2, 1]], "xywh"), name_form([{"bbox": [0, 0, 2, 1]}], "xyxy"), name_form([], "xyxy")
    ('[x, y, width, height]', 'bbox', '')
    """
    names = {_name(thing, form) for thing in things}
    if len(names) > 1:
        raise ValueError(f"its boxes are written in different forms: {' and '.join(sorted(names))}")
    return next(iter(names), "")


def _name(thing: Any, form: str) -> str:
    if isinstance(thing, dict):
        return next((" ".join(keys) for keys in BOX_KEYS if set(keys) <= set(thing)), "an object")
    if len(_listed(thing)) in (2, 3) and not isinstance(thing[0], int | float):
        return "two corners"
    return {"xyxy": "[x1, y1, x2, y2]", "xywh": "[x, y, width, height]"}.get(form, "[cx, cy, width, height]")


def read_box(value: Any, form: str) -> tuple[tuple[float, ...], Any]:
    """Return the sides x1, y1, x2, y2 and the class of a box, or raise ValueError with the reason.

    >>> read_box([1, 2, 3, 5, "cat"], "xyxy")
    ((1.0, 2.0, 3.0, 5.0), 'cat')
    >>> read_box({"bbox": [1, 2, 3, 5], "category_id": 7}, "xyxy")
    ((1.0, 2.0, 4.0, 7.0), 7)
    >>> read_box([0, 5, 5, 2, 2], "cxcywh")
    ((4.0, 4.0, 6.0, 6.0), 0)
    """
    if isinstance(value, dict):
        return _read_keys(value)
    numbers, name = _take_apart(_listed(value), form)
    return _sides([read_number(number) for number in numbers], form, bare=True), name


def _listed(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        raise ValueError(f"a box must be a list or an object, and {value!r} is none")
    return list(value)


def _take_apart(box: list[Any], form: str) -> tuple[list[Any], Any]:
    """Return the four numbers and the class of a bare list."""
    if len(box) in (2, 3) and all(isinstance(corner, list | tuple | np.ndarray) for corner in box[:2]):
        if form != "xyxy":
            raise ValueError(f"the box {box!r} has two corners, and form is {form}")
        box = [*box[0], *box[1], *box[2:]]
    if len(box) == 5 and form == "cxcywh":  # a line of YOLO has the class in front, ours have it behind
        box = [*box[1:], box[0]] if not isinstance(box[4], str) else box
    if len(box) not in (4, 5):
        raise ValueError(f"a box has four numbers, and perhaps a class behind them; {box!r} has not")
    return box[:4], read_class(box[4]) if len(box) == 5 else None


def _read_keys(box: dict[str, Any]) -> tuple[tuple[float, ...], Any]:
    keys = next((keys for keys in BOX_KEYS if set(keys) <= set(box)), None)
    if keys is None:
        known = ", ".join(" ".join(each) for each in BOX_KEYS)
        raise ValueError(f"the object {box!r} has no sides of a box, which are called {known}")
    numbers = _listed(box["bbox"]) if keys == ("bbox",) else [box[key] for key in keys]
    if len(numbers) != 4:
        raise ValueError(f"bbox must be [x, y, width, height], and {numbers!r} is not")
    if turned := box.get("rotation"):
        raise ValueError(f"the box is turned by {turned!r} degrees, and only upright boxes can be compared")
    return _sides([read_number(number) for number in numbers], BOX_KEYS[keys], bare=False), _class_of(box)


def _class_of(box: dict[str, Any]) -> Any:
    """Return the one class of an object, or None."""
    named = [box[key] for key in CLASS_KEYS if box.get(key) is not None]
    if not named:
        return None
    name = named[0]
    if isinstance(name, list | tuple):
        if len(name) != 1:
            raise ValueError(f"a box must have one class, and this has {len(name)}: {name!r}")
        name = name[0]
    return read_class(name)


def _sides(numbers: list[float], form: str, *, bare: bool) -> tuple[float, ...]:
    one, two, three, four = numbers
    if form != "xyxy" and (three < 0 or four < 0):
        raise ValueError(f"the box {numbers!r} has a width or height below 0")
    if form == "xywh":
        return one, two, one + three, two + four
    if form == "cxcywh":
        return one - three / 2, two - four / 2, one + three / 2, two + four / 2
    if three < one or four < two:
        hint = ": this looks like [x, y, width, height]: say form=xywh" if bare else ""
        raise ValueError(f"the box {numbers!r} ends before it starts{hint}")
    return one, two, three, four
