"""Outlines of cells and vessels in microscope pictures, by workers: BU-BIL of Gurari and others (2015).

Workers drew on a crop of each picture around the object, and the files do not contain its position. It is inferred from
the gold mask: the object's box, enlarged by half on every side. If that does not have the size of the workers' masks,
the crop of their size around the centre of the box is used, which is correct within one or two pixels.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.masks import MaskFile, read_grid
from allalike.domains import Bitmap
from allalike.errors import InputError
from allalike.readers import read
from allalike.readers.formats.masks import open_masks
from crowd_data.base import Parsed, Parser

if TYPE_CHECKING:
    from pathlib import Path

    from allalike._core.masks import Pixels

_SOURCE = "bubil_crowd_segmentation"
_BLACK_MASKS = Bitmap(on=0)
_EXACT_SETS = (1, 2, 3)
_SLOTS_NOTE = (
    "A worker is one of the seven masks of a picture; who drew it is not known, nor whether it is the same person."
)


def _one(folder: Path, *, number: int) -> Parsed:
    """Read all pictures of one of the six sets."""
    rows, gold, sure = located(folder, number)
    known = f"The place of the truth is known for {len(sure)} of {len(gold)} pictures, else off by 1 or 2 pixels."
    return Parsed(read(rows, domain=_BLACK_MASKS), gold, f"{_SLOTS_NOTE} {known}")


def _sure(folder: Path) -> Parsed:
    """Read the pictures of the first three sets whose crop is certain."""
    rows: list[tuple[str, str, MaskFile]] = []
    gold: dict[str, Any] = {}
    for number in _EXACT_SETS:
        some, truths, sure = located(folder, number)
        rows += [(worker, f"{number}/{task}", mask) for worker, task, mask in some if task in sure]
        gold |= {f"{number}/{task}": truths[task] for task in sure}
    left_out = "Pictures are left out where the place of the truth is not known exactly, and so are sets 4 to 6."
    return Parsed(read(rows, domain=_BLACK_MASKS), gold, f"{_SLOTS_NOTE} {left_out}")


def located(folder: Path, number: int) -> tuple[list[tuple[str, str, MaskFile]], dict[str, Any], list[str]]:
    """Return the masks of a set as (worker, task, mask), the gold masks, and the tasks with an exact crop."""
    root = folder / f"BU-BIL_Dataset{number}"
    columns = open_masks(root / "CrowdsourcedAnnotations").load(["worker", "task", "label"])
    rows = list(zip(columns["worker"], columns["task"], columns["label"], strict=True))
    truths = {path.stem.casefold(): path for path in (root / "GoldStandard").glob("*.png")}  # one set uses mixed case
    gold, sure = {}, []
    for task, mask in {task: mask for _, task, mask in rows}.items():
        if task.casefold() not in truths:
            raise InputError(f"{root / 'GoldStandard'} has no mask of {task}. Fetch the data set again.")
        whole = _BLACK_MASKS._parse(MaskFile(str(truths[task.casefold()]))).pixels()
        size = read_grid(mask.path).shape
        part = whole[_enlarged(whole, 0), _enlarged(whole, 1)]
        if part.shape == size:
            sure.append(task)
        else:
            part = whole[_middle(whole, 0, size[0]), _middle(whole, 1, size[1])]
        gold[task] = np.where(part, 0, 255).astype(np.uint8)
    return rows, gold, sure


def _enlarged(whole: Pixels, axis: int) -> slice:
    """Return the range of the object in rows or columns, enlarged by half on each side."""
    first, last = _extent(whole, axis)
    more = math.ceil((last - first + 1) / 2)
    return slice(max(first - more, 0), last + more + 2)


def _middle(whole: Pixels, axis: int, length: int) -> slice:
    """Return this number of rows or columns around the centre of the object."""
    first, last = _extent(whole, axis)
    start = min(max(round((first + last + 1 - length) / 2), 0), whole.shape[axis] - length)
    return slice(start, start + length)


def _extent(whole: Pixels, axis: int) -> tuple[int, int]:
    places = np.flatnonzero(whole.any(axis=1 - axis))
    return int(places[0]), int(places[-1])


def _set(number: int) -> Parser:
    return Parser(f"{_SOURCE}/{number}", _SOURCE, f"the outlines of set {number}", partial(_one, number=number))


SEGMENTS = (
    Parser(_SOURCE, _SOURCE, "the outline of a cell or vessel, where the truth has its exact place", _sure),
    *map(_set, range(1, 7)),
)
