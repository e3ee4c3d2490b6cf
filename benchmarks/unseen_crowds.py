"""Crowds of classes whose truth is known: those that the default was not made on, and those of the catalogue.

The former are files ``NAME.npz`` in the folder that ``ALLALIKE_CROWDS`` names, by default ``../shared/crowds``. Each
has ``W``, ``T`` and ``L`` (worker, task and label of each answer, whole numbers) and ``g`` (the truth of each task, -1
is unknown). They are never part of the project.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import allalike
from allalike.datasets import DATASETS, source_of
from allalike.datasets.downloads import find_folder
from allalike.readers import read_gold
from crowd_data import load
from league import AGAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from allalike.answers import Answers

__all__ = ["CATALOGUED", "FAMILIES", "Crowd", "blind", "crowd_folder", "find_crowds"]

FAMILIES = {
    "panels": "panels of language models",
    "weak": "weak supervision: workers are rules, many of which say one class only",
    "people": "people, and people beside networks",
    "league": "the sets of classes of the league",
    "parts": "parts of sets of the league, which have the same workers",
}
CATALOGUED = ("league", "parts")  # families of data sets that the package can load
_PANELS = ("feedback_*", "triviaqa_*", "reife_*", "faithbench", "zeroeval_*", "mmlu_*")
_WEAK = ("weak_*", "wrench_*")


@dataclass(frozen=True)
class Crowd:
    """A crowd by its name and family, and how to read it; what is read knows its truths."""

    name: str
    family: str
    read: Callable[[], Answers]


def crowd_folder() -> Path:
    """Return where the files of crowds are, if they are here."""
    beside = Path(__file__).parents[2] / "shared" / "crowds"
    return Path(os.environ.get("ALLALIKE_CROWDS", beside))


def find_crowds(families: Sequence[str] = (), names: Sequence[str] = ("*",)) -> list[Crowd]:
    """Return the crowds at hand, of these families or of all, whose names match one of the patterns."""
    wanted = families or tuple(FAMILIES)
    found = [*_unseen(), *(_catalogue() if {*wanted} & {*CATALOGUED} else ())]
    return [crowd for crowd in found if crowd.family in wanted and _matches(crowd.name, names)]


def _unseen() -> Iterator[Crowd]:
    for path in sorted(crowd_folder().glob("*.npz")):
        family = "panels" if _matches(path.stem, _PANELS) else "weak" if _matches(path.stem, _WEAK) else "people"
        yield Crowd(path.stem, family, partial(_read_arrays, path))


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _catalogue() -> Iterator[Crowd]:
    """Yield the sets of classes of the catalogue; other readings of the same answers are parts."""
    for name in DATASETS:
        source = source_of(name)
        if find_folder(source) and source.datasets.get(name, {}).get("domain") == "categorical":
            yield Crowd(name, "parts" if _matches(name, tuple(AGAIN)) else "league", partial(_load, name))


def _load(name: str) -> Answers:
    return load(name).answers


def _read_arrays(path: Path) -> Answers:
    with np.load(path) as arrays:
        worker, task, label, gold = (np.asarray(arrays[name], np.int64) for name in "WTLg")
    table = pa.table({"worker": worker, "task": task, "label": label})
    answers = allalike.read(table, domain="categorical", columns={name: name for name in table.column_names})
    known = np.flatnonzero(gold >= 0)
    return read_gold(dict(zip(known.tolist(), gold[known].tolist(), strict=True)), replace(answers, frame="pandas"))


def blind(answers: Answers) -> Answers:
    """Return answers without their truths."""
    return replace(answers, gold_task=answers.gold_task[:0], gold_label=answers.gold_label[:0], gold=None)
