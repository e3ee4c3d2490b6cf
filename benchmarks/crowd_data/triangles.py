"""Triangles of Hart and others (2018): the position of the third corner, and its change if others move."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from allalike.domains import Categorical, Real
from allalike.readers import read
from crowd_data.base import Parsed, Parser
from crowd_data.originals import read_columns, typed_table

if TYPE_CHECKING:
    from pathlib import Path

_SOURCE = "triangles_hart2018"
_CONDITION_COLUMNS = ["SubjectID", "Angle", "Base factor"]
_POINT = {"x": ("EstXCoor", "ExpXCoor"), "y": ("EstYCoor", "ExpYCoor")}
_ANGLE = {"angle": ("EstAngle", "ExpAngle")}
_CONDITIONS_NOTE = (
    "Each coordinate of a condition (angle and base) is a task, and a subject's answer is the mean of repetitions;"
    " the paper does not specify this, and its numbers fit TRI1.trials and TRI2.trials better."
)
_TRIALS_NOTE = (
    "The paper does not say how it reads the triangles. Its numbers fit experiment 2, whose subjects saw the angles 36,"
    " 51 and 66 (TRI1.trials) or 30, 45 and 60 (TRI2.trials), with each coordinate of each of the ten repetitions as a"
    " task."
)
_REPETITIONS = 10  # a few subjects have one more or less
_QUESTION_COLUMNS = ("Feature", "SizeDirection", "Manipulation")


def _estimates(folder: Path, *, number: int, asked: dict[str, tuple[str, str]], note: str = "") -> Parsed:
    """Read estimates and true values; repeated estimates of a subject are averaged."""
    wanted = [name for pair in asked.values() for name in pair]
    table = typed_table(folder / f"Exp{number}data.csv", *_CONDITION_COLUMNS, *wanted)
    means = [(guess, "mean") for guess, _ in asked.values()] + [(truth, "min") for _, truth in asked.values()]
    rows, gold = [], {}
    for row in table.group_by(_CONDITION_COLUMNS, use_threads=False).aggregate(means).to_pylist():
        for name, (guess, truth) in asked.items():
            task = f"{row['Angle']:g}/{row['Base factor']:g}/{name}"
            rows.append((row["SubjectID"], task, row[f"{guess}_mean"]))
            gold[task] = float(row[f"{truth}_min"])
    return Parsed(read(rows, domain=Real()), gold, note)


def _trials(folder: Path, *, angles: tuple[int, ...]) -> Parsed:
    """Read every single estimate of the subjects who saw these angles."""
    names = [*_CONDITION_COLUMNS, *(name for pair in _POINT.values() for name in pair)]
    table = typed_table(folder / "Exp2data.csv", *names)
    seen: Counter[tuple[float, ...]] = Counter()
    rows, gold = [], {}
    for subject, angle, base, *values in zip(*(table[name].to_pylist() for name in names), strict=True):
        seen[subject, angle, base] += 1
        times = seen[subject, angle, base]
        if angle not in angles or times > _REPETITIONS:
            continue
        for coordinate, guess, truth in zip(_POINT, values[::2], values[1::2], strict=True):
            task = f"{angle:g}/{base:g}/{times}/{coordinate}"
            rows.append((subject, task, float(guess)))
            gold[task] = float(truth)
    return Parsed(read(rows, domain=Real()), gold, _TRIALS_NOTE)


def _changes(folder: Path) -> Parsed:
    """Read the predicted change of an angle or corner after a change of another part."""
    path = folder / "Exp5data.csv"
    subjects, estimates, expected, *parts = read_columns(
        path, "SubjectID", "GivenAnswer", "ExpectedAns", "Angle", "Base", *_QUESTION_COLUMNS
    )
    tasks = ["/".join(part) for part in zip(*parts, strict=True)]
    rows = list(zip(map(int, subjects), tasks, estimates, strict=True))
    note = "A question has three of the six classes: bigger, smaller, same; or upward, downward, stayPlace."
    return Parsed(read(rows, domain=Categorical(classes=6)), dict(zip(tasks, expected, strict=True)), note)


TRIANGLES = (
    Parser(
        "TRI1",
        _SOURCE,
        "the missing corner of a triangle",
        partial(_estimates, number=1, asked=_POINT, note=_CONDITIONS_NOTE),
    ),
    Parser(
        "TRI2",
        _SOURCE,
        "the missing corner of a triangle of many sizes",
        partial(_estimates, number=2, asked=_POINT, note=_CONDITIONS_NOTE),
    ),
    Parser(
        "TRI1.trials",
        _SOURCE,
        "the missing corner of a triangle, angles 36 to 66, each trial a task",
        partial(_trials, angles=(36, 51, 66)),
    ),
    Parser(
        "TRI2.trials",
        _SOURCE,
        "the missing corner of a triangle, angles 30 to 60, each trial a task",
        partial(_trials, angles=(30, 45, 60)),
    ),
    Parser(
        f"{_SOURCE}/Exp3",
        _SOURCE,
        "the missing corner of a lying triangle",
        partial(_estimates, number=3, asked=_POINT),
    ),
    Parser(f"{_SOURCE}/Exp4", _SOURCE, "the angle at the missing corner", partial(_estimates, number=4, asked=_ANGLE)),
    Parser(f"{_SOURCE}/Exp5", _SOURCE, "what changes when a triangle is changed", _changes),
)
