"""Numbers: labels from worker lines, calibrated with gold labels, and their confidence intervals.

The model is that of `allalike.methods.auto.lines`. Numbers are expressed relative to the median of all answers, in
units of the usual error. The model is chosen on a sample of the tasks, and fitted to all tasks.

**Gold labels.** With at least ten gold labels, `allalike.methods.auto.gold_regression` calibrates the labels.

**Intervals.** The variance of a label follows from the variances of its answers, and is scaled to match the squared
errors on held-out answers. Intervals and biases do not account for errors that workers share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, Ties
from allalike._core.blocks.pairs import Centred
from allalike.domains import Encoding, Kernels
from allalike.engines import Run
from allalike.engines.sample import pick_known, pick_tasks
from allalike.methods.auto.copy_groups import collapse, decide_collapsed
from allalike.methods.auto.gold_regression import MAX_DEVIATION, MIN_GOLD, GoldRegression, fit_gold_regression
from allalike.methods.auto.lines import (
    ROUNDS,
    Choice,
    Lines,
    Start,
    choose,
    fit_lines,
    held_out_stretch,
    locate,
    usual_error,
)
from allalike.methods.auto.screening import Screening
from allalike.methods.auto.uncertainty import estimate_squares
from allalike.methods.fit import CopyGroups, Fit, Uncertainty
from allalike.methods.proximity import Peers, normalise

SAMPLE_ANSWERS = 25_000  # for the choice of the model
_MAX_GOLD = 2000  # gold labels to use
_ERROR_ROUNDS, _MANY_ANSWERS = 6, 300_000


def has_lines(encoding: Encoding) -> bool:
    """Return whether labels are numbers with squared distances and the mean as the rule."""
    domain = encoding.domain
    return encoding.numeric and domain.distance == "squared" and str(domain.rule) == "mean"


@dataclass(frozen=True)
class Scale:
    """Origin and unit of the numbers of a run. Each coordinate of a vector is a separate task."""

    kernels: Kernels
    origin: Any = 0.0
    unit: float = 1.0

    @classmethod
    def of(cls, run: Run) -> tuple[Scale, Block]:
        """Return the scale of a run, and a scaled sample."""
        share = SAMPLE_ANSWERS / max(int(run.answer_counts.sum()), 1)
        block = run.encoding.prepare(pick_tasks(run, np.empty(0, np.uint64), share=share))
        scale = cls(run.kernels)
        scale = replace(scale, origin=np.median(scale.numbers(block), axis=0))
        if np.size(scale.origin) > 1:
            n = max(int(np.searchsorted(np.cumsum(block.sizes), SAMPLE_ANSWERS // np.size(scale.origin))), 1)
            first = block.pick(np.arange(block.n_tasks)[:n], np.arange(int(block.sizes[:n].sum())))
            block = run.encoding.prepare(replace(first, label=scale.codes(block)[: len(first.label)]))
        scale = replace(scale, unit=usual_error(scale.of_block(block)))
        return scale, scale.of_block(block)

    def codes(self, block: Block) -> Array:
        """Return the original labels of a block."""
        return self.kernels.restore_answers(block, np.arange(len(block.label)))

    def numbers(self, block: Block) -> Floats:
        """Return the numbers of a block (answers by coordinates)."""
        return np.asarray(self.codes(block).reshape(len(block.label), -1), np.float64)

    def of_block(self, block: Block) -> Block:
        """Scale a block."""
        value = (self.numbers(block) - self.origin) / self.unit
        d = value.shape[1]
        sizes, hashes = np.tile(block.sizes, d), np.tile(block.task_hash, d)
        columns = {"worker": np.tile(block.worker, d), "label": value.T.ravel(), "task_hash": hashes}
        return replace(block, starts=np.cumsum(sizes) - sizes, sizes=sizes, prepared={}, **columns)

    def restore(self, value: Any) -> Any:
        """Return numbers in the original scale."""
        return value * self.unit + self.origin


@dataclass(frozen=True)
class LinesEstimate:
    """Estimator of numbers or of positions of levels: lines or decided levels, followed by gold regression.

    Parameters per worker are not stored here but passed with each block.
    """

    scale: Scale
    lines: Lines | None
    stretch: float = 1.0
    regression: GoldRegression | None = None

    def __call__(
        self, block: Block, workers: Floats, gain: Floats, label: Array | None = None
    ) -> tuple[Floats, Floats]:
        """Estimate the number of each task, and its standard error."""
        scaled, truth, variance = self._locate(block, workers, label)
        error = np.sqrt(variance * self.stretch)
        if self.regression is not None:
            moves = _deviations(scaled, truth) * gain.take(scaled.worker)
            truth, error = self.regression.bend(truth) + scaled.per_task(moves), error * self.regression.error
        return np.asarray(self.scale.restore(truth)), error * self.scale.unit

    def _locate(self, block: Block, workers: Floats, label: Array | None) -> tuple[Block, Floats, Any]:
        scaled = self.scale.of_block(block)
        if self.lines is None:
            return scaled, (label - self.scale.origin) / self.scale.unit, np.nan
        return scaled, *locate(scaled, self.lines._replace(workers=workers))

    def calibrate(
        self, run: Run, workers: Floats, decide: Callable[[Block], Array] | None = None
    ) -> tuple[LinesEstimate, Floats]:
        """Calibrate with the gold labels of a run; return also the gain of each worker. ``decide`` returns levels."""
        from scipy.sparse import csr_array

        known = pick_known(run, _MAX_GOLD)
        gold, tasks = (known.gold_label - self.scale.origin) / self.scale.unit, known.gold_task
        block = run.encoding.prepare(known)
        scaled, truth, _ = self._locate(block, workers, decide and decide(block))
        shape = scaled.n_tasks, scaled.n_workers
        deviation = csr_array((_deviations(scaled, truth), (scaled.task, scaled.worker)), shape=shape)
        regression = fit_gold_regression(truth[tasks], gold, deviation[tasks])
        return replace(self, regression=regression._replace(gain=np.empty(0))), regression.gain


def _deviations(block: Block, truth: Floats) -> Floats:
    return np.clip(block.label - block.to_answers(truth), -MAX_DEVIATION, MAX_DEVIATION)


class LineFit(NamedTuple):
    """Lines of the chosen model, lines that decide labels, and a sample for tests."""

    scale: Scale
    sample: Block
    choice: Choice
    lines: Lines
    used: Lines
    errors: dict[str, Floats]
    past: bool = False

    @property
    def weight(self) -> Floats:
        """The weight of each worker, up to a factor."""
        _, slope, variance = self.lines.workers.T
        return np.asarray(slope**2 / variance if not self.choice.unweighted else np.ones(len(slope)))

    @property
    def fault(self) -> Floats:
        """The mean squared error of each worker, summed over coordinates; NaN if no task has two answers."""
        if not self.errors["answers"].any() and not self.past:
            return np.full(len(self.lines.workers), np.nan)
        return np.asarray((self.lines.workers[:, 2] + self._systematic) * self._square)

    @property
    def _systematic(self) -> Floats:
        """The squared error due to offset and slope."""
        offset, slope, _ = self.lines.workers.T
        stretched = (slope - 1) ** 2 / self.lines.prior if self.lines.prior else 0.0
        return np.asarray(offset**2 + stretched)

    @property
    def _square(self) -> float:
        """The unit of squared errors."""
        return float(self.scale.unit**2 * np.size(self.scale.origin))

    def estimate_uncertainty(self) -> Uncertainty:
        """Estimate the uncertainty of the workers' errors."""
        count = np.maximum(self.errors["answers"], 1.0)
        own = self.errors["error"] / count
        variance = (self.errors["square"] - count * own**2) / np.maximum(count - 1, 1.0) / count
        answers, error = self.errors["answers"] / np.size(self.scale.origin), np.maximum(own, 0.0) + self._systematic
        return estimate_squares(answers, self.fault / self._square, error, variance, square=self._square)


def fit_chosen(run: Run, *, levels: bool = False) -> LineFit:
    """Fit the lines that held-out answers support to a collapsed run; for levels, means only."""
    scale, sample = Scale.of(run)
    choice = choose(sample, levels=levels)
    total, past = _summing(run, scale), run.history
    past = past and replace(past, fault=past.fault / scale.unit**2)
    start = Start.of(sample, choice.cut)
    lines, errors = fit_lines(total, start, sloped=choice.model == "lines", past=past)
    if run.answer_counts.sum() <= _MANY_ANSWERS:  # errors converge slowly with few workers
        again = replace(start, lines=lines._replace(prior=0.0))
        errors = fit_lines(total, again, sloped=False, rounds=_ERROR_ROUNDS, past=past)[1]
    return LineFit(scale, sample, choice, lines, start.lines if choice.unweighted else lines, errors, past is not None)


def fit_numbers(run: Run, screening: Screening, *, use_gold: bool = False) -> Fit:
    """Fit the model of numbers that held-out answers support."""
    groups = screening.groups
    whole, number = collapse(run, groups), groups.number
    fit, uncertainty = fit_chosen(whole), None
    if screening.signal is not None:
        uncertainty = replace(fit.estimate_uncertainty().take(number), **screening.signal._asdict())
    used, gain = fit.used, np.zeros(len(fit.weight))
    stretch = held_out_stretch(fit.sample, used)
    estimate = LinesEstimate(fit.scale, used._replace(workers=np.empty((0, 3))), stretch)
    if use_gold and run.n_gold >= MIN_GOLD:
        estimate, gain = estimate.calibrate(whole, used.workers)
    decide = partial(decide_numbers, estimate=estimate, ties=run.ties)
    if groups.has_copies:
        decide = partial(decide_collapsed, number=number, encoding=run.encoding, decide=decide)
    return Fit(
        disparity=Peers(run).unweighted.mean,
        fault=fit.fault[number],
        weight=normalise(fit.weight[number]),
        iterations=ROUNDS,
        decide=decide,
        parameters=(used.workers[number], gain[number]),
        notes={
            **screening.notes,
            **describe_choice(fit.choice),
            **({} if estimate.regression is None else {"gold": estimate.regression.describe()}),
        },
        copy_groups=None if uncertainty is None else groups,
        uncertainty=uncertainty,
    )


def _summing(run: Run, scale: Scale) -> Callable[..., dict[str, Floats]]:
    """Return a function that sums moments of lines over a run."""
    scaled = run.map(scale.of_block)

    def total(sums: Callable[..., dict[str, Floats]], lines: Lines) -> dict[str, Floats]:
        return scaled.sum(
            partial(_with_lines, sums=sums, lines=lines._replace(workers=np.empty((0, 3)))), lines.workers
        )

    return total


def _with_lines(block: Block, workers: Floats, *, sums: Any, lines: Lines) -> dict[str, Floats]:
    found: dict[str, Floats] = sums(block, lines._replace(workers=workers))
    return found


def describe_choice(choice: Choice) -> dict[str, Any]:
    """Return facts about the chosen model for the summary."""
    names = {"unweighted": "everyone the same", "weighted": "weights", "lines": "lines"}
    why = {"why": "unequal weights do not clearly predict held-out answers better"} if choice.unweighted else {}
    return {"chosen": names[choice.model], **why, "estimate": choice.estimate, "held_out_z": choice.z}


def decide_numbers(
    block: Block, weights: Floats, faults: Floats, workers: Floats, gain: Floats, *, estimate: LinesEstimate, ties: Ties
) -> dict[str, Array]:
    """Estimate numbers by lines, with their standard errors."""
    kernels = estimate.scale.kernels
    truth, error = estimate(block, workers, gain)
    found: dict[str, Array] = kernels.aggregate(block, weights, faults, ties=ties)
    return {**found, "label": kernels.restore(block, truth - block[Centred].centre), "error": error}


# Biases.


class Biases(NamedTuple):
    """Mean deviation of each worker from the others, with its 95 % confidence interval; NaN if unknown."""

    bias: Floats
    low: Floats
    high: Floats


def estimate_biases(run: Run, groups: CopyGroups, weight: Floats) -> Biases:
    """Estimate the mean deviation of each worker from the weighted mean of the other workers' numbers."""
    from scipy.special import stdtrit

    run, number = collapse(run, groups), groups.number
    scale, _ = Scale.of(run)
    sums = _summing(run, scale)(_deviation_sums, Lines.equal(len(number))._replace(workers=weight[:, None]))
    answers = np.where(sums["answers"] > 0, sums["answers"], np.nan)
    bias = sums["deviation"] / answers
    freedom = np.where(answers > 1, answers - 1, np.nan)
    spread = np.maximum(sums["square"] - answers * bias**2, 0.0) / freedom
    width = stdtrit(freedom, 0.975) * np.sqrt(spread / answers)
    return Biases(*((each * scale.unit)[number] for each in (bias, bias - width, bias + width)))


def _deviation_sums(block: Block, weights: Lines) -> dict[str, Floats]:
    own = weights.workers[:, 0].take(block.worker)
    total, moment = (block.to_answers(block.per_task(each)) - each for each in (own, own * block.label))
    heard = total > 1e-9 * (total + own)
    deviation = np.where(heard, block.label - moment / np.where(heard, total, 1.0), 0.0)
    columns = {"answers": heard.astype(np.float64), "deviation": deviation, "square": deviation**2}
    return {name: block.per_worker(column) for name, column in columns.items()}
