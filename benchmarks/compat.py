"""Measure crowd-kit's aggregators beside those of `allalike.compat.crowdkit`, on 89,799 real answers (`bench_adult`).

All ratios are of CPU time, taken in one run, with the usual options of crowd-kit and the best of three times.
"""

from __future__ import annotations

import time
import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from allalike.datasets import load
from public_data import use_data_beside_the_clone

NAMES = ("MajorityVote", "Wawa", "ZeroBasedSkill", "DawidSkene", "OneCoinDawidSkene")


def main() -> None:
    """Print a line for each aggregator: CPU seconds of both, and their ratio."""
    use_data_beside_the_clone()
    answers = load("bench_adult").answers
    frame = pd.DataFrame(
        {
            "task": np.repeat(answers.tasks.tolist(), np.diff(answers.starts)),
            "worker": pd.Series(answers.workers.tolist())[answers.worker].to_numpy(),
            "label": answers.encoding.decode(answers.label).tolist(),
        }
    )
    theirs, ours = import_module("crowdkit.aggregation"), import_module("allalike.compat.crowdkit")
    print(f"{len(frame):,} answers, CPU seconds")
    for name in NAMES:
        spent = [_measure(getattr(library, name), frame) for library in (theirs, ours)]
        print(f"{name:18} crowd-kit {spent[0]:6.2f}   here {spent[1]:6.3f}   ratio {spent[0] / spent[1]:5.1f}")


def _measure(aggregator: Any, frame: pd.DataFrame) -> float:
    spent = []
    for _ in range(3):
        copy, start = frame.copy(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            aggregator().fit(copy)
        spent.append(time.process_time() - start)
    return min(spent)


if __name__ == "__main__":
    main()
