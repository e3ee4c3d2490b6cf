"""Volumes: masks with three axes, where their voxels lie, and their files: NIfTI (``.nii``, ``.nii.gz``) by nibabel.

A volume of x by y by z voxels is kept as a tall picture: slice below slice, each with y rows and x columns. So all that
is known of masks holds for volumes: what they have in common, majorities, packing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from allalike._core.limits import MAX_VOXELS
from allalike.errors import UnsupportedError

__all__ = ["VOLUMES", "Grid", "is_volume", "nibabel", "read_grid", "read_volume", "write_volume"]

VOLUMES = (".nii", ".nii.gz")
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


def nibabel() -> Any:
    """Return nibabel, or say how to get it.

    >>> nibabel().__name__
    'nibabel'
    """
    try:
        import nibabel as package
    except ImportError:
        raise UnsupportedError("Volumes need nibabel. Install it with: pip install 'allalike[medical]'.") from None
    return package


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
    return _opened(path)[1]


def _opened(path: str | Path) -> tuple[Any, Grid]:
    package = nibabel()
    try:
        image = package.load(str(path))
        shape, affine, kind = image.shape, image.affine, image.get_data_dtype().kind
    except Exception as error:  # whatever broken bytes make of it
        raise ValueError(f"{path} cannot be read as NIfTI: {error}") from error
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    shape = (*shape, *(1,) * (3 - len(shape)))
    if len(shape) != 3 or kind not in "biuf" or affine is None or not np.isfinite(affine).all() or min(shape) < 1:
        raise ValueError(f"{path} holds {' x '.join(map(str, shape))} values; a mask has three dimensions of numbers")
    if np.prod(shape, dtype=np.float64) > MAX_VOXELS:
        sides = " x ".join(map(str, shape))
        raise ValueError(f"{path} has {sides} voxels, more than {MAX_VOXELS // 1_000_000} million")
    return image, Grid.of(shape, affine)


def read_volume(path: str | Path) -> npt.NDArray[Any]:
    """Return the values of a volume, as a tall picture."""
    image, grid = _opened(path)
    try:
        return grid.flatten(np.asanyarray(image.dataobj))
    except Exception as error:  # of a file that is cut off
        raise ValueError(f"{path} cannot be read as NIfTI: {error}") from error


def write_volume(voxels: npt.NDArray[np.bool_], grid: Grid, path: Path) -> None:
    """Write which voxels are on, with the matrix of the grid."""
    nibabel().save(nibabel().Nifti1Image(voxels.astype(np.uint8), grid.matrix), str(path))
