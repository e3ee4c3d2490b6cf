"""Screening: copy groups (`copy_groups`, `copies`), and informativeness, the dependence of answers on tasks.

A worker who always gives the same label, or answers at random, agrees with others only by chance. For classes,
informativeness is the agreement beyond that expected from the worker's own label frequencies,

    mean over tasks of (q_t[label] - sum_l f(l) q_t[l]),

where q_t are the label shares of the other answers to the task, and f the worker's label frequencies. For numbers and
vectors, it is the slope of the worker's answers x on the mean y of the other answers, Cov(x, y) / Var(y). For other
label types, it is the mean distance to other workers' answers on another task of the worker, minus that on the same
task, estimated from a sample.

A worker is **uninformative** if they have at least ten answers to shared tasks, and informativeness + 2 se is below
0.15 times the upper quartile over answers. For labels other than classes, the crowd as a whole must also be
informative: if all tasks have the same label, workers who always give it are right. Informativeness is only reported:
it excludes no worker and does not measure skill.

With more than 300,000 answers with classes, screening uses a sample of the tasks, with 100 answers of nearly every
worker. It uses all tasks if the sample would contain half of the answers or not fit in memory.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Block, Floats
from allalike._core.columns.hashes import mix
from allalike._core.system.progress import report
from allalike.domains import Kernels
from allalike.engines import Run
from allalike.engines.sample import join_blocks, sample_tasks
from allalike.errors import LabelError
from allalike.methods.auto.copy_groups import find_copies
from allalike.methods.auto.knowledge import count_needed
from allalike.methods.fit import CopyGroups
from allalike.methods.steps.vote_matrix import count_labels, count_votes

_MIN_COUNTED = 3
_GUESS_ANSWERS, _GUESS_PAIRS = 2000, 20_000
_MIN_ANSWERS = 10
_FRACTION, _QUANTILE = 0.15, 0.75
_STANDARD_ERRORS = 2.0
_CERTAIN = 3.0  # standard errors by which the crowd must be informative before a worker is called uninformative
_WORKER_ANSWERS = 100  # of classes, in a sample
_MAX_SHARE, _ANSWER_BYTES = 0.5, 200  # a sample's share of the answers, and memory per answer, with temporary arrays
_MAX_LABELS = 50  # classes; with more, distances are compared
_TABLES = 10  # tables of workers and labels in memory at a time
_SAMPLE_ANSWERS = 50_000
_DRAWS = 4  # pairs per answer
_ROUNDING = 1e-12


class Informativeness(NamedTuple):
    """Informativeness of each worker, its standard error (NaN if unknown), and whether they are uninformative."""

    informativeness: Floats
    informativeness_se: Floats
    uninformative: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Screening:
    """Copy groups and informativeness; ``signal`` is None without screening.

    ``camps`` is true if fewer than three workers would remain after collapsing, as either group of copies may be right.
    """

    groups: CopyGroups
    signal: Informativeness | None
    notes: dict[str, Any] = field(default_factory=dict)
    camps: bool = False


def screen(run: Run, *, plain: bool) -> Screening:
    """Detect copies and measure informativeness; with ``plain``, do neither."""
    independent = CopyGroups.independent(len(run.workers))
    if plain:
        return Screening(independent, None)
    report("signal")
    run = with_squares(run)
    if run.encoding.nominal or run.encoding.n_classes is not None:
        needed = count_needed(run, _WORKER_ANSWERS)
        sampled = needed < _MAX_SHARE * run.answer_counts.sum() and _ANSWER_BYTES * needed < run.free_memory
        sample = sample_tasks(run, int(needed)).map(run.encoding.prepare) if sampled else run
        signal = measure_informativeness(sample)
        groups = find_copies(run, sample)
    else:
        signal = measure_informativeness(run)
        from allalike.methods.auto.copies.similarity import find_groups

        groups = find_groups(run, find_guess_distance(run), signal.uninformative)
    if groups is None:
        return Screening(independent, signal, {"copies": "too many pairs of workers to compare"})
    if groups.has_copies and groups.counted.sum() < _MIN_COUNTED:
        similar = tuple(replace(group, copies=False) for group in groups.groups)
        groups = replace(groups, number=independent.number, groups=similar)
        return Screening(groups, signal, camps=True)
    return Screening(groups, signal)


# Informativeness.


def measure_informativeness(run: Run) -> Informativeness:
    """Measure how strongly the answers of each worker depend on the tasks."""
    k = run.encoding.n_labels if run.encoding.nominal else 0
    if 0 < k <= _MAX_LABELS and 8 * _TABLES * len(run.workers) * k <= run.free_memory:
        counts = run.sum(partial(count_labels, k=k))["counts"]
        frequencies = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        sums = run.sum(partial(_compare_with_chance, k=k), frequencies)
    elif run.encoding.noise.weighting == "inverse":
        first = run.sum(partial(_sum_numbers, kernels=run.kernels))
        means = [first[name] / np.maximum(first["answers"], 1.0)[:, None] for name in ("own", "others")]
        sums = run.sum(partial(_compare_numbers, kernels=run.kernels), *means)
    else:
        sums = _compare_tasks(run)
    n = sums["answers"]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        scale = sums["variance"] / n if "variance" in sums else 1.0
        value = np.where(n > 1, sums["gain"] / n, np.nan) / scale
        error = np.sqrt(np.maximum(sums["square"] / n - (sums["projection"] / n) ** 2, 0.0) / (n - 1)) / scale
    value, error = np.where(np.abs([value, error]) < _ROUNDING, 0.0, [value, error])
    return _judge(value, error, n, certain=0.0 if k else _CERTAIN)


def _judge(value: Floats, error: Floats, answers: Floats, *, certain: float) -> Informativeness:
    known = np.isfinite(value) & np.isfinite(error)
    order = np.argsort(np.where(known, value, -np.inf), kind="stable")
    given = np.cumsum(np.where(known, answers, 0.0)[order])
    better = float(value[order[np.searchsorted(given, _QUANTILE * given[-1])]]) if known.any() else 0.0
    with np.errstate(invalid="ignore"):
        small = known & (answers >= _MIN_ANSWERS) & (value + _STANDARD_ERRORS * error < _FRACTION * better)
    total, noise = (np.where(known, answers * each, 0.0) for each in (value, error))
    clear = better > 0 and total.sum() > certain * np.sqrt((noise**2).sum())
    return Informativeness(np.where(known, value, np.nan), np.where(known, error, np.nan), small & clear)


def _compare_with_chance(block: Block, frequencies: Floats, *, k: int) -> dict[str, Floats]:
    """Sum, per worker, the agreement beyond that expected from label frequencies."""
    votes, others = count_votes(block, np.ones(block.n_workers), k=k), block.to_answers(block.sizes - 1.0)
    own = frequencies.take(block.worker, axis=0)
    each = np.arange(len(own)), block.label.astype(np.intp)
    usual = np.einsum("al,al->a", own, block.to_answers(votes)) - own[each]
    agreeing = votes.ravel().take(block.task * k + block.label) - 1
    compared = others > 0
    gain = np.where(compared, agreeing - usual, 0.0) / np.where(compared, others, 1.0)
    parts = {"answers": compared.astype(np.float64), "gain": gain, "projection": gain, "square": gain**2}
    return {name: block.per_worker(values) for name, values in parts.items()}


def _sum_numbers(block: Block, *, kernels: Kernels) -> dict[str, Floats]:
    own, others, compared = _numbers_of_others(block, kernels)
    columns = {name: values * compared[:, None] for name, values in (("own", own), ("others", others))}
    sums = {name: np.column_stack([block.per_worker(each) for each in values.T]) for name, values in columns.items()}
    return {"answers": block.per_worker(compared), **sums}


def _compare_numbers(block: Block, own_mean: Floats, others_mean: Floats, *, kernels: Kernels) -> dict[str, Floats]:
    """Sum, per worker, products with the mean of the other answers, and squares of this mean."""
    own, others, compared = _numbers_of_others(block, kernels)
    away = others - others_mean[block.worker]
    with np.errstate(over="ignore"):  # the informativeness of very large numbers is unknown
        product = compared * np.einsum("ij,ij->i", own - own_mean[block.worker], away)
        variance = compared * np.einsum("ij,ij->i", away, away)
        square = product**2
    parts = {"answers": compared, "gain": product, "projection": product, "square": square, "variance": variance}
    return {name: block.per_worker(values) for name, values in parts.items()}


def _numbers_of_others(block: Block, kernels: Kernels) -> tuple[Floats, Floats, Floats]:
    """Return, per answer, its numbers, the mean of the other answers, and whether there are any."""
    own = kernels.restore_answers(block, np.arange(len(block.label))).reshape(len(block.label), -1)
    left = block.to_answers(block.sizes) - 1.0
    others = block.to_answers(block.per_task(own)) - own
    return own, others / np.maximum(left, 1.0)[:, None], np.where(left > 0, 1.0, 0.0)


def _compare_tasks(run: Run) -> dict[str, Floats]:
    """Sum, per worker, distances to answers on another task minus those on the same task, in a sample."""
    sample, n_workers = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False), len(run.workers)
    if not sample.n_tasks:
        return dict.fromkeys(("answers", "gain", "projection", "square"), np.zeros(n_workers))
    block = join_blocks(sample.blocks, n_workers)
    worker, code, start, size = block.worker, block.label, block.starts[block.task], block.sizes[block.task]
    order = np.lexsort((mix(block.task_hash[block.task]), worker))
    given = np.bincount(worker, minlength=n_workers)
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    first = (np.cumsum(given) - given)[worker]
    same_task, other_task = run.kernels.compare_among(code)
    here, away, back = np.zeros((3, _DRAWS, len(code)))
    for draw in range(_DRAWS):
        step = 1 + draw % np.maximum(size - 1, 1)
        peer = start + (np.arange(len(code)) - start + step) % size  # another answer to the same task
        shift = 1 + draw % np.maximum(given[worker] - 1, 1)
        own = order[first + (place - first + shift) % given[worker]]  # the worker's answer to another task
        here[draw] = same_task(np.arange(len(code)), peer)
        try:
            away[draw], back[draw] = other_task(np.arange(len(code)), peer[own]), other_task(own, peer)
        except LabelError:  # a custom distance may not compare labels of different tasks
            away[draw] = np.nan
    here, away, back = here.mean(axis=0), away.mean(axis=0), back.mean(axis=0)
    compared = (size > 1) & (given[worker] > 1) & np.isfinite(here + away + back)
    projection = away + back - here  # of a U-statistic (Hoeffding 1948)
    parts = {"answers": 1.0, "gain": (away + back) / 2 - here, "projection": projection, "square": projection**2}
    return {name: block.per_worker(np.where(compared, values, 0.0)) for name, values in parts.items()}


def with_squares(run: Run) -> Run:
    """Return a run with squared distances of numbers, because these identify guesses."""
    if not run.encoding.numeric:
        return run
    return replace(run, encoding=replace(run.encoding, domain=replace(run.domain, distance="squared")))


# The distance of a guess.


def find_guess_distance(run: Run) -> float:
    """Return the distance of a guess: the mean distance between labels of different tasks.

    It is infinite for numbers, whose origin may differ between tasks. If there is only one task, or if labels of
    different tasks cannot be compared, it is the default of the label type, or infinite.

    >>> import allalike
    >>> rows = [("ada", 1, {"x", "y"}), ("bob", 1, {"x"}), ("ada", 2, {"y"}), ("bob", 2, {"z"})]
    >>> find_guess_distance(allalike.Memory().load(allalike.read(rows, domain="set")))
    0.875
    """
    noise = run.encoding.noise
    if noise.weighting == "inverse":
        return np.inf
    unknown = np.inf if noise.chance is None else noise.chance
    sample = sample_tasks(run, _GUESS_ANSWERS, with_gold=False)
    if not sample.n_tasks:
        return unknown
    block = join_blocks(sample.blocks, len(run.workers))
    left, right = _pair_up(len(block.label))
    different = block.task[left] != block.task[right]
    if not different.any():
        return unknown
    try:
        distance = run.kernels.guess_distances(block.label[left[different]], block.label[right[different]])
    except LabelError:  # a custom distance may not compare labels of different tasks
        return unknown
    known = distance[~np.isnan(distance)]
    return float(known.mean()) if len(known) else unknown


def _pair_up(n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return all pairs of n answers, each once, or a balanced subset."""
    most = n // 2  # steps around the circle of answers that cover all pairs
    steps = np.unique(np.linspace(1, most, min(most, _GUESS_PAIRS // max(n, 1) + 1)).astype(np.int64))
    left, step = np.tile(np.arange(n), len(steps)), np.repeat(steps, n)
    once = (2 * step < n) | (left < step)  # halfway around, each pair occurs twice
    return left[once], (left + step)[once] % max(n, 1)
