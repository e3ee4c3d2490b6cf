"""Calibration: what is taken away from each worker's answers before anybody is weighed, such as her bias."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from allalike.engines import Run

__all__ = ["calibrate"]


def calibrate(run: Run) -> Run:
    """Return the run over answers without what is each worker's own, if the domain estimates such a thing.

    >>> import allalike
    >>> rows = [("ada", 1, 2.0), ("bob", 1, 4.0), ("ada", 2, 3.0), ("bob", 2, 5.0)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain=allalike.Real(bias=True)))
    >>> calibrate(run).unweighted_peer_sums["distance"].round(9)
    array([0., 0.])
    """
    encoding = run.encoding.calibrate(run.sum, run.problems)
    return run if encoding is run.encoding else replace(run.map(encoding.correct), encoding=encoding)
