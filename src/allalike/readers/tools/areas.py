"""Areas: what people outlined or painted in pictures, class by class, as masks.

All that a worker drew of a class in a picture is one mask. Where there are several classes, each that somebody drew in
a picture is a task of its own, called after both, as the values of a label map are; who saw the picture and did not
draw the class says that it is not there. Where an export does not say how large a picture is, it is taken to end where
the outlines in it do: the distances of masks do not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.masks.outlines import draw
from allalike._core.masks.packed import Mask, check_size
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from allalike._core.masks.outlines import Part
    from allalike.readers.tools.collection import Collection

__all__ = ["Areas"]

_MIN_POINTS = 3  # of an outline that goes around something


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
        What was drawn in each picture, of each class, by each worker.
    flat
        How many outlines go around nothing.

    >>> areas = Areas("photos.json")
    >>> areas.see("ada", "p1", (2, 3))
    >>> areas.see("bob", "p1", (2, 3))
    >>> areas.draw("ada", "p1", "cat", [(0, 0), (2, 0), (2, 2), (0, 2)])
    >>> [(worker, kind, mask.area) for worker, _, kind, mask in areas.masks()]
    [('ada', 'cat', 4), ('bob', 'cat', 0)]
    """

    where: str
    sizes: dict[Hashable, tuple[int, int]] = field(default_factory=dict)
    seen: dict[Hashable, dict[Any, None]] = field(default_factory=dict)
    drawn: dict[Hashable, dict[Any, dict[Any, list[Part]]]] = field(default_factory=dict)
    flat: int = 0

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
        """Add what a worker drew of a class; what is painted has the size of the picture."""
        if not isinstance(part, Mask) and len(part) < _MIN_POINTS:
            self.flat += 1
        else:
            self.drawn.setdefault(picture, {}).setdefault(kind, {}).setdefault(worker, []).append(part)

    def masks(self) -> Iterator[tuple[Any, Any, Any, Mask]]:
        """Yield worker, picture, class and mask, for all who saw a picture in which somebody drew the class."""
        for picture, kinds in self.drawn.items():
            if picture not in self.sizes:
                parts: list[Any] = [part for by in kinds.values() for some in by.values() for part in some]
                width, height = np.max([(1, 1), *(np.max(part, axis=0) for part in parts)], axis=0)
                self.see(next(iter(self.seen[picture])), picture, (np.ceil(height), np.ceil(width)))
            for kind, by in kinds.items():
                for worker in self.seen[picture]:
                    yield worker, picture, kind, draw(by.get(worker, []), *self.sizes[picture])

    def add_to(self, found: Collection, question: str) -> None:
        """Add all masks to a collection, and say what was left out or taken for granted."""
        found.leave_out("outlines of fewer than three points", self.flat)
        found.leave_out("pictures in which nobody drew anything", len(self.seen.keys() - self.drawn.keys()))
        if unknown := len(self.drawn.keys() - self.sizes.keys()):
            found.remarks.append(
                f"How large a picture is, is not said of {unknown:,}: they are taken to end where their outlines do."
            )
        several = len({kind for kinds in self.drawn.values() for kind in kinds}) > 1
        for worker, picture, kind, mask in self.masks():
            found.add(worker, f"{picture}/{kind}" if several else picture, mask, question=question, kind="areas")
