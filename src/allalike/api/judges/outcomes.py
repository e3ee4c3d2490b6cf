"""Outcomes: the four that a task may have, a class (or a score), a tie, inconclusive, and unreadable.

A panel is inconclusive about a task of which it is less sure than was asked, on which fewer independent voices were
heard than were asked for (the quorum), or on which every judge is undecided. Voices are the effective ones of
`allalike.methods.auto.voices` where known truths tell how errors go together; otherwise copies have one voice
together, and every other judge one of her own. Of labels that are near or far from each other, such as numbers, levels
and rankings, a verdict is a score, and never a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.voices import find_voices
from allalike._core.columns.factors import order_of
from allalike._core.columns.values import Values
from allalike.api.judges.verdicts import NOBODY
from allalike.methods.auto.voices import count_effective_voices, with_voices
from allalike.result.summaries import withhold
from allalike.result.tables import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike._core.blocks.block import Array, Block
    from allalike.api.judges.finding import Columns
    from allalike.engines import TaskTable
    from allalike.methods.insight import VoiceGroups

CLASS, TIE, INCONCLUSIVE, UNREADABLE, SCORE = range(len(OUTCOMES))
_COUNTED = ("classes", "ties", "inconclusive", "unreadable", "scores")
_CLOSE = 1e-9


@dataclass(frozen=True)
class Outcomes:
    """What became of each task, as a panel tells of it."""

    found: TaskTable
    quorum: float | None
    tie: Any
    undecided: Sequence[Any] = ()
    unreadable: Sequence[Any] = ()
    voiceless: Sequence[Any] = ()

    def describe(self) -> dict[str, Any]:
        """Count the tasks of each outcome."""
        own = (np.bincount(piece.found["verdict"], minlength=len(OUTCOMES)) for piece in self.found.pieces())
        counts = sum(own, start=np.array([0, 0, len(self.undecided), len(self.unreadable), 0]))
        silent = {"voiceless": list(self.voiceless)} if self.voiceless else {}
        quorum = {} if self.quorum is None else {"quorum": self.quorum, "below_quorum": int(self.found.total("few"))}
        tie = {} if self.tie is None else {"tie": self.tie}
        told = dict(zip(_COUNTED, counts.tolist(), strict=True))
        return {"outcomes": {**told, "undecided": len(self.undecided), **silent, **tie, **quorum}}

    def tables(self) -> dict[str, Columns]:
        """Return no table: that of truths has it."""
        return {}

    def judge_columns(self) -> Columns:
        """Return nothing about judges."""
        return {}

    def complete(self, columns: Mapping[str, Values | Array]) -> dict[str, Values | Array]:
        """Return the columns of the table of truths with the tasks on which no voice was heard, in their order."""
        tasks = columns["task"]
        assert isinstance(tasks, Values)
        silent = [*self.undecided, *self.unreadable]
        every = Values([*tasks.tolist(), *_like(tasks, silent)])
        order = order_of(every)
        names = [OUTCOMES[INCONCLUSIVE]] * len(self.undecided) + [OUTCOMES[UNREADABLE]] * len(self.unreadable)
        known: dict[str, list[Any]] = {"task": _like(tasks, silent), "verdict": names, "answers": [0] * len(silent)}
        return {name: _extend(column, known.get(name), len(silent), order) for name, column in columns.items()}


def conclude(
    block: Block,
    found: dict[str, Array],
    *,
    groups: VoiceGroups,
    quorum: float | None,
    tie: int = NOBODY,
    usual: int = CLASS,
    correlation: float | None = None,
) -> dict[str, Array]:
    """Add to what was found for the tasks of a block which outcome each has, and withhold those below the quorum."""
    few = np.zeros(block.n_tasks, np.bool_)
    if quorum is not None:
        voices = found.get("voices")
        if voices is None:
            heard = with_voices(block, groups=groups)
            voices = block.per_task(find_voices(heard).voice)
            voices = voices if correlation is None else count_effective_voices(heard, correlation)
        few = (voices < quorum - _CLOSE) & ~found.get("known", few)
        found = withhold(found, few | found.get("abstained", few))
    verdict = np.full(block.n_tasks, usual) if tie == NOBODY else np.where(found["label"] == tie, TIE, usual)
    return {**found, "few": few, "verdict": np.where(found.get("abstained", few), INCONCLUSIVE, verdict)}


def _like(tasks: Values, others: Sequence[Any]) -> list[Any]:
    """Return ids as others are: as whole numbers where these are, and otherwise as they came."""
    if all(isinstance(task, int) for task in tasks.tolist()[:1]):
        try:
            return [int(each) for each in others]
        except ValueError:
            return list(others)
    return list(others)


def _column_like(column: Values, values: list[Any]) -> Values:
    """Return values as a column of the same type, if they can be, so that numbers stay numbers."""
    import pyarrow as pa

    try:
        return Values(values if isinstance(column.data, list) else pa.array(values, column.data.type))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return Values(values)


def _extend(column: Values | Array, values: list[Any] | None, n: int, order: Array) -> Values | Array:
    """Return a column with values for so many more rows, or with nothing in them, in an order."""
    if isinstance(column, Values):
        return Values.join([column, _column_like(column, [None] * n if values is None else values)]).take(order)
    if values is None:
        values = [False] * n if column.dtype == np.bool_ else [np.nan] * n
    joined: Array = np.concatenate([column, np.array(values)])[order]
    return joined
