"""Worker offsets, which measure how strict or lenient each worker is, and bias-corrected numbers.

A grader may score every task two points lower than all others do. The model of such answers is

    x_ij = t_j + b_i + noise,    with the true value t_j of task j and the worker's offset b_i.

Ridge regression, sum_ij (x_ij - t_j - b_i)^2 + lambda sum_i b_i^2, gives t_j = mean_i (x_ij - b_i) and a system of
linear equations, one per worker:

    sum_j (b_i - mean of b over the workers of j) + lambda b_i = sum_j (x_ij - mean of x over the workers of j).

Both sides are sums over tasks, so conjugate gradients need one pass over the answers per round, on every engine. The
solution is the estimate of a mixed model (Henderson 1950) whose offsets have variance noise / lambda. Lambda is
estimated from the answers. Let d_ij be x_ij minus the mean of the other answers, and F the ratio of the between-worker
to the within-worker variance of d. Then lambda = (typical number of answers per worker) / (F - 1), which shrinks
workers with few answers. If F <= 1, offsets are indistinguishable from noise, and all are 0.

A bias shared by all workers is not identifiable: if everyone is two points too strict, so are the estimates. Offsets
average 0. If workers form components without common tasks, each component has its own average.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import numpy as np

from allalike._core.blocks.block import Add, Array, Block, Floats

_MAX_STEPS = 200
_PRECISION = 1e-11  # relative tolerance of the solution
_ROUNDS = 2  # lambda is estimated once from the original answers and once without offsets
_LEAST_RIDGE = 1e-9  # of an answer; makes offsets average 0


@dataclass(frozen=True)
class Offsets:
    """The offset of each worker; empty before the estimation.

    >>> Offsets(np.array([2.0, 0.0])).remove(np.array([13.0, 14.0]), np.array([0, 1]))
    array([11., 14.])
    """

    offset: Floats = field(default_factory=lambda: np.empty(0))

    def find(self, add: Add, n_workers: int) -> Self:
        """Estimate the offsets of all workers; blocks have centred numbers.

        ``add(kernel, *params)`` sums the named arrays of a kernel over all blocks; the arrays have one row per worker.
        """
        offset = np.zeros(n_workers)
        right = add(partial(_deviate, of_numbers=True), offset)
        for _ in range(_ROUNDS):
            ridge = _find_ridge(add(_moments, offset))
            offset = _fit(add, right["deviation"], right["diagonal"], ridge, offset)
        return replace(self, offset=offset)

    def remove(self, label: Floats, worker: Array) -> Floats:
        """Return numbers corrected for the offsets of their workers."""
        number: Floats = label - self.offset[worker]
        return number

    def of_block(self, block: Block) -> Self:
        """Return the offsets of the workers in a block."""
        return replace(self, offset=self.offset[block.workers])

    def worker_columns(self, add: Add, weights: Floats) -> dict[str, Floats]:
        """Return each worker's offset as a column of the worker table."""
        return {"bias": self.offset} if len(self.offset) else {}


def _fit(add: Add, right: Floats, diagonal: Floats, ridge: float, start: Floats) -> Floats:
    """Solve the equations by conjugate gradients; with infinite ridge, and for workers without peers, offsets are 0."""
    from scipy.sparse.linalg import LinearOperator, cg

    known = diagonal > 0
    if not np.isfinite(ridge) or not known.any():
        return np.zeros(len(right))

    def multiply(offset: Floats) -> Floats:
        offset = np.where(known, offset.ravel(), 0.0)
        return np.where(known, ridge * offset - add(_deviate, offset)["deviation"], 0.0)

    def divide(rest: Floats) -> Floats:
        return np.where(known, rest.ravel() / np.maximum(ridge + diagonal, 1e-300), 0.0)

    shape = (len(right), len(right))
    goal, first = (np.where(known, each, 0.0) for each in (right, start))
    equations, preconditioner = LinearOperator(shape, matvec=multiply), LinearOperator(shape, matvec=divide)
    found, _ = cg(equations, goal, first, rtol=_PRECISION, maxiter=_MAX_STEPS, M=preconditioner)
    return np.asarray(found)


def _deviate(block: Block, offset: Floats, *, of_numbers: bool = False) -> dict[str, Floats]:
    """Sum each worker's deviations from the task mean: of numbers minus offsets, or of negative offsets alone."""
    own = (block.label if of_numbers else 0.0) - offset.take(block.worker)
    mean = block.per_task(own) / block.sizes
    lost = block.to_answers(1.0 - 1.0 / block.sizes)
    return {"deviation": block.per_worker(own - block.to_answers(mean)), "diagonal": block.per_worker(lost)}


def _moments(block: Block, offset: Floats) -> dict[str, Floats]:
    """Sum powers of each worker's deviation from the others' mean, which is corrected for offsets."""
    values = block.label - offset.take(block.worker)
    others = block.to_answers(block.sizes - 1.0)
    mean = (block.to_answers(block.per_task(values)) - values) / np.maximum(others, 1.0)
    above = np.where(others > 0, block.label - mean, 0.0)
    each = {"answers": (others > 0) * 1.0, "above": above, "square": np.square(above)}
    return {name: block.per_worker(values) for name, values in each.items()}


def _find_ridge(sums: dict[str, Floats]) -> float:
    """Return lambda; infinite if offsets are indistinguishable from noise."""
    above, answers = sums["above"], sums["answers"]
    n, total = int((answers > 0).sum()), float(answers.sum())
    if not total > n > 1:
        return np.inf
    mean = np.divide(above, answers, out=np.zeros(len(above)), where=answers > 0)
    between = float((answers * (mean - above.sum() / total) ** 2).sum() / (n - 1))
    within = float((sums["square"] - answers * mean**2).sum() / (total - n))
    usual = float((total - np.square(answers).sum() / total) / (n - 1))
    return usual * max(max(within, 0.0) / (between - within), _LEAST_RIDGE) if between > within else np.inf
