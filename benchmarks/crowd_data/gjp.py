"""Forecasts of the first year of the Good Judgment Project: the probability of each answer to a question.

Forecasters could revise a forecast; the last one counts. A question has two or three options, and a row of the file is
the probability of one option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike.domains import Probability
from allalike.readers import read
from crowd_data.base import Parsed, Parser
from crowd_data.originals import read_columns

if TYPE_CHECKING:
    from pathlib import Path

_NOTE = (
    "The file is the beginning of a longer one, and ends amid a forecast, which is left out. Forecasts of users who are"
    " not known are those of one worker, NULL."
)


def _forecasts(folder: Path) -> Parsed:
    """Read the last forecast of each user on each question."""
    names = ("timestamp", "user_id", "ifp_id", "forecast_id", "answer_option", "value")
    columns = read_columns(folder / "data/gjp/survey_fcasts_mini.yr1.csv", *names)
    given: dict[tuple[str, str, str], dict[str, float]] = {}
    options: dict[str, set[str]] = {}
    for _, user, question, forecast, option, value in sorted(zip(*columns, strict=True)):
        given.setdefault((user, question, forecast), {})[option] = float(value)
        options.setdefault(question, set()).add(option)
    last = {
        (user, question): chances
        for (user, question, _), chances in given.items()
        if len(chances) == len(options[question])
    }
    questions, outcomes = read_columns(folder / "data/gjp/ifps.csv", "ifp_id", "outcome")
    happened = dict(zip(questions, outcomes, strict=True))
    gold = {task: {option: float(option == happened[task]) for option in sorted(options[task])} for task in options}
    rows = [(user, question, chances) for (user, question), chances in last.items()]
    return Parsed(read(rows, domain=Probability()), gold, _NOTE)


GJP = (
    Parser(
        "probabilities_gjp_mini",
        "probabilities_gjp_mini",
        "how probable each answer to a question about the world is",
        _forecasts,
    ),
)
