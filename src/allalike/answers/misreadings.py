"""Misreadings: what counting tells where columns are hardly those that were meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

    from allalike._core.columns.values import Values
    from allalike.domains import Domain, Encoding

__all__ = ["Counted", "find_misreadings"]

_MAX_REPEATS = 0.2  # of all rows
_MIN_UNLIKE = 6  # answers, all of them different, that are no accident


class Counted(Protocol):
    """Answers of which it is counted how many there are of whom to what."""

    @property
    def notes(self) -> Mapping[str, Any]:
        """What was guessed or set aside."""

    @property
    def answer_counts(self) -> npt.NDArray[np.int64]:
        """How many answers each worker gave."""

    @property
    def workers(self) -> Values:
        """Who answered."""

    @property
    def n_tasks(self) -> int:
        """How many tasks have answers."""

    @property
    def n_single(self) -> int:
        """How many tasks have one answer only."""

    @property
    def only_number(self) -> float | None:
        """The number that all labels are, if so."""

    @property
    def encoding(self) -> Encoding:
        """What labels have in common."""

    @property
    def domain(self) -> Domain:
        """The kind of label."""


def find_misreadings(answers: Counted) -> set[str]:
    """Name what makes every result worthless.

    These are ``repeats`` of a worker and a task, unless they are samples; one ``worker``, one ``task``, unless it is an
    election, or one ``label``; tasks that are ``apart``, none of which has two answers; and classes that are
    ``unlike``, as many as answers.

    >>> import allalike
    >>> sorted(find_misreadings(allalike.read([("ada", 1, "x"), ("ada", 2, "x")])))
    ['apart', 'label', 'worker']
    """
    number, labels = int(answers.answer_counts.sum()), answers.encoding
    aside = answers.notes.get("repeats_set_aside", 0)
    same = answers.only_number is not None if labels.numeric else labels.n_labels == 1
    told = {
        "repeats": aside > _MAX_REPEATS * (number + aside) and "samples" not in answers.notes,
        "worker": len(answers.workers) == 1,
        "task": answers.n_tasks == 1 and answers.domain.name != "ranking",
        "label": number > 1 and same,
        "apart": answers.n_single == answers.n_tasks > 1,
        "unlike": labels.nominal and _MIN_UNLIKE <= number <= labels.n_labels,
    }
    return {name for name, found in told.items() if found}
