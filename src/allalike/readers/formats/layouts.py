"""Layouts: whether folders of masks are tasks and files workers, or the other way round.

Names that say what they name decide: folders or files that are called ``task``, ``image``, ``worker`` or
``annotator``. Else there are three hints. A task has several masks, so names that never recur are not those of tasks.
Masks of a task have one size, so where sizes differ between folders only, folders are tasks. And masks of a task look
alike, while those of a worker do not.

No hint is believed against another one. Sizes can mislead: where one worker has saved all her masks in a size of her
own, the masks of each folder have one size, but folders are workers; and a few odd sizes are errors, and no hint at
all. So what is taken for a task must look like one: its masks, as far as they have one size, must have pixels in
common. Where all that says nothing, the user must.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from math import nan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allalike._core.masks.files import read_picture
from allalike._core.masks.packed import Mask, Pixels
from allalike.distances.overlap import common_area, jaccard
from allalike.errors import InputError, Proposal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path


__all__ = ["LAYOUTS", "TASKS_OUTSIDE", "Picture", "check_sizes", "guess_layout"]

LAYOUTS = TASKS_OUTSIDE, WORKERS_OUTSIDE = "tasks/workers", "workers/tasks"

_SAMPLE_SIZE = 8  # this many folders are looked into, and this many files of each
_MAX_DISTANCE_RATIO = (
    0.9  # a task's masks are clearly nearer to each other than a worker's if their mean distances have this ratio
)
_MAX_DISTANCE = 0.9  # masks whose mean distance is larger are those of different tasks
_ODD_SHARE = 0.1  # if no larger share of masks differs in size from others of their task, these are errors
_WORKER_WORDS = r"(?<![a-z])(worker|annotator|rater|user|m?turk|labell?er)"
_TASK_WORDS = r"(?<![a-z])(task|image|img|item|question|scan|slide|picture|photo)"


class Picture(NamedTuple):
    """An image, with its folder, its file name without ending, and its height and width."""

    folder: str
    stem: str
    path: Path
    size: tuple[int, ...]


def guess_layout(root: Path, pictures: Sequence[Picture], advice: str) -> str:
    """Tell how masks lie in a folder, or ask; ``advice`` is another way to say it."""
    outside = _by_name(pictures)
    if outside is None:
        distances = _mean_distances(pictures)
        hints = {_by_number(pictures), _by_size(pictures), _by_likeness(*distances)} - {None}
        outside = hints.pop() if len(hints) == 1 else None
        if outside is not None and distances[0 if outside else 1] > _MAX_DISTANCE:  # not so if it is not known
            outside = None
    if outside is None:
        odd = [odd for layout in LAYOUTS for odd in _find_odd(pictures, layout)[:1]]
        sizes = f" The sizes of masks do not tell: {_sized(odd[0][0])}, but {_sized(odd[0][1])}." if odd else ""
        raise InputError(
            f"It is unclear whether the folders in {root} are tasks or workers: {' or '.join(LAYOUTS)}.{sizes}"
            f" {advice}",
            layout=TASKS_OUTSIDE,
        )
    return TASKS_OUTSIDE if outside else WORKERS_OUTSIDE


def check_sizes(pictures: Sequence[Picture], layout: str, *, guessed: bool) -> None:
    """Refuse masks of one task that differ in size, and name the file that differs from most of them.

    >>> from pathlib import Path
    >>> names = {"ada": (4, 4), "bob": (9, 4), "eve": (4, 4)}
    >>> masks = [Picture("t1", name, Path(f"t1/{name}.png"), size) for name, size in names.items()]
    >>> check_sizes(masks, "tasks/workers", guessed=False)
    Traceback (most recent call last):
    allalike.errors.InputError: t1/bob.png has 9 x 4 pixels, but t1/ada.png has 4 x 4 pixels (height x width), and both
    are masks of task 't1'. The masks of a task must have the same size: correct the file, or leave it out.
    """
    odd = _find_odd(pictures, layout)
    if not odd:
        return
    one, other = odd[0]
    task = _name_task(one, layout)
    more = f" {len(odd) - 1:,} more differ from others of their task." if len(odd) > 1 else ""
    taken = f" The folders were taken for {layout.partition('/')[0]}." if guessed else ""
    sides = " (height x width)" if len(one.size) == 2 else ""
    opposite = LAYOUTS[1 - LAYOUTS.index(layout)]
    raise InputError(
        f"{_sized(one)}, but {_sized(other)}{sides}, and both are masks of task {task!r}.{more} The masks of"
        f" a task must have the same size: correct the file, or leave it out.{taken}",
        proposals=[Proposal({"layout": opposite})] if guessed and not _find_odd(pictures, opposite) else [],
    )


def _find_odd(pictures: Sequence[Picture], layout: str) -> list[tuple[Picture, Picture]]:
    """Return masks that differ in size from most of their task, each with the first of those."""
    tasks: dict[str, list[Picture]] = {}
    for picture in pictures:
        tasks.setdefault(_name_task(picture, layout), []).append(picture)
    odd = []
    for masks in tasks.values():
        usual = Counter(picture.size for picture in masks).most_common(1)[0][0]
        first = next(picture for picture in masks if picture.size == usual)
        odd += [(picture, first) for picture in masks if picture.size != usual]
    return odd


def _name_task(picture: Picture, layout: str) -> str:
    return picture.folder if layout == TASKS_OUTSIDE else picture.stem


def _sized(picture: Picture) -> str:
    unit = "pixels" if len(picture.size) == 2 else "voxels"
    return f"{picture.path} has {' x '.join(map(str, picture.size))} {unit}"


def _folder(picture: Picture) -> str:
    return picture.folder


def _stem(picture: Picture) -> str:
    return picture.stem


def _by_size(pictures: Sequence[Picture]) -> bool | None:
    """Masks of a task have one size, so what would make many of them odd is no task."""
    by_folder, by_stem = (len(_find_odd(pictures, layout)) for layout in LAYOUTS)
    if bool(by_folder) == bool(by_stem) or max(by_folder, by_stem) <= _ODD_SHARE * len(pictures):
        return None
    return not by_folder


def _by_number(pictures: Sequence[Picture]) -> bool | None:
    """A task has several masks, so names that never recur are not those of tasks, unless they name the folder too."""
    recurs = [max(Counter(map(key, pictures)).values()) > 1 for key in (_folder, _stem)]
    if all(picture.folder.casefold() in picture.stem.casefold() for picture in pictures):
        return None
    return recurs[0] if recurs[0] != recurs[1] else None


def _by_name(pictures: Sequence[Picture]) -> bool | None:
    """Names may say what they name."""
    outside = _said(map(_folder, pictures)), _said(map(_stem, pictures))
    said = {answer for answer in (outside[0], None if outside[1] is None else not outside[1]) if answer is not None}
    return said.pop() if len(said) == 1 else None


def _said(names: Iterable[str]) -> bool | None:
    """Tell whether all names are called like tasks, or like workers."""
    every = list(names)
    are_tasks, are_workers = (
        all(re.search(words, name.lower()) for name in every) for words in (_TASK_WORDS, _WORKER_WORDS)
    )
    return are_tasks if are_tasks != are_workers else None


def _by_likeness(within_folder: float, within_stem: float) -> bool | None:
    """Masks of a task are alike, masks of a worker are not."""
    if not min(within_folder, within_stem) < _MAX_DISTANCE_RATIO * max(within_folder, within_stem):
        return None
    return within_folder < within_stem


def _mean_distances(pictures: Sequence[Picture]) -> tuple[float, float]:
    """Average the Jaccard distance of masks in the same folder, and of the same name; some of them are looked at."""
    folders, stems = (
        {name for name, _ in Counter(map(key, pictures)).most_common(_SAMPLE_SIZE)} for key in (_folder, _stem)
    )
    sample = [p for p in pictures if p.folder in folders and p.stem in stems]
    try:
        masks = {p: Mask.of(_not_zero(p.path)) for p in sample}
    except ValueError as error:
        raise InputError(f"A mask cannot be read: {error}.") from error
    return _mean_distance(masks, _folder), _mean_distance(masks, _stem)


def _not_zero(path: Path) -> Pixels:
    values = read_picture(path, colours=True)
    pixels: Pixels = np.any(values.reshape(*values.shape[:2], -1) != 0, axis=2)
    return pixels


def _mean_distance(masks: dict[Picture, Mask], key: Callable[[Picture], str]) -> float:
    """Average the distance of all pairs of masks with the same key and size; NaN if there are none."""
    pairs = [(masks[a], masks[b]) for a, b in combinations(masks, 2) if key(a) == key(b) and a.size == b.size]
    areas = np.array([(a.area, b.area, common_area(a, b)) for a, b in pairs], np.int64).reshape(-1, 3)
    return float(jaccard(*areas.T).mean()) if len(areas) else nan
