"""Five tasks of natural language by Snow, O'Connor, Jurafsky and Ng (2008): classes and ratings of ten workers each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from allalike.domains import Categorical, Real
from allalike.readers import read
from crowd_data.base import Parsed, Parser
from crowd_data.originals import read_columns, read_truths

if TYPE_CHECKING:
    from pathlib import Path

_WORKER, _TASK, _LABEL = "!amt_worker_ids", "orig_id", "response"
_EMOTIONS = ("anger", "disgust", "fear", "joy", "sadness", "surprise", "valence")
_POOLED_RATINGS_NOTE = (
    "How the paper pools the seven ratings is unknown. Here each pair of a rating and a headline is a task, with"
    " answers as they were given: from 0 to 100, but valence from -100 to 100. snow_emotion/NAME has one rating alone,"
    " and EMO.first the twenty headlines that fit the paper's numbers."
)
_FIRST_HEADLINES_NOTE = (
    "As EMO, but only the first twenty headlines, which the same ten workers rated. The paper does not say which it"
    " takes; its numbers fit these."
)
_FIRST_HEADLINES = range(500, 520)  # their ids
_RESCALED_RATINGS_NOTE = "Workers rated from 0 to 10, the truth is from 0 to 4: answers are multiplied by 0.4."


def _classes(folder: Path, *, file: str, classes: int) -> Parsed:
    path = folder / f"{file}.standardized.tsv"
    columns = {"worker": _WORKER, "task": _TASK, "label": _LABEL}
    answers = read(path, columns=columns, domain=Categorical(classes=classes))
    return Parsed(answers, read_truths(path, task=_TASK, label="gold"))


def _ratings(folder: Path, *, file: str) -> Parsed:
    rows, gold = _rated(folder, file)
    return Parsed(read(rows, domain=Real()), gold)


def _rated(folder: Path, file: str) -> tuple[list[tuple[str, Any, float]], dict[Any, float]]:
    """Return ratings as (worker, task, label), and gold labels."""
    path = folder / f"{file}.standardized.tsv"
    workers, tasks, labels, truths = read_columns(path, _WORKER, _TASK, _LABEL, "gold")
    ids = list(map(int, tasks)) if all(task.isdecimal() for task in tasks) else tasks
    rows = list(zip(workers, ids, map(float, labels), strict=True))
    return rows, dict(zip(ids, map(float, truths), strict=True))


def _similarity(folder: Path) -> Parsed:
    rows, gold = _rated(folder, "wordsim")
    rescaled = [(worker, task, 0.4 * label) for worker, task, label in rows]
    return Parsed(read(rescaled, domain=Real()), gold, _RESCALED_RATINGS_NOTE)


def _pooled(folder: Path, *, headlines: range | None = None, note: str = _POOLED_RATINGS_NOTE) -> Parsed:
    """Read all seven ratings, of all or of these headlines."""
    rows: list[tuple[str, str, float]] = []
    gold: dict[str, float] = {}
    for emotion in _EMOTIONS:
        some, truths = _rated(folder, emotion)
        wanted = truths.keys() if headlines is None else headlines
        rows += [(worker, f"{emotion}/{task}", label) for worker, task, label in some if task in wanted]
        gold |= {f"{emotion}/{task}": label for task, label in truths.items() if task in wanted}
    return Parsed(read(rows, domain=Real()), gold, note)


def _emotion(name: str) -> Parser:
    summary = f"how much {name} a headline evokes"
    return Parser(f"snow_emotion/{name}", "snow_emotion", summary, partial(_ratings, file=name))


SNOW = (
    Parser("snow_rte", "snow_rte", "whether a sentence follows from another", partial(_classes, file="rte", classes=2)),
    Parser("snow_temp", "snow_temp", "which of two events was first", partial(_classes, file="temp", classes=2)),
    Parser("snow_wsd", "snow_wsd", "in which sense a word is used", partial(_classes, file="wsd", classes=3)),
    Parser("snow_wordsim", "snow_wordsim", "how alike two words are", _similarity),
    Parser("EMO", "snow_emotion", "how much of six emotions a headline evokes, and how good it is", _pooled),
    Parser(
        "EMO.first",
        "snow_emotion",
        "how much of six emotions a headline evokes, and how good it is; twenty headlines",
        partial(_pooled, headlines=_FIRST_HEADLINES, note=_FIRST_HEADLINES_NOTE),
    ),
    *map(_emotion, _EMOTIONS),
)
