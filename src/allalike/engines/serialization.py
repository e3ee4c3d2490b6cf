"""Pack things into bytes, to be kept on disk or sent away: fast, and in few bytes where arrays hold integers."""

from __future__ import annotations

import io
import itertools
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from allalike.blocks.block import Array

__all__ = ["pack", "unpack"]

_ALIGNED = 64  # bytes; where an array begins, so that it can be used where it lies
_APART = 1 << 12  # bytes; a smaller array is not worth a place of its own beside the pickle
_NARROW = [np.iinfo(kind) for kind in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32)]


def pack(thing: Any) -> bytes:
    """Turn anything that pickles into bytes; the integers of an array take as few as the largest of them needs.

    >>> codes = np.arange(100_000) % 100
    >>> codes.nbytes, len(pack(codes)) < 101_000
    (800000, True)
    """
    apart: list[memoryview] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes >= _APART:
            apart.append(raw)
        return raw.nbytes < _APART

    body = io.BytesIO()
    _Packer(body, protocol=5, buffer_callback=is_small).dump(thing)
    parts = [body.getbuffer(), *apart]
    sizes = np.array([len(parts), *map(len, parts)], "<i8")
    filled: list[bytes | memoryview] = []
    for part in (memoryview(sizes.tobytes()), *parts):
        filled += part, bytes(-len(part) % _ALIGNED)
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
    starts = itertools.accumulate((size + -size % _ALIGNED for size in sizes), initial=0)
    _, body, *apart = (view[start : start + size] for start, size in zip(starts, sizes, strict=False))
    return pickle.loads(body, buffers=map(bytearray, apart) if view.readonly else apart)


class _Packer(pickle.Pickler):
    def reducer_override(self, thing: Any) -> Any:
        if type(thing) is np.ndarray and thing.dtype.kind in "iu" and thing.dtype.itemsize > 1 and thing.size:
            low, high = thing.min(), thing.max()
            narrow = next((kind for kind in _NARROW if kind.min <= low and high <= kind.max), None)
            if narrow is not None and narrow.dtype.itemsize < thing.dtype.itemsize:
                return _widened, (thing.astype(narrow.dtype), thing.dtype)
        return NotImplemented


def _widened(array: Array, dtype: np.dtype[Any]) -> Array:
    return array.astype(dtype)
