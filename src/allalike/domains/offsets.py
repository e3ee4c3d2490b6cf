"""Offsets: how strict or lenient each worker is with numbers, and what their numbers are without it.

A grader may mark two points below all others, whatever they read. Their answers then are

    x_ij = t_j + b_i + noise,    with the truth t_j of task j and the worker's offset b_i.

Least squares with a ridge, sum_ij (x_ij - t_j - b_i)^2 + lambda sum_i b_i^2, leave t_j = mean_i (x_ij - b_i), and for
the offsets a system of linear equations, one for each worker:

    sum_j (b_i - mean of b over those who answered j) + lambda b_i = sum_j (x_ij - mean of x over those who answered j).

Both sides are sums over tasks, so that conjugate gradients solve it with one look at the answers in each round, on any
engine. These are the estimates of a mixed model (Henderson 1950) whose offsets have the variance noise / lambda. Lambda
comes from the answers: with d_ij = x_ij minus the mean of the others, and F the ratio of the variances of d between and
within workers, lambda = (answers of a usual worker) / (F - 1), by which few answers say little. Where F <= 1 no
offset is distinguished from noise, and all are 0.

**Factors.** Who uses half of the scale only has x_ij = c + s_i (t_j + b_i - c) + noise. Their s_i is the slope of their
answers over the mean of the others', pulled to that of all by as much as slopes cannot be told apart, and relative to
their mean, since the noise of others makes all slopes smaller. Factors and offsets are found in turn.

What all workers have in common is not seen: if everyone is two points too strict, so are the truths. Offsets and
factors are 0 and 1 on average. Where workers fall into parts without common tasks, nothing tells one part from another,
and each has an average of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.pairs import Centred

if TYPE_CHECKING:
    from allalike._core.blocks.block import Add, Array, Block, Floats

_MAX_STEPS = 200
_STEPS = 4  # while factors are still sought; always as many, so that rounding does not decide when to stop
_PRECISION = 1e-11  # of the solution, relative
_STRENGTH_ROUNDS = 2  # lambda is found from the answers as they are, and again without offsets
_FACTOR_ROUNDS = 6
_LEAST_RIDGE = 1e-9  # of an answer, so that offsets are 0 on average
_LEAST_FACTOR, _LARGEST_FACTOR = 0.2, 5.0


@dataclass(frozen=True)
class Offsets:
    """Of each worker: by how much they are too high, by which factor they stretch, and around which number.

    As long as nothing is known of them, they are empty; ``scale`` says whether factors are asked for.

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

        ``add(kernel, *params)`` adds up, over all blocks, the named arrays of a kernel, with one row per worker.
        """
        offset, factor, centre = _find(add, n_workers, scale=self.scale)
        return replace(self, offset=offset, factor=factor, centre=centre)

    def remove(self, label: Floats, worker: Array) -> Floats:
        """Return numbers without the offsets and factors of those who gave them."""
        centre = self.centre[worker]
        number: Floats = centre + (label - centre) / self.factor[worker] - self.offset[worker]
        return number

    def of_block(self, block: Block) -> Offsets:
        """Return those of a block's workers."""
        offset, factor, centre = (column[block.workers] for column in (self.offset, self.factor, self.centre))
        return replace(self, offset=offset, factor=factor, centre=centre)

    def worker_columns(self, add: Add, weights: Floats) -> dict[str, Floats]:
        """Return what was taken away from each worker's answers, as the table of workers has it."""
        found = {"bias": self.offset, **({"scale": self.factor} if self.scale else {})}
        return found if len(self.offset) else {}


def _find(add: Add, n: int, *, scale: bool) -> tuple[Floats, Floats, Floats]:
    """Estimate the offsets of workers, and their factors if asked for."""
    offset, factor, centre = np.zeros(n), np.ones(n), np.zeros(n)
    if not scale:
        return _solve(add, offset, factor), factor, centre
    totals = add(_add_numbers)
    centre = np.full(n, totals["number"].sum() / totals["answers"].sum())
    for _ in range(_FACTOR_ROUNDS):
        offset = _solve(add, offset, factor, centre, rounds=1, steps=_STEPS)
        factor = _find_factors(add(_compare, offset, factor, centre))
    return _solve(add, offset, factor, centre), factor, centre


def _solve(
    add: Add,
    offset: Floats,
    factor: Floats,
    *centre: Floats,
    rounds: int = _STRENGTH_ROUNDS,
    steps: int = _MAX_STEPS,
) -> Floats:
    """Return the offsets of numbers without these factors, beginning with some."""
    right = add(partial(_deviate, of_numbers=True), np.zeros(len(offset)), factor, *centre)
    for _ in range(rounds):
        ridge = _find_ridge(add(_moments, offset, factor, *centre))
        offset = _fit(add, right["deviation"], right["diagonal"], ridge, offset, steps)
    return offset


def _fit(add: Add, right: Floats, diagonal: Floats, ridge: Floats, start: Floats, steps: int) -> Floats:
    """Solve the equations by conjugate gradients; who has an infinite ridge, or no peers, has no offset."""
    from scipy.sparse.linalg import LinearOperator, cg

    told = np.isfinite(ridge) & (diagonal > 0)
    if not told.any():
        return np.zeros(len(right))
    own, ones = np.where(told, ridge, 0.0), np.ones(len(right))

    def multiply(offset: Floats) -> Floats:
        offset = np.where(told, offset.ravel(), 0.0)
        return np.where(told, own * offset - add(_deviate, offset, ones)["deviation"], 0.0)

    shape = (len(right), len(right))
    divide = LinearOperator(
        shape, matvec=lambda rest: np.where(told, rest.ravel() / np.maximum(own + diagonal, 1e-300), 0)
    )
    equations = LinearOperator(shape, matvec=multiply)
    goal, first = (np.where(told, each, 0.0) for each in (right, start))
    found, _ = cg(equations, goal, first, rtol=_PRECISION, maxiter=steps, M=divide)
    return np.asarray(found)


def _deviate(
    block: Block, offset: Floats, factor: Floats, *centre: Floats, of_numbers: bool = False
) -> dict[str, Floats]:
    """Sum, per worker, the numbers less their offsets, or minus the offsets alone, less the mean of the task."""
    own = (_take(block, factor, *centre) if of_numbers else 0.0) - offset.take(block.worker)
    mean = block.per_task(own) / block.sizes
    lost = block.to_answers(1.0 - 1.0 / block.sizes)
    return {"deviation": block.per_worker(own - block.to_answers(mean)), "diagonal": block.per_worker(lost)}


def _moments(block: Block, offset: Floats, factor: Floats, *centre: Floats) -> dict[str, Floats]:
    """Sum, per worker, powers of how much their numbers exceed the mean of the others', without their offsets."""
    numbers = _take(block, factor, *centre)
    heard = block.to_answers(block.sizes > 1)
    above = np.where(heard, numbers - _mean_of_others(block, numbers - offset.take(block.worker)), 0.0)
    each = {"answers": heard.astype(np.float64), "above": above, "square": np.square(above)}
    return {name: block.per_worker(values) for name, values in each.items()}


def _compare(block: Block, offset: Floats, factor: Floats, centre: Floats) -> dict[str, Floats]:
    """Sum, per worker, the moments of their numbers and of the mean of the others', without what is theirs."""
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
    """Return numbers without factors around a centre; without a centre, relative to that of their task."""
    if centre is None:
        return np.asarray(block.label, np.float64)
    number = block[Centred].answers(block, np.arange(len(block.label)))
    return np.asarray((number - centre.take(block.worker)) / factor.take(block.worker))


def _mean_of_others(block: Block, values: Floats) -> Floats:
    others = np.maximum(block.to_answers(block.sizes - 1.0), 1.0)
    return np.asarray((block.to_answers(block.per_task(values)) - values) / others)


def _find_ridge(sums: dict[str, Floats]) -> Floats:
    """Return lambda, the same for all workers; infinite where offsets are not told from noise."""
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
    """Return the slope of each worker's numbers over those of the others, relative to that of all."""
    answers = np.maximum(sums["answers"], 1.0)
    spread = np.maximum(sums["others others"] - sums["others"] ** 2 / answers, 0.0)
    both = sums["both"] - sums["own"] * sums["others"] / answers
    own = np.maximum(sums["own own"] - sums["own"] ** 2 / answers, 0.0)
    told = (sums["answers"] > 2) & (spread > 1e-12 * (own + spread))
    safe = np.where(told, spread, 1.0)
    usual = both[told].sum() / max(spread[told].sum(), 1e-300)
    slope = np.where(told, both / safe, usual)
    rest = np.maximum(own - both**2 / safe, 0.0)[told].sum()
    noise = rest / max((answers - 2)[told].sum(), 1.0)
    variance = np.where(told, noise / safe, np.inf)
    excess = max(((slope - usual) ** 2 - noise / safe)[told].sum() / max(told.sum(), 1), 0.0)
    kept = excess / np.maximum(excess + np.where(told, variance, 1.0), 1e-300)
    ratio = (usual + kept * (slope - usual)) / usual if usual > 0 else np.ones(len(slope))
    ratio = np.clip(ratio, _LEAST_FACTOR, _LARGEST_FACTOR)
    return np.asarray(ratio / ratio.mean())
