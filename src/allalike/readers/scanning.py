"""scan: name answers and say how to read them, without reading them yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike.readers.files import is_path, matching
from allalike.readers.kinds import guess_domain
from allalike.readers.names import pick_columns
from allalike.readers.reading import check_reading, open_stream, read_with
from allalike.readers.tables import open_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike.answers import Answers
    from allalike.domains import Domain
    from allalike.readers.tables import Table
    from allalike.streams import Guess, Stream

__all__ = ["Scan", "scan"]


@dataclass(frozen=True, kw_only=True)
class Scan:
    """Name answers, and say how to read them; an engine reads them where they are.

    >>> scan([("ada", 7, "x"), ("bob", 7, "y"), ("eve", 7, "x")]).read().n_answers
    3
    """

    source: Any
    columns: Mapping[str, str] = field(default_factory=dict)
    wide: str | None = None
    repeats: str = "first"
    missing: str = "error"
    domain: Domain | None = None
    choices: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many bytes the files have, or 0 if the answers are no files."""
        listed = self.source if isinstance(self.source, list | tuple) else [self.source]
        if not listed or not all(map(is_path, listed)):
            return 0
        files = [path for name in listed for path in matching(Path(name)) if path.is_file()]
        return sum(path.stat().st_size for path in files)

    @property
    def guess(self) -> Guess:
        """What tells the domain of labels."""
        return guess_domain

    def read(self) -> Answers:
        """Read all answers into memory."""
        return read_with(self.choices, self.source, **self._how())

    def stream(self) -> Stream:
        """Open the answers, to be read batch after batch."""
        return open_stream(self.choices, self.source, **self._how())

    def table(self) -> Table:
        """Open the files, to see which columns they have."""
        return open_table(self.source)

    def pick(self, names: list[str], where: str) -> tuple[dict[str, str], dict[str, str]]:
        """Find the columns of worker, task and label among these; return also what was guessed."""
        return pick_columns(names, self.columns, where)

    def _how(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("columns", "wide", "repeats", "missing", "domain")}


def scan(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    wide: str | None = None,
    repeats: str = "first",
    missing: str = "error",
    domain: str | Domain | None = None,
) -> Scan:
    """Name answers for `discover`, and say how to read them, as `read` does, but leave the reading to the engine.

    The disk engine reads files in a stream, and Spark on its executors, so that they need not fit in memory. The
    parameters are those of `read`; with Spark, the source may also be a Spark data frame, the name of a table, or a
    path that Spark can read.

    >>> import allalike
    >>> source = scan([("ada", 7, 1.5), ("bob", 7, 2.5)], domain="real")
    >>> allalike.discover(source, engine="disk").truth["label"].tolist()
    [2.0]
    """
    kind = check_reading(repeats, missing, domain)
    return Scan(source=source, columns=columns or {}, wide=wide, repeats=repeats, missing=missing, domain=kind)
