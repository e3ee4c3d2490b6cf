"""Verdicts: the answers of a few judges as a table, beside what the panel says of each task and how sure it is.

Statistics of a panel compare every judge with every other on the same tasks. Judges are few, so a table with a row for
each task and a column for each judge holds all; of many answers it has some whole tasks, chosen by the hashes of their
ids, so that every engine has the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.groups import number_within_tasks
from allalike.engines.sample import sample_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from allalike._core.blocks.block import Array, Block, Floats
    from allalike.engines import Run

__all__ = ["NOBODY", "PanelAnswers", "Verdicts", "take_verdicts"]

NOBODY = -1  # in place of a label: nobody, or not this judge, gave one


@dataclass(frozen=True)
class PanelAnswers:
    """What is known of some tasks: the hashes of their ids, a label as a code, and how sure it is."""

    task_hash: npt.NDArray[np.uint64]
    label: Array
    sure: Floats


@dataclass(frozen=True)
class Verdicts:
    """The answers of judges, a row for each task and a column for each judge.

    Parameters
    ----------
    said
        The number of the label among those of its task, or -1 where the judge gave none.
    chance
        Of each task, and each of its labels: how probable it is that it is right.
    panel
        Of each task: the number of the label that the panel decided for without looking at known truths.
    sure
        Of each task: how probably the panel is right.
    known
        Of each task: whether its truth is known.
    truth
        Of each task: the number of the label that is known to be right, else of the panel's; -1 where no judge gave it.
    task_hash
        Of each task: the hash of its id.
    """

    said: npt.NDArray[np.intp]
    chance: Floats
    panel: npt.NDArray[np.intp]
    sure: Floats
    known: npt.NDArray[np.bool_]
    truth: npt.NDArray[np.intp]
    task_hash: npt.NDArray[np.uint64]

    @property
    def n_judges(self) -> int:
        """How many judges there are."""
        return int(self.said.shape[1])

    def only(self, tasks: npt.NDArray[np.bool_]) -> Verdicts:
        """Return the verdicts on some of the tasks."""
        return Verdicts(
            self.said[tasks],
            self.chance[tasks],
            self.panel[tasks],
            self.sure[tasks],
            self.known[tasks],
            self.truth[tasks],
            self.task_hash[tasks],
        )


def take_verdicts(
    run: Run, n_answers: int, believe: Callable[[Block], Floats], panel: Iterable[PanelAnswers]
) -> Verdicts:
    """Return about so many answers of a run as a table.

    Parameters
    ----------
    run, n_answers
        The answers, and how many of them at most.
    believe
        What says, per answer of a block whose labels are codes, how probable it is that its label is right.
    panel
        What the panel says of all tasks, some at a time.

    >>> import allalike
    >>> answers = allalike.read([("ada", 1, "x"), ("bob", 1, "y"), ("ada", 2, "x")], domain="categorical")
    >>> run, tasks = allalike.Memory().load(answers), answers.tasks.hashes()
    >>> panel = PanelAnswers(tasks, np.array([1, 0]), np.array([0.6, 0.9]))  # y and x
    >>> found = take_verdicts(run, 100, lambda block: np.full(len(block.label), 0.5), [panel])
    >>> order = np.argsort(-found.sure)
    >>> found.said[order].tolist(), found.panel[order].tolist()
    ([[0, -1], [0, 1]], [0, 1])
    """
    blocks = sample_tasks(run, n_answers).blocks
    n, width = run.problems.n_workers, max(int(number_within_tasks(block)[1].max()) for block in blocks)
    parts = [_spread(block, believe(block), n, width) for block in blocks]
    said, chance, codes = (np.concatenate(column) for column in zip(*parts, strict=True))
    hashes = np.concatenate([block.task_hash for block in blocks])
    known, gold = np.zeros(len(hashes), bool), np.full(len(hashes), NOBODY)
    first = np.cumsum([0, *(block.n_tasks for block in blocks)])
    for begin, block in zip(first, blocks, strict=False):
        known[begin + block.gold_task] = True
        gold[begin + block.gold_task] = block.gold_label
    label, sure = _look_up(hashes, panel)
    decided = _number(codes, label)
    return Verdicts(said, chance, decided, sure, known, np.where(known, _number(codes, gold), decided), hashes)


def _spread(block: Block, chance: Floats, n: int, width: int) -> tuple[Array, Floats, Array]:
    """Return, of each task, what each judge said, and of each of its labels the chance and the code."""
    slot, _ = number_within_tasks(block)
    task = block.task
    said = np.full((block.n_tasks, n), NOBODY, np.intp)
    said[task, block.worker] = slot
    chances, codes = np.zeros((block.n_tasks, width)), np.full((block.n_tasks, width), NOBODY - 1, np.int64)
    chances[task, slot], codes[task, slot] = chance, block.label
    return said, chances, codes


def _look_up(hashes: npt.NDArray[np.uint64], panel: Iterable[PanelAnswers]) -> tuple[Array, Floats]:
    """Return the label and how sure it is of the tasks with these hashes."""
    order = np.argsort(hashes, kind="stable")
    label, sure = np.full(len(hashes), NOBODY, np.int64), np.zeros(len(hashes))
    for piece in panel:
        place = np.minimum(np.searchsorted(hashes[order], piece.task_hash), len(hashes) - 1)
        here = hashes[order][place] == piece.task_hash
        label[order[place[here]]], sure[order[place[here]]] = piece.label[here], piece.sure[here]
    return label, sure


def _number(codes: Array, label: Array) -> npt.NDArray[np.intp]:
    """Return the numbers of labels among those of their tasks, or -1 where nobody gave them."""
    same = codes == label[:, None]
    return np.where(same.any(axis=1), same.argmax(axis=1), NOBODY)
