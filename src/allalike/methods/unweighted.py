"""UA: unweighted aggregation, the baseline for all other methods.

    w_i = 1 / n   for n workers

The label is the majority vote, mean, median, medoid or result of another rule of the label type. Under Condorcet's jury
theorem (1785), a majority vote on two classes gains accuracy with each pair of additional workers, if workers err
independently of each other and less than half of the time. UA works if workers are equally good, if there are only two
or three, or if there are too few tasks to distinguish them. It fails if a few workers know the answer and many guess,
or if workers copy.
"""

from dataclasses import dataclass
from typing import ClassVar

from allalike.engines import Run
from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.methods.proximity import Peers, equal_weights


@dataclass(frozen=True, kw_only=True)
class UA(Method):
    """Unweighted aggregation; the faults are the disparities.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]
    >>> allalike.discover(rows, method=UA()).workers["weight"].round(3).tolist()
    [0.333, 0.333, 0.333]
    """

    name: ClassVar[str] = "UA"
    summary: ClassVar[str] = "unweighted aggregation: all workers count the same"

    def fit(self, run: Run) -> Fit:
        """Return equal weights."""
        disparity = Peers(run).unweighted.mean
        return Fit(disparity=disparity, fault=disparity, weight=equal_weights(len(run.workers)))
