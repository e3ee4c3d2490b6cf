"""Arena-Hard: judges who compare a model's answer with that of a baseline, in both orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.judges import add_votes, read_sign
from allalike.readers.tools.trees import Node, read_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["ArenaHard"]

_BASELINE = "baseline"


class ArenaHard(Tool):
    """Arena-Hard's ``model_judgment``, as JSONL.

    >>> record = '{"question_id": "q1", "model": "m", "judge": "gpt-4", "games": [%s]}'
    >>> ArenaHard().answers_in({"m.jsonl": record % '{"score": "B>A"}, {"score": "A>>B"}'})
    [('gpt-4', 'q1 | m', 'm')]
    """

    name: ClassVar[str] = "arena-hard"
    title: ClassVar[str] = "Arena-Hard"
    summary: ClassVar[str] = "judgments of models against a baseline, in both orders (JSONL)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether records have games with a score, and no pair of models."""
        return any(map(_is_judgment, peek.records))

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read the name of the better model, or ``tie``; the baseline comes first in the first game."""
        found = Collection(self, paths, files)
        for path in paths:
            for record in read_records(path):
                by_file = files.worker_from == "filename" or not record["judge"].there
                worker = found.worker_of(path) if by_file else record["judge"].id()
                model, against = record["model"].text(), record["baseline"]
                names = {1: against.text() if against.there else _BASELINE, -1: model, 0: "tie"}
                task = " | ".join([str(record.first("question_id", "uid").id()), model])
                add_votes(found, worker, task, _votes(record, found), names)
        return found.table()


def _is_judgment(record: dict[str, Any]) -> bool:
    games = record.get("games")
    return "model" in record and isinstance(games, list) and any(isinstance(g, dict) and "score" in g for g in games)


def _votes(record: Node, found: Collection) -> list[int | None]:
    """Return who is better in each game, 1 for the baseline; in the second one the model comes first."""
    votes: list[int | None] = []
    for place, game in enumerate(record["games"].items()):
        if game.there and game["score"].there:
            sign = read_sign(game["score"])
            votes.append(-sign if place % 2 else sign)
        else:
            found.leave_out("games without a winner")
            votes.append(None)
    return votes
