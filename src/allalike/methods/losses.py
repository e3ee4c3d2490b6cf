"""CRH and CATD: weights from the loss against the weighted labels, round by round.

**CRH** (Li et al., SIGMOD 2014). The weights minimise the weighted loss under the constraint sum_i exp(-w_i) = 1. If
L_i is the worker's mean loss against the weighted mean or vote,

    w_i = -log(L_i / sum_i L_i).

Weights and labels are updated alternately. CRH works if workers answer many tasks and differ little. The logarithm
keeps the weights within a small range, so CRH is rarely much worse than the unweighted labels. For the same reason, it
fails to profit from one very good worker among many bad ones, and to correct wrong initial labels.

**CATD** (Li et al., VLDB 2014). A worker with few answers may be close to the labels by chance. If the worker's N_i
errors are Gaussian, an upper confidence limit of their variance at level 1 - alpha/2 is

    f_i = sum_j (s_ij - z_j)^2 / chi2(alpha/2, N_i).

The weight is 1/f_i, updated alternately with weighted means or votes z_j. CATD works on long-tailed data, where most
workers gave few answers: such workers count little. It fails with few tasks, because of a feedback loop: a worker close
to the labels attracts them, until one worker has all the weight. Fewer rounds are then better. With one round and
complete answers, CATD equals P-TD-AK with ridge 4.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from allalike._core.blocks.block import Block, Floats, Kernel, Ties
from allalike._core.options import choice, flag, number, whole
from allalike.domains import Domain, Encoding, Kernels
from allalike.domains.contract import with_rule
from allalike.engines import Run
from allalike.errors import OptionError
from allalike.methods.base import Method
from allalike.methods.fit import Fit
from allalike.methods.proximity import Peers, equal_weights, fill_with_mean, loss_sums, normalise, repeat, smooth
from allalike.noise import peak

_PERFECT_LOSS, _DOMINANT_WEIGHT = 5e-5, 1e6  # for classes with zero="clip": a smaller loss outweighs all others
_MIN_LOSS, _MAX_LOSS = 1e-8, 1e8  # clipping of losses in the paper's code
_WORST_SHARE = 1 - 1e-12  # relative to the largest loss: rounding must not determine the worst worker


class Losses:
    """Mean losses per answer against the weighted labels."""

    def __init__(self, run: Run, *, zero: str, kernel: Kernel | None = None) -> None:
        self.run = run
        self.peers = Peers(run)
        self._zero = zero
        self._kernel = kernel or partial(loss_sums, kernels=run.kernels, ties=run.ties)

    def __call__(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return each worker's mean loss, made positive, and number of answers."""
        sums = self.run.sum(self._kernel, weights)
        loss = self.peers.comparable(sums["distance"] / sums["answers"])
        return self._positive(loss, sums["answers"]), sums["answers"]

    def _positive(self, loss: Floats, answers: Floats) -> Floats:
        """Replace losses of 0, whose inverse and logarithm are infinite."""
        if self._zero == "clip":
            return np.clip(loss * answers, _MIN_LOSS, _MAX_LOSS) / answers
        if self.run.encoding.numeric:
            return np.asarray(np.maximum(loss, _MIN_LOSS * fill_with_mean(loss).mean()))
        return smooth(loss, answers)


@dataclass(frozen=True, kw_only=True)
class LossMethod(Method):
    """A method for classes and numbers."""

    needs: ClassVar[str] = "classes or numbers"

    def serves(self, labels: Domain | Encoding) -> bool:
        """Return whether labels are classes or numbers."""
        return labels.numeric or labels.n_classes is not None


@dataclass(frozen=True, kw_only=True)
class CRH(LossMethod):
    """Weights that are logarithms of inverse losses, updated alternately with the labels.

    Parameters
    ----------
    normaliser
        Divisor of the losses before the logarithm: their ``sum``, or ``max``, which gives the worst worker weight 0.
    loss
        For numbers: ``squared`` with the weighted mean, or ``absolute`` with the weighted median.
    standardise
        For numbers: whether to divide a task's losses by the standard deviation of its answers.
    start
        For numbers: ``mean`` or ``median`` as initial labels.
    zero
        Treatment of a loss of 0. ``smooth`` adds half an answer with the mean loss (classes), or raises the loss to
        1e-8 of the mean (numbers). ``clip`` follows the code behind the paper's tables, where a worker without loss
        outweighs all others.
    max_iter, tol
        Maximum number of rounds, and relative change of the weights below which they end.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0)]
    >>> allalike.discover(rows, domain="real", method=CRH()).workers["weight"].round(2).tolist()
    [0.5, 0.5, 0.0]
    """

    name: ClassVar[str] = "CRH"
    summary: ClassVar[str] = "the weight is the logarithm of the inverse loss against the weighted labels"
    normaliser: str = choice("sum", "max")
    loss: str = choice("squared", "absolute")
    standardise: bool = flag(False)
    start: str = choice("mean", "median")
    zero: str = choice("smooth", "clip")
    max_iter: int = whole(15, least=1)
    tol: float = number(5e-5, least=0)

    def fit(self, run: Run) -> Fit:
        """Compute weights from losses, round by round."""
        encoding = self._encoding(run.encoding)
        losses = Losses(run, zero=self.zero, kernel=self._kernel(encoding.kernels, run.ties))

        def step(weights: Floats) -> tuple[Floats, Floats]:
            loss, _ = losses(weights)
            return self._weigh_losses(loss, encoding), loss

        start = equal_weights(len(run.workers))
        if self.start == "median":
            first = self._kernel(with_rule(encoding, "median").kernels, run.ties)
            loss, _ = Losses(run, zero=self.zero, kernel=first)(start)
            start = self._weigh_losses(loss, encoding)
        rounds = repeat(run, step, start, max_iter=self.max_iter, tol=self.tol)
        return rounds.fit(losses.peers, decide=partial(encoding.kernels.aggregate, ties=run.ties))

    def _encoding(self, encoding: Encoding) -> Encoding:
        """Return the encoding with the rule that belongs to the loss."""
        if not encoding.numeric and (self.loss != "squared" or self.standardise or self.start != "mean"):
            name = encoding.domain.name
            raise OptionError(
                f"loss, standardise and start of CRH need numbers, but these are {name} labels. Omit them."
            )
        return with_rule(encoding, "median") if self.loss == "absolute" else encoding

    def _kernel(self, kernels: Kernels, ties: Ties) -> partial[dict[str, Floats]]:
        if self.loss == "squared" and not self.standardise:
            return partial(loss_sums, kernels=kernels, ties=ties)
        absolute, standardise = self.loss == "absolute", self.standardise
        return partial(_number_losses, kernels=kernels, ties=ties, absolute=absolute, standardise=standardise)

    def _weigh_losses(self, loss: Floats, encoding: Encoding) -> Floats:
        """Return w_i = -log(L_i / sum_i L_i), or the same with the largest loss."""
        total = loss.sum() if self.normaliser == "sum" else peak(loss)
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.where(loss < _WORST_SHARE * total, np.log(total / loss), 0.0)
        if self.zero == "clip" and not encoding.numeric:
            weight = np.where(loss < _PERFECT_LOSS, _DOMINANT_WEIGHT, weight)
        return normalise(weight)


def _number_losses(
    block: Block, weights: Floats, *, kernels: Kernels, ties: Ties, absolute: bool, standardise: bool
) -> dict[str, Floats]:
    """Add up each worker's losses on numbers that are centred per task."""
    truth = kernels.decide(block, weights, np.zeros(block.n_workers), ties).label
    loss = np.abs(block.label - block.to_answers(truth))
    loss = loss if absolute else np.square(loss)
    if standardise:
        deviation = np.sqrt(block.per_task(np.square(block.label)) / block.sizes)
        loss = loss / block.to_answers(np.where(deviation > 0, deviation, 1.0))
    return {"distance": block.per_worker(loss), "answers": block.per_worker(np.ones(len(loss)))}


@dataclass(frozen=True, kw_only=True)
class CATD(LossMethod):
    """Weights from upper confidence limits of the variance, which are conservative for workers with few answers.

    Parameters
    ----------
    n_iter
        Maximum number of rounds; they end earlier if the weights converge.
    alpha
        Probability that the two-sided confidence interval misses the variance.
    zero
        Treatment of a loss of 0, as in `allalike.CRH`.

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0)]
    >>> allalike.discover(rows, domain="real", method=CATD()).workers["weight"].round(2).tolist()
    [0.0, 1.0, 0.0]
    """

    name: ClassVar[str] = "CATD"
    summary: ClassVar[str] = "the weight is the inverse of an upper confidence limit of the variance"
    n_iter: int = whole(15, least=1)
    alpha: float = number(0.05, least=1e-6, below=1)
    zero: str = choice("smooth", "clip")

    def fit(self, run: Run) -> Fit:
        """Compute weights from confidence limits, round by round."""
        from scipy.special import gammaincinv

        losses = Losses(run, zero=self.zero)

        def step(weights: Floats) -> tuple[Floats, Floats]:
            loss, answers = losses(weights)
            limit = loss * answers / (2 * gammaincinv(answers / 2, self.alpha / 2))  # 2 P^-1(N/2, q): a chi2 quantile
            limit = losses.peers.comparable(
                limit
            )  # two workers have equal limits, despite different numbers of answers
            with np.errstate(divide="ignore", over="ignore"):
                return normalise(1.0 / limit), limit

        rounds = repeat(run, step, equal_weights(len(run.workers)), max_iter=self.n_iter, tol=5e-5)
        return rounds.fit(losses.peers)
