"""MT-bench and arenas: judges who score models' answers, or say which of two is better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.judges import add_votes
from allalike.readers.tools.trees import Node, read_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["MTBench"]

_PAIRS = (("model_1", "model_2"), ("model_a", "model_b"))
_GAMES = ("g1_winner", "g2_winner")


class MTBench(Tool):
    """MT-bench's ``model_judgment``, and battles of arenas, as JSONL or JSON.

    >>> record = '{"question_id": 81, "model_1": "a", "model_2": "b", "judge": ["gpt-4", "pair"], "turn": 1, %s}'
    >>> MTBench().answers_in({"gpt-4_pair.jsonl": record % '"g1_winner": "model_1", "g2_winner": "model_1"'})
    [('gpt-4 pair', '81 | turn 1 | a | b', 'a')]
    """

    name: ClassVar[str] = "mt-bench"
    title: ClassVar[str] = "MT-bench"
    summary: ClassVar[str] = "judgments of models' answers: winners of pairs, or scores (JSONL)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether records have a question, a judge, and a winner or a score."""
        return any(map(_is_judgment, peek.records))

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read winners by the models' names, or scores; a task is a question, its turn, and the models."""
        found = Collection(self, paths, files)
        for path in paths:
            for record in read_records(path):
                by_file = files.worker_from == "filename" or not record["judge"].there
                worker = found.worker_of(path) if by_file else _judge(record["judge"])
                models = _models(record)
                task = " | ".join([*_question(record), *sorted(models)])
                if len(models) == 2:
                    winners = {1: models[0], -1: models[-1], 0: "tie"}
                    add_votes(found, worker, task, _votes(record, models, found), winners, question="winner")
                else:
                    found.add(worker, task, _score(record["score"], found), question="score", kind="numbers")
        return found.table()


def _is_judgment(record: dict[str, Any]) -> bool:
    pair = any(all(key in record for key in models) for models in _PAIRS)
    named = "judge" in record and "question_id" in record
    return (pair and "g1_winner" in record) or (named and ("score" in record or (pair and "winner" in record)))


def _judge(judge: Node) -> str:
    """Return who judged: a name, or a model and its prompt."""
    if isinstance(judge.value, list):
        return " ".join(str(part.id()) for part in judge.items()) or str(judge.id())
    return str(judge.id())


def _question(record: Node) -> list[str]:
    turn = record["turn"]
    return [str(record["question_id"].id()), *([f"turn {turn.scalar()}"] if turn.there else [])]


def _models(record: Node) -> list[str]:
    for pair in _PAIRS:
        if all(key in record.value for key in pair):
            return [record[key].text() for key in pair]
    return [record["model"].text()]


def _votes(record: Node, models: list[str], found: Collection) -> list[int | None]:
    """Return who won each game, by the places in which the models are named."""
    places = {models[0]: 1, models[1]: -1, **{key: 1 for key, _ in _PAIRS}, **{key: -1 for _, key in _PAIRS}}
    votes: list[int | None] = []
    for key in _GAMES if any(game in record.value for game in _GAMES) else ("winner",):
        said = record[key]
        if not said.there or said.value == "error":
            found.leave_out("games without a winner")
            votes.append(None)
        else:
            votes.append(places.get(said.text(), 0))
    return votes


def _score(score: Node, found: Collection) -> Any:
    if score.there and score.number() != -1:
        return score.number()
    found.leave_out("judgments without a score")
    return None
