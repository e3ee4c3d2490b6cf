"""Cells: the labels of a record's fields side by side, and for each field the answers that filled it as a block.

A code of a record is a row of a structured array. It holds the code of every field, and which of them are filled; what
stands in a field that is not filled means nothing. A field may be left empty by many. Its own kernels know nothing of
that: they see a block of those tasks and answers that have the field, in which everybody has a label.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.pairs import PairDistances
from allalike._core.columns.hashes import hash_objects, mix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike._core.blocks.block import Array, Block
    from allalike.domains.contract import Encoding, Kernels

__all__ = [
    "FieldBlock",
    "FieldCells",
    "Lengths",
    "codes_of",
    "filled_in",
    "join_cells",
    "prepare_field",
    "salted",
    "spread",
]

_FILLED = "filled"

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Lengths:
    """The differences of the answers to a task, where a field's distance has no largest value."""

    pairs: PairDistances


@dataclass(frozen=True)
class FieldBlock:
    """The answers of a block that fill one field.

    Parameters
    ----------
    block
        These answers, prepared for the field's kernels; its workers are those of the whole block.
    rows, tasks
        Where its answers and tasks are in the whole block; nothing if they are all there.
    kernels
        The field's kernels.
    """

    block: Block
    rows: npt.NDArray[np.intp] | None
    tasks: npt.NDArray[np.intp] | None
    kernels: Kernels

    def among(self, whole: Block) -> Block:
        """Return the field's block with the workers that the whole block has now."""
        worker = whole.worker if self.rows is None else whole.worker[self.rows]
        if worker is self.block.worker and whole.n_workers == self.block.n_workers:
            return self.block
        return replace(self.block, worker=worker, workers=whole.workers, n_workers=whole.n_workers)


@dataclass(frozen=True)
class FieldCells:
    """The blocks of all fields of a record; nothing for a field that nobody filled."""

    fields: tuple[FieldBlock | None, ...]


def join_cells(columns: Sequence[Array], filled: Flags) -> Array:
    """Put the codes of fields side by side, given which are filled: a row per label, a column per field.

    >>> cells = join_cells([np.array([2, 0]), np.array([0.5, 1.5])], np.array([[True, False], [True, True]]))
    >>> codes_of(cells, 1), filled_in(cells)
    (array([0.5, 1.5]), array([[ True, False],
           [ True,  True]]))
    """
    kinds = [(_key(number), column.dtype, column.shape[1:]) for number, column in enumerate(columns)]
    cells = np.zeros(len(filled), np.dtype([*kinds, (_FILLED, np.bool_, filled.shape[1:])], align=True))
    for number, column in enumerate(columns):
        cells[_key(number)] = column
    cells[_FILLED] = filled
    return cells


def codes_of(cells: Array, field: int) -> Array:
    """Return the codes of one field, also where they mean nothing."""
    return cells[_key(field)]


def filled_in(cells: Array) -> Flags:
    """Return which fields are filled: a row per label."""
    return np.asarray(cells[_FILLED])


def spread(codes: Array, rows: Array, size: int) -> Array:
    """Return an array of so many rows that has codes at some of them.

    >>> spread(np.array([3, 4]), np.array([0, 2]), 4)
    array([3, 0, 4, 0])
    """
    if len(rows) == size:
        return codes
    column = np.zeros((size, *codes.shape[1:]), codes.dtype)
    column[rows] = codes
    return column


def prepare_field(block: Block, field: int, name: str, encoding: Encoding) -> FieldBlock | None:
    """Return the answers of a block that fill a field, prepared; nothing if there are none."""
    filled, codes = filled_in(block.label)[:, field], codes_of(block.label, field)
    rows, tasks, sizes = None, None, block.sizes
    if not filled.all():
        rows = np.flatnonzero(filled)
        sizes = np.add.reduceat(filled.astype(np.int64), block.starts)
        tasks = np.flatnonzero(sizes)
        if not len(rows):
            return None
    part = replace(
        block,
        starts=block.starts if tasks is None else np.cumsum(sizes[tasks]) - sizes[tasks],
        sizes=sizes if tasks is None else sizes[tasks],
        worker=block.worker if rows is None else block.worker[rows],
        label=np.ascontiguousarray(codes if rows is None else codes[rows]),
        task_hash=salted(block.task_hash if tasks is None else block.task_hash[tasks], name),
        gold_task=block.gold_task[:0],
        gold_label=codes_of(block.gold_label, field)[:0],
        prepared={},
        live=None,
    )
    kernels = encoding.kernels
    prepared = encoding.prepare(part)
    if (power := encoding.domain.power) > 0:
        apart = PairDistances.of(part, lambda i, j: kernels.distance_between(part.label[i], part.label[j]))
        prepared = prepared.keeping(Lengths(replace(apart, distance=apart.distance ** (1 / power))))
    return FieldBlock(prepared, rows, tasks, kernels)


def salted(hashes: Array, name: str) -> Array:
    """Return the hashes of tasks as a field has them, so that equal labels of two fields are not drawn alike."""
    return mix(hashes ^ hash_objects([name])[0])


def _key(field: int) -> str:
    return f"field {field}"
