"""Hash ids and labels: the same 64 bits for the same value, on every machine and in every run.

Two uses need such a hash. Rows are grouped by task by sorting hashes instead of strings, and ties are drawn by
a hash of seed, task and label, so that a draw depends on nothing but these three. Strings are hashed straight
from Arrow's buffers, eight bytes at a time, for thousands of strings at once.
"""

from __future__ import annotations

import hashlib
import numbers
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["hash_bytes", "hash_objects", "hash_strings", "mix", "string_bytes", "string_words", "write"]

Hashes = npt.NDArray[np.uint64]

_STRINGS_PER_PIECE = 1 << 15  # hashed together: their words stay in the cache
_MAX_PIECE_STRING_BYTES = 256  # a longer string is hashed alone
_LOW_BYTE_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)
_FIRST_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SECOND_MULTIPLIER = np.uint64(0xC2B2AE3D27D4EB4F)
_HALF_WORD_BITS = np.uint64(32)


def mix(bits: Hashes) -> Hashes:
    """Scatter 64-bit numbers, one to one (the finaliser of Stafford's variant 13 of MurmurHash3).

    >>> import numpy as np
    >>> [hex(h) for h in mix(np.array([1, 2], dtype=np.uint64))]
    ['0x5692161d100b05e5', '0xdbd238973a2b148a']
    """
    bits = bits ^ (bits >> np.uint64(30))
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits


def hash_bytes(value: bytes) -> int:
    """Hash one string of bytes.

    >>> hash_bytes(b"a")
    3405396810240292928
    """
    return int.from_bytes(hashlib.blake2b(value, digest_size=8).digest(), "little")


def hash_objects(values: Iterable[object]) -> Hashes:
    """Hash Python objects by how they are written.

    >>> hash_objects([("a", 1)])
    array([12444202034427101082], dtype=uint64)
    """
    return np.array([hash_bytes(write(value).encode(errors="surrogatepass")) for value in values], dtype=np.uint64)


def write(value: object) -> str:
    """Write a value as Python does, but equal ones alike: whole numbers of any type, moments, and sets in order.

    >>> write(("a", 8.0, frozenset([2, 1]))), write(Decimal("1.10"))
    ("('a', 8, {1, 2})", "Decimal('1.1')")
    """
    if isinstance(value, str | bytes):
        return repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(write, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, frozenset | set):
        return f"{{{', '.join(sorted(map(write, value)))}}}"
    if isinstance(value, np.generic) and not isinstance(value.item(), np.generic):  # as long floats are
        return write(value.item())
    if isinstance(value, numbers.Number):
        return _write_number(value)
    if isinstance(value, datetime) and value.utcoffset() is not None:
        return repr(value.astimezone(UTC))
    return repr(value)


def _write_number(value: Any) -> str:
    for plain in (int, float):
        try:
            if plain(value) == value:
                return repr(plain(value))
        except (TypeError, ValueError, OverflowError):  # complex numbers, NaN, infinity
            continue
    return repr(value.normalize() if isinstance(value, Decimal) else value)


def hash_strings(array: Any) -> tuple[Hashes, Hashes]:
    """Hash an Arrow array of strings or binaries; the second hash tells apart what the first does not.

    >>> import pyarrow as pa
    >>> first, second = hash_strings(pa.array(["a", "b", "a"]))
    >>> bool(first[0] == first[2] != first[1]), bool(second[0] == second[2] != second[1])
    (True, True)
    """
    data, ends = string_bytes(array)
    first, second = np.empty(len(array), np.uint64), np.empty(len(array), np.uint64)
    for start in range(0, len(array), _STRINGS_PER_PIECE):
        piece = slice(start, min(start + _STRINGS_PER_PIECE, len(array)))
        first[piece], second[piece] = _hash_piece(data, ends[piece.start : piece.stop + 1])
    return first, second


def string_bytes(array: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """View the bytes of an Arrow array of strings, and where each string begins and the last one ends.

    >>> import pyarrow as pa
    >>> data, ends = string_bytes(pa.array(["ab", "c"]))
    >>> bytes(data), ends
    (b'abc', array([0, 2, 3]))
    """
    _, offsets, buffer = array.buffers()
    wide = str(array.type).startswith("large_")
    ends = np.frombuffer(offsets, np.int64 if wide else np.int32, array.offset + len(array) + 1)[array.offset :]
    data = np.frombuffer(buffer, np.uint8) if buffer else np.empty(0, np.uint8)
    return data[: ends[-1]], ends.astype(np.int64, copy=False)


def string_words(
    data: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], skip: int = 0, most: int = _MAX_PIECE_STRING_BYTES
) -> Iterator[Hashes]:
    """Yield the strings' bytes, eight at a time, as little-endian numbers filled up with zeros.

    >>> data = np.frombuffer(b"abcdefghij" + b"x", np.uint8)
    >>> [[word.to_bytes(8, "little").rstrip(bytes(1)) for word in words.tolist()]
    ...  for words in string_words(data, np.array([0, 10, 11]))]
    [[b'abcdefgh', b'x'], [b'ij', b'']]
    """
    begin, size = int(ends[0]), int(ends[-1] - ends[0])
    padded = np.zeros(size + 8, np.uint8)
    padded[:size] = data[begin : begin + size]
    lengths = np.diff(ends)
    shortest, longest = int(lengths.min()), int(lengths.max())
    for done in range(skip, min(longest, most), 8):
        if shortest == longest:
            yield (
                np.ndarray((len(lengths),), "<u8", padded, done, (longest,)) & _LOW_BYTE_MASKS[min(longest - done, 8)]
            )
        else:
            every: Hashes = np.ndarray((size + 1,), "<u8", padded, 0, (1,))
            place = np.minimum(ends[:-1] - begin + done, size)
            yield every[place] & _LOW_BYTE_MASKS[np.clip(lengths - done, 0, 8)]


def _hash_piece(data: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> tuple[Hashes, Hashes]:
    lengths = np.diff(ends)
    first = lengths.astype(np.uint64) * _SECOND_MULTIPLIER
    second = ~first
    shortest = int(lengths.min())
    for number, word in enumerate(string_words(data, ends)):
        longer = True if shortest > 8 * number else lengths > 8 * number  # a string that has ended keeps its hash
        np.bitwise_xor(first, word, out=first, where=longer)
        np.multiply(first, _FIRST_MULTIPLIER, out=first, where=longer)
        np.bitwise_xor(first, first >> _HALF_WORD_BITS, out=first, where=longer)
        np.bitwise_xor(second, word, out=second, where=longer)
        np.multiply(second, _SECOND_MULTIPLIER, out=second, where=longer)
    for row in np.flatnonzero(lengths > _MAX_PIECE_STRING_BYTES):
        text = data[ends[row] : ends[row + 1]].tobytes()
        first[row], second[row] = hash_bytes(text), hash_bytes(b"check" + text)
    return first, second
