"""Streams: answers that are read batch after batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from allalike._core.columns.column import Column
from allalike.answers.cleaning import Cleaning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from allalike._core.columns.factors import Codes
    from allalike.domains import Domain, Encoding

    Sample = Callable[[], tuple[Column, Codes]]
    Guess = Callable[[Column, Iterable[tuple[Column, Codes]], int, Sample | None], Domain]

Batch = dict[str, Column]

SAMPLE_ROWS = 100_000  # by which it is guessed what labels are
_BATCH_ROWS, _BATCH_BYTES = 1 << 19, 1 << 25  # either is enough


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Answers that are read batch after batch, with the user's options, and their encoding if it is known."""

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
    """Join batches of the same types until they have enough rows or bytes to be worth a pass."""
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
        if rows >= _BATCH_ROWS or size >= _BATCH_BYTES:  # at once, so that no further batch is in memory
            yield join()
            waiting, rows, size = [], 0, 0
    if waiting:
        yield join()
