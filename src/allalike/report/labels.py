"""Labels as a page shows them: each different one once, in a form that its kind of picture needs.

Classes and texts are texts, numbers are numbers, rankings, sets, intervals, boxes, spans and points are lists, and a
mask is the outline of its object: the edges between pixels that are on and pixels that are off, as a path of SVG, of at
most 64 pixels a side.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.words import cut
from allalike.report.material import brief, compact

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from allalike._core.blocks.block import Array
    from allalike.domains import Encoding

_MAX_CHARACTERS = 300
_MAX_PARTS = 60  # items, elements or intervals
_MAX_SIDE = 64  # pixels of a drawn mask


class Labels:
    """The labels that occur on a page, each once.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "x")])
    >>> labels = Labels(result.run.encoding)
    >>> labels.refer(np.array([1, 0, 1])), labels.shown, labels.kind
    ([0, 1, 0], ['y', 'x'], 'class')
    """

    def __init__(self, encoding: Encoding) -> None:
        self.kind, self._show = _KINDS.get(encoding.domain.name, ("text", _shortened))
        self.shown: list[Any] = []
        self.encoding = encoding
        self._places: dict[str, int] = {}

    def refer(self, codes: Array) -> list[int]:
        """Return the places of labels among those shown, where new ones are added."""
        if codes.ndim == 1 and codes.dtype.kind in "iu":
            different, first, place = np.unique(codes, return_index=True, return_inverse=True)
            decoded = self.encoding.decode(different).tolist()
            places = {int(i): self._place(decoded[i]) for i in np.argsort(first)}
            return [places[int(i)] for i in place]
        return [self._place(label) for label in self.encoding.decode(codes).tolist()]

    def _place(self, label: Any) -> int:
        shown = self._show(label)
        text = compact(shown)
        place = self._places.setdefault(text, len(self.shown))
        if place == len(self.shown):
            self.shown.append(shown)
        return place


def _text(label: Any) -> str:
    return cut(str(label), _MAX_CHARACTERS)


def _shortened(label: Any) -> str:
    """Write what has no picture of its own, numbers with few digits."""
    if isinstance(label, list | tuple) and all(isinstance(x, int | float) for x in label):
        return cut(json.dumps([brief(x) for x in label]), _MAX_CHARACTERS)
    return _text(label)


def _parts(label: Any) -> list[str]:
    parts = [cut(str(part), _MAX_CHARACTERS // 6) for part in label[:_MAX_PARTS]]
    return parts if len(label) <= _MAX_PARTS else [*parts, "\u2026"]


def _spans(label: Any) -> list[list[float | int | None]]:
    return [[brief(start, 8), brief(end, 8)] for start, end in label[:_MAX_PARTS]]


def _objects(label: Any, sides: tuple[str, ...]) -> list[list[Any]]:
    """Return some numbers of each object, and its class; a number that it does not have is 0."""
    named = [None if "class" not in thing else _text(thing["class"]) for thing in label[:_MAX_PARTS]]
    return [
        [*(brief(thing.get(side, 0), 8) for side in sides), name] for thing, name in zip(label, named, strict=False)
    ]


def _points(label: Any) -> list[list[Any]]:
    """Return the first two coordinates and the class of each point, also where there are more than three."""
    return _objects(label, ("x1", "x2") if label and "x1" in label[0] else ("x", "y"))


def _outline(label: Any) -> dict[str, Any]:
    label = label if label.ndim == 2 else label.any(axis=2).T  # a volume is seen along its last axis
    height, width = label.shape
    step = max(1, -(-max(height, width) // _MAX_SIDE))
    return {"h": -(-height // step), "w": -(-width // step), "d": trace_outline(_thinned(label, step))}


def _thinned(pixels: npt.NDArray[np.bool_], step: int) -> npt.NDArray[np.bool_]:
    """Make one pixel of each square of pixels: on if half of them are, at least."""
    if step == 1:
        return pixels
    high, wide = (-(-side // step) * step for side in pixels.shape)
    whole = np.zeros((high, wide))
    whole[: pixels.shape[0], : pixels.shape[1]] = pixels
    shares = whole.reshape(high // step, step, wide // step, step).mean(axis=(1, 3))
    return np.asarray(shares >= 0.5)


def trace_outline(pixels: npt.NDArray[np.bool_]) -> str:
    """Return the outline of an object as a path of SVG: closed lines along the edges of its pixels.

    Each edge has the object on its right, so holes run the other way round; a path ends where it began. Where four
    pixels meet and two of them, across, are on, either way to go on is an outline.

    >>> trace_outline(np.array([[True, True], [True, False]]))
    'M0 0h2v1h-1v1h-1z'
    """
    framed = np.pad(pixels, 1)
    steps: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (down, right), edges in (
        ((0, 1), framed[1:, 1:-1] & ~framed[:-1, 1:-1]),
        ((0, -1), ~framed[1:, 1:-1] & framed[:-1, 1:-1]),
        ((1, 0), ~framed[1:-1, 1:] & framed[1:-1, :-1]),
        ((-1, 0), framed[1:-1, 1:] & ~framed[1:-1, :-1]),
    ):
        for row, column in np.argwhere(edges).tolist():
            start = (row + (down < 0), column + (right < 0))
            steps.setdefault(start, []).append((down, right))
    return "".join(_walk(steps, start) for start in sorted(steps) if steps[start])


def _walk(steps: dict[tuple[int, int], list[tuple[int, int]]], start: tuple[int, int]) -> str:
    """Follow edges until they are back where they began, and forget them; the last line is that which closes it."""
    path, at = [f"M{start[1]} {start[0]}"], start
    way, length = (0, 0), 0
    while steps[at]:
        step = steps[at].pop()
        if step != way and length:
            path.append(f"h{way[1] * length}" if way[1] else f"v{way[0] * length}")
            length = 0
        way, length = step, length + 1
        at = (at[0] + step[0], at[1] + step[1])
    return "".join([*path, "z"])


_KINDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "categorical": ("class", _text),
    "real": ("number", lambda label: brief(label, 8)),
    "ranking": ("ranking", _parts),
    "text": ("text", _text),
    "bitmap": ("mask", _outline),
    "set": ("set", _parts),
    "interval": ("interval", _spans),
    "boxes": ("boxes", partial(_objects, sides=("x1", "y1", "x2", "y2"))),
    "spans": ("spans", partial(_objects, sides=("start", "end"))),
    "points": ("points", _points),
}
