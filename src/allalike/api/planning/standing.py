"""Standing: how sure each truth is now, how often workers err, and whom one may ask, as a result knows it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.values import Values
from allalike.api.planning.assigning import Offers
from allalike.api.planning.stakes import ClassStakes, SquareStakes, keep_likeliest
from allalike.errors import OptionError, UnsupportedError
from allalike.methods.auto.sureness.intervals import NORMAL_QUANTILE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allalike._core.blocks.block import Floats
    from allalike.api.planning.stakes import Stakes
    from allalike.engines import Piece, Run, TaskTable
    from allalike.methods import Weighing

__all__ = ["ANYONE", "Standing", "find_offers", "find_standing"]

ANYONE = "anyone"  # who has not answered yet
_LIMITS = ("expected", "low", "high")


@dataclass(frozen=True)
class Standing:
    """How sure truths are, and how often workers err.

    Parameters
    ----------
    tasks
        The tasks whose truths are not known.
    state
        Of each task: the probabilities of the likeliest classes, or the variance of its truth.
    rates
        Of each worker: her error rate, or the variance of her answers.
    make
        What makes stakes of states.
    again
        On what share of the tasks another crowd would decide the same, as it is expected and at least, and the number
        of classes. Nothing where that is not known.
    truths
        How many known truths tell how sure the others are; none, if the crowd does it itself.
    """

    tasks: Values
    state: Floats
    rates: Floats
    make: Callable[[Floats], Stakes]
    again: tuple[float, float, int] | None = None
    truths: int = 0

    @property
    def measure(self) -> str:
        """What errors are: shares of wrong truths, or roots of mean squares."""
        return "rmse" if self.state.ndim == 1 else "error_rate"

    def tell(self, error: float) -> dict[str, float]:
        """Return an expected error, which is a mean over tasks, as people read it, with its limits."""
        n = max(len(self.tasks), 1)
        if self.measure == "rmse":
            width = NORMAL_QUANTILE * np.sqrt(2 / n)
            shares = (1.0, max(1 - width, 0.0), 1 + width)
            return dict(zip(_LIMITS, (float(np.sqrt(error * share)) for share in shares), strict=True))
        low = high = error
        if self.again is not None:
            expected, least, k = self.again
            beyond = (1 - 1 / k - error) / expected  # chance, if all were found again
            low, high = 1 - 1 / k - beyond, 1 - 1 / k - beyond * least
        low, high = (np.clip(each, 0.0, 1.0) for each in (low, high))
        chance = 1 / n + (1 / self.truths if self.truths else 0.0)
        spread = [NORMAL_QUANTILE * np.sqrt(each * (1 - each) * chance) for each in (low, high)]
        limits = float(max(low - spread[0], 0.0)), float(min(high + spread[1], 1.0))
        return dict(zip(_LIMITS, (float(error), *limits), strict=True))


def find_standing(
    run: Run, weighing: Weighing, found: TaskTable, posteriors: Callable[[], TaskTable] | None
) -> Standing:
    """Find how sure the truths are that are not known, for labels that tell it.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "y"), ("ada", 2, "x"), ("bob", 2, "x")])
    >>> sure = find_standing(result.run, result.weighing, result.found, result.posteriors)
    >>> sure.measure, sure.tasks.tolist(), sure.state.shape
    ('error_rate', [1, 2], (2, 2))
    """
    faults, skill, encoding = weighing.insight.faults, weighing.skill, run.encoding
    if run.worker_task is not None:
        raise UnsupportedError("Every task is a problem of its own here, so that nobody is known beyond her task.")
    if posteriors is not None and skill.error_rate is not None:
        tables = (piece.found["probability"] for piece in posteriors().pieces())
        tasks, state = _collect(found, (lambda _: keep_likeliest(next(tables))))
        return Standing(
            tasks, state, skill.error_rate, partial(ClassStakes, k=encoding.n_labels), **_doubt(weighing, run)
        )
    if faults is not None and encoding.nominal and weighing.insight.confidence is not None:
        tasks, state = _collect(
            found, lambda piece: np.column_stack([piece.found["confidence"], piece.found["second"]])
        )
        rates = faults.best(weighing.fault)
        return Standing(tasks, state, rates, partial(ClassStakes, k=encoding.n_labels), **_doubt(weighing, run))
    if faults is not None and faults.unit == "rmse" and found.count("error"):
        tasks, state = _collect(found, _vary)
        return Standing(tasks, state, faults.shrunk if faults.variance is None else faults.variance, SquareStakes)
    raise UnsupportedError(
        f"It is not known how sure these truths are, so that nobody can say what an answer brings. The labels are"
        f" {run.domain.name}; it is known of classes, and of numbers, dates, vectors and places, with the method auto."
        " The table of the next tasks, next.csv, lists those with the least support."
    )


def _collect(found: TaskTable, tell: Callable[[Piece], Floats]) -> tuple[Values, Floats]:
    """Return the tasks whose truths are not known, and what is told of them."""
    tasks, states = [], []
    for piece in found.pieces():
        state = tell(piece)
        unknown = np.isnan(piece.found.get("gold", np.full(len(state), np.nan)))
        rows = np.flatnonzero(unknown & np.isfinite(state.reshape(len(state), -1)).all(axis=1))
        tasks.append(piece.tasks.take(rows))
        states.append(state[rows])
    return Values.join(tasks), np.concatenate(states)


def _vary(piece: Piece) -> Floats:
    """Return the variances of truths, from their limits or their errors."""
    if "low" in piece.found:
        return np.asarray(np.square((piece.found["high"] - piece.found["low"]) / (2 * NORMAL_QUANTILE)))
    return np.asarray(np.square(piece.found["error"]))


def _doubt(weighing: Weighing, run: Run) -> dict[str, Any]:
    """Say how far the sureness of classes can be trusted, by known truths or by the crowd itself."""
    told = weighing.insight.confidence or {}
    if told.get("told_by") == "gold":
        return {"truths": run.n_gold}
    if "found_again" not in told:
        return {}
    return {"again": (told["found_again"], told.get("by_less", told["found_again"]), run.encoding.n_labels)}


def find_offers(run: Run, weighing: Weighing, rates: Floats, prices: Mapping[str, float] | None) -> Offers:
    """Return whom one may ask: workers with a price, or all, and a new one who is like the typical one.

    Nobody is asked whose answers say nothing about the tasks.
    """
    insight, n = weighing.insight, len(run.workers)
    known = np.isfinite(rates)
    if not known.any():
        raise UnsupportedError("No task was answered twice, so that nobody knows how often workers err. Ask anyone.")
    usual = float(np.average(rates[known], weights=run.answer_counts[known]))
    names = [*map(str, run.workers.tolist()), ANYONE]
    given = dict.fromkeys(names, 1.0) if prices is None else prices
    if strangers := [name for name in given if name not in set(names)]:
        raise OptionError(
            f"There is a price of {strangers[0]!r}, who has not answered yet. Name workers as the answers do, or"
            f" {ANYONE!r} for somebody new."
        )
    price = np.array([given.get(name, np.inf) for name in names])
    if insight.signal is not None:
        price[:n][insight.signal.empty] = np.inf
    if not np.isfinite(price).any():
        raise OptionError("Nobody is left to be asked: those who have a price say nothing about the tasks.")
    if not price.min() > 0:
        raise OptionError(f"The price of {names[int(price.argmin())]!r} is 0. What costs nothing needs no plan.")
    group = np.arange(n) if insight.groups is None else insight.groups.number
    return Offers(np.append(np.where(known, rates, usual), usual), price, np.append(group, -1), np.full(n + 1, np.inf))
