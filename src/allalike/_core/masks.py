"""Masks: the pixels of an image, or voxels of a volume, that belong to an object, and their files.

Pixels are packed eight to a byte. Only the bounding box of the object is kept. Its columns begin at a multiple of eight
pixels, so that masks are united by copying bytes and compared 64 pixels at a time. A volume of x by y by z voxels is
stored as a tall image of z slices, each with y rows and x columns.

Masks are also read from outlines, COCO run lengths, and files. Images are PNG or TIFF (Pillow), arrays are ``.npy`` or
``.npz`` with one array (pickled ones are refused), and volumes are NIfTI (nibabel). The header of a file is checked
before it is decoded.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from allalike._core.columns.hashes import hash_bytes
from allalike._core.lazy_imports import need
from allalike._core.limits import MAX_PIXELS, MAX_VOXELS
from allalike._core.system.files import Archive
from allalike.errors import InputError

Bits = npt.NDArray[np.uint8]
Pixels = npt.NDArray[np.bool_]
_GRID_TOLERANCE = 1e-3  # of a voxel: rounding of affine matrices by other programs
_CROSSINGS_AT_ONCE = 1 << 20
_BRUSH_RUNS = (3, 4, 8, 16)  # bits of a run length, as in Label Studio
PICTURES = (".png", ".tif", ".tiff")
ARRAYS = (".npy", ".npz")
VOLUMES = (".nii", ".nii.gz")

_PLAIN_MODES = {"LA": "L"} | dict.fromkeys(("RGBA", "RGBX", "CMYK", "YCbCr", "PA", "P"), "RGB")


class NotMaskError(ValueError):
    """Raised with a reason for input that is not a mask."""


@dataclass(frozen=True, eq=False)
class Grid:
    """The number of voxels along each axis, and the affine matrix to millimetres, if known."""

    shape: tuple[int, ...]
    affine: npt.NDArray[np.float64] | None = None

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
        """The affine matrix; if it is not known, the unit is a voxel."""
        return np.eye(4) if self.affine is None else self.affine

    @property
    def spacing(self) -> tuple[float, ...]:
        """The length of a voxel along each axis."""
        return tuple(np.sqrt(np.square(self.matrix[:3, :3]).sum(axis=0)).tolist())

    def fits(self, other: Grid) -> bool:
        """Return whether two volumes have the same shape and, if known, the same positions."""
        if self.shape != other.shape or self.affine is None or other.affine is None:
            return self.shape == other.shape
        return bool(np.abs(self.matrix - other.matrix).max() <= _GRID_TOLERANCE * max(min(self.spacing), 1e-12))

    def flatten(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a volume as a tall image."""
        x, y, z = self.shape
        return values.reshape(self.shape).T.reshape(z * y, x)


@dataclass(frozen=True, eq=False)
class Mask:
    """The pixels of an object in an image."""

    height: int
    width: int
    top: int
    left: int
    bits: Bits
    source: str = ""
    grid: Grid | None = None

    @classmethod
    def of(cls, pixels: Pixels, source: str = "", grid: Grid | None = None) -> Mask:
        """Make a mask from a table of booleans."""
        height, width = pixels.shape
        rows, columns = np.flatnonzero(pixels.any(axis=1)), np.flatnonzero(pixels.any(axis=0))
        if not len(rows):
            return cls(height, width, 0, 0, np.empty((0, 0), np.uint8), source, grid)
        top, left = int(rows[0]), int(columns[0])
        box = pixels[top : rows[-1] + 1, left & ~7 : columns[-1] + 1]
        return cls(height, width, top, left, np.packbits(box, axis=1), source, grid)

    def placed(self, height: int, width: int, top: int, left: int, grid: Grid | None = None) -> Mask:
        """Return the mask in a larger image, with its corner at ``top`` and ``left``, a multiple of eight."""
        moved = (top + self.top, left + self.left) if self.bits.size else (0, 0)
        return replace(self, height=height, width=width, top=moved[0], left=moved[1], grid=grid)

    def __repr__(self) -> str:
        return f"a mask of {self.size_text}, {self.area} on"

    @property
    def size_text(self) -> str:
        """The size of the image or volume as text."""
        sides = (self.height, self.width) if self.grid is None else self.grid.shape
        return f"{' x '.join(map(str, sides))} {'pixels' if self.grid is None else 'voxels'}"

    def fits(self, other: Mask) -> bool:
        """Return whether two masks have images of the same size, or volumes at the same position."""
        if self.grid is None or other.grid is None:
            return self.grid is other.grid and (self.height, self.width) == (other.height, other.width)
        return self.grid.fits(other.grid)

    @property
    def area(self) -> int:
        """The number of pixels of the object."""
        return int(np.bitwise_count(self.bits).sum())

    @property
    def box(self) -> tuple[int, int, int, int]:
        """The bounding box in rows and in columns of bytes: first row, end row, first column, end column."""
        rows, columns = self.bits.shape
        return self.top, self.top + rows, self.left >> 3, (self.left >> 3) + columns

    def pixels(self) -> Pixels:
        """Return the table of all pixels."""
        whole = np.zeros((self.height, -(-self.width // 8)), np.uint8)
        first, last, begin, end = self.box
        whole[first:last, begin:end] = self.bits
        return np.unpackbits(whole, axis=1, count=self.width).view(np.bool_)

    def shown(self) -> Pixels:
        """Return the whole image or volume."""
        return self.pixels() if self.grid is None else self.pixels().reshape(self.grid.shape[::-1]).T


Part: TypeAlias = Sequence[Sequence[float]] | Mask  # the points of an outline, or a mask
Opened = tuple[Grid, Callable[[], npt.NDArray[Any]]]  # the size from the header, and the decoder


def check_size(height: int, width: int) -> None:
    """Raise an error for a size below 1 or above the limit."""
    if height < 1 or width < 1 or height * width > MAX_PIXELS:
        more = f", more than {MAX_PIXELS // 1_000_000} million" if min(height, width) > 0 else ""
        raise NotMaskError(f"it has {height} x {width} pixels{more}")


def lay_over(masks: Sequence[Mask]) -> tuple[Bits, tuple[int, int, int, int]]:
    """Return the bytes of each mask within their common bounding box, and this box."""
    boxes = np.array([mask.box for mask in masks if mask.bits.size], np.int64).reshape(-1, 4)
    if not len(boxes):
        return np.zeros((len(masks), 0, 0), np.uint8), (0, 0, 0, 0)
    (top, left), (bottom, right) = boxes[:, ::2].min(axis=0).tolist(), boxes[:, 1::2].max(axis=0).tolist()
    stack = np.zeros((len(masks), bottom - top, right - left), np.uint8)
    for layer, mask in zip(stack, masks, strict=True):
        first, last, begin, end = mask.box
        layer[first - top : last - top, begin - left : end - left] = mask.bits
    return stack, (top, bottom, left, right)


def draw(parts: Sequence[Part], height: int, width: int) -> Mask:
    """Return the union of outlines and masks in an image of this size."""
    check_size(height, width)
    masks = [part if isinstance(part, Mask) else _fill(part, height, width) for part in parts]
    stack, (top, _, begin, _) = lay_over(masks)
    united = np.unpackbits(np.bitwise_or.reduce(stack, axis=0), axis=1).view(np.bool_)
    return Mask.of(united).placed(height, width, top, 8 * begin)


def _fill(points: Sequence[Sequence[float]], height: int, width: int) -> Mask:
    """Return the pixels whose centres are inside an outline, which is closed and clipped to the image.

    A pixel is inside if its winding number is not 0 (the nonzero rule, so that an outline that overlaps itself leaves
    no hole). In each row, a downward edge adds 1 from its crossing on, and an upward edge subtracts 1.
    """
    x, y = np.asarray(points, np.float64).reshape(-1, 2).T
    first, last = (int(np.clip(np.ceil(end - 0.5), 0, height)) for end in (y.min(), y.max()))
    left = int(np.clip(np.floor(x.min()), 0, width)) & ~7  # a multiple of eight
    right = int(np.clip(np.ceil(x.max()), left, width))
    steps = np.zeros((last - first, right - left + 1), np.int32)
    below, right_of = np.roll(y, -1), np.roll(x, -1)
    top, bottom = (np.clip(np.ceil(end - 0.5), first, last).astype(np.intp) for end in (y, below))
    turns = np.flatnonzero(top != bottom)  # edges that cross the centre of a row
    per_chunk = max(1, _CROSSINGS_AT_ONCE // max(len(steps), 1))
    for start in range(0, len(turns), per_chunk):
        edge = turns[start : start + per_chunk]
        begin, count = np.minimum(top, bottom)[edge], np.abs(top - bottom)[edge]
        each = np.repeat(edge, count)
        row = np.arange(len(each)) - np.repeat(np.cumsum(count) - count - begin, count)
        share = (row + 0.5 - y[each]) / (below[each] - y[each])
        crossing = x[each] + share * (right_of[each] - x[each])
        column = np.clip(np.ceil(crossing - 0.5), left, right).astype(np.intp) - left
        np.add.at(steps, (row - first, column), np.sign(bottom - top)[each])
    return Mask.of(np.cumsum(steps, axis=1)[:, :-1] != 0).placed(height, width, first, left)


def of_run_lengths(encoding: dict[str, Any]) -> Pixels:
    """Parse COCO run lengths: column by column, background and object in turn, beginning with background.

    They are a list or a compressed text. In a text, each length (from the fourth on, its difference from the length
    before the previous one) is written in pieces of five bits, lowest first, as characters from ``0`` on.
    """
    if not {"size", "counts"} <= encoding.keys():
        raise NotMaskError("run lengths need the fields 'size' and 'counts'")
    size, counts = encoding["size"], encoding["counts"]
    sides = [type(side) for side in size] if isinstance(size, list | tuple) else []
    if len(sides) != 2 or not all(issubclass(side, int | np.integer) and side is not bool for side in sides):
        raise NotMaskError(f"the size of run lengths must be [height, width], not {str(size)[:40]}")
    height, width = map(int, size)
    check_size(height, width)
    runs: npt.NDArray[Any]
    if isinstance(counts, str | bytes):
        runs = _uncompress(counts.encode() if isinstance(counts, str) else counts)
    else:
        runs = np.array(counts) if isinstance(counts, list | tuple) else np.empty(0)
    if runs.ndim != 1 or runs.dtype.kind not in "iu":
        raise NotMaskError("the counts of run lengths must be a list of whole numbers, or a text")
    if (runs < 0).any() or (runs > height * width).any() or runs.sum() != height * width:
        raise NotMaskError(f"the run lengths do not fit {height} x {width} pixels")
    return np.repeat(np.arange(len(runs)) % 2 == 1, runs.astype(np.int64)).reshape(width, height).T


def _uncompress(text: bytes) -> npt.NDArray[np.int64]:
    """Decompress COCO run lengths: five bits per character, bit 32 if more follow, bit 16 of the last as the sign."""
    piece = np.frombuffer(text, np.uint8).astype(np.int64) - 48
    if not len(piece) or (piece < 0).any() or (piece > 63).any() or piece[-1] & 32:
        raise NotMaskError("the compressed run lengths cannot be read")
    last = np.flatnonzero(piece & 32 == 0)
    first = np.concatenate([[0], last[:-1] + 1])
    length = last - first + 1
    if (length > 8).any():
        raise NotMaskError("a compressed run length is larger than any image")
    place = np.arange(len(piece)) - np.repeat(first, length)
    runs = np.add.reduceat((piece & 31) << 5 * place, first)
    runs -= np.where(piece[last] & 16, np.int64(1) << 5 * length, 0)
    runs[1::2] = np.cumsum(runs[1::2])
    runs[2::2] = np.cumsum(runs[2::2])
    return runs


def to_run_lengths(pixels: Pixels) -> dict[str, Any]:
    """Return a mask as compressed COCO run lengths."""
    runs = count_runs(pixels.T.ravel())
    differences = runs.copy()
    differences[3:] -= runs[1:-2]
    counts = ""
    for number in differences.tolist():
        more = True
        while more:  # until only the sign is left
            piece, number = number & 31, number >> 5
            more = number != (-1 if piece & 16 else 0)
            counts += chr(48 + piece + 32 * more)
    return {"size": list(pixels.shape), "counts": counts}


def count_runs(flat: Pixels) -> npt.NDArray[np.int64]:
    """Return the run lengths of pixels, beginning with background, whose first length may be 0."""
    return np.diff(np.flatnonzero(np.diff(flat, prepend=False)), prepend=0, append=len(flat))


def to_brush(pixels: Pixels) -> list[int]:
    """Return a mask as a Label Studio brush: the compressed bytes of an image with four equal channels."""
    flat = np.repeat(pixels.ravel(), 4)
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    starts = np.unique(np.concatenate([[0], changes, np.arange(0, len(flat), 1 << _BRUSH_RUNS[-1])]))
    bits = [f"{len(flat):032b}{7:05b}", *(f"{size - 1:04b}" for size in _BRUSH_RUNS)]
    for value, length in zip(flat[starts].tolist(), np.diff(starts, append=len(flat)).tolist(), strict=True):
        place = next(place for place, size in enumerate(_BRUSH_RUNS) if length <= 1 << size)
        bits.append(f"1{place:02b}{length - 1:0{_BRUSH_RUNS[place]}b}{255 * value:08b}")
    packed: list[int] = np.packbits(np.frombuffer("".join(bits).encode(), np.uint8) - ord("0")).tolist()
    return packed


# Files of masks.


@dataclass(frozen=True, order=True)
class MaskFile:
    """The path of a file that contains a mask, which is read when it is needed."""

    path: str


def is_volume(path: str | Path) -> bool:
    """Return whether a file name has the extension of a volume."""
    return Path(path).name.lower().endswith(VOLUMES)


def nibabel() -> Any:
    """Return nibabel, or raise an error with the installation command."""
    return need("nibabel", "Volumes need nibabel", "medical")


def read_grid(path: str | Path) -> Grid:
    """Return the grid of a volume from its header, or raise ValueError with the reason if it cannot be read."""
    with _opened(path) as (grid, _):
        return grid


def read_picture(path: str | Path, *, colours: bool = False) -> npt.NDArray[Any]:
    """Return the pixel values of an image, array or volume: a table, with a third axis for colours.

    For an image with a palette, the values are palette indices, or with ``colours`` the colours themselves. With
    ``colours``, if all pixels have the same colour, the opacity is returned. Otherwise, transparency is ignored.
    """
    with _opened(path, colours=colours) as (_, decode):
        values = decode()
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise NotMaskError("it has a pixel that is not a finite number")
    return values


@contextmanager
def _opened(path: str | Path, *, colours: bool = False) -> Iterator[Opened]:
    """Open a file of any format; any error in the packages that read it becomes one error with its path."""
    path = Path(path)
    kind, opener = "PNG or TIFF", _open_image
    if is_volume(path):
        nibabel()
        kind, opener = "NIfTI", _open_volume
    elif path.suffix.lower() in ARRAYS:
        kind, opener = "an array of numpy", _open_array
    try:
        path.stat()
        with warnings.catch_warnings(), ExitStack() as stack:
            warnings.simplefilter("ignore")  # about large images, which are limited here, and unknown tags
            yield opener(path, stack, colours)
    except Exception as error:
        reason = f"it is damaged, incomplete, or not {kind}. Copy it again"
        if isinstance(error, NotMaskError | InputError):
            reason = str(error).rstrip(".")
        elif isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        raise ValueError(f"{path} cannot be read: {reason}") from error


def _open_image(path: Path, stack: ExitStack, colours: bool) -> Opened:
    from PIL import Image

    try:
        image = stack.enter_context(Image.open(path, formats=("PNG", "TIFF")))
    except Image.DecompressionBombError as error:
        raise NotMaskError("the image is too large") from error
    check_size(image.height, image.width)

    def decode() -> npt.NDArray[Any]:
        numbered = image.mode in ("P", "PA") and not colours
        mode = image.mode if numbered else _PLAIN_MODES.get(image.mode, image.mode)
        if (frames := getattr(image, "n_frames", 1)) > 1:
            raise NotMaskError(f"it contains {frames} images, but a mask is one image")
        values = np.array(image if mode == image.mode else image.convert(mode))
        opacity = np.array(image.getchannel("A")) if colours and "A" in image.getbands() else None
        if opacity is not None and (opacity < 255).any() and (values == values[0, 0]).all():
            return opacity
        return values[:, :, 0] if numbered and values.ndim == 3 else values

    return Grid((image.height, image.width)), decode


def _open_array(path: Path, stack: ExitStack, colours: bool) -> Opened:
    if path.suffix.lower() == ".npy":
        file: Any = stack.enter_context(path.open("rb"))
    else:
        archive = stack.enter_context(Archive(path))
        names = archive.namelist()
        if len(names) != 1:
            raise NotMaskError(f"it contains {len(names)} arrays, but a mask is one array")
        file = stack.enter_context(archive.open(names[0]))
    numpy_format: Any = np.lib.format
    version = numpy_format.read_magic(file)
    read_header = numpy_format.read_array_header_1_0 if version == (1, 0) else numpy_format.read_array_header_2_0
    shape, _, dtype = read_header(file)
    if len(shape) != 2 or dtype.kind not in "biuf":
        held = f"{' x '.join(map(str, shape))} of {dtype}"
        raise NotMaskError(f"it contains {held}, but a mask has rows and columns of numbers")
    check_size(*shape)
    file.seek(0)
    return Grid(shape), lambda: numpy_format.read_array(file, allow_pickle=False)


def _open_volume(path: Path, stack: ExitStack, colours: bool) -> Opened:
    image = nibabel().load(str(path))
    shape, sides = (*image.shape, 1, 1, 1)[:3], " x ".join(map(str, image.shape))
    if image.get_data_dtype().kind not in "biuf" or not 0 < math.prod(image.shape) == math.prod(shape):
        raise NotMaskError(f"it contains {sides} values, but a mask has three dimensions of numbers")
    if math.prod(shape) > MAX_VOXELS:
        raise NotMaskError(f"it has {sides} voxels, more than {MAX_VOXELS // 1_000_000} million")
    if not np.isfinite(image.affine).all():
        raise NotMaskError("its affine matrix is not finite")
    grid = Grid(shape, image.affine)
    return grid, lambda: grid.flatten(np.asanyarray(image.dataobj))


def write_masks(
    masks: Sequence[Mask | None], tasks: Sequence[object], folder: Path, *, on: float | None = None
) -> list[str | None]:
    """Write masks to files named after their tasks; return paths relative to the folder's parent, or None.

    Volumes are written as NIfTI and images as PNG. Pixels of the object have the value ``on``, or 255 if that is not a
    byte. The background is 0, or 255 if the object is 0.
    """
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    value = int(on) if on is not None and on in range(256) else 255
    paths: list[str | None] = []
    for name, mask in zip(_name_files(tasks), masks, strict=True):
        if mask is None:
            paths.append(None)
            continue
        path = folder / f"{name}{'.png' if mask.grid is None else '.nii.gz'}"
        if mask.grid is None:
            pixels = np.where(mask.pixels(), np.uint8(value), np.uint8(0 if value else 255))
            Image.fromarray(pixels).save(path, format="PNG")
        else:
            nibabel().save(nibabel().Nifti1Image(mask.shown().astype(np.uint8), mask.grid.matrix), str(path))
        paths.append(f"{folder.name}/{path.name}")
    return paths


def _name_files(tasks: Sequence[object]) -> list[str]:
    """Return file names for tasks, with a hash for unsafe, long or repeated names (ignoring case)."""
    names: dict[str, str] = {}
    for task in tasks:
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", str(task))[:60]
        if name != str(task) or not name or name.lower() in names:
            name = f"{name}-{hash_bytes(repr(task).encode()):016x}"
        while name.lower() in names:
            name += "_"
        names[name.lower()] = name
    return list(names.values())
