"""Areas: what people outlined or painted in pictures, class by class, as masks.

All that a worker drew of a class in a picture is one mask. Where there are several classes, each that somebody drew in
a picture is a task of its own, called after both, as the values of a label map are; who saw the picture and did not
draw the class says that it is not there. Where an export does not say how large a picture is, it is taken to end where
the outlines in it do: the distances of masks do not depend on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.masks.outlines import fill_polygon, unite
from allalike._core.masks.packed import Mask, check_size
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence
    from typing import TypeAlias

    from allalike.readers.tools.collection import Collection

    Part: TypeAlias = "Sequence[Sequence[float]] | Painted"  # an outline, or what was painted

__all__ = ["Areas", "Painted"]

_MIN_POINTS = 3  # of an outline that goes around something


class Painted(NamedTuple):
    """A mask of some rows and columns of a picture, and the first of these.

    >>> Painted.of_rows([1, 2, 3], 2, 3, top=4, left=5).within(9, 9)
    a mask of 9 x 9 pixels, 2 on
    """

    mask: Mask
    top: int = 0
    left: int = 0

    @classmethod
    def of_rows(cls, runs: Sequence[int], height: int, width: int, *, top: int, left: int) -> Painted:
        """Read run lengths that go row after row, off first; raise ValueError with the reason if they are none."""
        check_size(height, width)
        if any(run < 0 for run in runs) or sum(runs) > height * width or min(top, left) < 0:
            raise ValueError(f"its run lengths are not those of {height} x {width} pixels in a picture")
        flat = np.zeros(height * width, np.bool_)
        on = np.repeat(np.arange(len(runs)) % 2 == 1, runs)
        flat[: len(on)] = on
        return cls(Mask.of(flat.reshape(height, width)), top, left)

    @property
    def corner(self) -> tuple[int, int]:
        """Where it ends, as x and y."""
        return self.left + self.mask.width, self.top + self.mask.height

    def within(self, height: int, width: int) -> Mask:
        """Return the mask in its picture; raise ValueError if it does not lie in it."""
        if (height, width) == (self.mask.height, self.mask.width) and not self.top and not self.left:
            return self.mask
        if self.corner[0] > width or self.corner[1] > height:
            raise ValueError(f"what was painted up to {self.corner} is not in a picture of {height} x {width} pixels")
        moved = np.pad(self.mask.pixels(), ((0, 0), (self.left & 7, 0)))
        return Mask.of(moved).placed(height, width, self.top, self.left & ~7)


@dataclass
class Areas:
    """What was drawn in pictures, and how large these are.

    Parameters
    ----------
    where
        The files, for messages.
    sizes
        Height and width of each picture, where they are known.
    seen
        The workers who saw each picture.
    drawn
        What each worker drew of each class in each picture.
    ends
        The largest x and y of what was drawn in each picture.

    >>> areas = Areas("photos.json")
    >>> areas.see("ada", "p1", (2, 3))
    >>> areas.see("bob", "p1", (2, 3))
    >>> areas.draw("ada", "p1", "cat", [(0, 0), (2, 0), (2, 2), (0, 2)])
    >>> [(worker, task, mask.area) for worker, task, mask in areas.masks()]
    [('ada', 'p1', 4), ('bob', 'p1', 0)]
    """

    where: str
    sizes: dict[Hashable, tuple[int, int]] = field(default_factory=dict)
    seen: dict[Hashable, dict[Any, None]] = field(default_factory=dict)
    drawn: dict[tuple[Hashable, Any], dict[Any, list[Part]]] = field(default_factory=dict)
    ends: dict[Hashable, tuple[float, ...]] = field(default_factory=dict)

    def see(self, worker: Any, picture: Hashable, size: tuple[float, float] | None = None) -> None:
        """Note that a worker saw a picture, perhaps of a known height and width."""
        self.seen.setdefault(picture, {})[worker] = None
        if size is None:
            return
        try:
            height, width = map(int, size)
            check_size(height, width)
        except (ValueError, OverflowError) as error:
            raise InputError(f"{self.where}: the picture {picture!r} cannot be so large: {error}.") from None
        if self.sizes.setdefault(picture, (height, width)) != (height, width):
            known = " x ".join(map(str, self.sizes[picture]))
            raise InputError(
                f"{self.where}: the picture {picture!r} has {height} x {width} pixels in one place, and {known} in"
                " another (height x width). Correct the file, or leave it out."
            )

    def draw(self, worker: Any, picture: Hashable, kind: Any, part: Part) -> None:
        """Add what a worker drew of a class."""
        self.drawn.setdefault((picture, kind), {}).setdefault(worker, []).append(part)
        corners = [part.corner] if isinstance(part, Painted) else part
        self.ends[picture] = tuple(max(axis) for axis in zip(self.ends.get(picture, (1, 1)), *corners, strict=False))

    def masks(self) -> Iterator[tuple[Any, Any, Mask]]:
        """Yield worker, task and mask."""
        several = len({kind for _, kind in self.drawn}) > 1
        for picture, kind in self.drawn:
            task = f"{picture}/{kind}" if several else picture
            for worker in self.seen[picture]:
                yield worker, task, self.mask(worker, picture, kind)

    def mask(self, worker: Any, picture: Hashable, kind: Any) -> Mask:
        """Return all that a worker drew of a class in a picture."""
        height, width = self.sizes.get(picture) or self._guess_size(picture, worker)
        parts = self.drawn.get((picture, kind), {}).get(worker, [])
        try:
            masks = [
                part.within(height, width) if isinstance(part, Painted) else fill_polygon(part, height, width)
                for part in parts
            ]
        except ValueError as error:
            raise InputError(f"{self.where}: the picture {picture!r} of {worker!r}: {error}.") from None
        return unite([*masks, fill_polygon([], height, width)])

    def _guess_size(self, picture: Hashable, worker: Any) -> tuple[int, int]:
        """Return how large a picture must be for all that is drawn in it."""
        width, height = (max(1, math.ceil(end)) for end in self.ends.get(picture, (1, 1)))
        self.see(worker, picture, (height, width))
        return height, width

    def add_to(self, found: Collection, question: str) -> None:
        """Add all masks to a collection, and say what was left out or taken for granted."""
        flat = sum(
            not isinstance(part, Painted) and len(part) < _MIN_POINTS
            for by in self.drawn.values()
            for some in by.values()
            for part in some
        )
        found.leave_out("outlines of fewer than three points", flat)
        found.leave_out(
            "pictures in which nobody drew anything", len({*self.seen} - {picture for picture, _ in self.drawn})
        )
        if unknown := len({picture for picture, _ in self.drawn} - {*self.sizes}):
            found.remarks.append(
                f"How large a picture is, is not said of {unknown:,}: they are taken to end where their outlines do."
            )
        for worker, task, mask in self.masks():
            found.add(worker, task, mask, question=question, kind="areas")
