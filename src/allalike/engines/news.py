"""News: what a run knows that the one before it did not, for a method that goes on from where it was.

A stream has looked at the old answers once. It needs to see the tasks that new answers name and no others: with the
answers that they had, to take back what it made of these, and with all that they have now. Tasks that are prepared
again only because small shards are joined are no news, nor are truths that become known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from allalike.engines.shards import of_answers
from allalike.engines.sums import Sums

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block, Floats, Kernel
    from allalike._core.columns.factors import Codes
    from allalike._core.columns.hashes import Hashes
    from allalike.answers import Answers
    from allalike.domains import Encoding

__all__ = ["News"]


@dataclass(frozen=True)
class News:
    """The tasks that new answers name, as they were and as they are.

    Parameters
    ----------
    before
        The answers that they had, with the workers and the encoding of the new run.
    after
        All answers that they have, task after task in the order of their hashes.
    known
        The encoding of the run before; the codes of the new one may differ.
    worker_map
        The new number of each worker who was known, unless all kept theirs.

    >>> import allalike
    >>> known, more = (allalike.read([("ada", task, 3), ("bob", task, 4)]) for task in (1, 2))
    >>> news = News.of([known], more, more.tasks.hashes(), known.encoding, None)
    >>> [part.n_answers for part in news.before], news.after.n_answers, news.place(np.ones(2), fill=0.0)
    ([0], 2, array([1., 1.]))
    """

    before: list[Answers]
    after: Answers
    known: Encoding
    worker_map: Codes | None

    @classmethod
    def of(cls, old: list[Answers], answers: Answers, named: Hashes, known: Encoding, worker_map: Codes | None) -> News:
        """Choose the tasks with these hashes from the old answers to some tasks, and from all of them."""
        before = [_choose(part.under(answers.encoding), named) for part in old]
        return cls(before, _choose(answers, named), known, worker_map)

    def place(self, values: Floats, *, fill: float) -> Floats:
        """Return a row for each of all workers, given the rows of those who were known; others are filled."""
        if self.worker_map is None:
            return values
        placed = np.full((len(self.after.workers), *values.shape[1:]), fill)
        placed[self.worker_map] = values
        return placed

    def sum_before(self, kernel: Kernel, *params: Floats) -> dict[str, Floats]:
        """Add up what a kernel returns for the answers that these tasks had; nothing, if all of them are new."""
        sums = Sums(len(self.after.workers))
        for part in self.before:
            for block in _prepare(part):
                sums.add(block, kernel, params)
        return sums.arrays

    def blocks_after(self) -> list[Block]:
        """Prepare blocks of all answers that these tasks have."""
        return _prepare(self.after)


def _choose(answers: Answers, named: Hashes) -> Answers:
    """Return the answers to the tasks with these hashes, in the order of these, without what is known of them."""
    hashes = answers.tasks.hashes()
    order = np.argsort(hashes)
    tasks = order[np.isin(hashes[order], named)]
    sizes = np.diff(answers.starts)[tasks]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.repeat(answers.starts[tasks] - starts[:-1], sizes) + np.arange(starts[-1])
    return replace(
        answers,
        tasks=answers.tasks.take(tasks),
        starts=starts,
        worker=answers.worker[rows],
        label=answers.label[rows],
        gold_task=answers.gold_task[:0],
        gold_label=answers.gold_label[:0],
    )


def _prepare(answers: Answers) -> list[Block]:
    return of_answers(answers)[0].blocks if answers.n_answers else []
