"""Boxes: rectangles around objects in an image, with optional classes.

    s(a, b) = area of both / area of either (IoU);   1 for identical boxes without area, else 0

The estimated position of an object is the weighted mean of its drawings, separately for each side. This
position does not depend on the units of an axis, as long as all answers for an image use the same units. The distance
between two answers is

    f1:       d(A, B) = 1 - 2 M / (|A| + |B|)
    jaccard:  d(A, B) = (|A| + |B| - 2 M) / (|A| + |B| - M)
    count:    d(A, B) = ||A| - |B|| / max(|A|, |B|)

where M is the largest sum of s over one-to-one matches of boxes of the same class (`allalike.distances.matching`).

Boxes work for objects that are well separated. They fail for heavily overlapping objects, such as people in a crowd,
because boxes of two objects are merged. They also fail for tiny objects whose boxes do not overlap (use
`allalike.Points`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from allalike._core.blocks.block import Array, Floats
from allalike._core.options import choice
from allalike.distances.matching import Members, sweep
from allalike.domains.objects.keys import BOX_CLASS_KEYS, BOX_KEYS
from allalike.domains.objects.objects import Objects, class_of, read_coordinate
from allalike.domains.spelling import read_list, read_name

FORMS = ("xyxy", "xywh", "cxcywh")


def read_box(value: Any, form: str) -> tuple[tuple[float, ...], Any]:
    """Parse the sides x1, y1, x2, y2 and the class of a box, or raise ValueError with the reason."""
    if isinstance(value, dict):
        return _read_keys(value)
    numbers, name = _take_apart(_listed(value), form)
    return _sides([read_coordinate(number) for number in numbers], form, bare=True), name


def _listed(value: Any) -> list[Any]:
    return read_list(None if isinstance(value, str) else value, f"a box must be a list or an object, not {value!r}")


def _take_apart(box: list[Any], form: str) -> tuple[list[Any], Any]:
    """Return the four numbers and the class of a plain list."""
    if len(box) in (2, 3) and all(isinstance(corner, list | tuple | np.ndarray) for corner in box[:2]):
        if form != "xyxy":
            raise ValueError(f"the box {box!r} has two corners, but form is {form}; set form=xyxy")
        box = [*box[0], *box[1], *box[2:]]
    if len(box) == 5 and form == "cxcywh":  # in YOLO lines, the class comes first; in our lists, last
        box = [*box[1:], box[0]] if not isinstance(box[4], str) else box
    if len(box) not in (4, 5):
        raise ValueError(f"a box has four numbers and an optional class after them, not {box!r}")
    return box[:4], read_name(box[4], "the class") if len(box) == 5 else None


def _read_keys(box: dict[str, Any]) -> tuple[tuple[float, ...], Any]:
    keys = next((keys for keys in BOX_KEYS if set(keys) <= set(box)), None)
    if keys is None:
        known = ", ".join(" ".join(each) for each in BOX_KEYS)
        raise ValueError(f"the object {box!r} lacks the sides of a box; use the keys {known}")
    numbers = _listed(box["bbox"]) if keys == ("bbox",) else [box[key] for key in keys]
    if len(numbers) != 4:
        raise ValueError(f"bbox must be [x, y, width, height], not {numbers!r}")
    if turned := box.get("rotation"):
        raise ValueError(f"the box is rotated by {turned!r} degrees, but only upright boxes are supported")
    return _sides([read_coordinate(number) for number in numbers], BOX_KEYS[keys], bare=False), class_of(
        box, BOX_CLASS_KEYS, "a box must have one class"
    )


def _sides(numbers: list[float], form: str, *, bare: bool) -> tuple[float, ...]:
    one, two, three, four = numbers
    if form != "xyxy" and (three < 0 or four < 0):
        raise ValueError(f"the box {numbers!r} has a width or height below 0")
    if form == "xywh":
        return one, two, one + three, two + four
    if form == "cxcywh":
        return one - three / 2, two - four / 2, one + three / 2, two + four / 2
    if three < one or four < two:
        hint = "; if it is [x, y, width, height], set form=xywh" if bare else ""
        raise ValueError(f"the box {numbers!r} ends before it starts{hint}")
    return one, two, three, four


@dataclass(frozen=True, kw_only=True)
class Boxes(Objects):
    """Lists of boxes, compared by optimal one-to-one matching of overlapping boxes.

    A label is a list, or a list as JSON text. A box is ``[x1, y1, x2, y2]`` with an optional class after the numbers,
    two corners ``[[x1, y1], [x2, y2]]``, or an object with the keys of an annotation tool. Keys for sides are ``bbox``
    (COCO), ``x1 y1 x2 y2``, ``xmin ymin xmax ymax``, ``left top right bottom`` or ``x y width height``. Keys for the
    class are ``class``, ``label``, ``category``, ``category_id`` or ``rectanglelabels``. ``[]`` means no boxes.
    Estimates are objects with ``x1 y1 x2 y2``, their class and their support.

    Parameters
    ----------
    form
        Format of plain lists: ``xyxy``, ``xywh`` (corner, width and height) or ``cxcywh`` (centre, width and height;
        with five values, the class comes first, as in YOLO).
    overlap
        Minimum intersection over union of boxes of the same object.
    quorum
        Share of the weight that a box must exceed, from 0 to below 1; ``auto`` estimates it from the answers.
    most
        Maximum number of boxes in an answer.
    rule
        Aggregation rule: ``fusion``, ``medoid`` or ``best worker``.
    distance
        ``f1``, ``jaccard`` or ``count``.

    >>> import allalike
    >>> rows = [("ada", 1, [[0, 0, 10, 10, "cat"]]), ("bob", 1, [[1, 0, 11, 10, "cat"]]), ("eve", 1, [])]
    >>> result = allalike.discover(rows, domain=Boxes(quorum=0.5), method="UA")
    >>> result.objects[["x1", "y1", "x2", "y2", "class", "n_workers"]].values.tolist()
    [[0.5, 0.0, 10.5, 10.0, 'cat', 2]]
    """

    name: ClassVar[str] = "boxes"
    summary: ClassVar[str] = "lists of boxes [x1, y1, x2, y2, class]; optimal matching by IoU"
    _thing: ClassVar[str] = "a box"
    _width: ClassVar[int] = 4
    form: str = choice("xyxy", *FORMS[1:])

    def _read_object(self, value: Any) -> tuple[tuple[float, ...], Any]:
        return read_box(value, self.form)

    def _columns(self, width: int) -> tuple[str, ...]:
        return "x1", "y1", "x2", "y2"

    def _similarity(self, left: Floats, right: Floats) -> Floats:
        wide = np.minimum(left[:, 2], right[:, 2]) - np.maximum(left[:, 0], right[:, 0])
        high = np.minimum(left[:, 3], right[:, 3]) - np.maximum(left[:, 1], right[:, 1])
        both = np.maximum(wide, 0.0) * np.maximum(high, 0.0)
        either = _areas(left) + _areas(right) - both
        same = (left == right).all(axis=1)
        return np.where(same, 1.0, np.minimum(both / np.where(either > 0, either, 1.0), 1.0))

    def _find_near(self, members: Members) -> tuple[Array, Array]:
        return sweep(members.geometry[:, 0], members.geometry[:, 2], members.task)


def _areas(boxes: Floats) -> Floats:
    area: Floats = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return area
