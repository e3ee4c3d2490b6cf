"""IBCC: confusion matrices with priors, by variational Bayes.

Kim and Ghahramani (2012). The model is that of Dawid and Skene, but class shares and the rows of confusion matrices are
drawn from Dirichlet distributions, and all values of them count, each as much as it is probable. That is approximated
by a product of independent posteriors (mean field, as in Simpson et al., 2013; the paper itself draws samples). From
the shares of the votes as first posteriors T,

    nu_c = alpha + sum_j T_jc,    mu^i_cl = (a_v if c = l else b_v) + sum_j T_jc [x_ij = l],
    E log p_c = psi(nu_c) - psi(sum_c nu_c),    E log pi^i_cl = psi(mu^i_cl) - psi(sum_l mu^i_cl),
    T_jc ~ exp(E log p_c + sum_i E log pi^i_(c, x_ij)),

in turn, where psi is the digamma function. It works as DS does, and is steadier where workers answered little, for they
begin as somewhat good. It fails as DS does: where workers err together, or where most are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from allalike._core.options import number, whole
from allalike.methods.base import Method
from allalike.methods.dawid_skene import Confusions, check_memory, maximise_likelihood

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run
    from allalike.methods.fit import Fit


@dataclass(frozen=True, kw_only=True)
class IBCC(Method):
    """Bayesian classifier combination: Dawid-Skene with priors, in which every value of the parameters counts.

    The fault is the expected share of wrong answers; `Result.probabilities` has the posteriors, and the confidence is
    that of the label. As with DS, whoever shares no task with anybody is believed in the end.

    Parameters
    ----------
    alpha
        Pseudo-count of tasks per class.
    a_v, b_v
        Pseudo-counts of a worker's answers per class: correct ones, and of each wrong label.
    max_iter, tol
        When the rounds end: at the limit, or when confusions and class shares change by less, relative to their norm.

    >>> import allalike
    >>> said = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=IBCC())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyz', [0.01, 0.01, 0.2, 0.8])
    """

    name: ClassVar[str] = "IBCC"
    summary: ClassVar[str] = "Bayesian classifier combination: Dawid-Skene with priors, by variational Bayes"
    needs: ClassVar[str] = "classes"
    alpha: float = number(1.0, least=0.001)
    a_v: float = number(4.0, least=0.001)
    b_v: float = number(1.0, least=0.001)
    max_iter: int = whole(500, least=1)
    tol: float = number(1e-5, least=0)

    def serves(self, labels: Domain | Encoding) -> bool:
        """Ask for classes."""
        return labels.n_classes is not None

    def fit(self, run: Run) -> Fit:
        """Find the posteriors of confusions, round by round."""
        k = run.encoding.n_labels
        check_memory(self.name, run, k)
        model = BayesianConfusions(classes=k, smoothing=self.b_v, right=self.a_v, alpha=self.alpha)
        return maximise_likelihood(run, model, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True)
class BayesianConfusions(Confusions):
    """Confusion matrices and class shares as exp(E log ...) of their Dirichlet posteriors; rows do not sum to 1."""

    right: float
    alpha: float

    def m_step(self, sums: dict[str, Floats]) -> tuple[Floats, Floats]:
        """Return the confusion matrices with the shares of the classes as a last column, and who errs how often."""
        # nu_c = alpha + sum_j T_jc
        share = np.broadcast_to(sums["share"].sum(axis=0) + self.alpha, sums["share"].shape)
        # mu^i_cl = (a_v if c = l else b_v) + sum_j T_jc [x_ij = l]
        counts = sums["confusion"] + self.smoothing + (self.right - self.smoothing) * np.eye(self.classes)
        right = np.trace(sums["confusion"], axis1=1, axis2=2) / sums["confusion"].sum(axis=(1, 2))
        return np.exp(np.concatenate([expected_logs(counts), expected_logs(share)[:, :, None]], axis=2)), 1.0 - right


def expected_logs(counts: Floats) -> Floats:
    """Return E log p_l = psi(n_l) - psi(sum_l n_l) for p ~ Dirichlet(n), over the last axis.

    >>> expected_logs(np.array([1.0, 1.0]))
    array([-1., -1.])
    """
    from scipy.special import digamma

    logs: Floats = digamma(counts) - digamma(counts.sum(axis=-1, keepdims=True))
    return logs
