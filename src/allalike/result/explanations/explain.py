"""explain: why a task has its truth, and what a worker is like.

Ids match as they came, or as they are written: ``"7"`` is the task 7 unless another one is called so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.matches import find_places
from allalike._core.columns.values import Values
from allalike._core.late import pa
from allalike._core.registry import did_you_mean
from allalike.engines.sums import Piece
from allalike.errors import OptionError, UnknownNameError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike.engines import Run, TaskTable
    from allalike.methods import Weighing
    from allalike.result.explanations.explanations import TaskExplanation, WorkerExplanation

_MAX_CLOSE = 20_000  # ids among which a close one is looked for


class Explained:
    """What can be explained: truths that were found in a run, and the workers that were weighed.

    >>> import allalike
    >>> isinstance(allalike.discover([("ada", 1, "x"), ("bob", 1, "x")]), Explained)
    True
    """

    run: Run
    weighing: Weighing
    found: TaskTable
    again: Callable[[Run], TaskTable] | None

    def explain(self, *, task: Any = None, worker: Any = None) -> TaskExplanation | WorkerExplanation:
        """Say why a task has its truth, or what a worker is like.

        Of a task: all answers with their weights, the margin, and whose change would change the truth. Of a worker: her
        nearest and farthest colleagues, her strongest disagreements, what is odd about her with what says so, and what
        the truths would be without her.

        >>> import allalike
        >>> rows = [("ada", 7, "x"), ("bob", 7, "x"), ("eve", 7, "y"), ("eve", 8, "x")]
        >>> result = allalike.discover(rows, method="UA")
        >>> result.explain(task=7).answers[["worker", "label", "share", "if_changed"]].round(2)
          worker label  share  if_changed
        0    ada     x   0.33        True
        1    bob     x   0.33        True
        2    eve     y   0.33       False
        >>> result.explain(worker="eve").without.changed
        0
        """
        if (task is None) == (worker is None):
            raise OptionError(
                "explain needs the id of a task or of a worker: explain(task=...) or explain(worker=...)."
            )
        if task is not None:
            from allalike.result.explanations.reasons import explain_task

            return explain_task(self.run, self.weighing, _find_task(self.found, task))
        if self.run.worker_task is not None:
            raise UnsupportedError("Every task is a problem of its own here, with its own workers. Explain a task.")
        place = int(find_places(_wanted(worker, self.run.workers), self.run.workers)[0])
        if place < 0:
            raise _unknown("worker", worker, self.run.workers)
        from allalike.result.explanations.reasons import explain_worker

        return explain_worker(self.run, self.weighing, self.found, self.again, place)


def _find_task(found: TaskTable, task: Any) -> Piece:
    """Return the row of a task in the table of truths."""
    first: Values | None = None
    for piece in found.pieces():
        row = find_places(_wanted(task, piece.tasks), piece.tasks)
        if row[0] >= 0:
            return Piece(piece.tasks.take(row), piece.answers[row], {n: c[row] for n, c in piece.found.items()})
        first = first or piece.tasks
    assert first is not None
    raise _unknown("task", task, first)


def _wanted(name: Any, known: Values) -> Values:
    """Return an id as a column, of Python's where the others are."""
    name = name.item() if isinstance(name, np.generic) else name
    if isinstance(known.data, list):
        return Values([name])
    try:
        return Values(pa.array([name]))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return Values([name])


def _unknown(kind: str, name: Any, known: Values) -> UnknownNameError:
    some = [str(each) for each in known.take(np.arange(min(len(known), _MAX_CLOSE))).tolist()]
    hint = did_you_mean(str(name), some)
    return UnknownNameError(f"No {kind} is called {name!r}.{hint or f' The first is {some[0]!r}.'}")
