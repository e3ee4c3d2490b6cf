"""Records field by field: their units, what is known of some, and fields as answers of their own.

Where workers are weighed in each field alone, a block of a field has all tasks of the whole block, in the same order,
so that whatever is found for tasks has its place. A task in which nobody filled the field is dropped
(`allalike._core.blocks.block.Block.without`): it has one answer of the dummy worker, which counts nowhere.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from allalike.domains.capabilities import Fields
from allalike.domains.contract import Encoding
from allalike.domains.records.cells import codes_of, filled_in, salted
from allalike.domains.records.kernels import RecordKernels, decide_fields
from allalike.rules.base import unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from allalike._core.blocks.block import Add, Array, Block, Floats

__all__ = ["RecordParts"]


@dataclass(frozen=True, kw_only=True)
class RecordParts(Encoding, Fields[Encoding]):
    """The encodings of the fields of records, and what is done field by field.

    ``parts`` are the encodings, ``units`` the differences at which distances of numbers are 1, and 0 for other fields.

    >>> import allalike
    >>> rows = [("ada", 1, {"x": "a", "y": "b"}), ("bob", 1, {"x": "a"})]
    >>> answers = allalike.read(rows, domain=allalike.Record("x:categorical, y:categorical", weights="field"))
    >>> [block] = answers.blocks(9)
    >>> answers.encoding.fields.count(answers.encoding.prepare(block))["answers"].tolist()
    [[1.0, 1.0], [1.0, 0.0]]
    """

    parts: tuple[Encoding | None, ...]
    units: tuple[float, ...]

    @property
    @abstractmethod
    def kernels(self) -> RecordKernels:
        """Sums over fields."""

    @property
    def fields(self) -> Self:
        """Records have fields."""
        return self

    def each_cell(self, cells: Array) -> Iterator[tuple[int, Array, Encoding, Array]]:
        """Yield number, rows, encoding and codes of each field that is filled somewhere."""
        filled = filled_in(cells)
        for number, each in enumerate(self.parts):
            rows = np.flatnonzero(filled[:, number])
            if each is not None and len(rows):
                yield number, rows, each, codes_of(cells, number)[rows]

    def find_units(self, add: Add) -> Self:
        """Measure the mean difference of two answers to a task, in each field of numbers."""
        if not any(self.units):
            return self
        sums = add(self.kernels.length_sums)
        units = list(self.units)
        for number, unit in enumerate(units):
            pairs = sums[f"pairs {number}"].sum() if f"pairs {number}" in sums else 0.0
            length = sums[f"length {number}"].sum() if pairs else 0.0
            units[number] = float(length / pairs) if unit and length > 0 else float(unit > 0)
        return replace(self, units=tuple(units))

    def shared(self, left: Array, right: Array) -> Floats:
        """Add up the shares of the fields that both filled."""
        return self.kernels.shared(left, right)

    def put_known(self, found: Mapping[str, Array], task: Array, truths: Array) -> dict[str, Array]:
        """Put known truths in place, field by field; a field that is not known stays as it was found."""
        label, sure = found["label"].copy(), found["sure"].copy()
        filled = filled_in(label)
        for number, rows, _, codes in self.each_cell(truths):
            codes_of(label, number)[task[rows]] = codes
            filled[task[rows], number], sure[task[rows], number] = True, 1.0
        return {**found, "label": label, "sure": sure}

    def worker_columns(self, add: Add, weights: Floats) -> dict[str, Floats]:
        """Return how far each worker is from the truths in each field: ``fault.year``."""
        sums = add(self.kernels.field_losses, weights)
        answers = {number: sums.get(f"answers {number}") for number in range(len(self.parts))}
        return {
            f"fault.{name}": unknown(len(weights))
            if (given := answers[number]) is None
            else np.divide(sums[f"distance {number}"], given, out=unknown(len(weights)), where=given > 0)
            for number, (name, _) in enumerate(self.encodings)
        }

    def count(self, block: Block) -> dict[str, Floats]:
        """Count, per worker and field, her answers."""
        filled = filled_in(block.label).astype(np.float64)
        return {"answers": np.stack([block.per_worker(column) for column in filled.T], axis=1)}

    def pick(self, block: Block, *, field: int) -> Block:
        """Return the first task with an answer that fills the field, and that answer; no task if there is none."""
        rows = np.flatnonzero(filled_in(block.label)[:, field])[:1]
        tasks = np.searchsorted(block.starts, rows, side="right") - 1
        some = block.pick(tasks, rows)
        return replace(some, sizes=np.ones_like(some.sizes), label=codes_of(block.label, field)[rows])

    def take(self, block: Block, *, field: int, place: Array, example: Array) -> Block:
        """Return the answers of a field, with the example where nobody filled it."""
        name, encoding = self.encodings[field]
        assert encoding is not None
        there = filled_in(block.label)[:, field]
        sizes = np.add.reduceat(there.astype(np.int64), block.starts)
        rows = np.flatnonzero(there | block.to_answers(sizes == 0))
        rows = rows[there[rows] | np.isin(rows, block.starts)]  # one of those who left the field of a task empty
        worker, workers, n_workers = _renumber(block, place)
        label = codes_of(block.label, field)[rows]
        empty = np.flatnonzero(~there[rows])
        label[empty] = np.repeat(example, len(empty), axis=0)
        gone = sizes == 0
        known = filled_in(block.gold_label)[:, field] & ~gone[block.gold_task]
        part = replace(
            block,
            starts=np.cumsum(np.maximum(sizes, 1)) - np.maximum(sizes, 1),
            sizes=np.maximum(sizes, 1),
            worker=worker[rows],
            workers=workers,
            n_workers=n_workers,
            label=label,
            task_hash=salted(block.task_hash, name),
            gold_task=block.gold_task[known],
            gold_label=np.ascontiguousarray(codes_of(block.gold_label, field)[known]),
            prepared={},
        )
        return encoding.prepare(part.without(gone) if gone.any() else part)

    def join(self, block: Block, find: Callable[[int, Block], Mapping[str, Array]]) -> dict[str, Array]:
        """Put the truths of all fields side by side."""
        found, sure = decide_fields(block, find)
        told = {"confidence": found.confidence, "error": found.error, "tied": found.tied}
        return {"label": found.label, **told, "sure": sure}


def _renumber(block: Block, place: Array) -> tuple[Array, Array, int]:
    """Return who gave each answer, whose numbers these are, and how many, among those who filled a field.

    Whoever did not is nobody: her answers go to the first, and must be dropped.
    """
    own = place[block.workers]
    stay = own >= 0
    if not stay.any():
        stay[0], own[0] = True, 0  # a block has a worker
    number = np.maximum(np.cumsum(stay) - 1, 0)
    if block.live is not None:
        number = np.append(number, stay.sum())
    return number[block.worker], own[stay], len(own[stay]) + (block.live is not None)
