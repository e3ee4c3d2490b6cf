"""Repeated verdicts of judges who were asked more than once about a task, and the one verdict that they become.

A judge may have seen a pair in both orders, and may have been asked several times in each. All that is one voice: the
label l has the share

    s(l) = mean over orders of (the share of l among the samples in this order),

and the voice is the label with the largest share. Every order counts the same, however many samples it has, so that the
effect of the position cancels out. Where two labels have the same share, the judge is undecided: a tie where labels
have one, and otherwise it has no voice on this task. The samples of a judge who scores become their mean.

**What verdicts on pairs name.** The label A may be an answer, whatever its place, or the place in which one was shown.
Let x and y be 1 where a judge says A in the first and in the second order. If both follow what is in the answers, x and
y go together if labels name answers, and against each other if they name places. A preferred position moves x and y
whatever the task, and so has no part in how they vary together over tasks. With the scores

    c_t = sum over judges of (x - mean of x) (y - mean of y)

of each task t, the sum of all is compared with its standard deviation, the root of the sum of c_t^2. Above 3 labels
name answers, below -3 places; between, the user is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.blocks.problems import Problems
from allalike._core.columns.factors import only_used
from allalike.errors import InputError, OptionError, Proposal, UnsupportedError
from allalike.panels.verdicts import NOBODY
from allalike.readers.column_names import list_names

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike._core.columns.values import Values
    from allalike.answers import Answers
    from allalike.domains import Encoding
    from allalike.panels.verdicts import Codes, Marks

ANSWERS, PLACES = "answers", "places"
_TIES = ("tie", "tied", "draw", "equal", "both", "neither", "a=b")
_PLACES = ({"first", "second"}, {"left", "right"}, {"top", "bottom"}, {"1st", "2nd"})  # which are no answers
_MOST_LABELS = 10  # of open answers, one may be called a tie by chance
_MAX_SIDES = 10  # verdicts on a pair, from much better to much worse
_EQUAL = 1e-9  # shares that differ by less are the same
_SURE = 3.0  # standard deviations


class Voices(NamedTuple):
    """The one voice of each judge on each task that it was asked about; -1 without one."""

    task: Codes
    judge: Codes
    label: Any


@dataclass(frozen=True)
class RepeatedVerdicts:
    """All verdicts that could be read, in the order of tasks; labels are codes of classes, or numbers."""

    answers: Answers
    judges: Values
    judge: Codes
    order: Codes
    label: Any
    tie: int = NOBODY

    @property
    def task(self) -> Codes:
        """Of each ballot: the number of its task."""
        return np.repeat(np.arange(self.answers.n_tasks), np.diff(self.answers.starts))

    @property
    def n_orders(self) -> int:
        """The number of orders in which pairs were shown."""
        return int(self.order.max(initial=0)) + 1

    @property
    def cell(self) -> Codes:
        """Of each ballot: the number of its task, judge and order, which may have several samples."""
        cell: Codes = (self.task * len(self.judges) + self.judge) * self.n_orders + self.order
        return cell

    @property
    def labels(self) -> list[Any]:
        """The classes, by their codes."""
        known = self.answers.encoding
        return known.decode(np.arange(known.n_labels)).tolist()

    @property
    def sided(self) -> Marks:
        """Which ballots are no tie."""
        return np.asarray(self.label != self.tie)

    def only(self, rows: Marks) -> RepeatedVerdicts:
        """Return some of the ballots, on the same tasks."""
        starts = np.concatenate([[0], np.cumsum(rows)])[self.answers.starts]
        some = replace(self.answers, starts=starts, worker=self.answers.worker[rows], label=self.answers.label[rows])
        return replace(self, answers=some, judge=self.judge[rows], order=self.order[rows], label=self.label[rows])

    def find(self, judges: Values) -> Codes:
        """Return the numbers of some of the judges."""
        place = {judge: number for number, judge in enumerate(self.judges.tolist())}
        return np.array([place[judge] for judge in judges.tolist()], np.intp)

    def find_sides(self) -> tuple[int, int] | None:
        """Return the codes of the two labels that are no tie, if there are two."""
        sides = [code for code in np.unique(self.label).tolist() if code != self.tie]
        return (sides[0], sides[1]) if len(sides) == 2 else None

    def find_means(self, value: Floats, rows: Marks) -> Floats:
        """Return the mean of some ballots, a row per task and a column per judge, NaN without any."""
        place = (self.task * len(self.judges) + self.judge)[rows]
        shape = self.answers.n_tasks, len(self.judges)
        sums, counts = (sum_by(place, each, shape[0] * shape[1]) for each in (value[rows], np.ones(len(place))))
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).reshape(shape)

    def reconcile(self) -> Voices:
        """Make one voice of the ballots of each judge on each task."""
        n_judges = len(self.judges)
        who = self.task * n_judges + self.judge
        if self.answers.encoding.numeric:
            key, place = np.unique(who, return_inverse=True)
            means = sum_by(place, self.label, len(key)) / np.bincount(place, minlength=len(key))
            return Voices(key // n_judges, key % n_judges, means)
        _, cell, size = np.unique(self.cell, return_inverse=True, return_counts=True)
        n_labels = self.answers.encoding.n_labels
        key, group = np.unique(who * n_labels + self.label, return_inverse=True)
        score: Floats = sum_by(group, 1.0 / size[cell], len(key))
        voice, first = np.unique(key // n_labels, return_index=True)
        wins = score > np.repeat(np.maximum.reduceat(score, first), np.diff([*first, len(key)])) - _EQUAL
        undecided = np.add.reduceat(wins.astype(np.intp), first) > 1
        winner = np.maximum.reduceat(np.where(wins, key % n_labels, NOBODY), first)
        return Voices(voice // n_judges, voice % n_judges, np.where(undecided, self.tie, winner))

    def hear(self, voices: Voices) -> Answers:
        """Return one answer for each voice; tasks and judges without any are left out."""
        heard = np.ones(len(voices.task), bool) if self.answers.encoding.numeric else voices.label != NOBODY
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


def find_tie(encoding: Encoding, named: Any = None) -> int:
    """Return the code of the class that means a tie: the one that is named, or the only one that is called so."""
    if not encoding.nominal:
        return NOBODY
    labels = list(map(str, encoding.decode(np.arange(encoding.n_labels)).tolist()))
    texts = [label.strip().casefold() for label in labels]
    if named is not None:
        wanted = str(named).strip().casefold()
        if wanted not in texts:
            raise OptionError(f"tie is {named!r}, but no verdict is. There are: {list_names(labels)}.")
        return texts.index(wanted)
    found = [place for place, text in enumerate(texts) if text in _TIES and len(texts) <= _MOST_LABELS]
    if not found:
        return NOBODY
    return found[0] if len(found) == 1 else texts.index("tie") if "tie" in texts else NOBODY


def weigh_readings(ballots: RepeatedVerdicts) -> float:
    """Return by how many standard deviations labels rather name answers; they rather name places if it is negative."""
    sides = ballots.find_sides()
    if sides is None:
        return 0.0
    first = (ballots.label == sides[0]).astype(np.float64)
    says = [ballots.find_means(first, (ballots.order == order) & ballots.sided) for order in (0, 1)]
    known = ~np.isnan(says[0] + says[1])
    both = np.maximum(known.sum(axis=0), 1.0)
    filled = [np.where(known, each, 0.0) for each in says]
    centred = [np.where(known, each - each.sum(axis=0) / both, 0.0) for each in filled]
    scores = (centred[0] * centred[1]).sum(axis=1)
    spread = float(np.sqrt(np.square(scores).sum()))
    return float(scores.sum()) / spread if spread > 0 else 0.0


def name_answers(ballots: RepeatedVerdicts, about: str | None) -> tuple[RepeatedVerdicts, str]:
    """Return ballots whose labels name the same answer in both orders, and what they named before."""
    names = list(map(str, ballots.labels))
    if len(names) > _MAX_SIDES:
        raise UnsupportedError(
            f"Both orders of a pair become one voice where verdicts say which of two is better, or by how much. These"
            f" have {len(names):,} different labels, such as {list_names(names[:3])}."
            f" Leave out order, or make one row for each judge and task before."
        )
    sides = ballots.find_sides()
    if about is None:
        about = _guess_about(ballots, sides)
    if about == ANSWERS:
        return ballots, about
    if sides is None:
        raise OptionError("about is 'places', but there are not two labels for the two places, beside a tie.")
    swap = np.arange(int(ballots.label.max()) + 1)
    swap[list(sides)] = sides[::-1]
    return replace(ballots, label=np.where(ballots.order == 1, swap[ballots.label], ballots.label)), about


def _guess_about(ballots: RepeatedVerdicts, sides: tuple[int, int] | None) -> str:
    if sides is None:
        return ANSWERS
    weight = weigh_readings(ballots)
    if abs(weight) > _SURE:
        return ANSWERS if weight > 0 else PLACES
    names = [str(ballots.labels[code]) for code in sides]
    if {name.casefold() for name in names} in _PLACES:
        return PLACES
    likely = (ANSWERS, PLACES) if weight >= 0 else (PLACES, ANSWERS)
    raise InputError(
        f"Pairs were shown in two orders, and {names[0]!r} may be an answer, whatever its place, or the place in which"
        " an answer was shown: the verdicts do not tell.",
        proposals=[Proposal({"about": each}) for each in likely],
    )
