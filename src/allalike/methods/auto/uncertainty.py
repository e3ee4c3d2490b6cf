"""Uncertainty: error rates and ranks of workers, with 95 % confidence intervals if gold labels support them.

**Classes.** Error rates come from a knows-or-guesses model (`knowledge`), whichever model decides the labels, or from a
model with class shares and one accuracy per worker if that is more likely. With the class probabilities P of this
model, x = 1 - P[l] is the probability that an answer l is wrong.

*Without gold labels*, the order of workers is more certain than their error rates, because shared errors are hidden but
mostly cancel in differences. The **relative error** of a worker is the mean of x minus that of the other answers to the
same tasks. Its variance is a jackknife estimate over 20 groups of tasks or that from the worker's answers, whichever is
larger. Two workers differ if their 95 % intervals do not overlap. The numbers of better and worse workers give the
range of a worker's rank. Workers who give only one label, or share fewer than five tasks, have no rank. Error rates
have no interval, because jackknife intervals would cover only 60 % of them.

*With gold labels* of tasks drawn at random, the error rate of worker w is

    trust * mean of x  +  common  +  kept_w * own_w,

where trust is the slope of errors on x over the tasks with gold, shrunk towards 0.8. common is the mean residual:
errors that agreement does not show. own_w is the worker's departure from it, shrunk by kept_w. With at least 20 gold
labels, there is a confidence interval, never wider than Wilson's from the worker's own gold labels, and ranks use these
error rates. If tasks with gold were selected because their answers differ, intervals are too narrow.

With more than 300,000 answers, the model is fitted to a sample of whole tasks and applied to all answers. The
jackknife uses part of the sample, in ten groups.

**Squares** (numbers, vectors). The error is the mean squared residual of worker lines. Its interval follows from chi^2,
with degrees of freedom that match its variance (Satterthwaite 1946).

Without gold labels, estimates do not include errors that most workers share.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike.engines import Run
from allalike.engines.memory import MemoryRun
from allalike.methods.auto.knowledge import WORTH_SAMPLING, AnswerTable, find_right, have_unequal_shares
from allalike.methods.fit import Uncertainty
from allalike.methods.steps.vote_matrix import count_labels

FEW = 5  # shared tasks below which a worker is not ranked
MIN_GOLD = 20  # gold labels needed for intervals
TAIL = 0.025
NORMAL_QUANTILE = 1.959963984540054
_MAX_CLASSES = 20  # with more classes, error rates come from the sample
_GROUPS, _FEWER_GROUPS, _GROUP_ANSWERS = 20, 10, 1000  # of tasks in the jackknife; fewer in large crowds
_TYPICAL_ANSWERS = 4.0  # prior answers for the variance of an answer
_TRUST, _TRUST_TASKS = 0.8, 0.1  # prior slope, and its strength in tasks with both right and wrong answers
_COMMON_SD = 0.2  # prior standard deviation of the common error; from past crowds
_DEPARTURE, _DEPARTURE_LOG_SD = 0.1, 0.9  # prior of the standard deviation of departures; from past crowds
_DEPARTURES = np.exp(np.linspace(np.log(0.005), np.log(0.5), 40))
_PRIOR_ANSWERS = 10.0  # strength with which a worker's variance is shrunk towards the mean
_LEAST_FREEDOM = 5
_LEAST_BETWEEN = 1e-4  # minimum variance between workers


# Confidence intervals of shares, and multiple testing.


def find_wilson_limits(share: Floats, answers: Floats) -> tuple[Floats, Floats]:
    """Return 95 % confidence intervals of shares (Wilson 1927); 0 to 1 without answers.

    >>> low, high = find_wilson_limits(np.array([0.0, 0.2]), np.full(2, 10.0))
    >>> low.round(3), high.round(3)
    (array([0.   , 0.057]), array([0.278, 0.51 ]))
    """
    square = NORMAL_QUANTILE**2
    n = np.maximum(answers, 1e-9)
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = NORMAL_QUANTILE * np.sqrt(share * (1 - share) / n + square / (4 * n**2)) / (1 + square / n)
    low, high = np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)
    return np.where(answers > 0, low, 0.0), np.where(answers > 0, high, 1.0)


def adjust_probabilities(probabilities: Floats) -> Floats:
    """Adjust p-values for multiple testing (Holm 1979).

    >>> adjust_probabilities(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(probabilities, kind="stable")
    factors = np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(probabilities[order] * factors), 1.0)
    return adjusted


# Classes.


def _sum_class_errors(block: Block, evidence: Floats, *, k: int, context: Floats | None) -> dict[str, Floats]:
    """Sum, per worker, the probabilities that answers are wrong, as `sum_errors` does, and count the labels."""
    wrong = 1 - find_right(block, evidence, k=k, context=context)
    return {**sum_errors(block.task, block.worker, wrong, block.n_workers), **count_labels(block, k=k)}


def sum_errors(task: Array, worker: Array, wrong: Floats, n_workers: int) -> dict[str, Floats]:
    """Sum, per worker, probabilities of errors, their differences from those of the others, and second moments."""
    difference, compared = subtract_others(task, wrong)
    columns = {
        "answers": np.ones(len(wrong)),
        "wrong": wrong,
        "compared": compared.astype(np.float64),
        "difference": difference,
        "square": difference**2 + compared * wrong * (1 - wrong),
    }
    return {name: sum_by(worker, values, n_workers) for name, values in columns.items()}


def subtract_others(task: Array, values: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return values of answers minus the mean over the other answers to the task, and whether there are any."""
    answers = np.bincount(task)[task]
    others = (np.bincount(task, values)[task] - values) / np.maximum(answers - 1, 1)
    return np.where(answers > 1, values - others, 0.0), answers > 1


def compare_workers(sums: dict[str, Floats], refitted: Floats) -> tuple[Floats, Floats]:
    """Return each worker's error rate minus that of the others on the same tasks, and its standard error.

    ``refitted`` is the jackknife variance.
    """
    n = sums["compared"]
    answers = np.maximum(n, 1)
    error = sums["difference"] / answers
    spread = np.maximum(sums["square"] / answers - error**2, 0.0)
    own = (spread * n + _TYPICAL_ANSWERS * np.average(spread, weights=answers)) / (n + _TYPICAL_ANSWERS) / answers
    return error, np.sqrt(np.maximum(refitted, own))


def _jackknife(table: AnswerTable, right: Floats, unequal: bool, answers: Floats, groups: int) -> Floats:
    """Return the jackknife variance of relative errors, given the number of answers of each worker."""
    part = table.first_tasks(groups * _GROUP_ANSWERS)
    start = right[: len(part.slot_start)]
    group = np.arange(part.n_tasks) % groups  # tasks are in the order of hashes
    _, shared = subtract_others(part.task, np.zeros(len(part.task)))
    errors = []
    for left_out in range(groups):
        weight = (group != left_out).astype(np.float64)
        fit = part.fit_shares(weight, start) if unequal else part.fit(weight, start)
        difference, _ = subtract_others(part.task, 1 - fit.right[part.slot])
        kept = weight[part.task]
        errors.append(part.per_worker(kept * difference) / np.maximum(part.per_worker(kept * shared), 1e-9))
    counts = part.per_worker(shared)
    return np.asarray(np.var(errors, axis=0) * (groups - 1) * counts / np.maximum(answers, 1))


class GoldErrors(NamedTuple):
    """Error rates of workers with 95 % confidence intervals, and trust in the estimates without gold.

    ``standard_error`` is for comparisons between workers, in which the common error cancels.
    """

    rate: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    trust: float


def measure_errors(table: AnswerTable, right: Floats, mean: Floats, answers: Floats, n_tasks: int) -> GoldErrors:
    """Estimate error rates from gold labels and agreement.

    ``mean`` is the mean probability of an error over all ``answers`` of a worker. The crowd has ``n_tasks`` in total.
    """
    from scipy.special import stdtrit

    wrong, n_workers = 1 - right[table.slot], table.n_workers
    answers = np.maximum(answers, 1)
    known = np.flatnonzero(~np.isnan(table.gold[table.task]))
    worker, task, predicted = table.worker[known], table.task[known], wrong[known]
    error = (table.label != table.gold[table.task])[known].astype(np.float64)

    def per_worker(values: Floats) -> Floats:
        return sum_by(worker, values, n_workers)

    def average(values: Floats) -> Floats:
        return np.asarray(per_worker(values) / counts)

    n = per_worker(np.ones(len(known)))
    counts, sizes = np.maximum(n, 1), np.bincount(task, minlength=table.n_tasks)
    n_gold = int((sizes > 0).sum())
    pull = _TRUST_TASKS * len(known) / n_gold
    away = predicted - predicted.mean()
    trust = float(np.clip((away @ error + _TRUST * pull) / (away @ away + pull), 0, 1))
    residual = error - trust * predicted
    of_task = np.bincount(task, residual, table.n_tasks) / np.maximum(sizes, 1)
    of_gold = of_task[sizes > 0]
    task_variance = (((of_gold - of_gold.mean()) ** 2).sum() + 0.2) / (n_gold + 3)
    precision = n_gold / task_variance + 1 / _COMMON_SD**2
    expected = (1 - trust) * np.average(mean, weights=answers) / _COMMON_SD**2
    common = (of_gold.mean() * n_gold / task_variance + expected) / precision
    own = average(residual) - of_gold.mean()

    def variance(values: Floats) -> Floats:
        squares, freedom = per_worker((values - average(values)[worker]) ** 2), np.maximum(n - 1, 0)
        usual = (squares.sum() + 0.4) / (freedom.sum() + 4)
        return np.asarray((squares + _PRIOR_ANSWERS * usual) / (freedom + _PRIOR_ANSWERS))

    within = np.where(sizes[task] > 1, residual - of_task[task], residual - of_gold.mean())
    noise = (variance(within) + task_variance * np.clip(1 - n / n_gold, 0, 1)) / counts
    between = _estimate_departures(own[n > 0], noise[n > 0])
    kept = np.where(n > 0, between / (between + noise), 0.0)
    rate = np.clip(trust * mean + common + kept * own, 0, 1)
    pulled = (rate * answers + 1) / (answers + 2)
    of_answers = np.maximum(variance(residual) * np.clip(1 - n / answers, 0, 1), pulled * (1 - pulled)) / answers
    unseen = np.clip(1 - n_gold / n_tasks, 0.05, 1)
    apart = np.sqrt(between * (1 - kept) + of_answers)
    half = stdtrit(max(n_gold - 1, _LEAST_FREEDOM), 1 - TAIL) * np.sqrt(unseen / precision + apart**2)
    low, high = np.clip(rate - half, 0, 1), np.clip(rate + half, 0, 1)
    wilson_low, wilson_high = find_wilson_limits(average(error), n)
    wider = high - low > wilson_high - wilson_low
    low, high = np.where(wider, wilson_low, low), np.where(wider, wilson_high, high)
    least = 0.5 / (answers + 1)  # an error of 0 would have an infinite weight
    return GoldErrors(np.clip(np.clip(rate, least, 1 - least), low, high), low, high, apart, trust)


def _estimate_departures(own: Floats, noise: Floats) -> float:
    """Return the posterior mean of the variance of departures, given their estimates and variances."""
    variance = _DEPARTURES[:, None] ** 2 + noise
    prior = -0.5 * (np.log(_DEPARTURES / _DEPARTURE) / _DEPARTURE_LOG_SD) ** 2
    score = prior - 0.5 * (np.log(variance) + own**2 / variance).sum(axis=1)
    share = np.exp(score - score.max())
    return float((share * _DEPARTURES**2).sum() / share.sum())


def estimate_class_errors(run: Run, sample: MemoryRun, *, use_gold: bool, ranks: bool) -> Uncertainty:
    """Estimate the error rates of the workers of a collapsed run of classes, with a model fitted to a sample."""
    shared = np.rint(run.sum(_count_shared)["shared"]).astype(np.int64)
    unknown = np.full(len(shared), np.nan)
    nothing = Uncertainty(
        unit="error_rate", shared=shared, error=unknown, low=unknown, high=unknown, shrunk=unknown, few=shared < FEW
    )
    if not shared.any():
        return nothing
    table = AnswerTable.of(sample)
    unequal = have_unequal_shares(table)
    fit = table.fit_shares() if unequal else table.fit()
    right = fit.right
    if sample.n_tasks < run.n_tasks and table.k <= _MAX_CLASSES:
        sums = run.sum(partial(_sum_class_errors, k=table.k, context=fit.context), table.weigh(fit))
        labels = (sums["counts"] > 0).sum(axis=1)
    else:
        sums = sum_errors(table.task, table.worker, 1 - right[table.slot], table.n_workers)
        labels = np.bincount(table.cell_worker, minlength=table.n_workers)
    n_gold = int((~np.isnan(table.gold)).sum()) if use_gold else 0
    mean = sums["wrong"] / np.maximum(sums["answers"], 1)
    if n_gold:
        gold = measure_errors(table, right, mean, sums["answers"], run.n_tasks)
        rate = gold.rate
    else:
        rate = _shrink(mean, shared)
    found = replace(nothing, error=np.where(shared > 0, rate, np.nan), shrunk=rate)
    if n_gold >= MIN_GOLD:
        low, high = (np.where(shared > 0, each, np.nan) for each in (gold.low, gold.high))
        found = replace(found, low=low, high=high, trust=gold.trust)
    if not ranks:
        return found
    if n_gold < MIN_GOLD:
        groups = _FEWER_GROUPS if run.answer_counts.sum() > WORTH_SAMPLING else _GROUPS
        error, standard_error = compare_workers(sums, _jackknife(table, right, unequal, sums["compared"], groups))
        return _rank(found, sums["compared"], labels, error, standard_error, error)
    difference, compared = subtract_others(table.task, rate[table.worker])
    relative = table.per_worker(difference) / np.maximum(table.per_worker(compared), 1)
    return _rank(found, sums["compared"], labels, relative, gold.standard_error, rate)


def _rank(
    found: Uncertainty, n: Floats, labels: Array, relative: Floats, standard_error: Floats, error: Floats
) -> Uncertainty:
    """Add relative errors, and ranks by errors and their standard errors, given the compared answers and labels."""
    known = (n > 0) & ((n > 0).sum() > 2)  # with two workers, a difference does not show whose error it is
    ranked = known & (n >= FEW) & (labels > 1)
    low, high = error - NORMAL_QUANTILE * standard_error, error + NORMAL_QUANTILE * standard_error
    better = np.searchsorted(np.sort(high[ranked]), low)
    not_worse = np.searchsorted(np.sort(low[ranked]), high, side="right")
    return replace(
        found,
        relative_error=np.where(known, relative, np.nan),
        relative_se=np.where(known, standard_error, np.nan),
        rank_low=np.where(ranked, 1.0 + better, np.nan),
        rank_high=np.where(ranked, not_worse, np.nan),
    )


def _count_shared(block: Block) -> dict[str, Floats]:
    return {"shared": block.per_worker(block.to_answers(block.sizes > 1).astype(np.float64))}


def _shrink(rate: Floats, answers: Array) -> Floats:
    """Shrink error rates towards their mean by empirical Bayes."""
    total = answers.sum()
    mean = float((answers * rate).sum() / total)
    noise = mean * (1 - mean)
    between = float((answers * np.square(rate - mean) - noise * (answers > 0)).sum()) / total
    between = max(between, _LEAST_BETWEEN)
    kept = np.where(answers > 0, between / (between + noise / np.maximum(answers, 1)), 0.0)
    return np.asarray(mean + kept * (rate - mean))


# Squares of numbers.


def estimate_squares(
    answers: Floats, fault: Floats, error: Floats, variance: Floats, *, square: float = 1.0
) -> Uncertainty:
    """Return the uncertainty of mean squared errors, given shrunk errors, errors and their variance in this unit."""
    from scipy.special import chdtri

    known = answers > 1
    mean = np.where(known, error, np.nan)
    freedom = np.clip(2 * error**2 / np.where(variance > 0, variance, np.inf), 0.5, np.maximum(answers, 1.0))
    low, high = (mean * freedom / chdtri(freedom, tail) for tail in (TAIL, 1 - TAIL))
    if known.sum() == 2:  # a difference does not show whose error it is
        low, high = 0.0 * low, 2 * high
    shared = np.rint(answers).astype(np.int64)
    error, low, high, fault = (each * square for each in (mean, low, high, fault))
    return Uncertainty(unit="rmse", shared=shared, error=error, low=low, high=high, shrunk=fault, few=shared < FEW)
