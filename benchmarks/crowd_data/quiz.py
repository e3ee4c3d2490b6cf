"""Quizzes of Li, Baba and Kashima (2017): multiple-choice questions.

The letters of options have different meanings in each question, so they are comparable within a question only.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from allalike.domains import Categorical
from allalike.readers import read
from allalike.readers.sources import open_table
from crowd_data.base import Parsed, Parser
from crowd_data.originals import read_columns, read_truths

if TYPE_CHECKING:
    from pathlib import Path

_TWO_CLASSES_NOTE = (
    "The paper's table says 2 classes; the files have five options for each question, and so has this reading."
)


def _quiz(folder: Path, *, options: int, note: str = "") -> Parsed:
    """Read one row per question and one column per worker; column numbers are the worker ids."""
    path = folder / "answer.csv"
    tasks, *cells = read_columns(path, *open_table(path).names)
    workers = {f"worker{place}": answers for place, answers in enumerate(cells, 1)}  # headers may name persons
    answers = read({"task": list(map(int, tasks)), **workers}, wide="tasks", domain=Categorical(classes=options))
    return Parsed(answers, read_truths(folder / "truth.csv", task="question_id", label="truth"), note)


QUIZZES = (
    Parser("Chinese", "quiz_chinese", "what a Chinese word means", partial(_quiz, options=5, note=_TWO_CLASSES_NOTE)),
    Parser(
        "English",
        "quiz_english",
        "which two words relate like two others",
        partial(_quiz, options=5, note=_TWO_CLASSES_NOTE),
    ),
    Parser("IT", "quiz_it", "questions about information technology", partial(_quiz, options=4)),
    Parser("Medicine", "quiz_medicine", "questions about medicine", partial(_quiz, options=4)),
    Parser("Pokemon", "quiz_pokemon", "what a Pokemon is called", partial(_quiz, options=6)),
    Parser("Science", "quiz_science", "questions about science", partial(_quiz, options=5)),
)
