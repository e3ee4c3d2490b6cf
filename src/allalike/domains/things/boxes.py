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
from allalike.domains.things.box_forms import FORMS, name_form, read_box
from allalike.domains.things.objects import Objects
from allalike.rules.middles import Drawings, average, take_median

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.blocks.ties import Ties

__all__ = ["Boxes"]


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
