"""A reader of one's own: exports of a quiz program, a line of JSON for each player with all that she answered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from allalike.readers.formats.files import Files
from allalike.readers.formats.tables import Table
from allalike.readers.tools import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.trees import read_records


class QuizNight(Tool):
    """Answers of players, by question."""

    name: ClassVar[str] = "quiz-night"
    title: ClassVar[str] = "Quiz Night"
    summary: ClassVar[str] = "JSON lines: a player, and what she answered to each question"

    def recognises(self, peek: Peek) -> bool:
        """Tell a file of this program from all others by its first records."""
        return bool(peek.records) and all({"player", "answered"} <= set(record) for record in peek.records)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Collect the answers; what is none is left out, counted and told."""
        found = Collection(self, paths, files)
        for record in (record for path in paths for record in read_records(path)):
            for question, answer in record["answered"].fields().items():
                if answer.value == "pass":
                    found.leave_out("questions that somebody passed")
                else:
                    found.add(record["player"].id(), question, answer.scalar())
        return found.table()
