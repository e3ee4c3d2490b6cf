"""Boxes: rectangles around the things in a picture, each perhaps of a class.

    s(a, b) = area of both / area of either (IoU);   1 for identical boxes without area, else 0

The middle of several drawings is their weighted mean, side by side, or the weighted median. Neither depends on the unit
of an axis: pixels and percent give the same truths, as long as all answers to a picture use the same. Two answers are

    f1:       d(A, B) = 1 - 2 M / (|A| + |B|)
    jaccard:  d(A, B) = (|A| + |B| - 2 M) / (|A| + |B| - M)
    count:    d(A, B) = ||A| - |B|| / max(|A|, |B|)

apart, with M the largest sum of s over boxes of the same class that are matched one to one
(`allalike.distances.matching`).

It works for things that stand apart. It fails where they overlap much, as in a crowd of people, for then boxes of two
things are taken for drawings of one; and for tiny things, whose boxes miss each other (`allalike.Points`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.options import choice
from allalike.domains.things.keys import BOX_CLASS_KEYS, BOX_KEYS
from allalike.domains.things.matched import read_class, read_number
from allalike.domains.things.objects import Objects
from allalike.rules.mean import Drawings, average, take_median

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats, Ties


# Forms of boxes: what tools call the sides of a rectangle and its class.
#
# Bare lists mean what the option ``form`` says. Objects say by their keys what they mean, and ``bbox`` is what COCO
# means by it: a corner, the width and the height.


FORMS = ("xyxy", "xywh", "cxcywh")


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
    named = [box[key] for key in BOX_CLASS_KEYS if box.get(key) is not None]
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


@dataclass(frozen=True, kw_only=True)
class Boxes(Objects):
    """Lists of boxes, compared by the best matching of boxes that overlap.

    A label is a list, or a text that is one in JSON. A box is ``[x1, y1, x2, y2]``, perhaps with a class behind it, two
    corners ``[[x1, y1], [x2, y2]]``, or an object with the keys of a tool: ``bbox`` (COCO), ``x1 y1 x2 y2``,
    ``xmin ymin xmax ymax``, ``left top right bottom`` or ``x y width height``, and ``class``, ``label``, ``category``,
    ``category_id`` or ``rectanglelabels``. ``[]`` says that nothing is there. Boxes come back as objects with
    ``x1 y1 x2 y2``, their class, and how sure they are.

    Parameters
    ----------
    form
        What the numbers of bare lists are: ``xyxy``, ``xywh`` (corner, width and height) or ``cxcywh`` (middle, width
        and height, with the class in front where there are five, as in the lines of YOLO).
    overlap
        The share of what two boxes cover that both must cover for them to be the same thing.
    quorum
        The share of the weight that a box must exceed to be kept, from 0 to below 1; ``auto`` chooses it by the
        answers.
    middle
        ``mean`` or ``median`` of the sides of those who drew a box.
    most
        How many boxes an answer may have.
    rule
        How a task's answers become one: ``fusion``, ``medoid`` or ``best worker``.
    distance
        ``f1``, ``jaccard`` or ``count``.

    >>> import allalike
    >>> rows = [("ada", 1, [[0, 0, 10, 10, "cat"]]), ("bob", 1, [[1, 0, 11, 10, "cat"]]), ("eve", 1, [])]
    >>> result = allalike.discover(rows, domain=Boxes(quorum=0.5), method="UA")
    >>> result.objects[["x1", "y1", "x2", "y2", "class", "supporters"]].values.tolist()
    [[0.5, 0.0, 10.5, 10.0, 'cat', 2]]
    """

    name: ClassVar[str] = "boxes"
    summary: ClassVar[str] = "lists of boxes [x1, y1, x2, y2, class]; distance by the best matching of boxes (IoU)"
    thing: ClassVar[str] = "a box"
    width: ClassVar[int] = 4
    form: str = choice("xyxy", *FORMS[1:])
    middle: str = choice("mean", "median")

    def read_object(self, value: Any) -> tuple[tuple[float, ...], Any]:
        """Return the sides and the class of a box."""
        return read_box(value, self.form)

    def form_of(self, value: Any) -> str:
        """Name the form in which boxes are written."""
        return name_form(self.read_answer(value), self.form)

    def columns(self, width: int) -> tuple[str, ...]:
        """Name the sides."""
        return "x1", "y1", "x2", "y2"

    def similarity(self, left: Floats, right: Floats) -> Floats:
        """Return the intersection over the union."""
        wide = np.minimum(left[:, 2], right[:, 2]) - np.maximum(left[:, 0], right[:, 0])
        high = np.minimum(left[:, 3], right[:, 3]) - np.maximum(left[:, 1], right[:, 1])
        both = np.maximum(wide, 0.0) * np.maximum(high, 0.0)
        either = _areas(left) + _areas(right) - both
        same = (left == right).all(axis=1)
        return np.where(same, 1.0, np.minimum(both / np.where(either > 0, either, 1.0), 1.0))

    def reach(self, geometry: Floats) -> tuple[Floats, Floats]:
        """Return the left and the right side."""
        return geometry[:, 0], geometry[:, 2]

    def is_flat(self, geometry: Floats) -> npt.NDArray[np.bool_]:
        """Tell which boxes have no area."""
        return np.asarray(_areas(geometry) == 0)

    def find_middles(self, drawings: Drawings, ties: Ties) -> tuple[Floats, Array]:
        """Average each side."""
        find = average if self.middle == "mean" else take_median
        sides = [find(drawings, side) for side in drawings.geometry.T]
        return np.stack(sides, axis=1), np.zeros(drawings.n_groups, np.bool_)


def _areas(boxes: Floats) -> Floats:
    area: Floats = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return area
