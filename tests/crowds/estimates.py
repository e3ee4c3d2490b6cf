"""What many draws say: means within their standard errors, and how much better one method is than another."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def near(samples: Floats, expected: npt.ArrayLike) -> None:
    """Check that means along the first axis are within four standard errors of what is expected."""
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    off = np.abs(samples.mean(axis=0) - np.asarray(expected)) / error
    assert np.all(off < 4), off


def square(x: Floats) -> Any:
    """Return the mean square along the last axis."""
    return np.square(x).mean(axis=-1)


def improvement(error: npt.NDArray[Any], unweighted: npt.NDArray[Any]) -> Floats:
    """Return relative improvements in percent; repetitions without any error do not count."""
    counts = error + unweighted > 0
    return np.asarray(100 * (error - unweighted)[counts] / (error + unweighted)[counts])


def vote_errors(score: Floats, truth: npt.NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Return how often the sign of a score is not the true one of two classes, by repetition; ties are drawn."""
    coin = rng.random(score.shape) < 0.5
    return np.asarray((np.where(np.abs(score) < 1e-9, coin, score > 0) != truth).mean(axis=1))
