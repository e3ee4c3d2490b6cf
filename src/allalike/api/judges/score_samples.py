r"""Score samples: judges who scored a task several times, how steady they are, and how many samples are worth it.

The samples of a judge on a task become one voice, their mean. **Steadiness** is the correlation of two samples of a
judge on the same task: which share of the variance of a score is that of the tasks, and not her own wavering. By the
analysis of variance, ::

    steadiness = (B - W) / (B + (m - 1) W)

where B and W are the mean squares between and within tasks, and m is the number of samples per task; its limits follow
from the distribution of B / W (Shrout and Fleiss: Intraclass correlations. Psychological Bulletin 1979, case 1).

**Fewer samples.** With k samples of each judge instead of m, the mean of one of them varies by W (1/k - 1/m) more, and
the verdict of a panel in which judges count with the weights w by the sum of w^2 W (1/k - 1/m). So its error with fewer
samples is known, as far as that with all of them is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.blocks.problems import Problems
from allalike._core.columns.factors import only_used
from allalike._core.columns.values import text_column
from allalike.api.judges.finding import divide

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.answers import Answers
    from allalike.api.judges.finding import Columns
    from allalike.api.judges.scores import Scores

__all__ = ["ScoreBallots", "ScoreSamples", "find_score_samples", "find_steadiness_of_scores"]

_SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ScoreBallots:
    """All scores that could be read, in the order of tasks.

    Parameters
    ----------
    answers
        The scores as answers, in which a worker is a judge with a sample.
    judges, judge
        The ids of the judges, and of each score the number of its judge.
    """

    answers: Answers
    judges: Values
    judge: npt.NDArray[np.intp]

    @property
    def cells(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The numbers of all pairs of task and judge, and of each score which of them it belongs to."""
        task = np.repeat(np.arange(self.answers.n_tasks), np.diff(self.answers.starts))
        found, place = np.unique(task * len(self.judges) + self.judge, return_inverse=True)
        return found, place

    def hear(self) -> Answers:
        """Return one answer for each judge and task, the mean of her samples.

        >>> import allalike
        >>> said = allalike.read([(("ada", 0), 1, 2.0), (("ada", 1), 1, 4.0), (("bob", 0), 1, 5.0)], domain="real")
        >>> ballots = ScoreBallots(said, said.workers.take(np.array([0, 2])), np.array([0, 0, 1]))
        >>> ballots.hear().label
        array([3., 5.])
        """
        cells, place = self.cells
        judge, judges = only_used((cells % len(self.judges)).astype(np.int32), self.judges)
        counts = np.bincount(cells // len(self.judges), minlength=self.answers.n_tasks)
        return replace(
            self.answers,
            workers=judges,
            starts=np.concatenate([[0], np.cumsum(counts)]),
            worker=judge,
            label=_mean_by(place, self.answers.label, len(cells)),
            problems=Problems.single(len(judges)),
        )


def _mean_by(place: npt.NDArray[np.intp], values: Floats, n: int) -> Floats:
    return np.asarray(sum_by(place, values, n) / np.bincount(place, minlength=n))


@dataclass(frozen=True)
class ScoreSamples:
    """How steady judges are, and what fewer samples would be worth.

    Parameters
    ----------
    judges
        Their ids.
    steadiness, low, high
        Of each judge: the correlation of two samples on one task, with limits; NaN where she has one of each.
    within
        Of each judge: the variance of her samples on one task.
    sizes, worth
        Numbers of samples, up to as many as most tasks have, and what the panel is worth with so many.
    error
        The error of the panel with so many samples.
    by_gold, keep
        Whether worth means known truths, or what the whole panel says; which share of it must stay.
    """

    judges: Values
    steadiness: Floats
    low: Floats
    high: Floats
    within: Floats
    sizes: npt.NDArray[np.int64]
    worth: Floats
    error: Floats
    by_gold: bool
    keep: float

    def describe(self) -> dict[str, Any]:
        """Tell how steady judges are, who is least, and how many samples are enough."""
        least = int(np.nanargmin(self.steadiness))
        enough = int(self.sizes[np.argmax(self.worth >= self.keep * self.worth[-1] - _ROUNDING)])
        told = {
            "most": int(self.sizes[-1]),
            "steadiness": float(np.nanmean(self.steadiness)),
            "least_steady": {
                "judge": self.judges[least],
                "steadiness": float(self.steadiness[least]),
                "low": float(self.low[least]),
                "high": float(self.high[least]),
            },
            "enough": enough,
            "keep": self.keep,
            "right_from": "gold" if self.by_gold else "panel",
            "panel": dict(zip(map(str, self.sizes.tolist()), self.worth.tolist(), strict=True)),
            "unit": "correlation",
        }
        return {"samples": told}

    def tables(self) -> dict[str, Columns]:
        """Return a row for each number of samples."""
        columns: dict[str, Values | Array] = {
            "judge": text_column(["panel"] * len(self.sizes)),
            "samples": self.sizes,
            "rmse": self.error,
            "kept": divide(self.worth, np.full(len(self.worth), self.worth[-1])),
        }
        return {"samples": columns}

    def judge_columns(self) -> Columns:
        """Return how steady each judge is, and by how much her samples on one task differ."""
        columns = {"steadiness": self.steadiness, "steadiness_low": self.low, "steadiness_high": self.high}
        return {**columns, "sample_sd": np.sqrt(self.within)}


def find_steadiness_of_scores(ballots: ScoreBallots) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return, of each judge, her steadiness with limits, the variance within tasks, and the samples per task."""
    from scipy.stats import f

    n_judges, label = len(ballots.judges), ballots.answers.label
    cells, place = ballots.cells
    m, mean, who = np.bincount(place).astype(np.float64), _mean_by(place, label, len(cells)), cells % n_judges

    def add(values: Floats) -> Floats:
        return sum_by(who, values, n_judges)

    total, tasks = add(m), add(np.ones(len(cells)))
    inner = sum_by(who[place], np.square(label - mean[place]), n_judges)
    grand = divide(add(m * mean), total)
    outer = add(m * np.square(mean - grand[who]))
    within, between = divide(inner, total - tasks), divide(outer, tasks - 1)
    size = divide(total - divide(add(m * m), total), tasks - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = between / within
        degrees = tasks - 1, total - tasks
        limits = ratio / f.ppf(0.975, *degrees), ratio * f.ppf(0.975, *degrees[::-1])
        found = [np.where(np.isinf(each), 1.0, (each - 1) / (each + size - 1)) for each in (ratio, *limits)]
    return found[0], found[1], found[2], within, divide(total, tasks)


def find_score_samples(ballots: ScoreBallots, scores: Scores, keep: float) -> ScoreSamples | None:
    """Find how steady judges are, and what fewer samples are worth; nothing where nobody has two.

    Parameters
    ----------
    ballots
        All samples.
    scores
        The tasks that say what verdicts are worth.
    keep
        Which share of the worth of all must stay.
    """
    place = {judge: number for number, judge in enumerate(ballots.judges.tolist())}
    heard = [place[judge] for judge in scores.run.workers.tolist()]
    steadiness, low, high, within, m = (column[heard] for column in find_steadiness_of_scores(ballots))
    if not np.isfinite(steadiness).any():
        return None
    most = max(int(np.median(np.bincount(ballots.cells[1]))), 1)
    sizes = np.array(sorted({each for each in _SIZES if each < most} | {most}), np.int64)
    weight = scores.weighing.weight / scores.weighing.weight.sum()
    fewer = np.maximum(1 / sizes[:, None] - 1 / m, 0.0)
    more = (np.square(weight) * np.nan_to_num(within) * fewer).sum(axis=1)
    whole = float(scores.value(tuple(range(scores.n_judges))).mean())
    worth = whole - more / scores.guess
    how = sizes, worth, np.asarray(scores.error_of(worth)), scores.by_gold, keep
    return ScoreSamples(scores.run.workers, steadiness, low, high, within, *how)
