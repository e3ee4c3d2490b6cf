"""auto, the default: the most accurate labels that the answers support, and unweighted ones where they support no more.

What it does depends on the label type. For a few classes it chooses between majority vote, knows-or-guesses and
confusion matrices (`allalike.methods.auto.classes`). Numbers have worker lines (`allalike.methods.auto.numbers`). For
all other label types a worker's distance to the others is shrunk towards that of the crowd, by as much as workers
cannot be distinguished, and weights are used only if a split-half test does not refute them
(`allalike.methods.auto.distances`).

    classes:   label = the c with the largest P[c | answers], or share of c in the votes
    numbers:   x_it = m + a_i + b_i (t - m) + e_it,   w_i = b_i^2 / s_i
    all else:  f_i = (sum e_i + s0 f) / (n_i + s0),   w_i = max(0, (D - v) / f_i - 1)

P is that of the model that a split-half test does not refute. a, b and s are offset, slope and variance of a worker,
each shrunk, and used as far as they predict held-out answers better. e is how far an answer is from the middle of the
others, v how far these scatter, f the crowd's mean, D that of a guess, and s0 how many answers of the crowd count
beside a worker's own n_i: the more, the less workers differ.

It works where five workers or more err independently, and is a majority vote where they are equally accurate. It fails
where agreement itself misleads: a mistake that most workers share looks right, unless gold labels show it (``gold``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from allalike._core.options import flag, whole
from allalike._core.system.progress import report
from allalike.methods.auto.classes import MAX_CLASSES, fit_classes
from allalike.methods.auto.screening import screen
from allalike.methods.base import ScreeningMethod

if TYPE_CHECKING:
    from allalike.domains import Encoding
    from allalike.engines import Run
    from allalike.methods.auto.screening import Screening
    from allalike.methods.fit import Fit


@dataclass(frozen=True, kw_only=True)
class Auto(ScreeningMethod):
    """The default: the most accurate labels that we know to find, and safe for few workers who are equally accurate.

    `Result.summary` contains under ``reading`` the chosen model and why, and an alternative solution if there is one.
    For a few classes there are `Result.probabilities` and `Result.confusion`, and a worker's fault is the error rate.

    Parameters
    ----------
    sample_answers
        Number of answers on which the model is chosen, if there are more; it is fitted to all.
    use_gold
        Whether gold labels also count.
    screening
        Whether to detect copies and uninformative workers, and to estimate uncertainties.

    >>> import allalike
    >>> said = {"ada": "xxyyzxyz", "bob": "xxyyzxyy", "eve": "xyyyzxxz", "kim": "yzxxzyyx", "lea": "zxzxxyzy"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=Auto())
    >>> "".join(result.truth["label"]), result.workers["error_rate"].round(1).tolist()
    ('xxyyzxyz', [0.1, 0.2, 0.3, 0.7, 0.8])
    """

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "the default: the most accurate labels, and the majority vote where workers are alike"
    sample_answers: int = whole(200_000, least=1)
    use_gold: bool = flag(True)
    screening: bool = flag(True)

    def fit(self, run: Run) -> Fit:
        """Screen the workers, weight them as the label type allows, and estimate the uncertainty."""
        return self.fit_screened(run, screen(run, plain=not self.screening))

    def fit_without_gold(self, run: Run) -> Fit:
        """Fit as if there were no gold labels; screening does not depend on them."""
        return self.without_gold().fit(run)

    def fit_screened(self, run: Run, screening: Screening) -> Fit:
        """Fit the workers of a run that was screened before."""
        report("agreement")
        if _are_classes(run.encoding):
            return fit_classes(run, screening, sample_answers=self.sample_answers, use_gold=self.use_gold)
        from allalike.methods.auto.distances import fit_distances  # which classes need not wait for
        from allalike.methods.auto.numbers import fit_numbers, has_lines

        if has_lines(run.encoding):
            return fit_numbers(run, screening, use_gold=self.use_gold)
        return fit_distances(run, screening, use_gold=self.use_gold)

    def without_gold(self) -> Auto:
        """Return the method that uses agreement alone."""
        return replace(self, use_gold=False)

    def without_screening(self) -> Auto:
        """Return the method in which all workers count, and each for themselves."""
        return replace(self, screening=False)


def _are_classes(labels: Encoding) -> bool:
    return labels.nominal and 2 <= labels.n_labels <= MAX_CLASSES
