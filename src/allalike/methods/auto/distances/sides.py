"""Sides: whether half of the workers, who know nothing of a step, side with what the other half decides by it.

A step is to weigh workers, or to let copiers count as one. Workers are halved. With U_A and V_A, what the first half
decides for a task without the step and with it, and U_B, what the second decides plainly, as an independent witness,

    g_t = d(U_A, U_B) - d(V_A, U_B),    and the same with both halves exchanged,

says by how much the step brings the first half nearer to the second. S = sum g / sqrt(sum g^2), over the tasks that
both have answered, is its support, the mean over several halvings. Below -2.576, which chance does in one of two
hundred cases, the halves refute the step. The witness is plain: two halves that both keep to the middle agree with each
other, and err together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.ties import Ties
from allalike._core.columns.hashes import mix
from allalike.engines.sample import draw_halves, halve, sample_tasks
from allalike.methods.auto.distances.decision import decide_by_voices

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Kernels
    from allalike.engines import Run
    from allalike.engines.memory import MemoryRun
    from allalike.methods.insight import VoiceGroups

__all__ = ["count_alike", "decide_as_heard", "find_support"]

Way = Callable[
    ["Run", "VoiceGroups"], "tuple[VoiceGroups, Floats]"
]  # who speaks, and what workers weigh, in a run of halves

_HALVINGS = 4
_SAMPLE_ANSWERS = 20_000  # that tell whether halves side with a step


def count_alike(run: Run, groups: VoiceGroups) -> tuple[VoiceGroups, Floats]:
    """Let everyone count the same, and groups as one."""
    return groups, np.ones(run.problems.n_workers)


def find_support(run: Run, groups: VoiceGroups, before: Way, after: Way, witness: Way) -> Floats:
    """Return S of each problem: halves, in which groups stay together, decide before and after a step, and a witness.

    >>> import allalike
    >>> from allalike.methods.insight import VoiceGroups
    >>> rng = np.random.default_rng(0)
    >>> rows = [(i, t, rng.normal(scale=1 if i < 4 else 9)) for i in range(8) for t in range(50)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="real"))
    >>> def of_four(half, groups):
    ...     return groups, np.where(np.isin(half.workers.tolist(), range(4)), 1.0, 0.1)
    >>> find_support(run, VoiceGroups.everyone(8), count_alike, of_four, count_alike).round(1)
    array([3.3])
    """
    n = len(run.problems.sizes)
    support = np.zeros(n)
    sample = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False).map(run.encoding.store)
    for number in range(_HALVINGS):
        half, order = halve(sample, draw_halves(sample, groups.number, number))
        half, inside = half.map(half.encoding.prepare), groups.take(order)
        found = {way: _decide_halves(half, *way(half, inside), number) for way in {before, after, witness}}
        gain, problem = _find_gains([found[way] for way in (before, after, witness)], half.kernels)
        largest = np.abs(gain).max(initial=0.0)
        gain = gain / (largest if largest > 0 else 1.0)  # whose squares might overflow
        squares = np.bincount(problem, gain**2, n)
        support += np.bincount(problem, gain, n) / np.sqrt(np.where(squares > 0, squares, 1.0)) / _HALVINGS
    return support


def _find_gains(found: list[dict[str, Array]], kernels: Kernels) -> tuple[Floats, Array]:
    """Return g of each task that both halves have answered, and the problem of each."""
    part, task = found[0]["part"], found[0]["hash"]
    key = np.lexsort((part, task, part // 2))
    part, task = part[key], task[key]
    pair = np.flatnonzero((task[1:] == task[:-1]) & (part[1:] == part[:-1] + 1) & (part[:-1] % 2 == 0))
    first, second = key[pair], key[pair + 1]
    gain = np.zeros(len(pair))
    if len(pair):
        measure, _ = kernels.compare_among(np.concatenate([each["label"] for each in found]))
        witness = 2 * len(task)  # where its labels begin
        for begin, sign in ((0, 1.0), (len(task), -1.0)):
            for one, other in ((first, second), (second, first)):
                gain += sign * np.nan_to_num(measure(begin + one, witness + other))
    return gain, part[pair] // 2


def _decide_halves(run: MemoryRun, groups: VoiceGroups, weight: Floats, salt: int) -> dict[str, Array]:
    kernels, _ = run.choose_quorum(np.where(groups.speaks, weight, 0.0))
    kernel = partial(_decide, kernels=kernels, ties=Ties(salt), everyone=groups.everyone_counts)
    part = run.problems.spread(np.arange(len(run.problems.sizes)))
    columns = (part, groups.number, groups.silent)
    return run.collect(kernel, weight, *(each.astype(np.float64) for each in columns))


def _decide(
    block: Block,
    weight: Floats,
    part: Floats,
    number: Floats,
    silent: Floats,
    *,
    kernels: Kernels,
    ties: Ties,
    everyone: bool,
) -> dict[str, Array]:
    """Decide the tasks of a block. Ties are drawn by half: two halves that draw alike would seem to agree."""
    side = part.take(block.first_worker).astype(np.int64)
    drawn = replace(block, task_hash=mix(block.task_hash ^ mix(side.astype(np.uint64))))
    label = decide_as_heard(drawn, weight, number, silent, kernels=kernels, ties=ties, everyone=everyone)
    return {"label": label, "hash": block.task_hash, "part": side}


def decide_as_heard(
    block: Block, weight: Floats, number: Floats, silent: Floats, *, kernels: Kernels, ties: Ties, everyone: bool
) -> Array:
    """Return the truths of a block's tasks, given the group of each worker, and whether she is silent."""
    fault = np.ones(len(weight))
    if everyone:
        return kernels.aggregate(block, weight, fault, ties=ties)["label"]
    return decide_by_voices(block, weight, fault, number, silent, kernels=kernels, ties=ties)["label"]
