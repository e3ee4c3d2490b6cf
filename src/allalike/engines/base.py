"""Engines and runs: an engine loads answers and returns a run, on which methods sum kernels over all blocks.

Before workers are weighted, `make_ready` estimates the following from sums over all answers, in this order:

1. the units for comparing the fields of records,
2. each worker's offset, such as a bias, which is subtracted from their answers,
3. worker statistics from earlier answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.blocks.block import DRAWN, Ties
from allalike._core.system.memory import free_memory
from allalike._core.system.progress import report
from allalike.answers import Answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats, Kernel
    from allalike._core.columns.values import Values
    from allalike.answers.gold import Gold, History
    from allalike.domains import Domain, Encoding, Kernels
    from allalike.engines.budget import MemoryBudget
    from allalike.engines.shards import Shard
    from allalike.engines.sums import TaskTable
    from allalike.readers import Scan


class Engine(ABC):
    """An engine, which loads answers or reads them in place, and returns a run."""

    name: ClassVar[str]

    @abstractmethod
    def load(self, answers: Answers, ties: Ties = DRAWN) -> Run:
        """Divide the answers into prepared blocks."""

    def reads(self, source: Scan) -> bool:
        """Return whether the engine reads this source itself, in place and in parts."""
        return False

    def open(self, source: Scan, gold: Gold | None, ties: Ties) -> Run:
        """Read answers in parts, and divide them into prepared blocks."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class Run(ABC):
    """The answers in an engine, to whose blocks methods apply kernels.

    A run is immutable: every change returns another run (`dataclasses.replace`).

    ``answer_counts`` is the number of answers by each worker, ``n_single`` the number of tasks with one answer, and
    ``n_gold`` the number of gold labels. ``only_number`` is the label if all labels are one number. ``notes`` list what
    was inferred or excluded. ``worker_task`` is the task of each worker if every task is a separate problem.
    ``block_answers`` is the requested size of blocks, ``threads`` the number of threads in memory, ``history`` contains
    worker statistics from earlier answers, and ``frame`` is the type of the input data frame. ``sample_tasks`` are the
    ids of a sample of tasks. ``budget`` is the memory limit of the disk engine, also for samples. The run of each
    engine also has its shards.
    """

    workers: Values
    answer_counts: npt.NDArray[np.int64]
    n_tasks: int
    n_gold: int
    encoding: Encoding
    ties: Ties
    notes: Mapping[str, Any]
    n_single: int = 0
    only_number: float | None = None
    worker_task: Values | None = None
    block_answers: int | None = None
    threads: int | None = None
    history: History | None = None
    frame: str = "pandas"
    sample_tasks: Values | None = None
    budget: MemoryBudget | None = None

    @property
    def domain(self) -> Domain:
        """The label type."""
        return self.encoding.domain

    @property
    def kernels(self) -> Kernels:
        """The kernels of the label type."""
        return self.encoding.kernels

    @property
    def free_memory(self) -> int:
        """The bytes that may still be allocated: the free memory of the machine, or what is left of a limit."""
        return free_memory() if self.budget is None else min(free_memory(), self.budget.free)

    @property
    def n_processes(self) -> int:
        """The number of local processes, each with its own sums."""
        return 1

    @property
    def pair_memory(self) -> int:
        """The bytes available for sums over pairs of workers, including temporary arrays."""
        return self.free_memory

    def choose_quorum(self, weights: Floats) -> tuple[Kernels, dict[str, Any]]:
        """Return the kernels with the quorum that fits the weights, and its statistics for the summary, if any."""
        return self.kernels.choose_quorum(self.sum, weights)

    @cached_property
    def unweighted_peer_sums(self) -> dict[str, Floats]:
        """The sums of distances to equally weighted peers, the first step of most methods."""
        return self.sum(self.kernels.peer_sums, np.ones(len(self.workers)))

    @abstractmethod
    def sum(self, kernel: Kernel, *params: Floats) -> dict[str, Floats]:
        """Add up the named arrays that ``kernel(block, *params)`` returns, with one row per worker.

        Each parameter also has one row per worker, and a kernel receives the rows of the workers in its block.
        """

    @abstractmethod
    def total(self, kernel: Kernel) -> dict[str, Floats]:
        """Add up the named arrays that ``kernel(block)`` returns, with the same shape in every block."""

    @abstractmethod
    def pairs(self, kernel: Kernel, rows: range | None = None) -> dict[str, Any]:
        """Add up the named matrices that ``kernel(block, places)`` returns, for the workers in ``rows`` or for all.

        They have a row for each worker in ``rows`` and a column for every worker. They are arrays, or sparse by rows
        (CSR) if they are large and mostly empty. The kernel receives the indices of these workers in the block as a
        slice, and returns a column for each worker of the block.
        """

    @abstractmethod
    def find(self, kernel: Kernel, *params: Floats) -> TaskTable:
        """Apply a kernel whose named arrays have one row per task."""

    @abstractmethod
    def gather(self, kernel: Callable[..., Block], *params: Floats) -> list[Block]:
        """Collect in memory the blocks that a kernel returns, each with a few tasks."""

    @abstractmethod
    def map(self, change: Callable[[Block], Block]) -> Run:
        """Return a run over changed blocks, for methods that need further data in every round."""

    @abstractmethod
    def each_shard(self) -> Iterator[Shard]:
        """Yield the shards in their current state, one at a time."""

    def collect(self, kernel: Kernel, *params: Floats) -> dict[str, Array]:
        """Join the named arrays of ``kernel(block, *params)``, which have one row per task, in the order of tasks."""
        return self.find(kernel, *params).joined().found

    def rounds(self, limit: int) -> Iterator[int]:
        """Count the rounds of a method, and report them."""
        for number in range(1, limit + 1):
            report("round", number, limit)
            yield number


def list_answers(run: Run) -> Iterator[Answers]:
    """Yield all answers of a run, one shard at a time.

    >>> import allalike
    >>> run = allalike.Memory().load(allalike.read([("ada", 1, 3), ("bob", 1, 3), ("bob", 2, 4)]))
    >>> [(part.workers.tolist(), part.tasks.tolist(), part.label.tolist()) for part in list_answers(run)]
    [(['ada', 'bob'], [1, 2], [0, 0, 1])]
    """
    for shard in run.each_shard():
        workers, labels = [], []
        for block in shard.blocks:
            workers.append(block.worker if isinstance(block.workers, slice) else block.workers[block.worker])
            labels.append(run.kernels.restore_answers(block, np.arange(len(block.label))))
        label = np.concatenate(labels)
        yield Answers(
            workers=run.workers,
            tasks=shard.tasks,
            encoding=run.encoding,
            starts=np.concatenate([[0], np.cumsum(shard.sizes)]),
            worker=np.concatenate(workers).astype(np.int32),
            label=label,
            gold_label=label[:0],
        )


def make_ready(run: Run, history: History | None = None, *, corrected: bool = True) -> Run:
    """Return a run with the estimates that are made before the weights, or the same run if there are none.

    Offsets are subtracted only if ``corrected``.

    >>> import allalike
    >>> rows = [("ada", 1, 2.0), ("bob", 1, 4.0), ("ada", 2, 3.0), ("bob", 2, 5.0)]
    >>> run = allalike.Memory().load(allalike.read(rows, domain=allalike.Real(bias=True)))
    >>> make_ready(run).unweighted_peer_sums["distance"].round(9)
    array([0., 0.])
    >>> domain = allalike.Record({"size": "real"})
    >>> run = allalike.Memory().load(allalike.read([(w, t, {"size": x}) for w, t, x in rows], domain=domain))
    >>> make_ready(run).encoding.describe()["fields"]["size"]["unit"]
    2.0
    """
    encoding = run.encoding
    if encoding.fields is not None and (measured := encoding.fields.find_units(run.sum)) is not encoding:
        run = replace(run, encoding=measured)
    if encoding.offsets is not None and corrected:
        encoding = replace(encoding, offsets=encoding.offsets.find(run.sum, len(run.workers)))
        run = replace(run.map(partial(_correct, encoding=encoding)), encoding=encoding)
    if history is not None:
        most = 1.0 if run.encoding.n_classes else np.inf
        run = replace(run, history=history.of_workers(run.workers.tolist(), most=most))
    return run


def _correct(block: Block, *, encoding: Encoding) -> Block:
    """Subtract offsets, and prepare the block again."""
    assert encoding.offsets is not None
    label = encoding.kernels.restore_answers(block, np.arange(len(block.label)))
    gold = encoding.kernels.restore_gold(block)
    label = encoding.offsets.of_block(block).remove(label, block.worker)
    return encoding.prepare(replace(block, label=label, gold_label=gold, prepared={}))
