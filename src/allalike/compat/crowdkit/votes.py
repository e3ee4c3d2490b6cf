"""Votes: the label that most workers give, or those with the largest skills.

A *skill* is the share of a worker's answers that are the task's label, and all four differ in where skills come from:

    MajorityVote        the user, if there are any
    Wawa                agreement with the majority
    ZeroBasedSkill      agreement with the weighted majority, round after round
    GoldMajorityVote    agreement with known truths

``probas_`` are shares of votes, which are no probabilities that a label is right: three votes of four are 0.75
whoever cast them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, sum_by
from allalike._core.options import check_number
from allalike.compat.crowdkit.crowd import (
    TIES,
    Classifier,
    Crowd,
    check_fitted,
    check_frame,
    check_series,
    find_weights,
    number_values,
)
from allalike.errors import InputError
from allalike.methods.steps.losses import loss_sums

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["GoldMajorityVote", "MajorityVote", "Wawa", "ZeroBasedSkill"]


@dataclass(eq=False)
class MajorityVote(Classifier):
    """A vote on each task, in which workers may have weights.

    Parameters
    ----------
    default_skill
        What a worker without a skill counts, with ``on_missing_skill="value"``.
    on_missing_skill
        What to do with workers without a skill where others have one: ``error``, ``ignore`` them, or ``value``.

    >>> import pandas as pd
    >>> rows = [("t1", "ada", 0), ("t1", "bob", 0), ("t1", "eve", 1), ("t2", "ada", 1), ("t2", "bob", 0)]
    >>> data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    >>> vote = MajorityVote().fit(data)
    >>> vote.labels_.to_dict(), vote.probas_.loc["t2"].tolist(), vote.skills_.to_dict()
    ({'t1': 0, 't2': 0}, [0.5, 0.5], {'ada': 0.5, 'bob': 1.0, 'eve': 0.0})
    >>> MajorityVote().fit_predict(data, pd.Series({"ada": 0.6, "bob": 0.5, "eve": 0.9})).to_dict()
    {'t1': 0, 't2': 1}
    """

    default_skill: float | None = None
    on_missing_skill: str = "error"
    skills_: pd.Series[Any] = field(init=False, repr=False)
    probas_: pd.DataFrame = field(init=False, repr=False)
    labels_: pd.Series[Any] = field(init=False, repr=False)

    def fit(self, data: pd.DataFrame, skills: pd.Series[Any] | None = None) -> Self:
        """Count the votes, weighted by the skills of workers where these are given."""
        check_frame(data, "task", "worker", "label")
        _, workers = number_values(data, "worker")
        heard, weights = find_weights(data, workers, skills, self.on_missing_skill, self.default_skill)
        crowd = Crowd.of(heard)
        found = crowd.run.find(partial(_vote, n_labels=len(crowd.labels)), weights).joined().found
        self.labels_ = crowd.name_labels(found["label"])
        self.probas_ = crowd.name_chances(found["share"])
        self.skills_ = crowd.name_skills(find_agreement(crowd, weights))
        return self

    def fit_predict_proba(self, data: pd.DataFrame, skills: pd.Series[Any] | None = None) -> pd.DataFrame:
        """Return the share of votes that each label has."""
        return self.fit(data, skills).probas_

    def fit_predict(self, data: pd.DataFrame, skills: pd.Series[Any] | None = None) -> pd.Series[Any]:
        """Return the label of each task."""
        return self.fit(data, skills).labels_


def _vote(block: Block, weights: Floats, *, n_labels: int) -> dict[str, Array]:
    from allalike.rules.vote import plurality

    weight, total = block.answer_weights(weights)
    cell = block.task * n_labels + block.label
    votes = sum_by(cell, weight, block.n_tasks * n_labels).reshape(-1, n_labels)
    found = plurality(block, weights, np.zeros(len(weights)), TIES)
    return {"label": found.label, "share": votes / total[:, None]}


def find_agreement(crowd: Crowd, weights: Floats) -> Floats:
    """Return the share of each worker's answers that are the weighted majority's.

    >>> import pandas as pd
    >>> data = pd.DataFrame({"task": [1, 1, 1], "worker": ["ada", "bob", "eve"], "label": ["x", "x", "y"]})
    >>> find_agreement(Crowd.of(data), np.ones(3))
    array([1., 1., 0.])
    """
    sums = crowd.run.sum(partial(loss_sums, kernels=crowd.run.kernels, ties=TIES), weights)
    return np.asarray(1.0 - sums["distance"] / sums["answers"])


@dataclass(eq=False)
class _Skilled(Classifier):
    """A vote with skills that were found before; ``fit`` finds them."""

    skills_: pd.Series[Any] = field(init=False, repr=False)
    probas_: pd.DataFrame = field(init=False, repr=False)
    labels_: pd.Series[Any] = field(init=False, repr=False)

    def predict(self, data: pd.DataFrame) -> pd.Series[Any]:
        """Return the label of each task, by the skills that ``fit`` found."""
        self._apply(data)
        return self.labels_

    def predict_proba(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return the share of votes that each label has, by the skills that ``fit`` found."""
        self._apply(data)
        return self.probas_

    def _apply(self, data: pd.DataFrame) -> None:
        check_fitted(self, "skills_")
        vote = MajorityVote().fit(data, self.skills_)
        self.labels_, self.probas_ = vote.labels_, vote.probas_


class _Unsupervised(_Skilled):
    """A vote with skills for which no truths are needed."""

    def fit_predict(self, data: pd.DataFrame) -> pd.Series[Any]:
        """Find the skills, and return the label of each task."""
        return self.fit(data).predict(data)

    def fit_predict_proba(self, data: pd.DataFrame) -> pd.DataFrame:
        """Find the skills, and return the share of votes that each label has."""
        return self.fit(data).predict_proba(data)


@dataclass(eq=False)
class Wawa(_Unsupervised):
    """Worker agreement with aggregate: a vote weighted by agreement with the majority.

    >>> import pandas as pd
    >>> said = {"ada": "xxy", "bob": "xyy", "eve": "yxx", "joe": "xx"}
    >>> rows = [(task, worker, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> wawa = Wawa()
    >>> wawa.fit_predict(pd.DataFrame(rows, columns=["task", "worker", "label"])).tolist()
    ['x', 'x', 'y']
    >>> wawa.skills_.round(2).to_dict()
    {'ada': 1.0, 'bob': 0.67, 'eve': 0.33, 'joe': 1.0}
    """

    def fit(self, data: pd.DataFrame) -> Self:
        """Find how often each worker agrees with the majority."""
        crowd = Crowd.of(data)
        self.skills_ = crowd.name_skills(find_agreement(crowd, np.ones(len(crowd.workers))))
        return self


@dataclass(eq=False)
class ZeroBasedSkill(_Unsupervised):
    """A vote weighted by agreement with itself: each round moves skills towards the share of answers that agree.

    Parameters
    ----------
    n_iter
        How many rounds.
    lr_init, lr_steps_to_reduce, lr_reduce_factor
        How far each round goes: all the way with 1; after so many rounds it is multiplied by the factor.
    eps
        By how much first skills are above 1/k.

    >>> import pandas as pd
    >>> said = {"ada": "xxy", "bob": "xyy", "eve": "yxx", "joe": "xx"}
    >>> rows = [(task, worker, label) for worker, labels in said.items() for task, label in enumerate(labels)]
    >>> ZeroBasedSkill().fit(pd.DataFrame(rows, columns=["task", "worker", "label"])).skills_.round(2).to_dict()
    {'ada': 1.0, 'bob': 0.67, 'eve': 0.33, 'joe': 1.0}
    """

    n_iter: int = 100
    lr_init: float = 1.0
    lr_steps_to_reduce: int = 20
    lr_reduce_factor: float = 0.5
    eps: float = 1e-5

    def fit(self, data: pd.DataFrame) -> Self:
        """Find the skills of workers, round by round."""
        check_number(self.n_iter, "n_iter", least=0, whole=True)
        check_number(self.lr_steps_to_reduce, "lr_steps_to_reduce", least=1, whole=True)
        for name in ("lr_init", "lr_reduce_factor", "eps"):
            check_number(getattr(self, name), name, least=0)
        crowd = Crowd.of(data)
        skills, rate = np.full(len(crowd.workers), 1 / len(crowd.labels) + self.eps), self.lr_init
        for number in crowd.run.rounds(self.n_iter):
            rate *= self.lr_reduce_factor if number % self.lr_steps_to_reduce == 0 else 1.0
            skills = skills + rate * (find_agreement(crowd, np.maximum(skills, 0.0)) - skills)
        self.skills_ = crowd.name_skills(skills)
        return self


@dataclass(eq=False)
class GoldMajorityVote(_Skilled):
    """A vote weighted by how often each worker is right where the truth is known.

    All who answer must have answered a task with a known truth.

    >>> import pandas as pd
    >>> rows = [("t1", "ada", 0), ("t1", "bob", 0), ("t1", "eve", 1), ("t2", "ada", 1), ("t2", "bob", 0)]
    >>> data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    >>> vote = GoldMajorityVote().fit(data, pd.Series({"t1": 0}))
    >>> vote.skills_.to_dict(), vote.predict(data).to_dict()
    ({'ada': 1.0, 'bob': 1.0, 'eve': 0.0}, {'t1': 0, 't2': 0})
    """

    def fit(self, data: pd.DataFrame, true_labels: pd.Series[Any] | None = None) -> Self:
        """Find how often each worker is right on the tasks whose labels are known."""
        check_frame(data, "task", "worker", "label")
        if true_labels is None:
            raise InputError("GoldMajorityVote needs true_labels, a series of labels by task.")
        true_labels = check_series(true_labels, "true_labels")
        known = data[data["task"].isin(true_labels.dropna().index)]
        if not len(known):
            raise InputError("Nobody answered a task whose true label is known.")
        right = known["label"] == known["task"].map(true_labels)
        self.skills_ = right.groupby(known["worker"]).mean().rename("skill")
        return self

    def fit_predict(self, data: pd.DataFrame, true_labels: pd.Series[Any]) -> pd.Series[Any]:
        """Find the skills, and return the label of each task."""
        return self.fit(data, true_labels).predict(data)

    def fit_predict_proba(self, data: pd.DataFrame, true_labels: pd.Series[Any]) -> pd.DataFrame:
        """Find the skills, and return the share of votes that each label has."""
        return self.fit(data, true_labels).predict_proba(data)
