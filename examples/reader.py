"""A reader of one's own: exports of a quiz program, a line of JSON for each player with all that they answered."""

from __future__ import annotations

from collections.abc import Iterator

from allalike.readers.tools.frame import Answer, Export, record_tool


@record_tool("quiz-night", "Quiz Night", lambda peek: peek.has("player", "answered"))
def quiz_night(export: Export) -> Iterator[Answer]:
    """Read what players answered to each question (JSON lines)."""
    for record in export.records():
        for question, answer in record["answered"].items():
            if answer == "pass":
                export.leave_out("questions that somebody passed")
            else:
                yield Answer(record["player"], question, answer)
