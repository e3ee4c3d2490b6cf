"""Answers of copy groups, which count once per task, and the effective number of independent answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import AnswerWeights, find_answer_weights, sum_by
from allalike.methods.proximity import Disparity

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.domains import Encoding, Kernels
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


# Groups: a copy group counts once per task, each of its g members who answered 1/g, and is not compared with itself.


def give_voices(run: Run, groups: CopyGroups) -> Any:
    """Return the run with the weights of its answers in their copy groups.

    >>> import allalike
    >>> from allalike.methods.fit import CopyGroups
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]))
    >>> give_voices(run, CopyGroups(np.array([0, 0, 2]))).blocks[0][AnswerWeights]
    AnswerWeights(weight=array([0.5, 0.5, 1. ]), group=array([0, 0, 1]))
    """
    return run.map(partial(_hear, groups=groups, encoding=run.encoding)) if groups.has_copies else run


def _hear(block: Block, *, groups: CopyGroups, encoding: Encoding) -> Block:
    heard = with_voices(block, groups=groups)
    return heard.keeping(find_within(block, heard[AnswerWeights], encoding))


def with_voices(block: Block, *, groups: CopyGroups) -> Block:
    """Return the block with the weights of its answers in their copy groups, if there are any."""
    if not groups.has_copies:
        return block
    number = np.append(groups.number[block.workers], groups.number[:1]).take(block.worker)
    return block.keeping(voices_of(block, number))


def voices_of(block: Block, number: npt.NDArray[np.intp]) -> AnswerWeights:
    """Return the weights of a block's answers, from the copy group of each."""
    task = block.task
    order = np.lexsort((number, task))
    new = np.concatenate([[True], (np.diff(task[order]) != 0) | (np.diff(number[order]) != 0)])
    group = np.empty(len(order), np.intp)
    group[order] = np.cumsum(new) - 1
    return AnswerWeights(1.0 / np.bincount(group)[group], group)


@dataclass(frozen=True)
class Within:
    """The groups of a block that have several answers to a task, as a block with a task for each of them."""

    rows: npt.NDArray[np.intp]
    block: Block


def find_within(block: Block, voices: AnswerWeights, encoding: Encoding) -> Within:
    """Return the groups of two answers and more; the labels are prepared anew."""
    sizes = np.bincount(voices.group)
    order = np.argsort(voices.group, kind="stable")
    rows = order[sizes[voices.group[order]] > 1]
    groups = np.flatnonzero(sizes > 1)
    starts = np.cumsum(sizes[groups]) - sizes[groups]
    inner = replace(
        block.pick(np.zeros(0, np.intp), rows),
        starts=starts,
        sizes=sizes[groups],
        label=encoding.kernels.restore_answers(block, rows),
        task_hash=block.to_answers(block.task_hash)[rows][starts],
        gold_label=encoding.kernels.restore_gold(block)[:0],
    )
    return Within(rows, encoding.prepare(inner) if len(rows) else inner)


def by_answer(block: Block) -> Block:
    """Return the block as if each answer were that of a worker of its own."""
    return replace(block, worker=np.arange(len(block.worker)), n_workers=len(block.worker))


def peer_distances(block: Block, weights: Floats, *, kernels: Kernels) -> tuple[Floats, Floats]:
    """Return, per answer, the weighted distance to the answers of other groups to its task, and their weight.

    >>> import allalike
    >>> from allalike.methods.auto.voices import give_voices
    >>> from allalike.methods.fit import CopyGroups
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 0.0), ("bob", 1, 1.0), ("eve", 1, 3.0)]))
    >>> heard = give_voices(run, CopyGroups(np.array([0, 0, 2])))
    >>> peer_distances(heard.blocks[0], np.ones(3), kernels=run.kernels)
    (array([9. , 4. , 6.5]), array([1., 1., 1.]))
    """
    if AnswerWeights not in block:
        return kernels.peer_distances(block, weights)
    own = block[AnswerWeights].weight * weights.take(block.worker)
    distance, others = kernels.peer_distances(by_answer(block), own)
    within = block[Within]
    if len(within.rows):
        inside, weight = kernels.peer_distances(by_answer(within.block), own[within.rows])
        distance, others = distance.copy(), others.copy()
        distance[within.rows] -= inside
        others[within.rows] -= weight
    return np.maximum(distance, 0.0), np.maximum(others, 0.0)


def between_groups(heard: Run) -> Disparity:
    """Return the mean distances to workers of other groups, from a run whose answers have weights in their groups."""
    sums = heard.sum(partial(_peer_sums, kernels=heard.kernels), np.ones(len(heard.workers)))
    return Disparity(sums["distance"], sums["weight"])


def _peer_sums(block: Block, weights: Floats, *, kernels: Kernels) -> dict[str, Floats]:
    """Add up, per worker, the weighted distance to the answers of other groups, and their weight."""
    distance, weight = peer_distances(block, weights, kernels=kernels)
    return {"distance": block.per_worker(distance), "weight": block.per_worker(weight)}
