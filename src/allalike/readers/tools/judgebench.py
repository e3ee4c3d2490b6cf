"""JudgeBench: one file for each judge, in which it compares two answers to a question, in both orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.judges import add_votes, combine, read_sign
from allalike.readers.tools.trees import Node, read_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["JudgeBench"]

_DECISIONS = {1: "A>B", -1: "B>A", 0: "A=B"}


class JudgeBench(Tool):
    """JudgeBench's judgments, as JSONL.

    >>> judgments = '[{"judgment": {"judge_model": "gpt-4"}, "decision": "A>B"}, {"decision": "B>A"}]'
    >>> JudgeBench().answers_in({"gpt-4.jsonl": '{"pair_id": "p1", "label": "A>B", "judgments": %s}' % judgments})
    [('gpt-4', 'p1', 'A>B')]
    """

    name: ClassVar[str] = "judgebench"
    title: ClassVar[str] = "JudgeBench"
    summary: ClassVar[str] = "decisions A>B, B>A, A=B of judges about pairs, one file for each (JSONL)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether pairs have judgments with a decision."""
        return any(map(_is_pair, peek.records))

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read one decision of each judge about each pair, in the order of the pair; ``gold`` is the known one."""
        found = Collection(self, paths, files)
        twice = torn = 0
        for path in paths:
            for pair in read_records(path):
                votes = _votes(pair, found)
                given = [vote for vote in votes if vote is not None]
                twice += len(given) > 1
                torn += len(set(given)) > 1 and not combine(given)
                judge = _judge(pair) if files.worker_from != "filename" else None
                worker = judge.id() if judge is not None else found.worker_of(path)
                task = pair.first("pair_id", "id").id()
                add_votes(found, worker, task, votes, _DECISIONS, gold=pair["label"].value)
        if twice and files.tag is None:
            found.remarks.append(
                f"{twice:,} pairs were judged in both orders. The second decision is turned round, and both are one"
                f" answer; {torn:,} that contradict each other are A=B. The tag 'orders' reads each on its own."
            )
        return found.table()


def _is_pair(record: dict[str, Any]) -> bool:
    judgments = record.get("judgments")
    return isinstance(judgments, list) and any(isinstance(item, dict) and "decision" in item for item in judgments)


def _votes(pair: Node, found: Collection) -> list[int | None]:
    """Return the decisions on a pair, each in the order of the first."""
    votes: list[int | None] = []
    for place, judgment in enumerate(pair["judgments"].items()):
        if judgment["decision"].there:
            vote = read_sign(judgment["decision"])
            votes.append(-vote if place % 2 else vote)
        else:
            found.leave_out("judgments without a decision")
            votes.append(None)
    return votes


def _judge(pair: Node) -> Node | None:
    """Return the name of the judge, if a judgment has it."""
    for judgment in pair["judgments"].items():
        if judgment.there and isinstance(judgment["judgment"].value, dict):
            name = judgment["judgment"]["judge_model"]
            if name.there:
                return name
    return pair["judge_model"] if pair["judge_model"].there else None
