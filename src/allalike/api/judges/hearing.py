"""Hearing: from rows, of which a judge may have several for a task, to her one voice, and what is known of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.matches import find_places
from allalike.answers import Answers
from allalike.api.inputs.opening import inputs_of, open_source
from allalike.api.judges.ballots import JudgeBallots, find_tie
from allalike.api.judges.coverage import MIN_GOLD
from allalike.api.judges.orders import find_orders
from allalike.api.judges.outcomes import Outcomes
from allalike.api.judges.rows import question_repeats, read_rows
from allalike.api.judges.samples import find_samples
from allalike.api.judges.score_samples import ScoreBallots
from allalike.api.judges.unreadable import Unread, Unreadable, look_for_unread
from allalike.api.judges.verdicts import NOBODY
from allalike.errors import InputError, OptionError
from allalike.readers import Scan, scan

if TYPE_CHECKING:
    from pathlib import Path

    from allalike._core.blocks.block import Array, Floats
    from allalike.api.judges.asking import HowAsked
    from allalike.api.judges.ballots import Reconciled
    from allalike.api.judges.finding import Finding
    from allalike.api.judges.rows import Read
    from allalike.api.result import Result
    from allalike.domains import Domain, Encoding
    from allalike.engines import Run
    from allalike.readers import ReadOptions

__all__ = ["Hearing", "hear"]


@dataclass(frozen=True)
class Hearing:
    """What judges said, one voice for each on a task, or rows that are this already.

    Parameters
    ----------
    answers
        What is to be weighed.
    asked
        How judges were asked.
    gold
        How known truths are named, unless the answers have them.
    rows, voices
        The rows that were read, and the voices that became of them, if judges may have several rows.
    inputs
        Files that known truths came from, where the answers have them.
    """

    answers: Answers | Scan
    asked: HowAsked
    gold: dict[str, Any] = field(default_factory=dict)
    rows: Read | None = None
    voices: Reconciled | None = None
    inputs: tuple[Path, ...] = ()

    def detach(self, result: Result) -> Result:
        """Return a result that does not read rows as answers, where they are more than that."""
        if self.rows is None:
            return result
        return replace(result, basis=None, inputs=(*result.inputs, *self.inputs))

    def find_tie(self, encoding: Encoding) -> int:
        """Return the code of the label that means a tie, or -1."""
        if not encoding.nominal:
            return NOBODY
        return find_tie(encoding.decode(np.arange(encoding.n_labels)).tolist(), self.asked.tie)

    def findings(self, result: Result, odds: Floats, *, quorum: float | None, keep: float) -> list[Finding]:
        """Return what is known of the rows: outcomes, what could not be read, orders and samples."""
        run, found = result.run, self.find_outcomes(result, quorum)
        if self.rows is None:
            return found
        ballots = self.rows.ballots
        assert isinstance(ballots, JudgeBallots)
        if self.asked.order is not None:
            found.append(find_orders(ballots, self.rows.about, self.rows.first_order, run.workers))
        if self.asked.sample is not None:
            truth, by_gold = _find_truth(ballots, result)
            samples = find_samples(ballots, truth, ballots.find(run.workers), odds, by_gold=by_gold, keep=keep)
            found += [] if samples is None else [samples]
        return found

    def find_outcomes(self, result: Result, quorum: float | None) -> list[Finding]:
        """Find what became of each task, and whose verdicts could not be read."""
        run, tie = result.run, self.find_tie(result.run.encoding)
        named = None if tie == NOBODY else run.encoding.decode(np.array([tie])).tolist()[0]
        unread, total = self._find_unread(result.summary)
        lost = () if unread is None else unread.tasks
        outcomes = Outcomes(result.found, quorum, named, self._undecided, lost, self._find_voiceless(run))
        return [outcomes, Unreadable(run.workers, total, unread)]

    @property
    def score_ballots(self) -> ScoreBallots | None:
        """The samples of judges who score, if they have several."""
        ballots = None if self.rows is None or self.asked.sample is None else self.rows.ballots
        return ballots if isinstance(ballots, ScoreBallots) else None

    @property
    def _undecided(self) -> list[Any]:
        """The tasks on which every judge is undecided."""
        if self.rows is None or self.voices is None:
            return []
        tasks = self.rows.ballots.answers.tasks
        heard = np.bincount(self.voices.task[self.voices.label != NOBODY], minlength=len(tasks))
        return tasks.take(np.flatnonzero(heard == 0)).tolist()

    def _find_voiceless(self, run: Run) -> list[Any]:
        """Return the judges who are undecided on every task."""
        if self.rows is None or self.voices is None:
            return []
        asked = self.rows.ballots.judges.take(np.unique(self.voices.judge)).tolist()
        heard = set(run.workers.tolist())
        return [judge for judge in asked if judge not in heard]

    def _find_unread(self, summary: dict[str, Any]) -> tuple[Unread | None, int]:
        """Return whose verdicts could not be read, if that can be known, and how many."""
        if self.rows is not None:
            return self.rows.unread, sum(self.rows.unread.rows.values())
        wide = isinstance(self.answers, Scan) and self.answers.wide is not None
        total = summary.get("unparsed", {}).get("labels", 0) + (0 if wide else summary.get("missing_dropped", 0))
        return (look_for_unread(self.answers) if total else Unread()), total


def hear(
    answers: Any, asked: HowAsked, how: ReadOptions, *, domain: str | Domain | None, gold: dict[str, Any]
) -> Hearing:
    """Name what is to be weighed, or make one voice of the rows of each judge on each task.

    Parameters
    ----------
    answers, domain
        As `allalike.jury` has them.
    asked, how
        How judges were asked, and how answers are read.
    gold
        How known truths are named.
    """
    if isinstance(answers, Answers):
        if asked.needs_rows:
            name = next(iter(asked.names.values()), "verdicts")
            raise OptionError(f"The answers have been read already, without {name!r}. Give what they were read from.")
        return Hearing(answers, asked, gold | {"domain": domain, **how})
    named = isinstance(answers, Scan)
    given: dict[str, Any] = {"domain": domain, **how} if named else {}
    usual: ReadOptions = {"missing": "drop", **how}
    source = answers if named else scan(answers, domain=domain, **usual)
    if question := question_repeats(source, asked):
        raise question
    if not asked.needs_rows:
        return Hearing(source, asked, gold | given)
    opened, known = open_source(source, **gold, **given)
    assert isinstance(opened, Scan)
    rows = read_rows(opened, asked)
    voices = None
    if isinstance(rows.ballots, ScoreBallots):
        heard = rows.ballots.hear()
    else:
        voices = rows.ballots.reconcile()
        if (voices.label == NOBODY).all():
            other = f" Look whether verdicts name {rows.about}." if rows.about else ""
            raise InputError(f"Every judge contradicts herself on every task, so that there is no verdict.{other}")
        heard = rows.ballots.hear(voices)
    heard = replace(heard if known is None else heard.with_gold(known), frame=opened.frame)
    return Hearing(heard, asked, {}, rows, voices, inputs_of(gold["gold"]))


def _find_truth(ballots: JudgeBallots, result: Result) -> tuple[Array, bool]:
    """Return, of each task, the code of its known truth where these are enough, or else of what the panel says."""
    piece, encoding = result.found.joined(), result.run.encoding
    place = find_places(ballots.answers.tasks, piece.tasks)
    code = {label: number for number, label in enumerate(ballots.labels)}
    labels = np.array([code.get(each, NOBODY) for each in encoding.decode(piece.found["label"]).tolist()], np.intp)
    by_gold = result.run.n_gold >= MIN_GOLD and "known" in piece.found
    labels = np.where(piece.found["known"], labels, NOBODY) if by_gold else labels
    return np.where(place >= 0, labels[place], NOBODY), by_gold
