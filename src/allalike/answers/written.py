"""Written: ids and labels that are Python objects as texts of JSON, from which they come back as they were.

Numbers, texts, truth values and lists are themselves. Everything else is an object with one key, the name of its type:
``{"tuple": [1, 2]}``, ``{"date": "2024-12-31"}``. Nothing that is read can be anything but these.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.system.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["read_object", "write_object"]

_MAX_BYTES = 1 << 31  # of an array
_KINDS = "biuf"

_PLAIN = (type(None), bool, int, float, str)
_LISTED = (tuple, set, frozenset)
_MOMENTS = (datetime, date, time)
_READERS: dict[str, Callable[[Any], Any]] = {
    "tuple": lambda value: tuple(map(_read, value)),
    "set": lambda value: set(map(_read, value)),
    "frozenset": lambda value: frozenset(map(_read, value)),
    "dict": lambda value: {_read(key): _read(each) for key, each in value},
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "bytes": lambda value: base64.b64decode(value, validate=True),
    "Decimal": Decimal,
    "array": lambda value: _read_array(*value),
}


def write_object(value: Any) -> str:
    """Write an object as a text; a `TypeError` says of what type it is, if it cannot be.

    >>> write_object([(1, "x"), None]), write_object({"size": 2.5})
    ('[{"tuple": [1, "x"]}, null]', '{"dict": [["size", 2.5]]}')
    """
    return json.dumps(_write(value), ensure_ascii=False)


def read_object(text: str) -> Any:
    """Return the object that was written; whatever is wrong with the text is a `ValueError`.

    >>> read_object(write_object([(1, "x"), {2.5}, np.eye(2, dtype=bool)]))
    [(1, 'x'), {2.5}, array([[ True, False],
           [False,  True]])]
    """
    try:
        return _read(parse_json(text))
    except (TypeError, KeyError, ArithmeticError, zlib.error) as error:
        raise ValueError(f"{text[:40]!r} is no value that was written") from error


def _write(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return list(map(_write, value))
    if kind in _LISTED:
        written = list(map(_write, value))
        return {kind.__name__: written if kind is tuple else sorted(written, key=json.dumps)}
    if kind is dict:
        return {"dict": [[_write(key), _write(each)] for key, each in value.items()]}
    if kind in _MOMENTS:
        return {kind.__name__: value.isoformat()}
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if kind is Decimal:
        return {"Decimal": str(value)}
    if kind is np.ndarray:
        return {"array": _write_array(value)}
    raise TypeError(f"values of type {kind.__name__} cannot be written")


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_read, value))
    if not isinstance(value, dict):
        return value
    ((name, inner),) = value.items()
    return _READERS[name](inner)


def _write_array(array: npt.NDArray[Any]) -> list[Any]:
    if array.dtype.kind not in _KINDS:
        raise TypeError(f"arrays of {array.dtype} cannot be written")
    plain = np.packbits(array) if array.dtype == np.bool_ else np.ascontiguousarray(array)
    held = plain.astype(plain.dtype.newbyteorder("<"), copy=False).tobytes()
    return [array.dtype.name, list(array.shape), base64.b64encode(zlib.compress(held)).decode()]


def _read_array(name: str, shape: list[int], text: str) -> npt.NDArray[Any]:
    """Return an array, of which it is known beforehand how large it is, so that nothing small can become huge."""
    dtype = np.dtype(name)
    size = math.prod(shape)
    packed = dtype == np.bool_
    n_bytes = -(-size // 8) if packed else size * dtype.itemsize
    if dtype.kind not in _KINDS or min(shape, default=0) < 0 or n_bytes > _MAX_BYTES:
        raise ValueError(f"{name} {shape} is no array")
    data = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), n_bytes + 1)
    if len(data) != n_bytes:
        raise ValueError(f"an array of {shape} has {len(data)} bytes")
    held = np.frombuffer(data, np.uint8 if packed else dtype.newbyteorder("<"))
    return (np.unpackbits(held, count=size).astype(np.bool_) if packed else held.astype(dtype)).reshape(shape)
