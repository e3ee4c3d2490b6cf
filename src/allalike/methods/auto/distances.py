"""Distances: worker weights for labels to which the models of numbers and of up to twenty classes do not apply.

**Error of a worker.** Every answer i to a task is compared with the other answers j, which have the weights w_j. Let W
be the sum of w_j. With y_i = sum_j w_j d_ij / W and v_i = sum_jk w_j w_k d_jk / (2 W^2), all without i,

    e_i = y_i - v_i

is its distance to the centre of the other answers. This is exact for distances derived from an inner product: Hamming,
Kendall tau, cosine. The mean of e over a worker's answers is their error.

**Shrinkage.** Errors minus their task mean, on tasks with at least three answers, vary between and within workers, and
F is the ratio of these variances. Errors are shrunk towards their mean by s0 prior answers (empirical Bayes):

    s0 = (answers of a usual worker) / (F - 1),    f_w = (sum e + s0 * mean) / (answers + s0).

**Weights.** The distance of a guess to the centre is D - v, where D is the mean distance between labels of different
tasks. A guess has weight 0: w = max(0, (D - v) / f - 1). There are three rounds; the first has equal weights. Levels
and vectors have coordinates, so they use the weights of worker lines (`allalike.methods.auto.lines`). Distances alone
would reward workers who stay near the middle.

The weights are used unless a split-half test refutes them (`split_half`).

**Many classes.** With n answers to a task, share s_l of the weights for label l, and error rate e of a typical worker,

    p_l ~ ((1 - e) (k - 1) / e)^(n s_l).

**Levels.** Wrong answers are usually close to the right level. The profile q_d is the probability of a level at
distance d relative to the right one. For an answer y to a task with label t,

    P[y | t] = q_|y-t| / sum_z q_|z-t|,    p_t ~ prod_i P[y_i | t]^(n w_i / sum w).

The crowd has one profile, estimated by EM on a sample; q does not increase with d. Workers differ only in weight.

Confidence is lower than p if the label has few votes (`gold_calibration`). Shared errors are detected only if they come
from copying.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, Ties, number_within_tasks
from allalike.domains import Encoding, Kernels
from allalike.engines import Run
from allalike.engines.sample import sample_tasks
from allalike.methods.auto.copy_groups import collapse, decide_collapsed
from allalike.methods.auto.gold_calibration import lower_confidence
from allalike.methods.auto.gold_regression import MIN_GOLD
from allalike.methods.auto.knowledge import take_sample
from allalike.methods.auto.numbers import LineFit, LinesEstimate, describe_choice, fit_chosen
from allalike.methods.auto.screening import Screening, find_guess_distance, with_squares
from allalike.methods.auto.split_half import CLEARLY, find_support
from allalike.methods.auto.uncertainty import FEW, estimate_class_errors, estimate_squares
from allalike.methods.fit import Fit, Uncertainty
from allalike.methods.proximity import Peers, normalise

_ROUNDS = 3
_MIN_ANSWERS = 2.0  # per task
_MAX_LEVELS = 20  # for estimated probabilities
_PROFILE_ROUNDS, _PROFILE_ANSWERS = 8, 20_000
_LEAST = 1e-6  # minimum q, so that one answer cannot rule out a level
_LEAST_ERROR = 0.01  # minimum error rate of a typical worker
_ROUNDING = 1e-9
_EQUAL = "workers are equally good"
_FEW = "there are fewer than two answers per task"
_CAMPS = "workers are two camps, each of which agrees with itself only"
_REFUTED = "a split-half test does not support weights"


def has_coordinates(encoding: Encoding) -> bool:
    """Return whether labels are numbers, vectors or ordered levels."""
    return encoding.noise.weighting == "inverse" or (encoding.n_classes is not None and not encoding.nominal)


def fit_distances(run: Run, screening: Screening, *, use_gold: bool = False) -> Fit:
    """Fit errors and weights of workers to distances; on tasks with gold, to distances from the gold label."""
    groups, number = screening.groups, screening.groups.number
    whole = collapse(run, groups)
    disparity = Peers(whole).unweighted
    unit = 2 * disparity.mubar
    guess = find_guess_distance(with_squares(run))
    measure = partial(estimate_errors, guess=guess, unit=unit if unit > 0 else 1.0)
    errors = measure(whole, use_gold=use_gold)
    lines = fit_chosen(whole, levels=True) if has_coordinates(run.encoding) and not screening.camps else None
    weight, notes = _choose_weights(whole, screening, errors, measure, lines)
    uncertainty = None if screening.signal is None else _estimate_uncertainty(whole, errors, use_gold=use_gold)
    decision = _choose_decision(whole, weight, uncertainty, lines, use_gold=use_gold, copies=groups.has_copies)
    if groups.has_copies:
        decide = partial(decide_collapsed, number=number, encoding=run.encoding, decide=decision["decide"])
        decision |= {"decide": decide, "parameters": tuple(each[number] for each in decision["parameters"])}
    if screening.signal is not None and uncertainty is not None:
        uncertainty = replace(uncertainty.take(number), **screening.signal._asdict())
        decision |= {"uncertainty": uncertainty, "copy_groups": groups}
    if "error_rate" in decision:
        decision["error_rate"] = decision["error_rate"][number]
    notes = {name: None if isinstance(x, float) and not np.isfinite(x) else x for name, x in notes.items()}
    return Fit(
        disparity=disparity.mean[number],
        fault=errors.fault[number],
        weight=normalise(weight[number]),
        iterations=_ROUNDS,
        notes={**screening.notes, **notes},
        **decision,
    )


def _choose_weights(
    run: Run, screening: Screening, errors: Errors, measure: Callable[..., Errors], lines: LineFit | None
) -> tuple[Floats, dict[str, Any]]:
    """Return weights, equal if the answers do not support unequal ones, and facts for the summary."""
    notes: dict[str, Any] = {"chosen": "weights", "f_ratio": errors.ratio, "prior_answers": errors.strength}
    weight, why = errors.weight, ""
    if screening.camps:
        why = _CAMPS
    elif lines is not None:
        weight, notes = lines.weight, {**notes, **describe_choice(lines.choice)}
    elif np.isinf(errors.strength):
        why, notes["workers"] = _EQUAL, "equal"
    elif errors.per_task < _MIN_ANSWERS:
        why = _FEW
    else:
        notes["support"] = find_support(run, lambda half: measure(half).weight)
        why = _REFUTED if notes["support"] < -CLEARLY else ""
    if why:
        return np.ones(len(weight)), {**notes, "chosen": "everyone the same", "why": why}
    return weight, notes


# Errors and weights from distances.


class Errors(NamedTuple):
    """Shrunk errors and weights of workers, F, strength of the shrinkage, and answers per task.

    ``sums`` are those of the last round, for distances in this unit.
    """

    fault: Floats
    weight: Floats
    ratio: float
    strength: float
    per_task: float
    unit: float
    sums: dict[str, Floats]

    @property
    def uncertainty(self) -> Uncertainty:
        """The uncertainty of squared errors, with the error of the other answers' centre subtracted."""
        answers = self.sums["answers"]
        n, own = np.maximum(answers, 1.0), self.sums["fault"] / np.maximum(answers, 1.0)
        variance = (self.sums["fault squared"] - n * own**2) / np.maximum(n - 1, 1.0) / n
        centre = self.sums["fault"].sum() / max(answers.sum(), 1.0) / max(self.per_task, 1.0)
        error = np.maximum(own - centre, 0.0)
        return estimate_squares(answers, self.fault / self.unit, error, variance, square=self.unit)


def estimate_errors(run: Run, *, guess: float, unit: float = 1.0, use_gold: bool = False) -> Errors:
    """Estimate errors and weights of workers, given the distance of a guess and a unit of distances."""
    weight = np.ones(len(run.workers))
    for _ in run.rounds(_ROUNDS):
        kernel = partial(distance_sums, kernels=run.kernels, unit=unit, use_gold=use_gold)
        sums = run.sum(kernel, weight)
        answers = sums["answers"].sum()
        mean, centre = (float(sums[name].sum() / max(answers, 1.0)) for name in ("fault", "middle"))
        ratio, strength = compare_workers(sums)
        fault = _shrink(sums, mean, strength, run, unit)
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = guess / unit - centre
            weight = np.where(fault < chance, chance / fault - 1.0, 0.0) if np.isfinite(guess) else mean / fault
        weight = normalise(weight)
    per_task = float(run.answer_counts.sum() / max(run.n_tasks, 1))
    if not sums["answers"].any() and run.history is None:  # no task has two answers
        fault = np.full(len(fault), np.nan)
    return Errors(fault * unit, weight, ratio, strength, per_task, unit, sums)


def compare_workers(sums: dict[str, Floats]) -> tuple[float, float]:
    """Return the ratio F of variances between and within workers, and the strength s0 of the shrinkage.

    Deviations within a task sum to 0, so they are scaled up to make n workers have n degrees of freedom.
    """
    crowded = sums["compared"].sum() > 0
    n, value, square = (
        (sums[name] for name in ("compared", "deviation", "deviation squared"))
        if crowded
        else (sums[name] for name in ("answers", "fault", "fault squared"))
    )
    workers, total = int((n > 0).sum()), float(n.sum())
    own = value / np.maximum(n, 1.0)
    between = float((n * (own - value.sum() / max(total, 1.0)) ** 2).sum()) / max(workers - (not crowded), 1)
    within = float((square - n * own**2).sum()) / (total - workers) if total > workers else 0.0
    usual = (total - (n**2).sum() / max(total, 1.0)) / max(workers - 1, 1)
    if total <= workers or max(between, within) <= _ROUNDING**2:
        return np.nan, np.inf
    ratio = between / within if within > 0 else np.inf
    return ratio, max(usual / (ratio - 1), 1.0) if ratio > 1 else np.inf


def _shrink(sums: dict[str, Floats], mean: float, strength: float, run: Run, unit: float) -> Floats:
    """Shrink errors towards their mean, over current and earlier answers."""
    answers, total, past = sums["answers"], sums["fault"], run.history
    if past is not None:
        answers, total = answers + past.answers, total + past.answers * past.fault / unit
        usual, variance = past.spread
        strength = min(strength, max(usual**2 / variance, 1.0) if variance > 0 else np.inf)
    own = np.where(answers > 0, total / np.maximum(answers, 1.0), mean)
    return np.asarray(mean + answers / (answers + strength) * (own - mean))


def distance_sums(
    block: Block, weights: Floats, *, kernels: Kernels, unit: float = 1.0, use_gold: bool = False
) -> dict[str, Floats]:
    """Sum, per worker, e and v of answers that have peers, and the moments of e and of its deviations within tasks.

    If gold labels are used, e is the distance to the gold label.
    """
    own = weights.take(block.worker)
    distance, others = kernels.peer_distances(block, weights)
    distance = distance / unit
    heard = others > _ROUNDING * block.to_answers(block.per_task(own))
    others = np.where(heard, others, np.inf)
    cross = own * distance
    middle = np.maximum(block.to_answers(block.per_task(cross)) - 2 * cross, 0.0) / (2 * others**2)
    fault = np.maximum(distance / others - middle, 0.0)
    if use_gold and len(block.gold_task):
        row = block.gold_row
        to_gold = kernels.distance_to(block, block.gold_label[row]) / unit
        fault = np.where(block.to_answers(row >= 0) & ~np.isnan(to_gold), to_gold, fault)
    size = block.per_task(heard.astype(np.float64))
    compared = heard & block.to_answers(size > 2)
    mean = block.per_task(np.where(heard, fault, 0.0)) / np.maximum(size, 1.0)
    stretch = np.sqrt(size / np.maximum(size - 1, 1.0))
    deviation = np.where(compared, (fault - block.to_answers(mean)) * block.to_answers(stretch), 0.0)
    columns = {
        "answers": heard.astype(np.float64),
        "fault": fault,
        "fault squared": fault**2,
        "middle": middle,
        "compared": compared.astype(np.float64),
        "deviation": deviation,
        "deviation squared": deviation**2,
    }
    return {name: block.per_worker(column) for name, column in columns.items()}


# Uncertainty, and labels after collapsing.


def _has_classes(run: Run) -> bool:
    """Return whether labels are classes or at most twenty levels."""
    k = run.encoding.n_labels
    return k > 1 and (run.encoding.nominal or (run.encoding.n_classes is not None and k <= _MAX_LEVELS))


def _estimate_uncertainty(run: Run, errors: Errors, *, use_gold: bool) -> Uncertainty:
    if _has_classes(run):
        found = estimate_class_errors(run, take_sample(run), use_gold=use_gold, ranks=True)
        return replace(found, confidence={"estimated_from": "model"})
    if run.encoding.noise.weighting == "inverse":
        return errors.uncertainty
    unknown, shared = np.full(len(errors.fault), np.nan), np.rint(errors.sums["answers"]).astype(np.int64)
    return Uncertainty(
        unit="mean_error", shared=shared, error=unknown, low=unknown, high=unknown, shrunk=unknown, few=shared < FEW
    )


def _choose_decision(
    run: Run,
    weight: Floats,
    uncertainty: Uncertainty | None,
    lines: LineFit | None,
    *,
    use_gold: bool,
    copies: bool,
) -> dict[str, Any]:
    """Return the fields of a fit that decide labels, for a collapsed run."""
    k, nominal = run.encoding.n_labels, run.encoding.nominal
    kernels, choices = run.choose_quorum(weight) if copies else (run.kernels, {})
    how: dict[str, Any] = {"kernels": kernels, "ties": run.ties}
    parameters: tuple[Floats, ...] = ()
    model: dict[str, Any] = {}
    calibrated = use_gold and run.n_gold >= MIN_GOLD
    by_mean = str(run.domain.rule) == "mean"
    if lines is not None and not nominal and run.encoding.n_classes is not None and k > 1 and (calibrated or by_mean):
        used, gain = lines.used, np.zeros(len(weight))
        estimate = LinesEstimate(lines.scale, used._replace(workers=np.empty((0, 3))) if by_mean else None)
        if calibrated:
            estimate, gain = estimate.calibrate(run, used.workers, partial(_decide_by_rule, weight=weight, **how))
        model["estimate"], parameters = estimate, (used.workers, gain)
    if uncertainty is None or not _has_classes(run):
        decide = partial(decide_levels, **how, **model) if model else partial(kernels.aggregate, ties=run.ties)
        return {"decide": decide, "parameters": parameters, "choices": choices} if model or copies else {}
    if nominal:
        counts = uncertainty.shared
        error = float(np.average(np.nan_to_num(uncertainty.shrunk), weights=counts)) if counts.any() else 0.5
        decide = partial(decide_surely, **how, k=k, error=error)
    else:
        decide = partial(decide_levels, **how, **model, profile=estimate_profile(run, k, weight))
    rates = {} if np.isnan(uncertainty.shrunk).any() else {"error_rate": uncertainty.shrunk}
    return {"decide": decide, "parameters": parameters, "choices": choices, **rates}


def _decide_by_rule(block: Block, *, weight: Floats, kernels: Kernels, ties: Ties) -> Array:
    return np.asarray(kernels.aggregate(block, weight, weight, ties=ties)["label"])


# Labels and confidences of many classes and of levels.


def decide_surely(
    block: Block,
    weights: Floats,
    faults: Floats,
    *,
    kernels: Kernels,
    ties: Ties,
    k: int,
    error: float,
) -> dict[str, Array]:
    """Return labels of k classes, their confidence, and the confidence of the second most probable class (``second``).

    ``error`` is the error rate of a typical worker.
    """
    found = kernels.aggregate(block, weights, faults, ties=ties)
    error = float(np.clip(error, _LEAST_ERROR, 1 - 1 / k))
    slot, labels = number_within_tasks(block)
    votes = block.per_task(weights.take(block.worker)[:, None] * np.eye(int(labels.max()))[slot])
    weight = np.where(votes.any(axis=1), votes.sum(axis=1), 1.0)
    odds = np.log((1 - error) * (k - 1) / error) * block.sizes / weight
    score = odds[:, None] * votes
    top = score.max(axis=1)
    given = np.where(np.arange(score.shape[1]) < labels[:, None], np.exp(score - top[:, None]), 0.0)
    sure = 1 / (given.sum(axis=1) + (k - labels) * np.exp(-top))
    unnamed = np.where(k > labels, np.exp(-top), 0.0)
    rival = np.sort(np.column_stack([given, unnamed]), axis=1)[:, -2]
    confidence = lower_confidence(sure, votes.max(axis=1) / weight)
    return {**found, "confidence": confidence, "second": (1 - confidence) * sure * rival / np.maximum(1 - sure, 1e-12)}


def estimate_profile(run: Run, k: int, weights: Floats) -> Floats:
    """Estimate the profile q of k levels by EM on a sample of the tasks."""
    sample, profile, apart = sample_tasks(run, _PROFILE_ANSWERS, with_gold=False), np.exp(-np.arange(k)), _apart(k)
    for _ in range(_PROFILE_ROUNDS):
        near, room = np.zeros(k), np.zeros(k)
        for block in sample.blocks:
            probability, code = _probabilities(block, weights, profile=profile, kernels=run.kernels)
            votes = block.per_task(np.eye(k)[code])
            mass = votes.sum(axis=1, keepdims=True) * probability / profile[apart].sum(axis=1)
            near += np.bincount(apart.ravel(), (probability.T @ votes).ravel(), k)
            room += np.bincount(apart.ravel(), np.repeat(mass.sum(axis=0), k), k)
        ratio = near / np.maximum(room, _LEAST)
        profile = np.minimum.accumulate(np.maximum(ratio / max(ratio[0], _LEAST), _LEAST))
    return np.asarray(profile)


def _apart(k: int) -> Array:
    """Return the distances between k levels."""
    return np.abs(np.arange(k)[:, None] - np.arange(k))


def _probabilities(block: Block, weights: Floats, *, profile: Floats, kernels: Kernels) -> tuple[Floats, Array]:
    """Return the probability of each level per task, and the level of each answer."""
    code, k = kernels.restore_answers(block, np.arange(len(block.label))).astype(np.intp), len(profile)
    weight, total = block.answer_weights(weights)
    counts = weight * block.to_answers(block.sizes / total)
    table = profile[_apart(k)]
    score = block.per_task(counts[:, None] * np.eye(k)[code]) @ np.log(table / table.sum(axis=1, keepdims=True)).T
    chance = np.exp(score - score.max(axis=1, keepdims=True))
    return chance / chance.sum(axis=1, keepdims=True), code


def decide_levels(
    block: Block,
    weights: Floats,
    faults: Floats,
    *lines: Floats,
    kernels: Any,
    ties: Ties,
    estimate: LinesEstimate | None = None,
    profile: Floats | None = None,
) -> dict[str, Array]:
    """Return labels by the rule of the label type or nearest to estimated places, with their confidence."""
    found: dict[str, Array] = kernels.aggregate(block, weights, faults, ties=ties)
    if estimate is not None:
        workers, gain = lines
        place, _ = estimate(block, workers, gain, found["label"])
        found |= kernels.take_nearest(block, weights, place, ties=ties)
    if profile is None:
        return found
    probability, code = _probabilities(block, weights, profile=profile, kernels=kernels)
    votes = block.per_task(weights.take(block.worker)[:, None] * np.eye(len(profile))[code])
    total = votes.sum(axis=1, keepdims=True)
    label = found["label"].astype(np.intp)[:, None]
    own, votes = (
        np.take_along_axis(table, label, axis=1)[:, 0]
        for table in (probability, votes / np.where(total > 0, total, 1.0))
    )
    return {**found, "confidence": lower_confidence(own, votes)}
