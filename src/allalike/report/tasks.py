"""Tasks that a page shows: all of them, or those that matter most where they are too many.

One pass over what was found, a piece at a time, keeps three kinds of task: those whose truth is least sure, those whose
truth the weights changed, and those that many answered and nobody settled. The least sure come first. On the same pass
truths are counted by how sure they are, and those of a sample of tasks, chosen by the hash of their ids, are kept for
whatever compares answers with truths.

How much **doubt** there is about a truth is 1 minus its confidence, or the width of its limits where it is a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.columns.values import Values
from allalike.engines.sums import Piece

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allalike._core.blocks.block import Array, Floats

_HASHES = 2.0**64
_MOST_DOUBT = 1e300  # that of limits without end


@dataclass(frozen=True)
class ShownTasks:
    """The truths of some tasks, by the hashes of these, in order.

    >>> from allalike._core.columns.values import Values
    >>> tasks = Values(["t1", "t2"])
    >>> sample = ShownTasks(tasks, np.array([3, 9], np.uint64), np.array([1, 0]), np.array([0.5, 0.9]), np.zeros(2))
    >>> sample.find(np.array([9, 4], np.uint64))
    (array([1, 0]), array([ True, False]))
    """

    tasks: Values
    hashes: npt.NDArray[np.uint64]
    label: Array
    confidence: Floats
    doubt: Floats

    def find(self, wanted: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """Return the places of some hashes, and which of these are here."""
        if not len(self.hashes):
            return np.zeros(len(wanted), np.intp), np.zeros(len(wanted), np.bool_)
        place = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        here = self.hashes[place] == wanted
        return np.where(here, place, 0), here


@dataclass(frozen=True)
class Survey:
    """What a pass over all tasks found."""

    shown: Piece
    sample: ShownTasks
    counts: npt.NDArray[np.int64]
    single: int


def survey_tasks(pieces: Iterable[Piece], most: int, share: float) -> Survey:
    """Go over what was found, and keep so many of the most important tasks, about, and a share of all truths.

    >>> from allalike._core.columns.values import Values
    >>> found = {"label": np.array([0, 1]), "confidence": np.array([0.9, 0.6]), "changed": np.array([False, True])}
    >>> survey = survey_tasks([Piece(Values(["t1", "t2"]), np.array([3, 1]), found)], 10, 1.0)
    >>> survey.shown.tasks.tolist(), survey.counts[[12, 18]].tolist(), survey.single, len(survey.sample.hashes)
    (['t2', 't1'], [1, 1], 1, 2)
    """
    shown: Piece | None = None
    counts, single, kept = np.zeros(20, np.int64), 0, []
    for piece in pieces:
        shown = _most_important(piece if shown is None else Piece.join([shown, piece]), most)
        known = piece.found["confidence"][np.isfinite(piece.found["confidence"])]
        counts += np.bincount(np.clip((known * 20 + 1e-9).astype(np.int64), 0, 19), minlength=20)
        single += int(np.count_nonzero(piece.answers == 1))
        kept.append(_sampled(piece, share))
    assert shown is not None
    order = np.argsort(-doubts(shown.found), kind="stable")
    return Survey(_part(shown, order), _join(kept), counts, single)


def doubts(found: dict[str, Array]) -> Floats:
    """Return how much doubt there is about each truth; nothing is known of a truth that cannot be doubted.

    >>> doubts({"confidence": np.array([0.75, np.nan])}), doubts({"low": np.array([1.0]), "high": np.array([4.0])})
    (array([0.25, 0.  ]), array([3.]))
    """
    doubt: Floats = found["high"] - found["low"] if "low" in found else 1 - found["confidence"]
    return np.where(np.isnan(doubt), 0.0, np.minimum(doubt, _MOST_DOUBT))


def _sampled(piece: Piece, share: float) -> ShownTasks:
    hashes = piece.tasks.hashes()
    rows = np.flatnonzero(hashes / _HASHES < share)
    found = piece.found
    return ShownTasks(
        piece.tasks.take(rows), hashes[rows], found["label"][rows], found["confidence"][rows], doubts(found)[rows]
    )


def _join(parts: list[ShownTasks]) -> ShownTasks:
    columns = [
        np.concatenate([getattr(part, name) for part in parts]) for name in ("hashes", "label", "confidence", "doubt")
    ]
    order = np.argsort(columns[0], kind="stable")
    tasks = Values.join([part.tasks for part in parts])
    return ShownTasks(tasks.take(order), *(column[order] for column in columns))


def _most_important(piece: Piece, most: int) -> Piece:
    """Keep the tasks that are among the first of any of three orders; tasks that are as important come as they are."""
    if len(piece.answers) <= most:
        return piece
    doubt, changed = doubts(piece.found).round(9), piece.found["changed"]
    contested = doubt * piece.answers
    firsts = (
        np.argsort(-doubt, kind="stable")[: most // 2],
        np.lexsort((-doubt, ~changed))[: min(most // 4, int(changed.sum()))],
        np.argsort(-contested, kind="stable")[: most // 4],
    )
    return _part(piece, np.unique(np.concatenate(firsts)))


def _part(piece: Piece, rows: npt.NDArray[np.intp]) -> Piece:
    found = {name: column[rows] for name, column in piece.found.items()}
    return Piece(piece.tasks.take(rows), piece.answers[rows], found)
