"""Forecasts of Mandal, Radanovic and Parkes (2020): the probability of an event within a month.

Workers could revise a forecast every day. The answers of a day are the last forecasts until the end of that day.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from allalike._core.columns.hashes import hash_bytes
from allalike.domains import Categorical, Real
from allalike.readers import read
from crowd_data.base import Parsed, Parser
from crowd_data.originals import typed_table

if TYPE_CHECKING:
    from pathlib import Path

_SOURCE = "predict_mandal2020"
_FIRST_DAY = 1539026143329  # its end (8 October 2018), in milliseconds


def _forecasts(folder: Path, *, treatment: int) -> Parsed:
    """Read the probabilities unchanged."""
    answers = read(_latest(folder, treatment), domain=Real())
    return Parsed(answers, {task: float(happened) for task, happened in _outcomes(folder).items()})


def _guesses(folder: Path, *, treatment: int) -> Parsed:
    """Read 1 (yes) above one half and 0 (no) below; one half is decided by a hash of worker and task."""
    forecasts = _latest(folder, treatment)
    rows = [(worker, task, _side(worker, task, forecast)) for worker, task, forecast in forecasts]
    halves = sum(forecast == 0.5 for _, _, forecast in forecasts)
    note = (
        "The paper's first day is read as each worker's last forecast until the end of 8 October, and its classes as"
        f" above or below 1/2. {halves} of {len(rows):,} say exactly 1/2: these are drawn by a fixed hash."
    )
    return Parsed(read(rows, domain=Categorical(classes=2)), _outcomes(folder), note)


def _latest(folder: Path, treatment: int) -> list[tuple[str, int, float]]:
    """Return (worker, task, forecast) of a treatment; workers who changed it belong to their last one."""
    names = ("workerId", "taskID", "treatment", "forecast", "timestamp")
    table = typed_table(folder / "answers-oct13.csv", *names).sort_by("timestamp")
    last = {
        (worker, task): (group, forecast)
        for worker, task, group, forecast, time in zip(*(table[name].to_pylist() for name in names), strict=True)
        if time <= _FIRST_DAY
    }
    return [(worker, task, forecast) for (worker, task), (group, forecast) in last.items() if group == treatment]


def _side(worker: str, task: int, forecast: float) -> int:
    return hash_bytes(f"{worker}/{task}".encode()) % 2 if forecast == 0.5 else int(forecast > 0.5)


def _outcomes(folder: Path) -> dict[int, int]:
    """Return the outcomes: the Brier score of a forecast is 2 (forecast - outcome)^2, below 1/2 if it was right."""
    names = ("taskID", "forecast", "BrierScore")
    table = typed_table(folder / "ppscore13.csv", *names)
    rows = zip(*(table[name].to_pylist() for name in names), strict=True)
    happened = {task: int((forecast > 0.5) == (score < 0.5)) for task, forecast, score in rows if forecast != 0.5}
    return dict(sorted(happened.items()))


def _treatment(number: int, paid: str) -> tuple[Parser, Parser]:
    guesses, forecasts = partial(_guesses, treatment=number), partial(_forecasts, treatment=number)
    return (
        Parser(f"Pred.T{number}", _SOURCE, f"whether something will happen; paid by {paid}", guesses),
        Parser(f"{_SOURCE}/T{number}", _SOURCE, f"how probable something is; paid by {paid}", forecasts),
    )


FORECASTS = (
    *_treatment(1, "a scoring rule"),
    *_treatment(2, "peer prediction"),
    *_treatment(3, "a scoring rule and ranks of peer prediction"),
    *_treatment(4, "a scoring rule and peer prediction"),
)
