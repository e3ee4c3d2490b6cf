"""Functions: what is known of the workers of a label matrix, under the names that Snorkel's LFAnalysis has.

Of all tasks, those on which no function says anything among them: the coverage of a function is the share on which it
says something, its overlaps the share on which another one does, too, and its conflicts the share on which another one
says something else. Its polarity is the labels that it ever gives.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.columns.values import Values, text_column

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.engines import Run

__all__ = ["function_columns"]


def function_columns(run: Run) -> dict[str, Values | Array]:
    """Return polarity, coverage, overlaps and conflicts of the workers of a label matrix.

    >>> import allalike
    >>> result = allalike.discover(np.array([[0, -1, 0], [1, 0, 1], [-1, -1, 1], [-1, -1, -1]]), method="UA")
    >>> table = function_columns(result.run)
    >>> [column.tolist() for column in table.values()]
    [['0, 1', '0', '0, 1'], [0.5, 0.25, 0.75], [0.5, 0.25, 0.5], [0.25, 0.25, 0.25]]
    """
    if not run.encoding.nominal:
        return {}
    sums, n_tasks = run.sum(partial(_count, n_labels=run.encoding.n_labels)), run.n_tasks + run.notes["silent"]
    names = np.array(run.encoding.decode(np.arange(run.encoding.n_labels)).tolist(), dtype=object)
    shares = {name: sums[name] / n_tasks for name in ("overlaps", "conflicts")}
    polarity = text_column([", ".join(map(str, names[given > 0])) for given in sums["labels"]])
    return {"polarity": polarity, "coverage": run.answer_counts / n_tasks, **shares}


def _count(block: Block, *, n_labels: int) -> dict[str, Floats]:
    """Count the answers of workers to tasks that others answered, that others answered otherwise, and to each label."""
    mixed = np.minimum.reduceat(block.label, block.starts) < np.maximum.reduceat(block.label, block.starts)
    cell = block.worker * n_labels + block.label
    return {
        "overlaps": block.per_worker(block.to_answers(block.sizes > 1).astype(np.float64)),
        "conflicts": block.per_worker(block.to_answers(mixed).astype(np.float64)),
        "labels": np.bincount(cell, minlength=block.n_workers * n_labels).reshape(-1, n_labels).astype(np.float64),
    }
