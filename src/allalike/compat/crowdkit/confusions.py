"""Confusions: Dawid and Skene's model with crowd-kit's numerics, on the kernels of `allalike.methods.dawid_skene`.

What differs from ``method="DS"`` are three habits of that library. Nothing is smoothed: an expected count below 1e-10
is 1e-10, and a worker who met no task of a class gives each of the labels that she ever used with the same
probability. Rounds end when the bound

    ( sum_jc T_jc sum_i [log p_c + log pi^i_(c, x_ij)] - sum_jc T_jc log T_jc ) / number of answers

grows by less than ``tol``; in it, log p_c is added once for each answer and not once for each task. And the posteriors
are those of the last E step, while confusions and class shares are of the M step after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike._core.late import pd
from allalike._core.options import check_number
from allalike.compat.crowdkit.crowd import Classifier, Crowd
from allalike.errors import UnsupportedError
from allalike.methods.dawid_skene import Confusions, check_memory, count_answers, find_posterior, find_shares

if TYPE_CHECKING:
    from allalike._core.blocks.problems import Problems

__all__ = ["DawidSkene", "OneCoinDawidSkene"]

_LEAST = 1e-10


@dataclass(frozen=True)
class Clipped(Confusions):
    """Confusion matrices without smoothing, in which known truths are certain.

    >>> model = Clipped(classes=2, smoothing=0.0)
    >>> sums = {"confusion": np.array([[[3.0, 1.0], [0.0, 0.0]]]), "share": np.array([[2.0, 0.0]])}
    >>> model.find_errors(sums["confusion"])
    array([[[0.75, 0.25],
            [0.5 , 0.5 ]]])
    """

    def first_e_step(self, block: Block) -> dict[str, Floats]:
        """Count with the shares of the votes as posteriors."""
        return self._tally(block, find_shares(block, self.classes))

    def e_step(self, block: Block, logs: Floats) -> dict[str, Floats]:
        """Count with the posteriors under these confusions."""
        return self._tally(block, find_posterior(block, logs))

    def probabilities(self, block: Block, weights: Floats, faults: Floats, logs: Floats) -> dict[str, Array]:
        """Return the posteriors, with a row per task and a column per class."""
        return {"probability": _correct(block, find_posterior(block, logs)).T}

    def find_errors(self, counts: Floats) -> Floats:
        """Return the confusion matrices that are most likely, of each worker a row per true class."""
        used = counts.sum(axis=1, keepdims=True) > 0
        errors = np.where(used, np.maximum(counts, _LEAST), 0.0)
        errors /= errors.sum(axis=2, keepdims=True)
        return np.where(used, errors, _LEAST)

    def m_step(self, sums: dict[str, Floats], problems: Problems) -> tuple[Floats, Floats]:
        """Return the confusion matrices with the shares of the classes as a last column, and who errs how often."""
        errors = self.find_errors(sums["confusion"])
        prior = sums["share"].sum(axis=0)
        prior = np.broadcast_to(np.maximum(prior / prior.sum(), _LEAST), errors.shape[:2])
        return np.concatenate([errors, prior[:, :, None]], axis=2), 1.0 - _find_right(sums["confusion"])

    def logs(self, parameters: Floats) -> Floats:
        """Return the logarithms of confusions and shares."""
        return np.asarray(np.log(parameters))

    def _tally(self, block: Block, posterior: Floats) -> dict[str, Floats]:
        posterior = _correct(block, posterior)
        certain = np.maximum(posterior, _LEAST)
        entropy = -(certain * np.log(certain)).sum(axis=0)
        first = block.first_worker
        return {**count_answers(block, posterior), "entropy": sum_by(first, entropy, block.n_workers)}


@dataclass(frozen=True)
class OneCoin(Clipped):
    """Confusion matrices of one number each: how probably the worker is right; she errs alike towards all others.

    >>> OneCoin(classes=2, smoothing=0.0).find_errors(np.array([[[3.0, 1.0], [0.0, 4.0]]]))
    array([[[0.875, 0.125],
            [0.125, 0.875]]])
    """

    def find_errors(self, counts: Floats) -> Floats:
        """Return the confusion matrices, given how often each worker probably was right."""
        right = _find_right(counts)[:, None, None]
        same = np.eye(self.classes)
        errors = same * right + (1 - same) * (1 - right) / max(self.classes - 1, 1)
        return np.asarray(np.clip(errors, _LEAST, 1 - _LEAST))


def _find_right(counts: Floats) -> Floats:
    return np.asarray(np.trace(counts, axis1=1, axis2=2) / counts.sum(axis=(1, 2)))


def _correct(block: Block, posterior: Floats) -> Floats:
    """Return posteriors that are certain of the truths that are known."""
    if len(block.gold_task):
        posterior[:, block.gold_task] = np.eye(len(posterior))[:, block.gold_label]
    return posterior


@dataclass(eq=False)
class _Maximised(Classifier):
    """What both models have in common: rounds, and what is known after them."""

    n_iter: int = 100
    tol: float = 1e-5
    initial_error_strategy: str | None = None
    probas_: pd.DataFrame = field(init=False, repr=False)
    priors_: pd.Series[Any] = field(init=False, repr=False)
    errors_: pd.DataFrame = field(init=False, repr=False)
    labels_: pd.Series[Any] = field(init=False, repr=False)
    loss_history_: list[float] = field(init=False, repr=False)
    _model: ClassVar[type[Clipped]] = Clipped

    def _maximise(self, crowd: Crowd) -> Floats:
        """Alternate between E and M steps, keep what was found, and return how probably each worker is right."""
        check_number(self.n_iter, "n_iter", least=1, whole=True)
        check_number(self.tol, "tol")
        if self.initial_error_strategy is not None:
            raise UnsupportedError(
                f"initial_error_strategy is {self.initial_error_strategy!r}. First error matrices are not taken over;"
                " what is known of workers goes to allalike.discover(..., history=...)."
            )
        model = self._model(classes=len(crowd.labels), smoothing=0.0)
        check_memory(type(self).__name__, crowd.run, model.classes)
        run, problems = model.prepare(crowd.run), crowd.run.problems
        parameters, fault = model.m_step(run.sum(model.first_e_step), problems)
        before, self.loss_history_ = parameters, []
        for _ in run.rounds(self.n_iter):
            before = parameters
            sums = run.sum(model.e_step, model.logs(before))
            parameters, fault = model.m_step(sums, problems)
            self.loss_history_.append(_find_bound(sums, model.logs(parameters)) / len(crowd.task))
            if len(self.loss_history_) > 1 and self.loss_history_[-1] - self.loss_history_[-2] < self.tol:
                break
        nothing = np.zeros(problems.n_workers)
        found = run.find(model.probabilities, nothing, nothing, model.logs(before)).joined().found["probability"]
        self._keep(crowd, found, parameters)
        return 1.0 - fault

    def _keep(self, crowd: Crowd, probabilities: Floats, parameters: Floats) -> None:
        tasks = crowd.came_first(crowd.task)
        self.probas_ = crowd.name_chances(probabilities).iloc[tasks]
        self.labels_ = crowd.name_labels(probabilities.argmax(axis=1)).iloc[tasks]
        self.priors_ = pd.Series(parameters[0, :, -1], index=crowd.labels, name="prior")
        worker, label = np.divmod(crowd.came_first(crowd.worker * len(crowd.labels) + crowd.label), len(crowd.labels))
        index = pd.MultiIndex.from_arrays([crowd.workers[worker], crowd.labels[label]], names=["worker", "label"])
        self.errors_ = pd.DataFrame(parameters[worker, :, label], index=index, columns=crowd.labels.rename(None))


def _find_bound(sums: dict[str, Floats], logs: Floats) -> float:
    counts = sums["confusion"]
    answered = (counts * logs[:, :, :-1]).sum() + (counts.sum(axis=2) * logs[:, :, -1]).sum()
    return float(answered + sums["entropy"].sum())


@dataclass(eq=False)
class DawidSkene(_Maximised):
    """A confusion matrix for every worker.

    Parameters
    ----------
    n_iter, tol
        When the rounds end: at the limit, or when the bound above grows by less.
    initial_error_strategy
        Only None: first error matrices are refused.

    >>> import pandas as pd
    >>> said = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(task, worker, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    >>> model = DawidSkene(n_iter=20).fit(data)
    >>> "".join(model.labels_), model.errors_.loc[("kim", "x")].round(2).to_dict()
    ('xxyyz', {'x': 0.0, 'y': 1.0, 'z': 0.0})
    >>> "".join(DawidSkene().fit_predict(data, true_labels=pd.Series({1: "y"})))
    'xyyyz'
    """

    def fit(
        self, data: pd.DataFrame, true_labels: pd.Series[Any] | None = None, initial_error: pd.DataFrame | None = None
    ) -> Self:
        """Estimate confusions, round by round; labels that are known stay as they are."""
        if initial_error is not None:
            raise UnsupportedError(
                "initial_error is not taken over. What is known of workers goes to allalike.discover(..., history=...)."
            )
        self._maximise(Crowd.of(data, true_labels))
        return self

    def fit_predict(
        self, data: pd.DataFrame, true_labels: pd.Series[Any] | None = None, initial_error: pd.DataFrame | None = None
    ) -> pd.Series[Any]:
        """Return the most probable label of each task."""
        return self.fit(data, true_labels, initial_error).labels_

    def fit_predict_proba(
        self, data: pd.DataFrame, true_labels: pd.Series[Any] | None = None, initial_error: pd.DataFrame | None = None
    ) -> pd.DataFrame:
        """Return how probable each label of each task is."""
        return self.fit(data, true_labels, initial_error).probas_


@dataclass(eq=False)
class OneCoinDawidSkene(_Maximised):
    """One number for every worker, the probability that she is right; classes have shares of their own.

    Parameters
    ----------
    n_iter, tol, initial_error_strategy
        As in `DawidSkene`.

    >>> import pandas as pd
    >>> said = {"ada": "xxyyz", "bob": "xxyyz", "eve": "xyyyz", "kim": "yzxxz"}
    >>> rows = [(task, worker, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> model = OneCoinDawidSkene().fit(pd.DataFrame(rows, columns=["task", "worker", "label"]))
    >>> "".join(model.labels_), model.skills_.round(2).to_dict()
    ('xxyyz', {'ada': 1.0, 'bob': 1.0, 'eve': 0.8, 'kim': 0.2})
    """

    skills_: pd.Series[Any] = field(init=False, repr=False)
    _model: ClassVar[type[Clipped]] = OneCoin

    def fit(self, data: pd.DataFrame) -> Self:
        """Estimate how probably each worker is right, round by round."""
        crowd = Crowd.of(data)
        skills = crowd.name_skills(self._maximise(crowd))
        self.skills_ = skills.iloc[crowd.came_first(crowd.worker)]
        return self

    def fit_predict(self, data: pd.DataFrame) -> pd.Series[Any]:
        """Return the most probable label of each task."""
        return self.fit(data).labels_

    def fit_predict_proba(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return how probable each label of each task is."""
        return self.fit(data).probas_
