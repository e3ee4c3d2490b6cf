"""auto: the truths that agreement can best tell, and those of a vote where workers cannot be told apart.

What to do depends on the labels. A few classes have confusions, levels of difficulty and several readings
(`allalike.methods.auto.classes.weighing`); of all other labels a worker's distance to the others is pulled to that of
the crowd, by as much as workers cannot be told apart (`allalike.methods.auto.distances.shrunken`), and weights are
taken only where halves of the workers do not refute them, and where they do not go to those who keep to the middle
(`allalike.methods.auto.distances.plain_or_weighed`).

    classes:   truth = the c with the largest P[c | answers], or share of c in the votes
    all else:  f_i = (sum e_i + s0 f) / (n_i + s0),   w_i = max(0, (D - v) / f_i - 1)

are the two in short. P is that of the most likely of six readings, if answers left out and two halves of the workers
bear it out; else the votes decide, weighed or plain. And e is how far an answer is from the middle of the others, v how
far these scatter, f the crowd's mean, D that of a guess (infinite for numbers, whose weights are 1 / f), and s0 how
many answers of the crowd count beside a worker's own n_i: the more, the less workers differ.

It works where five workers and more err each in her own way, and where they are equally good it is a vote, so that
little is lost. It fails where agreement itself misleads: a mistake that most workers share looks like truth; known
truths set it right (``gold``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from allalike._core.options import flag, whole
from allalike._core.system.progress import report
from allalike.methods.auto.classes.weighing import MAX_CLASSES, weigh_classes
from allalike.methods.auto.screening import screen
from allalike.methods.auto.sureness.faults import find_faults
from allalike.methods.auto.voices import give_voices
from allalike.methods.base import Informed, Weighing

if TYPE_CHECKING:
    from allalike.domains import Encoding
    from allalike.engines import Run
    from allalike.methods.insight import Faults, Screening


@dataclass(frozen=True, kw_only=True)
class Auto(Informed):
    """The default: the most accurate truths that we know to find, and safe for few workers who are equally good.

    `Result.summary` says under ``reading`` what was done and why, and whether the answers can be read in another way as
    well. For a few classes `Result.probabilities` says how much each class is believed in, and `Result.confusion` how a
    worker confuses them; her fault is her error rate.

    Parameters
    ----------
    sample_answers
        On how many answers to choose between readings, where there are more; the choice runs on all.
    use_gold
        Whether truths that are known choose between readings, too.
    plain
        Whether everyone speaks for herself, also copies and who says nothing about the tasks; and nothing is said about
        how sure the numbers are.

    >>> import allalike
    >>> said = {"ada": "xxyyzxyz", "bob": "xxyyzxyy", "eve": "xyyyzxxz", "kim": "yzxxzyyx", "lea": "zxzxxyzy"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=Auto())
    >>> "".join(result.truth["label"]), result.workers["error_rate"].round(1).tolist()
    ('xxyyzxyz', [0.1, 0.2, 0.3, 0.7, 0.7])
    """

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "the default: the most accurate truths, and a vote's where workers are alike"
    sample_answers: int = whole(200_000, least=1)
    use_gold: bool = flag(True)
    plain: bool = flag(False)

    def weigh(self, run: Run) -> Weighing:
        """Look at the crowd, weigh as these labels allow it, and find out how sure that is."""
        return self.weigh_screened(run, screen(run, plain=self.plain))

    def weigh_screened(self, run: Run, screening: Screening) -> Weighing:
        """Weigh a crowd of which it is known who copies and who says nothing."""
        weighing = self._weigh(run, screening)
        if self.plain:
            return weighing
        faults = weighing.insight.faults or self._find_faults(run, screening, weighing)
        return replace(weighing, insight=replace(weighing.insight, screening=screening, faults=faults))

    def _find_faults(self, run: Run, screening: Screening, weighing: Weighing) -> Faults:
        heard = give_voices(run, screening.groups)
        faults, rates = find_faults(heard), weighing.skill.error_rate
        if rates is not None:
            faults = replace(faults, unit="error_rate", fault=rates, shrunk=rates)
        if not run.encoding.numeric:
            return faults
        from allalike.methods.auto.distances.numbers import find_variances

        return replace(faults, variance=find_variances(heard, weighing.weight, faults.shrunk))

    def weigh_blindly(self, run: Run, weighing: Weighing) -> Weighing:
        """Weigh without known truths; who copies and who says nothing does not depend on them."""
        screening = weighing.insight.screening or screen(run, plain=self.plain)
        return self.without_gold()._weigh(run, screening)

    def _weigh(self, run: Run, screening: Screening) -> Weighing:
        report("agreement")
        if _are_classes(run.encoding):
            return weigh_classes(run, screening, sample_answers=self.sample_answers, use_gold=self.use_gold)
        from allalike.methods.auto.distances.plain_or_weighed import weigh_distances

        return weigh_distances(run, screening, use_gold=self.use_gold)

    def without_gold(self) -> Auto:
        """Return the method that chooses between readings by agreement alone."""
        return replace(self, use_gold=False)

    def plainly(self) -> Auto:
        """Return the method in which everyone speaks for herself."""
        return replace(self, plain=True)


def _are_classes(labels: Encoding) -> bool:
    return labels.nominal and 2 <= labels.n_labels <= MAX_CLASSES
