"""Judges: pairs of answers that language models, or people, compared.

Where a judge saw a pair twice, in both orders, she has one answer: what she said both times, or the one decision where
she was undecided the other time; a tie where she contradicted herself. With the tag `ORDERS` each order is an answer of
its own, and the column ``order`` numbers them.
"""

from __future__ import annotations

from collections import defaultdict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.trees import Node, read_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

ORDERS = "orders"
_SIGNS = {"A>B": 1, "B>A": -1, "A=B": 0, "A<B": -1, "B<A": 1, "B=A": 0}


def combine(votes: Sequence[int]) -> int:
    """Return the sign of the votes, of which each is 1 for the first of a pair, -1 for the second and 0 for neither.

    >>> combine([1, 1]), combine([1, 0]), combine([1, -1])
    (1, 1, 0)
    """
    total = sum(votes)
    return (total > 0) - (total < 0)


def read_sign(decision: Node) -> int:
    """Return the vote in a decision such as ``A>B``; one that is much better is better.

    >>> from allalike.readers.tools.trees import Node
    >>> read_sign(Node("[[B>>A]]", "judgments.jsonl: line 1"))
    -1
    """
    text = decision.text().replace(" ", "").strip("[]").replace(">>", ">").replace("<<", "<")
    if text not in _SIGNS:
        raise decision.refused("A>B, B>A or A=B")
    return _SIGNS[text]


def add_votes(
    found: Collection,
    worker: Any,
    task: Any,
    votes: Sequence[int | None],
    labels: Mapping[int, str],
    *,
    question: str = "",
    **more: Any,
) -> None:
    """Add what a judge said of a pair in each order, as one answer or as several; nothing where she decided nothing.

    >>> from pathlib import Path
    >>> from allalike.readers.formats.files import Files
    >>> from allalike.readers.tools import TOOLS
    >>> from allalike.readers.tools.collection import Collection
    >>> found = Collection(TOOLS["arena-hard"](), [Path("m.jsonl")], Files(tag="orders"))
    >>> add_votes(found, "gpt-4", "q1", [1, -1], {1: "a", -1: "b", 0: "tie"})
    >>> found.table().load(["label", "order"])
    {'label': ['a', 'b'], 'order': [1, 2]}
    """
    given = [(order, vote) for order, vote in enumerate(votes, start=1) if vote is not None]
    if found.files.tag == ORDERS:
        for order, vote in given:
            found.add(worker, task, labels[vote], question=ORDERS, kind="classes", order=order, **more)
        return
    label = labels[combine([vote for _, vote in given])] if given else None
    found.add(worker, task, label, question=question, kind="classes", **more)


# alpaca_eval: which of two outputs annotators prefer.


_ASKED = ("instruction", "input", "generator_1", "generator_2", "output_1", "output_2")
_WORKER = ("annotator_index", "annotator")
_TIES = (0, 1.5)


class AlpacaEval(Tool):
    r"""alpaca_eval's ``annotations.json``.

    >>> pair = '{"instruction": "Greet.", "output_1": "Hi!", "output_2": "Go.", "annotator": "%s", "preference": %d}'
    >>> AlpacaEval().answers_in({"annotations.jsonl": "\n".join([pair % ("gpt-4", 1), pair % ("claude", 2)])})
    [('gpt-4', 'Greet.', 1), ('claude', 'Greet.', 2)]
    """

    name: ClassVar[str] = "alpaca_eval"
    title: ClassVar[str] = "alpaca_eval"
    summary: ClassVar[str] = "preferences of annotators between two outputs (JSON)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether records have an instruction, two outputs and a preference."""
        return any({"instruction", "preference", "output_1", "output_2"} <= set(record) for record in peek.records)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read the preferences: 1 for the first output, 2 for the second, 1.5 for neither."""
        found = Collection(self, paths, files)
        rows = [(path, record) for path in paths for record in read_records(path)]
        tasks = _tasks([record for _, record in rows])
        for (path, record), task in zip(rows, tasks, strict=True):
            who = record.first(*_WORKER)
            by_file = files.worker_from == "filename" or not who.there
            preference = record["preference"]
            label: Any = preference.number() if preference.there else None
            if label is not None:
                label = 1.5 if label in _TIES else int(label) if label == int(label) else label
            found.add(found.worker_of(path) if by_file else who.id(), task, label)
        return found.table()


def _tasks(records: list[Node]) -> list[str]:
    """Name what was compared: by the instruction, and by a hash of the rest where that says too little."""
    asked = [tuple(record[key].value for key in _ASKED) for record in records]
    variants: defaultdict[Any, set[str]] = defaultdict(set)
    for pair in asked:
        variants[repr(pair[0])].add(repr(pair))
    names = []
    for record, pair in zip(records, asked, strict=True):
        text = record["instruction"].text()
        several = len(variants[repr(pair[0])]) > 1
        names.append(f"{text} #{blake2b(repr(pair).encode(), digest_size=4).hexdigest()}" if several else text)
    return names


# Arena-Hard: judges who compare a model's answer with that of a baseline, in both orders.


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


# JudgeBench: one file for each judge, in which it compares two answers to a question, in both orders.


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
                votes = _judgebench_votes(pair, found)
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


def _judgebench_votes(pair: Node, found: Collection) -> list[int | None]:
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


# MT-bench and arenas: judges who score models' answers, or say which of two is better.


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
        return any(map(_mt_bench_is_judgment, peek.records))

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read winners by the models' names, or scores; a task is a question, its turn, and the models."""
        found = Collection(self, paths, files)
        for path in paths:
            for record in read_records(path):
                by_file = files.worker_from == "filename" or not record["judge"].there
                worker = found.worker_of(path) if by_file else _mt_bench_judge(record["judge"])
                models = _models(record)
                task = " | ".join([*_question(record), *sorted(models)])
                if len(models) == 2:
                    winners = {1: models[0], -1: models[-1], 0: "tie"}
                    add_votes(found, worker, task, _mt_bench_votes(record, models, found), winners, question="winner")
                else:
                    found.add(worker, task, _score(record["score"], found), question="score", kind="numbers")
        return found.table()


def _mt_bench_is_judgment(record: dict[str, Any]) -> bool:
    pair = any(all(key in record for key in models) for models in _PAIRS)
    named = "judge" in record and "question_id" in record
    return (pair and "g1_winner" in record) or (named and ("score" in record or (pair and "winner" in record)))


def _mt_bench_judge(judge: Node) -> str:
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


def _mt_bench_votes(record: Node, models: list[str], found: Collection) -> list[int | None]:
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
