"""auto, the default: weighted labels where the answers support weights, and unweighted labels otherwise.

The model depends on the label type. For up to twenty classes, it is the majority vote, knows-or-guesses or confusion
matrices (`allalike.methods.auto.classes`). For numbers, it is one line per worker (`allalike.methods.auto.numbers`).
For all other label types, each worker's distance to the others is shrunk towards the crowd's mean, more strongly if
workers differ little. These distances give weights, unless a split-half test refutes them
(`allalike.methods.auto.distances`).

    classes:   label = the c with the largest P[c | answers], or with the most votes
    numbers:   x_it = m + a_i + b_i (t - m) + e_it,   w_i = b_i^2 / s_i
    all else:  f_i = (sum e_i + s0 f) / (n_i + s0),   w_i = max(0, (D - v) / f_i - 1)

P comes from the chosen model. a, b and s are the offset, slope and variance of a worker, each shrunk, and used if they
predict held-out answers better. e is the distance of an answer to the centre of the other answers, v the variance of
these around it, f the mean of e over the crowd, and D the distance of a guess. Worker i gave n_i answers, and s0 is the
strength of the shrinkage in answers. It is larger if workers differ less.

It works if at least five workers err independently, and equals the majority vote if they are equally accurate. It fails
if most workers share a mistake, because the mistake then looks right. Gold labels (``gold``) reveal such a mistake.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from allalike._core.options import flag, whole
from allalike._core.system.progress import report
from allalike.engines import Run
from allalike.methods.auto.classes import MAX_CLASSES, fit_classes
from allalike.methods.auto.screening import Screening, screen
from allalike.methods.base import ScreeningMethod
from allalike.methods.fit import Fit


@dataclass(frozen=True, kw_only=True)
class Auto(ScreeningMethod):
    """The default method: accurate for crowds of unequal workers, and safe if workers are few or equally accurate.

    ``Result.summary["model"]`` contains the chosen model, the reason, and an alternative solution if there is one. With
    up to twenty classes, `Result.probabilities` and `Result.confusion` exist, and ``fault`` is the error rate.

    Parameters
    ----------
    sample_answers
        Largest number of answers in the sample on which the model is chosen. The chosen model is fitted to all answers.
    use_gold
        Whether to use gold labels.
    screening
        Whether to detect copies and uninformative workers, and to estimate uncertainty.

    >>> import allalike
    >>> answers = {"ada": "xxyyzxyz", "bob": "xxyyzxyy", "eve": "xyyyzxxz", "kim": "yzxxzyyx", "lea": "zxzxxyzy"}
    >>> rows = [(worker, task, label) for worker, labels in answers.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=Auto())
    >>> "".join(result.truth["label"]), result.workers["error_rate"].round(1).tolist()
    ('xxyyzxyz', [0.1, 0.2, 0.3, 0.7, 0.8])
    """

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "the default: weights workers if the answers support it, else majority vote"
    sample_answers: int = whole(200_000, least=1)
    use_gold: bool = flag(True)
    screening: bool = flag(True)

    def fit(self, run: Run) -> Fit:
        """Screen the workers, fit the model of the label type, and estimate uncertainty."""
        return self.fit_screened(run, screen(run, plain=not self.screening))

    def fit_without_gold(self, run: Run) -> Fit:
        """Fit without gold labels; screening does not use them."""
        return self.without_gold().fit(run)

    def fit_screened(self, run: Run, screening: Screening) -> Fit:
        """Fit the model to a screened run."""
        report("agreement")
        if run.encoding.nominal and 2 <= run.encoding.n_labels <= MAX_CLASSES:
            return fit_classes(run, screening, sample_answers=self.sample_answers, use_gold=self.use_gold)
        from allalike.methods.auto.distances import fit_distances  # slow to import, and not needed for classes
        from allalike.methods.auto.numbers import fit_numbers, has_lines

        if has_lines(run.encoding):
            return fit_numbers(run, screening, use_gold=self.use_gold)
        return fit_distances(run, screening, use_gold=self.use_gold)

    def without_gold(self) -> Auto:
        """Return this method with the use of gold labels disabled."""
        return replace(self, use_gold=False)

    def without_screening(self) -> Auto:
        """Return this method with screening disabled, so that copies count separately."""
        return replace(self, screening=False)
