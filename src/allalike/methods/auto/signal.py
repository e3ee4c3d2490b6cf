"""Signal: whose answers say anything about the tasks."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import number_within_tasks, sum_by
from allalike._core.columns.column import Column
from allalike._core.columns.hashes import mix
from allalike._core.compiled import calls
from allalike._core.compiled.library import compiled
from allalike.engines.sample import sample_tasks
from allalike.errors import LabelError
from allalike.methods.insight import Signal

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.blocks.problems import Problems
    from allalike.domains import Kernels
    from allalike.engines import Run
    from allalike.engines.memory import MemoryRun

    Flags = npt.NDArray[np.bool_]


# Signal: whether a worker's answers depend on the tasks at all.
#
# Who always says the same, says anything, or says what is most frequent, agrees with others as often as chance and
# the frequent class have it, and may look better than a careful worker. But what she says does not go with what
# others say of the same task. Let q_tl be the share of label l in the votes of the others on task t, s_it her label,
# n_il how often she gave l, and Q_il the sum of q_tl over her n tasks. Her signal is the covariance of what she and
# the others say,
#
#     signal_i = S/n - (X - S)/(n (n-1)),    S = sum_t q_t(s_it),    X = sum_l n_il Q_il,
#
# over her own tasks: how much more others agree with her on the same task than on another of hers. With
#
#     u_it = q_t(s_it) - Q_i(s_it)/n - sum_l n_il q_tl / n + X/n^2,    se_i^2 = sum_t (u_it - mean)^2 / (n (n-1))
#
# it has a standard error. A constant has 0 in both, exactly.
#
# A worker is **empty** if she gave ten answers or more that others gave, too, and signal + 2 se is below 0.15 of what
# the better workers have (the upper quartile over answers). The empty are found in up to three rounds, in which those
# found before do not count as others. They lose their voice only where they gave a fifth of all answers; few of them
# do no harm that their weights do not see to.
#
# It is no measure of skill: where the frequent class is usually right, who says it is right, and weights by signal
# lose.


_MIN_ANSWERS = 10
_FRACTION = 0.15  # of what the better workers have
_QUANTILE = 0.75  # of all answers are of workers with no more signal than the better ones have
_STANDARD_ERRORS = 2.0
_ROUNDS = 3
_ROUNDING = 1e-12
_HARMFUL_SHARE = 0.2  # of all answers
_MAX_CELLS = 1 << 25  # numbers, of workers and labels
_TABLES, _TABLES_PER_PROCESS = 10, 3  # of these, in memory at a time
_MAX_NAMED_LABELS = 50  # of all tasks; of more, only those of a task are told apart


def find_class_signal(run: Run) -> Signal:
    """Find the signal of workers whose labels are classes.

    >>> import allalike
    >>> said = {"ada": "xyxyxyxyxyxy", "bob": "xyxyxyxyxyxy", "eve": "xyxyxyxxyxyx", "lea": "xxxxxxxxxxxx"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> find_class_signal(allalike.Memory().load(allalike.read(rows))).empty
    array([False, False, False,  True])
    """
    n, k = run.problems.n_workers, run.encoding.n_labels
    if n * k > _MAX_CELLS or not fits(run, k):
        return Signal.unknown(n, looked=False)
    signal = Signal.unknown(n)
    for _ in range(_ROUNDS):
        before = signal.empty
        voice = np.where(before, 0.0, 1.0)
        first = run.sum(partial(signal_sums, k=k), voice)
        answers = first["given"].sum(axis=1)
        cross = (first["given"] * first["heard"]).sum(axis=1)
        divisor = np.maximum(answers, 1.0)
        expected = {"heard": first["heard"] / divisor[:, None], "given": first["given"] / divisor[:, None]}
        second = run.sum(partial(deviation_sums, k=k), voice, expected["heard"], expected["given"], cross / divisor**2)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = first["own"] / answers - (cross - first["own"]) / (answers * (answers - 1))
            spread = np.maximum(second["squares"] - second["sum"] ** 2 / answers, 0.0)
            error = np.sqrt(spread / (answers * (answers - 1)))
        value, error = (np.where(np.abs(part) < _ROUNDING, 0.0, part) for part in (value, error))
        signal = judge_signal(value, error, answers, run.problems)
        if np.array_equal(signal.empty, before):
            break
    return signal


def fits(run: Run, width: int) -> bool:
    """Return whether tables with so many columns and a row for each worker fit in memory."""
    tables = _TABLES + _TABLES_PER_PROCESS * run.n_processes
    return 8 * tables * run.problems.n_workers * width <= run.free_memory


def judge_signal(value: Floats, error: Floats, answers: Floats, problems: Problems) -> Signal:
    """Tell who is empty, beside what the better workers of her problem have."""
    known = np.isfinite(value) & np.isfinite(error)
    better = _quantiles(np.where(known, value, -np.inf), np.where(known, answers, 0.0), problems)
    with np.errstate(invalid="ignore"):
        small = value + _STANDARD_ERRORS * error < _FRACTION * better
    empty = known & (answers >= _MIN_ANSWERS) & (better > 0) & small
    return Signal(np.where(known, value, np.nan), np.where(known, error, np.nan), empty)


def silence(signal: Signal, answers: npt.NDArray[np.int64], problems: Problems) -> npt.NDArray[np.bool_]:
    """Tell who loses her voice: the empty, where they gave a good part of the answers; never everybody.

    >>> from allalike._core.blocks.problems import Problems
    >>> signal = Signal(np.zeros(3), np.zeros(3), np.array([True, False, False]))
    >>> silence(signal, np.array([10, 90, 90]), Problems.single(3)), silence(signal, np.full(3, 9), Problems.single(3))
    (array([False, False, False]), array([ True, False, False]))
    """
    given = problems.total(np.where(signal.empty, answers, 0)) / problems.total(answers)
    mute: npt.NDArray[np.bool_] = signal.empty & (given >= _HARMFUL_SHARE) & (given < 1.0)
    return mute


@compiled(calls.signal_sums)
def signal_sums(block: Block, voice: Floats, *, k: int) -> dict[str, Floats]:
    """Add up, per worker, the share of the others who agree, how often she gave each label, and how often they did."""
    said = _listen(block, voice, k)
    cell, size = block.worker * k + block.label, block.n_workers * k
    given = sum_by(cell, (said.each > 0).astype(np.float64), size).reshape(-1, k)
    heard = _add_votes(block, said, k) - sum_by(cell, said.each * said.voice, size).reshape(-1, k)
    return {"own": block.per_worker(said.own), "given": given, "heard": heard}


@compiled(calls.deviation_sums)
def deviation_sums(
    block: Block, voice: Floats, heard: Floats, given: Floats, cross: Floats, *, k: int
) -> dict[str, Floats]:
    """Add up, per worker, what each answer adds to her signal, and its square."""
    said, cell = _listen(block, voice, k), block.worker * k + block.label
    rows = given.take(block.worker, axis=0) if said.label is None else given.ravel().take(_cells(block, said.label, k))
    usual = np.einsum("al,al->a", rows, block.to_answers(said.votes))
    usual = said.each * (usual - said.voice * given.ravel().take(cell))
    known = said.each > 0
    deviation = np.where(known, said.own - heard.ravel().take(cell) - usual + cross.take(block.worker), 0.0)
    return {"sum": block.per_worker(deviation), "squares": block.per_worker(deviation**2)}


class _Heard(NamedTuple):
    """What is said of the tasks of a block.

    ``votes`` has a row for each task and a column for each label that is told apart there, whose number is in
    ``label``, unless these are all labels. Of each answer, ``voice`` is its own, ``each`` the share of one vote among
    those of the others, 0 if there are none, and ``own`` the share of its label there.
    """

    votes: Floats
    label: npt.NDArray[np.intp] | None
    voice: Floats
    each: Floats
    own: Floats


def _listen(block: Block, voice: Floats, k: int) -> _Heard:
    own = voice.take(block.worker)
    task, slot, width, label = block.task, block.label.astype(np.intp), k, None
    if k > _MAX_NAMED_LABELS:  # only the labels of a task, not all of them
        slot, count = number_within_tasks(block)
        width = int(count.max())
        label = np.zeros((block.n_tasks, width), np.intp)
        label[task, slot] = block.label
    place = task * width + slot
    votes = sum_by(place, own, block.n_tasks * width).reshape(-1, width)
    others = block.to_answers(block.per_task(own)) - own
    known = others > 0.5
    each = np.where(known, 1.0, 0.0) / np.where(known, others, 1.0)
    return _Heard(votes, label, own, each, each * (votes.ravel().take(place) - own))


def _add_votes(block: Block, said: _Heard, k: int) -> Floats:
    """Add up, per worker and label, the votes on her tasks, as shares of those of the others."""
    from scipy.sparse import csr_array

    if said.label is None:
        starts = np.append(block.starts, len(block.worker))
        shares = csr_array((said.each, block.worker, starts), shape=(block.n_tasks, block.n_workers))
        table: Floats = shares.T @ said.votes
        return table
    votes = said.each[:, None] * block.to_answers(said.votes)
    return sum_by(_cells(block, said.label, k).ravel(), votes.ravel(), block.n_workers * k).reshape(-1, k)


def _cells(block: Block, label: npt.NDArray[np.intp], k: int) -> npt.NDArray[np.intp]:
    """Return, per answer, the places of the labels of its task among those of its worker."""
    return block.worker[:, None] * k + block.to_answers(label)


def _quantiles(values: Floats, weights: Floats, problems: Problems) -> Floats:
    """Return, per worker, the weighted quantile of her problem."""
    number = np.repeat(np.arange(len(problems.sizes)), problems.sizes)
    order = np.lexsort((values, number))
    given = np.cumsum(weights[order])
    before = np.concatenate([[0.0], given])[problems.starts]
    total = problems.total(weights)
    below = problems.add(given - problems.spread(before) < _QUANTILE * total - 1e-9).astype(np.int64)
    last = problems.starts + np.minimum(below, problems.sizes - 1)
    return problems.spread(values[order][last])


# Drawn pairs: whether a worker's answers are closer to the others on the same task than on another, from a sample.
#
# All pairs are compared where they are few; else some hundreds of each worker are drawn, by hashes of the tasks. What
# others say of her tasks, one task after the other, is a circle: the answers to one of her tasks are an arc of it, and
# those to her other tasks are what follows, once around.


MIN_ANSWERS = 10  # below which nobody is judged
_PAIRS = 40_000  # in all, of one problem
_PAIRS_OF_WORKER = (100, 2000)
_PAIRS_PER_CHUNK = 2000
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class MeasuredSignal(NamedTuple):
    """Of each worker: signal, its standard error, and how many answers have others."""

    value: Floats
    error: Floats
    answers: Floats


class _Pairs(NamedTuple):
    """Pairs of answers, the first by the worker who is judged; and the rows of her own answers to both tasks."""

    left: Array
    right: Array
    row: Array
    other_row: Array


@dataclass(frozen=True)
class DrawnPairs:
    """The answers of a sample, of which pairs are drawn."""

    worker: Array
    task: Array
    task_hash: Array
    rows: Array
    budget: npt.NDArray[np.int64]
    code: Array
    kernels: Kernels

    @classmethod
    def of(cls, sample: MemoryRun) -> DrawnPairs:
        """Take the answers of a sample, whose labels are codes."""
        blocks = sample.blocks
        worker, code = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("worker", "label"))
        sizes, hashes = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("sizes", "task_hash"))
        order = np.argsort(worker, kind="stable")
        often = np.bincount(worker, minlength=sample.problems.n_workers) >= MIN_ANSWERS
        return cls(
            worker=worker,
            task=np.repeat(np.arange(len(sizes)), sizes),
            task_hash=np.repeat(hashes, sizes),
            rows=order[often[worker[order]]],
            budget=np.clip(_PAIRS // sample.problems.size, *_PAIRS_OF_WORKER),
            code=code,
            kernels=sample.kernels,
        )

    def measure(self, empty: Flags) -> MeasuredSignal:
        """Return the signal of each worker, who is not compared with those who are empty."""
        pairs = self._draw(empty)
        return self._summarise(pairs, self._compare(pairs))

    def _draw(self, empty: Flags) -> _Pairs:
        """Pair the answers of each worker with what others say of the same tasks, and of her other tasks."""
        rows, who = self.rows, self.worker[self.rows]
        heard = ~empty[self.worker]
        peers = np.flatnonzero(heard)
        bounds = np.concatenate([[0], np.cumsum(heard)])  # how many are heard before each answer
        first, last = (bounds[np.searchsorted(self.task, self.task[rows], side=side)] for side in ("left", "right"))
        count = last - first - heard[rows]
        end = np.cumsum(count)
        begin = end - count
        start, stop = (np.searchsorted(who, who, side=side) for side in ("left", "right"))
        origin, around = begin[start], end[stop - 1] - begin[start]
        parts = []
        for since, number, bits in (
            (begin, count, self.task_hash[rows]),
            (end, around - count, mix(self.task_hash[rows])),
        ):
            row, step = _choose(who, number, bits, self.budget)
            place = origin[row] + (since[row] - origin[row] + step) % around[row]
            other = np.searchsorted(end, place, side="right")
            peer = first[other] + place - begin[other]
            peer += heard[rows[other]] & (peer >= bounds[rows[other]])  # who judged is not her own peer
            parts.append(_Pairs(rows[row], peers[peer], row, other))
        return _Pairs(*map(np.concatenate, zip(*parts, strict=True)))

    def _compare(self, pairs: _Pairs) -> Floats:
        """Measure distances, some at a time, for labels may be large; those of different tasks may be unknown."""
        same = pairs.row == pairs.other_row
        distance = np.full(len(same), np.nan)
        for which, measure in zip((same, ~same), self.kernels.compare_among(self.code), strict=True):
            places = np.flatnonzero(which)
            with suppress(LabelError):  # of a user's own function that cannot compare labels of different tasks
                for part in np.array_split(places, 1 + len(places) // _PAIRS_PER_CHUNK):
                    distance[part] = measure(pairs.left[part], pairs.right[part])
        return distance

    def _summarise(self, pairs: _Pairs, distance: Floats) -> MeasuredSignal:
        """Return signal, standard error and the number of tasks of each worker, from the distances of her pairs."""
        who, n = self.worker[self.rows], len(self.budget)
        known, same = ~np.isnan(distance), pairs.row == pairs.other_row
        away, back, here = (
            _mean_by(place[known & which], distance[known & which], len(who))
            for place, which in ((pairs.row, ~same), (pairs.other_row, ~same), (pairs.row, same))
        )
        heard = ~(np.isnan(away) | np.isnan(here))
        who, away, back, here = who[heard], away[heard], back[heard], here[heard]
        told = ~np.isnan(back)
        back = np.where(told, back, np.nan_to_num(_mean_by(who[told], back[told], n))[who])
        answers = np.bincount(who, minlength=n).astype(np.float64)
        projection = away + back - here
        rest = (projection - _mean_by(who, projection, n)[who]) ** 2
        several = answers > 1
        value = np.where(several, _mean_by(who, away - here, n), np.nan)
        freedom = np.where(several, answers * (answers - 1), np.nan)
        return MeasuredSignal(value, np.sqrt(sum_by(who, rest, n) / freedom), answers)


def _choose(who: Array, count: Array, bits: Array, budget: Array) -> tuple[Array, Array]:
    """Return rows and steps: all of so many steps of each row, or some of them by hashes, where a worker has too many.

    >>> row, step = _choose(np.array([0, 0, 1]), np.array([2, 1, 50]), np.arange(3, dtype=np.uint64), np.array([3, 3]))
    >>> row, step[:3], bool((step < 50).all())
    (array([0, 0, 1, 2, 2, 2]), array([0, 1, 0]), True)
    """
    many = (sum_by(who, count.astype(np.float64), len(budget)) > budget)[who]
    heard = np.bincount(who[count > 0], minlength=len(budget))[who]
    some = np.where(count > 0, -(-budget[who] // np.maximum(heard, 1)), 0)
    drawn = np.where(many, some, count)
    row = np.repeat(np.arange(len(who)), drawn)
    step = np.arange(len(row)) - np.repeat(np.cumsum(drawn) - drawn, drawn)
    which = np.flatnonzero(many[row])
    number = (step[which] + 1).astype(np.uint64)
    at = row[which]
    step[which] = (mix(bits[at] + number * _GOLDEN) % count[at].astype(np.uint64)).astype(np.int64)
    return row, step


def _mean_by(place: Array, values: Floats, n: int) -> Floats:
    """Return the mean of the values at each of n places; NaN where there are none."""
    count = np.bincount(place, minlength=n)
    return np.where(count > 0, sum_by(place, values, n) / np.maximum(count, 1), np.nan)


# Signal of distances: whether what a worker says goes with what others say of the same task, for any kind of label.
#
# A worker who always gives the same number, or any text, or what the crowd says on average, may be as close to the
# others as a careful one. But she is no closer to them on the same task than on another.
#
# **Numbers and vectors**, whose distances are squares. Let x_it be her answer and y_it the mean of the others', on
# her own n tasks. Their mean squared distance is smaller on the same task than on another by 2 Cov_t(x, y); divided by
# what it would be if she said what the others say, that is the slope
#
#     signal_i = Cov_t(x_it, y_it) / Var_t(y_it),
#
# 1 for those who move with the others and 0 for a constant, whatever the units and however different her tasks are. Its
# standard error comes from u_t = (x_it - mean) (y_it - mean).
#
# **All other labels.** With A_t the mean distance of her answer to t and what others say of her other tasks, B_t that
# of her other answers and what others say of t, and Y_t that of her answer and what others say of t,
#
#     signal_i = mean of A - mean of Y,    se_i^2 = variance of (A_t + B_t - Y_t) / n,
#
# the projection of a U-statistic (Hoeffding 1948), from a sample of the tasks
# (`allalike.methods.auto.signal`). Where labels of different tasks cannot be compared (rankings of other
# items), A is the distance of a guess.
#
# Who is empty is judged as for classes (`allalike.methods.auto.signal`), and nobody is where the crowd as a whole
# shows no signal: where the truth is the same everywhere, whoever says it always is right.
#
# It fails where a careful worker got tasks that are all alike, and is never sure with few tasks: constants need 10 to
# be told, but random answers 100 to 400, and so does who always gives the same ranking.


_SAMPLE_ANSWERS = 50_000
_CERTAIN = 3.0  # standard errors by which the crowd must show a signal


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
