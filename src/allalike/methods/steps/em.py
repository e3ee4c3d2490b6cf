"""EM: how probable each class of a task is and how well each worker answers, in turn.

Dempster, Laird, Rubin: Maximum Likelihood from Incomplete Data via the EM Algorithm. JRSS B 39, 1977. The truths are
what is missing. The **E step** finds, for the parameters theta of the workers, the posterior of each class c of task j,

    T_jc = P[truth of j is c | answers to j, theta],

and the **M step** the parameters that are most likely if T_jc were the share of task j that belongs to class c.

Posteriors are never kept. The E step runs where a block is: it finds the posteriors of the block's tasks again from the
parameters, and returns sums per worker, such as how often she probably was right. The M step sees nothing else.

A likelihood is a product over all answers to a task, and with some hundreds of them it is below the smallest number
there is. So kernels are given logarithms, add them up, and subtract the largest of a task before they exponentiate:
the posterior of the best class is then never lost, however many answers there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allalike.methods.base import DecisionRule, Weighing
from allalike.methods.steps.peers import Peers
from allalike.methods.steps.rounds import repeat
from allalike.methods.steps.weights import normalise

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Block, Floats
    from allalike._core.blocks.problems import Problems
    from allalike._core.blocks.ties import Ties
    from allalike.engines import Run

__all__ = ["AnswerModel", "maximise_likelihood"]


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
