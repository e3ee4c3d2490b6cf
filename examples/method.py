"""SOFT: a method in one file, as anybody may write it. The weight falls exponentially with the disparity.

With the mean disparity m of the crowd and a sharpness s, w_i ~ exp(-s pi_i / m). Nobody is thrown away, and nobody
becomes a dictator; like all methods of proximity it fails where bad workers are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike import Method
from allalike.extending import number
from allalike.methods import Fit
from allalike.methods.proximity import Peers, normalise

if TYPE_CHECKING:
    from allalike.engines import Run


@dataclass(frozen=True, kw_only=True)
class Soft(Method):
    """A method that weighs by exp(-s pi_i / m)."""

    name: ClassVar[str] = "SOFT"
    summary: ClassVar[str] = "proximity: the weight falls exponentially with the disparity"
    sharpness: float = number(2.0, least=0)

    def fit(self, run: Run) -> Fit:
        """Weigh by disparity, relative to that of the crowd."""
        disparity = Peers(run).unweighted.mean
        with np.errstate(invalid="ignore"):
            weight = np.exp(-self.sharpness * disparity / disparity.mean())
        return Fit(disparity=disparity, fault=disparity, weight=normalise(weight))
