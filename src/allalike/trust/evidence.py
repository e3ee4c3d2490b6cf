"""Evidence: how strongly two workers seem to copy, from the answers that both gave.

    s_ij = sum over common tasks of log(1 - phi), and log(1 - phi + phi/p) where both say the same,

with p the probability of the answer (`surprise`), in the mean of both directions, for a fidelity phi.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike.blocks.matrices import MatrixSum
from allalike.blocks.pairs import pair_chunks
from allalike.blocks.voices import find_voices
from allalike.trust.parts import number_parts
from allalike.trust.surprise import Follow, Slots, surprise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allalike.blocks.block import Array, Block, Floats
    from allalike.engines import Run

__all__ = ["SURPLUS", "Evidence", "weigh_pairs"]

SURPLUS = 2.0  # nats beyond the logarithm of the number of pairs
_MIN_COMMON = 5  # tasks of a pair that tells something
_PAIR, _PRODUCT = 30.0, 0.2  # nanoseconds, about: for a pair of answers, and for a step of a product


@dataclass(frozen=True)
class Evidence:
    """How strongly pairs of workers seem to copy.

    Parameters
    ----------
    matrix
        Of each pair: s, in both directions the same.
    tells
        Of each number in the matrix: whether the two have tasks enough in common to say so.
    """

    matrix: Any
    tells: npt.NDArray[np.bool_]

    @property
    def n_pairs(self) -> int:
        """How many pairs have tasks enough in common."""
        return int(self.tells.sum()) // 2

    def find_parts(self) -> npt.NDArray[np.intp]:
        """Number the parts of the workers that no chain of common tasks connects."""
        row = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        return number_parts(self.matrix.shape[0], row, self.matrix.indices)

    @property
    def threshold(self) -> float:
        """What no pair of honest workers should reach."""
        return float(np.log(max(self.n_pairs, 1)) + SURPLUS)


def weigh_pairs(run: Run, follow: Follow, fidelities: Sequence[float]) -> dict[float, Evidence]:
    """Weigh the evidence of all pairs who met, for each fidelity; the blocks have slots and voices."""
    from scipy import sparse

    halves = run.pairs(partial(pair_evidence, follow=follow, fidelities=tuple(fidelities)))
    common = _both_ways(halves.pop("common"))
    common.sort_indices()
    tells, found = common.data >= _MIN_COMMON, {}
    for fidelity in fidelities:
        value = np.log(1 - fidelity) * common.data
        agreed = _both_ways(halves.pop(str(fidelity)))  # one at a time, for each has a number for all who met
        agreed.sort_indices()
        _add_where(value, common, agreed)
        matrix = sparse.csr_array((value, common.indices, common.indptr), shape=common.shape)
        found[fidelity] = Evidence(matrix, tells)
    return found


def _both_ways(half: Any) -> Any:
    """Add a matrix, dense or sparse, and its mirror image."""
    from scipy import sparse

    if isinstance(half, np.ndarray):
        return sparse.csr_array(half + half.T)
    upper = sparse.csr_array(half)
    return upper + upper.T.tocsr()


def _add_where(value: Floats, all_places: Any, some: Any) -> None:
    """Add numbers of a sparse matrix to those of another that has all its places, row after row."""
    for row in range(some.shape[0]):
        mine, others = (slice(*each.indptr[row : row + 2]) for each in (some, all_places))
        value[others.start + np.searchsorted(all_places.indices[others], some.indices[mine])] += some.data[mine]


def pair_evidence(block: Block, rows: slice, *, follow: Follow, fidelities: tuple[float, ...]) -> dict[str, Any]:
    """Add up, per pair of workers, what their equal answers say at each fidelity, and count their common tasks.

    Each pair of answers counts once, be it in one direction, or half in both.
    """
    slope = follow.slope[block.workers]
    slope = slope if block.live is None else np.append(slope, slope[-1:])
    probability = surprise(block, slope, prior_voices=follow.prior_voices)
    says = {str(each): np.log1p(each / ((1 - each) * probability)) / 2 for each in fidelities}
    task, heard = block.to_answers(np.arange(block.n_tasks)), find_voices(block).voice > 0
    width = block[Slots].frequency.shape[1]
    cell = task * width + block[Slots].slot
    columns = block.n_tasks * (width * len(says) + 1)
    if _PAIR * np.square(block.sizes, dtype=np.float64).sum() > _PRODUCT * columns * block.n_workers**2:
        met = _mark(block, task, block.n_tasks, np.where(heard, 1.0, 0.0))
        marks = _mark(block, cell, block.n_tasks * width, np.where(heard, 1.0, 0.0))
        found = {"common": met[rows] @ met.T}
        for name, value in says.items():
            weighed = _mark(block, cell, block.n_tasks * width, np.where(heard, value, 0.0))
            found[name] = marks[rows] @ weighed.T + weighed[rows] @ marks.T
        for matrix in found.values():
            matrix /= 2
            matrix[np.arange(len(matrix)), rows.start + np.arange(len(matrix))] = 0.0
        return found
    sums = {name: MatrixSum((rows.stop - rows.start, block.n_workers)) for name in ("common", *says)}
    for left, right in pair_chunks(block, rows):
        both = (left < right) & heard[left] & heard[right]
        left, right = left[both], right[both]
        sums["common"].add_entries(block.worker[left] - rows.start, block.worker[right], np.ones(len(left)))
        same = cell[left] == cell[right]
        left, right = left[same], right[same]
        for name, value in says.items():
            sums[name].add_entries(block.worker[left] - rows.start, block.worker[right], value[left] + value[right])
    return {name: total.result() for name, total in sums.items()}


def _mark(block: Block, column: Array, n_columns: int, values: Floats) -> Floats:
    marks = np.zeros((block.n_workers, n_columns))
    marks[block.worker, column] = values
    return marks
