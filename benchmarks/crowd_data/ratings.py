"""Truthfulness of statements about COVID-19 on six levels, by Roitero et al. (2020)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike.domains import Ordinal
from allalike.readers import read
from crowd_data.base import Parsed, Parser
from crowd_data.originals import read_columns

if TYPE_CHECKING:
    from pathlib import Path

_COVID = "ordinal_covid_truthfulness"
_CHECKS = ("HIGH", "LOW")
_LEVELS = (0, 1, 2, 3, 4, 5)  # of PolitiFact: pants on fire, false, mostly false, half true, mostly true, true
_CHECKS_NOTE = (
    "The statements HIGH and LOW, which all workers judged as a check of attention, count as answers; their truths are"
    " left out of the gold."
)


def _statements(folder: Path) -> Parsed:
    """Read the levels as numbers from 0 (pants on fire) to 5 (true), with PolitiFact's rating as gold."""
    names = ("unit_id", "doc_name", "doc_truthfulness_value", "doc_ground_truth_value")
    workers, tasks, labels, truths = read_columns(folder / "CIKM2020" / "S6.csv", *names)
    levels, known = ([int(float(value)) for value in column] for column in (labels, truths))
    answers = read(list(zip(workers, tasks, levels, strict=True)), domain=Ordinal(levels=_LEVELS))
    gold = {task: truth for task, truth in zip(tasks, known, strict=True) if task not in _CHECKS}
    return Parsed(answers, gold, _CHECKS_NOTE)


RATINGS = (Parser(_COVID, _COVID, "how true statements about COVID-19 are, of six levels", _statements),)
