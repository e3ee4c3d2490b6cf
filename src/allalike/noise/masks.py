"""Noise on masks: outlines that wobble, and specks.

The outline is moved inwards and outwards by a smooth random field: each pixel's distance to the outline (positive
inside) plus the field decides whether it belongs to the answer. The field is Gaussian with the worker's fault as its
standard deviation in pixels, everywhere, and smooth over `grain` pixels: it is drawn on a coarse grid and
interpolated with weights whose squares sum to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.options import share, whole
from allalike.noise.base import Noise, check_within

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats

__all__ = ["MaskNoise"]


@dataclass(frozen=True, kw_only=True)
class MaskNoise(Noise):
    """Outlines that are some pixels off; truths and answers are tables of pixels, on or off.

    Parameters
    ----------
    grain
        Over how many pixels an outline is off in the same direction.
    specks
        How likely a pixel is turned over besides.

    >>> import numpy as np
    >>> square = np.pad(np.ones((4, 4), np.bool_), 2)
    >>> MaskNoise().sample(square[None], np.array([0.0, 1.0]), seed=1).sum(axis=(1, 2, 3)).tolist()
    [16, 26]
    """

    name: ClassVar[str] = "mask"
    grain: int = whole(8, least=1)
    specks: float = share(0.0)

    @property
    def chance(self) -> float:
        """How far from the truth an answer without a common pixel is."""
        return 1.0

    def draw(self, truth: Array, faults: Floats, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
        """Move the outlines, and turn some pixels over."""
        shift, pixels = check_within(faults, np.inf, "A shift")[..., None, None], np.asarray(truth, np.bool_)
        shape = np.broadcast_shapes(pixels.shape, shift.shape)
        rows, columns = (_interpolation(size, self.grain) for size in shape[-2:])
        field = rows @ rng.standard_normal((*shape[:-2], rows.shape[1], columns.shape[1])) @ columns.T
        answers: npt.NDArray[np.bool_] = _inside(pixels) + shift * field > 0
        return answers ^ (rng.random(shape) < self.specks) if self.specks else answers


def _inside(pixels: npt.NDArray[np.bool_]) -> Floats:
    """Return how deep inside the object each pixel of each mask lies, in pixels up to the outline; below 0 outside.

    What lies behind the border is outside; a mask without an object stays without one.
    """
    depth, before = np.empty(pixels.shape), None
    for place in np.ndindex(pixels.shape[:-2]):
        same = before is not None and np.array_equal(pixels[place], pixels[before])  # as answers to one task are
        depth[place] = depth[before] if same else _depth(np.pad(pixels[place], 1))[1:-1, 1:-1]
        before = place
    return depth


def _depth(mask: npt.NDArray[np.bool_]) -> Floats:
    from scipy import ndimage

    distance: Any = ndimage.distance_transform_edt
    inner = distance(mask) - distance(~mask) if mask.any() else np.full(mask.shape, -np.inf)
    depth: Floats = inner - np.where(mask, 0.5, -0.5)
    return depth


def _interpolation(size: int, grain: int) -> Floats:
    """Return the weights of the points of a coarse grid for each pixel; their squares sum to 1."""
    pixel, point = np.arange(size)[:, None] / grain, np.arange(-(-(size - 1) // grain) + 1)
    weights = np.maximum(0.0, 1 - np.abs(pixel - point))
    rows: Floats = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    return rows
