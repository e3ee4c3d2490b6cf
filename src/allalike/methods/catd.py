"""CATD: weigh by the inverse of an upper confidence limit of the variance.

Li et al. (2014). A worker with few answers may be close to them by luck. If her N_i errors against the answers are
Gaussian, her variance is below

    f_i = sum_j (s_ij - z_j)^2 / chi2(alpha/2, N_i)

with confidence 1 - alpha/2, and the weight is 1/f_i, in turn with new weighted means or votes.

It works on long tails, where most workers gave a few answers and a few workers most: a lucky beginner counts little. It
fails by repeating itself: who is close to the answers pulls them closer still, and with few tasks the weights end on
one worker. Fewer rounds are then better; with one round and complete answers it is P-TD-AK with ridge 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike._core.options import choice, number, whole
from allalike.methods.base import Method
from allalike.methods.crh import Losses
from allalike.methods.proximity import equal_weights, normalise, repeat

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run
    from allalike.methods.fit import Fit


@dataclass(frozen=True, kw_only=True)
class CATD(Method):
    """A method that alternates between answers and weights that are cautious where a worker answered little.

    Parameters
    ----------
    n_iter
        Maximum number of rounds; they end earlier if the weights no longer change.
    alpha
        The share of cases in which a confidence interval may miss.
    zero
        Treatment of a loss of zero, as in `allalike.CRH`.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0)]
    >>> allalike.discover(rows, domain="real", method=CATD()).workers["weight"].round(2).tolist()
    [0.0, 1.0, 0.0]
    """

    name: ClassVar[str] = "CATD"
    summary: ClassVar[str] = "the weight is the inverse of an upper confidence limit of the variance"
    needs: ClassVar[str] = "classes or numbers"
    n_iter: int = whole(15, least=1)
    alpha: float = number(0.05, least=1e-6, below=1)
    zero: str = choice("smooth", "clip")

    def serves(self, labels: Domain | Encoding) -> bool:
        """Ask for classes or numbers."""
        return labels.numeric or labels.n_classes is not None

    def fit(self, run: Run) -> Fit:
        """Weigh by confidence limits, round by round."""
        from scipy.special import gammaincinv

        losses = Losses(run, zero=self.zero)

        def step(weights: Floats) -> tuple[Floats, Floats]:
            loss, answers = losses(weights)
            limit = loss * answers / (2 * gammaincinv(answers / 2, self.alpha / 2))  # 2 P^-1(N/2, q): a chi2 quantile
            limit = losses.peers.comparable(limit)  # two workers are alike, however much each of them answered
            with np.errstate(divide="ignore", over="ignore"):
                return normalise(1.0 / limit), limit

        rounds = repeat(run, step, equal_weights(len(run.workers)), max_iter=self.n_iter, tol=5e-5)
        return rounds.fit(losses.peers)
