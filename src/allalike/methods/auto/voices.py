"""Voices: who speaks with one voice, who has none, and how many voices a crowd is worth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import AnswerWeights, find_answer_weights, sum_by

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run
    from allalike.methods.fit import CopyGroups


# Effective voices: how many independent answers the answers to a task count like.
#
# Ten answers whose errors come together say less than ten that err each on its own. Where 50 truths are known, the
# errors can be looked at: if two answers to the same task have errors whose correlation is rho on average, after the
# error rate of each worker has been taken out, n answers count like
#
#     n / (1 + (n - 1) rho)
#
# (Kish's design effect; Kish: Survey Sampling. 1965). Without known truths the level of a common error cannot be seen,
# and nothing is said.


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


# Groups: which workers speak with one voice, and whose answers say nothing about the tasks.
#
# Copies of a worker are no further evidence, so a group of copiers has one voice on every task: each of its g members
# who answered counts 1/g, and nobody is compared with her own group. Who carries no signal has no voice.


def give_voices(run: Run, groups: CopyGroups) -> Any:
    """Return the run with the voices of its answers.

    >>> import allalike
    >>> from allalike.methods.fit import CopyGroups
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]))
    >>> groups = CopyGroups(np.array([0, 0, 2]), np.zeros(3, bool))
    >>> give_voices(run, groups).blocks[0][AnswerWeights]
    AnswerWeights(weight=array([0.5, 0.5, 1. ]), group=array([0, 0, 1]))
    """
    if groups.all_count:
        return run
    return run.map(partial(_hear, groups=groups, encoding=run.encoding))


def _hear(block: Block, *, groups: CopyGroups, encoding: Encoding) -> Block:
    heard = with_voices(block, groups=groups)
    return heard.keeping(find_within(block, heard[AnswerWeights], encoding))


def with_voices(block: Block, *, groups: CopyGroups) -> Block:
    """Return the block with the voices of its answers, if these are not all the same."""
    if groups.all_count:
        return block
    columns = (groups.number, groups.uninformative)
    number, silent = (np.append(column[block.workers], column[:1]).take(block.worker) for column in columns)
    return block.keeping(voices_of(block, number, silent))


def voices_of(block: Block, number: npt.NDArray[np.intp], silent: npt.NDArray[np.bool_]) -> AnswerWeights:
    """Return the voices of a block's answers, from the group of each and whether it is silent.

    Where nobody else answered a task, those who are silent have their voices.
    """
    task = block.task
    nobody = block.per_task(np.where(silent, 0.0, 1.0)) == 0
    silent = silent & ~block.to_answers(nobody)
    order = np.lexsort((number, task))
    new = np.concatenate([[True], (np.diff(task[order]) != 0) | (np.diff(number[order]) != 0)])
    group = np.empty(len(order), np.intp)
    group[order] = np.cumsum(new) - 1
    members = sum_by(group, np.where(silent, 0.0, 1.0), int(new.sum()))
    return AnswerWeights(np.where(silent, 0.0, 1.0 / np.maximum(members[group], 1.0)), group)


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
        live=None,
    )
    return Within(rows, encoding.prepare(inner) if len(rows) else inner)


def by_answer(block: Block) -> Block:
    """Return the block as if each answer were that of a worker of its own."""
    return replace(block, worker=np.arange(len(block.worker)), n_workers=len(block.worker), live=None)


def peer_distances(block: Block, weights: Floats, *, kernels: Kernels) -> tuple[Floats, Floats]:
    """Return, per answer, the weighted distance to the answers of other groups to its task, and their weight.

    >>> import allalike
    >>> from allalike.methods.auto.voices import give_voices
    >>> from allalike.methods.fit import CopyGroups
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 0.0), ("bob", 1, 1.0), ("eve", 1, 3.0)]))
    >>> heard = give_voices(run, CopyGroups(np.array([0, 0, 2]), np.zeros(3, bool)))
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


@dataclass(frozen=True)
class GroupDisparity:
    """The sums behind every worker's mean distance to those of other groups."""

    distance: Floats
    weight: Floats

    @property
    def mean(self) -> Floats:
        """Each worker's mean distance; a worker without peers is like the mean of the others."""
        known = np.where(self.weight > 0, self.distance, np.nan) / np.where(self.weight > 0, self.weight, 1.0)
        alone = np.isnan(known)
        return np.where(alone, known[~alone].mean(), known) if alone.any() and not alone.all() else known

    @property
    def mubar(self) -> float:
        """Half the mean distance of two workers."""
        weight = float(self.weight.sum())
        return float(self.distance.sum()) / weight / 2 if weight else np.nan


def between_groups(heard: Run) -> GroupDisparity:
    """Return the average distances to workers of other groups, from a run whose answers have voices."""
    sums = heard.sum(partial(_peer_sums, kernels=heard.kernels), np.ones(len(heard.workers)))
    return GroupDisparity(sums["distance"], sums["weight"])


def _peer_sums(block: Block, weights: Floats, *, kernels: Kernels) -> dict[str, Floats]:
    """Add up, per worker, the weighted distance to the answers of other groups, and their weight."""
    distance, weight = peer_distances(block, weights, kernels=kernels)
    return {"distance": block.per_worker(distance), "weight": block.per_worker(weight)}
