"""Answers: labels of tasks by workers, sorted by task and cut into blocks, or streamed in batches."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Block
from allalike._core.columns.column import Column
from allalike._core.columns.factors import Codes, unite
from allalike._core.columns.values import Values, find_places, shorten
from allalike._core.options import check_choice
from allalike._core.text_format import count
from allalike.answers.cleaning import Cleaning
from allalike.errors import InputError, OptionError

if TYPE_CHECKING:
    from allalike.answers.gold import Gold, Truths
    from allalike.domains import Domain, Encoding

    Sample = Callable[[], tuple[Column, Codes]]
    Guess = Callable[[Column, Iterable[tuple[Column, Codes]], int, Sample | None], Domain]

Batch = dict[str, Column]

_LEFT_OUT = {
    "missing_dropped": ("Excluded", "row", "without a label"),
    "abstained_dropped": ("Excluded", "row", "with a label that means 'no answer'"),
    "duplicates_added": ("Added up", "repeated answer", "by the same worker to the same task"),
    "duplicates_removed": ("Removed", "repeated answer", "by the same worker to the same task"),
}


def format_excluded(what: str, number: int) -> str:
    """Format a note about excluded or added rows."""
    done, noun, which = _LEFT_OUT[what]
    return f"{done} {count(number, noun)} {which}."


def format_columns(columns: Mapping[str, str]) -> str:
    """Format the roles of columns."""
    return ", ".join(f"{name!r} is the {role}" for role, name in columns.items())


SAMPLE_ROWS = 100_000  # from which the label type is inferred
_BATCH_ROWS, _BATCH_BYTES = 1 << 19, 1 << 25  # of a joined batch: it is complete when it has either
_FEWEST_PER_WORKER = 8  # answers in a block for each worker, or the block names its workers,
_SMALLEST_SHARE = 0.5  # unless more than this share of all workers occur in it
_N_SHOWN = 3  # answers at a prompt


@dataclass(frozen=True, kw_only=True, repr=False)
class Answers:
    """All answers, sorted by task id, and within a task by worker id.

    Parameters
    ----------
    workers, tasks
        The ids, in order.
    encoding
        The conversion between labels and codes: the label type with its parameters, such as the classes.
    starts
        Index of the first answer of each task, followed by the number of answers.
    worker, label
        Index of the worker and code of the label, one per answer.
    gold_task, gold_label
        The tasks with gold labels, in order, and the codes of these labels.
    gold
        The gold labels as read, including those of unanswered tasks.
    separate_tasks
        Whether every task is a separate problem with its own workers.
    notes
        Detected settings and excluded rows, for the summary.
    read_options
        Options of `allalike.scan` with which the answers were read; further answers are read with the same ones.
    inputs
        The files and folders from which the answers were read. No output may overwrite them.
    frame
        The type of data frame that the answers were read from. Result tables have the same type.

    >>> import allalike
    >>> answers = allalike.read([("ada", 7, "x"), ("bob", 7, "y"), ("ada", 8, "y"), ("bob", 8, "y")])
    >>> answers.n_answers, answers.tasks.tolist(), answers.workers.tolist()
    (4, [7, 8], ['ada', 'bob'])
    >>> answers
    Answers: 4 answers by 2 workers on 2 tasks, 2 labels, domain categorical.
      worker 'ada', task 7: 'x'
      worker 'bob', task 7: 'y'
      worker 'ada', task 8: 'y'
    Detected: domain 'categorical'.
    """

    workers: Values
    tasks: Values
    encoding: Encoding
    starts: npt.NDArray[np.int64]
    worker: npt.NDArray[np.int32]
    label: Array
    gold_task: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    gold_label: Array = field(default_factory=lambda: np.empty(0))
    gold: Gold | None = None
    separate_tasks: bool = False
    notes: dict[str, Any] = field(default_factory=dict)
    read_options: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[Path, ...] = ()
    frame: str = "pandas"

    def __repr__(self) -> str:
        first = np.arange(min(self.n_answers, _N_SHOWN))
        tasks = self.tasks.take(np.searchsorted(self.starts, first, side="right") - 1).tolist()
        workers, labels = self.workers.take(self.worker[first]).tolist(), self.encoding.decode(self.label[first])
        number = f"{count(self.n_answers, 'answer')} by {count(len(self.workers), 'worker')}"
        n_labels = f", {count(self.encoding.n_labels, 'label')}" if self.encoding.n_labels else ""
        lines = [f"Answers: {number} on {count(len(self.tasks), 'task')}{n_labels}, domain {self.domain.name}."]
        guessed = dict(self.notes.get("guessed", {}))
        if columns := {**guessed.pop("columns", {}), **(self.read_options.get("columns") or {})}:
            lines.append(f"Columns: {format_columns(columns)}.")
        for worker, task, label in zip(workers, tasks, labels.tolist(), strict=True):
            lines.append(f"  worker {shorten(worker)}, task {shorten(task)}: {shorten(label)}")
        if guessed:
            lines.append(f"Detected: {', '.join(f'{option} {value!r}' for option, value in guessed.items())}.")
        lines += [format_excluded(what, self.notes[what]) for what in _LEFT_OUT if self.notes.get(what)]
        return "\n".join([*lines, *self.notes.get("messages", ())])

    @classmethod
    def of_columns(
        cls, worker: Column, task: Column, label: Column, domain: Domain, *, duplicates: str | None = None
    ) -> Answers:
        """Sort three columns into answers; further answers by a worker to a task follow ``duplicates``."""
        return cls.of_shard(worker, task, label, domain.learn(label), duplicates=duplicates)

    @classmethod
    def of_shard(
        cls, worker: Column, task: Column, label: Column, encoding: Encoding, *, duplicates: str | None
    ) -> Answers:
        """Sort the columns of some complete tasks, with the encoding of all labels.

        If the worker column contains the values of all shards, a worker has the same index in each.
        """
        answers = cls._of_rows(task.factors, worker.factors, encoding.encode(label), encoding, duplicates)
        return replace(answers, read_options={"duplicates": duplicates})

    @classmethod
    def join(cls, parts: Sequence[Answers], encoding: Encoding, *, duplicates: str | None) -> Answers:
        """Join answers whose workers have the same indices; for repeated answers, those in earlier parts come first.

        ``encoding`` covers the labels of all parts. Gold labels must be added again.
        """
        number, tasks = unite([part.tasks for part in parts])
        task = np.repeat(number, np.concatenate([np.diff(part.starts) for part in parts]))
        worker = np.concatenate([part.worker for part in parts])
        labels = np.concatenate([encoding.remap(part.label, part.encoding) for part in parts])
        return cls._of_rows((task, tasks), (worker, parts[0].workers), labels, encoding, duplicates)

    @classmethod
    def _of_rows(
        cls,
        task_factors: tuple[Codes, Values],
        worker_factors: tuple[Codes, Values],
        labels: Array,
        encoding: Encoding,
        duplicates: str | None,
    ) -> Answers:
        chosen = duplicates or ("first" if encoding.domain.repeats is None else "add")
        choice = check_choice(chosen, ("first", "last", "error", "add"), "duplicates")
        (task, tasks), (worker, workers) = task_factors, worker_factors
        task, worker, rows = _sort(task, worker, (len(tasks).bit_length(), len(workers).bit_length()))
        new = np.append(True, (task[1:] != task[:-1]) | (worker[1:] != worker[:-1]))[: len(rows)]
        n_repeats = len(rows) - int(new.sum())
        if n_repeats and choice == "error":
            place = int(np.argmin(new))
            raise InputError(
                f"Worker {workers[worker[place]]!r} answered task {tasks[task[place]]!r} more than once. There are"
                f" {n_repeats} repeated answers. Keep the first or last with duplicates='first' or duplicates='last'."
            )
        if n_repeats and choice == "add":
            labels = _add_repeats(labels[rows], new, encoding.domain)
        else:
            labels = labels[rows[new if choice == "first" else np.append(new[1:], True)] if n_repeats else rows]
        if n_repeats:
            task, worker = task[new], worker[new]
        return cls(
            workers=workers,
            tasks=tasks,
            encoding=encoding,
            starts=np.concatenate([[0], np.cumsum(np.bincount(task, minlength=len(tasks)))]),
            worker=worker,
            label=labels,
            gold_label=labels[:0],
            notes={"duplicates_added" if choice == "add" else "duplicates_removed": n_repeats} if n_repeats else {},
        )

    def among(self, workers: Values, place: Codes) -> Answers:
        """Return the answers with workers indexed in a larger list, where ``place`` is the new index of each."""
        return replace(self, workers=workers, worker=place[self.worker].astype(np.int32, copy=False))

    def under(self, encoding: Encoding) -> Answers:
        """Return the answers in the codes of an encoding with more labels."""
        return replace(self, encoding=encoding, label=encoding.remap(self.label, self.encoding))

    def with_truths(self, truths: Truths) -> Answers:
        """Return the answers with gold labels for the tasks that they contain."""
        place = find_places(truths.tasks, self.tasks)
        known = np.flatnonzero(place >= 0)
        task, first = np.unique(place[known], return_index=True)
        known = known[first]
        return replace(self, gold_task=task, gold_label=truths.label[known])

    def with_gold(self, gold: Gold) -> Answers:
        """Return the answers with gold labels; the notes count gold labels of tasks without answers."""
        encoding, truths = gold.encode(self.encoding)
        answers = replace(self, encoding=encoding).with_truths(truths)
        counts = gold.count(len(answers.gold_task), answers.tasks[0])
        return replace(answers, gold=gold, notes={**answers.notes, "gold": counts})

    @property
    def domain(self) -> Domain:
        """The label type."""
        return self.encoding.domain

    @property
    def n_answers(self) -> int:
        """The number of answers."""
        return len(self.worker)

    @property
    def n_tasks(self) -> int:
        """The number of tasks with answers."""
        return len(self.tasks)

    @property
    def n_single(self) -> int:
        """The number of tasks with a single answer."""
        return int(np.count_nonzero(np.diff(self.starts) == 1))

    @property
    def only_number(self) -> float | None:
        """The number that all labels equal, or None if they differ or are not numbers."""
        if self.label.ndim != 1 or self.label.dtype.kind != "f" or not (self.label == self.label[0]).all():
            return None
        return float(self.label[0])

    def per_task(self) -> Answers:
        """Return the answers as one problem per task, with a separate error and weight for each worker in it.

        >>> import allalike
        >>> rows = [("ada", 7, "x"), ("bob", 7, "x"), ("eve", 7, "y"), ("eve", 8, "x"), ("ada", 8, "x")]
        >>> allalike.discover(allalike.read(rows).per_task(), method="P-TD").workers[["task", "worker", "weight"]]
           task worker  weight
        0     7    ada     0.5
        1     7    bob     0.5
        2     7    eve     0.0
        3     8    ada     0.5
        4     8    eve     0.5
        """
        return replace(
            self,
            workers=self.workers.take(self.worker),
            worker=np.arange(self.n_answers, dtype=np.int32),
            separate_tasks=True,
        )

    @property
    def answer_counts(self) -> npt.NDArray[np.int64]:
        """The number of answers by each worker."""
        return np.bincount(self.worker, minlength=len(self.workers))

    @property
    def worker_task(self) -> Values | None:
        """The task of each worker, if every task is a separate problem."""
        if not self.separate_tasks or len(self.tasks) < 2:
            return None
        return self.tasks.take(np.repeat(np.arange(len(self.tasks)), np.diff(self.starts)))

    def blocks(self, block_answers: int) -> Iterator[Block]:
        """Yield blocks of complete tasks with about ``block_answers`` answers each."""
        hashes = self.tasks.hashes()
        marks = np.arange(block_answers, self.n_answers, block_answers)
        bounds = np.array(sorted({0, *np.searchsorted(self.starts, marks).tolist(), len(self.tasks)}))
        gold = np.searchsorted(self.gold_task, bounds)
        for b, (begin, end) in enumerate(itertools.pairwise(bounds)):
            first, last = self.starts[begin], self.starts[end]
            worker, workers, n_workers = self._block_workers(self.worker[first:last])
            yield Block(
                starts=self.starts[begin:end] - first,
                sizes=np.diff(self.starts[begin : end + 1]),
                worker=worker,
                label=self.label[first:last],
                workers=workers,
                n_workers=n_workers,
                task_hash=hashes[begin:end],
                gold_task=self.gold_task[gold[b] : gold[b + 1]] - begin,
                gold_label=self.gold_label[gold[b] : gold[b + 1]],
            )

    def _block_workers(self, worker: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.intp], Any, int]:
        """Return a block's worker indices, workers and their number: only those in the block if they are a minority."""
        n_workers = len(self.workers)
        if n_workers * _FEWEST_PER_WORKER > len(worker):
            first = worker.min()
            occurs = np.zeros(int(worker.max() - first) + 1, np.bool_)
            occurs[worker - first] = True
            own = np.flatnonzero(occurs)
            if len(own) < n_workers * _SMALLEST_SHARE:
                place = np.empty(len(occurs), np.intp)
                place[own] = np.arange(len(own))
                return place[worker - first], (own + first).astype(np.int32), len(own)
        return worker.astype(np.intp), slice(None), n_workers


def _add_repeats(labels: Array, new: npt.NDArray[np.bool_], domain: Domain) -> Array:
    """Add up the labels of each worker and task, which are adjacent; ``new`` marks the first of each."""
    if domain.repeats is None:
        raise OptionError(
            f"duplicates is 'add', but {domain.name} labels cannot be added up. Keep a worker's first or last answer"
            " per task with duplicates='first' or duplicates='last'."
        )
    return np.asarray(domain.repeats.add(labels, np.flatnonzero(new)))


def _sort(task: Codes, worker: Codes, bits: tuple[int, int]) -> tuple[Codes, Codes, npt.NDArray[np.int64]]:
    """Sort by task, worker and row; usually all three fit into one 64-bit integer, which sorts fastest."""
    worker_bits, row_bits = bits[1], len(task).bit_length()
    if sum(bits) + row_bits > 63:
        rows = np.lexsort((worker, task))
        return task[rows], worker[rows], rows
    keys = task.astype(np.int64)
    keys <<= worker_bits
    keys |= worker
    keys <<= row_bits
    keys |= np.arange(len(keys))
    keys.sort()
    rows = keys & ((1 << row_bits) - 1)
    keys >>= row_bits
    worker = (keys & ((1 << worker_bits) - 1)).astype(np.int32)
    keys >>= worker_bits
    return keys.astype(np.int32), worker, rows


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Answers that are read in batches, with the user's options and, if known, their encoding."""

    batches: Callable[[], Iterator[Batch]]
    guess: Guess
    size: int = 0
    domain: Domain | None = None
    encoding: Encoding | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    duplicates: str | None = None
    cleaning: Cleaning = field(default_factory=Cleaning)
    notes: dict[str, Any] = field(default_factory=dict)


def join_batches(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Join batches with the same column types until they have enough rows or bytes to process together."""
    waiting: list[Batch] = []
    rows = size = 0

    def join() -> Batch:
        return {role: Column.join([batch[role] for batch in waiting]) for role in waiting[0]}

    for batch in batches:
        if waiting and any(column.form != waiting[0][role].form for role, column in batch.items()):
            yield join()
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows += len(batch["label"])
        size += sum(column.n_bytes for column in batch.values())
        if rows >= _BATCH_ROWS or size >= _BATCH_BYTES:  # before the next batch is read into memory
            yield join()
            waiting, rows, size = [], 0, 0
    if waiting:
        yield join()
