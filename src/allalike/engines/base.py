"""Engine: where kernels run. An engine loads answers and gives a run, on which methods sum kernels over all blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike.columns.values import Values
from allalike.system.progress import report
from allalike.system.tables import write_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy.typing as npt
    import pyarrow as pa

    from allalike.answers import Answers
    from allalike.answers.gold import Gold
    from allalike.blocks.block import Array, Block, Floats, Kernel
    from allalike.blocks.problems import Problems
    from allalike.blocks.ties import Ties
    from allalike.columns.hashes import Hashes
    from allalike.domains import Domain
    from allalike.engines.growing import Picked, View
    from allalike.engines.shards import Shard, Tally
    from allalike.readers import Scan

    Change = Callable[[Block], Block]

__all__ = ["Engine", "Piece", "Run", "TaskTable"]


class Engine(ABC):
    """Load answers."""

    name: ClassVar[str]

    @abstractmethod
    def load(self, answers: Answers, ties: Ties) -> Run:
        """Cut the answers into blocks, and prepare these."""

    def reads(self, source: Scan) -> bool:
        """Tell whether the engine reads such answers itself, where they are, and not all of them at once."""
        return False

    def open(self, source: Scan, gold: Gold | None, ties: Ties) -> Run:
        """Read answers and make blocks of them, a part at a time."""
        raise NotImplementedError


@dataclass(frozen=True)
class Piece:
    """Hold some tasks in order, how many answers each has, and what a kernel found for them."""

    tasks: Values
    answers: npt.NDArray[np.int64]
    found: dict[str, Array]

    @classmethod
    def join(cls, pieces: list[Piece]) -> Piece:
        """Put pieces one behind the other."""
        if len(pieces) == 1:
            return pieces[0]
        found = {name: np.concatenate([piece.found[name] for piece in pieces]) for name in pieces[0].found}
        return cls(Values.join([p.tasks for p in pieces]), np.concatenate([p.answers for p in pieces]), found)


class TaskTable(ABC):
    """Be what a kernel found for each task."""

    @abstractmethod
    def total(self, name: str) -> float:
        """Add up one of the named arrays over all tasks; NaN does not count."""

    @abstractmethod
    def count(self, name: str) -> int:
        """Count the tasks for which one of the named arrays is not NaN."""

    def mean(self, name: str) -> float:
        """Average one of the named arrays over the tasks for which it is not NaN."""
        count = self.count(name)
        return self.total(name) / count if count else float("nan")

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """Yield everything in the order of task ids, some tasks at a time."""

    def joined(self) -> Piece:
        """Return everything at once."""
        return Piece.join(list(self.pieces()))

    def write(self, path: Path, table: Callable[[Piece], pa.Table]) -> None:
        """Write tables made of the pieces one behind the other into a CSV or Parquet file."""
        write_tables(path, map(table, self.pieces()))


@dataclass(eq=False, kw_only=True)
class Run(ABC):
    """Apply kernels to all blocks. This is all that a method sees of the answers.

    ``given`` says how many answers each worker gave, ``n_gold`` for how many tasks the truth is known, ``notes`` what
    was guessed or set aside on the way; ``worker_task`` names the task of each worker where every task is a problem of
    its own, and ``block_answers`` says how many answers a block holds, about, if that was asked for.

    An engine adds the shards, as it keeps them. A run that ``grows`` is one to which answers can be added later
    (`allalike.engines.growing`): it can `pick` some of its answers, and `extend` itself by a shard.
    """

    grows: ClassVar[bool] = False

    workers: Values
    answer_counts: npt.NDArray[np.int64]
    n_tasks: int
    n_gold: int
    domain: Domain
    problems: Problems
    ties: Ties
    notes: dict[str, Any]
    worker_task: Values | None = None
    block_answers: int | None = None

    @cached_property
    def unweighted_peer_sums(self) -> dict[str, Floats]:
        """The sums of distances to peers who all count the same, with which most methods begin."""
        return self.sum(self.domain.peer_sums, np.ones(self.problems.n_workers))

    @abstractmethod
    def sum(self, kernel: Kernel, *params: Floats) -> dict[str, Floats]:
        """Add up the named arrays of ``kernel(block, *params)``, which have one row per worker.

        Each parameter has one row per worker too, and a kernel gets the rows of the block's workers.
        """

    @abstractmethod
    def pairs(self, kernel: Kernel, rows: range | None = None) -> dict[str, Any]:
        """Add up the named matrices of ``kernel(block, places)``, for some of the workers or for all.

        They have a row for each worker in ``rows`` and a column for each of all workers, and are arrays, or sparse by
        rows (CSR) if they are large and little of them is filled. The kernel gets the places of these workers among the
        block's as a slice, and returns a column for each worker of the block.
        """

    @abstractmethod
    def find(self, kernel: Kernel, *params: Floats) -> TaskTable:
        """Apply a kernel whose named arrays have one row per task."""

    @abstractmethod
    def map(self, change: Callable[[Block], Block]) -> Run:
        """Return a run over changed blocks, for a method that needs something of its own in every round."""

    @property
    def sample_tasks(self) -> Values:
        """The ids of some tasks."""
        raise NotImplementedError

    def absorb(self, n_tasks: int) -> Hashes:
        """Return the hashes of tasks that had better go into one shard with so many others."""
        raise NotImplementedError

    def pick(self, wanted: Hashes) -> list[Picked]:
        """Return the answers to the tasks with these hashes, from every shard that has any."""
        raise NotImplementedError

    def extend(self, shard: Shard, tally: Tally, view: View, picked: list[Picked], again: Change | None) -> Run:
        """Return a run over one shard more, in which the old ones are seen without what was picked from them.

        Their blocks are prepared ``again`` if need be. It has the workers and counts of the old run still.
        """
        raise NotImplementedError

    def collect(self, kernel: Kernel, *params: Floats) -> dict[str, Array]:
        """Join the named arrays of ``kernel(block, *params)``, which have one row per task, in the order of tasks."""
        return self.find(kernel, *params).joined().found

    def rounds(self, limit: int) -> Iterator[int]:
        """Count the rounds of a method, and report them."""
        for number in range(1, limit + 1):
            report("round", number, limit)
            yield number
