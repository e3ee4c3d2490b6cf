"""Outlines: what is kept of a hypothesis to compare it with the one that was chosen.

Two hypotheses fit as well as each other if the sum of the log likelihoods of the tasks under one, less those under the
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
    from allalike.methods.auto.classes.hypotheses import Hypothesis

__all__ = ["Outline", "clearly_better", "outline", "second_hypothesis"]

_MIN_DIFFERENT = 0.2  # of the tasks, which two hypotheses decide differently
_MIN_PLAIN = 0.5  # of the tasks, which any hypothesis worth mentioning decides as a vote does
_STANDARD_ERRORS = 2.0
_LEADERS = 3


@dataclass(frozen=True)
class Outline:
    """A hypothesis in outline.

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


def outline(run: Run, hypothesis: Hypothesis, k: int) -> Outline:
    """Return the outline of a hypothesis about one problem."""
    found = run.collect(partial(_decide_tasks, k=k), hypothesis.rows, hypothesis.shares)
    return Outline(str(hypothesis.start[0]), found["label"], found["likelihood"], hypothesis.hits)


def second_hypothesis(
    chosen: Outline, others: list[Outline], plain: Array, answers: Floats, workers: Values
) -> dict[str, Any] | None:
    """Describe the best other hypothesis that fits as well and decides many tasks differently, if there is any."""
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
    """Tell whether one hypothesis is more likely than another by more than so many standard errors."""
    lead = one.likelihood - other.likelihood
    return bool(lead.sum() > standard_errors * np.sqrt(len(lead)) * lead.std())


def _rivals(chosen: Outline, other: Outline, plain: Array) -> bool:
    different = float((other.label != chosen.label).mean())
    like_votes = float((other.label == plain).mean())
    return (
        different > _MIN_DIFFERENT and like_votes >= _MIN_PLAIN and not clearly_better(chosen, other, _STANDARD_ERRORS)
    )


def _leaders(hypothesis: Outline, answers: Floats, workers: Values) -> list[Any]:
    """Name the workers who are right most often, of those who gave as many answers as half of the workers did."""
    share = np.where(answers >= np.median(answers), hypothesis.hits / np.maximum(answers, 1.0), 0.0)
    return [workers[int(place)] for place in np.argsort(-share, kind="stable")[:_LEADERS]]


def _decide_tasks(block: Block, rows: Floats, shares: Floats, *, k: int) -> dict[str, Array]:
    states, likelihood = posterior(block, rows, shares, k=k)
    return {"label": classes_of(states, k).argmax(axis=1).astype(np.int32), "likelihood": likelihood}
