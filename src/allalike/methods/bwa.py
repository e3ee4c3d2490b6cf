"""BWA: Bayesian weighted averages of votes, in which a worker's weight is a precision.

In Li et al. (2019), an indicator y_ijc (0 or 1) shows whether worker i answered c to task j. It is normally distributed
around a true value z_jc with the worker's precision; z_jc is normally distributed around the mean of its class.
Precisions have a Gamma prior. Worker i gave N_i answers, all workers gave N answers, and there are k classes. Starting
with the shares of the votes as z, BWA alternates, for each class, between

    b_c = a 4 (1 - 1/k) sum_ij z_jc (1 - z_jc) / N,                     (from the first z only)
    mu_c = mean of z_jc over all tasks,
    v_ic = (a + N_i) / (b_c + sum_j (z_jc - y_ijc)^2),
    z_jc = (lambda mu_c + sum_i v_ic y_ijc) / (lambda + sum_i v_ic),

It needs few rounds, and one number per worker and class. It was designed for large datasets with many answers per task,
and works on them. It fails if workers err in more than half of their answers, because weights are never negative, or if
they confuse classes systematically.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from allalike._core.blocks.block import Block, Floats
from allalike._core.options import number, whole
from allalike.engines import Run
from allalike.methods.dawid_skene import ClassMethod, check_memory
from allalike.methods.fit import Fit
from allalike.methods.proximity import Peers, repeat
from allalike.methods.steps.vote_matrix import PosteriorModel, sum_tasks

_LEAST_VARIANCE = 1e-12  # for workers without errors in a unanimous crowd


@dataclass(frozen=True, kw_only=True)
class BWA(ClassMethod):
    """Bayesian weighted averages of votes, class by class.

    Error rates are expected shares of wrong answers. `Result.probabilities` contains the averages z, normalised to sum
    to 1, and the confidence of a label is its normalised average.

    Parameters
    ----------
    a_v
        Number of pseudo-answers per worker, a in the formulas; their variance is that of the votes.
    lambda_
        Weight of the mean of a class relative to one answer.
    max_iter, tol
        Maximum number of rounds, and relative change of variances and means below which they end.

    >>> import allalike
    >>> answers = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in answers.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=BWA())
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyz', [0.25, 0.25, 0.3, 0.63])
    """

    name: ClassVar[str] = "BWA"
    summary: ClassVar[str] = "Bayesian weighted averages of votes: the weight is a precision, class by class"
    a_v: float = number(15.0, least=0.001)
    lambda_: float = number(1.0, least=0)
    max_iter: int = whole(500, least=1)
    tol: float = number(1e-5, least=0)

    def fit(self, run: Run) -> Fit:
        """Compute averages and precisions, round by round."""
        k, n, peers = run.encoding.n_labels, len(run.workers), Peers(run)
        check_memory(self.name, run, k)
        # With equal precisions and no prior, the first averages are the shares of the votes.
        start = np.concatenate([np.ones((n, k)), np.zeros((n, k))], axis=1)
        first, model = run.sum(_Averages(k, 0.0).measure, start), _Averages(k, self.lambda_)
        tasks, answers = first["tasks"].sum(), first["answers"][:, None]
        # b_c = a 4 (1 - 1/k) sum_ij z_jc (1 - z_jc) / N
        doubt = first["doubt"].sum(axis=0) / answers.sum()
        beside = self.a_v * 4 * (1 - 1 / k) * doubt

        def step(state: Floats) -> tuple[Floats, Floats]:
            sums = first if state is start else run.sum(model.measure, state)
            mean = np.broadcast_to(sums["shares"].sum(axis=0) / tasks, (n, k))  # mu_c
            variance = (beside + sums["squares"]) / (self.a_v + answers)  # 1 / v_ic
            return np.concatenate([variance, mean], axis=1), 1.0 - sums["right"] / first["answers"]

        rounds = repeat(run, step, start, max_iter=self.max_iter, tol=self.tol)
        return self.fit_errors(peers, rounds, model, rounds.state)


@dataclass(frozen=True)
class _Averages(PosteriorModel):
    """Averages z for k classes, with the weight of the mean of a class; a state contains 1 / v_ic and mu_c."""

    k: int
    prior: float

    def average(self, block: Block, state: Floats) -> Floats:
        """Return z_jc = (lambda mu_c + sum_i v_ic y_ijc) / (lambda + sum_i v_ic), with one row per task."""
        precision = 1.0 / np.maximum(state[:, : self.k], _LEAST_VARIANCE)
        mean = self.prior * state[:1, self.k :]
        table = np.empty((block.n_tasks, self.k))
        for c in range(self.k):
            of_answer = precision[:, c].take(block.worker)
            votes = block.per_task(np.where(block.label == c, of_answer, 0.0))
            table[:, c] = (mean[:, c] + votes) / (self.prior + block.per_task(of_answer))
        return table

    def measure(self, block: Block, state: Floats) -> dict[str, Floats]:
        """Add up squared distances to the averages by worker and class, and sums over tasks."""
        table = self.average(block, state)
        likely = _shares(table)[block.task, block.label]
        residuals = [np.square(block.to_answers(table[:, c]) - (block.label == c)) for c in range(self.k)]
        return {
            "squares": np.stack([block.per_worker(squares) for squares in residuals], axis=1),
            "right": block.per_worker(likely),
            "answers": block.per_worker(np.ones(len(block.label))),
            "shares": sum_tasks(block, table),
            "doubt": sum_tasks(block, block.sizes[:, None] * table * (1 - table)),
            "tasks": sum_tasks(block, np.ones(block.n_tasks)),
        }

    def find_posterior(self, block: Block, *parameters: Floats) -> Floats:
        """Return normalised averages, with one row per task and one column per class."""
        return _shares(self.average(block, *parameters))


def _shares(table: Floats) -> Floats:
    shares: Floats = table / table.sum(axis=1, keepdims=True)
    return shares
