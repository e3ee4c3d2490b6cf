"""D-TD: who is close to the unweighted answer is close to the truth.

With squared distances and means it is no new method: d(s_i, mean) = (n-1)/n (pi_i - mubar) exactly, so with inverse
weights D-TD is P-TD-AK with ridge 4, and with max weights it is P-TD (Meir et al., 2023). With other labels the
unweighted answer is a rounded one, and what rounding loses the disparity still knows.

    f_i = mean over her answers of d(x_ij, z_j),   z_j = the unweighted answer to task j

It works where the unweighted answer is mostly right, and is the quickest of all. It fails where that is wrong, for all
else is measured against it; and with few workers, each of whom is a part of the answer that she is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike._core.options import choice, whole
from allalike.methods.base import Method, Rounds, Weighing
from allalike.methods.steps.peers import Peers
from allalike.methods.steps.weights import WEIGHTINGS, loss_sums, smooth, weigh_faults

if TYPE_CHECKING:
    from allalike.engines import Run


@dataclass(frozen=True, kw_only=True)
class DTD(Method):
    """A method whose fault is the distance to the unweighted answer.

    Parameters
    ----------
    weighting
        How a fault becomes a weight, as in `allalike.PTD`.
    rounds
        How often to aggregate and measure again, with the weights of the round before.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0)]
    >>> allalike.discover(rows, domain="real", method="D-TD").workers["fault"].tolist()
    [49.0, 36.0, 169.0]
    """

    name: ClassVar[str] = "D-TD"
    summary: ClassVar[str] = "distance: how far a worker is from the unweighted answer is the fault"
    weighting: str | None = choice(None, *WEIGHTINGS)
    rounds: int = whole(1, least=1)

    def weigh(self, run: Run) -> Weighing:
        """Weigh by the distance to the aggregate."""
        problems, model, peers = run.problems, run.encoding.noise, Peers(run)
        inverse = (self.weighting or model.weighting) == "inverse"
        weight = np.ones(problems.n_workers)
        for _ in run.rounds(self.rounds):
            sums = run.sum(partial(loss_sums, kernels=run.kernels, ties=run.ties), weight)
            known = sums["answers"] > 0  # of some answers the distance may be unknown
            fault = peers.comparable(np.where(known, sums["distance"], np.nan) / np.where(known, sums["answers"], 1.0))
            usable = smooth(fault, sums["answers"], problems) if inverse else fault
            weight = weigh_faults(usable, self.weighting, problems, model)
        return Weighing(disparity=peers.unweighted.mean, fault=fault, weight=weight, rounds=Rounds(self.rounds))
