"""P-TD, P-TD-AK and iP-TD: who is close to the others is close to the truth.

Meir et al. (2023). Three steps: every worker's disparity pi_i, her average distance to the others
(`allalike.methods.steps.peers`); from it her fault f_i; from the fault her weight. The methods differ in the last two
steps.

    P-TD:     f_i = pi_i,   w_i = max(f) - f_i, or 1 / f_i for numbers
    P-TD-AK:  f_i = pi_i - mu (numbers),  (pi_i - mu) / (1 - k / (k - 1) mu) (k classes),   w_i as in `OA`
    iP-TD:    pi_i = sum_j w_j d_ij / sum_j w_j,   again and again with the weights of the round before

with mu the mean fault of the crowd, half the mean distance of two workers (`allalike.noise.Gaussian` and
`allalike.noise.OneCoin` have the exact forms). P-TD and iP-TD work with every kind of label that has a distance, in one
pass or a few; P-TD-AK needs labels whose noise is known, and works best with many tasks. With few workers ``max``
hurts:
the last one counts nothing. They fail where the bad workers
are alike: copies of one bad worker, or a shared mistake of the majority, look like agreement. With two workers both
have the same disparity, and every method here gives them the same weight.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from allalike._core.options import choice, flag, number, whole
from allalike.errors import OptionError
from allalike.methods.base import Method, Weighing
from allalike.methods.steps.peers import Peers
from allalike.methods.steps.rounds import repeat
from allalike.methods.steps.weights import WEIGHTINGS, below_worst, equal_weights, normalise, weigh_faults

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run
    from allalike.noise import Noise


@dataclass(frozen=True, kw_only=True)
class PTD(Method):
    """Proximity: the disparity itself is the fault (the paper's P-TD^D).

    Parameters
    ----------
    weighting
        How a fault becomes a weight. ``max``: the distance to the worst worker, who gets nothing. ``inverse``: 1/f.
        ``chance``: the distance to a worker who guesses. ``printed``: as the paper prints it, which is ``max`` for
        all labels. By default ``max``, and ``inverse`` for numbers, where dropping the worst of few workers hurts.
    per_pair
        Whether every peer counts once, and not every pair of answers.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "z"), ("bob", 2, "x"), ("eve", 2, "y")]
    >>> allalike.discover(rows, method="P-TD").workers["weight"].tolist()
    [0.5, 0.5, 0.0]
    """

    name: ClassVar[str] = "P-TD"
    summary: ClassVar[str] = "proximity: the average distance to the others is the fault"
    weighting: str | None = choice(None, *WEIGHTINGS)
    per_pair: bool = flag(False)

    def weigh(self, run: Run) -> Weighing:
        """Weigh by disparity."""
        disparity = Peers(run, per_pair=self.per_pair).unweighted.mean
        weight = weigh_faults(disparity, self.weighting, run.problems, run.encoding.noise)
        return Weighing(disparity=disparity, fault=disparity, weight=weight)


@dataclass(frozen=True, kw_only=True)
class PTDAK(Method):
    """Proximity with the fault behind the disparity, and the weights that are best under the noise of the domain.

    The options belong to the noise: `allalike.noise.Gaussian` for numbers (``ridge``, the paper's lambda, and
    ``nonpositive``), `allalike.noise.OneCoin` for classes (``mu`` and ``transform``).

    >>> import allalike
    >>> rows = [("ada", 1, 20.0), ("bob", 1, 21.0), ("eve", 1, 40.0)]
    >>> allalike.discover(rows, domain="real", method=PTDAK(ridge=4)).workers["fault"].tolist()
    [49.0, 36.0, 169.0]
    """

    name: ClassVar[str] = "P-TD-AK"
    summary: ClassVar[str] = "proximity: the fault is solved for, the weight is the best one for it"
    needs: ClassVar[str] = "classes or numbers, whose noise is known"
    ridge: float | None = None
    nonpositive: str | None = None
    mu: str | None = None
    transform: str | None = None
    per_pair: bool = flag(False)

    def serves(self, labels: Domain | Encoding) -> bool:
        """Ask for a noise under which faults can be estimated."""
        return labels.noise.estimates_fault

    def weigh(self, run: Run) -> Weighing:
        """Estimate faults, and weigh by them."""
        model = self._model(run.encoding)
        sums = Peers(run, per_pair=self.per_pair).unweighted
        fault = model.fault(sums.mean, sums.mubar, run.problems)
        weight = normalise(model.weight(model.bound_faults(fault, sums.mubar), run.problems), run.problems)
        return Weighing(disparity=sums.mean, fault=fault, weight=weight)

    def _model(self, labels: Encoding) -> Noise:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        options = {name: value for name, value in fields.items() if name != "per_pair" and value is not None}
        known = {field.name for field in dataclasses.fields(labels.noise)}
        for name in options:
            if name not in known:
                raise OptionError(f"P-TD-AK has no option {name!r} for {labels.domain.name} labels.")
        return dataclasses.replace(labels.noise, **options)


@dataclass(frozen=True, kw_only=True)
class IPTD(Method):
    """Proximity, iterated: the distance to the others counts by their weights, round by round.

    omega^0 = 1; pi^t_i is the average distance to the others, weighted by omega^(t-1); omega^t = max(pi^t) - pi^t.
    The rounds end when omega changes by less than ``tol``, relative to its norm; two rounds give almost everything.
    With three workers the rounds may go in a circle.

    Parameters
    ----------
    max_iter, tol
        When the rounds end.
    average
        Whether to divide by the weight of the others, as the paper's text says, or not, as its Algorithm 2 does.
    weighting
        How the last disparities become weights, as in `PTD`; ``printed`` also sets ``average=False``.
    per_pair
        Whether every peer counts once, and not every pair of answers.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "z"), ("bob", 2, "x"), ("eve", 2, "y")]
    >>> result = allalike.discover(rows, method=IPTD())
    >>> result.workers["fault"].tolist(), result.summary["converged"]
    ([0.5, 0.5, 1.0], True)
    """

    name: ClassVar[str] = "iP-TD"
    summary: ClassVar[str] = "proximity, iterated: the distance to the others is weighted by how good they are"
    max_iter: int = whole(15, least=1)
    tol: float = number(5e-5, least=0)
    average: bool = flag(True)
    weighting: str | None = choice(None, *WEIGHTINGS)
    per_pair: bool = flag(False)

    def weigh(self, run: Run) -> Weighing:
        """Weigh by weighted disparity, round by round."""
        problems, model = run.problems, run.encoding.noise
        peers = Peers(run, per_pair=self.per_pair)
        measure = peers.weighted if self.average and self.weighting != "printed" else peers.summed

        def step(omega: Floats) -> tuple[Floats, Floats]:
            fault = measure(omega)
            return normalise(below_worst(fault, problems, model), problems), fault

        rounds = repeat(run, step, equal_weights(problems), max_iter=self.max_iter, tol=self.tol)
        return rounds.weighing(peers, weight=weigh_faults(rounds.fault, self.weighting, problems, model))
