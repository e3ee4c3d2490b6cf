"""Known truths: what they say of a method's promise, and how they stand in the output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Encoding
    from allalike.engines import Run

__all__ = ["keep_known", "rank_correlation"]

_MIN_ANSWERS = 3  # of a worker to tasks whose truth is known
_MIN_WORKERS = 5
_NORMAL = 1.959964  # 95 % of a normal distribution


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
