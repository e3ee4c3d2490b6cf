"""Monotony: workers who always give the same answer, and not because almost everybody does.

With the codes c of a worker's n classes, S = sum c and Q = sum c^2, all codes are m = S/n if and only if m is whole and
Q = n m^2, for then their variance is 0. These are two sums per worker, exact in whole numbers up to 2^53, however many
classes there are. Who gives a class of share s in all answers each time does so by chance with probability s^n, if her
answers are drawn like everybody's; only what is less probable than 1 % is a reason to look at her. So a class that
nearly everybody names makes nobody suspicious, and a few answers neither.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import Block, Floats, sum_by
from allalike.api.agreement.label_totals import count_labels

if TYPE_CHECKING:
    from allalike.engines import Run

__all__ = ["find_monotonous"]

_MAX_LABELS = 1 << 12  # whose squares can be added up without rounding
_LEAST_CHANCE = 0.01


def find_monotonous(run: Run) -> dict[int, Any]:
    """Return the workers who always give the same class, each with it; nobody where labels are no classes.

    >>> import allalike
    >>> said = {"ada": "xyzxyzxyzx", "bob": "xyzxyzxyzz", "eve": "zzzzzzzzzz"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> find_monotonous(allalike.discover(rows).run)
    {2: 'z'}
    """
    n_labels = run.encoding.n_labels
    if run.encoding.n_classes is None or not 1 < n_labels <= _MAX_LABELS:
        return {}
    sums, answers = run.sum(_add_codes), np.maximum(run.answer_counts, 1)
    code = np.rint(sums["code"] / answers)
    same = (sums["code"] == answers * code) & (sums["square"] == answers * np.square(code))
    if not (same & (run.answer_counts > 0)).any():
        return {}
    share = run.total(partial(count_labels, n_labels=n_labels))["share"] / run.n_tasks
    rare = np.minimum(share[code.astype(np.intp)], 1.0) ** answers < _LEAST_CHANCE
    found = np.flatnonzero(same & rare & (run.answer_counts > 0))
    labels = run.encoding.decode(code[found].astype(np.intp)).tolist()
    return dict(zip(found.tolist(), labels, strict=True))


def _add_codes(block: Block) -> dict[str, Floats]:
    """Add up the codes of each worker's classes, and their squares."""
    code = block.label.astype(np.float64)
    return {
        "code": sum_by(block.worker, code, block.n_workers),
        "square": sum_by(block.worker, np.square(code), block.n_workers),
    }
