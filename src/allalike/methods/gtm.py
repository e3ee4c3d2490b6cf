"""GTM: a Gaussian model with priors on true values and on the workers' variances.

In Zhao and Han (2012), the answers to each task are standardised: x = (s - median) / standard deviation. The true value
is Gaussian with mean mu0 and variance s0. A worker's variance sigma_i^2 has an inverse gamma prior with parameters
alpha and beta. GTM alternates between

    sigma_i^2 = (2 beta + sum_j (x_ij - mu_j)^2) / (2 (alpha + 1) + N_i),
    mu_j = (mu0 / s0 + sum_i x_ij / sigma_i^2) / (1 / s0 + sum_i 1 / sigma_i^2).

The prior shrinks variances towards a common value, so with few answers the result is close to the unweighted mean. GTM
works if errors are Gaussian and the spread of answers differs between tasks. It fails with outliers, which increase the
standard deviation of their task, and if all workers share a bias.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, Ties
from allalike._core.options import number, whole
from allalike.domains import Domain, Encoding, Kernels
from allalike.engines import Run
from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.methods.proximity import Peers, normalise, repeat
from allalike.rules.base import unknown
from allalike.rules.mean import median

_OVERWHELMING_PRECISION = 1e100  # makes the prior negligible


@dataclass(frozen=True, kw_only=True)
class GTM(Method):
    """A Gaussian model: the most probable values and variances.

    The fault is the variance of a worker's standardised errors. The standard error of a label is the standard deviation
    of its posterior.

    Parameters
    ----------
    alpha, beta
        Parameters of the inverse gamma prior of variances, whose mode is beta / (alpha + 1).
    mu0, s0
        Mean and variance of the prior of standardised true values.
    max_iter, tol
        Maximum number of rounds, and relative change of the precisions below which they end.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0)]
    >>> allalike.discover(rows, domain="real", method=GTM()).truth[["label", "standard_error"]].round(2).values.tolist()
    [[24.59, 5.62]]
    """

    name: ClassVar[str] = "GTM"
    summary: ClassVar[str] = "Gaussian model with priors on true values and on the workers' variances"
    needs: ClassVar[str] = "numbers"
    alpha: float = number(10.0, least=0)
    beta: float = number(20.0, least=1e-12)
    mu0: float = number(0.0, least=-1e12)
    s0: float = number(1.0, least=1e-12)
    max_iter: int = whole(15, least=1)
    tol: float = number(5e-5, least=0)

    def serves(self, labels: Domain | Encoding) -> bool:
        """Return whether labels are numbers."""
        return labels.numeric

    def fit(self, run: Run) -> Fit:
        """Estimate variances, round by round."""
        standard, peers = run.map(standardise), Peers(run)

        def step(precision: Floats) -> tuple[Floats, Floats]:
            sums = standard.sum(self._squares, precision)
            # sigma_i^2 = (2 beta + sum_j (x_ij - mu_j)^2) / (2 (alpha + 1) + N_i)
            variance = (2 * self.beta + sums["square"]) / (2 * (self.alpha + 1) + sums["answers"])
            return 1.0 / variance, variance

        start = np.full(len(run.workers), _OVERWHELMING_PRECISION)
        rounds = repeat(run, step, start, max_iter=self.max_iter, tol=self.tol)
        fault = peers.comparable(rounds.fault)
        return rounds.fit(
            peers,
            fault=fault,
            weight=normalise(1.0 / fault),
            decide=partial(self._decide, kernels=run.kernels),
            parameters=(rounds.state,),
        )

    def _posterior(self, block: Block, precision: Floats) -> tuple[Floats, Floats]:
        """Return the posterior mean of each task's standardised value, and its precision."""
        own = precision.take(block.worker)
        total = 1 / self.s0 + block.per_task(own)
        # mu_j = (mu0 / s0 + sum_i x_ij / sigma_i^2) / (1 / s0 + sum_i 1 / sigma_i^2)
        mean: Floats = (self.mu0 / self.s0 + block.per_task(own * block.label)) / total
        return mean, total

    def _squares(self, block: Block, precision: Floats) -> dict[str, Floats]:
        mean, _ = self._posterior(block, precision)
        square = np.square(block.label - block.to_answers(mean))
        return {"square": block.per_worker(square), "answers": block.per_worker(np.ones(len(square)))}

    def _decide(
        self, block: Block, weights: Floats, faults: Floats, precision: Floats, *, kernels: Kernels
    ) -> dict[str, Array]:
        standard = standardise(block)
        mean, total = self._posterior(standard, precision)
        scale, middle = standard[Standard].deviation, standard[Standard].median
        return {
            "label": kernels.restore(block, mean * scale + middle),
            "confidence": unknown(block.n_tasks),
            "error": np.where(scale > 0, scale, np.nan) / np.sqrt(total),  # unknown if all answers agree
            "tied": np.zeros(block.n_tasks, np.bool_),
        }


@dataclass(frozen=True)
class Standard:
    """Standard deviation and median of each task's answers."""

    deviation: Floats
    median: Floats


def standardise(block: Block) -> Block:
    """Subtract each task's median from its numbers, and divide by its standard deviation.

    >>> from allalike._core.blocks.block import Block
    >>> standardise(Block.of([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])).label.round(4)
    array([-1.2247,  0.    ,  1.2247,  0.    ,  0.    ,  0.    ])
    """
    middle = median(block, np.ones(block.n_workers), np.zeros(block.n_workers), Ties()).label
    mean = block.per_task(block.label) / block.sizes
    deviation = np.sqrt(block.per_task(np.square(block.label - block.to_answers(mean))) / block.sizes)
    label = (block.label - block.to_answers(middle)) / block.to_answers(np.where(deviation > 0, deviation, 1.0))
    return replace(block, label=label).keeping(Standard(deviation, middle))
