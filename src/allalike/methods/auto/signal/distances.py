"""Signal of distances: whether what a worker says goes with what others say of the same task, for any kind of label.

A worker who always gives the same number, or any text, or what the crowd says on average, may be as close to the others
as a careful one. But she is no closer to them on the same task than on another.

**Numbers and vectors**, whose distances are squares. Let x_it be her answer and y_it the mean of the others', on
her own n tasks. Their mean squared distance is smaller on the same task than on another by 2 Cov_t(x, y); divided by
what it would be if she said what the others say, that is the slope

    signal_i = Cov_t(x_it, y_it) / Var_t(y_it),

1 for those who move with the others and 0 for a constant, whatever the units and however different her tasks are. Its
standard error comes from u_t = (x_it - mean) (y_it - mean).

**All other labels.** With A_t the mean distance of her answer to t and what others say of her other tasks, B_t that of
her other answers and what others say of t, and Y_t that of her answer and what others say of t,

    signal_i = mean of A - mean of Y,    se_i^2 = variance of (A_t + B_t - Y_t) / n,

the projection of a U-statistic (Hoeffding 1948). All pairs are compared where they are few; else some hundreds of each
worker are drawn, by hashes of the tasks, from a sample of the tasks. Where labels of different tasks cannot be compared
(rankings of other items), A is the distance of a guess.

Who is empty is judged as for classes (`allalike.methods.auto.signal.classes`), and nobody is where the crowd as a whole
shows no signal: where the truth is the same everywhere, whoever says it always is right.

It fails where a careful worker got tasks that are all alike, and is never sure with few tasks: constants need 10 to be
told, but random answers 100 to 400, and so does who always gives the same ranking.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.columns.column import Column
from allalike._core.columns.hashes import mix
from allalike.engines.sample import sample_tasks
from allalike.errors import LabelError
from allalike.methods.auto.signal.classes import fits, judge_signal
from allalike.methods.insight import Signal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Kernels
    from allalike.engines import Run
    from allalike.engines.memory import MemoryRun

    Measured = tuple[Floats, Floats, Floats]
    Flags = npt.NDArray[np.bool_]

__all__ = ["find_signal"]

_ROUNDS = 3
_MIN_ANSWERS = 10  # below which nobody is judged
_SAMPLE_ANSWERS = 50_000
_PAIRS = 40_000  # in all, of one problem
_PAIRS_OF_WORKER = (100, 2000)
_PAIRS_PER_CHUNK = 2000
_CERTAIN = 3.0  # standard errors by which the crowd must show a signal
_ROUNDING = 1e-12
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def find_signal(run: Run) -> Signal:
    """Find how much the answers of each worker go with those of the others.

    >>> import allalike
    >>> said = {"ada": range(12), "bob": range(1, 13), "eve": [2, *range(11)], "lea": [5] * 12}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> signal = find_signal(allalike.Memory().load(allalike.read(rows, domain="real")))
    >>> signal.value.round(1), signal.empty
    (array([1. , 1. , 0.9, 0. ]), array([False, False, False,  True]))
    """
    n = run.problems.n_workers
    signal = Signal.unknown(n)
    if run.answer_counts.max(initial=0) < _MIN_ANSWERS:
        return signal
    if not fits(run, math.prod(run.encoding.encode(Column("label", [])).shape[1:])):
        return Signal.unknown(n, looked=False)
    measure = _find_measure(run)
    for _ in range(_ROUNDS):
        before = signal.empty
        value, error, answers = measure(before)
        value, error = (np.where(np.abs(part) < _ROUNDING, 0.0, part) for part in (value, error))
        signal = judge_signal(value, error, answers, run.problems)
        signal = Signal(signal.value, signal.error, signal.empty & _shows_signal(signal, answers, run))
        if np.array_equal(signal.empty, before):
            break
    return signal


def _shows_signal(signal: Signal, answers: Floats, run: Run) -> Flags:
    """Tell, per worker, whether the signal of her crowd is beyond doubt."""
    known = ~np.isnan(signal.value)
    weight = np.where(known, answers, 0.0)
    total = run.problems.total(weight * np.nan_to_num(signal.value))
    error = np.sqrt(run.problems.total((weight * np.nan_to_num(signal.error)) ** 2))
    return np.asarray(total > _CERTAIN * error)


def _find_measure(run: Run) -> Callable[[Flags], Measured]:
    if run.encoding.noise.weighting == "inverse":
        return partial(_measure_numbers, run)
    return partial(_measure_sample, sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False))


def _measure_numbers(run: Run, empty: Flags) -> Measured:
    """Return slope, standard error and number of answers that have others, of each worker."""
    voice = np.where(empty, 0.0, 1.0)
    first = run.sum(partial(_mean_sums, kernels=run.kernels), voice)
    answers = first["answers"]
    means = [first[name] / np.maximum(answers, 1.0)[:, None] for name in ("own", "others")]
    second = run.sum(partial(_product_sums, kernels=run.kernels), voice, *means)
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = second["others"] / (answers - 1)
        value = second["product"] / (answers - 1) / scale
        spread = np.maximum(second["square"] - second["product"] ** 2 / answers, 0.0)
        error = np.sqrt(spread / (answers * (answers - 1))) / scale
    return value, error, answers


def _mean_sums(block: Block, voice: Floats, *, kernels: Kernels) -> dict[str, Floats]:
    own, others, known = _numbers_of_others(block, voice, kernels)
    counts = known[:, None]
    return {
        "answers": block.per_worker(known),
        "own": _columns_per_worker(block, own * counts),
        "others": _columns_per_worker(block, others * counts),
    }


def _product_sums(
    block: Block, voice: Floats, own_mean: Floats, others_mean: Floats, *, kernels: Kernels
) -> dict[str, Floats]:
    own, others, known = _numbers_of_others(block, voice, kernels)
    away = others - others_mean[block.worker]
    product = known * np.einsum("ij,ij->i", own - own_mean[block.worker], away)
    square = known * np.einsum("ij,ij->i", away, away)
    return {
        "product": block.per_worker(product),
        "square": block.per_worker(product**2),
        "others": block.per_worker(square),
    }


def _numbers_of_others(block: Block, voice: Floats, kernels: Kernels) -> tuple[Floats, Floats, Floats]:
    """Return, per answer, its numbers, the mean of the others', and whether there are others."""
    own = kernels.restore_answers(block, np.arange(len(block.label))).reshape(len(block.label), -1)
    weight = voice.take(block.worker)
    left = block.to_answers(block.per_task(weight)) - weight
    known = left > 0.5
    others = block.to_answers(block.per_task(weight[:, None] * own)) - weight[:, None] * own
    return own, others / np.where(known, left, 1.0)[:, None], known.astype(np.float64)


def _columns_per_worker(block: Block, values: Floats) -> Floats:
    return np.column_stack([block.per_worker(column) for column in values.T])


def _measure_sample(sample: MemoryRun, empty: Flags) -> Measured:
    """Return signal, standard error and number of answers that have others, of each worker."""
    n = sample.problems.n_workers
    value, error, answers = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n)
    blocks = [block for block in sample.blocks if block.n_tasks]
    if not blocks:
        return value, error, answers
    code, worker = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("label", "worker"))
    sizes, task_hash = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("sizes", "task_hash"))
    task = np.repeat(np.arange(len(sizes)), sizes)
    drawn = [
        (who, *_draw_pairs(rows, task, worker, empty, np.cumsum(sizes), task_hash, _budget(int(size))))
        for who, rows, size in _rows_of_workers(worker, sample.problems.size)
    ]
    if not drawn:
        return value, error, answers
    left, right = (np.concatenate([part[side] for part in drawn]) for side in (1, 2))
    distance = _compare(code, task, left, right, sample.kernels)
    ends = np.cumsum([len(part[1]) for part in drawn])
    for (who, i, j), last in zip(drawn, ends, strict=True):
        value[who], error[who], answers[who] = _summarise(task[i], task[j], distance[last - len(i) : last])
    return value, error, answers


def _budget(n_workers: int) -> int:
    return int(np.clip(_PAIRS // n_workers, *_PAIRS_OF_WORKER))


def _rows_of_workers(worker: Array, crowd: npt.NDArray[np.int64]) -> Iterator[tuple[int, Array, int]]:
    """Yield who gave enough answers, where they are, and how many workers her problem has."""
    order = np.argsort(worker, kind="stable")
    count = np.bincount(worker, minlength=len(crowd))
    first = np.cumsum(count) - count
    for who in np.flatnonzero(count >= _MIN_ANSWERS).tolist():
        yield who, order[first[who] : first[who] + count[who]], int(crowd[who])


def _draw_pairs(
    rows: Array, task: Array, worker: Array, empty: Flags, ends: Array, task_hash: Array, budget: int
) -> tuple[Array, Array]:
    """Pair a worker's answers with what others say of the same tasks and of her other tasks."""
    own = task[rows]
    begins = ends[own] - np.diff(np.concatenate([[0], ends]))[own]
    peers = np.concatenate([np.arange(begin, end) for begin, end in zip(begins, ends[own], strict=True)])
    peers = peers[(worker[peers] != worker[rows[0]]) & ~empty[worker[peers]]]
    if not len(peers):
        return rows[:0], rows[:0]
    first, last = (np.searchsorted(task[peers], own, side=side) for side in ("left", "right"))
    parts = [_choose(rows, first, last - first, task_hash[own], budget, len(peers))]
    parts.append(_choose(rows, last, len(peers) - (last - first), mix(task_hash[own]), budget, len(peers)))
    return tuple(np.concatenate(side) for side in zip(*((i, peers[j]) for i, j in parts), strict=True))


def _choose(rows: Array, first: Array, count: Array, hashes: Array, budget: int, around: int) -> tuple[Array, Array]:
    """Pair each row with so many places, from its first on, round a circle; or draw some of them by hashes."""
    if count.sum() <= budget:
        step = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        return np.repeat(rows, count), (np.repeat(first, count) + step) % around
    heard = np.flatnonzero(count)
    each = -(-budget // len(heard))
    bits = mix(np.repeat(hashes[heard], each) + np.tile(np.arange(1, each + 1, dtype=np.uint64), len(heard)) * _GOLDEN)
    step = (bits % np.repeat(count[heard], each).astype(np.uint64)).astype(np.int64)
    return np.repeat(rows[heard], each), (np.repeat(first[heard], each) + step) % around


def _compare(code: Array, task: Array, left: Array, right: Array, kernels: Kernels) -> Floats:
    """Measure distances, some at a time, for labels may be large; those of different tasks may be unknown."""
    same = task[left] == task[right]
    distance = np.full(len(left), np.nan)
    for which, measure in ((same, kernels.distance_between), (~same, kernels.guess_distances)):
        pairs = np.flatnonzero(which)
        with suppress(LabelError):  # of a user's own function that cannot compare labels of different tasks
            for part in np.array_split(pairs, 1 + len(pairs) // _PAIRS_PER_CHUNK):
                distance[part] = measure(code[left[part]], code[right[part]])
    return distance


def _summarise(own: Array, other: Array, distance: Floats) -> tuple[float, float, float]:
    """Return signal, standard error and the number of tasks, from pairs of tasks and their distances."""
    known = ~np.isnan(distance)
    _, place = np.unique(np.concatenate([own[known], other[known]]), return_inverse=True)
    i, j, d = place[: known.sum()], place[known.sum() :], distance[known]
    n, same = int(place.max(initial=-1)) + 1, i == j
    means = []
    for where, which in ((i, ~same), (j, ~same), (i, same)):
        count = sum_by(where[which], np.ones(int(which.sum())), n)
        total = sum_by(where[which], d[which], n)
        means.append(np.where(count > 0, total, np.nan) / np.where(count > 0, count, 1.0))
    away, back, here = means
    heard = ~(np.isnan(away) | np.isnan(here))
    answers = int(heard.sum())
    if answers < 2:
        return np.nan, np.nan, float(answers)
    back = np.where(np.isnan(back), np.nanmean(back[heard]) if (~np.isnan(back[heard])).any() else 0.0, back)
    projection = (away + back - here)[heard]
    value = float((away - here)[heard].mean())
    return value, float(projection.std(ddof=1) / np.sqrt(answers)), float(answers)
