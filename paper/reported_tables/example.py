"""Table 1: the running example, in which five workers answer four questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike.discover import discover
from allalike.errors import ConvergenceWarning
from allalike.methods import OA

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike.methods import Method

__all__ = ["EXAMPLE", "Answer", "solve_example"]

_TRUTH = np.array([80.0, 0.0, 40.0, -10.0])
_VARIANCES = (55.0, 80.0, 100.0, 120.0, 165.0)
_REPORTS = np.array([[81, 6, 41, -14], [89, -6, 35, 4], [105, -18, 39, -5], [68, 9, 62, -10], [67, 20, 58, -20]], float)
_OA = "OA, from the true variances"

# Errors as they should be. Those of the workers are printed, truncated after the first digit; the others were worked
# out apart from this library.
EXAMPLE = {
    "worker 1": 13.5,
    "worker 2": 84.5,
    "worker 3": 243.75,
    "worker 4": 177.25,
    "worker 5": 248.25,
    "UA": 14.71,
    _OA: 8.9331,
    "P-TD": 12.555,
    "P-TD(weighting='printed')": 16.724,
    "P-TD-AK(nonpositive='clip')": 13.5,
    "P-TD-AK": 11.870,
    "P-TD-AK(ridge=4)": 9.155,
    "iP-TD": 35.52,
}


class Answer(NamedTuple):
    """What someone says about the four questions, and how far it is from the truth: here, and as it should be."""

    name: str
    labels: Floats
    error: float
    expected: float


def solve_example() -> list[Answer]:
    """Solve the running example with every method of the table.

    >>> found = {answer.name: answer for answer in solve_example()}
    >>> found["UA"].labels.round(1).tolist(), round(found["UA"].error, 2)
    ([82.0, 2.2, 47.0, -9.0], 14.71)
    """
    labels = dict(zip(EXAMPLE, _REPORTS, strict=False))
    labels |= {name: _solve(_method(name)) for name in EXAMPLE if name not in labels}
    errors = {name: float(np.square(found - _TRUTH).mean()) for name, found in labels.items()}
    return [Answer(name, found, errors[name], EXAMPLE[name]) for name, found in labels.items()]


def _method(name: str) -> str | Method:
    return OA(faults=dict(enumerate(_VARIANCES))) if name == _OA else name


def _solve(method: Any) -> Floats:
    import warnings

    rows = [(worker, task, label) for (worker, task), label in np.ndenumerate(_REPORTS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        truth = discover(rows, domain="real", method=method).truth
    return truth["label"].to_numpy(np.float64)
