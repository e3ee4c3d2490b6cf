"""Data sets without a public copy, read from ``answers.csv`` and ``truth.csv`` in a folder of your own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from allalike._core.masks import MaskFile
from allalike.domains import Bitmap, Categorical, Domain, Real
from allalike.readers import read
from allalike.readers.formats.masks import ENDINGS
from crowd_data.base import Parsed, Parser
from crowd_data.originals import read_columns, read_truths

if TYPE_CHECKING:
    from pathlib import Path

_FILES_NOTE = (
    "There is no public copy. This reads answers.csv with the columns worker, task and label, and truth.csv with task"
    " and label."
)
_OUTLINES_NOTE = (
    f"{_FILES_NOTE} A label is an image's path from that folder, or run lengths in JSON. Outlines are filled."
)


def own_files(folder: Path, *, domain: Domain, note: str = _FILES_NOTE) -> Parsed:
    """Read ``answers.csv`` (worker, task, label) and ``truth.csv`` (task, label)."""
    answers = read(folder / "answers.csv", columns={role: role for role in ("worker", "task", "label")}, domain=domain)
    return Parsed(answers, read_truths(folder / "truth.csv", task="task", label="label"), note)


def _masks(folder: Path) -> Parsed:
    """Read masks from image paths relative to this folder, or from run lengths in JSON."""
    workers, tasks, labels = read_columns(folder / "answers.csv", "worker", "task", "label")
    rows = list(zip(workers, tasks, (_mask(folder, label) for label in labels), strict=True))
    truths = zip(*read_columns(folder / "truth.csv", "task", "label"), strict=True)
    return Parsed(
        read(rows, domain=Bitmap(fill=True)), {task: _mask(folder, label) for task, label in truths}, _OUTLINES_NOTE
    )


def _mask(folder: Path, label: str) -> Any:
    return MaskFile(str(folder / label)) if label.lower().endswith(ENDINGS) else label


OWN = (
    Parser(
        "GG", "GG", "whether the Golden Gate bridge is in a picture", partial(own_files, domain=Categorical(classes=2))
    ),
    Parser("DOGS", "DOGS", "which breed a dog in a picture is", partial(own_files, domain=Categorical(classes=10))),
    Parser("FLAGS", "FLAGS", "which country has a flag", partial(own_files, domain=Categorical(classes=4))),
    Parser("BUILD", "BUILD", "how high a building is", partial(own_files, domain=Real())),
    Parser("ETCH", "ETCH", "the outline of a cell's nucleus", _masks),
)
