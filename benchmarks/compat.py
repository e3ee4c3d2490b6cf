"""Measure crowd-kit's aggregators beside those of `allalike.compat.crowdkit`, on 89,799 real answers (`bench_adult`).

Those that are only methods here are measured beside `allalike.discover`, on 8,000 answers (`snow_rte`). All ratios are
of CPU time, taken in one run, with the usual options of either library and the best of three times, or once.
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import allalike
from allalike.datasets import load
from public_data import use_data_beside_the_clone

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("MajorityVote", "Wawa", "ZeroBasedSkill", "DawidSkene", "OneCoinDawidSkene")
METHODS = ("GLAD", "MACE")


def main() -> None:
    """Print a line for each aggregator: CPU seconds of both, and their ratio."""
    use_data_beside_the_clone()
    theirs, ours = import_module("crowdkit.aggregation"), import_module("allalike.compat.crowdkit")
    frame = _frame("bench_adult")
    print(f"{len(frame):,} answers, CPU seconds")
    for name in NAMES:
        _tell(name, *(_measure(getattr(library, name)().fit, frame, 3) for library in (theirs, ours)))
    frame = _frame("snow_rte")
    print(f"{len(frame):,} answers, CPU seconds")
    for name in METHODS:
        here = _measure(partial(allalike.discover, method=name), frame, 3)
        _tell(name, _measure(getattr(theirs, name)().fit, frame, 1), here)


def _frame(name: str) -> pd.DataFrame:
    answers = load(name).answers
    return pd.DataFrame(
        {
            "task": np.repeat(answers.tasks.tolist(), np.diff(answers.starts)),
            "worker": pd.Series(answers.workers.tolist())[answers.worker].to_numpy(),
            "label": answers.encoding.decode(answers.label).tolist(),
        }
    )


def _tell(name: str, theirs: float, here: float) -> None:
    print(f"{name:18} crowd-kit {theirs:6.2f}   here {here:6.3f}   ratio {theirs / here:5.1f}")


def _measure(fit: Callable[[pd.DataFrame], Any], frame: pd.DataFrame, times: int) -> float:
    spent = []
    for _ in range(times):
        copy, start = frame.copy(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit(copy)
        spent.append(time.process_time() - start)
    return min(spent)


if __name__ == "__main__":
    main()
