"""Labels of all tasks, and the facts of a summary: counts, settings, confidence, screening and error on gold labels."""

from __future__ import annotations

import platform
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.columns.values import text_column
from allalike._core.lazy_imports import pd
from allalike.methods.auto.gold_calibration import estimate_share_right
from allalike.methods.auto.uncertainty import NORMAL_QUANTILE
from allalike.result.tables import fault_columns, trust_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.columns.values import Values
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run, TaskTable
    from allalike.methods import Fit
    from allalike.methods.fit import CopyGroup, Decide


_MIN_ANSWERS = 3  # answers to gold tasks per worker
_MIN_WORKERS = 5
_EQUAL = 1e-9  # relative tolerance for equal distances
_NORMAL = 1.959964  # 97.5 % quantile of the normal distribution


def with_quorum(run: Run, fit: Fit) -> Fit:
    """Return the fit with a quorum chosen for its weights, if the aggregation rule needs one."""
    if fit.decide:
        return fit
    kernels, choices = run.choose_quorum(fit.weight)
    if not choices:
        return fit
    decide = partial(kernels.aggregate, ties=run.ties)
    return replace(fit, decide=decide, choices=choices)


def find_truths(
    run: Run,
    fit: Fit,
    *,
    unweighted: bool = False,
    keep_gold: bool = False,
    min_confidence: float | None = None,
    conclude: Callable[[Block, dict[str, Array]], dict[str, Array]] | None = None,
) -> TaskTable:
    """Estimate the label of each task with the method's weights, and on request also without weights.

    With ``keep_gold``, gold labels replace the estimates. ``changed`` marks labels that differ because of the weights,
    ``tied`` those for which a tie was broken with or without weights, and ``drawn`` those whose tie the weights did not
    break. ``gold`` is the distance to the gold label, NaN without one. Numbers have the interval ``low`` to ``high`` if
    the variances of workers are known. ``abstained`` marks labels below the minimum confidence; these count neither as
    changed nor as errors. ``conclude`` may add columns or withhold more labels.
    """
    equal = run.choose_quorum(np.ones(len(run.workers)))[0] if unweighted else run.kernels
    kernel = partial(
        _decide,
        own=with_quorum(run, fit).decide_on(run),
        by_rule=partial(equal.aggregate, ties=run.ties) if unweighted else None,
        kernels=run.kernels,
        gold=run.n_gold > 0,
        keep=run.encoding if keep_gold else None,
        intervals=run.encoding.numeric and fit.uncertainty is not None,
        least=min_confidence,
        conclude=conclude,
    )
    return run.find(kernel, *fit.arguments)


def find_posteriors(run: Run, fit: Fit) -> TaskTable:
    """Return the probability of each class per task."""
    assert fit.probabilities is not None
    return run.find(fit.probabilities, *fit.arguments)


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
    intervals: bool,
    least: float | None,
    conclude: Callable[[Block, dict[str, Array]], dict[str, Array]] | None,
) -> dict[str, Array]:
    found = own(block, weights, faults, *more)
    if intervals:
        width = _NORMAL * found["error"]
        found = {**found, "low": found["label"] - width, "high": found["label"] + width}
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
    """Mark labels that differ from the unweighted ones because of the weights, and labels with a broken tie."""
    label, plain = found["label"], equal["label"]
    changed = np.array(kernels.differs(label, plain, kernels.scatter(block)))
    tasks = np.flatnonzero(changed & equal["tied"])
    if len(tasks):
        changed[tasks] = ~_as_close(block, tasks, label[tasks], plain[tasks], kernels)
    tied = (found["tied"] | (equal["tied"] & ~changed)) & ~found.get("known", np.zeros(block.n_tasks, bool))
    return {"unweighted": plain, "changed": changed, "tied": tied, "drawn": found["tied"]}


def _as_close(block: Block, tasks: Array, label: Array, plain: Array, kernels: Kernels) -> Array:
    """Return whether each label is as close to the equally weighted answers as the unweighted label."""
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
    """Mark labels as abstained; they count neither as changed nor as errors."""
    errors = {name: np.where(unsure, np.nan, column) for name, column in found.items() if name.endswith("gold")}
    changed = {"changed": found["changed"] & ~unsure} if "changed" in found else {}
    return {**found, **errors, **changed, "abstained": unsure}


def _gold_distance(block: Block, label: Array, kernels: Kernels) -> Floats:
    distance = np.full(block.n_tasks, np.nan)
    if len(block.gold_task):
        distance[block.gold_task] = kernels.distance_between(label[block.gold_task], kernels.restore_gold(block))
    return distance


def rank_correlation(run: Run, disparity: Floats) -> dict[str, Any]:
    """Compute Spearman's correlation over workers between disparity and mean distance to gold labels.

    The 95 % interval is Fisher's, with the variance of Bonett and Wright for ranks, (1 + r^2/2)/(n - 3).
    """
    sums = run.sum(run.kernels.gold_sums)
    asked = sums["answers"] >= _MIN_ANSWERS
    if run.worker_task is not None or asked.sum() < _MIN_WORKERS:
        return {}
    fault = sums["distance"][asked] / sums["answers"][asked]
    one, two = (pd.Series(values.round(12)).rank().to_numpy() for values in (disparity[asked], fault))
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        return {}
    r, n = float(np.corrcoef(one, two)[0, 1]), int(asked.sum())
    half = _NORMAL * np.sqrt((1 + r**2 / 2) / (n - 3))
    centre = np.arctanh(np.clip(r, -1 + 1e-9, 1 - 1e-9))
    low, high = np.tanh([centre - half, centre + half]).round(6).tolist()
    correlation = {"rank_correlation": round(r, 6), "ci_low": low, "ci_high": high, "workers": n}
    return {"disparity_error_correlation": correlation}


def keep_known(block: Block, found: dict[str, Array], encoding: Encoding) -> dict[str, Array]:
    """Replace estimates by gold labels and mark them as known; gold labels that no answer can have are ignored."""
    truths = encoding.kernels.restore_gold(block)
    answered = ~encoding.is_unanswered(truths)
    task = block.gold_task[answered]
    known = np.zeros(block.n_tasks, bool)
    known[task] = True
    put = _put_known if encoding.fields is None else encoding.fields.insert_gold
    found = put(found, task, truths[answered])
    label = found["label"]
    certain = (("confidence", 1.0), ("within_one", 1.0), ("error", 0.0))
    sure = {name: np.where(known, value, found[name]) for name, value in certain if name in found}
    sure |= {name: np.where(known, label, found[name]) for name in ("low", "high") if name in found}
    return {**found, **sure, "tied": found["tied"] & ~known, "known": known}


def _put_known(found: Mapping[str, Array], task: Array, truths: Array) -> dict[str, Array]:
    """Replace the labels of some tasks by gold labels."""
    label = found["label"].copy()
    width = label.shape[1:]  # gold labels of unanswered tasks may be longer
    label[task] = truths[(slice(None), *map(slice, width))]
    return {**found, "label": label}


_MAX_NAMED = 20  # workers and groups that a summary names


def describe_answers(run: Run) -> dict[str, int]:
    """Count answers, workers and tasks for a summary."""
    return {"answers": int(run.answer_counts.sum()), "workers": len(run.workers), "tasks": run.n_tasks}


def find_versions() -> dict[str, str]:
    """Return the versions of allalike, Python and its libraries for a summary."""
    import pyarrow as pa

    from allalike import __version__

    return {
        "allalike": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }


def describe_confidence(run: Run, fit: Fit, found: TaskTable) -> dict[str, Any]:
    """Describe the confidence of the labels, and the mean and effective number of answers per task."""
    assert fit.uncertainty is not None
    assert fit.uncertainty.confidence is not None
    confidence = fit.uncertainty.confidence
    voices = {"effective_answers_per_task": found.mean("voices")} if "error_correlation" in confidence else {}
    per_task = {**voices, "answers_per_task": int(run.answer_counts.sum()) / run.n_tasks}
    mean = found.mean("confidence")
    if "estimated_from" in confidence and confidence["estimated_from"] != "answers" and np.isfinite(mean):
        confidence = {**confidence, **estimate_share_right(mean, fit.uncertainty.share_se)}
    trust = {} if fit.uncertainty.trust is None else {"trust": fit.uncertainty.trust}
    return dict(_rounded({**confidence, "mean": mean, **trust, **per_task}))


def _rounded(value: Any) -> Any:
    """Round all numbers to six digits, because further digits depend on the order of additions."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value


def summarise(run: Run, fit: Fit, found: TaskTable, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a summary except the error on gold labels and the data warnings."""
    known = fit.uncertainty
    summary = {
        **describe_answers(run),
        **settings,
        "iterations": fit.iterations,
        "converged": fit.converged,
        "changed": int(found.total("changed")),
        "tied": int(found.total("tied")),
        **({"abstained": int(found.total("abstained"))} if "min_confidence" in settings else {}),
        **({"confidence": describe_confidence(run, fit, found)} if known and known.confidence else {}),
        **({"model": _rounded(fit.notes)} if fit.notes else {}),
        **({"screening": _rounded(trust)} if (trust := _describe_screening(run, fit)) else {}),
        "effective_workers": float((1 if run.worker_task is None else run.n_tasks) / np.square(fit.weight).sum()),
        **run.notes,
    }
    return {**summary, "versions": find_versions()}


def compare_with_gold(run: Run, fit: Fit, found: TaskTable) -> dict[str, Any]:
    """Return the error on gold labels that were not used for estimation, and its correlation with disparity."""
    errors = {"error": found.mean("gold"), "unweighted_error": found.mean("unweighted_gold")}
    return {**errors, **rank_correlation(run, fit.disparity)}


def group_columns(run: Run, fit: Fit) -> dict[str, Values | Array]:
    """Return the columns of the table of groups: kind, members and evidence."""
    groups = () if fit.copy_groups is None else fit.copy_groups.groups
    rows = [_describe_group(run, group) for group in groups]

    def numbers(name: str, kind: type[np.generic] = np.int64) -> Array:
        return np.array([row[name] for row in rows], kind)

    return {
        "copy_group": np.arange(1, len(rows) + 1),
        "kind": text_column([row["kind"] for row in rows]),
        "size": numbers("size"),
        "members": text_column(["; ".join(map(str, row["members"])) for row in rows]),
        **{name: numbers(name) for name in ("common_tasks", "shared_rare")},
        **{name: numbers(name, np.float64) for name in ("fidelity", "p_value")},
    }


def _describe_group(run: Run, group: CopyGroup) -> dict[str, Any]:
    """Describe a copy group or a group of similar workers."""
    return {
        "kind": "copies" if group.copies else "similar",
        "members": [run.workers[number] for number in group.members],
        "size": len(group.members),
        "common_tasks": group.common,
        "shared_rare": group.rare,
        "fidelity": None if np.isnan(group.fidelity) else group.fidelity,
        "p_value": group.p_value,
    }


def _describe_screening(run: Run, fit: Fit) -> dict[str, Any]:
    """Describe copy groups, similar workers and uninformative workers, with the evidence."""
    trust, groups = trust_columns(fit), fit.copy_groups
    if not trust or groups is None:
        return {}
    answers, empty = run.answer_counts, np.flatnonzero(np.asarray(trust["uninformative"]))
    evidence = ("informativeness", "informativeness_se")
    named = [
        {"worker": run.workers[int(i)], **{name: float(trust[name][i]) for name in evidence}}
        for i in empty[np.argsort(-answers[empty], kind="stable")][:_MAX_NAMED]
    ]
    described = [_describe_group(run, group) for group in groups.groups]
    flagged = _describe_worse(run, fit)
    parts = {}
    if groups.component is not None and groups.n_components > 1:
        sizes = np.unique(groups.component, return_counts=True)[1]
        parts = {"components": {"number": len(sizes), "largest": int(sizes.max())}}
    return {
        **parts,
        "uninformative": {
            "workers": len(empty),
            "share_of_answers": float(answers[empty].sum() / answers.sum()),
            "named": named,
        },
        **({"flagged": flagged} if flagged else {}),
        "groups": [{**each, "members": each["members"][:_MAX_NAMED]} for each in described[:_MAX_NAMED]],
        "n_groups": {kind: sum(each["kind"] == kind for each in described) for kind in ("copies", "similar")},
    }


class Worse(NamedTuple):
    """Unit and mean of the crowd's error, and the evidence about workers with a significantly larger error."""

    unit: str
    mean: float
    evidence: dict[int, dict[str, float]]


def find_worse(run: Run, fit: Fit) -> Worse | None:
    """Detect informative workers with enough answers and a significantly larger error than the crowd."""
    faults = fit.uncertainty
    if faults is None or faults.uninformative is None or run.worker_task is not None:
        return None
    columns = fault_columns(fit, faults)
    fault, low, high = (columns[name] for name in (faults.unit, "ci_low", "ci_high"))
    counts = np.where(np.isfinite(fault), faults.shared, 0.0)
    if not counts.sum():
        return None
    mean = float((counts * np.nan_to_num(fault)).sum() / counts.sum())
    relative, error = faults.relative_error, faults.relative_se
    if relative is None or error is None:
        relative = error = np.full(len(low), np.nan)
    with np.errstate(invalid="ignore"):
        clear = (low > mean) | (np.isnan(low) & (relative > NORMAL_QUANTILE * error))
    workers = np.flatnonzero(clear & ~faults.few & ~faults.uninformative).tolist()
    known = {"ci_low": low, "ci_high": high, "relative_error": relative}
    evidence = {i: {name: float(each[i]) for name, each in known.items() if np.isfinite(each[i])} for i in workers}
    return Worse(faults.unit, mean, evidence)


def _describe_worse(run: Run, fit: Fit) -> dict[str, Any]:
    """Describe the workers with the largest errors."""
    found = find_worse(run, fit)
    if found is None or not found.evidence:
        return {}
    order = sorted(found.evidence.items(), key=lambda pair: -pair[1].get("ci_low", pair[1].get("relative_error", 0.0)))
    named = [{"worker": run.workers[number], **known} for number, known in order[:_MAX_NAMED]]
    return {"workers": len(found.evidence), "unit": found.unit, "crowd": found.mean, "named": named}
