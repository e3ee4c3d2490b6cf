"""Grids: the voxels of a volume, and where they lie in space.

A volume of x by y by z voxels is kept as a tall picture: slice below slice, each with y rows and x columns. So all that
is known of masks holds for volumes: what they have in common, majorities, packing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Grid"]

_TOLERANCE = 1e-3  # of a voxel: what programs round affine matrices by


@dataclass(frozen=True)
class Grid:
    """How many voxels a volume has along each axis, and the matrix that gives their places in millimetres, if known.

    >>> grid = Grid.of((2, 3, 4), np.diag([0.5, 0.5, 3.0, 1.0]))
    >>> grid.spacing, grid.flatten(np.zeros(grid.shape)).shape, grid.fits(Grid((2, 3, 4)))
    ((0.5, 0.5, 3.0), (12, 2), True)
    """

    shape: tuple[int, int, int]
    affine: tuple[float, ...] = ()

    @classmethod
    def of(cls, shape: tuple[int, ...], affine: Any) -> Grid:
        """Make a grid of a shape and a matrix with four rows and columns."""
        x, y, z = shape
        return cls((x, y, z), tuple(np.asarray(affine, np.float64).ravel().tolist()))

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
        """The matrix; where it is not known, voxels are the unit."""
        return np.array(self.affine).reshape(4, 4) if self.affine else np.eye(4)

    @property
    def spacing(self) -> tuple[float, ...]:
        """How long a voxel is along each axis."""
        return tuple(np.sqrt(np.square(self.matrix[:3, :3]).sum(axis=0)).tolist())

    def fits(self, other: Grid) -> bool:
        """Tell whether voxels of two volumes are the same places, as far as is known."""
        if self.shape != other.shape or not self.affine or not other.affine:
            return self.shape == other.shape
        return bool(np.abs(self.matrix - other.matrix).max() <= _TOLERANCE * max(min(self.spacing), 1e-12))

    def flatten(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a volume as a tall picture."""
        x, y, z = self.shape
        return values.reshape(self.shape).T.reshape(z * y, x)

    def restore(self, table: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a tall picture as the volume that it is."""
        return table.reshape(self.shape[::-1]).T
