"""Outlines: what is kept of a reading to compare it with the one that was chosen.

Two readings fit as well as each other if the sum of the log likelihoods of the tasks under one, less those under the
other, is within two of its standard errors of 0 (Vuong: Likelihood Ratio Tests for Model Selection and Non-Nested
Hypotheses. Econometrica 57, 1989). If they decide many tasks differently, agreement cannot tell which of them is true.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike.methods.auto.classes.states import classes_of, posterior

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.columns.values import Values
    from allalike.engines import Run
    from allalike.methods.auto.classes.hypotheses import Reading

__all__ = ["Outline", "clearly_better", "outline", "second_reading"]

_MIN_DIFFERENT = 0.2  # of the tasks, which two readings decide differently
_MIN_PLAIN = 0.5  # of the tasks, which any reading worth mentioning decides as a vote does
_STANDARD_ERRORS = 2.0
_LEADERS = 3


@dataclass(frozen=True)
class Outline:
    """A reading in outline.

    Parameters
    ----------
    start
        The name of its start.
    label, likelihood
        Of each task: the class that it decides for, and the log likelihood of the answers.
    hits
        Of each worker: how many of her answers are right under it.
    """

    start: str
    label: Array
    likelihood: Floats
    hits: Floats


def outline(run: Run, reading: Reading, k: int) -> Outline:
    """Return the outline of a reading of one problem."""
    found = run.collect(partial(_decide_tasks, k=k), reading.rows, reading.shares)
    return Outline(str(reading.start[0]), found["label"], found["likelihood"], reading.hits)


def second_reading(
    chosen: Outline, others: list[Outline], plain: Array, answers: Floats, workers: Values
) -> dict[str, Any] | None:
    """Describe the best other reading that fits as well and decides many tasks differently, if there is any."""
    rivals = [other for other in others if _rivals(chosen, other, plain)]
    if not rivals:
        return None
    second = max(rivals, key=lambda other: float(other.likelihood.sum()))
    differs = second.label != chosen.label
    return {
        "start": second.start,
        "tasks": int(differs.sum()),
        "share": float(differs.mean()),
        "nats": float((chosen.likelihood - second.likelihood).sum()),
        "leaders": _leaders(chosen, answers, workers),
        "its_leaders": _leaders(second, answers, workers),
    }


def clearly_better(one: Outline, other: Outline, standard_errors: float) -> bool:
    """Tell whether one reading is more likely than another by more than so many standard errors of the difference."""
    lead = one.likelihood - other.likelihood
    return bool(lead.sum() > standard_errors * np.sqrt(len(lead)) * lead.std())


def _rivals(chosen: Outline, other: Outline, plain: Array) -> bool:
    different = float((other.label != chosen.label).mean())
    like_votes = float((other.label == plain).mean())
    return (
        different > _MIN_DIFFERENT and like_votes >= _MIN_PLAIN and not clearly_better(chosen, other, _STANDARD_ERRORS)
    )


def _leaders(reading: Outline, answers: Floats, workers: Values) -> list[Any]:
    """Name the workers who are right most often, of those who gave as many answers as half of the workers did."""
    share = np.where(answers >= np.median(answers), reading.hits / np.maximum(answers, 1.0), 0.0)
    return [workers[int(place)] for place in np.argsort(-share, kind="stable")[:_LEADERS]]


def _decide_tasks(block: Block, rows: Floats, shares: Floats, *, k: int) -> dict[str, Array]:
    states, likelihood = posterior(block, rows, shares, k=k)
    return {"label": classes_of(states, k).argmax(axis=1).astype(np.int32), "likelihood": likelihood}
