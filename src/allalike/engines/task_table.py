"""Task tables: what a kernel returned for each task, wherever it is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.columns.values import Values
from allalike._core.system.tables import write_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy.typing as npt
    import pyarrow as pa

    from allalike._core.blocks.block import Array

__all__ = ["Piece", "TaskTable"]


@dataclass(frozen=True)
class Piece:
    """Some tasks in order, how many answers each has, and what a kernel returned for them."""

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
    """What a kernel returned, one row per task."""

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
