"""Signal: whether a worker's answers depend on the tasks at all.

Who always says the same, says anything, or says what is most frequent, agrees with others as often as chance and the
frequent class have it, and may look better than a careful worker. But what she says does not go with what others say of
the same task. Let q_tl be the share of label l in the votes of the others on task t, s_it her label, n_il how often she
gave l, and Q_il the sum of q_tl over her n tasks. Her signal is the covariance of what she and the others say,

    signal_i = S/n - (X - S)/(n (n-1)),    S = sum_t q_t(s_it),    X = sum_l n_il Q_il,

over her own tasks: how much more others agree with her on the same task than on another of hers. With

    u_it = q_t(s_it) - Q_i(s_it)/n - sum_l n_il q_tl / n + X/n^2,    se_i^2 = sum_t (u_it - mean)^2 / (n (n-1))

it has a standard error. A constant has 0 in both, exactly.

A worker is **empty** if she gave ten answers or more that others gave, too, and signal + 2 se is below 0.15 of what the
better workers have (the upper quartile over answers). The empty are found in up to three rounds, in which those found
before do not count as others. They lose their voice only where they gave a fifth of all answers; few of them do no harm
that their weights do not see to.

It is no measure of skill: where the frequent class is usually right, who says it is right, and weights by signal lose.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import sum_by
from allalike._core.blocks.groups import number_within_tasks
from allalike._core.compiled import calls
from allalike._core.compiled.library import compiled
from allalike.methods.insight import Signal

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats
    from allalike._core.blocks.problems import Problems
    from allalike.engines import Run

__all__ = ["find_class_signal", "fits", "judge_signal", "silence"]

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
    """Tell whether tables with so many columns and a row for each worker fit in memory."""
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
