"""Public data sets, out of the folder that the tests have."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from allalike.answers import Answers
from crowd_data import load


def load_from(data: Path, name: str) -> Answers:
    """Read a data set with its gold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALLALIKE_DATA", str(data))
        return load(name).answers


def blind(answers: Answers) -> Answers:
    """Return answers of which no truth is known."""
    return replace(answers, gold_task=answers.gold_task[:0], gold_label=answers.gold_label[:0], gold=None)


def drawn_hits(answers: Answers, table: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return, for each task with gold, how probably it is drawn among the best classes."""
    table = table.astype(float)
    best = table >= table.max(axis=1, keepdims=True) * (1 - 1e-9)
    known = np.minimum(answers.gold_label, table.shape[1] - 1).astype(int)
    found: npt.NDArray[np.float64] = (best / best.sum(axis=1, keepdims=True))[answers.gold_task, known]
    return np.where(answers.gold_label < table.shape[1], found, 0.0)


def load_entailment(data: Path) -> pd.DataFrame:
    """Read the answers about entailment as a table, as other libraries take them."""
    frame = pd.read_csv(data / "snow_rte" / "rte.standardized.tsv", sep="\t")
    names = {"!amt_worker_ids": "worker", "orig_id": "task", "response": "label"}
    return frame.rename(columns=names)[list(names.values())]
