"""Pivotal tasks: those that one judge decides, for without her the verdict would be another one.

A judge with whom and without whom every verdict is the same is not needed there, however good she is; one who turns
verdicts and is right when she does is what the panel would miss (pivotal voters; Shapley and Shubik: A method for
evaluating the distribution of power in a committee system. 1954). Classes turn if the labels with the most evidence
are others, or no longer alone. Levels and rankings turn if the verdict is another one. Numbers always move a little:
they turn if they leave the limits of 95 % that the whole panel gave them, and vectors if they move by more than twice
their standard error.

These are the tasks for a second look, and for known truths: there it shows whether the judge who decides is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.ties import TOLERANCE
from allalike._core.columns.values import text_column
from allalike.api.judges.finding import divide, ratio
from allalike.api.judges.task_verdicts import find_ids
from allalike.api.judges.verdicts import NOBODY, Verdicts

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.columns.values import Values
    from allalike.api.judges.finding import Columns
    from allalike.api.judges.scores import Scores
    from allalike.engines import TaskTable

__all__ = ["Decisive", "Pivotal", "find_score_turns", "find_turns"]

_NORMAL = 1.959964  # 95 % of a normal distribution
_ROUNDING = 1e-12
_MAX_NAMED = 20  # judges that a summary names


@dataclass(frozen=True)
class Decisive:
    """Which verdicts turn without which judge.

    Parameters
    ----------
    turns, right
        Of each task and judge: whether the verdict turns without her, and whether she is right there; NaN where the
        truth is not known.
    order
        Of each task: the larger, the later in the table.
    sure
        Columns of the table that say how sure each task is.
    task_hash
        Of each task: the hash of its id.
    """

    turns: npt.NDArray[np.bool_]
    right: Floats
    order: Floats
    sure: dict[str, Floats]
    task_hash: npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Pivotal:
    """The tasks that one judge decides, as a panel tells of them.

    Parameters
    ----------
    found
        Which verdicts turn without whom.
    judges
        Who the judges are.
    tasks
        All tasks, as the panel found them.
    """

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
    >>> from allalike.api.judges.scores import take_scores
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
