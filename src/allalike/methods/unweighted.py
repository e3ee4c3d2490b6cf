"""UA: everyone counts the same. What every other method is compared with.

    w_i = 1 / n   for n workers

With it a truth is the plain vote, mean, median, medoid or whatever else the domain's rule is. By Condorcet's theorem
(1785) a vote on two classes is right the more surely the more workers there are, if each is right more often than not
and errs by herself. It works where workers are equally good, where there are two or three of them, and where there are
so few tasks that nobody can be told from anybody. It fails where a few know and many guess, or where some copy.
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
        """Give everyone the same weight."""
        disparity = Peers(run).unweighted.mean
        return Fit(disparity=disparity, fault=disparity, weight=equal_weights(len(run.workers)))
