"""UA: equal weights, the baseline of every other method.

    w_i = 1 / n   for n workers

The label is the majority vote, mean, median, medoid or another rule of the label type. By Condorcet's theorem (1785) a
vote on two classes becomes more accurate with every worker, if each is right more often than not and errs
independently. It works where workers are equally good, where there are two or three of them, and where too few tasks
tell them apart. It fails where a few know and many guess, or where some copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.methods.proximity import Peers, equal_weights

if TYPE_CHECKING:
    from allalike.engines import Run


@dataclass(frozen=True, kw_only=True)
class UA(Method):
    """The aggregation without weights; the faults are the disparities.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]
    >>> allalike.discover(rows, method=UA()).workers["weight"].round(3).tolist()
    [0.333, 0.333, 0.333]
    """

    name: ClassVar[str] = "UA"
    summary: ClassVar[str] = "unweighted aggregation: everyone counts the same"

    def fit(self, run: Run) -> Fit:
        """Return equal weights."""
        disparity = Peers(run).unweighted.mean
        return Fit(disparity=disparity, fault=disparity, weight=equal_weights(len(run.workers)))
