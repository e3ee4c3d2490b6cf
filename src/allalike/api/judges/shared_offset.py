"""Shared offset: by how much all judges are above known truths, which no judge sees in the others.

With x the panel's number for a task, found without known truths, and t the truth, the **offset** is the mean of x - t
(the median, where distances are absolute), and the **line** t = a + b x that of least squares. Each fifth of the truths
is foreseen by the others: with numbers as they are, without the offset, and by the line. The offset is taken away if
numbers as they are foresee truths worse by more than half a standard error, as classes have it
(`allalike.methods.auto.classes.known`). The line takes 1.96 of them: a panel that errs stretches differences, so that a
line nearly always helps a little, and what judges said should not be changed for that.

Twenty truths are needed. The offset is that of all judges together, and so is the line: what is each judge's own is
known without truths (`allalike.api.judges.scale_use`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.api.judges.finding import Columns
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run, TaskTable

__all__ = ["SharedOffset", "find_shared_offset", "take_away"]

_MIN_KNOWN = 20
_FOLDS = 5
_NEARLY, _SURELY = 0.5, 1.96  # standard errors
_SQUARE = 2


@dataclass(frozen=True)
class SharedOffset:
    """What all judges have in common, and known truths have not.

    Parameters
    ----------
    known
        How many truths tell it.
    offset, low, high
        By how much the panel is above the truths, with limits of 95 %.
    before, after
        How far truths that did not tell it are from the panel, with it and without it.
    slope, intercept
        The line from the panel's numbers to the truths.
    """

    known: int
    offset: float
    low: float
    high: float
    before: float
    after: float
    slope: float
    intercept: float

    def describe(self) -> dict[str, Any]:
        """Tell what was taken away."""
        names = ("known", "offset", "low", "high", "slope", "before", "after")
        return {"shared_offset": {name: getattr(self, name) for name in names}}

    def tables(self) -> dict[str, Columns]:
        """Return nothing: it is the panel's."""
        return {}

    def judge_columns(self) -> Columns:
        """Return nothing: it is the same for all judges."""
        return {}


def find_shared_offset(run: Run, found: TaskTable) -> SharedOffset | None:
    """Return what is to be taken away from all judges; nothing where it does not help to foresee known truths.

    Parameters
    ----------
    run
        Numbers, and known truths.
    found
        What the panel finds that does not know truths.
    """
    if not run.encoding.numeric or run.n_gold < _MIN_KNOWN:
        return None
    truth = run.collect(partial(_take_truths, kernels=run.kernels))["truth"]
    pieces = [*found.pieces()]
    told = np.concatenate([piece.found["label"] for piece in pieces])
    fold = (np.concatenate([piece.tasks.hashes() for piece in pieces]) >> np.uint64(8)) % np.uint64(_FOLDS)
    known = ~(np.isnan(truth) | np.isnan(told))
    power = run.domain.power
    return _learn(told[known], truth[known], fold[known], power) if known.sum() >= _MIN_KNOWN else None


def _learn(told: Floats, truth: Floats, fold: npt.NDArray[np.uint64], power: float) -> SharedOffset | None:
    """Learn the offset or the line from all truths, if it foresees each fifth of them better.

    >>> rng = np.random.default_rng(0)
    >>> truth, fold = rng.normal(size=40), np.arange(40, dtype=np.uint64) % np.uint64(5)
    >>> told = truth + rng.normal(size=40) / 5
    >>> _learn(told, truth, fold, 2) is None, round(_learn(told + 1, truth, fold, 2).offset, 1)
    (True, 1.1)
    """
    square = power == _SQUARE
    ways = (_fit_nothing, _fit_mean if square else _fit_median, *([_fit_line] if square else []))
    losses = [np.abs(truth - _foresee(fit, told, truth, fold)) ** (2 if square else 1) for fit in ways]
    chosen = 1 if _gains(losses[0], losses[1], _NEARLY) else 0
    chosen = 2 if square and _gains(losses[chosen], losses[2], _SURELY) else chosen
    if not chosen:
        return None
    above = told - truth
    half = _SURELY * float(above.std(ddof=1)) / np.sqrt(len(above)) * (1.0 if square else np.sqrt(np.pi / 2))
    offset = float(above.mean() if square else np.median(above))
    before, after = (float(np.mean(losses[place])) ** (0.5 if square else 1.0) for place in (0, chosen))
    slope, intercept = ways[chosen](told, truth)
    return SharedOffset(len(told), offset, offset - half, offset + half, before, after, slope, intercept)


def _foresee(fit: Any, told: Floats, truth: Floats, fold: npt.NDArray[np.uint64]) -> Floats:
    foreseen = np.empty(len(truth))
    for part in np.unique(fold):
        own = fold == part
        slope, intercept = fit(told[~own], truth[~own])
        foreseen[own] = intercept + slope * told[own]
    return foreseen


def _gains(before: Floats, after: Floats, least: float) -> bool:
    gain = before - after
    return bool(gain.sum() > least * np.sqrt(len(gain)) * gain.std())


def _fit_nothing(told: Floats, truth: Floats) -> tuple[float, float]:
    return 1.0, 0.0


def _fit_mean(told: Floats, truth: Floats) -> tuple[float, float]:
    return 1.0, float(np.mean(truth - told))


def _fit_median(told: Floats, truth: Floats) -> tuple[float, float]:
    return 1.0, float(np.median(truth - told))


def _fit_line(told: Floats, truth: Floats) -> tuple[float, float]:
    spread = told - told.mean()
    square = float(spread @ spread)
    slope = float(spread @ truth) / square if square > 0 else 1.0
    return slope, float(truth.mean() - slope * told.mean())


def take_away(run: Run, shared: SharedOffset) -> Run:
    """Return the run with the numbers of all judges moved to known truths."""
    return run.map(partial(_move, encoding=run.encoding, slope=shared.slope, intercept=shared.intercept))


def _take_truths(block: Block, *, kernels: Kernels) -> dict[str, Array]:
    truth = np.full(block.n_tasks, np.nan)
    if len(block.gold_task):
        truth[block.gold_task] = kernels.restore_gold(block)
    return {"truth": truth}


def _move(block: Block, *, encoding: Encoding, slope: float, intercept: float) -> Block:
    label = encoding.kernels.restore_answers(block, np.arange(len(block.label)))
    gold = encoding.kernels.restore_gold(block)
    return encoding.prepare(replace(block, label=intercept + slope * label, gold_label=gold, prepared={}))
