"""Sums and estimates of records, composed of those of their fields.

A code is a row of cells: the code of each field, and flags that mark filled fields. The kernels of a field receive a
block of the tasks and answers that contain it.

A worker's sum of distances is sum_f lambda_f times the sum of the field's kernels, with lambda_f the share of field f
in the total importance. The same holds for the weight of their peers. If a field's kernels take linear time, no pairs
are needed. A worker has no peers in fields that they left empty.

Unbounded distances, such as those of numbers, enter as min(1, |x - y| / m). `RecordEncoding.find_units` computes m, the
mean of |x - y| over all pairs of answers to the same task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Add, Array, Block, Floats, Ties, known_sums, sum_by
from allalike._core.blocks.pairs import MatrixSum, PairDistances
from allalike._core.columns.hashes import hash_objects, mix
from allalike.domains.contract import Encoding, Kernels
from allalike.rules.base import Decision, unknown

_FILLED = "filled"
SURE = "sure"  # key of the confidence of each field
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Lengths:
    """The absolute differences between answers to a task, for fields with unbounded distance."""

    pairs: PairDistances


@dataclass(frozen=True)
class FieldBlock:
    """The answers of a block that fill one field."""

    block: Block
    rows: npt.NDArray[np.intp]
    tasks: npt.NDArray[np.intp]
    kernels: Kernels

    def among(self, whole: Block) -> Block:
        """Return the field's block with the current workers of the whole block."""
        worker = whole.worker[self.rows]
        return replace(self.block, worker=worker, workers=whole.workers, n_workers=whole.n_workers)


@dataclass(frozen=True)
class FieldCells:
    """The blocks of all fields of a record; None for a field without answers."""

    fields: tuple[FieldBlock | None, ...]


def join_cells(columns: Sequence[Array], filled: Flags) -> Array:
    """Join the codes of fields and flags that mark filled fields: a row per label, a column per field.

    >>> cells = join_cells([np.array([2, 0]), np.array([0.5, 1.5])], np.array([[True, False], [True, True]]))
    >>> codes_of(cells, 1), filled_in(cells)
    (array([0.5, 1.5]), array([[ True, False],
           [ True,  True]]))
    """
    kinds = [(f"field {number}", column.dtype, column.shape[1:]) for number, column in enumerate(columns)]
    cells = np.zeros(len(filled), np.dtype([*kinds, (_FILLED, np.bool_, filled.shape[1:])], align=True))
    for number, column in enumerate(columns):
        cells[f"field {number}"] = column
    cells[_FILLED] = filled
    return cells


def codes_of(cells: Array, field: int) -> Array:
    """Return the codes of one field, including meaningless codes of empty cells."""
    return cells[f"field {field}"]


def filled_in(cells: Array) -> Flags:
    """Return flags that mark filled fields, with one row per label."""
    return np.asarray(cells[_FILLED])


def spread(codes: Array, rows: Array, size: int) -> Array:
    """Return an array of the given size with codes in these rows."""
    if len(rows) == size:
        return codes
    column = np.zeros((size, *codes.shape[1:]), codes.dtype)
    column[rows] = codes
    return column


def pick_field(block: Block, field: int, name: str) -> tuple[Block, Array, Array]:
    """Return the block of answers that fill a field, with their rows and tasks; it may be empty."""
    filled = filled_in(block.label)[:, field]
    rows, sizes = np.flatnonzero(filled), np.add.reduceat(filled.astype(np.int64), block.starts)
    tasks = np.flatnonzero(sizes)
    known = filled_in(block.gold_label)[:, field] & (sizes[block.gold_task] > 0)
    part = replace(
        block,
        starts=np.cumsum(sizes[tasks]) - sizes[tasks],
        sizes=sizes[tasks],
        worker=block.worker[rows],
        label=np.ascontiguousarray(codes_of(block.label, field)[rows]),
        task_hash=salted(block.task_hash[tasks], name),
        gold_task=np.searchsorted(tasks, block.gold_task[known]),
        gold_label=np.ascontiguousarray(codes_of(block.gold_label, field)[known]),
        prepared={},
    )
    return part, rows, tasks


def prepare_field(block: Block, field: int, name: str, encoding: Encoding) -> FieldBlock | None:
    """Return the prepared block of answers that fill a field, or None if there are none."""
    part, rows, tasks = pick_field(block, field, name)
    if not len(rows):
        return None
    part = replace(part, gold_task=part.gold_task[:0], gold_label=part.gold_label[:0])
    kernels = encoding.kernels
    prepared = encoding.prepare(part)
    if (power := encoding.domain.power) > 0:
        apart = PairDistances.of(part, lambda i, j: kernels.distance_between(part.label[i], part.label[j]))
        prepared = prepared.keeping(Lengths(replace(apart, distance=apart.distance ** (1 / power))))
    return FieldBlock(prepared, rows, tasks, kernels)


def salted(hashes: Array, name: str) -> Array:
    """Return field-specific hashes of tasks, so that ties in different fields are broken independently."""
    return mix(hashes ^ hash_objects([name])[0])


@dataclass(frozen=True, kw_only=True)
class RecordKernels(Kernels):
    """Sums over the fields of records, with the kernels of each."""

    fields: tuple[Kernels | None, ...]
    names: tuple[str, ...]
    shares: tuple[float, ...]
    units: tuple[float, ...]

    def distance_between(self, left: Array, right: Array) -> Floats:
        return self._compare(left, right, "distance_between")[0]

    def guess_distances(self, left: Array, right: Array) -> Floats:
        return self._compare(left, right, "guess_distances")[0]

    def shared(self, left: Array, right: Array) -> Floats:
        """Sum the shares of the fields that both labels fill."""
        return self._compare(left, right, "distance_between")[1]

    def _compare(self, left: Array, right: Array, measure: str) -> tuple[Floats, Floats]:
        """Return mean distances over fields, given the name of a kernel, and the total share of these fields."""
        distance, shared = np.zeros((2, len(left)))
        both = filled_in(left) & filled_in(right)
        for number, kernels in enumerate(self.fields):
            rows = np.flatnonzero(both[:, number])
            if kernels is None or not len(rows):
                continue
            codes = (codes_of(side, number)[rows] for side in (left, right))
            apart = self._bounded(getattr(kernels, measure)(*codes), number, kernels)
            known = ~np.isnan(apart)
            distance[rows] += self.shares[number] * np.where(known, apart, 0.0)
            shared[rows] += self.shares[number] * known
        return np.divide(distance, shared, out=unknown(len(shared)), where=shared > 0), shared

    def _bounded(self, distance: Floats, field: int, kernels: Kernels) -> Floats:
        """Scale unbounded distances to [0, 1]."""
        unit = self.units[field]
        return np.minimum(distance ** (1 / kernels.domain.power) / unit, 1.0) if unit else distance

    def _each(self, block: Block) -> Iterator[tuple[int, Kernels, FieldBlock, Block]]:
        """Yield the number, kernels and block of each field with answers."""
        for number, (kernels, part) in enumerate(zip(self.fields, block[FieldCells].fields, strict=True)):
            if kernels is not None and part is not None:
                yield number, kernels, part, part.among(block)

    def _lengths(self, part: Block, field: int) -> PairDistances:
        """Return the scaled distances of pairs."""
        pairs = part[Lengths].pairs
        return replace(pairs, distance=np.minimum(pairs.distance / self.units[field], 1.0))

    def peer_distances(self, block: Block, weights: Floats) -> tuple[Floats, Floats]:
        distance, weight = np.zeros(len(block.worker)), np.zeros(len(block.worker))
        for number, kernels, field, part in self._each(block):
            measure = self._lengths(part, number) if self.units[number] else kernels
            found = measure.peer_distances(part, weights)
            for total, more in zip((distance, weight), found, strict=True):
                total[field.rows] += self.shares[number] * more
        return distance, weight

    def pair_sums(self, block: Block, rows: slice | None = None) -> dict[str, Any]:
        asked = rows or slice(0, block.n_workers)
        who, everyone = np.arange(asked.stop - asked.start), np.arange(block.n_workers)
        sums = {name: MatrixSum((len(who), len(everyone))) for name in ("distance", "common")}
        for number, kernels, _, part in self._each(block):
            measure = self._lengths(part, number) if self.units[number] else kernels
            found, share = measure.pair_sums(part, asked), np.float64(self.shares[number])
            for name, total in sums.items():
                total.add(share * found[name], who, everyone)  # counts may have single precision
        return {name: total.result() for name, total in sums.items()}

    def length_sums(self, block: Block) -> dict[str, Floats]:
        """Sum the differences to peers per worker and numeric field, and count these pairs."""
        sums = {}
        for number, _, _, part in self._each(block):
            if Lengths in part:
                pairs = part[Lengths].pairs
                who = part.worker[pairs.left]
                sums[f"length {number}"] = sum_by(who, pairs.distance, part.n_workers)
                sums[f"pairs {number}"] = sum_by(who, np.ones(len(who)), part.n_workers)
        return sums

    def decide(self, block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
        fields = zip(block[FieldCells].fields, self.fields, strict=True)
        own = [part and replace(part, kernels=kernels or part.kernels) for part, kernels in fields]
        found = super().decide(block.keeping(FieldCells(tuple(own))), weights, faults, ties)
        if SURE in found.more:
            return found
        return replace(found, more={SURE: np.where(filled_in(found.label), found.confidence[:, None], np.nan)})

    def choose_quorum(self, add: Add, weights: Floats) -> tuple[Self, dict[str, Any]]:
        fields, choices = list(self.fields), {}
        for number, (name, kernels) in enumerate(zip(self.names, self.fields, strict=True)):
            if kernels is not None:
                fields[number], choices[name] = kernels.choose_quorum(partial(_add_field, add, number), weights)
        return replace(self, fields=tuple(fields)), {"choices": choices} if any(choices.values()) else {}

    def field_losses(self, block: Block, weights: Floats) -> dict[str, Floats]:
        """Sum the distance to the estimated labels per worker and field, and count the answers."""
        found = self.decide(block, weights, np.zeros(block.n_workers), Ties())
        sums: dict[str, Floats] = {}
        for number, kernels, field, part in self._each(block):
            known = part.to_answers(filled_in(found.label)[field.tasks, number])  # a chosen record may lack the field
            truth = part.to_answers(codes_of(found.label, number)[field.tasks])[known]
            answer, apart = codes_of(block.label, number)[field.rows][known], unknown(len(known))
            apart[known] = self._bounded(kernels.distance_between(answer, truth), number, kernels)
            sums |= {f"{name} {number}": each for name, each in known_sums(part, apart).items()}
        return sums

    def scatter(self, block: Block) -> Floats:
        scatter = np.zeros((block.n_tasks, len(self.fields)))
        for number, kernels, field, part in self._each(block):
            scatter[field.tasks, number] = kernels.scatter(part)
        return scatter

    def differs(self, left: Array, right: Array, scatter: Floats) -> Array:
        one, other = filled_in(left), filled_in(right)
        differs = (one != other).any(axis=1)
        around = np.broadcast_to(scatter.reshape(len(left), -1), one.shape)
        for number, kernels in enumerate(self.fields):
            rows = np.flatnonzero(one[:, number] & other[:, number])
            if kernels is not None and len(rows):
                codes = [codes_of(cells, number)[rows] for cells in (left, right)]
                differs[rows] |= kernels.differs(codes[0], codes[1], around[rows, number])
        return np.asarray(differs)


def each_field(block: Block, weights: Floats, faults: Floats, ties: Ties) -> Decision:
    """Estimate each field by its own rule from the workers who filled it.

    A field without answers stays empty. Confidence is the mean over the fields whose rule provides one. The block must
    contain its `FieldCells`.

        z_f = the rule of field f applied to x_if with weights w_i, for each f separately

    The rule works if fields are largely independent. It fails if they belong together, such as a street and its town:
    the estimate may combine values from different answers (the rule ``medoid`` avoids this).

    >>> import allalike
    >>> rows = [("ada", 1, {"x": "a", "y": "b"}), ("bob", 1, {"x": "a"}), ("eve", 1, {"x": "b", "y": "b"})]
    >>> domain = allalike.Record({"x": "categorical", "y": "categorical"})
    >>> found = allalike.discover(rows, domain=domain, method="UA").truth
    >>> found["label"].tolist(), found["confidence"].round(3).tolist()
    ([{'x': 'a', 'y': 'b'}], [0.833])
    """
    fields = block[FieldCells].fields

    def find(field: int, part: Block) -> dict[str, Array]:
        filled = fields[field]
        assert filled is not None
        return filled.kernels.aggregate(part, weights, faults, ties=ties)

    return decide_fields(block, find)


def decide_fields(block: Block, find: Callable[[int, Block], Mapping[str, Array]]) -> Decision:
    """Estimate all fields and the confidence of each.

    ``find`` estimates one field, given its number and the block of workers who filled it.
    """
    filled = np.zeros((block.n_tasks, len(block[FieldCells].fields)), np.bool_)
    sure = np.full(filled.shape, np.nan)
    tied = np.zeros(block.n_tasks, np.bool_)
    columns = []
    for number, field in enumerate(block[FieldCells].fields):
        if field is None:
            columns.append(codes_of(block.label, number)[block.starts])
            continue
        found = find(number, field.among(block))
        columns.append(spread(found["label"], field.tasks, block.n_tasks))
        filled[field.tasks, number], sure[field.tasks, number] = True, found["confidence"]
        tied[field.tasks] |= found["tied"]
    known = ~np.isnan(sure)
    total, count = np.where(known, sure, 0.0).sum(axis=1), known.sum(axis=1)
    confidence = np.divide(total, count, out=unknown(block.n_tasks), where=count > 0)
    return Decision(join_cells(columns, filled), confidence, unknown(block.n_tasks), tied, {SURE: sure})


def _add_field(add: Add, field: int, kernel: Callable[..., Any], *params: Floats) -> dict[str, Floats]:
    """Sum a kernel of one field over all blocks."""
    return add(partial(_of_field, kernel=kernel, field=field), *params)


def _of_field(block: Block, *params: Floats, kernel: Callable[..., Any], field: int) -> Any:
    part = block[FieldCells].fields[field]
    return {} if part is None else kernel(part.among(block), *params)
