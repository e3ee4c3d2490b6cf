"""Scores: labels of a panel that are near or far from each other, such as numbers, levels, vectors and rankings.

Some of the judges decide a task by the rule of the labels, with the weights that they have in the whole panel. Their
verdict is as good as it is near: to known truths where there are 50 and more, else to the verdict of the whole panel.
Distances of all kinds become a **worth** by what a guess would reach (a skill score; Murphy: Skill scores based on the
mean square error and their relationships to the correlation coefficient. 1988),

    worth = 1 - (distance of the verdict) / (mean distance of the truths of two different tasks),

which is 1 for the truth itself and 0 for the verdict on another task. A task that nobody answered is worth nothing.

Without known truths, the whole panel errs, too. Of numbers under squared distance its error is known from its limits,
and the error of the best weighted mean is not correlated with its distance to any other (Hausman: Specification tests
in econometrics. 1978), so that both add up:

    E (x_S - t)^2 = E (x_S - x)^2 + E (x - t)^2.

Weights are pulled to each other, so that the sum is rather too large than too small.
Of all other labels the distance to the whole panel has to do, and says nothing about errors that all judges share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.api.judges.coverage import MIN_GOLD
from allalike.api.judges.trials import Trials
from allalike.engines.sample import pick_tasks, sample_tasks
from allalike.methods.auto.distances.numbers import find_truth_limits
from allalike.methods.auto.distances.plain_or_weighed import has_levels
from allalike.result.summaries import with_quorum

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.api.judges.finding import Columns
    from allalike.api.judges.trials import Judges
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing

_NORMAL = 1.959964  # 95 % of a normal distribution
_SQUARE = 2
_SHIFTS = 5  # tasks with whose truths each is compared


@dataclass(frozen=True)
class Scores:
    """Some whole tasks of a panel, and how it decides them."""

    run: Run
    weighing: Weighing
    block: Block

    @property
    def n_judges(self) -> int:
        """How many judges there are."""
        return len(self.run.workers)

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Of each task: whether its truth is known."""
        return np.asarray(self.block.gold_row >= 0)

    @property
    def by_gold(self) -> bool:
        """Whether so many truths are known that they say what verdicts are worth."""
        return len(self.block.gold_task) >= MIN_GOLD

    @property
    def is_square(self) -> bool:
        """Whether a distance is a square, whose root has the unit of the labels."""
        return self.run.domain.power == _SQUARE

    def only(self, tasks: npt.NDArray[np.bool_]) -> Scores:
        """Return some of the tasks."""
        return replace(self, block=pick_tasks(self.run, self.block.task_hash[tasks]))

    def judged(self) -> Scores:
        """Return the tasks that say what verdicts are worth: those with known truths, if these are enough."""
        return self.only(self.known) if self.by_gold else self

    @cached_property
    def panel(self) -> dict[str, Array]:
        """What the whole panel finds for each task."""
        return self.decide(range(self.n_judges))[0]

    @cached_property
    def target(self) -> Array:
        """Of each task: the truth if enough are known, else what the whole panel says."""
        return self.block.gold_label if self.by_gold else self.panel["label"]

    @cached_property
    def guess(self) -> float:
        """How far the truths of two different tasks are apart; 1 where nobody can say."""
        shifts = range(1, min(_SHIFTS, self.block.n_tasks - 1) + 1)
        apart = [self.run.kernels.guess_distances(self.target, np.roll(self.target, k, axis=0)) for k in shifts]
        found = float(np.nanmean(np.concatenate(apart))) if apart and not np.isnan(apart).all() else 0.0
        return found if found > 0 else 1.0

    @cached_property
    def variance(self) -> Floats:
        """Of each task: the variance of the whole panel's number, by its limits; 0 where nobody knows it."""
        faults, groups = self.weighing.insight.faults, self.weighing.insight.groups
        if faults is None or faults.variance is None:
            return np.zeros(self.block.n_tasks)
        block, found = self.run.encoding.prepare(self.block), self.panel
        how = self.weighing.weight, faults.variance, found["label"], found["error"]
        limits = find_truth_limits(block, *how, groups=groups)
        return np.asarray(np.nan_to_num(np.square((limits["high"] - limits["low"]) / (2 * _NORMAL))))

    @property
    def own(self) -> Floats:
        """Of each task: the distance of the whole panel to the truth that is expected, where truths are not known."""
        return self.variance if self.is_square and not self.by_gold else np.zeros(self.block.n_tasks)

    def decide(self, members: Sequence[int]) -> tuple[dict[str, Array], npt.NDArray[np.intp]]:
        """Return what some of the judges find, and for which tasks: those that one of them answered."""
        block, tasks = take_judges(self.block, members)
        decide = with_quorum(self.run, self.weighing).decide_on(self.run)
        weight, *more = self.weighing.arguments
        heard = np.maximum(weight, weight.max() * 1e-9)  # alone, everybody has a say
        return decide(self.run.encoding.prepare(block), heard if len(members) < self.n_judges else weight, *more), tasks

    def distance(self, members: Judges, target: Array) -> Floats:
        """Return, per task, how far the verdict of some judges is from a target; NaN where nobody can say."""
        found, tasks = self.decide(members)
        distance = np.full(self.block.n_tasks, np.nan)
        distance[tasks] = self.run.kernels.distance_between(found["label"], target[tasks])
        return distance

    def value(self, members: Judges) -> Floats:
        """Return, per task, what the verdict of some judges is worth."""
        return self._worth(self.distance(members, self.target) + self.own)

    def agree(self, members: Judges) -> Floats:
        """Return, per task, what it is worth if the whole panel is right."""
        return self._worth(self.distance(members, self.panel["label"]))

    def _worth(self, distance: Floats) -> Floats:
        worth: Floats = 1 - np.where(np.isnan(distance), self.guess, distance) / self.guess
        return worth

    def error_of(self, worth: Any) -> Any:
        """Return the error that a mean worth stands for, in the unit of the labels."""
        distance = np.maximum((1 - np.asarray(worth)) * self.guess, 0.0)
        return np.sqrt(distance) if self.is_square else distance

    def try_panels(self) -> Trials:
        """Say what panels of the judges are worth."""
        return Trials(self.n_judges, self.block.task_hash, self.value)

    @cached_property
    def numbers(self) -> Floats | None:
        """A row for each task and a column for each judge, NaN where she did not answer; None if there is no scale."""
        encoding, label = self.run.encoding, self.block.label
        if label.ndim > 1 or label.dtype == object or not (encoding.numeric or has_levels(encoding)):
            return None
        return self._spread(label)

    @cached_property
    def coordinates(self) -> Floats | None:
        """The same with one more axis for the coordinates of labels, where distances are those of coordinates."""
        label, power = self.block.label, self.run.domain.power
        if self.numbers is not None:
            return self.numbers[:, :, None]
        if label.ndim != _SQUARE or not power or label.dtype != np.float64:
            return None
        apart = np.linalg.norm(label[1:] - label[:-1], axis=1) ** power
        known = self.run.kernels.distance_between(label[1:], label[:-1])
        return self._spread(label) if np.allclose(apart, known, rtol=1e-6, atol=1e-12) else None

    def _spread(self, label: Array) -> Floats:
        table = np.full((self.block.n_tasks, self.n_judges, *label.shape[1:]), np.nan)
        table[self.block.task, self.block.worker] = label
        return table


def has_scale(encoding: Encoding) -> bool:
    """Tell whether each label is a number, or a level among others in an order."""
    return encoding.numeric or (encoding.n_classes is not None and not encoding.nominal)


def take_scores(run: Run, weighing: Weighing, n_answers: int) -> Scores:
    """Return about so many answers of a run; tasks whose truth is known are preferred.

    >>> import allalike
    >>> rows = [(judge, task, task + place) for place, judge in enumerate("abc") for task in range(9)]
    >>> result = allalike.discover(rows, domain="real")
    >>> scores = take_scores(result.run, result.weighing, 100)
    >>> scores.distance((0,), scores.panel["label"]).round(2).max()
    np.float64(1.0)
    """
    sample = sample_tasks(run, n_answers)
    return Scores(run, weighing, pick_tasks(run, np.concatenate([block.task_hash for block in sample.blocks])))


def take_judges(block: Block, members: Sequence[int]) -> tuple[Block, npt.NDArray[np.intp]]:
    """Return the answers of some judges, whose labels are codes, and which tasks these are."""
    member = np.zeros(block.n_workers, bool)
    member[list(members)] = True
    rows = np.flatnonzero(member[block.worker])
    tasks, sizes = np.unique(block.task[rows], return_counts=True)
    return replace(block.pick(tasks, rows), starts=np.cumsum(sizes) - sizes, sizes=sizes), tasks


# Shared offset: by how much all judges are above known truths, which no judge sees in the others.
#
# With x the panel's number for a task, found without known truths, and t the truth, the **offset** is the mean of x -
# t (the median, where distances are absolute), and the **line** t = a + b x that of least squares. Each fifth of the
# truths is foreseen by the others: with numbers as they are, without the offset, and by the line. The offset is taken
# away if numbers as they are foresee truths worse by more than half a standard error, as classes have it
# (`allalike.methods.auto.classes.known`). The line takes 1.96 of them: a panel that errs stretches differences, so
# that a line nearly always helps a little, and what judges said should not be changed for that.
#
# Twenty truths are needed. The offset is that of all judges together, and so is the line: what is each judge's own is
# known without truths (`allalike.api.judges.scale_use`).


_MIN_KNOWN = 20
_FOLDS = 5
_NEARLY, _SURELY = 0.5, 1.96  # standard errors


@dataclass(frozen=True)
class SharedOffset:
    """What all judges have in common, and known truths have not."""

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
    """Return what is to be taken away from all judges; nothing where it does not help to foresee known truths."""
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
