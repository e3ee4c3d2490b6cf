"""OA: optimal weights for workers with known errors, an upper bound on the accuracy of all methods.

    numbers:  w_i = 1 / f_i                            (Aitken 1935)
    classes:  w_i = log((1 - f_i)(k - 1) / f_i)        (Grofman, Owen and Feld 1983; k classes)

OA shows the largest gain that weights can achieve on these answers. It works if errors are known, from gold labels or
otherwise. The bound fails if errors depend on one another or on the task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from allalike._core.blocks.block import Floats
from allalike.engines import Run
from allalike.errors import GoldError, OptionError
from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.methods.proximity import Peers, fill_with_mean, normalise


@dataclass(frozen=True, kw_only=True)
class OA(Method):
    """Oracle aggregation: optimal weights under the noise model of the label type, from true faults.

    The weight is 1/f for numbers (Aitken 1935), log((1 - f)(k - 1) / f) for classes, and the distance to the worst
    worker for other labels.

    Parameters
    ----------
    faults
        True fault of each worker, by id (mode ``type``). Default: the mean distance to the gold labels of these tasks
        (mode ``realised``), which contains more information.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0)]
    >>> oracle = OA(faults={"ada": 1.0, "bob": 1.0, "eve": 8.0})
    >>> allalike.discover(rows, domain="real", method=oracle).truth["label"].tolist()
    [21.647...]
    """

    name: ClassVar[str] = "OA"
    summary: ClassVar[str] = "oracle aggregation: optimal weights for known errors or gold labels"
    faults: Mapping[Any, float] | None = field(default=None, repr=False)

    def fit(self, run: Run) -> Fit:
        """Compute weights from true faults."""
        fault = self._realised(run) if self.faults is None else self._type(run, self.faults)
        weight = normalise(run.encoding.noise.weight(fault))
        return Fit(disparity=Peers(run).unweighted.mean, fault=fault, weight=weight)

    def describe(self) -> dict[str, Any]:
        """Return the mode; the faults are in the table of workers."""
        return {"name": self.name, "options": {"mode": "realised" if self.faults is None else "type"}}

    def _type(self, run: Run, faults: Mapping[Any, float]) -> Floats:
        missing = [worker for worker in run.workers.tolist() if worker not in faults]
        if missing:
            raise OptionError(
                f"faults of OA lacks {len(missing)} workers, for example {missing[0]!r}. Add the fault of each worker."
            )
        values = np.array([faults[worker] for worker in run.workers.tolist()], np.float64)
        if not np.all(np.isfinite(values) & (values >= 0)):
            raise OptionError(
                "faults of OA contains an infinite, missing or negative number. Use numbers of at least 0."
            )
        return values

    def _realised(self, run: Run) -> Floats:
        sums = run.sum(run.kernels.gold_sums)
        if not sums["answers"].any():
            raise GoldError("OA needs gold labels (gold=) or the workers' true faults: OA(faults={worker: fault}).")
        known = sums["answers"] > 0
        fault = np.where(known, sums["distance"], np.nan) / np.where(known, sums["answers"], 1.0)
        return fill_with_mean(fault)
