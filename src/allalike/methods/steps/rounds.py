"""Rounds: repeat a step until what it says about the workers no longer changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allalike.methods.base import DecisionRule, Rounds, Weighing

if TYPE_CHECKING:
    from collections.abc import Callable

    from allalike._core.blocks.block import Array, Floats
    from allalike._core.blocks.problems import Problems
    from allalike.engines import Run
    from allalike.methods.steps.peers import Peers

__all__ = ["LastRound", "repeat"]


@dataclass(frozen=True)
class LastRound:
    """The last state of the workers, the faults behind it, and how many rounds it took."""

    state: Floats
    fault: Floats
    rounds: Rounds

    def weighing(
        self,
        peers: Peers,
        *,
        fault: Floats | None = None,
        weight: Floats | None = None,
        decision: DecisionRule | None = None,
    ) -> Weighing:
        """Return what the rounds found; the state is the weights, unless others are given."""
        return Weighing(
            disparity=peers.unweighted.mean,
            fault=self.fault if fault is None else fault,
            weight=self.state if weight is None else weight,
            rounds=self.rounds,
            decision=decision or DecisionRule(),
        )


def repeat(
    run: Run, step: Callable[[Floats], tuple[Floats, Floats]], start: Floats, *, max_iter: int, tol: float
) -> LastRound:
    """Repeat ``state, fault = step(state)``; a state has one row per worker.

    A problem has converged when the norm of its state's change is below ``tol``, relative to the norm of the state;
    from then on it is left as it is, so that it ends the same whether or not others are solved with it.
    """
    problems = run.problems
    state, fault = start, np.full(problems.n_workers, np.nan)
    converged = np.zeros(problems.n_workers, np.bool_)
    for iterations in run.rounds(max_iter):
        new, new_fault = step(state)
        fault = np.where(converged, fault, new_fault)
        old, state = state, np.where(_per_row(converged, state), state, new)
        converged = converged | (_change(old, state, problems) < tol)
        if converged.all():
            return LastRound(state, fault, Rounds(iterations))
    return LastRound(state, fault, Rounds(max_iter, converged=False))


def _per_row(flags: Array, state: Floats) -> Array:
    return flags.reshape(-1, *[1] * (state.ndim - 1))


def _change(old: Floats, new: Floats, problems: Problems) -> Floats:
    def squared(values: Floats) -> Floats:
        return problems.total(np.square(values).reshape(len(values), -1).sum(axis=1))

    size = squared(new)
    change: Floats = np.sqrt(squared(new - old) / np.where(size > 0, size, 1.0))
    return change
