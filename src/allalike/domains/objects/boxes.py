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
from allalike.domains.objects.keys import BOX_CLASS_KEYS, BOX_KEYS
from allalike.domains.objects.objects import Objects, class_of, read_number
from allalike.domains.spelling import read_list, read_name
from allalike.rules.mean import Drawings, average, take_median

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats, Ties


FORMS = ("xyxy", "xywh", "cxcywh")


def read_box(value: Any, form: str) -> tuple[tuple[float, ...], Any]:
    """Return the sides x1, y1, x2, y2 and the class of a box, or raise ValueError with the reason."""
    if isinstance(value, dict):
        return _read_keys(value)
    numbers, name = _take_apart(_listed(value), form)
    return _sides([read_number(number) for number in numbers], form, bare=True), name


def _listed(value: Any) -> list[Any]:
    return read_list(
        None if isinstance(value, str) else value, f"a box must be a list or an object, and {value!r} is none"
    )


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
    return box[:4], read_name(box[4], "it is no class:") if len(box) == 5 else None


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
    return _sides([read_number(number) for number in numbers], BOX_KEYS[keys], bare=False), class_of(
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
        hint = ": this looks like [x, y, width, height]: say form=xywh" if bare else ""
        raise ValueError(f"the box {numbers!r} ends before it starts{hint}")
    return one, two, three, four


@dataclass(frozen=True, kw_only=True)
class Boxes(Objects):
    """Lists of boxes, compared by the best matching of boxes that overlap.

    A label is a list, or a text that is one in JSON. A box is ``[x1, y1, x2, y2]``, perhaps with a class behind it, two
    corners ``[[x1, y1], [x2, y2]]``, or an object with the keys of a tool: ``bbox`` (COCO), ``x1 y1 x2 y2``,
    ``xmin ymin xmax ymax``, ``left top right bottom`` or ``x y width height``, and ``class``, ``label``, ``category``,
    ``category_id`` or ``rectanglelabels``. ``[]`` means that there are none. Boxes come back as objects with
    ``x1 y1 x2 y2``, their class, and how sure they are.

    Parameters
    ----------
    form
        Meaning of the numbers of bare lists: ``xyxy``, ``xywh`` (corner, width and height) or ``cxcywh`` (middle, width
        and height, with the class in front where there are five, as in the lines of YOLO).
    overlap
        The share of what two boxes cover that both must cover for them to be the same thing.
    quorum
        The share of the weight that a box must exceed to be kept, from 0 to below 1; ``auto`` chooses it by the
        answers.
    middle
        ``mean`` or ``median`` of the sides of those who drew a box.
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
    summary: ClassVar[str] = "lists of boxes [x1, y1, x2, y2, class]; distance by the best matching of boxes (IoU)"
    _thing: ClassVar[str] = "a box"
    _width: ClassVar[int] = 4
    form: str = choice("xyxy", *FORMS[1:])
    middle: str = choice("mean", "median")

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

    def _reach(self, geometry: Floats) -> tuple[Floats, Floats]:
        return geometry[:, 0], geometry[:, 2]

    def _is_flat(self, geometry: Floats) -> npt.NDArray[np.bool_]:
        return np.asarray(_areas(geometry) == 0)

    def _find_middles(self, drawings: Drawings, ties: Ties) -> tuple[Floats, Array]:
        find = average if self.middle == "mean" else take_median
        sides = [find(drawings, side) for side in drawings.geometry.T]
        return np.stack(sides, axis=1), np.zeros(drawings.n_groups, np.bool_)


def _areas(boxes: Floats) -> Floats:
    area: Floats = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return area
