"""Answers of workers with known faults: a row per worker, a column per task."""

from typing import Any

import numpy as np
import numpy.typing as npt


def draw_one_coin(truth: Any, faults: Any, seed: int, classes: int) -> npt.NDArray[np.int64]:
    """Draw classes: a worker errs with the probability of their fault, and then takes any other class."""
    rng, shape = np.random.default_rng(seed), (len(faults), len(truth))
    wrong = rng.random(shape) < np.asarray(faults)[:, None]
    return np.asarray((truth + wrong * rng.integers(1, classes, shape)) % classes)


def draw_gaussian(truth: Any, variances: Any, seed: int) -> npt.NDArray[np.float64]:
    """Draw numbers: a worker's fault is the variance of their errors."""
    shape = len(variances), len(truth)
    return np.asarray(truth + np.sqrt(variances)[:, None] * np.random.default_rng(seed).standard_normal(shape))
