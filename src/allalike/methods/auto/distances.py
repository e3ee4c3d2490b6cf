"""Distances: weights of workers for labels that are neither a few classes nor numbers.

**Error of a worker.** Every answer i of a task is compared with the others, which have weights w_j. With W = sum_j w_j,
y_i = sum_j w_j d_ij / W and v_i = sum_jk w_j w_k d_jk / (2 W^2), without i,

    e_i = y_i - v_i

is its distance to the centre of the others, exactly so for every distance that comes from an inner product, such as
Hamming, Kendall tau or cosine. The mean over the answers of a worker is their error.

**Shrinkage.** Within tasks of three or more answers, errors less their mean vary between and within workers. F is the
ratio of both variances, and errors are shrunk towards their mean as if it stood for s0 further answers (empirical
Bayes),

    s0 = (answers of a usual worker) / (F - 1),    f_w = (sum e + s0 * mean) / (answers + s0).

**Weights.** A worker who guesses is D - v from the centre, with D the distance of labels of different tasks, and has
weight 0: w = max(0, (D - v) / f - 1). Three rounds, of which the first has equal weights. Levels and vectors, which
have coordinates, have the weights of worker lines (`allalike.methods.auto.lines`) instead: distances alone would
reward workers who stay near the middle.

**Split-half test.** The weights are used unless halves of the workers refute them: with U_A and V_A the unweighted and
the weighted labels of one half, and U_B the unweighted labels of the other,

    g_t = d(U_A, U_B) - d(V_A, U_B),    and the same with both halves exchanged,

must not be below 0 by 2.576 standard errors, in the mean of four ways to halve the workers.

Shared errors that are no copies are not detected.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import Ties, sum_by
from allalike._core.columns.hashes import mix
from allalike.engines.sample import draw_halves, sample_tasks
from allalike.methods.auto.copies.guesses import find_guess_distance
from allalike.methods.auto.copy_groups import collapse, decide_collapsed
from allalike.methods.auto.decisions import (
    decide_levels,
    decide_surely,
    estimate_profile,
)
from allalike.methods.auto.informativeness import with_squares
from allalike.methods.auto.numbers import LineFit, describe_choice, fit_chosen, fit_levels
from allalike.methods.auto.uncertainty import FEW, estimate_class_errors, estimate_squares, take_sample
from allalike.methods.fit import Fit, Uncertainty
from allalike.methods.proximity import Peers, normalise

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run
    from allalike.engines.memory import MemoryRun
    from allalike.methods.auto.screening import Screening

_ROUNDS = 3
_HALVINGS = 4
_SAMPLE_ANSWERS = 20_000  # of a split-half test
_CLEARLY = 2.576  # standard errors
_MIN_ANSWERS = 2.0  # per task
_MAX_LEVELS = 20  # whose probabilities are estimated
_ROUNDING = 1e-9
_ALIKE = "workers are alike"
_FEW = "there are fewer than two answers per task"
_CAMPS = "workers are two camps, each of which agrees with itself only"
_REFUTED = "a split-half test does not support weights"


def has_coordinates(encoding: Encoding) -> bool:
    """Return whether labels are numbers, or vectors of them, or levels in an order.

    >>> import allalike
    >>> names = "real", "ordinal", "text"
    >>> [has_coordinates(allalike.read([("ada", 1, 2)], domain=name).encoding) for name in names]
    [True, True, False]
    """
    return encoding.noise.weighting == "inverse" or (encoding.n_classes is not None and not encoding.nominal)


def fit_distances(run: Run, screening: Screening, *, use_gold: bool = False) -> Fit:
    """Fit errors and weights to distances; with gold labels, answers are compared with these."""
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
        uncertainty = replace(uncertainty.take(number), **screening.signal.informativeness)
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
    """Return weights, or equal ones where the answers do not support others, and facts for the summary."""
    notes: dict[str, Any] = {"chosen": "weights", "f_ratio": errors.ratio, "prior_answers": errors.strength}
    weight, why = errors.weight, ""
    if screening.camps:
        why = _CAMPS
    elif lines is not None:
        weight, notes = lines.weight, {**notes, **describe_choice(lines.choice)}
    elif np.isinf(errors.strength):
        why, notes["workers"] = _ALIKE, "alike"
    elif errors.per_task < _MIN_ANSWERS:
        why = _FEW
    else:
        notes["support"] = find_support(run, lambda half: measure(half).weight)
        why = _REFUTED if notes["support"] < -_CLEARLY else ""
    if why:
        return np.ones(len(weight)), {**notes, "chosen": "everyone the same", "why": why}
    return weight, notes


# Errors and weights from distances.


class Errors(NamedTuple):
    """Shrunk errors and weights of workers, F, the answers that the mean stands for, and answers per task.

    ``sums`` are those of the last round, in their unit.
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
        """The uncertainty of errors that are squares, less the error of the centre of the others."""
        answers = self.sums["answers"]
        n, own = np.maximum(answers, 1.0), self.sums["fault"] / np.maximum(answers, 1.0)
        variance = (self.sums["fault squared"] - n * own**2) / np.maximum(n - 1, 1.0) / n
        centre = self.sums["fault"].sum() / max(answers.sum(), 1.0) / max(self.per_task, 1.0)
        error = np.maximum(own - centre, 0.0)
        return estimate_squares(answers, self.fault / self.unit, error, variance, square=self.unit)


def estimate_errors(run: Run, *, guess: float, unit: float = 1.0, use_gold: bool = False) -> Errors:
    """Estimate the errors of workers and their weights, given the distance of a guess, and a unit of distances.

    >>> import allalike
    >>> rows = [(i, t, [t % 5, (t + (i == 3) * (1 + t % 4)) % 5, 9]) for i in range(4) for t in range(40)]
    >>> run = allalike.Memory().load(allalike.read([(w, t, {*x}) for w, t, x in rows], domain="set"))
    >>> estimate_errors(run, guess=0.6).weight.round(2)
    array([0.33, 0.33, 0.33, 0.  ])
    """
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
    per_task = float(run.answer_counts.sum() / max(sums["tasks"].sum(), 1.0))
    if not sums["answers"].any() and run.history is None:  # nothing is compared
        fault = np.full(len(fault), np.nan)
    return Errors(fault * unit, weight, ratio, strength, per_task, unit, sums)


def compare_workers(sums: dict[str, Floats]) -> tuple[float, float]:
    """Return the ratio F of variances between and within workers, and how many answers the mean stands for.

    Deviations within tasks sum to 0 and are stretched for it, so that n workers have n degrees of freedom.
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
    """Shrink errors towards their mean; statistics of earlier answers count like these."""
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
    """Add up, per worker, e and v of answers that have peers, and the moments of e and of its deviations within tasks.

    With gold labels, e is the distance to these.

    >>> from allalike.domains import Real
    >>> from allalike._core.blocks.block import Block
    >>> from allalike.domains.real import RealKernels
    >>> block = Block.of([[0.0, 3.0], [2.0, 3.0], [4.0, 3.0]])
    >>> distance_sums(block, np.ones(3), kernels=RealKernels(domain=Real()))["fault"]
    array([9., 0., 9.])
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
    tasks = sum_by(block.first_worker, np.ones(block.n_tasks), block.n_workers)
    return {"tasks": tasks, **{name: block.per_worker(column) for name, column in columns.items()}}


# Split-half test.


def find_support(run: Run, weigh: Callable[[MemoryRun], Floats]) -> float:
    """Return how clearly halves of the workers support weights, in standard errors; ``weigh`` finds those of a half.

    >>> import allalike
    >>> rng = np.random.default_rng(0)
    >>> rows = [(i, t, rng.normal(scale=1 if i < 4 else 9)) for i in range(8) for t in range(50)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="real"))
    >>> find_support(run, lambda half: np.where(np.arange(8) < 4, 1.0, 0.1)) > 2
    True
    """
    sample = sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False).map(run.encoding.store)
    support = 0.0
    for seed in range(_HALVINGS):
        half = draw_halves(sample, seed)
        unweighted, weighted = [], []
        for k in range(2):
            part = _keep_half(sample, half == k)
            if part is None:
                return 0.0
            equal = np.ones(len(half))
            unweighted.append(_decide_half(part, equal, 2 * seed + k))
            weighted.append(_decide_half(part, weigh(part), 2 * seed + k))
        gain = _find_gains(unweighted, weighted, run.kernels)
        largest = np.abs(gain).max(initial=0.0)
        gain = gain / (largest if largest > 0 else 1.0)  # whose squares might overflow
        support += float(gain.sum() / np.sqrt(max((gain**2).sum(), _ROUNDING**2))) / _HALVINGS
    return support


def _keep_half(run: MemoryRun, members: Array) -> MemoryRun | None:
    """Return a run with the answers of some workers; None if there are none."""
    blocks = []
    for block in run.blocks:
        rows = np.flatnonzero(members[block.worker])
        if len(rows):
            tasks, sizes = np.unique(block.task[rows], return_counts=True)
            kept = replace(
                block.pick(tasks, rows), starts=np.cumsum(sizes) - sizes, sizes=sizes, prepared=block.prepared
            )
            blocks.append(run.encoding.prepare(kept))
    return replace(run, shards=[replace(run.shards[0], blocks=blocks)], n_gold=0, history=None) if blocks else None


def _decide_half(run: MemoryRun, weight: Floats, salt: int) -> tuple[Array, Array]:
    """Return the labels of a half, and the hashes of their tasks; halves that break ties alike would seem to agree."""
    kernels, _ = run.choose_quorum(weight)
    labels = []
    for block in run.blocks:
        drawn = replace(block, task_hash=mix(block.task_hash ^ np.uint64(salt)))
        labels.append(kernels.aggregate(drawn, weight, np.ones(len(weight)), ties=Ties()))
    hashes = np.concatenate([block.task_hash for block in run.blocks])
    return np.concatenate([each["label"] for each in labels]), hashes


def _find_gains(unweighted: list[tuple[Array, Array]], weighted: list[tuple[Array, Array]], kernels: Kernels) -> Floats:
    """Return g of each task that both halves answered."""
    places = np.intersect1d(unweighted[0][1], unweighted[1][1], return_indices=True)[1:]
    gain = np.zeros(len(places[0]))
    if len(gain):
        labels = [np.concatenate([unweighted[k][0][at], weighted[k][0][at]]) for k, at in enumerate(places)]
        measure, _ = kernels.compare_among(np.concatenate(labels))
        n, here = len(gain), np.arange(len(gain))
        for own, other in ((0, 2 * n), (2 * n, 0)):
            before, after = (np.nan_to_num(measure(own + shift + here, other + here)) for shift in (0, n))
            gain += before - after
    return gain


# Uncertainty, and labels where a copy group counts once per task.


def _has_classes(run: Run) -> bool:
    """Return whether labels are many classes, or a few levels."""
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
    """Return the part of a fit that decides labels, of a run from which copies were taken, if there were any."""
    k, nominal = run.encoding.n_labels, run.encoding.nominal
    kernels, choices = run.choose_quorum(weight) if copies else (run.kernels, {})
    how: dict[str, Any] = {"kernels": kernels, "ties": run.ties}
    parameters: tuple[Floats, ...] = ()
    model: dict[str, Any] = {}
    if not nominal and run.encoding.n_classes is not None and k > 1 and lines is not None:
        by_rule = partial(_decide_by_rule, weight=weight, **how)
        model["estimate"], parameters = fit_levels(run, lines, by_rule, use_gold=use_gold)
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


def _decide_by_rule(block: Block, *, weight: Floats, kernels: Kernels, ties: Ties) -> dict[str, Array]:
    return kernels.aggregate(block, weight, weight, ties=ties)
