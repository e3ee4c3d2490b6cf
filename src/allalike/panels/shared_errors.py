"""Shared errors: judges who are wrong together, more often than other two on tasks and labels that mislead as much.

Judges err on the same tasks because tasks are hard, and in the same way because a wrong label is attractive. Neither is
a bond between two of them. So a pair is looked at where the others were misled as much: each wrong label of a task is a
case, and cases are sorted by how many **others** gave that label. In a stratum of N cases, of which one judge gave x
and the other y, both gave the label in A cases, whose distribution given x, y and N is the hypergeometric one of Fisher
with odds psi: 1 if they err on their own, given the stratum. Open answers have as many wrong labels as they seem to
have (`allalike.panels.open_labels`).

**What is usual.** The others show only roughly how misleading a label is, the fewer they are the less, so that psi is
above 1 for every pair: two judges who depend on one difficulty are never associated negatively, whatever the others did
(Rosenbaum: Testing the conditional independence and monotonicity assumptions of item response theory. 1984). So a pair
is not compared with chance but with all other pairs, from which psi is estimated (Mantel and Haenszel: Statistical
aspects of the analysis of data from retrospective studies of disease. 1959),

    psi = sum (A (N - x - y + A) / N) / sum ((x - A)(y - A) / N),    expected = sum E[A | psi].

**How probable it is.** The distributions of the strata are folded into that of the sum of all A, whose tail is the
probability of so many; it is multiplied by the number of pairs (Bonferroni). Pairs below 0.01 are named, if they share
a quarter more than is expected, for with many tasks pairs differ a little, whoever they are. The limits are those of a
count of Poisson (Garwood, 1936) by what is expected, which are too wide here.

What is wrong must be known: from known truths, or from a panel that is sure. Errors that most judges share, or the best
of them, are taken for truth then, and are not seen; nor is a bond that all pairs have.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.values import text_column
from allalike.panels.finding import connect_judges, divide, number_groups
from allalike.panels.verdicts import NOBODY, Verdicts

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.panels.finding import Columns

SURE = 0.9  # how probably a panel is right whose answer counts as the truth here
_SIGNIFICANT = 0.01
_MIN_TOGETHER, _MIN_RATIO = 3, 1.25  # errors that two must share to be named, and by how much more than is expected
_MOST_USUAL = 1000.0  # odds
_LIMITS = (0.025, 0.975)


@dataclass(frozen=True)
class SharedErrors:
    """How often the judges of each pair gave the same wrong label, a row for each pair."""

    left: npt.NDArray[np.intp]
    right: npt.NDArray[np.intp]
    common: Floats
    wrong_left: Floats
    wrong_right: Floats
    both_wrong: Floats
    together: Floats
    expected: Floats
    low: Floats
    high: Floats
    probability: Floats
    n_tasks: int

    @property
    def found(self) -> npt.NDArray[np.bool_]:
        """Which pairs are wrong together more often than others."""
        enough = (self.together >= _MIN_TOGETHER) & (self.together >= _MIN_RATIO * self.expected)
        found: npt.NDArray[np.bool_] = enough & (self.probability <= _SIGNIFICANT)
        return found

    def groups(self, n_judges: int) -> list[list[int]]:
        """Return the groups that such pairs connect, the largest first."""
        return connect_judges(n_judges, self.left[self.found], self.right[self.found])


def find_shared_errors(verdicts: Verdicts, n_wrong: float) -> SharedErrors:
    """Count how often each two judges gave the same wrong label, beside what is expected of a pair.

    With fewer than three judges there is no other pair, and nothing is said.

    >>> from allalike.panels.verdicts import Verdicts
    >>> rng = np.random.default_rng(0)
    >>> wrong = rng.random((400, 6)) < 0.2
    >>> wrong[:, 5] = np.where(rng.random(400) < 0.6, wrong[:, 4], wrong[:, 5])
    >>> chance, zeros = np.ones((400, 2)), np.zeros(400, np.intp)
    >>> table = Verdicts(wrong.astype(np.intp), chance, zeros, np.ones(400), np.ones(400, bool), zeros, np.zeros(400))
    >>> find_shared_errors(table, 1.0).groups(6)
    [[4, 5]]
    """
    cases = _Cases.of(verdicts, n_wrong)
    n = verdicts.n_judges
    pairs = list(combinations(range(n), 2)) if n >= 3 else []
    tables = [cases.count_strata(*pair) for pair in pairs]
    sums = np.array([_odds_sums(table) for table in tables]).reshape(-1, 2)
    usual = [_find_odds(*others) for others in sums.sum(axis=0) - sums]
    together = np.array([table[3].sum() for table in tables])
    told = [compare_pair(table, odds) for table, odds in zip(tables, usual, strict=True)]
    expected, tail = np.array(told).reshape(-1, 2).T
    low, high = _find_limits(together, expected)
    left, right = np.array(pairs, np.intp).reshape(-1, 2).T
    asked, wrong = cases.asked.astype(np.float64), cases.wrong.astype(np.float64)
    return SharedErrors(
        left,
        right,
        common=(asked.T @ asked)[left, right],
        wrong_left=(wrong.T @ asked)[left, right],
        wrong_right=(wrong.T @ asked)[right, left],
        both_wrong=(wrong.T @ wrong)[left, right],
        together=together,
        expected=expected,
        low=low,
        high=high,
        probability=np.minimum(tail * len(pairs), 1.0),
        n_tasks=len(asked),
    )


@dataclass(frozen=True)
class _Cases:
    """Wrong labels of the tasks whose truth is taken as known."""

    asked: npt.NDArray[np.bool_]
    wrong: npt.NDArray[np.bool_]
    nobody: Floats
    task: npt.NDArray[np.intp]
    gave: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, verdicts: Verdicts, n_wrong: float) -> _Cases:
        looked = verdicts.known | (verdicts.sure >= SURE)
        said, truth = verdicts.said[looked], verdicts.truth[looked]
        wrong = (said != NOBODY) & (said != truth[:, None])
        given = [wrong & (said == label) for label in range(verdicts.chance.shape[1])]
        tasks = [np.flatnonzero(each.any(axis=1)) for each in given]
        task = np.concatenate(tasks)
        nobody = np.maximum(n_wrong - np.bincount(task, minlength=len(said)), 0.0)
        gave = np.concatenate([each[rows] for each, rows in zip(given, tasks, strict=True)])
        return cls(said != NOBODY, wrong, nobody, task, gave)

    def count_strata(self, left: int, right: int) -> Floats:
        """Count the cases of each stratum on common tasks: all, those of each judge, and those of both."""
        both = self.asked[:, left] & self.asked[:, right]
        cases = both[self.task]
        one, two = self.gave[cases, left], self.gave[cases, right]
        stratum = self.gave[cases].sum(axis=1) - one - two
        size = int(stratum.max(initial=0)) + 1
        table = np.stack([np.bincount(stratum, each, size) for each in (np.ones(len(one)), one, two, one & two)])
        table[0, 0] += self.nobody[both].sum()
        return table.astype(np.float64)


def _odds_sums(table: Floats) -> tuple[float, float]:
    """Return the sums whose ratio are the odds of Mantel and Haenszel."""
    total, one, two, both = table
    size = np.maximum(total, 1.0)
    return float((both * (total - one - two + both) / size).sum()), float(((one - both) * (two - both) / size).sum())


def _find_odds(same: float, different: float) -> float:
    """Return the odds of a usual pair: at least those of independent ones, which are taken where nothing tells."""
    if same <= 0 or different <= 0:
        return _MOST_USUAL if same > 0 else 1.0
    return float(np.clip(same / different, 1.0, _MOST_USUAL))


def compare_pair(table: Floats, odds: float) -> tuple[float, float]:
    """Return how many cases a pair is expected to have in common, and how probable so many or more are.

    >>> [round(number, 3) for number in compare_pair(np.array([[4.0], [2.0], [2.0], [2.0]]), 1.0)]
    [1.0, 0.167]
    """
    from scipy.special import gammaln

    least, chances = 0, np.ones(1)  # of the sum of all strata so far
    for total, one, two, _ in table.T[(table[1] > 0) & (table[2] > 0)]:
        first = int(np.ceil(max(0.0, one + two - total)))
        count = np.arange(first, int(min(one, two)) + 1)
        ways = gammaln(count + 1) + gammaln(one - count + 1) + gammaln(two - count + 1)
        weight = count * np.log(odds) - ways - gammaln(total - one - two + count + 1)
        share = np.exp(weight - weight.max())
        least, chances = least + first, np.convolve(chances, share / share.sum())
    beyond = int(table[3].sum()) - least
    return least + float(np.arange(len(chances)) @ chances), float(min(chances[max(beyond, 0) :].sum(), 1.0))


def _find_limits(count: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Return the limits of counts by their means, NaN where nothing is expected."""
    from scipy.special import chdtri

    mean = np.where(mean > 0, mean, np.nan)
    low = np.where(count > 0, chdtri(2 * np.maximum(count, 1.0), _LIMITS[1]) / 2, 0.0) / mean
    return low, chdtri(2 * (count + 1), _LIMITS[0]) / 2 / mean


# Bonds: the pairs of judges who are wrong together, as a panel tells of them.


_MAX_NAMED = 20  # pairs and groups that a summary names
_NAMED = ("judge", "other", "together", "expected", "low", "high", "probability")


@dataclass(frozen=True)
class Bonds:
    """How often each two judges gave the same wrong label, and who they are."""

    found: SharedErrors
    judges: Values

    def describe(self) -> dict[str, Any]:
        """Count the pairs, and name the first of those who are wrong together."""
        columns = self.tables()["pairs"]
        rows = zip(*(columns[name].tolist() for name in _NAMED), strict=True)
        bound = columns["wrong_together"].tolist()
        named = [dict(zip(_NAMED, row, strict=True)) for row, is_bound in zip(rows, bound, strict=True) if is_bound]
        told = {
            "looked_at": len(self.found.left),
            "found": int(self.found.found.sum()),
            "tasks": self.found.n_tasks,
            "named": named[:_MAX_NAMED],
            "groups": [[self.judges[judge] for judge in group] for group in self._groups[:_MAX_NAMED]],
        }
        return {"pairs": told}

    def tables(self) -> dict[str, Columns]:
        """Return a row for each pair, the most improbable first."""
        found, ids = self.found, self.judges
        order = np.lexsort((found.right, found.left, found.probability))
        columns: dict[str, Values | Array] = {
            "judge": text_column([str(ids[int(judge)]) for judge in found.left[order]]),
            "other": text_column([str(ids[int(judge)]) for judge in found.right[order]]),
            "common": found.common[order].astype(np.int64),
            "wrong": found.wrong_left[order].astype(np.int64),
            "other_wrong": found.wrong_right[order].astype(np.int64),
            "both_wrong": found.both_wrong[order].astype(np.int64),
            "together": found.together[order].astype(np.int64),
            "expected": found.expected[order],
            "ratio": divide(found.together, found.expected)[order],
            "low": found.low[order],
            "high": found.high[order],
            "probability": found.probability[order],
            "wrong_together": found.found[order],
        }
        return {"pairs": columns}

    def judge_columns(self) -> Columns:
        """Number the groups of judges whom pairs connect that are wrong together."""
        return {"wrong_together": number_groups(len(self.judges), self._groups)}

    @property
    def _groups(self) -> list[list[int]]:
        return self.found.groups(len(self.judges))
