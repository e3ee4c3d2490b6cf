"""Ingest: answers in any order become shards of whole tasks, by way of partitions on disk or in memory.

Each part of a batch of rows is appended to its partition. Workers are written as numbers, and labels as well as long as
there are few distinct ones. All other values are written unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from allalike._core.columns.column import Column
from allalike._core.columns.factors import Codes, factorize, only_used, ranked
from allalike._core.columns.values import Values, numpy_of
from allalike._core.lazy_imports import pa
from allalike._core.system.progress import report
from allalike.answers.answers import Stream, join_batches
from allalike.domains.contract import choose_options, spell_domain
from allalike.engines.routing import InputFacts, RoutedRows, Router, RoutingPlan, as_array, join_digests
from allalike.engines.shards import Tally, count_up, encode
from allalike.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from allalike._core.blocks.block import Ties
    from allalike.answers import Answers
    from allalike.answers.gold import Gold, Truths
    from allalike.domains import Domain, Encoding

_MAX_SLICES = 32  # slices that are kept before they are joined
_MAX_PARTITIONS = 1 << 10


class Rows:
    """The rows of a partition in memory, as record batches.

    A slice keeps the whole batch in memory. Slices are therefore joined regularly, so that releasing a partition frees
    its memory.

    >>> import pyarrow as pa
    >>> rows, batch = Rows(), pa.record_batch({"worker": [7, 8, 9]})
    >>> for number in range(3):
    ...     rows.append(batch.slice(number, 1))
    >>> [batch.to_pylist() for batch in rows.read()]
    [[{'worker': 7}], [{'worker': 8}], [{'worker': 9}]]
    """

    def __init__(self) -> None:
        self._joined: list[Any] = []
        self._slices: list[Any] = []

    def append(self, batch: Any) -> None:
        """Append a record batch."""
        if len(self._slices) == _MAX_SLICES or (self._slices and batch.schema != self._slices[0].schema):
            self._joined += pa.Table.from_batches(self._slices).combine_chunks().to_batches()
            self._slices = []
        self._slices.append(batch)

    def read(self) -> list[Any]:
        """Return all rows."""
        return [*self._joined, *self._slices]

    def clear(self) -> None:
        """Release all rows."""
        self._joined, self._slices = [], []


class RowFile:
    """The rows of a partition on disk, as record batches."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, batch: Any) -> None:
        """Append a record batch."""
        try:
            with self._path.open("ab") as file, pa.ipc.new_stream(file, batch.schema) as writer:
                writer.write_batch(batch)
        except OSError as error:
            raise write_error(self._path.parent, error) from error

    def read(self) -> list[Any]:
        """Return all rows."""
        batches: list[Any] = []
        with pa.OSFile(str(self._path)) as source:
            while source.tell() < source.size():
                batches += pa.ipc.open_stream(source)
        return batches

    def clear(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True)
class Partitions:
    """The rows of whole tasks in partitions, and facts about all rows.

    ``codes`` are the labels that have a code, in the order of these, and ``label_rank`` is the index of each among the
    sorted ``labels`` if there are no others.
    """

    parts: list[Rows | RowFile]
    facts: InputFacts
    codes: Values
    label_rank: Codes | None = None
    labels: Values | None = None

    def columns(self, number: int) -> tuple[Column, Column, Column]:
        """Return the worker, task and label of a partition's rows, in input order.

        A worker has the same number in all partitions.
        """
        batches = self.parts[number].read()
        codes = np.concatenate([numpy_of(batch["worker"]) for batch in batches])
        worker = Column.of_codes("worker", self.facts.worker_rank[codes], self.facts.workers)
        ids = self.facts.restore("task", [batch["task"] for batch in batches])
        task = Column("task", ids) if isinstance(ids, list) else Column.of_codes("task", *factorize(ids, many=True))
        return worker, task, self._label(batches)

    def label(self, number: int) -> Column:
        """Return the labels of a partition's rows."""
        return self._label(self.parts[number].read())

    def _label(self, batches: list[Any]) -> Column:
        if self.label_rank is not None and self.labels is not None:
            codes = np.concatenate([numpy_of(batch["code"]) for batch in batches])
            return Column.of_codes("label", *only_used(self.label_rank[codes], self.labels))
        chunks = [
            self.codes.take(numpy_of(batch["code"])).data if "code" in batch.schema.names else batch["label"]
            for batch in batches
        ]
        rows = np.concatenate([numpy_of(batch["row"]) for batch in batches])
        return self.facts.make_label(self.facts.restore("label", chunks), rows)

    def learn(self, number: int, *, domain: Domain) -> Encoding:
        """Return the encoding of the labels of a partition."""
        encoding: Encoding = domain.learn(self.label(number))
        return encoding

    def make(
        self,
        number: int,
        *,
        make: Callable[[int, Answers], tuple[Any, Tally]],
        encoding: Encoding,
        truths: Truths | None,
        duplicates: str | None,
    ) -> tuple[Any, Tally, npt.NDArray[np.int64]]:
        """Make a shard from a partition, release its rows, and also return the number of answers by each worker."""
        answers = encode(*self.columns(number), encoding, truths, duplicates)
        shard, tally = make(number, answers)
        self.parts[number].clear()
        return shard, tally, answers.answer_counts


@dataclass(frozen=True, kw_only=True)
class Routed(RoutedRows):
    """Answers in partitions, in files or in memory, with their label type if it is already inferred."""

    facts: InputFacts
    stream: Stream
    partitions: Partitions
    domain: Any = None
    notes: dict[str, Any] = field(default_factory=dict)
    apply: Callable[..., Iterable[Any]] = starmap

    @property
    def _jobs(self) -> list[tuple[int]]:
        return [(number,) for number in range(len(self.partitions.parts))]

    def each_label(self) -> Iterator[tuple[Column, Codes]]:
        """Yield the labels of each partition, and the numbers of their tasks."""
        for (number,) in self._jobs:
            _, task, label = self.partitions.columns(number)
            yield label, task.factors[0]

    def first_rows(self, number: int) -> list[dict[str, Any]]:
        """Read the first rows again."""
        parts: list[dict[str, Any]] = []
        read = kept = 0
        cleaning = replace(self.stream.cleaning, missing="drop")
        for batch in self.stream.batches():
            columns, labelled, _ = cleaning.clean(batch)
            part: dict[str, Any] = {"row": read + np.flatnonzero(labelled)}
            for role, column in columns.items():
                part[role] = column.data if column.form is None else pa.chunked_array([as_array(column.data)])
            parts.append(part)
            read += len(labelled)
            kept += len(part["row"])
            if kept >= number:
                break
        return parts

    def learn_parts(self, domain: Domain) -> Iterable[Encoding]:
        """Return the encoding of the labels of each partition."""
        return self.apply(partial(self.partitions.learn, domain=domain), self._jobs)

    def encode(self, gold: Gold | None) -> tuple[Encoding, Truths | None]:
        """Return the encoding of all labels, and the gold labels as codes."""
        encoding = self.stream.encoding or self.learn(self.domain)
        return (encoding, None) if gold is None else gold.encode(encoding)

    def make_shards(
        self, make: Callable[[int, Answers], tuple[Any, Tally]], gold: Gold | None, ties: Ties
    ) -> tuple[list[Any], list[Tally], dict[str, Any]]:
        """Make a shard from each partition; return the shards, their tallies, and the fields of a run."""
        encoding, truths = self.encode(gold)
        work = partial(
            self.partitions.make, make=make, encoding=encoding, truths=truths, duplicates=self.stream.duplicates
        )
        shards: list[Any] = []
        tallies: list[Tally] = []
        answer_counts = np.zeros(len(self.facts.workers), np.int64)
        for shard, tally, counts in self.apply(work, self._jobs):
            report("preparing", len(shards), len(self._jobs))
            shards.append(shard)
            tallies.append(tally)
            answer_counts += counts
        known = {"workers": self.facts.workers, "encoding": encoding, "ties": ties}
        return shards, tallies, {**known, **count_up(tallies, answer_counts, gold, self.notes)}


def route(stream: Stream, folder: Path | None, partitions: int) -> Routed:
    """Read all answers, write them to partitions, and infer their label type.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import allalike
    >>> stream = allalike.scan([("bob", 7, "x"), ("ada", 7, "y"), ("eve", 7, "x")]).stream()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     routed = route(stream, Path(folder), 1)
    ...     worker, task, label = routed.partitions.columns(0)
    >>> routed.domain.name, worker.factors[1].tolist(), worker.factors[0], label.factors[0]
    ('categorical', ['ada', 'bob', 'eve'], array([1, 0, 2], dtype=int32), array([0, 1, 0], dtype=int32))
    """
    report("reading")
    plan = RoutingPlan(n_partitions=min(max(partitions, 1), _MAX_PARTITIONS), cleaning=stream.cleaning, coded=True)
    router = Router(0, plan)
    parts: dict[int, Rows | RowFile] = {}
    for batch in join_batches(stream.batches()):
        for number, rows in router.route(batch):
            if number not in parts:
                parts[number] = RowFile(folder / f"{number}.rows") if folder else Rows()
            parts[number].append(rows)
    facts = join_digests([router.finish()], plan.max_numbered_labels)
    facts.check(stream.cleaning)
    codes = router.labels.values
    found = Partitions(parts=[parts[number] for number in sorted(parts)], facts=facts, codes=codes)
    if facts.labels is not None:
        rank, labels = ranked(codes, text=facts.label_text)
        found = replace(found, label_rank=rank, labels=labels)
    routed = Routed(facts=facts, stream=stream, partitions=found)
    domain = stream.domain or routed.infer_domain(stream.guess)
    notes = {**stream.notes, **facts.dropped.notes(facts.n_read)}
    if stream.domain is None:
        notes["guessed"] = {**notes.get("guessed", {}), "domain": spell_domain(domain)}
    return replace(routed, domain=choose_options(domain, stream.choices), notes=notes)


def write_error(folder: Path, error: OSError) -> OutputError:
    """Return the error for a work folder that is not writable."""
    return OutputError(
        f"The disk engine cannot write to its work folder {folder}: {error.strerror}. It needs about as much space as"
        " the answers as CSV. Choose another folder with work_dir=."
    )
