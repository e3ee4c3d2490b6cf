"""Distinct labels of a page in the form that the script draws.

Classes and texts are strings, and numbers are numbers. Rankings, sets, intervals, boxes, spans and points are lists. A
mask is an SVG path along the rows of its pixels, at most 64 per side.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.text_format import cut
from allalike.report.report_data import brief, compact

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from allalike._core.blocks.block import Array
    from allalike.domains import Encoding

_MAX_CHARACTERS = 300
_MAX_PARTS = 60  # items, elements or intervals
_MAX_SIDE = 64  # pixels of a drawn mask


class Labels:
    """Distinct labels of a page.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("eve", 1, "x")])
    >>> labels = Labels(result.run.encoding)
    >>> labels.refer(np.array([1, 0, 1])), labels.shown, labels.kind
    ([0, 1, 0], ['y', 'x'], 'class')
    """

    def __init__(self, encoding: Encoding) -> None:
        self.kind, self._show = _KINDS.get(encoding.domain.name, ("text", _text))
        self.shown: list[Any] = []
        self.encoding = encoding
        self._places: dict[str, int] = {}

    def refer(self, codes: Array) -> list[int]:
        """Return the positions of labels in ``shown``; new labels are added."""
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
    if isinstance(label, list | tuple) and all(isinstance(x, int | float) for x in label):
        label = json.dumps([brief(x) for x in label])
    return cut(str(label), _MAX_CHARACTERS)


def _parts(label: Any) -> list[str]:
    parts = [cut(str(part), _MAX_CHARACTERS // 6) for part in label[:_MAX_PARTS]]
    return parts if len(label) <= _MAX_PARTS else [*parts, "\u2026"]


def _intervals(label: Any) -> list[list[float | int | None]]:
    return [[brief(start, 8), brief(end, 8)] for start, end in label[:_MAX_PARTS]]


def _objects(label: Any, sides: tuple[str, ...]) -> list[list[Any]]:
    """Return the coordinates of each object, 0 if missing, and its class."""
    return [
        [*(brief(each.get(side, 0), 8) for side in sides), _text(each["class"]) if "class" in each else None]
        for each in label[:_MAX_PARTS]
    ]


def _points(label: Any) -> list[list[Any]]:
    """Return the first two coordinates and the class of each point."""
    return _objects(label, ("x1", "x2") if label and "x1" in label[0] else ("x", "y"))


def _mask(label: Any) -> dict[str, Any]:
    pixels = label if label.ndim == 2 else label.any(axis=2).T  # a volume is projected along its last axis
    step = max(1, -(-max(pixels.shape) // _MAX_SIDE))
    pixels = pixels[::step, ::step]
    return {"h": pixels.shape[0], "w": pixels.shape[1], "d": trace_rows(pixels)}


def trace_rows(pixels: npt.NDArray[np.bool_]) -> str:
    """Return the pixels of an object as an SVG path: a rectangle per run of pixels in a row.

    >>> trace_rows(np.array([[True, True], [True, False]]))
    'M0 0h2v1h-2zM0 1h1v1h-1z'
    """
    edges = np.diff(np.pad(pixels, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    starts, ends = np.argwhere(edges == 1).tolist(), np.argwhere(edges == -1).tolist()
    runs = ((row, left, right - left) for (row, left), (_, right) in zip(starts, ends, strict=True))
    return "".join(f"M{left} {row}h{length}v1h-{length}z" for row, left, length in runs)


_KINDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "categorical": ("class", _text),
    "real": ("number", lambda label: brief(label, 8)),
    "ranking": ("ranking", _parts),
    "text": ("text", _text),
    "bitmap": ("mask", _mask),
    "set": ("set", _parts),
    "interval": ("interval", _intervals),
    "boxes": ("boxes", partial(_objects, sides=("x1", "y1", "x2", "y2"))),
    "spans": ("spans", partial(_objects, sides=("start", "end"))),
    "points": ("points", _points),
}
