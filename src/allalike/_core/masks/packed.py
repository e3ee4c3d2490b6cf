"""Masks: which pixels of a picture belong to the object, eight pixels to a byte.

Of a mask only the rows and columns that hold the object are kept, so background around it costs nothing and changes
nothing. Columns begin at a multiple of eight pixels; masks of one picture can therefore be laid over each other by
copying bytes, and compared 64 pixels at a time.

Run lengths are those of COCO: pixels column after column, off and on in turn, beginning with off; either a list of
lengths, or a text in which each length (from the fourth on: its difference to the last but one) is written in pieces
of five bits, lowest first, as characters from ``0`` on. Those of Label Studio's brush are bits, as
`allalike.readers.tools.label_studio` reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.hashes import hash_bytes
from allalike._core.limits import MAX_PIXELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike._core.masks.volumes import Grid

Bits = npt.NDArray[np.uint8]
Pixels = npt.NDArray[np.bool_]
_BRUSH_RUNS = (3, 4, 8, 16)  # bits for the length of a run, as Label Studio itself writes them


@dataclass(frozen=True, eq=False)
class Mask:
    """The pixels of an object in a picture.

    >>> mask = Mask.of(np.eye(100, dtype=np.bool_))
    >>> mask, mask.bits.shape, mask.area
    (a mask of 100 x 100 pixels, 100 on, (100, 13), 100)
    >>> bool((mask.pixels() == np.eye(100)).all())
    True
    """

    height: int
    width: int
    top: int
    left: int
    bits: Bits
    source: str = ""
    grid: Grid | None = None

    @classmethod
    def of(cls, pixels: Pixels, source: str = "", grid: Grid | None = None) -> Mask:
        """Make a mask of a table of pixels, on or off."""
        height, width = pixels.shape
        rows, columns = np.flatnonzero(pixels.any(axis=1)), np.flatnonzero(pixels.any(axis=0))
        if not len(rows):
            return cls(height, width, 0, 0, np.empty((0, 0), np.uint8), source, grid)
        top, left = int(rows[0]), int(columns[0])
        box = pixels[top : rows[-1] + 1, left & ~7 : columns[-1] + 1]
        return cls(height, width, top, left, np.packbits(box, axis=1), source, grid)

    def placed(self, height: int, width: int, top: int, left: int, grid: Grid | None = None) -> Mask:
        """Return the object in a larger picture, of which this one's first pixel is at ``left``, a multiple of eight.

        >>> Mask.of(np.ones((1, 1), np.bool_)).placed(3, 20, 2, 16).pixels().argmax()
        np.int64(56)
        """
        moved = (top + self.top, left + self.left) if self.bits.size else (0, 0)
        return replace(self, height=height, width=width, top=moved[0], left=moved[1], grid=grid)

    def __repr__(self) -> str:
        return f"a mask of {self.size_text}, {self.area} on"

    @property
    def size_text(self) -> str:
        """How large the picture or volume is, in words."""
        sides = (self.height, self.width) if self.grid is None else self.grid.shape
        return f"{' x '.join(map(str, sides))} {'pixels' if self.grid is None else 'voxels'}"

    def fits(self, other: Mask) -> bool:
        """Tell whether two masks are of pictures of one size, or of volumes at the same place."""
        if self.grid is None or other.grid is None:
            return self.grid is other.grid and (self.height, self.width) == (other.height, other.width)
        return self.grid.fits(other.grid)

    @property
    def area(self) -> int:
        """How many pixels are on."""
        return int(np.bitwise_count(self.bits).sum())

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Where the bytes lie: the first row, the row behind the last, and the same of columns of bytes."""
        rows, columns = self.bits.shape
        return self.top, self.top + rows, self.left >> 3, (self.left >> 3) + columns

    @property
    def shape_hash(self) -> int:
        """Hash the object without its place in the picture.

        >>> dot = np.zeros((9, 9), np.bool_)
        >>> dot[2, 3] = True
        >>> Mask.of(dot).shape_hash == Mask.of(np.ones((1, 1), np.bool_)).shape_hash
        True
        """
        if not self.bits.size:
            return 0
        box = np.unpackbits(self.bits, axis=1)[:, self.left & 7 :]
        box = box[:, : np.flatnonzero(box.any(axis=0))[-1] + 1]
        return hash_bytes(repr(box.shape).encode() + np.packbits(box).tobytes())

    def shown(self) -> Pixels:
        """Return the whole picture, or the whole volume."""
        return self.pixels() if self.grid is None else self.grid.restore(self.pixels())

    def pixels(self) -> Pixels:
        """Return the whole table of pixels."""
        whole = np.zeros((self.height, -(-self.width // 8)), np.uint8)
        first, last, begin, end = self.box
        whole[first:last, begin:end] = self.bits
        return np.unpackbits(whole, axis=1, count=self.width).view(np.bool_)


def lay_over(masks: Sequence[Mask]) -> tuple[Bits, tuple[int, int, int, int]]:
    """Lay masks over each other; return their bytes, one table per mask, and the box of bytes that they share.

    >>> first, second = np.zeros((9, 99), np.bool_), np.zeros((9, 99), np.bool_)
    >>> first[3, 20] = second[5, 40] = True
    >>> stack, box = lay_over([Mask.of(first), Mask.of(second)])
    >>> stack.shape, box
    ((2, 3, 4), (3, 6, 2, 6))
    """
    boxes = np.array([mask.box for mask in masks if mask.bits.size], np.int64).reshape(-1, 4)
    if not len(boxes):
        return np.zeros((len(masks), 0, 0), np.uint8), (0, 0, 0, 0)
    (top, left), (bottom, right) = boxes[:, ::2].min(axis=0).tolist(), boxes[:, 1::2].max(axis=0).tolist()
    stack = np.zeros((len(masks), bottom - top, right - left), np.uint8)
    for layer, mask in zip(stack, masks, strict=True):
        first, last, begin, end = mask.box
        layer[first - top : last - top, begin - left : end - left] = mask.bits
    return stack, (top, bottom, left, right)


def fill_outline(pixels: Pixels) -> Pixels:
    """Turn on all that an outline encloses: what cannot be reached from the border through off pixels, side by side.

    Where an outline has a gap, what it should enclose leaks out, and nothing is filled.

    >>> ring = np.ones((3, 3), np.bool_)
    >>> ring[1, 1] = False
    >>> bool(fill_outline(ring).all())
    True
    """
    from scipy import ndimage

    label: Any = ndimage.label
    regions, _ = label(np.pad(~pixels, 1, constant_values=True))
    inside: Pixels = (regions != regions[0, 0])[1:-1, 1:-1]
    return inside


def check_size(height: int, width: int) -> None:
    """Refuse a size that is no size, or that would not fit in memory.

    >>> check_size(100_000, 100_000)
    Traceback (most recent call last):
    ValueError: it has 100000 x 100000 pixels, more than 100 million
    """
    if height < 1 or width < 1:
        raise ValueError(f"it has {height} x {width} pixels")
    if height * width > MAX_PIXELS:
        raise ValueError(f"it has {height} x {width} pixels, more than {MAX_PIXELS // 1_000_000} million")


def of_run_lengths(encoding: dict[str, Any]) -> Pixels:
    """Read run lengths as COCO writes them, be they a list or a compressed text.

    >>> of_run_lengths({"size": [2, 3], "counts": [1, 2, 3]}).astype(int)
    array([[0, 1, 0],
           [1, 0, 0]])
    >>> of_run_lengths({"size": [2, 3], "counts": "123"}).astype(int)
    array([[0, 1, 0],
           [1, 0, 0]])
    """
    if not {"size", "counts"} <= encoding.keys():
        raise ValueError("run lengths have the fields 'size' and 'counts'")
    size = encoding["size"]
    if not isinstance(size, list | tuple) or len(size) != 2 or not all(map(_is_whole, size)):
        raise ValueError(f"the size of run lengths is [height, width], not {str(size)[:40]}")
    height, width = map(int, size)
    check_size(height, width)
    counts = encoding["counts"]
    runs = _uncompressed(counts) if isinstance(counts, str | bytes) else _whole(counts)
    if (runs < 0).any() or (runs > height * width).any() or runs.sum() != height * width:
        raise ValueError(f"the run lengths are not those of {height} x {width} pixels")
    flat = np.repeat(np.arange(len(runs)) % 2 == 1, runs)
    return flat.reshape(width, height).T


def to_run_lengths(pixels: Pixels) -> dict[str, Any]:
    """Write a mask as COCO's compressed run lengths.

    >>> to_run_lengths(np.array([[0, 1, 0], [1, 0, 0]], dtype=np.bool_))
    {'size': [2, 3], 'counts': '123'}
    """
    runs = count_runs(pixels.T.ravel())
    written = runs.copy()
    written[3:] -= runs[1:-2]
    return {"size": list(pixels.shape), "counts": "".join(map(_compressed, written.tolist()))}


def count_runs(flat: Pixels) -> npt.NDArray[np.int64]:
    """Return run lengths of pixels in a row; off comes first, be it for no pixel.

    >>> count_runs(np.array([True, True, False]))
    array([0, 2, 1])
    """
    return np.diff(np.flatnonzero(np.diff(flat, prepend=False)), prepend=0, append=len(flat))


def to_brush(pixels: Pixels) -> list[int]:
    """Write a mask as Label Studio's brush: the bytes of a picture whose four channels say where the brush was.

    >>> to_brush(np.array([[False, True]]))
    [0, 0, 0, 8, 57, 27, 252, 96, 17, 255, 128]
    """
    flat = np.repeat(pixels.ravel(), 4)
    longest = 1 << _BRUSH_RUNS[-1]
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    starts = np.unique(np.concatenate([[0], changes, np.arange(0, len(flat), longest)]))
    bits = [f"{len(flat):032b}{7:05b}", *(f"{size - 1:04b}" for size in _BRUSH_RUNS)]
    for value, length in zip(flat[starts].tolist(), np.diff(starts, append=len(flat)).tolist(), strict=True):
        place = next(place for place, size in enumerate(_BRUSH_RUNS) if length <= 1 << size)
        bits.append(f"1{place:02b}{length - 1:0{_BRUSH_RUNS[place]}b}{255 * value:08b}")
    packed: list[int] = np.packbits(np.frombuffer("".join(bits).encode(), np.uint8) - ord("0")).tolist()
    return packed


def _compressed(number: int) -> str:
    """Write a number in pieces of five bits, the lowest first, until the rest is told by the sign of the last."""
    text = ""
    while True:
        piece, number = number & 31, number >> 5
        more = number != (-1 if piece & 16 else 0)
        text += chr(48 + piece + 32 * more)
        if not more:
            return text


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _whole(counts: Any) -> npt.NDArray[np.int64]:
    runs = np.array(counts) if isinstance(counts, list | tuple) else np.empty(0)
    if runs.ndim != 1 or runs.dtype.kind not in "iu":
        raise ValueError("the counts of run lengths are a list of whole numbers, or a text")
    return runs.astype(np.int64)


def _uncompressed(counts: str | bytes) -> npt.NDArray[np.int64]:
    """Undo COCO's compression: five bits a character, 32 for "more follow", 16 in the last one for a minus."""
    text = counts.encode("utf-8") if isinstance(counts, str) else counts
    piece = np.frombuffer(text, np.uint8).astype(np.int64) - 48
    if not len(piece) or (piece < 0).any() or (piece > 63).any() or piece[-1] & 32:
        raise ValueError("the compressed run lengths cannot be read")
    last = np.flatnonzero(piece & 32 == 0)
    first = np.concatenate([[0], last[:-1] + 1])
    length = last - first + 1
    if (length > 8).any():
        raise ValueError("a compressed run length is beyond all pictures")
    place = np.arange(len(piece)) - np.repeat(first, length)
    runs = np.add.reduceat((piece & 31) << 5 * place, first)
    runs -= np.where(piece[last] & 16, np.int64(1) << 5 * length, 0)
    runs[1::2] = np.cumsum(runs[1::2])
    runs[2::2] = np.cumsum(runs[2::2])
    return runs
