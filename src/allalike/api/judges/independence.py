"""Independence: how many voices each judge adds, and the truths that nobody gave.

Ten judges whose errors come together say less than ten that err each on its own. With the correlations rho of their
errors, n judges who count the same are worth

    n^2 / sum_ik rho_ik

independent ones (Kish's design effect; Kish: Survey Sampling. 1965), and a judge adds what would be lost without her: 1
if she errs on her own, 0 or less if she repeats others. Only known truths tell: an error is a wrong label, less how
often she gives one, or of all other labels how far she is from the truth, of which two judges have in common

    rho_ik = (d_i + d_k - d_ik) / (2 sqrt(d_i d_k)),

the part of both ways from the truth that is the same (for squares of numbers the correlation about 0).

**The ceiling**: where no judge gave the truth, no panel of these judges can be right, however it weighs them. Of
numbers and levels that is a truth outside of all scores, which no mean or median reaches; of other labels that recur,
one that nobody gave.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.api.judges.coverage import MIN_GOLD
from allalike.api.judges.pair_squares import add_squares
from allalike.api.judges.verdicts import NOBODY, Verdicts

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike._core.columns.values import Values
    from allalike.api.judges.finding import Columns
    from allalike.api.judges.scores import Scores

__all__ = ["Independence", "correlate_errors", "correlate_scores", "count_voices", "find_missed", "find_missed_scores"]

_PRIOR_ANSWERS = 2.0  # like the panel's, beside a judge's own
_LEAST = 0.01  # no error rate is closer to 0 or 1


@dataclass(frozen=True)
class Independence:
    """How many independent voices the judges are worth, and how many truths none of them gave.

    Parameters
    ----------
    judges
        Who the judges are.
    correlation
        Those of their errors; None where too few truths are known.
    known, missed
        How many truths are known, and how many of these nobody gave.
    """

    judges: Values
    correlation: Floats | None
    known: int
    missed: int

    def describe(self) -> dict[str, Any]:
        """Tell what all are worth together, who adds most and who least, and the ceiling; unknown is NaN."""
        adds = self.adds
        order = np.argsort(-adds, kind="stable")
        told = (
            {} if np.isnan(adds).any() else {"most": self.judges[int(order[0])], "least": self.judges[int(order[-1])]}
        )
        return {
            "voices": {"all": float("nan") if self.correlation is None else count_voices(self.correlation), **told},
            "ceiling": {"known": self.known, "missed": self.missed if self.known else float("nan")},
        }

    def tables(self) -> dict[str, Columns]:
        """Return nothing: it is in the table of judges."""
        return {}

    def judge_columns(self) -> Columns:
        """Return how many voices each judge adds."""
        return {"adds_voices": self.adds}

    @property
    def adds(self) -> Floats:
        """Of each judge: how many voices the panel would lose without her."""
        n, rho = len(self.judges), self.correlation
        if rho is None or n < 2:
            return np.full(n, np.nan)
        without = [count_voices(np.delete(np.delete(rho, judge, 0), judge, 1)) for judge in range(n)]
        return count_voices(rho) - np.array(without)


def count_voices(correlation: Floats) -> float:
    """Return how many independent judges some are worth; not more than they are.

    >>> count_voices(np.eye(3)), count_voices(np.ones((3, 3)))
    (3.0, 1.0)
    """
    return float(len(correlation) ** 2 / max(correlation.sum(), len(correlation)))


def correlate_errors(verdicts: Verdicts) -> Floats | None:
    """Return the correlations of wrong labels, where enough truths are known.

    >>> wrong = np.repeat([[1, 1, 0], [0, 0, 1], [0, 0, 0], [1, 1, 1]], 15, axis=0)
    >>> right, zeros = np.tile([1.0, 0.0], (60, 1)), np.zeros(60, np.intp)
    >>> table = Verdicts(wrong, right, zeros, np.ones(60), np.ones(60, bool), zeros, np.zeros(60, np.uint64))
    >>> correlate_errors(table).round(1).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if int(verdicts.known.sum()) < MIN_GOLD:
        return None
    some = verdicts.only(verdicts.known)
    asked = some.said != NOBODY
    wrong = asked & (some.said != some.truth[:, None])
    given, errors = asked.sum(axis=0), wrong.sum(axis=0)
    mean = errors.sum() / max(given.sum(), 1)
    rate = np.clip((errors + _PRIOR_ANSWERS * mean) / (given + _PRIOR_ANSWERS), _LEAST, 1 - _LEAST)
    rest = np.where(asked, (wrong - rate) / np.sqrt(rate * (1 - rate)), 0.0)
    common = asked.astype(np.float64).T @ asked
    return _bound(rest.T @ rest / np.maximum(common, 1.0))


def correlate_scores(scores: Scores) -> Floats | None:
    """Return the correlations of what judges are off, where enough truths are known."""
    if not scores.by_gold:
        return None
    sums = add_squares(scores.judged())
    mean = sums.square.sum(axis=0) / np.maximum(sums.common.sum(axis=0), 1.0)
    off = np.maximum(mean[-1, :-1], 1e-300)
    both = (off[:, None] + off - mean[:-1, :-1]) / (2 * np.sqrt(off[:, None] * off))
    return _bound(np.where(sums.common.sum(axis=0)[:-1, :-1] > 0, both, 0.0))


def _bound(correlation: Floats) -> Floats:
    found = np.clip(correlation, -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


def find_missed(verdicts: Verdicts) -> tuple[int, int]:
    """Count the truths that are known, and those that no judge gave."""
    return int(verdicts.known.sum()), int((verdicts.known & (verdicts.truth == NOBODY)).sum())


def find_missed_scores(scores: Scores) -> tuple[int, int]:
    """Count the truths that are known, and those outside of all scores, or that nobody gave."""
    block, numbers = scores.block, scores.numbers
    known = block.gold_task
    if not len(known):
        return 0, 0
    if numbers is not None:
        some, truth = numbers[known], np.asarray(block.gold_label, np.float64)
        return len(known), int(((truth < np.nanmin(some, axis=1)) | (truth > np.nanmax(some, axis=1))).sum())
    if not scores.run.domain.recurring:
        return 0, 0
    asked = scores.only(scores.known).block
    truth = asked.gold_label[asked.to_answers(asked.gold_row)]
    distance = scores.run.kernels.distance_between(asked.label, truth)
    nearest = np.minimum.reduceat(np.nan_to_num(distance, nan=np.inf), asked.starts)
    return len(known), int((nearest > 0).sum())
