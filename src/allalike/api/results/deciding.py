"""Deciding: the truths of all tasks, by the weights of a method, and beside them those without weights."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike.methods.auto.distances.numbers import find_truth_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing
    from allalike.methods.base import Decide

__all__ = ["find_posteriors", "find_truths", "keep_known", "rank_correlation", "with_quorum", "withhold"]

_MIN_ANSWERS = 3  # of a worker to tasks whose truth is known
_MIN_WORKERS = 5
_EQUAL = 1e-9  # relative, below which two distances are the same
_NORMAL = 1.959964  # 95 % of a normal distribution


def with_quorum(run: Run, weighing: Weighing) -> Weighing:
    """Return the weighing with the quorum that fits its weights, where truths need one."""
    if weighing.decision.decide:
        return weighing
    kernels, choices = run.choose_quorum(weighing.weight)
    if not choices:
        return weighing
    decide = partial(kernels.aggregate, ties=run.ties)
    return replace(weighing, decision=replace(weighing.decision, decide=decide, choices=choices))


def find_truths(
    run: Run,
    weighing: Weighing,
    *,
    unweighted: bool = False,
    keep_gold: bool = False,
    min_confidence: float | None = None,
    conclude: Callable[[Block, dict[str, Array]], dict[str, Array]] | None = None,
) -> TaskTable:
    """Find the truths of all tasks as the method decides them, and beside them those without weights if asked for.

    If gold is kept, the truths that are known stand in the place of those found.
    ``changed`` marks labels that differ because of the weights, ``tied`` those where a tie was broken, with weights or
    without, and ``drawn`` those where weights did not break it.
    Where truths are known, ``gold`` is how far the one found is from it, and NaN for all other tasks. Numbers have
    limits, ``low`` and ``high``, if the variances of workers are known. If truths must have some confidence,
    ``abstained`` tells which have less, and these count neither as changed nor as errors. ``conclude`` may add to what
    was found, or withhold more.
    """
    insight = weighing.insight
    variance = None if insight.faults is None else insight.faults.variance
    equal = run.choose_quorum(np.ones(run.problems.n_workers))[0] if unweighted else run.kernels
    kernel = partial(
        _decide,
        own=with_quorum(run, weighing).decide_on(run),
        by_rule=partial(equal.aggregate, ties=run.ties) if unweighted else None,
        kernels=run.kernels,
        gold=run.n_gold > 0,
        keep=run.encoding if keep_gold else None,
        limits=None if variance is None else partial(find_truth_limits, groups=insight.groups),
        least=min_confidence,
        conclude=conclude,
    )
    return run.find(kernel, *weighing.arguments, *(() if variance is None else (variance,)))


def find_posteriors(run: Run, weighing: Weighing) -> TaskTable:
    """Find how probable each class is, per task."""
    assert weighing.decision.probabilities is not None
    return run.find(weighing.decision.probabilities, *weighing.arguments)


def _decide(
    block: Block,
    weights: Floats,
    faults: Floats,
    *more: Floats,
    own: Decide,
    by_rule: Decide | None,
    kernels: Kernels,
    gold: bool,
    keep: Encoding | None,
    limits: Decide | None,
    least: float | None,
    conclude: Callable[[Block, dict[str, Array]], dict[str, Array]] | None,
) -> dict[str, Array]:
    found = own(block, weights, faults, *(more[:-1] if limits else more))
    if limits:
        found = {**found, **limits(block, weights, more[-1], found["label"], found["error"])}
    found = found if keep is None else keep_known(block, found, keep)
    labels = {"gold": found["label"]}
    if by_rule is not None:
        equal = by_rule(block, np.ones(block.n_workers), faults)
        found |= _compare(block, found, equal, kernels)
        labels["unweighted_gold"] = equal["label"]
    if gold:
        found |= {name: _gold_distance(block, label, kernels) for name, label in labels.items()}
    found = found if least is None else withhold(found, found["confidence"] < least)
    return found if conclude is None else conclude(block, found)


def _compare(block: Block, found: dict[str, Array], equal: dict[str, Array], kernels: Kernels) -> dict[str, Array]:
    """Tell which labels differ from the unweighted ones because of weights, and which because a tie was broken."""
    label, plain = found["label"], equal["label"]
    changed = np.array(kernels.differs(label, plain, kernels.scatter(block)))
    tasks = np.flatnonzero(changed & equal["tied"])
    if len(tasks):
        changed[tasks] = ~_as_close(block, tasks, label[tasks], plain[tasks], kernels)
    tied = (found["tied"] | (equal["tied"] & ~changed)) & ~found.get("known", np.zeros(block.n_tasks, bool))
    return {"unweighted": plain, "changed": changed, "tied": tied, "drawn": found["tied"]}


def _as_close(block: Block, tasks: Array, label: Array, plain: Array, kernels: Kernels) -> Array:
    """Tell for which tasks a label is as close to the answers, each counted the same, as the unweighted one is."""
    place = np.full(block.n_tasks, -1)
    place[tasks] = np.arange(len(tasks))
    rows = np.flatnonzero(place[block.task] >= 0)
    answers, where = kernels.restore_answers(block, rows), place[block.task][rows]
    far, least = (
        sum_by(where, np.nan_to_num(kernels.distance_between(answers, each[where])), len(tasks))
        for each in (label, plain)
    )
    return np.asarray(far <= least * (1 + _EQUAL) + _EQUAL)


def withhold(found: dict[str, Array], unsure: Array) -> dict[str, Array]:
    """Abstain from some truths, which count neither as changed nor as errors."""
    errors = {name: np.where(unsure, np.nan, column) for name, column in found.items() if name.endswith("gold")}
    changed = {"changed": found["changed"] & ~unsure} if "changed" in found else {}
    return {**found, **errors, **changed, "abstained": unsure}


def _gold_distance(block: Block, label: Array, kernels: Kernels) -> Floats:
    distance = np.full(block.n_tasks, np.nan)
    if len(block.gold_task):
        distance[block.gold_task] = kernels.distance_between(label[block.gold_task], kernels.restore_gold(block))
    return distance


def rank_correlation(run: Run, disparity: Floats) -> dict[str, Any]:
    """Say how well disparity predicts the mean distance to known truths: Spearman's correlation over workers.

    Its 95 % interval is Fisher's, with the variance of Bonett and Wright for ranks, (1 + r^2/2)/(n - 3).

    >>> import allalike
    >>> said = {"ada": "xyxyxy", "bob": "xyxyxx", "eve": "xyxyyy", "kim": "xxxyyy", "lea": "yyxxyx"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> found = allalike.discover(rows, gold=dict(enumerate("xyxyxy"))).summary["gold"]["disparity_predicts"]
    >>> found["rank_correlation"], found["workers"]
    (0.820783, 5)
    """
    sums = run.sum(run.kernels.gold_sums)
    asked = sums["answers"] >= _MIN_ANSWERS
    if len(run.problems.sizes) > 1 or asked.sum() < _MIN_WORKERS:
        return {}
    from scipy.stats import rankdata

    fault = sums["distance"][asked] / sums["answers"][asked]
    one, two = (rankdata(values) for values in (disparity[asked].round(12), fault.round(12)))
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        return {}
    r, n = float(np.corrcoef(one, two)[0, 1]), int(asked.sum())
    half = _NORMAL * np.sqrt((1 + r**2 / 2) / (n - 3))
    centre = np.arctanh(np.clip(r, -1 + 1e-9, 1 - 1e-9))
    low, high = np.tanh([centre - half, centre + half]).round(6).tolist()
    return {"disparity_predicts": {"rank_correlation": round(r, 6), "low": low, "high": high, "workers": n}}


def keep_known(block: Block, found: dict[str, Array], encoding: Encoding) -> dict[str, Array]:
    """Put known truths in place of those found, and mark them; one that nobody could have answered is left out."""
    truths = encoding.kernels.restore_gold(block)
    answered = ~encoding.is_unanswered(truths)
    task = block.gold_task[answered]
    known = np.zeros(block.n_tasks, bool)
    known[task] = True
    put = _put_known if encoding.fields is None else encoding.fields.put_known
    found = put(found, task, truths[answered])
    label = found["label"]
    certain = (("confidence", 1.0), ("within_one", 1.0), ("error", 0.0))
    sure = {name: np.where(known, value, found[name]) for name, value in certain if name in found}
    sure |= {name: np.where(known, label, found[name]) for name in ("low", "high") if name in found}
    return {**found, **sure, "tied": found["tied"] & ~known, "known": known}


def _put_known(found: Mapping[str, Array], task: Array, truths: Array) -> dict[str, Array]:
    """Return what was found for tasks with the truths that are known for some of them in place."""
    label = found["label"].copy()
    width = label.shape[1:]  # known truths of tasks that nobody answered may be longer
    label[task] = truths[(slice(None), *map(slice, width))]
    return {**found, "label": label}
