"""Rounds: repeat a step until what it says about the workers no longer changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.columns.hashes import mix
from allalike.methods.base import DecisionRule, Rounds, Weighing
from allalike.methods.steps.peers import Peers
from allalike.methods.steps.weights import normalise

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Block, Floats, Ties
    from allalike._core.blocks.problems import Problems
    from allalike.engines import Run


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


# EM: how probable each class of a task is and how well each worker answers, in turn.
#
# Dempster, Laird, Rubin: Maximum Likelihood from Incomplete Data via the EM Algorithm. JRSS B 39, 1977. The truths
# are what is missing. The **E step** finds, for the parameters theta of the workers, the posterior of each class c of
# task j,
#
#     T_jc = P[truth of j is c | answers to j, theta],
#
# and the **M step** the parameters that are most likely if T_jc were the share of task j that belongs to class c.
#
# Posteriors are never kept. The E step runs where a block is: it finds the posteriors of the block's tasks again from
# the parameters, and returns sums per worker, such as how often she probably was right. The M step sees nothing else.
#
# A likelihood is a product over all answers to a task, and with some hundreds of them it is below the smallest number
# there is. So kernels are given logarithms, add them up, and subtract the largest of a task before they exponentiate:
# the posterior of the best class is then never lost, however many answers there are.


class AnswerModel(ABC):
    """A model of how workers answer, whose parameters have one row per worker."""

    @abstractmethod
    def start(self, n_workers: int) -> Floats:
        """Return what the parameters of the first M step are compared with."""

    @abstractmethod
    def first_e_step(self, block: Block) -> dict[str, Floats]:
        """Add up what the M step needs, per worker, from votes: no parameters are known yet."""

    @abstractmethod
    def e_step(self, block: Block, logs: Floats) -> dict[str, Floats]:
        """Add up what the M step needs, per worker, from the posteriors of the block's tasks."""

    @abstractmethod
    def m_step(self, sums: dict[str, Floats], problems: Problems) -> tuple[Floats, Floats]:
        """Return the parameters that are most likely given the sums of all tasks, and each worker's fault."""

    @abstractmethod
    def decide(self, block: Block, weights: Floats, faults: Floats, logs: Floats, *, ties: Ties) -> dict[str, Array]:
        """Take the most probable class of each task."""

    @abstractmethod
    def probabilities(self, block: Block, weights: Floats, faults: Floats, logs: Floats) -> dict[str, Array]:
        """Return the posteriors, with a row per task and a column per class."""

    def prepare(self, run: Run) -> Run:
        """Return a run over blocks that know what every round needs."""
        return run

    def logs(self, parameters: Floats) -> Floats:
        """Return the parameters as kernels need them; here they are logarithms already."""
        return parameters

    def believe(self, parameters: Floats, alone: Array) -> Floats:
        """Return the parameters with which tasks are decided; ``alone`` tells who has no peers."""
        return parameters


def maximise_likelihood(run: Run, model: AnswerModel, *, max_iter: int, tol: float) -> Weighing:
    """Alternate between E steps and M steps until the parameters no longer change."""
    problems, peers, prepared = run.problems, Peers(run), model.prepare(run)
    start = model.start(problems.n_workers)

    def step(parameters: Floats) -> tuple[Floats, Floats]:
        first = parameters is start
        sums = prepared.sum(model.first_e_step) if first else prepared.sum(model.e_step, model.logs(parameters))
        return model.m_step(sums, problems)

    rounds = repeat(run, step, start, max_iter=max_iter, tol=tol)
    fault = np.maximum(peers.comparable(rounds.fault), 0.0)
    return rounds.weighing(
        peers,
        fault=fault,
        weight=normalise(run.encoding.noise.weight(fault, problems), problems),
        decision=DecisionRule(
            partial(model.decide, ties=run.ties),
            (model.logs(model.believe(rounds.state, peers.unweighted.weight <= 0)),),
            model.probabilities,
        ),
    )


# Draws that depend on nothing but ids and seeds: the same on every engine, for every order of rows.


_HASH_STEPS = 2.0**53  # different numbers between 0 and 1 that are made of a hash


def draw_evenly(ids: npt.NDArray[np.uint64], seed: tuple[int, int], size: int) -> Floats:
    """Draw so many numbers between 0 and 1 for each hash of an id, by the seed and the number of the start.

    >>> draw_evenly(np.array([5, 6], np.uint64), (0, 1), 3).round(2).tolist()
    [[0.28, 0.0, 0.63], [0.93, 0.63, 0.0]]
    """
    salt = mix(np.array([seed[0] % (1 << 64)], np.uint64))
    cells = mix(np.arange(size, dtype=np.uint64) + np.uint64(1 + seed[1] * size))
    bits = mix(mix(ids ^ salt)[:, None] ^ cells) >> np.uint64(11)
    return np.asarray((bits + 0.5) / _HASH_STEPS, np.float64)


def draw_subtypes(task_hash: npt.NDArray[np.uint64], seed: tuple[int, int], shape: tuple[int, int]) -> Floats:
    """Draw from Dirichlet(1, ..., 1), for each task and class, by hashes of the task, the seed and the start.

    >>> draw_subtypes(np.array([5, 6], np.uint64), (0, 1), (1, 3)).round(2).tolist()
    [[[0.03, 0.96, 0.01]], [[0.0, 0.01, 0.99]]]
    """
    drawn = -np.log(draw_evenly(task_hash, seed, shape[0] * shape[1])).reshape(-1, *shape)
    shares: Floats = drawn / drawn.sum(axis=2, keepdims=True)
    return shares
