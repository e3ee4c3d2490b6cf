"""Task verdicts: what a panel that does not know truths says of each task, good or not, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import Values
from allalike._core.registry import did_you_mean
from allalike.api.judges.verdicts import NOBODY
from allalike.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.domains import Encoding, Kernels
    from allalike.engines import Run, TaskTable

__all__ = ["TaskVerdicts", "find_codes", "find_ids", "find_known", "gather_verdicts"]

_MAX_LISTED = 10


@dataclass(frozen=True)
class TaskVerdicts:
    """What the panel says of each task, in the order of their ids.

    Parameters
    ----------
    verdict
        1 where it calls the task good, else 0.
    truth
        1 where the task is known to be good, 0 where it is known not to be, else NaN.
    found
        Where the ids are.
    """

    verdict: npt.NDArray[np.intp]
    truth: Floats
    found: TaskTable

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Of which tasks the truth is known."""
        return ~np.isnan(self.truth)

    def hashes(self) -> npt.NDArray[np.uint64]:
        """Return the hashes of the ids."""
        return np.concatenate([piece.tasks.hashes() for piece in self.found.pieces()])


def gather_verdicts(run: Run, found: TaskTable, good: Sequence[Any]) -> TaskVerdicts:
    """Tell good labels from others, in what the panel found and in what is known.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 2, "y")])
    >>> told = gather_verdicts(result.run, result.found, ["x"])
    >>> told.verdict, told.truth
    (array([1, 0]), array([nan, nan]))
    """
    codes = find_codes(run.encoding, good)
    label = np.concatenate([piece.found["label"] for piece in found.pieces()])
    truth = find_known(run)
    return TaskVerdicts(
        np.isin(label, codes).astype(np.intp), np.where(truth == NOBODY, np.nan, np.isin(truth, codes)), found
    )


def find_codes(encoding: Encoding, good: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return the codes of some labels, which must be among those that judges gave.

    >>> import allalike
    >>> answers = allalike.read([("ada", 1, "yes"), ("bob", 1, "no")], domain="categorical")
    >>> find_codes(answers.encoding, ["yse"])
    Traceback (most recent call last):
    allalike.errors.UnknownNameError: No verdict is 'yse'. Did you mean 'yes'? The verdicts are: no, yes.
    """
    known = {str(label): code for code, label in enumerate(encoding.decode(np.arange(encoding.n_labels)).tolist())}
    if missing := [str(label) for label in good if str(label) not in known]:
        listed = ", ".join(list(known)[:_MAX_LISTED]) + (", ..." if len(known) > _MAX_LISTED else "")
        close = did_you_mean(missing[0], known)
        raise UnknownNameError(f"No verdict is {missing[0]!r}.{close} The verdicts are: {listed}.")
    return np.array([known[str(label)] for label in good], np.int64)


def find_known(run: Run) -> npt.NDArray[np.int64]:
    """Return the code of each task's known truth, in the order of task ids; -1 where it is not known."""
    truths: npt.NDArray[np.int64] = run.collect(partial(_take_gold, kernels=run.kernels))["truth"]
    return truths


def _take_gold(block: Block, *, kernels: Kernels) -> dict[str, Array]:
    truth = np.full(block.n_tasks, NOBODY, np.int64)
    if len(block.gold_task):
        truth[block.gold_task] = kernels.restore_gold(block)
    return {"truth": truth}


def find_ids(found: TaskTable, wanted: npt.NDArray[np.uint64]) -> Values:
    """Return the ids with these hashes, in the order of these.

    >>> import allalike
    >>> found = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 2, "y")]).found
    >>> find_ids(found, found.joined().tasks.hashes()[::-1]).tolist()
    [2, 1]
    """
    ids, hashes = [], []
    for piece in found.pieces():
        own = piece.tasks.hashes()
        here = np.flatnonzero(np.isin(own, wanted))
        ids.append(piece.tasks.take(here))
        hashes.append(own[here])
    all_hashes = np.concatenate(hashes)
    order = np.argsort(all_hashes, kind="stable")
    return Values.join(ids).take(order[np.searchsorted(all_hashes[order], wanted)])
