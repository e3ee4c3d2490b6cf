"""Answers of copy groups, which count once per task, and the effective number of independent answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import AnswerWeights, find_answer_weights, sum_by

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.domains import Kernels
    from allalike.engines import Run
    from allalike.methods.fit import CopyGroups


# Ten answers whose errors are correlated say less than ten that err independently. If two answers to a task have errors
# with the mean correlation rho beyond the error rates of their workers, as gold labels show it, n answers count like
# n / (1 + (n - 1) rho) (the design effect; Kish: Survey Sampling. 1965).


_PRIOR_ANSWERS = 2.0  # like the crowd's, beside a worker's own answers to tasks whose truth is known
_LEAST = 0.01  # no error rate is closer to 0 or 1


def count_effective_voices(block: Block, correlation: float) -> Floats:
    """Return, per task, how many independent answers its answers count like, if so do the errors of two of them.

    >>> from allalike._core.blocks.block import Block
    >>> count_effective_voices(Block.of([[0], [1], [1], [0]]), 1 / 3)
    array([2.])
    """
    n = block.per_task(find_answer_weights(block).weight)
    return np.maximum(n / (1 + np.maximum(n - 1, 0.0) * correlation), 1.0)


def find_error_correlation(run: Run) -> float | None:
    """Return the mean correlation of the errors of two answers to a task whose truth is known; None without any.

    >>> import allalike
    >>> rows = [(worker, task, "y" if task < 20 else "x") for worker in "abc" for task in range(100)]
    >>> result = allalike.discover(rows, gold={task: "x" for task in range(100)})
    >>> round(find_error_correlation(result.run), 2)
    1.0
    """
    sums = run.sum(partial(_gold_sums, kernels=run.kernels))
    errors, answers = sums["distance"], sums["answers"]
    total = answers.sum()
    mean = errors.sum() / total if total else 0.0
    rate = np.clip((errors + _PRIOR_ANSWERS * mean) / (answers + _PRIOR_ANSWERS), _LEAST, 1 - _LEAST)
    pairs = run.sum(partial(_error_products, kernels=run.kernels), rate)
    number = float(pairs["pairs"].sum())
    return float(np.clip(pairs["products"].sum() / number, 0.0, 1.0)) if number else None


def _gold_sums(block: Block, *, kernels: Kernels) -> dict[str, Floats]:
    return kernels.gold_sums(block)


def _error_products(block: Block, rate: Floats, *, kernels: Kernels) -> dict[str, Floats]:
    """Add up, in the row of the first worker of a task, the products of its errors, less what is expected of each."""
    if not len(block.gold_task):
        nothing = np.zeros(block.n_workers)
        return {"products": nothing, "pairs": nothing}
    truth = np.zeros(block.n_tasks, block.gold_label.dtype)
    truth[block.gold_task] = block.gold_label
    known = np.zeros(block.n_tasks)
    known[block.gold_task] = 1.0
    own = rate.take(block.worker)
    residual = (kernels.distance_to(block, truth) - own) / np.sqrt(own * (1 - own))
    products = block.per_task(residual) ** 2 - block.per_task(residual**2)
    pairs = block.sizes * (block.sizes - 1.0)
    first = block.first_worker
    return {
        "products": sum_by(first, known * products, block.n_workers),
        "pairs": sum_by(first, known * pairs, block.n_workers),
    }


# Groups: a copy group counts once per task, each of its g members who answered 1/g.


def with_voices(block: Block, *, groups: CopyGroups) -> Block:
    """Return the block with the weights of its answers in their copy groups, if there are any."""
    if not groups.has_copies:
        return block
    number, task = groups.number[block.workers].take(block.worker), block.task
    order = np.lexsort((number, task))
    new = np.concatenate([[True], (np.diff(task[order]) != 0) | (np.diff(number[order]) != 0)])
    group = np.empty(len(order), np.intp)
    group[order] = np.cumsum(new) - 1
    return block.keeping(AnswerWeights(1.0 / np.bincount(group)[group], group))
