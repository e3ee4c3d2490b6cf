"""The disk engine: answers are routed to partitions on disk, and kernels process one shard at a time.

Rows are streamed to partition files by a hash of their task. Each partition becomes a shard of prepared blocks on disk.
A round reads all shards, with one process per core. The order of addition does not depend on the number of processes.
Memory contains the workers and a few shards at a time.

Within its memory limit, it works for all data that fit on the disk. If the disk is full, or the workers and their ids
do not fit in memory, it fails with a message and leaves no files.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.blocks.block import DRAWN, Ties
from allalike._core.options import Options, whole
from allalike._core.system.memory import parse_size
from allalike._core.system.processes import Processes, pack, unpack
from allalike.engines.base import Engine, Run
from allalike.engines.budget import MIN_MEMORY, MemoryBudget
from allalike.engines.ingest import route, write_error
from allalike.engines.shards import (
    Cuts,
    Shard,
    Tally,
    describe,
    find_piece,
    fitting_answers,
    in_order,
    of_answers,
    sample_cuts,
    sum_up,
)
from allalike.engines.sums import PairSums, Piece, Sums, TaskTable, select_workers
from allalike.errors import OptionError, OutputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from allalike._core.blocks.block import Block, Floats, Kernel
    from allalike.answers import Answers
    from allalike.answers.gold import Gold
    from allalike.readers import Scan


# Workspace: the folder of the disk engine, and its files.


class Workspace:
    """A folder that is removed after its last use or when the program ends.

    >>> space = Workspace()
    >>> path = space.path
    >>> write_pack(path / "some", [1, 2]) > 0, read_pack(path / "some")
    (True, [1, 2])
    >>> del space
    >>> path.exists()
    False
    """

    def __init__(self, parent: str | os.PathLike[str] | None = None, root: Workspace | None = None) -> None:
        try:
            self.path = Path(os.path.realpath(tempfile.mkdtemp(prefix="allalike-", dir=parent)))
        except OSError as error:
            place = parent or tempfile.gettempdir()
            raise OutputError(f"No work folder can be created in {place}: {error.strerror}.") from error
        self._root = root
        weakref.finalize(self, _remove, os.getpid(), self.path)

    def __reduce__(self) -> Any:
        """Refuse to pickle the object, because its files are removed together with the original."""
        raise UnsupportedError("A result on disk cannot be pickled or copied. Save it with result.save.")

    def inner(self) -> Workspace:
        """Make a subfolder of the outermost folder."""
        root = self._root or self
        return Workspace(root.path, root)


def _remove(owner: int, folder: Path) -> None:
    if os.getpid() == owner:  # and not a child that was forked
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class StoredShard:
    """A shard on disk: the files of its blocks and its tasks."""

    blocks: Path
    tasks: Path

    def read(self) -> Shard:
        """Read the whole shard."""
        return Shard(self.read_blocks(), *read_pack(self.tasks))

    def read_blocks(self) -> list[Block]:
        """Read the blocks of a shard."""
        blocks: list[Block] = read_pack(self.blocks)
        return blocks


def keep_shard(folder: Path, name: str, shard: Shard) -> StoredShard:
    """Write a shard."""
    stored = StoredShard(folder / f"{name}.blocks", folder / f"{name}.tasks")
    write_pack(stored.blocks, shard.blocks)
    write_pack(stored.tasks, (shard.tasks, shard.sizes))
    return stored


def write_pack(path: Path, thing: Any) -> int:
    """Append an object to a file, and return its size in bytes."""
    data = pack(thing)
    try:
        with path.open("ab") as file:
            return file.write(data)
    except OSError as error:
        raise write_error(path.parent, error) from error


def read_pack(path: Path, begin: int = 0, size: int = -1) -> Any:
    """Read the object at this position in a file."""
    with path.open("rb") as file:
        file.seek(begin)
        data = bytearray(size if size >= 0 else os.fstat(file.fileno()).st_size)
        file.readinto(data)
    return unpack(data)


def link_file(path: Path, target: Path) -> None:
    """Link a file to a second path, or copy it if it cannot be linked."""
    try:
        os.link(path, target)
    except OSError:
        try:
            shutil.copyfile(path, target)
        except OSError as error:
            raise write_error(target.parent, error) from error


_FEW_BYTES, _PARAMETER_COPIES = 1 << 22, 4  # size of small parameters, and copies of large ones per process
_MAX_LANES = 16  # groups of shards with separate sums, for any number of processes
_REMEDY = "Lower the memory limit of the disk engine with memory=."
_MIN_PARALLEL_ANSWERS = 2_000_000  # number of answers from which several processes save time
_TASKS_PER_SORT = 1 << 19  # tasks that are sorted together


@dataclass(frozen=True, kw_only=True)
class Disk(Options, Engine):
    """The disk engine: it keeps answers on disk.

    Parameters
    ----------
    memory
        Memory limit of all processes together, such as ``"2GB"``; by default half of the free memory. Memory that this
        process already uses is not counted, except for Python and its libraries.
    processes
        Number of processes; by default as many as cores and memory allow, or one if there are few answers.
    work_dir
        Parent of the temporary work folder; by default the system's temporary folder. It needs about as much space as
        the answers need as CSV.
    partitions
        Number of parts of the answers, up to 1024; by default as many as the memory limit requires.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y")]
    >>> allalike.discover(rows, engine=Disk(memory="1GB")).truth["label"].tolist()
    ['x', 'y']
    """

    name: ClassVar[str] = "disk"
    memory: str | float | None = None
    processes: int | None = whole(None, least=1)
    work_dir: str | os.PathLike[str] | None = None
    partitions: int | None = whole(None, least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory is not None and parse_size(self.memory, "memory") < MIN_MEMORY:
            raise OptionError(f"memory is {self.memory!r}. The disk engine needs at least {MIN_MEMORY // 10**6} MB.")
        if self.work_dir is not None and not isinstance(self.work_dir, str | os.PathLike):
            raise OptionError(f"work_dir is {self.work_dir!r}. It must be the path of a folder.")

    def load(self, answers: Answers, ties: Ties = DRAWN) -> DiskRun:
        """Write answers from memory to disk as one shard."""
        space = Workspace(self.work_dir).inner()
        shard, tally = of_answers(answers)
        stored = keep_shard(space.path, "0", shard)
        shards = Shards(space, [stored], [tally], Processes(1))
        return DiskRun(shards, budget=self._budget(), **describe(answers, ties))

    def reads(self, source: Scan) -> bool:
        """Return True, because all answers are streamed."""
        return True

    def open(self, source: Scan, gold: Gold | None, ties: Ties) -> DiskRun:
        """Route rows to partitions, and make a shard from each partition."""
        stream = source.stream()
        space = Workspace(self.work_dir).inner()
        budget = self._budget()
        partitions = self.partitions or max(1, stream.size // budget.shard_bytes)
        routed = route(stream, space.path, partitions)
        few = self.processes is None and routed.facts.n_kept < _MIN_PARALLEL_ANSWERS
        processes = Processes(1 if few else budget.processes, remedy=_REMEDY)
        make = partial(_make, folder=space.path, budget=budget)
        stored, tallies, known = replace(routed, apply=processes.map).make_shards(make, gold, ties)
        return DiskRun(Shards(space, stored, tallies, processes), budget=budget, **known)

    def _budget(self) -> MemoryBudget:
        return MemoryBudget.of(None if self.memory is None else parse_size(self.memory, "memory"), self.processes)


@dataclass(frozen=True)
class Shards:
    """Shards on disk: their files and counts, and the processes that read them."""

    space: Workspace
    stored: list[StoredShard]
    tallies: list[Tally]
    processes: Processes

    def lanes(self, function: Callable[..., Any], most: float = math.inf) -> Iterator[Any]:
        """Apply a function to lists of shards, in order; the lists do not depend on the number of processes."""
        lanes = min(_MAX_LANES, len(self.stored))
        return self.processes.map(function, [(self.stored[k::lanes],) for k in range(lanes)], most=most)

    def each(self, function: Callable[..., Any]) -> Iterator[Any]:
        """Apply a function to each stored shard, in order."""
        return self.processes.map(function, [(stored,) for stored in self.stored])

    def changed(self, change: Callable[[Block], Block]) -> Shards:
        """Write changed blocks to a new folder."""
        space = self.space.inner()
        stored_shards = list(self.each(partial(_change, folder=space.path, change=change)))
        return replace(self, space=space, stored=stored_shards)


@dataclass(frozen=True, eq=False)
class DiskRun(Run):
    """Shards of prepared blocks on disk."""

    shards: Shards

    @property
    def n_processes(self) -> int:
        """The number of processes."""
        return self.shards.processes.number

    def sum(self, kernel: Kernel, *params: Floats) -> dict[str, Floats]:
        """Add up the results of the kernel, lane by lane; large parameters are not sent to many processes."""
        return self._add_up(len(self.workers), kernel, params)

    def total(self, kernel: Kernel) -> dict[str, Floats]:
        """Add up the results of the kernel, lane by lane."""
        return self._add_up(None, kernel, ())

    def _add_up(self, n_workers: int | None, kernel: Kernel, params: tuple[Floats, ...]) -> dict[str, Floats]:
        sums, size = Sums(n_workers), sum(param.nbytes for param in params)
        most = self.free_memory / (_PARAMETER_COPIES * size) if size > _FEW_BYTES else math.inf
        for lane in self.shards.lanes(partial(_sum, kernel=kernel, params=params, n_workers=n_workers), most):
            sums.merge(lane)
        return sums.arrays

    def pairs(self, kernel: Kernel, rows: range | None = None) -> dict[str, Any]:
        """Add up matrices in this process, because each further process would need its own matrix."""
        return PairSums(len(self.workers), rows).add(_each_block(self.shards.stored), kernel).result()

    def find(self, kernel: Kernel, *params: Floats) -> DiskTable:
        """Write the kernel's results for each shard, divided into ranges of tasks."""
        space, cuts = self.shards.space.inner(), sample_cuts(self.shards.tallies, _TASKS_PER_SORT)
        find = partial(_find, folder=space.path, kernel=kernel, params=params, cuts=cuts)
        kinds = {str(getattr(tally.sample_tasks.data, "type", list)) for tally in self.shards.tallies}
        return DiskTable(space, list(self.shards.each(find)), wide=len(kinds) > 1)

    def gather(self, kernel: Callable[..., Block], *params: Floats) -> list[Block]:
        """Apply a kernel to the blocks of each shard."""
        parts = self.shards.each(partial(_gather, kernel=kernel, params=params))
        return [block for part in parts for block in part]

    def map(self, change: Callable[[Block], Block]) -> DiskRun:
        """Return a run over changed blocks, which are written to a new folder."""
        return replace(self, shards=self.shards.changed(change))

    def each_shard(self) -> Iterator[Shard]:
        """Read one shard at a time."""
        yield from (stored.read() for stored in self.shards.stored)


@dataclass(frozen=True)
class Ranges:
    """A file with ranges of a shard's tasks: the end of each range in bytes, and the sums."""

    path: Path
    ends: list[int]
    totals: dict[str, tuple[float, int]]

    def read(self, number: int) -> Piece:
        """Read one range."""
        begin = self.ends[number - 1] if number else 0
        piece: Piece = read_pack(self.path, begin, self.ends[number] - begin)
        return piece


@dataclass(frozen=True)
class DiskTable(TaskTable):
    """The results of a kernel per task, in files; ``wide`` means integer task ids of different widths."""

    space: Workspace
    parts: list[Ranges]
    wide: bool = False

    def sums(self, name: str) -> list[tuple[float, int]]:
        """Return the sum and count of an array, for each shard."""
        return [part.totals[name] for part in self.parts]

    def pieces(self) -> Iterator[Piece]:
        """Yield the sorted tasks, range by range."""
        for number in range(len(self.parts[0].ends)):
            pieces = [part.read(number) for part in self.parts]
            filled = [piece for piece in pieces if len(piece.tasks)]
            if filled:
                piece = in_order(filled)
                yield replace(piece, tasks=piece.tasks.widened()) if self.wide else piece


def _make(number: int, answers: Answers, *, folder: Path, budget: MemoryBudget) -> tuple[StoredShard, Tally]:
    most = min(budget.block_answers(answers.encoding.n_labels), fitting_answers(len(answers.workers)))
    shard, tally = of_answers(answers, most)
    return keep_shard(folder, str(number), shard), tally


def _sum(
    stored_shards: list[StoredShard], *, kernel: Kernel, params: tuple[Floats, ...], n_workers: int | None
) -> Sums:
    return Sums.of(_each_block(stored_shards), n_workers, kernel, params)


def _each_block(stored_shards: list[StoredShard]) -> Iterator[Block]:
    return (block for stored in stored_shards for block in stored.read_blocks())


def _find(stored: StoredShard, *, folder: Path, kernel: Kernel, params: tuple[Floats, ...], cuts: Cuts) -> Ranges:
    piece = find_piece(stored.read(), kernel, params)
    path = folder / stored.blocks.name
    ends = np.cumsum([write_pack(path, part) for part in cuts(piece)]).tolist()
    return Ranges(path, ends, {name: sum_up(array) for name, array in piece.found.items()})


def _gather(stored: StoredShard, *, kernel: Callable[..., Block], params: tuple[Floats, ...]) -> list[Block]:
    return [kernel(block, *select_workers(block, params)) for block in stored.read_blocks()]


def _change(stored: StoredShard, *, folder: Path, change: Callable[[Block], Block]) -> StoredShard:
    changed = StoredShard(folder / stored.blocks.name, folder / stored.tasks.name)
    write_pack(changed.blocks, [change(block) for block in stored.read_blocks()])
    link_file(stored.tasks, changed.tasks)
    return changed
