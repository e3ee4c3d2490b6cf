"""Ids and labels as columns of a table, made for all rows at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.values import arrow_of
from allalike._core.late import pa, pc

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array

__all__ = ["id_column", "interval_column", "item_names", "ranking_column"]

_N_LETTERS = 26


def id_column(letter: str, number: int) -> pa.Array:
    """Number ids from 1, all of the same length, so that their order is that of the numbers.

    >>> id_column("w", 10).to_pylist()[-2:]
    ['w09', 'w10']
    """
    return _strings(_numbered(letter, number))


def item_names(items: int) -> list[str]:
    """Name items by letters, or where these are too few by numbers.

    >>> item_names(3), item_names(27)[-1]
    (['a', 'b', 'c'], 'i27')
    """
    names: list[str] = _strings(_item_bytes(items)).to_pylist()
    return names


def ranking_column(labels: Array, items: int) -> pa.Array:
    """Write orders of items as text.

    >>> ranking_column(np.array([[2, 0, 1]]), 3).to_pylist()
    ['c>a>b']
    """
    names = _item_bytes(items)
    marked = np.concatenate([names, np.full((items, 1), ord(">"), np.uint8)], axis=1)
    return _strings(marked[labels].reshape(len(labels), -1)[:, :-1])


def interval_column(labels: Array) -> pa.Array:
    """Write sets of intervals as JSON; those that hold nothing are left out.

    >>> interval_column(np.array([[[3, 7], [8, 8], [10, 12]], [[5, 5]] * 3])).to_pylist()
    ['[[3, 7], [10, 12]]', '[]']
    """

    def joined(*parts: Any) -> Any:
        return pc.binary_join_element_wise(*parts, "")

    pieces = []
    for begin, end in np.moveaxis(labels, 0, -1):
        texts = (arrow_of(bound).cast("string") for bound in (begin, end))
        written = joined("[", next(texts), ", ", next(texts), "], ")
        pieces.append(pc.if_else(arrow_of(end > begin), written, ""))
    return joined("[", pc.utf8_rtrim(joined(*pieces), ", "), "]")


def _item_bytes(items: int) -> npt.NDArray[np.uint8]:
    if items <= _N_LETTERS:
        return np.arange(ord("a"), ord("a") + items, dtype=np.uint8)[:, None]
    return _numbered("i", items)


def _numbered(letter: str, number: int) -> npt.NDArray[np.uint8]:
    """Return the characters of ids, one row for each."""
    powers = 10 ** np.arange(len(str(number)))[::-1]
    digits = np.arange(1, number + 1)[:, None] // powers % 10 + ord("0")
    characters: npt.NDArray[np.uint8] = np.concatenate([np.full((number, 1), ord(letter)), digits], axis=1).astype(
        np.uint8
    )
    return characters


def _strings(characters: npt.NDArray[np.uint8]) -> pa.Array:
    """Make strings of a table of characters, one row for each."""
    rows, width = characters.shape
    offsets = pa.py_buffer(np.arange(0, (rows + 1) * width, width)[: rows + 1])
    return pa.LargeStringArray.from_buffers(rows, offsets, pa.py_buffer(np.ascontiguousarray(characters)))
