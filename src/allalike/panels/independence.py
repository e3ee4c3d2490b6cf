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

from allalike._core.blocks.block import TOLERANCE
from allalike._core.columns.values import text_column
from allalike.panels.coverage import MIN_GOLD
from allalike.panels.finding import divide, ratio
from allalike.panels.off_together import add_squares
from allalike.panels.verdicts import NOBODY, Verdicts, find_ids

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.engines import TaskTable
    from allalike.panels.finding import Columns
    from allalike.panels.scores import Scores

_PRIOR_ANSWERS = 2.0  # like the panel's, beside a judge's own
_LEAST = 0.01  # no error rate is closer to 0 or 1


@dataclass(frozen=True)
class Independence:
    """How many independent voices the judges are worth, and how many truths none of them gave."""

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


# Pivotal tasks: those that one judge decides, for without her the verdict would be another one.
#
# A judge with whom and without whom every verdict is the same is not needed there, however good she is; one who turns
# verdicts and is right when she does is what the panel would miss (pivotal voters; Shapley and Shubik: A method for
# evaluating the distribution of power in a committee system. 1954). Classes turn if the labels with the most evidence
# are others, or no longer alone. Levels and rankings turn if the verdict is another one. Numbers always move a little:
# they turn if they leave the limits of 95 % that the whole panel gave them, and vectors if they move by more than twice
# their standard error.
#
# These are the tasks for a second look, and for known truths: there it shows whether the judge who decides is right.


_NORMAL = 1.959964  # 95 % of a normal distribution
_ROUNDING = 1e-12
_MAX_NAMED = 20  # judges that a summary names


@dataclass(frozen=True)
class Decisive:
    """Which verdicts turn without which judge."""

    turns: npt.NDArray[np.bool_]
    right: Floats
    order: Floats
    sure: dict[str, Floats]
    task_hash: npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Pivotal:
    """The tasks that one judge decides, as a panel tells of them."""

    found: Decisive
    judges: Values
    tasks: TaskTable

    def describe(self) -> dict[str, Any]:
        """Count the tasks, and name the judges who decide most of them."""
        decides, right = self._count()
        tasks = int(self.found.turns.any(axis=1).sum())
        order = np.argsort(-decides, kind="stable")[:_MAX_NAMED]
        named = [
            {"judge": self.judges[int(judge)], "decides": int(decides[judge]), "right": float(right[judge])}
            for judge in order
            if decides[judge]
        ]
        return {
            "pivotal": {
                "tasks": tasks,
                "of": len(self.found.turns),
                "share": ratio(float(tasks), float(len(self.found.turns))),
                "judges": named,
            }
        }

    def tables(self) -> dict[str, Columns]:
        """Return a row for each such task, the least sure first."""
        found = self.found
        some = np.flatnonzero(found.turns.any(axis=1))
        some = some[np.lexsort((found.task_hash[some], found.order[some]))]
        who = [[str(self.judges[int(judge)]) for judge in np.flatnonzero(row)] for row in found.turns[some]]
        columns: dict[str, Values | Array] = {
            "task": find_ids(self.tasks, found.task_hash[some]),
            **{name: column[some] for name, column in found.sure.items()},
            "decided_by": text_column(["; ".join(names) for names in who]),
        }
        return {"pivotal": columns}

    def judge_columns(self) -> Columns:
        """Say how many tasks each judge decides, and how often she is right there, where truths are known."""
        decides, right = self._count()
        return {"decides": decides, "decides_right": right}

    def _count(self) -> tuple[npt.NDArray[np.int64], Floats]:
        turns, right = self.found.turns, self.found.right
        known = turns & ~np.isnan(right)
        hits = np.where(known, right, 0.0).sum(axis=0)
        return turns.sum(axis=0).astype(np.int64), divide(hits, known.sum(axis=0).astype(np.float64))


def find_turns(verdicts: Verdicts, odds: Floats) -> Decisive:
    """Find the tasks whose verdict turns without one of the judges, by their log odds.

    >>> said = np.array([[0, 0, 1], [0, 0, 0]])
    >>> chance, zeros, hashes = np.ones((2, 2)), np.zeros(2, np.intp), np.arange(2, dtype=np.uint64)
    >>> table = Verdicts(said, chance, zeros, np.array([0.6, 0.9]), np.ones(2, bool), zeros, hashes)
    >>> found = find_turns(table, np.ones(3))
    >>> found.turns.tolist(), found.right[0].tolist()
    ([[True, True, False], [False, False, False]], [1.0, 1.0, 0.0])
    """
    said, judges = verdicts.said, np.arange(verdicts.n_judges)
    labels = np.arange(verdicts.chance.shape[1])
    votes = (said[:, :, None] == labels) * odds[:, None]
    score = votes.sum(axis=1)
    first = _leads(score)
    turns = np.stack([(_leads(score - votes[:, judge]) != first).any(axis=1) for judge in judges], axis=1)
    right = np.where(verdicts.known[:, None], said == verdicts.truth[:, None], np.nan).astype(np.float64)
    return Decisive(turns & (said != NOBODY), right, verdicts.sure, {"confidence": verdicts.sure}, verdicts.task_hash)


def _leads(score: Floats) -> npt.NDArray[np.bool_]:
    """Tell which labels have the most evidence; none where nobody spoke."""
    top = score.max(axis=1, keepdims=True)
    leads: npt.NDArray[np.bool_] = (score >= top - TOLERANCE * np.abs(score).sum(axis=1, keepdims=True)) & (
        top > _ROUNDING
    )
    return leads


def find_score_turns(scores: Scores) -> Decisive:
    """Find the tasks whose verdict leaves its limits, or is another one, without one of the judges.

    >>> import allalike
    >>> from allalike.panels.scores import take_scores
    >>> rows = [(judge, task, 3 if judge == "c" else task % 5) for judge in "abc" for task in range(9)]
    >>> result = allalike.discover(rows, domain="ordinal")
    >>> find_score_turns(take_scores(result.run, result.weighing, 100)).turns.any()
    np.False_
    """
    block, kernels, whole = scores.block, scores.run.kernels, scores.panel["label"]
    shape = (block.n_tasks, scores.n_judges)
    turns, moved, right = np.zeros(shape, bool), np.zeros(shape), np.full(shape, np.nan)
    most = _find_room(scores)
    known, truth = block.gold_task, block.gold_label
    before = kernels.distance_between(whole[known], truth) if len(known) else np.empty(0)
    for judge in range(scores.n_judges):
        members = [each for each in range(scores.n_judges) if each != judge]
        if not members:
            break
        found, tasks = scores.decide(members)
        own = np.isin(tasks, block.task[block.worker == judge])
        label, place = found["label"][own], tasks[own]
        moved[place, judge] = np.nan_to_num(kernels.distance_between(label, whole[place]))
        turns[place, judge] = moved[place, judge] > most[place]
        both, at, row = np.intersect1d(place, known, return_indices=True)
        if len(both):
            right[both, judge] = before[row] < kernels.distance_between(label[at], truth[row])
    farthest = moved.max(axis=1)
    return Decisive(turns, right, -farthest, {"moved": _read(scores, farthest)}, block.task_hash)


def _read(scores: Scores, distance: Floats) -> Floats:
    return np.sqrt(distance) if scores.is_square else distance


def _find_room(scores: Scores) -> Floats:
    """Return, per task, how far a verdict may move without turning; infinitely far where nobody can say."""
    if scores.run.domain.recurring:
        return np.full(scores.block.n_tasks, _ROUNDING)
    error = np.nan_to_num(scores.panel["error"])
    variance = np.where(scores.variance > 0, scores.variance, np.square(error))
    room: Floats = np.where(scores.is_square & (variance > 0), np.square(_NORMAL) * variance, np.inf)
    return room
