"""Volumes: masks with three axes, where their voxels lie, and their files: NIfTI (``.nii``, ``.nii.gz``) by nibabel.

A volume of x by y by z voxels is kept as a tall picture: slice below slice, each with y rows and x columns. So all that
is known of masks holds for volumes: what they have in common, majorities, packing.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.late import need
from allalike._core.limits import MAX_VOXELS

if TYPE_CHECKING:
    from collections.abc import Iterator

VOLUMES = (".nii", ".nii.gz")
_TOLERANCE = 1e-3  # of a voxel: what programs round affine matrices by


@dataclass(frozen=True, eq=False)
class Grid:
    """How many voxels a volume has along each axis, and the matrix that gives their places in millimetres, if known.

    >>> grid = Grid((2, 3, 4), np.diag([0.5, 0.5, 3.0, 1.0]))
    >>> grid.spacing, grid.flatten(np.zeros(grid.shape)).shape, grid.fits(Grid((2, 3, 4)))
    ((0.5, 0.5, 3.0), (12, 2), True)
    """

    shape: tuple[int, ...]
    affine: npt.NDArray[np.float64] | None = None

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
        """The matrix; where it is not known, voxels are the unit."""
        return np.eye(4) if self.affine is None else self.affine

    @property
    def spacing(self) -> tuple[float, ...]:
        """How long a voxel is along each axis."""
        return tuple(np.sqrt(np.square(self.matrix[:3, :3]).sum(axis=0)).tolist())

    def fits(self, other: Grid) -> bool:
        """Tell whether voxels of two volumes are the same places, as far as is known."""
        if self.shape != other.shape or self.affine is None or other.affine is None:
            return self.shape == other.shape
        return bool(np.abs(self.matrix - other.matrix).max() <= _TOLERANCE * max(min(self.spacing), 1e-12))

    def flatten(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a volume as a tall picture."""
        x, y, z = self.shape
        return values.reshape(self.shape).T.reshape(z * y, x)

    def restore(self, table: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a tall picture as the volume that it is."""
        return table.reshape(self.shape[::-1]).T


def nibabel() -> Any:
    """Return nibabel, or say how to get it.

    >>> nibabel().__name__
    'nibabel'
    """
    return need("nibabel", "Volumes need nibabel", "medical")


def is_volume(path: str | Path) -> bool:
    """Tell whether a file is a volume by its ending.

    >>> is_volume("ct7/ada.nii.gz"), is_volume("ct7/ada.png")
    (True, False)
    """
    return Path(path).name.lower().endswith(VOLUMES)


def read_grid(path: str | Path) -> Grid:
    """Return the grid of a volume as its header says, or raise ValueError with the reason why it is none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_volume(np.ones((2, 3, 4), np.bool_), Grid((2, 3, 4)), Path(folder, "t.nii.gz"))
    ...     read_grid(Path(folder, "t.nii.gz")).shape, int(read_volume(Path(folder, "t.nii.gz")).sum())
    ((2, 3, 4), 24)
    """
    with _opened(path) as (_, grid):
        return grid


def read_volume(path: str | Path) -> npt.NDArray[Any]:
    """Return the values of a volume, as a tall picture."""
    with _opened(path) as (image, grid):
        return grid.flatten(np.asanyarray(image.dataobj))


@contextmanager
def _opened(path: str | Path) -> Iterator[tuple[Any, Grid]]:
    """Open a volume, and look at its size before anything is read."""
    package = nibabel()
    try:
        image = package.load(str(path))
        yield image, _find_grid(image)
    except Exception as error:  # whatever broken bytes make of it
        raise ValueError(f"{path} cannot be read as NIfTI: {error}") from error


def _find_grid(image: Any) -> Grid:
    shape, sides = (*image.shape, 1, 1, 1)[:3], " x ".join(map(str, image.shape))
    if image.get_data_dtype().kind not in "biuf" or not 0 < math.prod(image.shape) == math.prod(shape):
        raise ValueError(f"it holds {sides} values; a mask has three dimensions of numbers")
    if math.prod(shape) > MAX_VOXELS:
        raise ValueError(f"it has {sides} voxels, more than {MAX_VOXELS // 1_000_000} million")
    if not np.isfinite(image.affine).all():
        raise ValueError("its affine matrix is not finite")
    return Grid(shape, image.affine)


def write_volume(voxels: npt.NDArray[np.bool_], grid: Grid, path: Path) -> None:
    """Write which voxels are on, with the matrix of the grid."""
    nibabel().save(nibabel().Nifti1Image(voxels.astype(np.uint8), grid.matrix), str(path))
