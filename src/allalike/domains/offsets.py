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

**Factors.** A worker who uses only half of the scale has x_ij = c + s_i (t_j + b_i - c) + noise. The factor s_i is the
slope of a regression of their answers on the mean of the others'. It is shrunk towards the common slope, and divided by
the mean factor because noise in the others' answers reduces all slopes. Factors and offsets are estimated alternately.

A bias shared by all workers is not identifiable: if everyone is two points too strict, so are the estimates. Offsets
average 0 and factors average 1. If workers form components without common tasks, each component has its own average.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from allalike._core.blocks.block import Add, Array, Block, Floats
from allalike._core.blocks.pairs import Centred

_MAX_STEPS = 200
_STEPS = 4  # while factors are estimated; constant, so that rounding cannot change the number of steps
_PRECISION = 1e-11  # relative tolerance of the solution
_STRENGTH_ROUNDS = 2  # lambda is estimated once from the original answers and once without offsets
_FACTOR_ROUNDS = 6
_LEAST_RIDGE = 1e-9  # of an answer; makes offsets average 0
_LEAST_FACTOR, _LARGEST_FACTOR = 0.2, 5.0


@dataclass(frozen=True)
class Offsets:
    """Offset, scale factor and centre of each worker.

    All are empty before the estimation. ``scale`` enables scale factors.

    >>> Offsets(np.array([2.0, 0.0]), np.array([1.0, 2.0]), np.array([10.0, 10.0])).remove(
    ...     np.array([13.0, 14.0]), np.array([0, 1]))
    array([11., 12.])
    """

    offset: Floats = field(default_factory=lambda: np.empty(0))
    factor: Floats = field(default_factory=lambda: np.empty(0))
    centre: Floats = field(default_factory=lambda: np.empty(0))
    scale: bool = False

    def find(self, add: Add, n_workers: int) -> Offsets:
        """Estimate the offsets of all workers; blocks have centred numbers.

        ``add(kernel, *params)`` sums the named arrays of a kernel over all blocks; the arrays have one row per worker.
        """
        offset, factor, centre = np.zeros(n_workers), np.ones(n_workers), np.zeros(n_workers)
        if not self.scale:
            return replace(self, offset=_solve(add, offset, factor), factor=factor, centre=centre)
        totals = add(_add_numbers)
        centre = np.full(n_workers, totals["number"].sum() / totals["answers"].sum())
        for _ in range(_FACTOR_ROUNDS):
            offset = _solve(add, offset, factor, centre, rounds=1, steps=_STEPS)
            factor = _find_factors(add(_compare, offset, factor, centre))
        return replace(self, offset=_solve(add, offset, factor, centre), factor=factor, centre=centre)

    def remove(self, label: Floats, worker: Array) -> Floats:
        """Return numbers corrected for the offsets and factors of their workers."""
        centre = self.centre[worker]
        number: Floats = centre + (label - centre) / self.factor[worker] - self.offset[worker]
        return number

    def of_block(self, block: Block) -> Offsets:
        """Return the offsets of the workers in a block."""
        offset, factor, centre = (column[block.workers] for column in (self.offset, self.factor, self.centre))
        return replace(self, offset=offset, factor=factor, centre=centre)

    def worker_columns(self, add: Add, weights: Floats) -> dict[str, Floats]:
        """Return each worker's offset and factor as columns of the worker table."""
        found = {"bias": self.offset, **({"scale": self.factor} if self.scale else {})}
        return found if len(self.offset) else {}


def _solve(
    add: Add,
    offset: Floats,
    factor: Floats,
    *centre: Floats,
    rounds: int = _STRENGTH_ROUNDS,
    steps: int = _MAX_STEPS,
) -> Floats:
    """Estimate offsets given the factors, starting from an initial solution."""
    right = add(partial(_deviate, of_numbers=True), np.zeros(len(offset)), factor, *centre)
    for _ in range(rounds):
        ridge = _find_ridge(add(_moments, offset, factor, *centre))
        offset = _fit(add, right["deviation"], right["diagonal"], ridge, offset, steps)
    return offset


def _fit(add: Add, right: Floats, diagonal: Floats, ridge: Floats, start: Floats, steps: int) -> Floats:
    """Solve the equations by conjugate gradients; workers with infinite ridge or without peers have offset 0."""
    from scipy.sparse.linalg import LinearOperator, cg

    known = np.isfinite(ridge) & (diagonal > 0)
    if not known.any():
        return np.zeros(len(right))
    own, ones = np.where(known, ridge, 0.0), np.ones(len(right))

    def multiply(offset: Floats) -> Floats:
        offset = np.where(known, offset.ravel(), 0.0)
        return np.where(known, own * offset - add(_deviate, offset, ones)["deviation"], 0.0)

    shape = (len(right), len(right))
    divide = LinearOperator(
        shape, matvec=lambda rest: np.where(known, rest.ravel() / np.maximum(own + diagonal, 1e-300), 0)
    )
    equations = LinearOperator(shape, matvec=multiply)
    goal, first = (np.where(known, each, 0.0) for each in (right, start))
    found, _ = cg(equations, goal, first, rtol=_PRECISION, maxiter=steps, M=divide)
    return np.asarray(found)


def _deviate(
    block: Block, offset: Floats, factor: Floats, *centre: Floats, of_numbers: bool = False
) -> dict[str, Floats]:
    """Sum each worker's deviations from the task mean: of numbers minus offsets, or of negative offsets alone."""
    own = (_take(block, factor, *centre) if of_numbers else 0.0) - offset.take(block.worker)
    mean = block.per_task(own) / block.sizes
    lost = block.to_answers(1.0 - 1.0 / block.sizes)
    return {"deviation": block.per_worker(own - block.to_answers(mean)), "diagonal": block.per_worker(lost)}


def _moments(block: Block, offset: Floats, factor: Floats, *centre: Floats) -> dict[str, Floats]:
    """Sum powers of each worker's deviation from the others' mean, which is corrected for offsets."""
    numbers = _take(block, factor, *centre)
    heard = block.to_answers(block.sizes > 1)
    above = np.where(heard, numbers - _mean_of_others(block, numbers - offset.take(block.worker)), 0.0)
    each = {"answers": heard.astype(np.float64), "above": above, "square": np.square(above)}
    return {name: block.per_worker(values) for name, values in each.items()}


def _compare(block: Block, offset: Floats, factor: Floats, centre: Floats) -> dict[str, Floats]:
    """Sum the moments of each worker's numbers and of the corrected mean of the others."""
    plain = _take(block, np.ones(len(factor)), centre)
    heard = block.to_answers(block.sizes > 1)
    others = _mean_of_others(block, _take(block, factor, centre) - offset.take(block.worker))
    own, others = (np.where(heard, values, 0.0) for values in (plain, others))
    each = {"answers": heard * 1.0, "own": own, "others": others, "own own": own**2, "both": own * others}
    return {name: block.per_worker(values) for name, values in {**each, "others others": others**2}.items()}


def _add_numbers(block: Block) -> dict[str, Floats]:
    number = block[Centred].answers(block, np.arange(len(block.label)))
    return {"number": block.per_worker(number), "answers": block.per_worker(np.ones(len(number)))}


def _take(block: Block, factor: Floats, centre: Floats | None = None) -> Floats:
    """Remove the factors from numbers around a centre; without a centre, relative to their task's centre."""
    if centre is None:
        return np.asarray(block.label, np.float64)
    number = block[Centred].answers(block, np.arange(len(block.label)))
    return np.asarray((number - centre.take(block.worker)) / factor.take(block.worker))


def _mean_of_others(block: Block, values: Floats) -> Floats:
    others = np.maximum(block.to_answers(block.sizes - 1.0), 1.0)
    return np.asarray((block.to_answers(block.per_task(values)) - values) / others)


def _find_ridge(sums: dict[str, Floats]) -> Floats:
    """Return lambda, which is the same for all workers; infinite if offsets are indistinguishable from noise."""
    above, answers = sums["above"], sums["answers"]
    n, total, ridge = int((answers > 0).sum()), float(answers.sum()), np.inf
    if total > n > 1:
        mean = np.divide(above, answers, out=np.zeros(len(above)), where=answers > 0)
        between = float((answers * (mean - above.sum() / total) ** 2).sum() / (n - 1))
        within = float((sums["square"] - answers * mean**2).sum() / (total - n))
        usual = float((total - np.square(answers).sum() / total) / (n - 1))
        if between > within:
            ridge = usual * max(max(within, 0.0) / (between - within), _LEAST_RIDGE)
    return np.full(len(answers), ridge)


def _find_factors(sums: dict[str, Floats]) -> Floats:
    """Return the slope of each worker's numbers regressed on the others' mean, relative to the common slope."""
    answers = np.maximum(sums["answers"], 1.0)
    spread = np.maximum(sums["others others"] - sums["others"] ** 2 / answers, 0.0)
    both = sums["both"] - sums["own"] * sums["others"] / answers
    own = np.maximum(sums["own own"] - sums["own"] ** 2 / answers, 0.0)
    known = (sums["answers"] > 2) & (spread > 1e-12 * (own + spread))
    safe = np.where(known, spread, 1.0)
    usual = both[known].sum() / max(spread[known].sum(), 1e-300)
    slope = np.where(known, both / safe, usual)
    rest = np.maximum(own - both**2 / safe, 0.0)[known].sum()
    noise = rest / max((answers - 2)[known].sum(), 1.0)
    variance = np.where(known, noise / safe, np.inf)
    excess = max(((slope - usual) ** 2 - noise / safe)[known].sum() / max(known.sum(), 1), 0.0)
    kept = excess / np.maximum(excess + np.where(known, variance, 1.0), 1e-300)
    ratio = (usual + kept * (slope - usual)) / usual if usual > 0 else np.ones(len(slope))
    ratio = np.clip(ratio, _LEAST_FACTOR, _LARGEST_FACTOR)
    return np.asarray(ratio / ratio.mean())
