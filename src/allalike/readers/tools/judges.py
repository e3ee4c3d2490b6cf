"""Judges of pairs: JudgeBench, Arena-Hard, alpaca_eval and MT-bench.

A judge who saw a pair twice, in both orders, has one answer: the sign of the sum of both decisions, so that a tie and a
decision are the decision, and two that contradict each other are a tie. With the question `ORDERS` each order is an
answer of its own, and the column ``order`` numbers them.
"""

from __future__ import annotations

from collections import defaultdict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from allalike.readers.tools.base import get, get_list, get_number, get_text, unexpected
from allalike.readers.tools.frame import Answer, Export, record_tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    Votes = list[int | None]  # 1 for the first of a pair, -1 for the second, 0 for a tie, None for no decision

ORDERS = "orders"
_SIGNS = {"A>B": 1, "B>A": -1, "A=B": 0, "A<B": -1, "B<A": 1, "B=A": 0}
_COMPARED = ("instruction", "input", "generator_1", "generator_2", "output_1", "output_2")
_PAIRS = (("model_1", "model_2"), ("model_a", "model_b"))
_SIDES = {"model_1": 1, "model_a": 1, "model_2": -1, "model_b": -1}
_GAMES = ("g1_winner", "g2_winner")
_JUDGMENTS = (
    ("judge", "question_id", "score"),
    *((*pair, "g1_winner") for pair in _PAIRS),
    *((*pair, "judge", "question_id", "winner") for pair in _PAIRS),
)


def _combine(votes: Votes) -> int | None:
    """Return the sign of the sum of votes; nothing if there are none."""
    cast = [vote for vote in votes if vote is not None]
    return (sum(cast) > 0) - (sum(cast) < 0) if cast else None


def _read_votes(export: Export, games: list[Any], key: str, without: str) -> Votes:
    """Return the vote in each decision such as ``A>B`` or ``A>>B``. Every second game has them swapped."""
    votes: Votes = []
    for place, game in enumerate(games):
        decision = get_text(game, key, default=None)
        if decision is None:
            export.leave_out(without)
            votes.append(None)
            continue
        sign = _SIGNS.get(decision.replace(" ", "").strip("[]").replace(">>", ">").replace("<<", "<"))
        if sign is None:
            raise unexpected(decision, "A>B, B>A or A=B", key)
        votes.append(-sign if place % 2 else sign)
    return votes


def _answer(export: Export, worker: Any, task: Any, votes: Votes, labels: Any, **more: Any) -> Iterator[Answer]:
    """Yield the decision on a pair as one answer, or as one for each order."""
    if export.files.question != ORDERS:
        yield Answer(worker, task, labels.get(_combine(votes)), kind="classes", **more)
        return
    for order, vote in enumerate(votes, start=1):
        if vote is not None:
            yield Answer(worker, task, labels[vote], kind="classes", order=order, **{**more, "question": ORDERS})


@record_tool("judgebench", "JudgeBench", lambda peek: peek.has("judgments.decision"))
def judgebench(export: Export) -> Iterator[Answer]:
    """Read decisions A>B, B>A, A=B of judges about pairs, one file for each (JSONL).

    Record: ``{"pair_id": "p1", "label": "A>B", "judgments": [{"decision": "A>B"}, {"decision": "B>A"}]}``. The worker
    is ``judge_model`` or the file's name, the task ``pair_id``, and the label the decision in both orders together.
    ``label`` is the gold label.
    """
    twice = torn = 0
    for pair in export.records():
        judgments = get_list(pair, "judgments")
        votes = _read_votes(export, judgments, "decision", "judgments without a decision")
        twice += len(votes) - votes.count(None) > 1
        torn += {1, -1} <= set(votes) and not _combine(votes)
        records = [*(get(each, "judgment") for each in judgments), pair]
        judges = (record.get("judge_model") for record in records if isinstance(record, dict))
        judge = next((judge for judge in judges if judge is not None), None)
        worker, task = export.worker(judge, export.owner), get(pair, "pair_id", "id")
        yield from _answer(export, worker, task, votes, {1: "A>B", -1: "B>A", 0: "A=B"}, gold=pair.get("label"))
    if twice and export.files.question is None:
        export.remarks.append(
            f"{twice:,} pairs were judged in both orders. The second decision is turned round, and both are one"
            f" answer; {torn:,} that contradict each other are A=B. The question 'orders' reads each on its own."
        )


@record_tool("arena-hard", "Arena-Hard", lambda peek: peek.has("model", "games.score"))
def arena_hard(export: Export) -> Iterator[Answer]:
    """Read judgments of models against a baseline, in both orders (JSONL).

    Record: ``{"question_id": "q1", "model": "m", "judge": "gpt-4", "games": [{"score": "B>A"}, {"score": "A>>B"}]}``.
    The worker is ``judge`` or the file's name, the task the question with the model, and the label the name of the
    better model, or ``tie``. The baseline comes first in the first game.
    """
    for record in export.records():
        model = get_text(record, "model")
        labels = {1: get_text(record, "baseline", default="baseline"), -1: model, 0: "tie"}
        votes = _read_votes(export, get_list(record, "games"), "score", "games without a winner")
        worker, task = export.worker(record.get("judge"), export.owner), get(record, "question_id", "uid")
        yield from _answer(export, worker, task and f"{task} | {model}", votes, labels)


@record_tool("alpaca_eval", "alpaca_eval", lambda peek: peek.has("instruction", "preference", "output_1", "output_2"))
def alpaca_eval(export: Export) -> Iterator[Answer]:
    """Read preferences of annotators between two outputs (JSON).

    Record: ``{"instruction": "Greet.", "output_1": "Hi!", "output_2": "Go.", "annotator": "gpt-4", "preference": 1}``.
    The worker is ``annotator_index`` or ``annotator``, and the label 1 for the first output, 2 for the second, 1.5 for
    neither. The task is the instruction, with a hash of all that was compared where several have the same instruction.
    """
    answers, compared = [], defaultdict(set)
    for record in export.records():
        pair = tuple(record.get(key) for key in _COMPARED)
        digest = blake2b(repr(pair).encode(errors="replace"), digest_size=4).hexdigest()
        instruction, preference = get_text(record, "instruction"), get_number(record, "preference", default=None)
        if preference is not None:
            preference = 1.5 if preference in (0, 1.5) else int(preference) if preference % 1 == 0 else preference
        compared[instruction].add(digest)
        worker = export.worker(get(record, "annotator_index", "annotator"), export.owner)
        answers.append((worker, instruction, digest, preference))
    for worker, instruction, digest, preference in answers:
        task = instruction if len(compared[instruction]) == 1 else f"{instruction} #{digest}"
        yield Answer(worker, task, preference)


@record_tool("mt-bench", "MT-bench", lambda peek: any(peek.has(*fields) for fields in _JUDGMENTS))
def mt_bench(export: Export) -> Iterator[Answer]:
    """Read judgments of models' answers: winners of pairs, or scores (JSONL).

    Record: ``{"question_id": 81, "turn": 1, "model_1": "a", "model_2": "b", "judge": "gpt-4", "g1_winner": "a"}``. The
    worker is the judge with its prompt, the task the question with its turn and its models, and the label the name of
    the better model or ``tie``; of single answers it is the score. Battles of arenas have ``winner``.
    """
    for record in export.records():
        judge = record.get("judge")
        judge = " ".join(map(str, judge)) if isinstance(judge, list) else judge  # a model and its prompt
        worker = str(export.worker(judge or None, export.owner))
        turn = [f"turn {record['turn']}"] if record.get("turn") is not None else []
        pair = next((pair for pair in _PAIRS if record.keys() >= set(pair)), ("model",))
        models = [get_text(record, key) for key in pair]
        task = " | ".join([str(record["question_id"]), *turn, *sorted(models)])
        if len(models) == 1:
            score = get_number(record, "score", default=-1)
            export.leave_out("judgments without a score", int(score == -1))
            yield Answer(worker, task, None if score == -1 else score, "score", "numbers")
            continue
        games = _GAMES if any(key in record for key in _GAMES) else ("winner",)
        winners = [get_text(record, key, default="error") for key in games]
        export.leave_out("games without a winner", winners.count("error"))
        signs = {
            models[0]: 1,
            models[1]: -1,
            **{name: sign for each in _PAIRS for name, sign in zip(each, (1, -1), strict=True)},
        }
        votes = [None if winner == "error" else signs.get(winner, 0) for winner in winners]
        yield from _answer(export, worker, task, votes, {1: models[0], -1: models[1], 0: "tie"}, question="winner")
