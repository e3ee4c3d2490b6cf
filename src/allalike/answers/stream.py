"""Streams: answers that are read batch after batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from allalike._core.columns.column import Column
from allalike._core.late import pa
from allalike.answers.cleaning import Cleaning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from allalike._core.columns.factors import Codes
    from allalike.domains import Domain

    Sample = Callable[[], tuple[Column, Codes]]
    Guess = Callable[[Column, Iterable[tuple[Column, Codes]], int, Sample | None], Domain]

Batch = dict[str, Column]

SAMPLE_ROWS = 100_000  # by which it is guessed what labels are
_BATCH_ROWS, _BATCH_BYTES = 1 << 19, 1 << 25  # either is enough
_OBJECT_BYTES = 1 << 9  # of a Python object, about


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Answers that are read batch after batch, with the user's options.

    >>> import allalike
    >>> stream = allalike.scan([("ada", 1, "x"), ("bob", 1, "y")]).stream()
    >>> [batch["worker"].data.to_pylist() for batch in stream.batches()]
    [['ada', 'bob']]
    """

    batches: Callable[[], Iterator[Batch]]
    guess: Guess
    size: int = 0
    domain: Domain | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    repeats: str | None = None
    cleaning: Cleaning = field(default_factory=Cleaning)
    notes: dict[str, Any] = field(default_factory=dict)


def join_batches(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Join batches of the same types until they have enough rows or bytes to be worth a pass."""
    waiting: list[Batch] = []
    rows = size = 0
    for batch in batches:
        if waiting and _kinds(batch) != _kinds(waiting[0]):
            yield _joined(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows += len(batch["label"])
        size += sum(_size(column.data) for column in batch.values())
        if rows >= _BATCH_ROWS or size >= _BATCH_BYTES:  # at once, so that no further batch is in memory
            yield _joined(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield _joined(waiting)


def _kinds(batch: Batch) -> list[Any]:
    return [list if isinstance(column.data, list) else column.data.type for column in batch.values()]


def _size(data: Any) -> int:
    return _OBJECT_BYTES * len(data) if isinstance(data, list) else int(data.nbytes)


def _joined(batches: list[Batch]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    joined = {}
    for role, first in batches[0].items():
        parts = [batch[role].data for batch in batches]
        if isinstance(parts[0], list):
            data: Any = [value for part in parts for value in part]
        else:
            data = pa.chunked_array([chunk for part in parts for chunk in part.chunks])
        joined[role] = Column(role, data, text=first.text, na=first.na)
    return joined
