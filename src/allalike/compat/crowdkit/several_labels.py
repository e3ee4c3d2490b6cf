"""Several labels a task: each of them is a question of its own, with yes or no."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

from allalike._core.late import pd
from allalike.compat.crowdkit.crowd import Classifier, check_frame
from allalike.compat.crowdkit.votes import MajorityVote
from allalike.errors import InputError, OptionError

__all__ = ["BinaryRelevance"]


@dataclass(eq=False)
class BinaryRelevance(Classifier):
    """Lists of labels, each of which is decided for itself by another aggregator.

    Parameters
    ----------
    base_aggregator
        What decides whether a task has a label; for each label there is a new one with the same options.

    >>> import pandas as pd
    >>> rows = [("t1", "ada", ["house", "tree"]), ("t1", "bob", ["house"]), ("t1", "eve", ["house", "tree", "grass"])]
    >>> relevance = BinaryRelevance()
    >>> relevance.fit_predict(pd.DataFrame(rows, columns=["task", "worker", "label"])).to_dict()
    {'t1': ['house', 'tree']}
    >>> list(relevance.aggregators_)
    ['grass', 'house', 'tree']
    """

    base_aggregator: Any = field(default_factory=MajorityVote)
    aggregators_: dict[Any, Any] = field(init=False, repr=False)
    labels_: pd.Series[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.base_aggregator, Classifier):
            raise OptionError(
                f"base_aggregator is {self.base_aggregator!r}. It must be a classifier of this module, such as"
                " MajorityVote()."
            )

    def fit(self, data: pd.DataFrame) -> Self:
        """Decide each label for itself, in a frame with the columns task, worker and label, which are lists."""
        check_frame(data, "task", "worker", "label")
        for row, labels in zip(data.index, data["label"], strict=True):
            if isinstance(labels, str) or not hasattr(labels, "__iter__"):
                raise InputError(f"In row {row} the label is {labels!r}. It must be a list of labels.")
        classes = pd.Index([label for labels in data["label"] for label in labels], dtype=object)
        if not len(classes):
            raise InputError("All lists of labels are empty: there is nothing to decide.")
        self.aggregators_ = {}
        found: dict[Any, list[Any]] = {}
        for each in pd.factorize(classes, sort=True)[1]:
            said = data[["task", "worker"]].assign(label=[int(each in labels) for labels in data["label"]])
            decided = self.aggregators_[each] = replace(self.base_aggregator)
            for task, has in decided.fit_predict(said).items():
                found.setdefault(task, []).extend([each] if has else [])
        self.labels_ = pd.Series(list(found.values()), index=pd.Index(list(found), name="task"), name="agg_label")
        return self

    def fit_predict(self, data: pd.DataFrame) -> pd.Series[Any]:
        """Return the list of labels of each task."""
        return self.fit(data).labels_
