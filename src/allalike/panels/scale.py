"""Scale use: offsets of judges from each other, and of all judges from gold labels.

**Offsets.** The scores of a judge are taken for x_ij = t_j + b_i + noise: the offset b_i is by how much the judge is
above the mean of all judges. Offsets are those of least squares with a parameter for each task and each judge (two-way
analysis of variance),

    sum_j (b_i - mean of b over those who scored j) = sum_j (x_ij - mean of x over those who scored j),

so that a judge who got easier tasks is not called lenient. Their 95 % intervals are those of the jackknife (Tukey,
1958): each of 20 parts of the tasks is left out in turn, and t has 19 degrees of freedom. The panel decides with
numbers without offsets (`allalike.domains.offsets`) if the others then predict a judge's scores better: each half of
the tasks estimates offsets for the other, and there the squared difference between a score and the mean of the others,
in units of the judge's usual one, must fall by 1.96 standard errors. Levels are not corrected, because there is nothing
in between.

**Shared offset.** With x the panel's number for a task, found without gold labels, and t the gold label, the offset is
the mean of x - t (the median, where distances are absolute), and the line t = a + b x that of least squares. Each fifth
of the gold labels is predicted by the others: with numbers as they are, without the offset, and by the line. The offset
is removed if numbers as they are predict gold labels worse by more than half a standard error, as for classes
(`allalike.methods.auto.classes.known`), and the line is taken at 1.96 of them, because a panel that errs stretches
differences, so that a line nearly always helps a little. It takes twenty gold labels.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Block, Floats, sum_by
from allalike._core.columns.values import Values
from allalike.domains import Encoding
from allalike.domains.offsets import Offsets
from allalike.engines import Run, TaskTable, make_ready
from allalike.engines.sample import pick_tasks
from allalike.methods import Auto, Fit
from allalike.methods.auto.screening import screen
from allalike.panels.correlated_errors import jackknife, leave_out_parts
from allalike.panels.rates import mark_gold
from allalike.panels.summary import JudgeOffset, ScaleUse, SharedOffset
from allalike.panels.verdicts import ScoreVerdicts, Statistics
from allalike.result.result import Result
from allalike.result.summaries import compare_with_gold, find_truths, summarise, with_quorum

_PARTS = 20  # of the tasks, each of which is left out once
_MIN_PARTS = 2
_MIN_TASKS = 5
_MIN_HALF = 10  # tasks that estimate offsets for others
_NEARLY, _SURELY = 0.5, 1.96  # standard errors
_MAX_NAMED = 20  # judges that a summary names
_MIN_KNOWN = 20
_FOLDS = np.uint64(5)
_SQUARE = 2
_SETTINGS = ("method", "engine", "seed", "ties")


class OffsetEstimates(NamedTuple):
    """The offset of each judge, with its 95 % interval; NaN if unknown."""

    value: Floats
    low: Floats
    high: Floats


def find_offsets(scores: Floats, part: npt.NDArray[np.intp]) -> OffsetEstimates:
    """Estimate the offset of each judge from a table with a row per task.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=400)
    >>> scores = truth[:, None] + [-1.0, 0.0, 1.0] + 0.1 * rng.normal(size=(400, 3))
    >>> find_offsets(scores, np.arange(400)).value.round(1)
    array([-1.,  0.,  1.])
    """
    from scipy.special import stdtrit

    n, judges = scores.shape
    numbers, part = np.unique(part % _PARTS, return_inverse=True)
    if n < _MIN_TASKS or judges < 2 or len(numbers) < _MIN_PARTS:
        return OffsetEstimates(*np.full((3, judges), np.nan))
    seen = ~np.isnan(scores)
    level = np.where(seen, scores - np.nanmean(scores), 0.0)
    matrices, sides = [], []  # of the equations of least squares, for each part
    for number in range(len(numbers)):
        x, there = level[part == number], seen[part == number]
        size = np.maximum(there.sum(axis=1), 1.0)
        matrices.append(np.diag(there.sum(axis=0).astype(np.float64)) - there.T @ (there / size[:, None]))
        sides.append(np.where(there, x - (x.sum(axis=1) / size)[:, None], 0.0).sum(axis=0))
    equations = zip(leave_out_parts(np.stack(matrices)), leave_out_parts(np.stack(sides)), strict=True)
    offsets = np.stack([np.linalg.pinv(matrix, hermitian=True) @ side for matrix, side in equations])
    width = stdtrit(len(numbers) - 1, 0.975) * jackknife(offsets)
    known = np.where(seen[seen.sum(axis=1) > 1].sum(axis=0) > 1, 0.0, np.nan)
    return OffsetEstimates(*(offsets[0] + each + known for each in (0.0, -width, width)))


def describe_scale_use(judges: Values, offset: OffsetEstimates, *, corrected: bool, can_correct: bool) -> Statistics:
    """Return offsets, and the judges who are clearly above or below the others, the farthest first."""
    value, low, high = offset
    clear = np.flatnonzero((low > 0) | (high < 0))
    named = [
        JudgeOffset(judge=judges[judge], offset=float(value[judge]), low=float(low[judge]), high=float(high[judge]))
        for judge in clear[np.argsort(-np.abs(value[clear]), kind="stable")][:_MAX_NAMED].tolist()
    ]
    facts = ScaleUse(corrected=("offsets",) * corrected, can_correct=can_correct, offsets=tuple(named))
    return Statistics({"scale_use": facts}, {}, {"offset": value, "offset_low": low, "offset_high": high})


def choose_offsets(scores: ScoreVerdicts) -> Offsets | None:
    """Return offsets to be estimated and removed; None where judges do not predict each other better without them."""
    if not scores.run.encoding.numeric or scores.run.encoding.offsets is not None or scores.n_judges < 2:
        return None
    half = (scores.task_hash >> np.uint64(63)).astype(bool)
    if min(half.sum(), (~half).sum()) < _MIN_HALF:
        return None
    halves = [pick_tasks(scores.run, scores.task_hash[part]) for part in (half, ~half)]
    plain, shifted = (_predict_by_others(scores, halves, each) for each in (None, Offsets()))
    judge = np.concatenate([each.worker for each in halves])
    task = np.concatenate([halves[0].task, halves[0].n_tasks + halves[1].task])
    usual = np.bincount(judge, plain) / np.maximum(np.bincount(judge), 1)
    unit = np.where(usual > 0, usual, 1.0)[judge]
    before, after = (sum_by(task, each / unit, int(task[-1]) + 1) for each in (plain, shifted))
    return Offsets() if _gains(before, after, _SURELY) else None


def _gains(before: Floats, after: Floats, least: float) -> bool:
    """Return whether losses fall by so many standard errors."""
    gain = before - after
    return bool(gain.sum() > least * np.sqrt(len(gain)) * gain.std())


def _predict_by_others(scores: ScoreVerdicts, halves: list[Block], offsets: Offsets | None) -> Floats:
    """Return, per score, its squared difference from the mean of the others, with offsets from the other half."""
    squares = []
    for own, other in zip(halves, halves[::-1], strict=True):
        level = own.label
        if offsets is not None:
            known = scores.run.encoding.prepare(other)
            learned = offsets.find(lambda kernel, *params, told=known: kernel(told, *params), len(scores.run.workers))
            level = learned.remove(own.label, own.worker)
        others = own.to_answers(own.sizes) - 1.0
        mean = (own.to_answers(own.per_task(level)) - level) / np.maximum(others, 1.0)
        squares.append(np.where(others > 0, np.square(level - mean), 0.0))
    return np.concatenate(squares)


class LearnedOffset(NamedTuple):
    """The offset of the panel from gold labels, and the line that removes it."""

    facts: SharedOffset
    slope: float
    intercept: float


def find_shared_offset(run: Run, found: TaskTable) -> LearnedOffset | None:
    """Return the offset to be removed from all judges; None where that does not help to predict gold labels."""
    if not run.encoding.numeric or run.n_gold < _MIN_KNOWN:
        return None
    truth = run.collect(partial(mark_gold, kernels=run.kernels, value=np.asarray))["truth"]
    piece = found.joined()
    label = piece.found["label"]
    fold = (piece.tasks.hashes() >> np.uint64(8)) % _FOLDS
    known = ~(np.isnan(truth) | np.isnan(label))
    if known.sum() < _MIN_KNOWN:
        return None
    return learn_shared_offset(label[known], truth[known], fold[known], run.domain.power)


def learn_shared_offset(
    label: Floats, truth: Floats, fold: npt.NDArray[np.uint64], power: float
) -> LearnedOffset | None:
    """Learn the offset or the line from all gold labels, if it predicts each fifth of them better."""
    square = power == _SQUARE
    fits = [lambda x, t: (1.0, 0.0), _fit_mean if square else _fit_median, *([_fit_line] if square else [])]
    losses = []
    for fit in fits:
        predicted = np.empty(len(truth))
        for part in np.unique(fold):
            own = fold == part
            slope, intercept = fit(label[~own], truth[~own])
            predicted[own] = intercept + slope * label[own]
        losses.append(np.abs(truth - predicted) ** (2 if square else 1))
    chosen = 1 if _gains(losses[0], losses[1], _NEARLY) else 0
    chosen = 2 if square and _gains(losses[chosen], losses[2], _SURELY) else chosen
    if not chosen:
        return None
    above = label - truth
    half = _SURELY * float(above.std(ddof=1)) / np.sqrt(len(above)) * (1.0 if square else np.sqrt(np.pi / 2))
    offset = float(above.mean() if square else np.median(above))
    before, after = (float(np.mean(losses[place])) ** (0.5 if square else 1.0) for place in (0, chosen))
    slope, intercept = fits[chosen](label, truth)
    limits = {"offset": offset, "low": offset - half, "high": offset + half}
    return LearnedOffset(
        SharedOffset(known=len(label), **limits, slope=slope, before=before, after=after), slope, intercept
    )


def _fit_mean(label: Floats, truth: Floats) -> tuple[float, float]:
    return 1.0, float(np.mean(truth - label))


def _fit_median(label: Floats, truth: Floats) -> tuple[float, float]:
    return 1.0, float(np.median(truth - label))


def _fit_line(label: Floats, truth: Floats) -> tuple[float, float]:
    spread = label - label.mean()
    square = float(spread @ spread)
    slope = float(spread @ truth) / square if square > 0 else 1.0
    return slope, float(truth.mean() - slope * label.mean())


def _move(block: Block, *, encoding: Encoding, slope: float, intercept: float) -> Block:
    label = encoding.kernels.restore_answers(block, np.arange(len(block.label)))
    gold = encoding.kernels.restore_gold(block)
    return encoding.prepare(replace(block, label=intercept + slope * label, gold_label=gold, prepared={}))


# Decisions without the offset of each judge, and without the shared offset.


def fit_without_gold(result: Result) -> Fit:
    """Return the fit of the judges without gold labels, with the errors estimated with them."""
    if not result.run.n_gold:
        return result.weighing
    blind, errors = Auto().fit_without_gold(result.run), result.weighing.uncertainty
    assert blind.uncertainty is not None
    assert errors is not None
    confidence, expect = blind.uncertainty.confidence, blind.uncertainty.expect
    return replace(blind, uncertainty=replace(errors, confidence=confidence, expect=expect))


def remove_offsets(result: Result, offsets: Offsets) -> Result:
    """Return the result of the same answers without the offset of each judge."""
    run = result.run
    options: dict[str, Any] = {"bias": True}
    domain = replace(run.domain, **options)
    run = make_ready(replace(run, encoding=replace(run.encoding, domain=domain, offsets=offsets)))
    corrected = _decide_again(result, run)
    summary = dict(corrected.summary)
    if run.n_gold:
        honest = find_truths(run, fit_without_gold(corrected), unweighted=True)
        summary["gold"] = {**result.summary["gold"], **compare_with_gold(run, corrected.weighing, honest)}
    return replace(corrected, summary=summary)


def remove_shared_offset(result: Result, shared: LearnedOffset) -> Result:
    """Return the result with the numbers of all judges moved to gold labels."""
    move = partial(_move, encoding=result.run.encoding, slope=shared.slope, intercept=shared.intercept)
    return _decide_again(result, result.run.map(move))


def _decide_again(result: Result, run: Run) -> Result:
    """Return the result of numbers that were moved; their earlier distance to gold labels is left as it is."""
    screening = screen(result.run, plain=False)  # judges copy answers as they were given
    weighing = with_quorum(run, Auto().fit_screened(run, screening))
    found = find_truths(run, weighing, unweighted=True, keep_gold=run.n_gold > 0)
    settings = {"domain": run.encoding.describe(), **{name: result.summary[name] for name in _SETTINGS}}
    before = {"gold": result.summary["gold"]} if run.n_gold else {}
    summary = {**result.summary, **summarise(run, weighing, found, settings), **before}
    return replace(result, run=run, weighing=weighing, found=found, summary=summary, call=None)
