"""Curve: how often truths are expected to be right with fewer answers to a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allalike._core.late import pd
from allalike.engines.sample import sample_tasks, thin_tasks
from allalike.errors import UnsupportedError

if TYPE_CHECKING:
    from allalike.engines import Run
    from allalike.methods import Weighing

__all__ = ["find_curve"]

_CURVE_ANSWERS, _CURVE_DRAWS = 20_000, 10


def find_curve(run: Run, weighing: Weighing, method: str) -> pd.DataFrame:
    """Return the expected accuracy for each number of answers a task, as `Result.curve` has it.

    >>> import allalike
    >>> crowd = allalike.simulate("one-coin(classes=3)", workers=5, tasks=50, seed=1)
    >>> allalike.discover(crowd.answers).curve().columns.tolist()
    ['answers_per_task', 'expected_accuracy']
    """
    expect = weighing.insight.expect
    if expect is None:
        raise UnsupportedError(f"{method} does not say how probably these truths are right. auto does, for classes.")
    sample = sample_tasks(run, _CURVE_ANSWERS, with_gold=False)
    most = int(np.median(np.concatenate([block.sizes for block in sample.blocks])))
    means = [
        np.mean([expect(thin_tasks(sample, number, seed)) for seed in range(_CURVE_DRAWS)])
        for number in range(1, most + 1)
    ]
    return pd.DataFrame({"answers_per_task": range(1, most + 1), "expected_accuracy": means})
