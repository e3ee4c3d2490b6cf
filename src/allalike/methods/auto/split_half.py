"""Split-half test: prediction of the answers of one half of the workers from the other half.

**Classes.** Workers are split into two halves with about equally many answers, eight times (four times with at least
20,000 answers, and twice if the model is chosen on a sample). A model decides the tasks from the answers of one half.
Each answer of the other half is scored by the worker's informed skill t (`confusion_matrices`) and label frequencies f,
both estimated from their *other* answers:

    score = log( t [label = decided] + (1 - t) f(label) ).

The gain of a task is the sum of these scores minus that with the majority vote of the first half, and

    z = sum of gains / (standard deviation of a gain * sqrt(tasks))

compares the predictions of the model with those of the vote. If z is below -2.576 (p = 0.005), the model is refuted.
The score rewards information, not agreement: always deciding the most frequent class gains nothing.

**Distances.** U_A and V_A are the unweighted and weighted labels of one half, and U_B the unweighted labels of the
other. The gain of a task is

    g_t = d(U_A, U_B) - d(V_A, U_B),    plus the same with A and B exchanged,

and weights are refuted if z of these gains, averaged over four splits, is below -2.576.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, Ties, sum_by
from allalike._core.columns.hashes import mix
from allalike.domains import Kernels
from allalike.engines import Run
from allalike.engines.memory import MemoryRun
from allalike.engines.sample import draw_halves, join_blocks, sample_tasks
from allalike.engines.shards import Shard
from allalike.methods.steps.vote_matrix import vote_shares

CLEARLY = 2.576  # standard errors
_MIN_TASKS = 5  # answered by both halves
_PRIOR = 4.0  # prior answers at the mean skill
_FREQUENCY_PRIOR = 2.0
_DRAW = 1e-6  # difference of probabilities below which labels are tied
_MOST_SKILL, _LEAST = 0.99, 1e-6
_HALVINGS, _SAMPLE_ANSWERS = 4, 20_000  # for weights from distances
_ROUNDING = 1e-9

Model = Callable[["MemoryRun"], "Floats"]  # returns the probabilities of the classes of each task


def _keep_workers(block: Block, members: Array) -> tuple[Block, npt.NDArray[np.intp]]:
    """Return the answers of some workers, and the tasks that they answered."""
    rows = np.flatnonzero(members[block.worker])
    tasks, sizes = np.unique(block.task[rows], return_counts=True)
    return replace(block.pick(tasks, rows), starts=np.cumsum(sizes) - sizes, sizes=sizes), tasks


def test_halves(sample: MemoryRun, model: Model, splits: int) -> float:
    """Return z of the gain of a model over the majority vote in predicting the other half of the workers."""
    whole, k = join_blocks(sample.blocks, len(sample.workers)), sample.encoding.n_labels
    said = mix(whole.task_hash[whole.task] ^ mix(whole.label.astype(np.uint64))) >> np.uint64(40)
    answers = np.bincount(whole.worker, minlength=whole.n_workers)
    content = whole.per_worker(said.astype(np.float64)).astype(np.uint64)
    gains = np.zeros(whole.n_tasks)
    for number in range(splits):
        side = _split(answers, content, number)
        halves = [_keep_workers(whole, side == which) for which in (0, 1)]
        if len(np.intersect1d(halves[0][1], halves[1][1], assume_unique=True)) < _MIN_TASKS:
            continue
        for salt, ((half, tasks), (other, asked)) in enumerate((halves, halves[::-1])):
            noise = _draw(half.task_hash, k, 2 * number + salt)
            vote = vote_shares(half, np.ones(whole.n_workers), k=k)
            for sign, belief in ((1.0, model(_run_of(sample, half, tasks))), (-1.0, vote)):
                decided = np.full(whole.n_tasks, -1)
                decided[tasks] = (belief + _DRAW * noise).argmax(axis=1)
                gains[asked] += sign * _predict(other, decided[asked], k)
    spread = gains.std()
    return float(gains.sum() / (spread * np.sqrt(len(gains)))) if spread > 1e-9 else 0.0


def _split(answers: Array, content: npt.NDArray[np.uint64], number: int) -> Array:
    """Assign each worker to a half; workers with similar numbers of answers are separated.

    The split depends on the answers, not on the ids, so that the number of copies has no effect.
    """
    drawn = mix(content ^ mix(np.array([number], np.uint64)))
    order = np.lexsort((drawn, -answers))
    place = np.arange(len(order))
    side = np.empty(len(order), np.intp)
    side[order] = (mix(drawn[order[place - place % 2]]) + place.astype(np.uint64)) % np.uint64(2)
    return side


def _draw(hashes: Array, k: int, salt: int) -> Floats:
    """Return a random number per task and label; each half has its own, because equal ones would create agreement."""
    drawn = mix(hashes ^ mix(np.array([salt], np.uint64)))
    return np.asarray(mix(drawn[:, None] ^ np.arange(1, k + 1, dtype=np.uint64)) / 2.0**64)


def _run_of(sample: MemoryRun, half: Block, tasks: Array) -> MemoryRun:
    counts = np.bincount(half.worker, minlength=half.n_workers)
    shards = [Shard([half], sample.shards[0].tasks.take(tasks), half.sizes)]
    return replace(sample, shards=shards, answer_counts=counts, n_tasks=half.n_tasks, n_gold=0, n_single=0)


def _predict(half: Block, decided: Array, k: int) -> Floats:
    """Return, per task, the sum of the scores of the answers of a half, given the decided labels (-1 if none)."""
    met, n = half.to_answers(decided >= 0), half.n_workers
    worker, task, label = half.worker[met], half.task[met], half.label[met]
    counts = np.bincount(worker * k + label, minlength=n * k).reshape(n, k)
    answers, crowd = counts.sum(axis=1), counts.sum(axis=0) / max(len(label), 1)
    target = decided[task]
    hit = (label == target).astype(np.float64)

    def usual(at: Array) -> Floats:
        others = counts[worker, at] - (at == label) + _FREQUENCY_PRIOR * crowd[at]
        return np.asarray(np.maximum(others / (answers[worker] - 1 + _FREQUENCY_PRIOR), 1e-4))

    chance = usual(target)
    gained, possible = np.bincount(worker, hit - chance, n), np.bincount(worker, 1 - chance, n)
    mean = max(float(gained.sum()), 0.0) / max(float(possible.sum()), 1e-9)
    rest = np.maximum(possible[worker] - (1 - chance) + _PRIOR, 1e-9)
    skill = np.clip((gained[worker] - (hit - chance) + _PRIOR * mean) / rest, 0.0, _MOST_SKILL)
    return sum_by(task, np.log(np.clip(skill * hit + (1 - skill) * usual(label), _LEAST, 1.0)), half.n_tasks)


# Distances.


def find_support(run: Run, weigh: Callable[[MemoryRun], Floats]) -> float:
    """Return the mean z of the gain from weights over random halves; ``weigh`` returns the weights of a half."""
    sample = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False).map(run.encoding.store)
    support = 0.0
    for seed in range(_HALVINGS):
        side = draw_halves(sample, seed)
        decided = []
        for which in range(2):
            halves = [_prepare_half(sample, block, side == which) for block in sample.blocks]
            blocks = [block for block in halves if block.n_tasks]
            if not blocks:
                return 0.0
            half = replace(sample, shards=[replace(sample.shards[0], blocks=blocks)], n_gold=0, history=None)
            decided += [_decide(half, weight, 2 * seed + which) for weight in (np.ones(len(side)), weigh(half))]
        gain = _find_gains(decided[::2], decided[1::2], run.kernels)
        largest = np.abs(gain).max(initial=0.0)
        gain = gain / (largest if largest > 0 else 1.0)  # squares might overflow
        support += float(gain.sum() / np.sqrt(max((gain**2).sum(), _ROUNDING**2))) / _HALVINGS
    return support


def _prepare_half(sample: MemoryRun, block: Block, members: Array) -> Block:
    half, _ = _keep_workers(block, members)
    return sample.encoding.prepare(replace(half, prepared=block.prepared)) if half.n_tasks else half


def _decide(run: MemoryRun, weight: Floats, salt: int) -> tuple[Array, Array]:
    """Return the labels of a half and their task hashes; ties are broken independently in each half."""
    kernels, _ = run.choose_quorum(weight)
    labels = []
    for block in run.blocks:
        drawn = replace(block, task_hash=mix(block.task_hash ^ np.uint64(salt)))
        labels.append(kernels.aggregate(drawn, weight, np.ones(len(weight)), ties=Ties()))
    hashes = np.concatenate([block.task_hash for block in run.blocks])
    return np.concatenate([each["label"] for each in labels]), hashes


def _find_gains(unweighted: list[tuple[Array, Array]], weighted: list[tuple[Array, Array]], kernels: Kernels) -> Floats:
    """Return the gain of each task that both halves answered."""
    places = np.intersect1d(unweighted[0][1], unweighted[1][1], return_indices=True)[1:]
    gain = np.zeros(len(places[0]))
    if len(gain):
        labels = [np.concatenate([unweighted[k][0][at], weighted[k][0][at]]) for k, at in enumerate(places)]
        measure, _ = kernels.compare_among(np.concatenate(labels))
        n, here = len(gain), np.arange(len(gain))
        for own, other in ((0, 2 * n), (2 * n, 0)):
            before, after = (np.nan_to_num(measure(own + shift + here, other + here)) for shift in (0, n))
            gain += before - after
    return gain
