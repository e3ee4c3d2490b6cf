"""Files of masks: images, one for each mask, arrays of numpy, and volumes.

Images are PNG or TIFF, and need Pillow; arrays are ``.npy``, or ``.npz`` with one array in it, and are never unpickled;
volumes are NIfTI (`allalike._core.masks.volumes`).
The headers of all of them are looked at before anything is decoded.
"""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.hashes import hash_bytes
from allalike._core.masks.packed import Mask, Pixels, check_size
from allalike._core.masks.volumes import is_volume, read_grid, read_volume, write_volume
from allalike._core.system.files import Archive
from allalike.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


PICTURES = (".png", ".tif", ".tiff")
ARRAYS = (".npy", ".npz")

_PLAIN_MODES = {"LA": "L"} | dict.fromkeys(("RGBA", "RGBX", "CMYK", "YCbCr", "PA", "P"), "RGB")
_PILLOW_FORMATS = ("PNG", "TIFF")


@dataclass(frozen=True, order=True)
class MaskFile:
    """The path of an image file that holds a mask; it is read when the mask is needed.

    >>> MaskFile("cells/ada.png")
    MaskFile(path='cells/ada.png')
    """

    path: str


def picture_size(path: str | Path) -> tuple[int, ...]:
    """Return height and width as the header of an image or array says, or a reason why it is none; of volumes x, y, z.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (path,) = write_masks([Mask.of(np.ones((2, 3), np.bool_))], ["t"], Path(folder, "masks"))
    ...     picture_size(Path(folder, path))
    (2, 3)
    """
    if is_volume(path):
        return read_grid(path).shape
    if _is_array(path):
        with _opened_array(path) as (_, shape):
            return shape
    with _opened(path) as image:
        return image.height, image.width


def read_picture(path: str | Path, *, colours: bool = False) -> npt.NDArray[Any]:
    """Return the pixel values of an image, array or volume: a table, or one per colour.

    Of an image with a palette the values are the numbers in the palette, or with ``colours`` the colours that these
    stand for. Transparency is ignored, unless with ``colours`` all pixels have the same colour: then it is all that
    the image says, and its values are returned.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (path,) = write_masks([Mask.of(np.eye(2, dtype=np.bool_))], ["t"], Path(folder, "masks"))
    ...     read_picture(Path(folder, path))
    array([[255,   0],
           [  0, 255]], dtype=uint8)
    """
    if is_volume(path):
        values = read_volume(path)
    else:
        values = _read_array(path) if _is_array(path) else _read_image(path, colours=colours)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{path} has a pixel that is not a finite number")
    return values


def _read_image(path: str | Path, *, colours: bool) -> npt.NDArray[Any]:
    with _opened(path) as image:
        palette = image.mode in ("P", "PA") and not colours
        mode = image.mode if palette else _PLAIN_MODES.get(image.mode, image.mode)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of transparent palettes, and of odd tags
                frames = getattr(image, "n_frames", 1)
                values = np.array(image if mode == image.mode else image.convert(mode))
                opacity = np.array(image.getchannel("A")) if colours and "A" in image.getbands() else None
        except Exception as error:  # whatever a decoder makes of broken bytes
            raise ValueError(f"{path} cannot be decoded: {error}") from error
    if frames > 1:
        raise ValueError(f"{path} holds {frames} images; a mask is one")
    if opacity is not None and (opacity < 255).any() and (values == values[0, 0]).all():
        return opacity
    return values[:, :, 0] if palette and values.ndim == 3 else values


def _is_array(path: str | Path) -> bool:
    return Path(path).suffix.lower() in ARRAYS


def _read_array(path: str | Path) -> npt.NDArray[Any]:
    with _opened_array(path) as (file, _):
        file.seek(0)
        values: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)  # type: ignore[no-untyped-call]
    return values


class _NotMaskError(ValueError):
    """An array that can be read, and is not a mask."""


@contextmanager
def _opened_array(path: str | Path) -> Iterator[tuple[IO[bytes], tuple[int, int]]]:
    """Open an array of numpy, and look at its size before anything is read."""
    try:
        with _unpacked(Path(path)) as inner:
            yield inner, _array_size(inner)
    except (_NotMaskError, InputError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    except Exception as error:  # whatever unpacking makes of broken bytes
        raise ValueError(
            f"{path} cannot be read: it is damaged, incomplete, or not an array of numpy. Copy it again"
        ) from error


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    if path.suffix.lower() == ".npy":
        with path.open("rb") as file:
            yield file
        return
    with Archive(path) as archive:
        names = archive.namelist()
        if len(names) != 1:
            raise _NotMaskError(f"it holds {len(names)} arrays; a mask is one")
        with archive.open(names[0]) as inner:
            yield inner


def _array_size(file: IO[bytes]) -> tuple[int, int]:
    version = np.lib.format.read_magic(file)  # type: ignore[no-untyped-call]
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(file)  # type: ignore[no-untyped-call]
    if len(shape) != 2 or dtype.kind not in "biuf":
        held = f"{' x '.join(map(str, shape))} of {dtype}"
        raise _NotMaskError(f"it holds {held}; a mask has rows and columns of numbers")
    try:
        check_size(*shape)
    except ValueError as error:
        raise _NotMaskError(str(error)) from None
    return shape[0], shape[1]


def _opened(path: str | Path) -> Any:
    """Open an image, and look at its size before anything is decoded."""
    from PIL import Image, UnidentifiedImageError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's warning of large images; the limit here is stricter in memory
        try:
            opened = Image.open(path, formats=_PILLOW_FORMATS)
        except Image.DecompressionBombError:
            raise ValueError(f"{path} is too large an image") from None
        except Exception as error:
            reason = "it is neither PNG nor TIFF" if isinstance(error, UnidentifiedImageError) else str(error)
            raise ValueError(f"{path} cannot be decoded: {reason}") from error
    try:
        check_size(opened.height, opened.width)
    except ValueError as error:
        opened.close()
        raise ValueError(f"{path} is too large an image: {error}") from None
    return opened


def write_masks(
    masks: Sequence[Mask | None], tasks: Sequence[object], folder: Path, *, on: float | None = None
) -> list[str | None]:
    """Write masks as files that are named after their tasks; return the paths from the folder's parent, none for none.

    Volumes are NIfTI, all else is PNG: pixels of the object have the value ``on``, or 255 if that is not given or no
    byte; the others are 0, or 255 if the object is 0.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     write_masks([Mask.of(np.ones((2, 2), np.bool_)), None] * 2, ["t1", 2, "../t1", 4], Path(parent, "masks"))
    ['masks/t1.png', None, 'masks/_t1-...png', None]
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[str | None] = []
    for name, mask in zip(_file_names(tasks), masks, strict=True):
        path = folder / f"{name}{'.png' if mask is None or mask.grid is None else '.nii.gz'}"
        if mask is not None and mask.grid is not None:
            write_volume(mask.shown(), mask.grid, path)
        elif mask is not None:
            _write_picture(mask.pixels(), path, on)
        paths.append(None if mask is None else f"{folder.name}/{path.name}")
    return paths


def _write_picture(mask: Pixels, path: Path, on: float | None) -> None:
    value = int(on) if on is not None and on in range(256) else 255
    pixels = np.where(mask, np.uint8(value), np.uint8(0 if value else 255))
    from PIL import Image

    Image.fromarray(pixels).save(path, format="PNG")


def _file_names(tasks: Sequence[object]) -> list[str]:
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
