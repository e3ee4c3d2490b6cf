"""Crowd: a frame of tasks, workers and labels as a run, and numbers of tasks and workers as series again.

Ids and labels are numbered here in the order in which pandas sorts them, and only these numbers go further. So a label
can be anything that can be hashed, and what comes back has the type in which it came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from allalike._core.blocks.ties import Ties
from allalike._core.late import pd
from allalike._core.options import check_choice
from allalike.domains import Categorical
from allalike.engines import Memory, Run
from allalike.errors import ColumnError, GoldError, InputError, UnsupportedError
from allalike.readers import open_gold, read

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike._core.blocks.block import Array, Floats

__all__ = [
    "TIES",
    "Classifier",
    "Crowd",
    "check_fitted",
    "check_frame",
    "check_repeats",
    "check_series",
    "find_weights",
    "number_values",
]

TIES = Ties(first=True)  # as pandas' idxmax does it

_MISSING = ("error", "ignore", "value")


class Classifier:
    """An aggregator of classes: what is fitted has ``labels_``, by task."""

    labels_: pd.Series[Any]

    def fit(self, data: pd.DataFrame) -> Self:
        """Find the labels of tasks in a frame with the columns task, worker and label."""
        raise NotImplementedError


@dataclass(frozen=True)
class Crowd:
    """Answers in memory, by the numbers of their tasks, workers and labels.

    Parameters
    ----------
    tasks, workers, labels
        The ids and labels that occur, sorted.
    task, worker, label
        Of each row: the place of each among them.
    run
        The answers in an engine.

    >>> import pandas as pd
    >>> data = pd.DataFrame({"task": ["b", "a"], "worker": ["eve", "eve"], "label": [3, 7]})
    >>> crowd = Crowd.of(data)
    >>> crowd.tasks.tolist(), crowd.task.tolist(), crowd.run.n_tasks
    (['a', 'b'], [1, 0], 2)
    """

    tasks: pd.Index[Any]
    workers: pd.Index[Any]
    labels: pd.Index[Any]
    task: npt.NDArray[np.intp]
    worker: npt.NDArray[np.intp]
    label: npt.NDArray[np.intp]
    run: Run

    @classmethod
    def of(cls, data: pd.DataFrame, true_labels: pd.Series[Any] | None = None) -> Crowd:
        """Number a frame with the columns task, worker and label, and the truths of some of its tasks."""
        check_frame(data, "task", "worker", "label")
        (task, tasks), (worker, workers), (label, labels) = (
            number_values(data, name) for name in ("task", "worker", "label")
        )
        check_repeats(data)
        answers = read(
            pd.DataFrame({"worker": worker, "task": task, "label": label}),
            columns={name: name for name in ("worker", "task", "label")},
            domain=Categorical(),
        )
        if true_labels is not None:
            known = _number_truths(true_labels, tasks, labels)
            answers = answers.with_gold(open_gold(known)) if known else answers
        run = Memory().load(answers, TIES)
        return cls(tasks.rename("task"), workers.rename("worker"), labels.rename("label"), task, worker, label, run)

    def name_labels(self, codes: Array) -> pd.Series[Any]:
        """Return the labels of all tasks, given their numbers."""
        return pd.Series(self.labels.take(codes).rename(None), index=self.tasks, name="agg_label")

    def name_skills(self, skills: Floats) -> pd.Series[Any]:
        """Return one number of each worker."""
        return pd.Series(skills, index=self.workers, name="skill")

    def name_chances(self, table: Floats) -> pd.DataFrame:
        """Return one number of each task and label."""
        return pd.DataFrame(table, index=self.tasks, columns=self.labels)

    def came_first(self, codes: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Return numbers in the order in which rows have them for the first time."""
        number, first = np.unique(codes, return_index=True)
        return number[np.argsort(first)]


def check_frame(data: Any, *names: str) -> None:
    """Refuse what is no frame with these columns, or has gaps or nothing in them.

    >>> import pandas as pd
    >>> check_frame(pd.DataFrame({"task": [1, 2], "label": ["x", None]}), "task", "label")
    Traceback (most recent call last):
    allalike.errors.InputError: Row 1 has no label. Fill it, or leave the row out: data.dropna(subset=['label']).
    """
    if not isinstance(data, pd.DataFrame):
        raise InputError(f"The answers are a {type(data).__name__}. Give a pandas frame with {', '.join(names)}.")
    for name in names:
        if name not in data.columns:
            raise ColumnError(
                f"There is no column {name!r} among {', '.join(map(str, data.columns))}. Rename one: data.rename("
                f"columns={{...: {name!r}}})."
            )
        gap = data[name].isna().to_numpy()
        if gap.any():
            raise InputError(
                f"Row {data.index[int(np.argmax(gap))]} has no {name}. Fill it, or leave the row out:"
                f" data.dropna(subset=[{name!r}])."
            )
    if not len(data):
        raise InputError("The frame has no rows. Give at least one answer.")


def number_values(data: pd.DataFrame, name: str) -> tuple[npt.NDArray[np.intp], pd.Index[Any]]:
    """Return the number of each value of a column among those that occur, and these, sorted."""
    try:
        codes, values = pd.factorize(data[name], sort=True)
    except TypeError:
        raise InputError(
            f"A {name} cannot be told from others: it is a list, a mapping or an array. Give texts, numbers or tuples;"
            " BinaryRelevance takes lists of labels."
        ) from None
    return codes, pd.Index(values)


def check_series(given: Any, name: str) -> pd.Series[Any]:
    """Return what is given if it is a series with one value for each name."""
    if not isinstance(given, pd.Series):
        raise InputError(f"{name} is a {type(given).__name__}. Give a pandas series: pd.Series({{...}}).")
    if not given.index.is_unique:
        twice = given.index[given.index.duplicated()].tolist()[0]
        raise InputError(f"{name} has {twice!r} more than once. Keep one value of each.")
    return given


def check_repeats(data: pd.DataFrame) -> None:
    """Refuse a worker's second answer to a task, which crowd-kit would count as another vote."""
    again = data.duplicated(["task", "worker"]).to_numpy()
    if again.any():
        worker, task = data[["worker", "task"]].iloc[[int(np.argmax(again))]].to_dict("split")["data"][0]
        raise InputError(
            f"Worker {worker!r} answers task {task!r} more than once. Here everybody has one voice: keep"
            " one answer, with data.drop_duplicates(['task', 'worker'])."
        )


def _number_truths(known: pd.Series[Any], tasks: pd.Index[Any], labels: pd.Index[Any]) -> dict[int, int]:
    """Return the numbers of tasks and labels that are known to belong together; other tasks are left out."""
    known = check_series(known, "true_labels").dropna()
    place = tasks.get_indexer(known.index)
    code = labels.get_indexer(pd.Index(known))
    wrong = (place >= 0) & (code < 0)
    if wrong.any():
        task, label = next(iter(known[wrong].to_dict().items()))
        raise GoldError(
            f"The true label of task {task!r} is {label!r}, which no worker ever gave. Correct it, or leave it out."
        )
    return {int(task): int(label) for task, label in zip(place, code, strict=True) if task >= 0}


def find_weights(
    data: pd.DataFrame,
    workers: pd.Index[Any],
    skills: pd.Series[Any] | None,
    on_missing_skill: str,
    default_skill: float | None,
) -> tuple[pd.DataFrame, Floats]:
    """Return how much each worker counts, and the frame without answers that do not count at all."""
    check_choice(on_missing_skill, _MISSING, "on_missing_skill")
    if (default_skill is not None) != (on_missing_skill == "value") and (skills is not None or default_skill):
        raise UnsupportedError(
            f"default_skill is {default_skill!r}, and on_missing_skill {on_missing_skill!r}. A default is needed with"
            " 'value', and with nothing else."
        )
    if skills is None:
        return data, np.ones(len(workers))
    weight = check_series(skills, "skills").reindex(workers).to_numpy(np.float64, copy=True)
    unknown = np.isnan(weight)
    if (weight[~unknown] < 0).any() or np.isinf(weight).any():
        raise InputError("A skill is negative or infinite. Skills are weights here, and these are 0 or more.")
    if not unknown.any():
        return data, weight
    missing = data["worker"].isin(workers[unknown])
    if on_missing_skill == "error":
        first, *others = workers[unknown].tolist()
        raise InputError(
            f"The skill of worker {first!r} is missing, and of {len(others):,} others. Give it, or say"
            " on_missing_skill='ignore', or 'value' with a default_skill."
        )
    if on_missing_skill == "value":
        return data, np.where(unknown, np.float64(default_skill or 0.0), weight)
    lost = set(data["task"].tolist()) - set(data.loc[~missing, "task"].tolist())
    if lost:
        raise InputError(
            f"Nobody who answered task {min(lost, key=str)!r} has a skill, nor those of {len(lost) - 1:,} other tasks."
            " Give skills, or say on_missing_skill='value' with a default_skill."
        )
    return data[~missing], weight[~unknown]


def check_fitted(aggregator: object, attribute: str) -> None:
    """Refuse to go on with what was not fitted yet."""
    if not hasattr(aggregator, attribute):
        raise UnsupportedError(f"{type(aggregator).__name__} knows no workers yet. Call fit before.")
