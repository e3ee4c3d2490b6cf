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

the projection of a U-statistic (Hoeffding 1948), from a sample of the tasks
(`allalike.methods.auto.signal.drawn_pairs`). Where labels of different tasks cannot be compared (rankings of other
items), A is the distance of a guess.

Who is empty is judged as for classes (`allalike.methods.auto.signal.classes`), and nobody is where the crowd as a whole
shows no signal: where the truth is the same everywhere, whoever says it always is right.

It fails where a careful worker got tasks that are all alike, and is never sure with few tasks: constants need 10 to be
told, but random answers 100 to 400, and so does who always gives the same ranking.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.columns.column import Column
from allalike.engines.sample import sample_tasks
from allalike.methods.auto.signal.classes import fits, judge_signal
from allalike.methods.auto.signal.drawn_pairs import MIN_ANSWERS, DrawnPairs, MeasuredSignal
from allalike.methods.insight import Signal

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from allalike._core.blocks.block import Block, Floats
    from allalike.domains import Kernels
    from allalike.engines import Run

    Flags = npt.NDArray[np.bool_]

__all__ = ["find_signal"]

_ROUNDS = 3
_SAMPLE_ANSWERS = 50_000
_CERTAIN = 3.0  # standard errors by which the crowd must show a signal
_ROUNDING = 1e-12


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
    if run.answer_counts.max(initial=0) < MIN_ANSWERS:
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


def _find_measure(run: Run) -> Callable[[Flags], MeasuredSignal]:
    if run.encoding.noise.weighting == "inverse":
        return partial(_measure_numbers, run)
    sample = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False)
    return DrawnPairs.of(sample).measure if sample.n_tasks else partial(_measure_nothing, run.problems.n_workers)


def _measure_nothing(n_workers: int, empty: Flags) -> MeasuredSignal:
    return MeasuredSignal(np.full(n_workers, np.nan), np.full(n_workers, np.nan), np.zeros(n_workers))


def _measure_numbers(run: Run, empty: Flags) -> MeasuredSignal:
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
    return MeasuredSignal(value, error, answers)


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
