"""Files of masks and label maps: images, arrays of numpy, and volumes.

Images are PNG or TIFF, and need Pillow; arrays are ``.npy``, or ``.npz`` with one array in it, and are never unpickled;
volumes are NIfTI (``.nii``, ``.nii.gz``), and need nibabel. The header of a file is looked at before anything is
decoded.

A label map gives each pixel the number of a class: 1 where there is liver, 2 where there is kidney, 0 elsewhere. Each
value of a map becomes a task. A class that was not drawn is an empty mask, which is also an answer.
"""

from __future__ import annotations

import math
import re
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.column import Column
from allalike._core.columns.hashes import hash_bytes
from allalike._core.columns.values import Values
from allalike._core.late import need
from allalike._core.limits import MAX_VOXELS
from allalike._core.masks.packed import Grid, Mask, NotMaskError, check_size
from allalike._core.system.files import Archive
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Opened = tuple[Grid, Callable[[], npt.NDArray[Any]]]  # what the header says, and a function that decodes the values

PICTURES = (".png", ".tif", ".tiff")
ARRAYS = (".npy", ".npz")
VOLUMES = (".nii", ".nii.gz")

_PLAIN_MODES = {"LA": "L"} | dict.fromkeys(("RGBA", "RGBX", "CMYK", "YCbCr", "PA", "P"), "RGB")


@dataclass(frozen=True, order=True)
class MaskFile:
    """The path of an image file that holds a mask; it is read when the mask is needed."""

    path: str


@dataclass(frozen=True)
class Layer:
    """A label map, and the value whose pixels are the mask."""

    label: Any
    value: float


def split_maps(columns: Mapping[str, Column], values: Sequence[float]) -> dict[str, Column]:
    """Make an answer for each value of each label map, and name its task after map and value.

    >>> task, label = Column.of_objects("task", ["ct7"]), Column("label", [[[0, 1, 2]]])
    >>> split = split_maps({"task": task, "label": label}, [1, 2])
    >>> split["task"].data.to_pylist(), split["label"].data[1]
    (['ct7/1', 'ct7/2'], Layer(label=[[0, 1, 2]], value=2))
    """
    rows = np.repeat(np.arange(len(columns["label"])), len(values))
    split = {role: Values(column.data).take(rows) for role, column in columns.items()}
    layers = list(values) * len(columns["label"])
    tasks = [t if t is None else f"{t}/{value:g}" for t, value in zip(split["task"].tolist(), layers, strict=True)]
    maps = [m if m is None else Layer(m, value) for m, value in zip(split["label"].tolist(), layers, strict=True)]
    split |= {"task": Values(Column.of_objects("task", tasks).data), "label": Values(maps)}
    return {role: column.replaced(split[role].data, rows) for role, column in columns.items()}


def is_volume(path: str | Path) -> bool:
    """Return whether a file is a volume by its ending."""
    return Path(path).name.lower().endswith(VOLUMES)


def nibabel() -> Any:
    """Return nibabel, or say how to get it."""
    return need("nibabel", "Volumes need nibabel", "medical")


def read_grid(path: str | Path) -> Grid:
    """Return the grid of a volume as its header says, or raise ValueError with the reason why it is none."""
    with _opened(path) as (grid, _):
        return grid


def picture_size(path: str | Path) -> tuple[int, ...]:
    """Return height and width as the header of an image or array says, or a reason why it is none; of volumes x, y, z.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (path,) = write_masks([Mask.of(np.eye(2, dtype=np.bool_))], ["t"], Path(folder, "masks"))
    ...     picture_size(Path(folder, path)), read_picture(Path(folder, path)).tolist()
    ((2, 2), [[255, 0], [0, 255]])
    """
    return read_grid(path).shape


def read_picture(path: str | Path, *, colours: bool = False) -> npt.NDArray[Any]:
    """Return the pixel values of an image, array or volume: a table, or one per colour.

    Of an image with a palette the values are the numbers in the palette, or with ``colours`` the colours that these
    stand for. Transparency is ignored, unless with ``colours`` all pixels have the same colour: then it is all that
    the image says, and its values are returned.
    """
    with _opened(path, colours=colours) as (_, decode):
        values = decode()
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise NotMaskError("it has a pixel that is not a finite number")
    return values


@contextmanager
def _opened(path: str | Path, *, colours: bool = False) -> Iterator[Opened]:
    """Open a file of any kind; whatever its bytes make of the packages that read it is one error that names it."""
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
            warnings.simplefilter("ignore")  # of large images, whose limit here is stricter, and of odd tags
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
        raise NotMaskError("it is too large an image") from error
    check_size(image.height, image.width)

    def decode() -> npt.NDArray[Any]:
        numbered = image.mode in ("P", "PA") and not colours
        mode = image.mode if numbered else _PLAIN_MODES.get(image.mode, image.mode)
        if (frames := getattr(image, "n_frames", 1)) > 1:
            raise NotMaskError(f"it holds {frames} images; a mask is one")
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
            raise NotMaskError(f"it holds {len(names)} arrays; a mask is one")
        file = stack.enter_context(archive.open(names[0]))
    numpy_format: Any = np.lib.format
    version = numpy_format.read_magic(file)
    read_header = numpy_format.read_array_header_1_0 if version == (1, 0) else numpy_format.read_array_header_2_0
    shape, _, dtype = read_header(file)
    if len(shape) != 2 or dtype.kind not in "biuf":
        held = f"{' x '.join(map(str, shape))} of {dtype}"
        raise NotMaskError(f"it holds {held}; a mask has rows and columns of numbers")
    check_size(*shape)
    file.seek(0)
    return Grid(shape), lambda: numpy_format.read_array(file, allow_pickle=False)


def _open_volume(path: Path, stack: ExitStack, colours: bool) -> Opened:
    image = nibabel().load(str(path))
    shape, sides = (*image.shape, 1, 1, 1)[:3], " x ".join(map(str, image.shape))
    if image.get_data_dtype().kind not in "biuf" or not 0 < math.prod(image.shape) == math.prod(shape):
        raise NotMaskError(f"it holds {sides} values; a mask has three dimensions of numbers")
    if math.prod(shape) > MAX_VOXELS:
        raise NotMaskError(f"it has {sides} voxels, more than {MAX_VOXELS // 1_000_000} million")
    if not np.isfinite(image.affine).all():
        raise NotMaskError("its affine matrix is not finite")
    grid = Grid(shape, image.affine)
    return grid, lambda: grid.flatten(np.asanyarray(image.dataobj))


def write_masks(
    masks: Sequence[Mask | None], tasks: Sequence[object], folder: Path, *, on: float | None = None
) -> list[str | None]:
    """Write masks as files that are named after their tasks; return the paths from the folder's parent, none for none.

    Volumes are NIfTI, all else is PNG: pixels of the object have the value ``on``, or 255 if that is not given or no
    byte; the others are 0, or 255 if the object is 0.
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
    """Name files after tasks; what is odd, long or taken in any case of letters is told apart by a hash."""
    names: dict[str, str] = {}
    for task in tasks:
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", str(task))[:60]
        if name != str(task) or not name or name.lower() in names:
            name = f"{name}-{hash_bytes(repr(task).encode()):016x}"
        while name.lower() in names:
            name += "_"
        names[name.lower()] = name
    return list(names.values())
