"""Crowds with gold labels: files of other projects, and the public data sets of the catalogue.

The former are in the folder that ``ALLALIKE_CROWDS`` names, by default ``../shared/crowds``: ``NAME.npz`` with ``W``,
``T`` and ``L`` (worker, task and label of each answer, whole numbers) and ``g`` (gold label of each task, -1 is
unknown), or ``NAME.csv`` with the columns worker, task, label and gold. To add a crowd, put a CSV file there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

import allalike
from allalike.datasets import DATASETS, source_of
from allalike.datasets.downloads import find_folder
from allalike.readers import read_gold
from crowd_data import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from allalike.answers import Answers

__all__ = ["AGAIN", "CATALOGUED", "FAMILIES", "Crowd", "blind", "choose_data_sets", "crowd_folder", "find_crowds"]

AGAIN = {  # data sets that are not scored, because they repeat others, and the reason
    "predict_mandal2020/T?": "the forecasts of Pred.T1 to T4 as numbers",
    "snow_emotion/*": "the seven ratings of EMO, one by one",
    "EMO.first": "twenty of the hundred headlines of EMO",
    "TRI?.trials": "single trials of the second experiment, of which TRI2 is the mean",
    "TRANSL": "crowdwsa2019/T1 as the paper has it, with repeated answers as further workers",
    "bounding_boxes_braylan/boxes": "the same boxes, compared by their overlap",
    "bubil_crowd_segmentation/*": "parts of bubil_crowd_segmentation",
    "llmbar_llm_judges/*": "parts of llmbar_llm_judges",
    "sp_voting_rankings/*": "parts of sp_voting_rankings",
}

FAMILIES = {
    "panels": "panels of language models",
    "weak": "weak supervision: workers are labelling functions, many with one class only",
    "people": "people, and people beside networks or static analysers",
    "public": "public data sets of the catalogue",
}
CATALOGUED = "public"  # the family of data sets that the package can load
_PANELS = ("feedback_*", "triviaqa_*", "reife_*", "faithbench", "zeroeval_*", "mmlu_*")
_WEAK = ("weak_*", "wrench_*")


@dataclass(frozen=True)
class Crowd:
    """A crowd by its name and family, and a function that reads its answers with their gold labels."""

    name: str
    family: str
    read: Callable[[], Answers]


def crowd_folder() -> Path:
    """Return the folder of crowds that are not in the catalogue."""
    beside = Path(__file__).parents[2] / "shared" / "crowds"
    return Path(os.environ.get("ALLALIKE_CROWDS", beside))


def choose_data_sets() -> tuple[list[str], list[str]]:
    """Return the data sets of the catalogue that are scored and here, and those that are missing."""
    wanted = [name for name in DATASETS if not _matches(name, tuple(AGAIN))]
    here = [name for name in wanted if find_folder(source_of(name))]
    return here, [name for name in wanted if name not in here]


def find_crowds(families: Sequence[str] = (), names: Sequence[str] = ("*",)) -> list[Crowd]:
    """Return the crowds of some families, or of all, whose names match one of the patterns."""
    wanted = families or tuple(FAMILIES)
    public = choose_data_sets()[0] if CATALOGUED in wanted else []
    crowds = [*_list_files(), *(Crowd(name, CATALOGUED, partial(_load, name)) for name in public)]
    return [crowd for crowd in crowds if crowd.family in wanted and _matches(crowd.name, names)]


def _list_files() -> Iterator[Crowd]:
    for path in sorted([*crowd_folder().glob("*.npz"), *crowd_folder().glob("*.csv")]):
        family = "panels" if _matches(path.stem, _PANELS) else "weak" if _matches(path.stem, _WEAK) else "people"
        yield Crowd(path.stem, family, partial(_read_arrays if path.suffix == ".npz" else _read_table, path))


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _load(name: str) -> Answers:
    return load(name).answers


def _read_table(path: Path) -> Answers:
    table = pd.read_csv(path, dtype=str)
    answers = allalike.read(table[["worker", "task", "label"]])
    known = table.dropna(subset=["gold"]).drop_duplicates("task")
    return read_gold(dict(zip(known["task"], known["gold"], strict=True)), answers)


def _read_arrays(path: Path) -> Answers:
    with np.load(path) as arrays:
        worker, task, label, gold = (np.asarray(arrays[name], np.int64) for name in "WTLg")
    table = pa.table({"worker": worker, "task": task, "label": label})
    answers = allalike.read(table, domain="categorical", columns={name: name for name in table.column_names})
    known = np.flatnonzero(gold >= 0)
    return read_gold(dict(zip(known.tolist(), gold[known].tolist(), strict=True)), replace(answers, frame="pandas"))


def blind(answers: Answers) -> Answers:
    """Return answers without their gold labels."""
    return replace(answers, gold_task=answers.gold_task[:0], gold_label=answers.gold_label[:0], gold=None)
