"""Brushes: masks as Label Studio packs them, runs of words in a stream of bits.

A stream begins with the number of words (32 bits), the size of a word less one (5 bits) and four sizes of runs less one
(4 bits each). Runs follow: a bit that says whether one word is repeated, two bits that choose a size, the number of
words less one in so many bits, and the word or the words. Words are the bytes of a picture with four channels, of
which the last says where the brush was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.limits import MAX_PIXELS
from allalike.errors import InputError

if TYPE_CHECKING:
    from allalike.readers.tools.trees import Node

__all__ = ["decode_brush", "unpack_words"]

_CHANNELS = 4


def decode_brush(item: Node) -> npt.NDArray[np.bool_]:
    """Return the mask of a brush, from a result of Label Studio.

    >>> from allalike.readers.tools.trees import Node
    >>> bits = f"{8:032b}" + f"{7:05b}" + f"{2:04b}" * 4 + "1" + "00" + "011" + f"{0:08b}" + "1" + "00" + "011"
    >>> bits += f"{255:08b}"
    >>> data = int(bits.ljust(88, "0"), 2).to_bytes(11)
    >>> region = {"original_width": 2, "original_height": 1, "value": {"rle": list(data)}}
    >>> decode_brush(Node(region, "tasks.json: record 1"))
    array([[False,  True]])
    """
    width, height = (int(item[key].number()) for key in ("original_width", "original_height"))
    rle = item["value"]["rle"]
    if not 0 < width * height <= MAX_PIXELS:
        raise InputError(
            f"{rle.where}: the picture of {rle.way!r} has {width} x {height} pixels. It must have 1 to {MAX_PIXELS:,}."
        )
    try:
        words = unpack_words(bytes(map(int, rle.numbers())), width * height * _CHANNELS)
    except ValueError as error:
        raise InputError(f"{rle.where}: {rle.way!r} is no mask of Label Studio: {error}.") from error
    return np.asarray(words.reshape(height, width, _CHANNELS)[:, :, -1] > 0)


def unpack_words(packed: bytes, expected: int) -> npt.NDArray[np.uint8]:
    """Unpack so many words.

    >>> packed = [0, 0, 0, 18, 57, 27, 252, 96, 32, 1, 0, 6, 0, 40, 0, 192, 3, 128, 17, 56, 32]
    >>> unpack_words(bytes(packed), 18).tolist()
    [1, 1, 1, 1, 2, 3, 5, 6, 7, 8, 4, 4, 4, 4, 4, 4, 4, 4]
    """
    place = 0

    def take(size: int) -> int:
        nonlocal place
        start, place = place, place + size
        if place > 8 * len(packed):
            raise ValueError("it is cut off")
        some = int.from_bytes(packed[start // 8 : (place + 7) // 8], "big")
        return some >> (-place % 8) & ((1 << size) - 1)

    number, size = take(32), take(5) + 1
    if number != expected or size > 8:
        raise ValueError(f"it has {number:,} words of {size} bits, where {expected:,} bytes are due")
    runs = [take(4) + 1 for _ in range(4)]
    words = np.zeros(number, np.uint8)
    at = 0
    while at < number:
        repeated = take(1)
        end = at + 1 + take(runs[take(2)])
        if end > number:
            raise ValueError("it has more words than it says")
        words[at:end] = take(size) if repeated else [take(size) for _ in range(end - at)]
        at = end
    return words
