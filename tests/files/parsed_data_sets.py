"""Data sets as their parsers read them, and what is known about them from elsewhere."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from allalike._core.blocks.block import Floats
from allalike.answers import Answers
from allalike.answers.storage import answer_columns
from allalike.readers import read_gold
from crowd_data import PARSERS
from crowd_data.base import Parsed

EMOTIONS = ("anger", "disgust", "fear", "joy", "sadness", "surprise", "valence")
LEVELS = {
    **{f"DOTS{3 + 2 * k}": f"00024-0000000{k + 1}" for k in range(4)},
    **dict(zip(("PUZZ11", "PUZZ5", "PUZZ7", "PUZZ9"), (f"00025-0000000{k}" for k in range(1, 5)), strict=True)),
}


@cache
def parsed(data: Path, name: str) -> Parsed:
    parser = PARSERS[name]
    return parser.parse(data / parser.source)


def with_gold(data: Path, name: str) -> Answers:
    found = parsed(data, name)
    return read_gold(found.gold, found.answers)


def list_rows(answers: Answers) -> list[tuple[Any, Any, Any]]:
    """Return answers as rows of worker, task and label."""
    return list(zip(*(column.tolist() for column in answer_columns(answers).values()), strict=True))


@cache
def facts(data: Path, name: str) -> Any:
    """Return what is known about a data set's source."""
    return json.loads((data / PARSERS[name].source / "SOURCE.json").read_text(encoding="utf-8"))


def level(known: Any, name: str) -> Any:
    """Return what is known about a level of dots or puzzles."""
    return next(value for key, value in known["verification"].items() if key.startswith(LEVELS[name]))


def errors(answers: Answers) -> Floats:
    """Return the distance of each answer to the truth, where all truths are known."""
    return answers.encoding.kernels.distance_between(
        answers.label, np.repeat(answers.gold_label, np.diff(answers.starts), axis=0)
    )


def votes(answers: Answers) -> Any:
    """Return the number of votes for each label in each task; a truth that nobody answered has a column too."""
    counts = np.zeros((len(answers.tasks), int(answers.label.max()) + 2))
    np.add.at(counts, (np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts)), answers.label), 1)
    return counts


def vote_accuracy(answers: Answers) -> float:
    """Return how often the most frequent label is right, where a tie counts as a draw."""
    counts = votes(answers)[answers.gold_task]
    best = counts == counts.max(axis=1, keepdims=True)
    return float((best[np.arange(len(best)), answers.gold_label] / best.sum(axis=1)).mean())


def ties(answers: Answers) -> int:
    """Return how many tasks with a known truth have no single most frequent label."""
    counts = votes(answers)[answers.gold_task]
    return int(((counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1).sum())
