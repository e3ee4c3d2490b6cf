"""Ballots: verdicts of judges who were asked more than once about a task, and the one voice that becomes of them.

A judge may have seen a pair in both orders, and may have been asked several times in each. All that is one voice: if
o of her orders and, in each of them, samples are there, the label l has the share

    s(l) = mean over orders of (the share of l among her samples in this order),

and her voice is the label with the largest share. Every order counts the same, however many samples it has, so what
comes of the position cancels out. Where two labels have the same share, as where one answer won in one order and the
other in the other, she is undecided: a tie where labels have one, and otherwise she is silent on this task. So a judge
who follows the position loses her voice as often as she does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Floats, sum_by
from allalike._core.blocks.problems import Problems
from allalike._core.columns.factors import only_used
from allalike.errors import OptionError
from allalike.panels.verdicts import NOBODY
from allalike.readers.column_names import list_names

if TYPE_CHECKING:
    from allalike._core.columns.values import Values
    from allalike.answers import Answers

_TIES = ("tie", "tied", "draw", "equal", "both", "neither", "a=b")
_MOST_LABELS = 10  # of open answers, one may be called so by chance
_EQUAL = 1e-9  # shares that differ by less are the same

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Reconciled:
    """The one voice of each judge on each task that she was asked about."""

    task: Codes
    judge: Codes
    label: Codes
    undecided: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class JudgeBallots:
    """All verdicts that could be read, in the order of tasks."""

    answers: Answers
    judges: Values
    judge: Codes
    order: Codes
    label: Codes
    tie: int = NOBODY

    @property
    def task(self) -> Codes:
        """Of each ballot: the number of its task."""
        return np.repeat(np.arange(self.answers.n_tasks), np.diff(self.answers.starts))

    @property
    def n_orders(self) -> int:
        """In how many orders pairs were shown."""
        return int(self.order.max(initial=0)) + 1

    @property
    def cell(self) -> Codes:
        """Of each ballot: the number of its task, judge and order, which may have several samples."""
        cell: Codes = (self.task * len(self.judges) + self.judge) * self.n_orders + self.order
        return cell

    @property
    def labels(self) -> list[Any]:
        """The labels, by their codes."""
        known = self.answers.encoding
        return known.decode(np.arange(known.n_labels)).tolist()

    def only(self, rows: npt.NDArray[np.bool_]) -> JudgeBallots:
        """Return some of the ballots, on the same tasks."""
        starts = np.concatenate([[0], np.cumsum(rows)])[self.answers.starts]
        some = replace(self.answers, starts=starts, worker=self.answers.worker[rows], label=self.answers.label[rows])
        return replace(self, answers=some, judge=self.judge[rows], order=self.order[rows], label=self.label[rows])

    def find(self, judges: Values) -> Codes:
        """Return the numbers of some of the judges."""
        place = {judge: number for number, judge in enumerate(self.judges.tolist())}
        return np.array([place[judge] for judge in judges.tolist()], np.intp)

    def reconcile(self) -> Reconciled:
        """Make one voice of the ballots of each judge on each task.

        >>> import allalike
        >>> said = allalike.read([(("ada", 0), 1, "x"), (("ada", 1), 1, "y"), (("ada", 0), 2, "x")])
        >>> ballots = JudgeBallots(said, said.workers.take(np.array([0])), np.zeros(3, int), said.worker, said.label)
        >>> ballots.reconcile().label
        array([-1,  0])
        """
        _, cell, size = np.unique(self.cell, return_inverse=True, return_counts=True)
        n_labels, n_judges = self.answers.encoding.n_labels, len(self.judges)
        place = (self.task * n_judges + self.judge) * n_labels + self.label
        key, group = np.unique(place, return_inverse=True)
        score: Floats = sum_by(group, 1.0 / size[cell], len(key))
        who, first = np.unique(key // n_labels, return_index=True)
        best = np.maximum.reduceat(score, first)
        wins = score > np.repeat(best, np.diff([*first, len(key)])) - _EQUAL
        undecided = np.add.reduceat(wins.astype(np.intp), first) > 1
        winner = np.maximum.reduceat(np.where(wins, key % n_labels, NOBODY), first)
        return Reconciled(who // n_judges, who % n_judges, np.where(undecided, self.tie, winner), undecided)

    def hear(self, voices: Reconciled) -> Answers:
        """Return one answer for each voice that is not silent; tasks and judges without any are left out."""
        heard = voices.label != NOBODY
        task, tasks = only_used(voices.task[heard].astype(np.int32), self.answers.tasks)
        judge, judges = only_used(voices.judge[heard].astype(np.int32), self.judges)
        return replace(
            self.answers,
            workers=judges,
            tasks=tasks,
            starts=np.concatenate([[0], np.cumsum(np.bincount(task, minlength=len(tasks)))]),
            worker=judge,
            label=voices.label[heard].astype(self.answers.label.dtype),
            problems=Problems.single(len(judges)),
        )


def find_tie(labels: list[Any], named: Any = None) -> int:
    """Return the place of the label that means a tie: the one that is named, or the only one that is called so.

    >>> find_tie(["A", "B", "Tie"]), find_tie(["A", "B", "C"], "C"), find_tie(["both", "neither", "one"])
    (2, 2, -1)
    """
    texts = [str(label).strip().casefold() for label in labels]
    if named is not None:
        wanted = str(named).strip().casefold()
        if wanted not in texts:
            raise OptionError(f"tie is {named!r}, but no verdict is. There are: {list_names(list(map(str, labels)))}.")
        return texts.index(wanted)
    found = [place for place, text in enumerate(texts) if text in _TIES and len(texts) <= _MOST_LABELS]
    if not found:
        return NOBODY
    return found[0] if len(found) == 1 else texts.index("tie") if "tie" in texts else NOBODY
