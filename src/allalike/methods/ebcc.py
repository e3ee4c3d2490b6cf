"""EBCC: confusion matrices with subtypes of classes, which model correlated errors.

In Li et al. (2019), a class is a mixture of M subtypes, such as cats that look like dogs and other cats. A worker's
confusion matrix has one row per subtype. Given only the class, answers are correlated, as they are if some tasks are
hard for all workers. Let q_jcm be the probability that task j has class c and subtype m. Mean-field variational Bayes
alternates between

    nu_c = alpha_c + sum_jm q_jcm,    eta_cm = a_pi / M + sum_j q_jcm,
    mu^i_cml = (a_v if c = l else b_v) + sum_j q_jcm [x_ij = l],
    q_jcm ~ exp(E log tau_c + E log pi_cm + sum_i E log v^i_(c, m, x_ij)),

where each E log is psi(count) - psi(sum of counts). Subtypes depend on the starts: shares of the votes, split into
subtypes by samples from Dirichlet(1, ..., 1). Of ten starts (40 in the paper), the one with the largest evidence (ELBO)
is kept. As in the paper's experiments, alpha_c is the sum of the shares of the votes.

Samples depend only on the task id, the number of the start and the seed, so they are the same on every engine. Other
ids or seeds may lead to other solutions. EBCC works if hundreds of tasks have many answers each, and some tasks are
hard for all workers. It fails if the solution with the largest evidence is wrong. This happens with few tasks, where
several solutions differ by less than one nat. It is slow.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from allalike._core.blocks.block import Block, Floats
from allalike._core.options import number, whole
from allalike.engines import Run
from allalike.methods.dawid_skene import ClassMethod, check_memory, expected_logs
from allalike.methods.fit import Fit
from allalike.methods.proximity import LastRound, Peers
from allalike.methods.steps.vote_matrix import (
    PosteriorModel,
    add_up,
    cells_of,
    count,
    draw_subtypes,
    keep_cells,
    softmax,
    sum_tasks,
    vote_shares,
)

_LEAST = 1e-12  # replaces 0 in logarithms
_CELLS = 1 << 18  # posteriors that fit in the processor cache
_LEAST_VOTES = 1e-12  # for classes without votes
_SAME = 1e-6  # nats by which a later start must be better


@dataclass(frozen=True, kw_only=True)
class EBCC(ClassMethod):
    """Bayesian classifier combination with subtypes of classes, which model correlated errors.

    Error rates are expected shares of wrong answers. `Result.probabilities` contains the posteriors, and the confidence
    of a label is its posterior. As in DS, workers without common tasks have accuracy 1 in the final labels.

    Parameters
    ----------
    subtypes
        Number of subtypes per class, M in the formulas.
    starts
        Number of random starts; all starts share each pass over the answers.
    alpha
        Pseudo-count of tasks per class. Default: sum of the shares of the votes.
    a_pi
        Pseudo-count of tasks per class, divided between its subtypes; a small value favours few large subtypes.
    a_v, b_v
        Pseudo-counts of a worker's answers per subtype: correct answers, and each wrong label.
    max_iter, tol
        Maximum number of rounds of a start, and relative change of the expected answers below which they end.

    >>> import allalike
    >>> answers = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(worker, task, label) for worker, labels in answers.items() for task, label in enumerate(labels)]
    >>> result = allalike.discover(rows, method=EBCC(starts=5))
    >>> "".join(result.truth["label"]), result.workers["mean_error"].round(2).tolist()
    ('xxyyz', [0.01, 0.01, 0.2, 0.8])
    """

    name: ClassVar[str] = "EBCC"
    summary: ClassVar[str] = "Bayesian classifier combination with subtypes of classes, which model correlated errors"
    subtypes: int = whole(10, least=1)
    starts: int = whole(10, least=1)
    alpha: float | None = number(None, least=0.001)
    a_pi: float = number(0.1, least=0.001)
    a_v: float = number(4.0, least=0.001)
    b_v: float = number(1.0, least=0.001)
    max_iter: int = whole(500, least=1)
    tol: float = number(1e-4, least=0)

    def fit(self, run: Run) -> Fit:
        """Compute the posteriors of confusion matrices from every start, and keep the best start."""
        k, peers = run.encoding.n_labels, Peers(run)
        check_memory(self.name, run, k, times=self.subtypes * self.starts)
        prepared = run.map(partial(keep_cells, k=k))
        sums = prepared.sum(partial(_begin, k=k, subtypes=self.subtypes, starts=self.starts, seed=run.ties.seed))
        counts, shares = sums["counts"], sums["shares"].sum(axis=0)
        model = _Model(self, shares[:1].sum(axis=2))
        converged, likelihood = np.zeros(self.starts, np.bool_), np.zeros(self.starts)
        for iterations in run.rounds(self.max_iter):
            live = np.flatnonzero(~converged)
            rows, logs = model.expected_logs(counts[:, :, live], shares[live])
            sums = prepared.sum(partial(_count, k=k), rows, _repeat(logs, run))
            likelihood[live] = sums["likelihood"].sum(axis=0)
            going = _change(counts[:, :, live], sums["counts"]) >= self.tol
            converged[live] = ~going
            if converged.all() or iterations == self.max_iter:
                break  # counts must belong to the last posteriors
            counts[:, :, live[going]] = sums["counts"][:, :, going]
            shares[live[going]] = sums["shares"].sum(axis=0)[going]
        evidence = likelihood + model.less_divergence(counts, shares)
        best = int(np.argmax(evidence >= evidence.max() - _SAME))
        counts = counts[:, :, best]
        rows, logs = model.expected_logs(counts[:, :, None], shares[best, None])
        rows[peers.unweighted.weight <= 0] = np.log(np.maximum(np.eye(k), _LEAST))[:, None, :, None]
        by_class = counts.sum(axis=3)
        wrong = 1.0 - np.trace(by_class, axis1=1, axis2=2) / by_class.sum(axis=(1, 2))
        rounds = LastRound(wrong, wrong, iterations, bool(converged.all()))
        return self.fit_errors(peers, rounds, model, rows, _repeat(logs, run))


@dataclass(frozen=True)
class _Model(PosteriorModel):
    """Priors; ``votes`` contains the sums of the shares of votes.

    Counts of tasks have the axes start, class and subtype. Counts of answers have the axes worker, label, start, class
    and subtype.
    """

    options: EBCC
    votes: Floats

    def find_posterior(self, block: Block, *parameters: Floats) -> Floats:
        """Return posteriors of classes, given the parameters of one start."""
        rows, logs = parameters
        states, _ = _posterior(block, rows, logs, self.votes.shape[1])
        return np.asarray(states[:, 0].sum(axis=2))

    def priors(self) -> tuple[Floats, float, Floats]:
        """Return the pseudo-counts of answers, of tasks by subtype, and of tasks by class."""
        own, k = self.options, self.votes.shape[1]
        answers = (own.b_v + (own.a_v - own.b_v) * np.eye(k))[:, None, :, None]
        voted = np.maximum(self.votes, _LEAST_VOTES)
        classes = voted if own.alpha is None else np.full_like(self.votes, own.alpha)
        return answers, own.a_pi / own.subtypes, classes

    def expected_logs(self, counts: Floats, shares: Floats) -> tuple[Floats, Floats]:
        """Return E log v, and E log tau + E log pi."""
        answers, subtype, classes = self.priors()
        rows = np.moveaxis(expected_logs(np.moveaxis(counts + answers, 1, -1)), -1, 1)
        return rows, expected_logs(classes + shares.sum(axis=2))[..., None] + expected_logs(subtype + shares)

    def less_divergence(self, counts: Floats, shares: Floats) -> Floats:
        """Return evidence minus likelihood: E log prior - E log posterior, up to a constant."""
        answers, subtype, classes = self.priors()
        by_class = _less_divergence(shares.sum(axis=2), classes)
        by_subtype = _less_divergence(shares, np.asarray(subtype)).sum(axis=1)
        by_answer = _less_divergence(np.moveaxis(counts, 1, -1), np.moveaxis(answers, 0, -1)).sum(axis=(2, 3))
        less: Floats = by_class + by_subtype + by_answer.sum(axis=0)
        return less


def _less_divergence(counts: Floats, prior: Floats) -> Floats:
    """Return log B(n) - sum_l counts_l E log p_l for p ~ Dirichlet(n), n = prior + counts, over the last axis."""
    from scipy.special import gammaln

    n = prior + counts
    less: Floats = (gammaln(n) - counts * expected_logs(n)).sum(axis=-1) - gammaln(n.sum(axis=-1))
    return less


def _change(old: Floats, new: Floats) -> Floats:
    """Return the relative change of each start's expected answers by class."""

    def squared(values: Floats) -> Floats:
        return np.asarray(np.square(values.sum(axis=4)).sum(axis=(0, 1, 3)))

    change: Floats = np.sqrt(squared(new - old) / squared(new))
    return change


def _repeat(logs: Floats, run: Run) -> Floats:
    """Repeat parameters of the whole run for each worker, as kernels expect them."""
    return np.broadcast_to(logs, (len(run.workers), *logs.shape))


def _begin(block: Block, *, k: int, subtypes: int, starts: int, seed: int) -> dict[str, Floats]:
    """Count with shares of the votes, randomly split into subtypes."""
    votes, shape = vote_shares(block, np.ones(block.n_workers), k=k)[:, :, None], (k, subtypes)
    drawn = (votes * draw_subtypes(block.task_hash, (seed, start), shape) for start in range(starts))
    return _join([_add_up(block, states[:, None], np.zeros((block.n_tasks, 1)), k) for states in drawn])


def _count(block: Block, rows: Floats, logs: Floats, *, k: int) -> dict[str, Floats]:
    """Count with the posteriors of each start, and add up log likelihoods, a few starts at a time."""
    step = max(_CELLS // (block.n_tasks * logs[0, 0].size), 1)
    parts = [slice(first, first + step) for first in range(0, logs.shape[1], step)]
    return _join([_add_up(block, *_posterior(block, rows[:, :, part], logs[:, part], k), k) for part in parts])


def _add_up(block: Block, states: Floats, likelihood: Floats, k: int) -> dict[str, Floats]:
    """Return sums over states, which have the axes task, start, class and subtype."""
    flat, n = states.reshape(block.n_tasks, -1), block.n_workers
    counts = count(cells_of(block, k), flat).reshape(n, k, *states.shape[1:])
    shares = sum_tasks(block, flat).reshape(n, *states.shape[1:])
    return {"counts": counts, "shares": shares, "likelihood": sum_tasks(block, likelihood)}


def _join(parts: list[dict[str, Floats]]) -> dict[str, Floats]:
    """Concatenate the sums of several starts."""
    axes = {"counts": 2, "shares": 1, "likelihood": 1}
    return {name: np.concatenate([part[name] for part in parts], axis=axis) for name, axis in axes.items()}


def _posterior(block: Block, rows: Floats, logs: Floats, k: int) -> tuple[Floats, Floats]:
    """Return q_jcm by task, start, class and subtype, and log likelihoods by task and start."""
    shape = (block.n_tasks, *logs.shape[1:])
    score = add_up(cells_of(block, k), rows).reshape(shape) + logs[:1]
    states, likelihood = softmax(score.reshape(-1, logs[0, 0].size))
    return states.reshape(shape), likelihood.reshape(shape[:2])
