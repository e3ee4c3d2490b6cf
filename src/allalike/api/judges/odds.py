"""Odds: confidences that known truths mend, by a line through their log odds.

A confidence p that is too sure, or too low, becomes the probability with

    logit(p') = shift + slope logit(p),

whose two numbers are those under which labels that are known to be right or wrong are most likely (Platt: Probabilistic
outputs for support vector machines. 1999), with a normal prior around no change, shift 0 and slope 1, of variance 1: so
a few truths, or labels that all are right, do not make anything certain. One shift and one slope cannot mend what is
wrong in another way on hard tasks than on easy ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Floats

__all__ = ["OddsLine", "fit_line", "mend"]

_CERTAIN = 1e-9  # by how much a probability differs from 0 and from 1, before its odds are taken
_STEPS = 50
_CONVERGED = 1e-10
_MAX_STEP = 2.0


class OddsLine(NamedTuple):
    """A line through log odds; without one, confidences stay what they are."""

    shift: float = 0.0
    slope: float = 1.0


def fit_line(confidence: Floats, hit: npt.NDArray[np.bool_]) -> OddsLine:
    """Return the line under which labels are most likely right and wrong as they are.

    >>> line = fit_line(np.full(1000, 0.9), np.arange(1000) < 750)
    >>> mend(np.array([0.9]), line).round(3)
    array([0.75])
    """
    logit = _logit(confidence)
    design, line, prior = np.column_stack([np.ones(len(logit)), logit]), np.array(OddsLine()), np.array(OddsLine())
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-design @ line))
        gradient = design.T @ (hit - p) - (line - prior)
        curvature = design.T @ (design * (p * (1 - p))[:, None]) + np.eye(2)
        step = np.clip(np.linalg.solve(curvature, gradient), -_MAX_STEP, _MAX_STEP)
        line = line + step
        if np.abs(step).max() < _CONVERGED:
            break
    return OddsLine(float(line[0]), max(float(line[1]), 0.0))


def mend(confidence: Floats, line: OddsLine) -> Floats:
    """Return the probabilities whose log odds lie on the line.

    >>> mend(np.array([0.5, 0.8]), OddsLine(0.0, 0.5)).round(3), mend(np.array([0.3]), OddsLine())
    (array([0.5  , 0.667]), array([0.3]))
    """
    if line == OddsLine():
        return confidence
    mended: Floats = 1 / (1 + np.exp(-(line.shift + line.slope * _logit(confidence))))
    return mended


def _logit(confidence: Floats) -> Floats:
    sure = np.clip(confidence, _CERTAIN, 1 - _CERTAIN)
    odds: Floats = np.log(sure) - np.log1p(-sure)
    return odds
