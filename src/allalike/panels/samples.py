"""Samples: judges who were asked several times about one task, how steady they are, and how many samples are worth it.

**Steadiness** is the probability that two samples of a judge on one task (and in one order) are the same. If n_l of her
m samples on it are l,

    s_t = sum over l of n_l (n_l - 1) / (m (m - 1))

has this probability as its mean, and the steadiness is the mean of s_t over tasks. Its limits are those of Wilson, for
as many independent answers as have its variance over tasks (Kish: Survey Sampling. 1965), p (1 - p) / var, and fewer
where few tasks tell the variance (Korn and Graubard: Confidence intervals for proportions with small expected number of
positive counts. Survey Methodology 1998). So a judge who never changed her mind on twenty tasks may do so.

**Fewer samples.** k of the m samples are drawn twenty times. A judge says what most of these are, labels with as many
share the verdict, and the panel votes with its weights.

It says nothing about an error that all samples of a judge share: a steady judge may be wrong steadily.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.blocks.problems import Problems
from allalike._core.columns.factors import only_used
from allalike._core.columns.values import text_column
from allalike.methods.auto.sureness.intervals import NORMAL_QUANTILE, find_wilson_limits
from allalike.panels.finding import divide, ratio
from allalike.panels.verdicts import NOBODY

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.answers import Answers
    from allalike.panels.ballots import JudgeBallots
    from allalike.panels.finding import Columns
    from allalike.panels.scores import Scores

_SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)
_DRAWS = 20
_PANEL = "panel"
_EQUAL = 1e-9


@dataclass(frozen=True)
class Samples:
    """How steady judges are, and what fewer samples would be worth."""

    judges: Values
    heard: npt.NDArray[np.intp]
    tasks: Floats
    steadiness: Floats
    low: Floats
    high: Floats
    sizes: npt.NDArray[np.int64]
    right: Floats
    panel: Floats
    by_gold: bool
    keep: float

    @property
    def enough(self) -> int:
        """How many samples of each judge keep nearly all that the panel is worth."""
        return int(self.sizes[np.argmax(self.panel >= self.keep * self.panel[-1] - _EQUAL)])

    def describe(self) -> dict[str, Any]:
        """Tell how steady judges are, who is least, and how many samples are enough."""
        known = self.tasks > 0
        least = int(np.nanargmin(np.where(known, self.steadiness, np.nan))) if known.any() else 0
        told = {
            "most": int(self.sizes[-1]),
            "steadiness": ratio(float((self.tasks * np.nan_to_num(self.steadiness)).sum()), float(self.tasks.sum())),
            "least_steady": {
                "judge": self.judges[least],
                "steadiness": float(self.steadiness[least]),
                "low": float(self.low[least]),
                "high": float(self.high[least]),
            },
            "enough": self.enough,
            "keep": self.keep,
            "right_from": "gold" if self.by_gold else "panel",
            "panel": dict(zip(map(str, self.sizes.tolist()), self.panel.tolist(), strict=True)),
        }
        return {"samples": told}

    def tables(self) -> dict[str, Columns]:
        """Return a row for each judge and number of samples, those of the panel first."""
        names = [_PANEL, *map(str, self.judges.tolist())]
        right = np.column_stack([self.panel, self.right])
        columns: dict[str, Values | Array] = {
            "judge": text_column([name for name in names for _ in self.sizes]),
            "samples": np.tile(self.sizes, len(names)),
            "right": right.T.ravel(),
            "kept": divide(right, np.broadcast_to(right[-1], right.shape)).T.ravel(),
        }
        return {"samples": columns}

    def judge_columns(self) -> Columns:
        """Return how steady each judge is."""
        columns = {"steadiness": self.steadiness, "steadiness_low": self.low, "steadiness_high": self.high}
        return {name: column[self.heard] for name, column in columns.items()}


def find_steadiness(ballots: JudgeBallots) -> tuple[Floats, Floats, Floats, Floats]:
    """Return, of each judge, on how many tasks she has two samples, how steady she is, and the limits."""
    n_judges, n_labels = len(ballots.judges), ballots.answers.encoding.n_labels
    key, counts = np.unique(ballots.cell * n_labels + ballots.label, return_counts=True)
    cells, place = np.unique(key // n_labels, return_inverse=True)
    m = sum_by(place, counts.astype(np.float64), len(cells))
    same = divide(sum_by(place, counts * (counts - 1.0), len(cells)), m * (m - 1))
    several = m > 1
    who, place = np.unique(cells[several] // ballots.n_orders, return_inverse=True)  # orders of a task go together
    judge, value = who % n_judges, divide(*(sum_by(place, x, len(who)) for x in (same[several], np.ones(len(place)))))
    n, total = sum_by(judge, np.ones(len(judge)), n_judges), sum_by(judge, value, n_judges)
    mean = divide(total, n)
    spread = divide(sum_by(judge, np.square(value - mean[judge]), n_judges), n)
    worth = np.where(spread > 0, divide((n - 1) * mean * (1 - mean), spread), n) * _shrink_for(n)
    low, high = find_wilson_limits(np.nan_to_num(mean), np.maximum(np.nan_to_num(worth), 1e-9))
    nothing = np.where(n > 0, 0.0, np.nan)
    return n, mean, low + nothing, high + nothing


def _shrink_for(n: Floats) -> Floats:
    """Return by how much fewer answers so many tasks are worth, because the variance itself comes from them."""
    from scipy.stats import t

    shrunk: Floats = np.square(NORMAL_QUANTILE / t.ppf(0.975, np.maximum(n - 1, 1)))
    return shrunk


def find_samples(
    ballots: JudgeBallots, truth: Array, heard: npt.NDArray[np.intp], odds: Floats, *, by_gold: bool, keep: float
) -> Samples | None:
    """Find how steady judges are, and what fewer samples are worth; nothing where nobody has two."""
    tasks, steadiness, low, high = find_steadiness(ballots)
    if not tasks.any():
        return None
    _, size = np.unique(ballots.cell, return_counts=True)
    most = int(np.median(size))
    sizes = np.array(sorted({each for each in _SIZES if each < most} | {max(most, 1)}), np.int64)
    every = np.zeros(len(ballots.judges))
    every[heard] = odds
    right, panel = np.empty((len(sizes), len(ballots.judges))), np.empty(len(sizes))
    for place, k in enumerate(sizes.tolist()):
        drawn = [ballots] if k == sizes[-1] else _draw(ballots, k)
        right[place] = np.mean([_count_right(each, truth) for each in drawn], axis=0)
        panel[place] = np.mean([_vote(each, truth, every) for each in drawn])
    return Samples(ballots.judges, heard, tasks, steadiness, low, high, sizes, right, panel, by_gold, keep)


def _draw(ballots: JudgeBallots, k: int) -> list[JudgeBallots]:
    """Draw k samples of each judge on each task, in each order, several times."""
    rng, draws = np.random.default_rng(k), []
    for _ in range(_DRAWS):
        order = np.lexsort((rng.random(len(ballots.cell)), ballots.cell))
        cell = ballots.cell[order]
        first = np.append(True, cell[1:] != cell[:-1])
        rank = np.arange(len(cell)) - np.maximum.accumulate(np.where(first, np.arange(len(cell)), 0))
        drawn = np.zeros(len(cell), np.bool_)
        drawn[order[rank < k]] = True
        draws.append(ballots.only(drawn))
    return draws


def _count_right(ballots: JudgeBallots, truth: Array) -> Floats:
    """Return how often the most frequent sample is right, of each judge, over tasks and orders with a known truth."""
    n_judges, n_labels = len(ballots.judges), ballots.answers.encoding.n_labels
    key, counts = np.unique(ballots.cell * n_labels + ballots.label, return_counts=True)
    task = key // n_labels // ballots.n_orders // n_judges
    cell, hit = _share_right(key, counts.astype(np.float64), n_labels, truth[task])
    known = truth[cell // ballots.n_orders // n_judges] != NOBODY
    judge = cell[known] // ballots.n_orders % n_judges
    return divide(sum_by(judge, hit[known], n_judges), sum_by(judge, np.ones(len(judge)), n_judges))


def _vote(ballots: JudgeBallots, truth: Array, odds: Floats) -> float:
    """Return how often the judges are right who vote by their odds."""
    voices = ballots.reconcile()
    n_labels = ballots.answers.encoding.n_labels
    heard = voices.label != NOBODY
    key, place = np.unique(voices.task[heard] * n_labels + voices.label[heard], return_inverse=True)
    if not len(key):
        return 0.0
    score = sum_by(place, odds[voices.judge[heard]], len(key))
    _, hit = _share_right(key, score, n_labels, truth[key // n_labels])
    return ratio(float(hit.sum()), float((truth != NOBODY).sum()))


def _share_right(
    key: npt.NDArray[np.intp], score: Floats, n_labels: int, right: Array
) -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the groups of keys, and of each how far the label with the highest score is right; equals share it.

    >>> _share_right(np.array([0, 1, 2, 3]), np.array([2.0, 1.0, 1.0, 1.0]), 2, np.zeros(4))
    (array([0, 1]), array([1. , 0.5]))
    """
    group = key // n_labels
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    length = np.diff([*first, len(key)])
    wins = score > np.repeat(np.maximum.reduceat(score, first), length) - _EQUAL
    hit = (wins & (key % n_labels == right)) / np.repeat(np.add.reduceat(wins.astype(np.float64), first), length)
    return group[first], np.add.reduceat(hit, first)


# Score samples: judges who scored a task several times, how steady they are, and how many samples are worth it.
#
# The samples of a judge on a task become one voice, their mean. **Steadiness** is the correlation of two samples of a
# judge on the same task: which share of the variance of a score is that of the tasks, and not her own wavering. By the
# analysis of variance, ::
#
#     steadiness = (B - W) / (B + (m - 1) W)
#
# where B and W are the mean squares between and within tasks, and m is the number of samples per task; its limits
# follow from the distribution of B / W (Shrout and Fleiss: Intraclass correlations. Psychological Bulletin 1979, case
# 1).
#
# **Fewer samples.** With k samples of each judge instead of m, the mean of one of them varies by W (1/k - 1/m) more,
# and the verdict of a panel in which judges count with the weights w by the sum of w^2 W (1/k - 1/m). So its error
# with fewer samples is known, as far as that with all of them is.


_ROUNDING = 1e-9


@dataclass(frozen=True)
class ScoreBallots:
    """All scores that could be read, in the order of tasks."""

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
    """How steady judges are, and what fewer samples would be worth."""

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
    """Find how steady judges are, and what fewer samples are worth; nothing where nobody has two."""
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
