"""Masks: labels that mark the pixels of an object in an image.

Masks are compared by their common pixels (`allalike.distances.overlap`), so background is ignored. They are packed and
cropped to the object (`allalike._core.masks`), and unpacked only for output. With the areas a and b of two masks, and
the area c of their intersection,

    jaccard:  d = 1 - c / (a + b - c)
    dice:     d = 1 - 2 c / (a + b)       and 0 if both are empty

Masks work for outlines of one object per image. They fail for thin structures such as vessels, because a shift by one
pixel counts as much as a wrong object. For several objects per image, use one task per object (``values``) or boxes.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats
from allalike._core.blocks.pairs import PairDistances, check_pairs, pair_chunks
from allalike._core.columns.column import Column
from allalike._core.columns.hashes import hash_bytes, mix
from allalike._core.columns.values import Values
from allalike._core.masks import (
    Grid,
    Mask,
    MaskFile,
    Pixels,
    check_size,
    is_volume,
    of_run_lengths,
    read_grid,
    read_picture,
    write_masks,
)
from allalike._core.options import check_number, flag, number, option
from allalike._core.system.json_text import parse_json
from allalike.distances import overlap
from allalike.domains.contract import Domain, Marks, spell_domain
from allalike.domains.pairwise import Pairwise, objects
from allalike.errors import LabelError, OptionError
from allalike.noise import General
from allalike.rules.base import Rule
from allalike.rules.majority import AnswerMasks, pixel_majority
from allalike.rules.vote import CHOICES

_MANY_VALUES, _MANY_CLASSES = 20, 64  # beyond these, values are probably shades of grey
_MIDDLE_OF_BYTES = 128


def check_pixel_values(values: Any, name: str) -> tuple[float, ...]:
    """Return distinct pixel values as a tuple."""
    if not isinstance(values, list | tuple | range) or len(set(values)) < len(values):
        raise OptionError(f"{name} is {values!r}. It must be a list of different pixel values, such as [1, 2].")
    return tuple(check_number(value, f"each of {name}") for value in values)


def ask_value(domain: Domain, pixels: Array, path: str) -> LabelError:
    """Return the error that requests a definition of object pixels.

    >>> from allalike.domains.bitmap import Bitmap
    >>> ask_value(Bitmap(fill=True), np.array([[0, 1, 2]]), "").options
    {'domain': 'bitmap(fill=True, values=[1, 2])'}
    >>> ask_value(Bitmap(), np.linspace(0, 1, 30), "").options
    {'domain': 'bitmap(threshold=0.5)'}
    """
    shades = np.unique(pixels[pixels != 0])
    what = f"{path or 'the mask'} has {len(shades):,} values other than 0, from {shades[0]:g} to {shades[-1]:g}"
    if pixels.ndim == 2 and len(shades) <= _MANY_VALUES and np.median(shades) < _MANY_CLASSES:
        option = f"values=[{', '.join(f'{shade:g}' for shade in shades)}]"
    elif pixels.dtype == np.uint8:
        option = f"threshold={_MIDDLE_OF_BYTES}"
    else:
        option = f"threshold={pixels.min() / 2 + pixels.max() / 2:g}"
    spelled = spell_domain(domain).removesuffix(")")
    return LabelError(
        f"{what}. Define the pixels of the object: each value of a label map is an object (values); the object has"
        " all values from a threshold on, as in a grey-scale picture (threshold); or it has one value (on).",
        domain=f"{spelled}{', ' if '(' in spelled else '('}{option})",
    )


_DISTANCES = {"jaccard": overlap.jaccard, "dice": overlap.dice}
_KINDS = "a table of pixels, run lengths as in COCO, or an image file"


class Masks(NamedTuple):
    """Masks as an array of objects, with their areas, sizes (height and width), and first pixels."""

    mask: npt.NDArray[np.object_]
    area: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    corner: npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Layer:
    """A label map, and the pixel value that belongs to the mask."""

    label: Any
    value: float


@dataclass(frozen=True, kw_only=True)
class Bitmap(Marks, Pairwise):
    """Masks, compared by their common pixels.

    A label is a 2-D array or nested lists of numbers, run lengths as in COCO
    (``{"size": [height, width], "counts": ...}``, also as JSON), or an image file. All masks of a task have one size,
    which may differ between tasks.

    If all nonzero pixels have the same value, they belong to the object. If they have several values, as in grey-scale
    images and label maps, define the object by ``on``, ``threshold`` or ``values``. Run lengths need no such
    definition.

    Parameters
    ----------
    distance
        ``jaccard`` or ``dice``.
    rule
        Aggregation rule: ``majority``, ``medoid`` or ``best worker``.
    fill
        Whether to fill masks that are outlines.
    on
        Pixel value of the object, such as 0 for black on white.
    threshold
        Smallest pixel value of the object, such as 128 in grey-scale images. For colours, one channel must reach it.
    values
        Pixel values of a label map, each of which is an object: ``values=[1, 2]`` splits task ``ct7`` into the tasks
        ``ct7/1`` and ``ct7/2``. Other values are background.

    >>> import allalike
    >>> rows = [("ada", 1, [[0, 1, 1]]), ("bob", 1, [[0, 1, 1]]), ("eve", 1, [[1, 1, 0]])]
    >>> allalike.discover(rows, domain=Bitmap(rule="medoid")).truth["label"][0]
    array([[False,  True,  True]])
    >>> maps = [("ada", "ct7", [[0, 1, 2]]), ("bob", "ct7", [[0, 1, 2]]), ("eve", "ct7", [[1, 1, 2]])]
    >>> allalike.discover(maps, domain="bitmap(values=[1, 2])").truth[["task", "label"]].values.tolist()
    [['ct7/1', array([[False,  True, False]])], ['ct7/2', array([[False, False,  True]])]]
    """

    name: ClassVar[str] = "bitmap"
    summary: ClassVar[str] = "masks of pixels, from arrays, images or run lengths; Jaccard or Dice distance"
    rules: ClassVar[tuple[Rule, ...]] = (Rule("majority", pixel_majority), *CHOICES)
    distances: ClassVar[tuple[str, ...]] = ("jaccard", "dice")
    noise: ClassVar[General] = General(farthest=1.0)  # the distance between disjoint masks
    fill: bool = flag(False)
    on: float | None = number(None)
    threshold: float | None = number(None)
    values: tuple[float, ...] = option((), check_pixel_values)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in ("on", "threshold", "values") if getattr(self, name) not in (None, ())]
        if len(given) > 1:
            raise OptionError(f"{' and '.join(given)} both define the pixels of the object. Use only one of them.")

    @property
    def pictures(self) -> Self:
        return self

    @property
    def splits(self) -> bool:
        """Whether labels are label maps with several values."""
        return bool(self.values)

    def split(self, columns: Mapping[str, Column]) -> dict[str, Column]:
        """Split a label map into one answer per value, for tasks such as ``ct7/1``."""
        rows = np.repeat(np.arange(len(columns["label"])), len(self.values))
        split = {role: Values(column.data).take(rows) for role, column in columns.items()}
        layers = list(self.values) * len(columns["label"])
        tasks = [t if t is None else f"{t}/{value:g}" for t, value in zip(split["task"].tolist(), layers, strict=True)]
        maps = [m if m is None else _Layer(m, value) for m, value in zip(split["label"].tolist(), layers, strict=True)]
        split |= {"task": Values(Column.of_objects("task", tasks).data), "label": Values(maps)}
        return {role: column.replaced(split[role].data, rows) for role, column in columns.items()}

    def _parse(self, value: Any) -> Mask:
        if isinstance(value, Mask):
            return value
        chosen = self.on
        if isinstance(value, _Layer):
            value, chosen = value.label, value.value
        elif self.values:
            raise ValueError("label maps with values are split into tasks on reading; read them with allalike.read")
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            value = parse_json(value)
        if isinstance(value, dict | Mask) and self.values:
            raise ValueError("run lengths are a mask of one object, not a label map; omit values")
        if isinstance(value, Mask):
            return value
        source = value.path if isinstance(value, MaskFile) else str(value) if isinstance(value, PathLike) else ""
        pixels, grid = self._read(value, source, chosen)
        if self.fill:
            slices = [pixels] if grid is None else np.split(pixels, grid.shape[2])
            pixels = np.concatenate(list(map(_filled, slices)))
        return Mask.of(pixels, source, grid)

    def _read(self, value: Any, source: str, chosen: float | None) -> tuple[Pixels, Grid | None]:
        """Read the object pixels from a file, run lengths or an array; for a volume, also its grid."""
        if source:
            grid = read_grid(source) if is_volume(source) else None
            return self._is_on(read_picture(source, colours=chosen is None), chosen, source), grid
        if isinstance(value, dict):
            return of_run_lengths(value), None
        table, grid = _table(value)
        return self._is_on(table, chosen, ""), grid

    def _is_on(self, pixels: Array, chosen: float | None, path: str) -> Pixels:
        """Return which pixels belong to the object; if pixels have colours, all channels must have a chosen value."""
        on: Pixels
        if pixels.dtype == np.bool_ and not self.values:  # ignores threshold and on
            on = pixels == (chosen is None or chosen != 0)
            return on
        if chosen is not None:
            on = pixels == chosen
            return np.all(on, axis=2) if pixels.ndim == 3 else on
        on = pixels != 0 if self.threshold is None else pixels >= self.threshold
        on = np.any(on, axis=2) if pixels.ndim == 3 else on
        if self.threshold is None and (pixels[on] != pixels[on][:1]).any():  # several values or colours
            raise ask_value(self, read_picture(path) if path else pixels, path)
        return on

    def _pack(self, parsed: list[Any]) -> Masks:
        return Masks(
            objects(parsed),
            np.array([mask.area for mask in parsed], np.int64),
            np.array([(mask.height, mask.width) for mask in parsed], np.int64).reshape(-1, 2),
            np.array([(mask.top, mask.left) for mask in parsed], np.int64).reshape(-1, 2),
        )

    def _compare(self, left: Masks, i: npt.NDArray[np.intp], right: Masks, j: npt.NDArray[np.intp]) -> Floats:
        pairs = zip(left.mask[i], right.mask[j], strict=True)
        common = np.array([overlap.common_area(a, b) for a, b in pairs], np.int64)
        return _DISTANCES[self.distance](left.area[i], right.area[j], common)

    def _compare_answers(self, block: Block, store: Masks) -> PairDistances:
        self._check_sizes(block, store)
        check_pairs(block)
        left, right = (np.concatenate(part) for part in zip(*pair_chunks(block), strict=True))
        common = [np.empty(0, np.int64)]
        for start, size in zip(block.starts, block.sizes, strict=True):
            counts = overlap.common_areas(list(store.mask[block.label[start : start + size]]))
            common.append(counts[~np.eye(size, dtype=np.bool_)])  # row by row, in the order of pairs
        area = store.area[block.label]
        distance = _DISTANCES[self.distance](area[left], area[right], np.concatenate(common))
        return PairDistances(left, right, distance)

    def _prepare_rule(self, block: Block, store: Masks) -> list[object]:
        return [AnswerMasks(store.mask[block.label])]

    def _hash_answers(self, block: Block, store: Masks, label_hash: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        blank = (store.area[block.label] == 0)[:, None]
        corner = np.where(blank, np.iinfo(np.int64).max, store.corner[block.label])
        first = np.minimum.reduceat(corner, block.starts, axis=0)
        row, column = np.where(blank, 0, corner - block.to_answers(first)).astype(np.uint64).T
        return mix(label_hash[block.label] ^ mix((row << np.uint64(32)) + column))

    def _check_sizes(self, block: Block, store: Masks) -> None:
        """Raise an error if masks or gold labels of a task differ in size."""
        mask, size = store.mask, store.size
        first = block.label[block.starts]
        odd = (size[block.label] != block.to_answers(size[first])).any(axis=1)
        odd |= np.array([each.grid is not None for each in mask], np.bool_)[block.label]
        places = np.flatnonzero(odd)
        pairs = list(zip(mask[block.to_answers(first)[places]], mask[block.label[places]], strict=True))
        for one, other in (*pairs, *zip(mask[first[block.gold_task]], block.gold_label, strict=True)):
            if not one.fits(other):
                raise _differ(one, other)

    def count_marks(self, answer: Mask, truth: Mask) -> dict[Any, tuple[int, int, int]]:
        return {None: (overlap.common_area(answer, truth), answer.area, truth.area)}

    def measure_marks(self, answer: Mask, truth: Mask) -> dict[str, float]:
        from allalike.distances.matching import measure_surfaces

        areas = (np.array([number]) for number in (answer.area, truth.area, overlap.common_area(answer, truth)))
        return {"dice": 1 - float(overlap.dice(*areas)[0]), **measure_surfaces(answer, truth)}

    def _key(self, parsed: Any) -> object:
        if not parsed.bits.size:
            return 0
        box = np.unpackbits(parsed.bits, axis=1)[:, parsed.left & 7 :]
        box = box[:, : np.flatnonzero(box.any(axis=0))[-1] + 1]
        return hash_bytes(repr(box.shape).encode() + np.packbits(box).tobytes())

    def _present(self, parsed: Any, common: Any) -> Pixels:
        pixels: Pixels = parsed.shown()
        return pixels

    def _text(self, label: Any) -> str:
        unit = "pixels" if label.ndim == 2 else "voxels"
        return f"{' x '.join(map(str, label.shape))} {unit}, {int(label.sum())} on"

    def export(self, masks: Array, tasks: Values, folder: Path) -> Values:
        """Write the masks as PNG files, and volumes as NIfTI; return their paths relative to the folder's parent."""
        return Values(write_masks(masks.tolist(), tasks.tolist(), folder, on=self.on))

    def describe(self) -> dict[str, Any]:
        on: Any = "not 0" if self.on is None else self.on
        if self.threshold is not None:
            on = f"at least {self.threshold:g}"
        chosen = {"values": list(self.values)} if self.values else {"on": on}
        return {**super().describe(), "fill": self.fill, **chosen}


def _table(value: Any) -> tuple[Array, Grid | None]:
    """Convert a 2-D table of finite numbers; a Boolean volume is flattened to a tall image."""
    if not isinstance(value, np.ndarray | list | tuple):
        raise ValueError(f"a mask is {_KINDS}")
    try:
        table = np.asarray(value)
    except ValueError:
        raise ValueError("the rows of the mask have different lengths") from None
    grid = None
    if table.ndim == 3 and table.dtype == np.bool_ and table.size:  # numeric arrays may be colour pictures
        grid = Grid(table.shape)
        table = grid.flatten(table)
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        raise ValueError(f"a mask is {_KINDS}; a table must have rows and columns of numbers")
    check_size(*table.shape)
    if table.dtype.kind == "f" and not np.isfinite(table).all():
        raise ValueError("the mask has a pixel that is not a finite number")
    return table, grid


def fill_outline(pixels: Pixels) -> Pixels:
    """Fill an outline: turn on all pixels that no path of adjacent off pixels connects to the border.

    An outline with a gap is not filled.
    """
    from scipy import ndimage

    label: Any = ndimage.label
    regions, _ = label(np.pad(~pixels, 1, constant_values=True))
    inside: Pixels = (regions != regions[0, 0])[1:-1, 1:-1]
    return inside


def _filled(pixels: Pixels) -> Pixels:
    filled = fill_outline(pixels)
    if pixels.any() and np.array_equal(filled, pixels):
        warnings.warn("Filling added no pixels to a mask. Check that it is a closed outline.", stacklevel=2)
    return filled


def _differ(one: Mask, other: Mask) -> LabelError:
    """Return the error for two masks of a task that differ in size or in voxel positions."""
    here, there = (f"{mask.source or 'a mask'} with {mask.size_text}" for mask in (one, other))
    what = "size" if one.size_text != other.size_text else "position: their affine matrices differ"
    return LabelError(
        f"Two masks of a task differ in {what} ({here}, {there}). Resample the masks of each task to one grid."
    )
