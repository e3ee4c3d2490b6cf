"""Serialization: things as bytes, on disk or on their way; fast, and few bytes where arrays hold integers."""

from __future__ import annotations

import io
import itertools
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt

_ALIGNMENT = 64  # bytes; arrays begin at multiples of this, so that they can be used where they lie
_MIN_OUT_OF_BAND = 1 << 12  # bytes; smaller arrays stay in the pickle
_NARROW_TYPES = [np.iinfo(kind) for kind in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32)]


def pack(thing: Any) -> bytes:
    """Turn anything that pickles into bytes; the integers of an array take as few as the largest of them needs.

    >>> codes = np.arange(100_000) % 100
    >>> codes.nbytes, len(pack(codes)) < 101_000
    (800000, True)
    """
    out_of_band: list[memoryview] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes >= _MIN_OUT_OF_BAND:
            out_of_band.append(raw)
        return raw.nbytes < _MIN_OUT_OF_BAND

    body = io.BytesIO()
    _Packer(body, protocol=5, buffer_callback=is_small).dump(thing)
    parts = [body.getbuffer(), *out_of_band]
    sizes = np.array([len(parts), *map(len, parts)], "<i8")
    filled: list[bytes | memoryview] = []
    for part in (memoryview(sizes.tobytes()), *parts):
        filled += part, bytes(-len(part) % _ALIGNMENT)
    return b"".join(filled)


def unpack(data: bytes | bytearray | memoryview) -> Any:
    """Return what was packed; the integers of an array have the type again that they had.

    Arrays can be written to. Where the data can be too, as a `bytearray`, large ones are not copied but lie in it.

    >>> unpack(pack({"codes": np.array([3, 1]), "who": ["ada", "bob"]}))
    {'codes': array([3, 1]), 'who': ['ada', 'bob']}
    """
    view = memoryview(data)
    count = int(np.frombuffer(view, "<i8", 1)[0])
    sizes = np.frombuffer(view, "<i8", count + 1).tolist()
    sizes[0] = 8 * len(sizes)
    starts = itertools.accumulate((size + -size % _ALIGNMENT for size in sizes), initial=0)
    _, body, *out_of_band = (view[start : start + size] for start, size in zip(starts, sizes, strict=False))
    buffers = map(bytearray, out_of_band) if view.readonly else out_of_band
    return pickle.loads(body, buffers=buffers)  # nosec B301 # what this program packed, on its disk or in its processes


class _Packer(pickle.Pickler):
    """A pickler that narrows integers, which are widened again when they are unpickled."""

    def reducer_override(self, thing: Any) -> Any:
        if type(thing) is np.ndarray and thing.dtype.kind in "iu" and thing.dtype.itemsize > 1 and thing.size:
            low, high = thing.min(), thing.max()
            narrow = next((kind for kind in _NARROW_TYPES if kind.min <= low and high <= kind.max), None)
            if narrow is not None and narrow.dtype.itemsize < thing.dtype.itemsize:
                return _widened, (thing.astype(narrow.dtype), thing.dtype)
        return NotImplemented


def _widened(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return array.astype(dtype)
